"""Evidence for conversations: whole, unique, masked where the target itself spoke."""

from collections.abc import Sequence
from typing import Any

from runner import hf, identity
from runner.conversations import Conversation, read_conversations, read_manifest
from runner.protocol.errors import DataError
from runner.protocol.evidence import Bad, Check
from runner.synth.judge import is_loop
from runner.verify.checking import Clock, every
from runner.verify.options import VerifyOptions


def check_synth(options: VerifyOptions) -> tuple[list[Check], list[Bad], list[str]]:
    """`options.target` is compared with where it is given; full also looks at the ids around every mask."""
    clock = Clock()
    try:
        manifest = read_manifest(options.subject)
        found = list(read_conversations(options.subject))
    except DataError as error:
        return [Check("manifest", False, found=error.message, expected="a manifest and its table")], [], []
    digest = manifest["samples"]["digest"][:12]
    checks = [Check("manifest", True, found=digest, expected=digest, detail="digest of the table", seconds=clock.lap())]
    checks.append(_sums(manifest, found, clock))
    bad: list[Bad] = []
    for name, faults, detail in (
        ("mask", _mask_faults(found), "every conversation has supervised tokens, and prompts before them"),
        ("duplicates", _twins(found), "no two conversations are equal"),
        ("loops", _loops(found), "no answer repeats itself"),
    ):
        checks.append(every(name, len(found), faults, clock, detail))
        bad += faults
    dropped = manifest.get("dropped") or {}
    words = ", ".join(f"{why} {count}" for why, count in dropped.items()) or "none"
    checks.append(Check("dropped", True, found=sum(dropped.values()), expected="counted", detail=words))
    if options.target is not None:
        checks += _target(options, manifest, found, bad, clock)
    return checks, bad, []


def _sums(manifest: dict[str, Any], found: Sequence[Conversation], clock: Clock) -> Check:
    counted = (len(found), sum(len(c.input_ids) for c in found), sum(c.num_supervised for c in found))
    told = tuple(manifest["samples"][name] for name in ("count", "tokens", "supervised"))
    words = "{} samples, {} tokens, {} supervised".format
    return Check("tokens", counted == told, found=words(*counted), expected=words(*told), seconds=clock.lap())


def _mask_faults(found: Sequence[Conversation]) -> list[Bad]:
    bad = [Bad(c.id, "no supervised token") for c in found if c.num_supervised == 0]
    return bad + [
        Bad(c.id, "supervised from its first token") for c in found if c.supervised and not c.supervised[0][0]
    ]


def _twins(found: Sequence[Conversation]) -> list[Bad]:
    first: dict[tuple[int, ...], str] = {}
    return [
        Bad(c.id, f"the same as {first[c.input_ids]}") for c in found if first.setdefault(c.input_ids, c.id) != c.id
    ]


def _loops(found: Sequence[Conversation]) -> list[Bad]:
    return [
        Bad(c.id, "an answer repeats itself") for c in found if any(is_loop(c.input_ids[s:e]) for s, e in c.supervised)
    ]


def _target(
    options: VerifyOptions, manifest: dict[str, Any], found: Sequence[Conversation], bad: list[Bad], clock: Clock
) -> list[Check]:
    assert options.target is not None
    try:
        digest = identity.tokenizer_digest(options.target)
        vocab_size = int(hf.text_config(hf.load_config(options.target))["vocab_size"])
    except DataError as error:
        return [Check("target", False, found=error.message, expected="the target's tokenizer", seconds=clock.lap())]
    told = str(manifest["tokenizer_digest"])
    checks = [Check("tokenizer", digest == told, found=digest[:12], expected=told[:12], seconds=clock.lap())]
    outside = [Bad(c.id, "ids outside of the vocabulary") for c in found if max(c.input_ids) >= vocab_size]
    checks.append(every("ids", len(found), outside, clock, f"all below {vocab_size}"))
    bad += outside
    if options.is_full:
        strays = _strays(options, found)
        checks.append(
            every("template", len(found), strays, clock, "every mask begins right behind an assistant header")
        )
        bad += strays
    return checks


def _strays(options: VerifyOptions, found: Sequence[Conversation]) -> list[Bad]:
    """Conversations with a supervised span that does not follow what the template puts before an answer."""
    assert options.target is not None
    tokenizer = hf.load_tokenizer(options.target)
    messages = [{"role": "user", "content": "Hello"}]
    plain, asked = (
        tokenizer.apply_chat_template(messages, add_generation_prompt=flag, tokenize=False) for flag in (False, True)
    )
    header = tuple(tokenizer.encode(asked[len(plain) :], add_special_tokens=False))
    if not asked.startswith(plain) or not header:
        return []
    return [
        Bad(c.id, f"the mask from token {start} follows no assistant header")
        for c in found
        for start, _ in c.supervised
        if c.input_ids[max(0, start - len(header)) : start] != header
    ]
