import json
import shutil
from dataclasses import asdict, replace

import pytest

from runner.bench import files
from runner.bench.answers import find_divergences
from runner.bench.draft import file_digest
from runner.bench.records import RecordFile
from runner.bench.report import Circumstances, summarise
from runner.bench.schedule import plan_passes
from runner.identity import config_digest, weights_revision
from runner.stage import write_result
from runner.verify.bench import check_bench
from tests.bench.made import record

ANSWER = [4, 5, 6, 7, 8, 9, 10, 11]
HISTOGRAM = [2, 1, 1]  # 1 + 4 steps + 3 drafts = 8 tokens


def _circumstances(**other):
    given = {
        "steps": 3, "topk": 1, "draft_tokens": 4, "max_new_tokens": 8, "rounds": 2, "concurrency": (1, 2),
        "algorithm": "EAGLE3", "architectures": ("LlamaForCausalLMEagle3",), "capture_checked": True,
        "device": "cpu", "dtype": "float32", "near_tie_nats": 0.25,
    }  # fmt: skip
    return Circumstances(**{**given, **other})


def _records(facts):
    made, clock_s = [], 0.0
    for turn in plan_passes(facts.rounds, facts.concurrency, together=True):
        drafted = turn.side == "drafted"
        for index, prompt in enumerate(("p1", "p2")):
            started_s = clock_s if turn.concurrency > 1 else clock_s + 2.0 * index
            made.append(
                record(
                    turn.side, prompt, ANSWER, turn.round, turn.concurrency, started_s, started_s + 1.5,
                    HISTOGRAM if drafted else None,
                )
            )  # fmt: skip
        clock_s += 10.0
    return made


class Folder:
    """A benchmark's data folder, honest until it is tampered with."""

    def __init__(self, root):
        self.out, self.target, self.draft = root / "out", root / "target", root / "draft"
        for folder in (self.out, self.target, self.draft):
            folder.mkdir()
        for folder in (self.target, self.draft):
            (folder / "config.json").write_text("{}")
            (folder / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}" + bytes(5000))
        self.facts = _circumstances()
        self.records = _records(self.facts)
        self.divergences = []
        self.starts = [self.start("drafted"), self.start("baseline")]

    def start(self, side):
        drafted = side == "drafted"
        facts = {"model_path": str(self.target), "version": "0.5.23", "device": "cpu", "dtype": "float32", "tp_size": 1}
        facts["speculative_algorithm"] = "EAGLE3" if drafted else None
        facts["speculative_draft_model_path"] = str(self.draft) if drafted else None
        return {"side": side, "facts": facts}

    def write(self):
        extra = {
            "target": str(self.target),
            "draft": str(self.draft),
            "target_config_digest": config_digest(self.target),
            "target_revision": weights_revision(self.target),
            "draft_config_digest": config_digest(self.draft),
            "draft_digest": file_digest(self.draft / "model.safetensors"),
        }
        write_result(self.out, "bench", **summarise(self.records, self.divergences, replace(self.facts, extra=extra)))
        with RecordFile(self.out / files.RECORDS) as file:
            file.append(self.records)
        (self.out / files.STARTS).write_text("".join(json.dumps(start) + "\n" for start in self.starts))
        return self

    def edit_result(self, **fields):
        path = self.out / files.RESULT
        path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))

    def judge(self, target=None, draft=None):
        """Names of the checks that failed, and of those left undecided."""
        checks = check_bench(self.out, target, draft, full=False)
        return [c.name for c in checks if c.ok is False], [c.name for c in checks if c.ok is None]


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def _change(folder, chosen, **fields):
    folder.records = [replace(r, **fields) if chosen(r) else r for r in folder.records]


def test_an_honest_benchmark_is_proven(folder):
    folder.write()
    assert folder.judge() == ([], [])


def test_no_result_is_one_failed_check(folder):
    assert folder.judge() == (["result"], [])


@pytest.mark.parametrize("name", [files.RECORDS, files.STARTS])
def test_figures_without_what_they_are_made_from_prove_nothing(folder, name):
    folder.write()
    (folder.out / name).unlink()
    assert folder.judge() == (["result"], [])


def test_a_prettier_speed_in_the_summary_is_found(folder):
    folder.write().edit_result(speedup=2.5)
    assert folder.judge() == (["recomputed"], [])


def test_a_missing_answer_is_found_even_when_the_summary_fits_it(folder):
    del folder.records[3]
    folder.write()
    assert folder.judge()[0] == ["answered"]


def test_acceptance_at_the_alarm_is_contradicted(folder):
    _change(folder, lambda r: r.side == "drafted", verify_steps=7, accepted_drafts=0, accepted_histogram=[7])
    folder.write()
    assert folder.judge() == (["acceptance"], [])  # 8 tokens / 7 steps = 1.14 is the prefill's token alone


def test_tokens_that_no_step_made_are_found(folder):
    _change(folder, lambda r: r.side == "drafted" and r.prompt == "p2", verify_steps=2, accepted_histogram=[0, 1, 1])
    folder.write()
    assert folder.judge() == (["tokens"], [])


def test_a_baseline_that_drafted_is_found(folder):
    _change(folder, lambda r: r.side == "baseline", verify_steps=4, accepted_drafts=3, accepted_histogram=HISTOGRAM)
    folder.write()
    assert folder.judge() == (["tokens"], [])


def test_servers_of_two_versions_are_found(folder):
    folder.starts[1]["facts"]["version"] = "0.5.17"
    folder.write()
    assert folder.judge() == (["servers"], [])


@pytest.mark.parametrize(
    ("field", "value"), [("speculative_algorithm", "EAGLE"), ("speculative_draft_model_path", "/x")]
)
def test_another_drafter_or_algorithm_is_found(folder, field, value):
    folder.starts[0]["facts"][field] = value
    folder.write()
    assert folder.judge() == (["drafter_used"], [])


def test_a_drafter_that_changed_since_is_found(folder):
    folder.write()
    (folder.draft / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}" + bytes([1]) + bytes(4999))
    assert folder.judge() == (["models"], [])


def test_a_benchmark_of_another_drafter_is_found(folder, tmp_path):
    folder.write()
    shutil.copytree(folder.draft, tmp_path / "newer")
    assert folder.judge(draft=tmp_path / "newer") == ([], [])
    (tmp_path / "newer" / "config.json").write_text('{"eagle_config": {}}')
    assert folder.judge(draft=tmp_path / "newer") == (["models"], [])


def test_a_drafter_that_is_gone_leaves_it_undecided(folder):
    folder.write()
    (folder.draft / "config.json").unlink()
    assert folder.judge() == ([], ["models"])


def test_passes_at_the_same_time_are_found(folder):
    first = folder.records[0]
    _change(folder, lambda r: r.side != first.side and r.round == 0 and r.concurrency == 1, started_s=0.5, ended_s=1.5)
    folder.write()
    assert "times" in folder.judge()[0]


def test_more_in_flight_than_stated_is_found(folder):
    _change(folder, lambda r: r.concurrency == 1 and r.round == 0, ended_s=1.9, started_s=0.1)
    folder.write()
    assert "times" in folder.judge()[0]


def _diverge(folder, *logprobs):
    other = [*ANSWER[:5], 99, *ANSWER[6:]]
    _change(folder, lambda r: r.side == "drafted" and r.prompt == "p2", output_ids=other)
    folder.divergences = [replace(one, logprobs=logprobs or None) for one in find_divergences(folder.records)]
    assert [asdict(one)["position"] for one in folder.divergences] == [5]


def test_on_the_cpu_in_fp32_even_a_near_tie_contradicts(folder):
    _diverge(folder, -1.0, -1.0, -1.0)
    folder.write()
    assert folder.judge() == (["outputs"], [])


@pytest.mark.parametrize(
    ("logprobs", "judged"),
    [((-1.0, -1.1, -1.0), ([], [])), ((-1.0, -3.0, -1.0), (["outputs"], [])), ((), ([], ["outputs"]))],
)
def test_on_a_gpu_a_near_tie_excuses_a_fault_does_not(folder, logprobs, judged):
    folder.facts = _circumstances(device="cuda", dtype="bfloat16")
    _diverge(folder, *logprobs)
    folder.write()
    assert folder.judge() == judged


def test_a_divergence_left_out_of_the_summary_is_found(folder):
    folder.facts = _circumstances(device="cuda", dtype="bfloat16")
    _diverge(folder, -1.0, -1.0, -1.0)
    folder.divergences = []
    folder.write()
    assert folder.judge() == (["recomputed"], ["outputs"])
