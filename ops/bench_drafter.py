"""Drafters trained on given token ids: tok/s, held-out accuracy, and acceptance length on prompts.

Features are made here, by the target in transformers. `--run "name lr=2e-3 init_head=target ..."` is one training run,
with the settings of `python -m runner train`; as many as given. One more setting is for trials alone: `mask_shift=N`
supervises N tokens earlier than the mask says (later, when below 0). Acceptance is that of a greedy loop of draft and
verify, as `runner.train.accepted` finds it.
"""

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from runner.bench.prompts import choose_questions, render
from runner.hf import import_transformers, load_tokenizer
from runner.protocol.status import StatusWriter
from runner.train.accepted import Asked, acceptance
from runner.train.batches import Sample
from runner.train.config import TrainConfig
from runner.train.loop import Loop
from runner.train.ranks import Ranks
from runner.train.served import Drafter
from runner.train.setup import prepare
from runner.vocab import choose, count_supervised

ROWS = {"cuda": 65536, "cpu": 4096}  # tokens of one forward pass of the target


@dataclass
class Memory:
    """Samples with their features, in the CPU's memory: a `batches.Source`."""

    tokens: list[np.ndarray[Any, Any]]
    masks: list[np.ndarray[Any, Any]]
    features: list[tuple[Tensor, Tensor]]

    @property
    def ids(self) -> Sequence[str]:
        return [str(number) for number in range(len(self.tokens))]

    @property
    def num_tokens(self) -> Sequence[int]:
        return [len(tokens) for tokens in self.tokens]

    @property
    def num_supervised(self) -> Sequence[int]:
        return [int(mask.sum()) for mask in self.masks]

    def read(self, number: int) -> Sample:
        aux, last = self.features[number]
        return Sample(input_ids=self.tokens[number], loss_mask=self.masks[number], aux=aux, last=last)


def shifted(mask: np.ndarray[Any, Any], by: int) -> np.ndarray[Any, Any]:
    """[T] supervised `by` tokens earlier."""
    moved = np.zeros_like(mask)
    moved[max(-by, 0) : len(mask) - max(by, 0)] = mask[max(by, 0) : len(mask) - max(-by, 0)]
    return moved


def load_target(folder: Path, dtype: torch.dtype, device: torch.device) -> Any:
    transformers = import_transformers()
    model = transformers.AutoModelForCausalLM.from_pretrained(str(folder), dtype=dtype, attn_implementation="sdpa")
    return model.eval().to(device)


@torch.no_grad()
def features_of(
    model: Any, tokens: Sequence[np.ndarray[Any, Any]], indices: Sequence[int]
) -> list[tuple[Tensor, Tensor]]:
    """Captured states [T, 3H] and the last one after the norm [T, H], of every sample, in order of the samples."""
    found: list[tuple[Tensor, Tensor] | None] = [None] * len(tokens)
    order = sorted(range(len(tokens)), key=lambda n: len(tokens[n]))
    device = next(model.parameters()).device
    while order:
        longest = len(tokens[order[-1]])
        count = max(1, ROWS[device.type] // longest)
        batch, order = order[-count:], order[:-count]
        ids = torch.zeros(len(batch), longest, dtype=torch.int64)
        for place, number in enumerate(batch):  # right padding: causal attention never sees it
            ids[place, : len(tokens[number])] = torch.from_numpy(tokens[number].astype(np.int64))
        said = model.model(ids.to(device), output_hidden_states=True, use_cache=False).hidden_states
        aux, last = torch.cat([said[index] for index in indices], dim=-1).cpu(), said[-1].cpu()
        for place, number in enumerate(batch):
            length = len(tokens[number])
            found[number] = aux[place, :length], last[place, :length]
    return [each for each in found if each is not None]


def open_samples(path: Path) -> tuple[list[np.ndarray[Any, Any]], list[np.ndarray[Any, Any]], list[int]]:
    """Token ids, loss masks (the answer), and the numbers that are held out."""
    stored = np.load(path)
    prompts = np.split(stored["prompt"].astype(np.int32), np.cumsum(stored["prompt_len"])[:-1])
    answers = np.split(stored["answer"].astype(np.int32), np.cumsum(stored["answer_len"])[:-1])
    tokens = [np.concatenate(pair) for pair in zip(prompts, answers, strict=True)]
    masks = [
        np.concatenate([np.zeros(len(p), np.uint8), np.ones(len(a), np.uint8)])
        for p, a in zip(prompts, answers, strict=True)
    ]
    return tokens, masks, [int(number) for number in stored["held"]]


@torch.no_grad()
def ask(
    model: Any, tokenizer: Any, path: Path, count: int, max_new: int, extra: int, indices: Sequence[int]
) -> list[Asked]:
    prompts = [prompt.input_ids for prompt in render(choose_questions([path], 0)[:count], tokenizer)]
    device, longest = next(model.parameters()).device, max(map(len, prompts))
    ids = torch.tensor([[0] * (longest - len(p)) + list(p) for p in prompts], device=device)
    mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in prompts], device=device)
    out = model.generate(
        ids, attention_mask=mask, max_new_tokens=max_new + extra, min_new_tokens=max_new + extra, do_sample=False,
        pad_token_id=0, eos_token_id=None,
    )[:, longest:].cpu()  # fmt: skip
    stop = tokenizer.eos_token_id
    whole = [np.array([*p, *answer.tolist()], dtype=np.int32) for p, answer in zip(prompts, out, strict=True)]
    asked = []
    for tokens, p, answer, (aux, _) in zip(whole, prompts, out, features_of(model, whole, indices), strict=True):
        ends = (answer == stop).nonzero().flatten().tolist()
        length = min(max_new, ends[0] + 1 if ends else max_new)
        asked.append(Asked(torch.from_numpy(tokens.astype(np.int64)), len(p), length, aux.to(device)))
    return asked


class Timed(Loop):
    """The loop with the time of its epochs taken apart from measuring and saving."""

    epoch_s: tuple[float, ...] = ()

    def run_epoch(self, steps: Sequence[list[list[int]]]) -> None:
        started_s = time.perf_counter()
        super().run_epoch(steps)
        if self.session.ranks.device.type == "cuda":
            torch.cuda.synchronize()
        self.epoch_s = (*self.epoch_s, time.perf_counter() - started_s)


def train_one(
    settings: dict[str, str], memory: Memory, held: list[int], folders: dict[str, Path], device: str
) -> tuple[Loop, dict[str, Any]]:
    """One run; the loop with its model, and its numbers."""
    kinds = {name: type(value) for name, value in vars(TrainConfig(**folders)).items()}
    given = {name: kinds[name](value) for name, value in settings.items()}
    config = TrainConfig(**{**folders, **given})  # type: ignore[arg-type]
    session = prepare(config, memory, 3, Ranks.join(device))
    train = [number for number in range(len(memory.tokens)) if number not in set(held)]
    loop = Timed(replace(session, train=train, held=held), StatusWriter.from_environment())
    loop.total = loop.session.total_steps()
    if loop.session.ranks.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    started_s = time.perf_counter()
    position = loop.run()
    spent_s = time.perf_counter() - started_s
    last = next(line for line in reversed(position.history) if "held_loss" in line)
    numbers = {
        "updates": position.step, "tokens": position.tokens, "seconds": spent_s, "epochs_s": loop.epoch_s,
        "tokens_s": position.tokens / sum(loop.epoch_s),
        "data_wait_s": loop.session.reader.wait_s, "held_loss": last["held_loss"],
        "held_accuracy": [round(last[f"held_accuracy_{k}"], 4) for k in range(config.ttt_length)],
        "held_course": [
            [line["step"], round(line["held_accuracy_0"], 4)] for line in position.history if "held_loss" in line
        ],
        "alarms": [alarm.kind for alarm in loop.alarms],
        "graphs": len(loop.graphs.recorded) if loop.graphs else 0,
    }  # fmt: skip
    if loop.session.ranks.device.type == "cuda":
        numbers["peak_gib"] = torch.cuda.max_memory_allocated() / 2**30
    return loop, numbers


def measure(options: argparse.Namespace) -> dict[str, Any]:
    device = torch.device(options.device)
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    model, tokenizer = load_target(options.target, dtype, device), load_tokenizer(options.target)
    tokens, masks, held = open_samples(options.tokens)
    if options.samples:
        held = held[: max(options.samples // 50, 1)]
        chosen = [*[n for n in range(len(tokens)) if n not in set(held)][: options.samples], *held]
        tokens, masks = [tokens[n] for n in chosen], [masks[n] for n in chosen]
        held = list(range(options.samples, len(chosen)))
    asked = {
        path.stem: ask(
            model, tokenizer, path, options.num_prompts, options.max_new_tokens, options.steps, options.indices
        )
        for path in options.prompts
    }
    started_s = time.perf_counter()
    memory = Memory(tokens, masks, features_of(model, tokens, options.indices))
    found: dict[str, Any] = {"device": str(device), "features_s": time.perf_counter() - started_s, "runs": {}}
    embedding = model.get_input_embeddings().weight.detach()

    def judge(drafter: Drafter) -> dict[str, Any]:
        return {name: acceptance(drafter, those, options.steps) for name, those in asked.items()}

    if options.peer:
        found["peer"] = judge(Drafter.load(options.peer, embedding))
    del model
    with tempfile.TemporaryDirectory() as scratch:
        vocab = choose(count_supervised(zip(tokens, masks, strict=True), embedding.shape[0]), options.draft_vocab)
        (Path(scratch) / "vocab").mkdir()
        vocab.save(Path(scratch) / "vocab")
        for run in options.run:
            name, *pairs = run.split()
            out = Path(scratch) / name
            folders = {"target": options.target, "features": out, "vocab": Path(scratch) / "vocab", "out": out}
            settings = {"dtype": str(dtype)[6:], "evaluate_samples": "0", **dict(pair.split("=", 1) for pair in pairs)}
            shift = int(settings.pop("mask_shift", 0))
            data = replace(memory, masks=[shifted(mask, shift) for mask in masks])
            loop, numbers = train_one(settings, data, held, folders, options.device)
            rows = embedding.to(loop.session.dtype)
            drafter = Drafter(model=loop.session.model, embedding=rows, vocab=vocab, config={})
            found["runs"][name] = {"settings": run, **numbers, "acceptance": judge(drafter)}
            print(json.dumps({name: found["runs"][name]}), file=sys.stderr, flush=True)
            if options.out:
                options.out.write_text(json.dumps(found))
    return found


def show(found: dict[str, Any]) -> None:
    lengths = lambda judged: ", ".join(f"{name} {each['length']:.3f}" for name, each in judged.items())  # noqa: E731
    if "peer" in found:
        print(f"peer: {lengths(found['peer'])}")
    for run in found["runs"].values():
        accuracy = " ".join(f"{value:.3f}" for value in run["held_accuracy"])
        print(f"{run['settings']}\n  {run['updates']} updates, {run['tokens_s']:.0f} tok/s; held out {accuracy}; "
              f"acceptance {lengths(run['acceptance'])}")  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one line")
    parser.add_argument("--target", type=Path, required=True, help="folder of the target model")
    parser.add_argument("--tokens", type=Path, required=True, help=".npz of prompt, answer, their lengths and held")
    parser.add_argument(
        "--prompts", type=Path, nargs="+", required=True, help="JSON lines of questions, one file a set"
    )
    parser.add_argument("--peer", type=Path, help="folder of a drafter to measure too")
    parser.add_argument("--run", action="append", default=[], help='"name setting=value ..."; may be repeated')
    parser.add_argument("--samples", type=int, default=0, help="train on so many (default: all)")
    parser.add_argument("--indices", type=int, nargs="+", default=[2, 15, 27], help="captured hidden_states")
    parser.add_argument("--draft-vocab", type=int, default=16384)
    parser.add_argument("--num-prompts", type=int, default=40)
    parser.add_argument("--max-new-tokens", type=int, default=128)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--out", type=Path, help="JSON file to write after every run")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = measure(options)
    print(json.dumps(found)) if options.json else show(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
