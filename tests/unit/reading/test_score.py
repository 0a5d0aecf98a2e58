"""Scoring as the corpus defines it, and the command that does it."""

import json
from pathlib import Path

import pytest

from bot.cli import read as command
from bot.core.reading import Intent, Kind, read
from bot.core.reading.decode import ContextError, context_of
from bot.core.reading.fixtures import FIXTURES
from bot.core.reading.score import CorpusError, judge, parse_corpus
from bot.core.reading.why import REASONS
from bot.errors import CommandError
from tests.unit.reading.corpora import CHAT, labelled

HEADER = "text\tcontext\tintent\targuments\tnote\n"
GO = Intent(kind=Kind.ADVANCE, rule="r", run="r12", from_stage="extraction", to="training")
ASK = Intent(kind=Kind.ASK, rule="r", run="r12", why="question", proposed="ADVANCE")
SILENT = Intent(kind=Kind.IGNORE, rule="r", why="nothing_said")
GO_LABEL = 'continue\tG1\tADVANCE\t{"run": "r12", "from": "extraction", "to": "training"}\t'
ASK_LABEL = 'go?\tG1\tASK-CLARIFY\t{"run": "r12", "proposed": "ADVANCE", "why": "hedge"}\t'
HOLD_LABEL = 'wait\tG1\tHOLD\t{"run": "r12"}\t'


@pytest.mark.parametrize(
    ("line", "reading", "flags"),
    [
        (GO_LABEL, GO, "right"),
        (GO_LABEL, ASK, "needless_ask"),
        (GO_LABEL + "[also ASK-CLARIFY]", ASK, "right"),
        (ASK_LABEL, ASK, "right"),
        (ASK_LABEL, GO, "unsafe"),
        (ASK_LABEL + "[also ADVANCE]", GO, "right"),
        (ASK_LABEL + "[also STATUS] [also HOLD]", GO, "unsafe"),
        (HOLD_LABEL, SILENT, "mute"),
        (HOLD_LABEL + "[also IGNORE]", SILENT, "right"),
        (GO_LABEL.replace("r12", "r14"), GO, "unsafe"),
        (GO_LABEL.replace("}", ', "set": {"lr": 0.0002}}'), GO, "unsafe"),
    ],
)
def test_judging(line: str, reading: Intent, flags: str) -> None:
    (label,) = parse_corpus(HEADER + line, {"G1": "G1"})
    verdict = judge(label, (reading,))
    assert [name for name in ("right", "unsafe", "needless_ask", "mute") if getattr(verdict, name)] == [flags]


def test_escapes_and_several_intents() -> None:
    line = r"a\nb\\n" + '\tG1\tHOLD+ADVANCE\t[{"run": "r12"}, {"run": "r14"}]\t'
    (label,) = parse_corpus(HEADER + line, {"G1": "G1"})
    assert label.text == "a\nb\\n"
    assert label.intents == ("HOLD", "ADVANCE")


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("x\tnowhere\tHOLD\t{}\t", "line 2: unknown context: 'nowhere'"),
        ("x\tG1\tHOLD\t{", "line 2: 4 columns"),
        ("x\tG1\tHOLD\t{\t", "line 2: arguments are no JSON"),
        ("x\tG1\tHOLD+HOLD\t{}\t", "line 2: 2 intents but 1 sets"),
    ],
)
def test_a_line_that_cannot_be_scored_is_named(line: str, named: str) -> None:
    with pytest.raises(CorpusError, match=named.split(":")[0]) as caught:
        parse_corpus(HEADER + line, {"G1": "G1"})
    assert named in str(caught.value)


def test_the_command_prints_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--corpus", str(CHAT / "messages.tsv"), "--contexts", str(CHAT / "contexts.json"), "--json"]
    assert command.main(arguments) == 0
    line = json.loads(capsys.readouterr().out)
    assert set(line) == {"total", "right", "unsafe", "needless_asks", "mute"}
    assert line["total"] == 177


def test_the_command_prints_the_lines_that_miss(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    corpus = tmp_path / "one.tsv"
    corpus.write_text(HEADER + ASK_LABEL.replace("go?", "continue"), encoding="utf-8")
    assert command.main(["--corpus", str(corpus)]) == 0
    out = capsys.readouterr().out
    assert "line 2 [G1] 'continue' UNSAFE" in out
    assert "(pass_the_gate)" in out


def test_the_command_names_the_line_of_an_unknown_context(tmp_path: Path) -> None:
    corpus = tmp_path / "one.tsv"
    corpus.write_text(HEADER + HOLD_LABEL.replace("G1", "mars"), encoding="utf-8")
    with pytest.raises(CommandError, match="line 2: unknown context"):
        command.main(["--corpus", str(corpus)])


def test_the_command_reads_one_text(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert command.main(["kill it", "--context", "T62"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)
    assert (shown["kind"], shown["rule"], shown["arguments"]) == (
        "CANCEL",
        "stop_it",
        {"run": "r12", "stage": "training"},
    )
    context = {
        "runs": [{"id": "r3", "phase": "waiting", "stages": [{"id": "a"}, {"id": "b"}], "stage": "a", "gate_to": "b"}]
    }
    file = tmp_path / "context.json"
    file.write_text(json.dumps(context | {"thread_run": "r3", "card_is_last": True}), encoding="utf-8")
    assert command.main(["a done, continue", "--context", str(file)]) == 0
    (shown,) = json.loads(capsys.readouterr().out)
    assert (shown["kind"], shown["to"], shown["claim"]) == ("ADVANCE", "b", {"stage": "a", "status": "done"})


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ([], "an object"),
        ({"place": "moon"}, "context.place"),
        ({"age_s": "1"}, "context.age_s"),
        ({"colour": 1}, "unknown field 'colour'"),
        ({"runs": [{"id": "r1"}]}, "context.runs\\[0\\]"),
    ],
)
def test_a_context_file_that_is_wrong_is_named(value: object, named: str) -> None:
    with pytest.raises(ContextError, match=named):
        context_of(value)


def test_every_reason_has_a_sentence() -> None:
    given = {intent.why for line in labelled("messages.tsv") for intent in read(line.text, FIXTURES[line.code])}
    assert given - {None} <= set(REASONS)
    assert all(sentence.endswith((".", "?")) for sentence in REASONS.values())
