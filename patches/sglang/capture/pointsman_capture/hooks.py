"""Where the plugin takes hold of SGLang, and the checks that it is the SGLang that it knows."""

import functools
import inspect
import multiprocessing
import os
import pkgutil
import signal
import sys

from pointsman_capture.assembly import Assembly
from pointsman_capture.folder import CaptureFolder
from pointsman_capture.settings import Settings
from pointsman_capture.writer import Writers

VERSION = "0.5.23"
APPEND = (
    "sglang.srt.managers.scheduler_components.batch_result_processor."
    "SchedulerBatchResultProcessor._append_prefill_hidden_states"
)
READY = "sglang.srt.managers.scheduler.Scheduler.get_init_info"
# The parameters that the hooks use. SGLang passes all of APPEND's by keyword.
SIGNATURES = {
    APPEND: ("self", "req", "logits_output", "hidden_state_offset", "capture_hidden_mode", "extend_input_len", "store"),
    READY: ("self",),
}

_hooked_by = ""  # "plugin" or "model file"
_capture = None  # of the scheduler's process, once it is ready and writes


def install():
    """Register the hooks. SGLang only logs what goes wrong in a plugin: so anything unknown ends the server here."""
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    if _first("plugin"):
        HookRegistry.register(APPEND, _around_append, HookType.AROUND)
        HookRegistry.register(READY, _after_ready, HookType.AFTER)


def install_in_place():
    """The same without SGLang's plugins, for a patched model file: called when the model is told what to capture."""
    if not _first("model file"):
        return
    for target, hook in ((APPEND, _around_append), (READY, lambda original, self: _after_ready(original(self), self))):
        owner, _, name = target.rpartition(".")
        owner = pkgutil.resolve_name(owner)
        setattr(owner, name, _wrapped(getattr(owner, name), hook))


def _wrapped(original, hook):
    @functools.wraps(original)
    def wrapper(*args, **kwargs):
        return hook(original, *args, **kwargs)

    return wrapper


def _first(way):
    """Whether nothing is installed yet, and this is the SGLang that the hooks know; another one ends the server."""
    global _hooked_by
    from sglang.version import __version__

    if _hooked_by:  # the plugin was loaded, and the model file is patched as well
        return False
    if __version__ != VERSION:
        refuse(f"SGLang is {__version__}, this plugin knows {VERSION}")
    for target, wanted in SIGNATURES.items():
        complaint = compare_signature(target, wanted)
        if complaint:
            refuse(complaint)
    _hooked_by = way
    return True


def compare_signature(target, wanted):
    """What is wrong with the function that a hook will wrap, in words; empty when nothing is."""
    try:
        found = tuple(inspect.signature(pkgutil.resolve_name(target)).parameters)
    except (ImportError, AttributeError, ValueError) as error:
        return f"SGLang has no {target}: {error}"
    return "" if found == wanted else f"{target} takes {', '.join(found)}; expected {', '.join(wanted)}"


def refuse(why):
    """End the server with the reason in its log; `pointsman_capture refuses:` is what the client looks for."""
    print(f"pointsman_capture refuses: {why}", file=sys.stderr, flush=True)
    parent = multiprocessing.parent_process()
    if parent is not None:  # the scheduler's process: the first one would wait for it for ever
        os.kill(parent.pid, signal.SIGQUIT)
    os._exit(3)


def _after_ready(info, scheduler):
    """The model is loaded, no request has been served: check what is captured, say so, start the writers."""
    global _capture
    from sglang.srt.runtime_context import get_parallel

    args = scheduler.server_args
    parallel = get_parallel()
    if not args.disable_radix_cache:
        refuse("the prefix cache is on: cached prefixes have no states; start with --disable-radix-cache")
    if parallel.pp_size != 1:
        refuse("pipeline parallelism: the last rank alone does not see every layer")
    if parallel.attn_tp_rank != 0:  # every rank of an attention group holds the same states: one writes
        return info
    model = scheduler.tp_worker.model_runner.model
    captured = captured_layers(model)
    if not captured:
        refuse("the model captures no layers: start with --enable-return-aux-hidden-states")
    settings = Settings.from_environment()
    folder = CaptureFolder(settings.folder)
    folder.announce(
        engine="sglang",
        engine_version=VERSION,
        hooked_by=_hooked_by,
        captured=captured,
        architecture=type(model).__name__,
        dtype=str(scheduler.tp_worker.model_runner.dtype).removeprefix("torch."),
        tp_size=int(args.tp_size),
    )
    # Writer threads need the interpreter often and briefly. At the default of 5 ms a time, a busy scheduler's thread
    # would make the last files of a batch wait for half a second.
    sys.setswitchinterval(0.0005)
    _capture = Assembly(Writers(folder, settings))
    return info


def captured_layers(model):
    """`layers_to_capture` of the loaded model, wherever its family keeps it."""
    for part in ("model", "language_model.model", "language_model", ""):
        inner = model
        for name in filter(None, part.split(".")):
            inner = getattr(inner, name, None)
        layers = getattr(inner, "layers_to_capture", None)
        if layers:
            return [int(layer) for layer in layers]
    return []


def _around_append(
    original, self, *, req, logits_output, hidden_state_offset, capture_hidden_mode, extend_input_len, store=True
):
    """Called once a request and prefill pass, with the place of the request's rows in the packed batch."""
    asked = (req.sampling_params.custom_params or {}).get("pointsman")
    if asked is None or not capture_hidden_mode.is_full():
        return original(
            self,
            req=req,
            logits_output=logits_output,
            hidden_state_offset=hidden_state_offset,
            capture_hidden_mode=capture_hidden_mode,
            extend_input_len=extend_input_len,
            store=store,
        )
    end = hidden_state_offset + extend_input_len
    if _capture is not None:
        _capture.take(req, asked, logits_output, slice(hidden_state_offset, end), store)
    return end  # nothing goes into the JSON answer
