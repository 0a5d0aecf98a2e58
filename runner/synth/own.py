"""Prompts that the target writes itself: given the template up to a user's first word, it says what users ask."""

from collections.abc import Callable, Sequence
from typing import Any

from runner.conversations import Conversation
from runner.synth.ask import Answer, Asked
from runner.synth.judge import is_loop
from runner.synth.options import SynthOptions
from runner.synth.prompts import Prompt
from runner.synth.template import before_user

# Fixed, and recorded with the set: what varies the prompts is chance alone.
SAMPLING = {"temperature": 1.0, "top_p": 0.99, "max_new_tokens": 256}
_MOST_TRIES = 3  # prompts asked for, for each conversation wanted: some come to nothing


def own_prompts(options: SynthOptions) -> list[Prompt]:
    """Empty ones, in an order that a larger --max-samples only prolongs."""
    return [Prompt(f"own-{number:06d}", ()) for number in range(_MOST_TRIES * options.max_samples)]


class Writer:
    """Fills an empty prompt with what the target writes as a user, one turn."""

    def __init__(self, tokenizer: Any, end_ids: Sequence[int]) -> None:
        self._tokenizer = tokenizer
        self.input_ids, turn_end = before_user(tokenizer)
        stops = dict.fromkeys([*end_ids, turn_end])
        self._stops = frozenset(stops)
        self.sampling = {**SAMPLING, "stop_token_ids": list(stops)}

    def write(self, prompt: Prompt, ask: Callable[[Sequence[int]], Answer]) -> Prompt | Asked:
        """The prompt with its turn; or, when nothing usable was said, what the judge will drop."""
        answer = ask(self.input_ids)
        ids = [number for number in answer.ids if number not in self._stops]
        text = self._tokenizer.decode(ids, skip_special_tokens=True).strip()
        if answer.finish != "stop" or not text or is_loop(ids):
            said = Conversation(id=prompt.id, input_ids=tuple(ids), supervised=(), finish=(answer.finish,))
            return Asked(said, (tuple(ids) if is_loop(ids) else (),))
        return Prompt(prompt.id, (text,))
