"""A drafter that is served but does nothing raises no error anywhere: here it does."""

from collections.abc import Sequence

from runner.bench.measurement import Acceptance

USELESS = 1.05  # acceptance length at or below it: the drafts are not used, or are noise


def explain_alarm(
    acceptance: Acceptance | None, algorithm: str, architectures: Sequence[str], capture_checked: bool
) -> str | None:
    """None, or what is wrong in words with its likely causes, the likeliest first.

    The stricter of the two measures counts, since with short answers the prefill's token lifts the acceptance length.
    """
    if acceptance is not None and min(acceptance.length, acceptance.per_step) > USELESS:
        return None
    causes = []
    eagle3 = any(name.endswith("Eagle3") for name in architectures)
    if eagle3 != (algorithm == "EAGLE3"):
        causes.append(f"served with {algorithm}, though the drafter is {', '.join(architectures) or 'of unknown kind'}")
    if not capture_checked:
        causes.append("capture ids of the draft config other than those it was trained on (give --features to check)")
    causes += [
        "d2t stored as absolute ids instead of offsets, or another map than the one trained with",
        "hidden states captured wrongly (final norm, order of layers), or another target than the one trained on",
        "trained for the wrong position (embedding of the same token instead of the next), or hardly trained",
    ]
    if acceptance is None:
        found = "no verify step was counted: the server answered without the drafter"
    else:
        found = f"acceptance {acceptance.per_step:.3f} a step (length {acceptance.length:.3f})"
    return f"{found}; at {USELESS} or less the drafts are useless. Likely: {'; '.join(causes)}."
