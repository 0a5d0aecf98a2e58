"""Adopt and the confirmation of a cleanup: read in their one form, and never out of talk."""

import pytest

from bot.core.reading.context import Context, Event, Phase, Place, RunView, StageView
from bot.core.reading.intent import Intent, Kind
from bot.core.reading.reader import read

STAGES = (StageView(id="extract", aliases=("extraction",)), StageView(id="train", aliases=("model training",)))
R1, R2 = (RunView(id=id_, phase=Phase.WAITING, stages=STAGES) for id_ in ("r1", "r2"))


def moment(**fields: object) -> Context:
    given: dict[str, object] = {"runs": (R1, R2), "thread_run": "r1", "bot_user": "UBOT"}
    return Context(**(given | fields))  # type: ignore[arg-type]


def one(text: str, **fields: object) -> Intent:
    found = read(text, moment(**fields))
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("text", "stage", "more"),
    [
        ("adopt box1:/data/hs as extract", "extract", {"host": "box1", "path": "/data/hs"}),
        (
            "Adopt box-1.lan:/Data/My_Set_1/ as the Extraction stage.",
            "extract",
            {"host": "box-1.lan", "path": "/Data/My_Set_1/"},
        ),
        ("please adopt `box1:~/hs` as extract, thanks", "extract", {"host": "box1", "path": "~/hs"}),
        ('<@UBOT> adopt box1:"/data/my set" as extract', "extract", {"host": "box1", "path": "/data/my set"}),
        ("adopt box1:“/data/my set” as extract", "extract", {"host": "box1", "path": "/data/my set"}),
        ("adopt box1 pid 4711 as train", "train", {"host": "box1", "pid": 4711}),
        (
            "ok adopt box1 pid 4711 as model training in /data/out",
            "train",
            {"host": "box1", "pid": 4711, "out": "/data/out"},
        ),
        ("adopt box1:/data/*_x_* as extract for r1", "extract", {"host": "box1", "path": "/data/*_x_*"}),
    ],
)
def test_its_form_is_an_order(text: str, stage: str, more: dict[str, object]) -> None:
    found = one(text)
    assert (found.kind, found.run, found.stage, dict(found.more)) == (Kind.ADOPT, "r1", stage, more)


@pytest.mark.parametrize(
    "text",
    [
        "adopt box1:/data/hs as extract?",
        "adopt box1:/data/hs as extract when it is done",
        "adopt box1:/data/hs as extract tomorrow",
        "adopt box1:/data/hs as extract and continue",
        "adopt box1:/data/hs as extract\ncontinue",
        "adopt box1:/data/hs as bench",
        "adopt box1:/data/hs as extract in /data/out",
        "adopt box1:data/hs as extract",
        "adopt box1:/data/{root} as extract",
        "adopt box1 pid 0 as train",
        "adopt box1 pid -1 as train",
        "adopt box1 pid 99999999999 as train",
        "adopt box1 as train",
        "adopt /data/hs as extract",
        "adopt box1:/data/hs as extract for r2",
        "~adopt box1:/data/hs as extract~ adopt box1:/x as extract",
        "don't adopt box1:/data/hs as extract",
        "do not adopt box1:/data/hs as extract",
        "never adopt box1:/data/hs as extract",
        "should we adopt box1:/data/hs as extract",
        "can you adopt box1:/data/hs as extract?",
        "what if we adopt box1:/data/hs as extract",
        "maybe adopt box1:/data/hs as extract",
        "ben: adopt box1:/data/hs as extract",
        'he said "adopt box1:/data/hs as extract"',
        "> adopt box1:/data/hs as extract",
        "```adopt box1:/data/hs as extract```",
        "we will adopt box1:/data/hs as extract",
        "adopt a puppy",
        "adoption is hard",
        "\u202eadopt box1:/data/hs as extract",
        "confirm cleanup?",
        "confirm cleanup later",
        "don't confirm cleanup",
        "confirm the cleanup of everything",
        "can you confirm cleanup",
        "cleanup",
        "clean up r1 please",
        "> confirm cleanup",
    ],
)
def test_talk_questions_and_negations_adopt_and_delete_nothing(text: str) -> None:
    assert not {intent.kind for intent in read(text, moment())} & {Kind.ADOPT, Kind.CLEANUP}
    assert not any(intent.acts for intent in read(text, moment()))


def test_a_cleanup_is_confirmed_by_both_words() -> None:
    for text in ("confirm cleanup", "Please confirm the clean-up.", "confirm clean up of r1"):
        assert (one(text).kind, one(text).run) == (Kind.CLEANUP, "r1")


@pytest.mark.parametrize("text", ["adopt box1:/data/hs as extract", "confirm cleanup"])
def test_the_moment_decides_as_for_every_order(text: str) -> None:
    assert one(text, speaker_allowed=False).why == "not_authorized"
    assert one(text, speaker_is_bot=True).kind is Kind.IGNORE
    assert (one(text, age_s=3600.0).kind, one(text, age_s=3600.0).why) == (Kind.ASK, "stale_message")
    loose = {"place": Place.CHANNEL, "thread_run": None}
    assert not one(text, **loose).acts and not one(text, **loose, mentioned=True).acts
    assert one(text, **loose, mentioned=True).why == "name_the_run"
    assert one(f"<@UBOT> {text} for r2", **loose, mentioned=True).run == "r2"
    assert one(text, **loose, mentioned=True, runs=(R2,)).run == "r2"
    assert one(text, event=Event.DELETION).kind is Kind.IGNORE
