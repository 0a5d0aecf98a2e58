"""`python -m runner evaluate`: how many tokens a verify step yields, drafting and verifying greedily in plain torch.

The target runs in transformers, so this is for targets that fit here. It owes nothing to SGLang: that both find the
same acceptance length proves the export.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.flags import option, parse
from runner.protocol.errors import DataError
from runner.protocol.status import Progress
from runner.stage import status, write_result

if TYPE_CHECKING:
    from torch import Tensor

    from runner.train.served import Drafter


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    """Acceptance length of an exported drafter on prompts, by a greedy loop of draft and verify."""

    target: Path = option("folder of the target model")
    draft: Path = option("folder of the exported drafter")
    out: Path = option("where result.json goes")
    prompts: Path | None = option("JSON lines of questions (default: the MT-bench questions that ship)", None)
    num_prompts: int = option("how many of them (0: all)", 40)
    max_new_tokens: int = option("tokens answered at most", 128)
    steps: int = option("draft tokens a verify step", 3)
    dtype: str = option("of target and drafter", "float32", ("float32", "bfloat16"))
    threads: int = option("CPU threads of torch (0: as it chooses)", 0)
    check_greedy: bool = option("answer without drafts too, and compare", False)


@dataclass(frozen=True, kw_only=True)
class Answered:
    """One prompt: the tokens answered, and how many drafts each verify step accepted."""

    tokens: tuple[int, ...]
    accepted: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """Over all prompts. `length` is 1 + accepted drafts a verify step; `by_position[k]` of those that reached k."""

    length: float
    by_position: tuple[float, ...]
    verify_steps: int
    tokens: int

    @staticmethod
    def of(answers: Iterable[Answered], steps: int) -> "Acceptance":
        answers = list(answers)
        counts = [count for answer in answers for count in answer.accepted]
        reached = [sum(count >= k for count in counts) for k in range(steps + 1)]
        return Acceptance(
            length=1 + sum(counts) / max(len(counts), 1),
            by_position=tuple(reached[k + 1] / max(reached[k], 1) for k in range(steps)),
            verify_steps=len(counts),
            tokens=sum(len(answer.tokens) for answer in answers),
        )


class Greedy:
    """The target with its cache, token by token at temperature 0."""

    def __init__(self, model: Any, indices: Sequence[int]) -> None:
        from runner.hf import import_transformers

        self.model, self.indices = model, list(indices)
        self.cache = import_transformers().DynamicCache()

    def read(self, tokens: Sequence[int]) -> tuple["Tensor", list[int]]:
        """Read on: captured states [n, len(indices) * H], and the first choice after each token."""
        import torch

        with torch.no_grad():
            said = self.model(
                torch.tensor([list(tokens)]), past_key_values=self.cache, output_hidden_states=True, use_cache=True
            )
        aux = torch.cat([said.hidden_states[index][0] for index in self.indices], dim=-1)
        return aux, said.logits[0].argmax(-1).tolist()

    def forget(self, count: int) -> None:
        """Take back the last `count` tokens."""
        if count:
            self.cache.crop(-count)


def answer(
    target: Greedy, drafter: "Drafter", prompt: Sequence[int], max_new: int, steps: int, stop: set[int]
) -> Answered:
    """Answer one prompt, `steps` drafts at a time."""
    import torch

    aux, choices = target.read(prompt)
    tokens, accepted = [choices[-1]], []
    slots, cache = [*prompt[1:], tokens[-1]], drafter.empty()
    while len(tokens) < max_new and tokens[-1] not in stop:
        hidden = drafter.extend(torch.tensor(slots), drafter.project(aux), cache)
        drafts = drafter.propose(hidden[-1], cache, steps)
        aux, choices = target.read([tokens[-1], *drafts])
        count = next((k for k, draft in enumerate(drafts) if draft != choices[k]), steps)
        target.forget(steps - count)
        slots, aux = choices[: count + 1], aux[: count + 1]
        accepted.append(count)
        tokens += slots
    end = next((place + 1 for place, token in enumerate(tokens) if token in stop), len(tokens))
    return Answered(tokens=tuple(tokens[: min(end, max_new)]), accepted=tuple(accepted))


def answer_plainly(target: Greedy, prompt: Sequence[int], max_new: int, stop: set[int]) -> tuple[int, ...]:
    """The same without drafts."""
    tokens = [target.read(prompt)[1][-1]]
    while len(tokens) < max_new and tokens[-1] not in stop:
        tokens.append(target.read(tokens[-1:])[1][-1])
    return tuple(tokens)


def main(argv: Sequence[str]) -> int:
    options = parse(EvaluateOptions, argv, "python -m runner evaluate")
    import torch

    from runner.hf import load_causal_lm, load_config, load_tokenizer, text_config

    if options.threads:
        torch.set_num_threads(options.threads)
    model = load_causal_lm(options.target, getattr(torch, options.dtype))
    drafter, indices = open_drafter(options.draft, model, text_config(load_config(options.target)))
    stop = stop_tokens(model)
    prompts = _prompts(options, load_tokenizer(options.target))
    answers, same = [], 0
    for number, prompt in enumerate(prompts):
        answers.append(answer(Greedy(model, indices), drafter, prompt, options.max_new_tokens, options.steps, stop))
        if options.check_greedy:
            plain = answer_plainly(Greedy(model, indices), prompt, options.max_new_tokens, stop)
            same += plain == answers[-1].tokens
        length = Acceptance.of(answers, options.steps).length
        status().update("running", Progress(number + 1, len(prompts), "prompts"), message=f"acceptance {length:.3f}")
    found = Acceptance.of(answers, options.steps)
    options.out.mkdir(parents=True, exist_ok=True)
    write_result(
        options.out,
        "evaluate",
        acceptance_length=found.length,
        by_position=found.by_position,
        verify_steps=found.verify_steps,
        tokens=found.tokens,
        prompts=len(prompts),
        identical=same if options.check_greedy else None,
        steps=options.steps,
    )
    status().update("done", message=f"acceptance length {found.length:.3f}", force=True)
    return 0


def open_drafter(folder: Path, model: Any, target: dict[str, Any]) -> tuple["Drafter", list[int]]:
    """The drafter, and the indices that its config makes SGLang capture. Raises DataError."""
    from runner.drafter import captured_indices
    from runner.train.served import Drafter

    drafter = Drafter.load(folder, model.get_input_embeddings().weight.detach())
    ids = (drafter.config.get("eagle_config") or {}).get("eagle_aux_hidden_state_layer_ids")
    if not ids:
        raise DataError(f"{folder}: its config names no captured layers", "export it again")
    return drafter, captured_indices(ids, str(target.get("model_type", "")))


def stop_tokens(model: Any) -> set[int]:
    ids = model.generation_config.eos_token_id
    return set(ids) if isinstance(ids, list) else {ids} - {None}


def _prompts(options: EvaluateOptions, tokenizer: Any) -> list[list[int]]:
    from runner.bench.prompts import choose_questions, render

    path = options.prompts or Path(__file__).parent / "data/prompts/mt_bench.jsonl"
    return [prompt.input_ids for prompt in render(choose_questions([path], options.num_prompts), tokenizer)]
