"""Capture by a real SGLang server on the CPU: exact, complete, and whole again after every fault."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runner import identity, target, tiny
from runner.conversations import Conversation, write_conversations
from runner.protocol.errors import PatchMismatch
from runner.protocol.files import read_json
from runner.serve import CaptureSettings, ServerSettings, serve
from tests.hosting.processes import owned

pytestmark = pytest.mark.sglang

ROOT = Path(__file__).parents[2]
DEADLINE_S = 400.0


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for name in ("tiny-llama", "tiny-deepseek-v3"):
        target.make(name, folder / name)
    return folder


def write_samples(folder: Path, model: Path, lengths: Sequence[int], seed: int = 1) -> list[Conversation]:
    """Random conversations; the last is the first once more under another id, with another mask."""
    chance = random.Random(seed)
    made = []
    for number, length in enumerate(lengths):
        ids = tuple(chance.randrange(8, tiny.VOCAB) for _ in range(length))
        made.append(Conversation(id=f"s{number:03d}", input_ids=ids, supervised=((length // 2, length),)))
    folder.mkdir(parents=True, exist_ok=True)
    write_conversations(folder, made, tokenizer_digest=identity.tokenizer_digest(model), dropped={})
    return made


def command(verb: str, *flags: object) -> list[str]:
    return [sys.executable, "-m", "runner", verb, *map(str, flags)]


def environment(attempt: Path) -> dict[str, str]:
    attempt.mkdir(parents=True, exist_ok=True)
    return {**os.environ, "POINTSMAN_ATTEMPT_DIR": str(attempt), "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Bench:
    """Folders of one extraction."""

    model: Path
    root: Path

    @property
    def out(self) -> Path:
        return self.root / "features"

    def flags(self, *more: object) -> list[object]:
        return [
            "--target", self.model, "--samples", self.root / "samples", "--out", self.out, "--threads", 1, *more,
        ]  # fmt: skip

    def begin(self, *more: object) -> "subprocess.Popen[bytes]":
        with (self.root / "log.txt").open("ab") as log:
            return subprocess.Popen(
                command("extract", *self.flags(*more)),
                cwd=ROOT,
                env=environment(self.root / "attempt"),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def extract(self, *more: object) -> int:
        with owned(process := self.begin(*more)):
            return process.wait(DEADLINE_S)

    def log(self) -> str:
        return (self.root / "log.txt").read_text()[-3000:]

    def status(self) -> dict[str, Any]:
        return read_json(str(self.root / "attempt/status.json"))

    def rows(self) -> int:
        journal = self.out / "journal.jsonl"
        return journal.read_bytes().count(b"checksum") if journal.exists() else 0

    def evidence(self, recompute: int) -> dict[str, Any]:
        subprocess.run(
            command(
                "verify", "extract", "--subject", self.out, "--samples", self.root / "samples",
                "--target", self.model, "--full", "--recompute", recompute,
            ),
            cwd=ROOT, env=environment(self.root / "attempt"), check=True, capture_output=True,
        )  # fmt: skip
        return read_json(str(self.root / "attempt/evidence.json"))


def wait_for(what: Callable[[], bool], process: "subprocess.Popen[bytes]", timeout_s: float = DEADLINE_S) -> None:
    until_s = time.monotonic() + timeout_s
    while not what():
        assert process.poll() is None, "it ended too early"
        assert time.monotonic() < until_s, "it did not come"
        time.sleep(0.02)


def scheduler_of(server_group_of: int) -> int:
    """The process that holds the model: of the group's processes the one with the most memory."""
    sizes = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[2]) == server_group_of and fields[0] != "Z":
                    sizes[int(entry.name)] = int(fields[21])
            except OSError:
                continue
    return max(sizes, key=lambda pid: sizes[pid])


def server_groups(client: int) -> list[int]:
    """Process groups whose leader is a child of the client: its servers."""
    return [int(pid) for pid in (Path(f"/proc/{client}/task/{client}/children").read_text().split())]


def group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return any(entry.name.isdigit() and _in_group(entry, group) for entry in Path("/proc").iterdir())


def _in_group(entry: Path, group: int) -> bool:
    try:
        fields = (entry / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return int(fields[2]) == group and fields[0] != "Z"


# Short ones around the chunk's edges, whole ranges, and a long one: alone and in batches, as they come.
LENGTHS = [1, 2, 3, 7, 33, 63, 64, 65, 120, 127, 128, 129, 200, 255, 256, 257, 300, 5, 9, 14, 2000]


@pytest.mark.parametrize(
    ("name", "indices", "ids"),
    [("tiny-llama", [2, 4, 6], [1, 3, 5]), ("tiny-deepseek-v3", [2, 3, 5], [2, 3, 5])],
)
def test_states_equal_those_of_transformers(
    models: Path, tmp_path: Path, name: str, indices: list[int], ids: list[int]
) -> None:
    """Chunked at 64, and the layer ids of each family yield the indices that the manifest records."""
    bench = Bench(models / name, tmp_path)
    made = write_samples(tmp_path / "samples", bench.model, LENGTHS)
    twin = Conversation(id="twin", input_ids=made[8].input_ids, supervised=((1, 4),))
    digest = identity.tokenizer_digest(bench.model)
    write_conversations(tmp_path / "samples", [*made, twin], tokenizer_digest=digest, dropped={})
    code = bench.extract("--capture", ",".join(map(str, indices)), "--chunked-prefill", 64)
    assert code == 0, bench.log()
    manifest = read_json(str(bench.out / "manifest.json"))
    assert manifest["capture"]["layer_ids"] == ids
    assert manifest["capture"]["captured"] == manifest["capture"]["indices"] == indices
    evidence = bench.evidence(recompute=len(LENGTHS) + 1)
    checks = {check["name"]: check for check in evidence["checks"]}
    assert checks.pop("duplicates")["ok"] is False  # the twin, as made
    assert [bad["id"] for bad in evidence["bad"]] == ["twin"]
    assert all(check["ok"] for check in checks.values()), checks
    assert float(checks["recomputed"]["found"]) < 1e-4
    assert checks["next_token"]["found"] == checks["next_token"]["expected"] == f"{len(LENGTHS)} of {len(LENGTHS)}"


def test_equal_prompts_have_equal_states_and_files_of_their_own(models: Path, tmp_path: Path) -> None:
    from runner.dataset import FeatureSet

    bench = Bench(models / "tiny-llama", tmp_path)
    ids = tuple(range(10, 90))
    twins = [Conversation(id=f"t{i}", input_ids=ids, supervised=((i + 1, 80),)) for i in range(6)]
    (tmp_path / "samples").mkdir()
    digest = identity.tokenizer_digest(bench.model)
    write_conversations(tmp_path / "samples", twins, tokenizer_digest=digest, dropped={})
    assert bench.extract() == 0, bench.log()
    features = FeatureSet.open(bench.out)
    first = features.read(0)
    for number in range(1, 6):
        other = features.read(number)
        assert (other.aux_hidden_states - first.aux_hidden_states).abs().max() < 1e-4
        assert int(other.loss_mask.sum()) == 80 - number - 1


def test_a_prefix_cache_left_on_stops_the_server(models: Path, tmp_path: Path) -> None:
    settings = ServerSettings(
        model=models / "tiny-llama",
        max_total_tokens=4096,
        tokenizer=False,
        prefix_cache=True,
        threads=1,
        capture=CaptureSettings(folder=tmp_path, layer_ids=(1, 3, 5)),
    )
    with pytest.raises(PatchMismatch, match="prefix cache is on"), serve(settings, tmp_path / "server.log"):
        pass


def test_after_the_death_of_server_and_client_the_set_is_completed(models: Path, tmp_path: Path) -> None:
    bench = Bench(models / "tiny-llama", tmp_path)
    lengths = [40 + number % 90 for number in range(400)]
    write_samples(tmp_path / "samples", bench.model, lengths)
    slow = ("--in-flight", 2, "--writers", 1)

    with owned(client := bench.begin(*slow)):
        wait_for(lambda: bench.rows() >= 20, client)
        (group,) = server_groups(client.pid)
        os.kill(scheduler_of(group), signal.SIGKILL)
        wait_for(lambda: bool(set(server_groups(client.pid)) - {group}), client)
        (second,) = server_groups(client.pid)
        before = bench.rows()
        wait_for(lambda: bench.rows() >= before + 20, client)
        client.kill()
        client.wait(10)
    until_s = time.monotonic() + 30
    while group_lives(second):
        assert time.monotonic() < until_s, "the server outlived its client"
        time.sleep(0.1)
    kept = bench.rows()
    assert 40 <= kept < 400 and not (bench.out / "manifest.json").exists()
    torn = next((bench.out / "samples/0000").glob("*.safetensors"))
    torn.write_bytes(torn.read_bytes()[:-1])

    assert bench.extract() == 0, bench.log()
    assert bench.rows() < 400 + 30, "what was whole is not made again"
    evidence = bench.evidence(recompute=5)
    assert evidence["verdict"] == "proven", evidence["checks"]
    assert not list(bench.out.rglob(".tmp-*"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 MB."""
    place = tmp_path / "small"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", place], capture_output=True)
    if made.returncode:
        pytest.skip("needs the right to mount a tmpfs")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_disk_that_fills_up_stops_the_stage_and_is_no_loss(models: Path, tmp_path: Path, small_disk: Path) -> None:
    bench = Bench(models / "tiny-llama", tmp_path)
    write_samples(tmp_path / "samples", bench.model, [100 + number % 50 for number in range(60)])  # 15 MB
    out = ("--out", small_disk / "features")
    with owned(client := bench.begin(*out)):
        wait_for(lambda: list(small_disk.glob("features/capture/engine-*")) != [], client)
        ballast = small_disk / "ballast"
        free = os.statvfs(small_disk)
        ballast.write_bytes(bytes(free.f_bavail * free.f_frsize - 5_000_000))
        assert client.wait(DEADLINE_S) == 1
    error = bench.status()["error"]
    assert error["kind"] == "DiskFull" and "No space left" in error["message"], error
    assert not (small_disk / "features/manifest.json").exists()
    ballast.unlink()
    assert bench.extract(*out) == 0, bench.log()
    result = read_json(str(small_disk / "features/result.json"))
    assert result["samples"] == 60 and result["rates"]["samples_s"] > 0
    assert not list(small_disk.glob("features/samples/*/.tmp-*"))


def test_the_chat_model_answers_and_its_states_are_proven(tmp_path: Path) -> None:
    """SmolLM2: from prompts to evidence, as the demo goes."""
    model = Path(os.environ.get("POINTSMAN_SMOLLM2", "~/.cache/pointsman/models/smollm2-135m-instruct")).expanduser()
    target.make("smollm2", model)
    bench = Bench(model, tmp_path)
    prompts = tmp_path / "prompts.jsonl"
    turns = [["What is the capital of France?", "And of Italy?"], ["Who wrote Hamlet?"], ["How do I boil an egg?"]]
    prompts.write_text("".join(json.dumps({"id": f"p{i}", "turns": each}) + "\n" for i, each in enumerate(turns)))
    flags = [
        "--target", model, "--prompts", prompts, "--out", tmp_path / "samples", "--max-samples", 3,
        "--max-new-tokens", 12, "--temperature", 0, "--threads", 1,
    ]  # fmt: skip
    made = subprocess.run(command("synth", *flags), cwd=ROOT, env=environment(tmp_path / "attempt"))
    assert made.returncode == 0
    first = json.loads((tmp_path / "samples/samples.jsonl").read_text().splitlines()[0])
    assert len(first["supervised"]) == 2 and len(first["finish"]) == 2
    from runner import hf

    start, end = first["supervised"][0]
    assert "Paris" in hf.load_tokenizer(model).decode(first["input_ids"][start:end])
    assert bench.extract("--dtype", "bfloat16") == 0, bench.log()
    manifest = read_json(str(bench.out / "manifest.json"))
    assert manifest["capture"]["indices"] == [2, 15, 27] and manifest["capture"]["layer_ids"] == [1, 14, 26]
    assert manifest["dtype"] == "bfloat16"
    evidence = bench.evidence(recompute=3)
    assert evidence["verdict"] == "proven", evidence["checks"]
