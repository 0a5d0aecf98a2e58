"""Hugging Face's transformers, loaded late: it takes seconds, and one of its imports needs care."""

import importlib.util
import json
from pathlib import Path
from typing import Any

from runner.protocol.errors import DataError

# Fields of a wrapper's config that hold the text model's own config, as Kimi-K2.5 does.
TEXT_CONFIGS = ("text_config", "llm_config")

_TORCHVISION_OPS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_library: Any = None


def load_config(folder: Path) -> dict[str, Any]:
    """`config.json` of a model folder, as it stands. Raises DataError."""
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        hint = "give the folder of a Hugging Face model"
        raise DataError(f"{path}: no readable model config ({error})", hint) from error
    if not isinstance(config, dict):
        raise DataError(f"{path}: holds no object")
    return config


def text_config(config: dict[str, Any]) -> dict[str, Any]:
    """The part of `config` that describes the language model."""
    for name in TEXT_CONFIGS:
        inner = config.get(name)
        if isinstance(inner, dict):
            return inner
    return config


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer of a model folder. Raises DataError."""
    transformers = import_transformers()
    try:
        return transformers.AutoTokenizer.from_pretrained(str(folder))
    except (OSError, ValueError) as error:
        raise DataError(f"{folder}: no tokenizer ({error})") from error


def load_causal_lm(folder: Path, dtype: Any) -> Any:
    """The language model on the CPU in evaluation mode, with eager attention: the reference to compare with.

    Of a wrapper, the text model alone. Raises DataError.
    """
    return _load(folder, dtype, None)


def load_layers(folder: Path, layers: range, dtype: Any) -> Any:
    """As `load_causal_lm`, with these layers alone: the others need not fit in memory. Raises DataError."""
    return _load(folder, dtype, layers)


def _load(folder: Path, dtype: Any, layers: range | None) -> Any:
    transformers = import_transformers()
    whole = load_config(folder)
    text = text_config(whole)
    given: dict[str, Any] = {"dtype": dtype, "attn_implementation": "eager"}
    try:
        if text is not whole:
            fields = {key: value for key, value in text.items() if key != "model_type"}
            given["config"] = transformers.AutoConfig.for_model(text["model_type"], **fields)
            given["key_mapping"] = {r"^language_model\.": ""}
        if layers is None:
            loader = transformers.AutoModelForCausalLM
        else:
            config = given.setdefault("config", transformers.AutoConfig.from_pretrained(str(folder)))
            loader = _part(transformers.MODEL_FOR_CAUSAL_LM_MAPPING[type(config)], layers)
        model = loader.from_pretrained(str(folder), **given)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise DataError(f"{folder}: transformers cannot load it ({error})") from error
    return model.eval()


def _part(whole: Any, layers: range) -> Any:
    """The model's class, with some of its layers under their own numbers: weights of the others are not asked for."""
    import torch

    class Part(whole):  # type: ignore[misc]
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            kept = torch.nn.ModuleList()
            for number in layers:
                kept.add_module(str(number), self.model.layers[number])
            self.model.layers = kept

    return Part


def import_transformers() -> Any:
    """transformers itself.

    PyPI's torchvision is linked against CUDA: beside a CPU build of torch its C++ library does not load, and
    importing it fails because the operators that it describes do not exist. Declaring them is enough.
    """
    global _library
    if _library is None and importlib.util.find_spec("torchvision") is not None:
        import torch

        if torch.version.cuda is None:
            _library = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]
            for schema in _TORCHVISION_OPS:
                try:
                    _library.define(schema)
                except RuntimeError:  # this torchvision matches: its operators are there
                    break
    import transformers

    return transformers
