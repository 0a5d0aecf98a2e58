"""What the target itself thinks of two tokens: a near tie, or a fault?"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from runner.bench.answers import Divergence
from runner.protocol.errors import ServerError
from runner.serve import generate

MOST = 32  # divergences looked into; the others stay undecided


def look_into(
    divergences: Sequence[Divergence],
    inputs: Mapping[str, Sequence[int]],
    reference: Mapping[str, Sequence[int]],
    url: str,
    timeout_s: float,
) -> list[Divergence]:
    """Fill in `logprobs` by asking the target alone, after the part that both answers share."""
    looked = []
    for number, divergence in enumerate(divergences):
        if number < MOST and divergence.expected is not None and divergence.found is not None:
            shared = [*inputs[divergence.prompt], *reference[divergence.prompt][: divergence.position]]
            pair = (divergence.expected, divergence.found)
            divergence = replace(divergence, logprobs=_ask(url, shared, pair, timeout_s))
        looked.append(divergence)
    return looked


def _ask(url: str, tokens: Sequence[int], pair: tuple[int, int], timeout_s: float) -> tuple[float, float, float]:
    """Log-probabilities of both tokens and of the best one."""
    reply = generate(
        url,
        tokens,
        {"max_new_tokens": 1, "temperature": 0},
        timeout_s,
        return_logprob=True,
        top_logprobs_num=1,
        token_ids_logprob=list(pair),
    )
    return read_logprobs(reply["meta_info"], pair)


def read_logprobs(meta: Mapping[str, Any], pair: tuple[int, int]) -> tuple[float, float, float]:
    """SGLang's triples (log-probability, token id, text) of one position. Raises ServerError."""
    try:
        by_id = {token: float(value) for value, token, _ in meta["output_token_ids_logprobs"][0]}
        best = float(meta["output_top_logprobs"][0][0][0])
        return by_id[pair[0]], by_id[pair[1]], best
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ServerError(f"the server's answer lacks the log-probabilities asked for: {error!r}") from error
