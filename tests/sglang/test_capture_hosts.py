"""Capture where things are not as usual: Kimi's wrapper, two ranks, patched model files, one long sample."""

import importlib.util
import json
import os
from pathlib import Path

import pytest

from runner import patch, target
from runner.protocol.files import read_json
from tests.sglang.test_capture import Bench, write_samples

pytestmark = [pytest.mark.sglang, pytest.mark.slow]


def check_proven(bench: Bench, samples: int) -> None:
    evidence = bench.evidence(recompute=samples)
    assert evidence["verdict"] == "proven", evidence["checks"]
    found = {check["name"]: check for check in evidence["checks"]}
    assert float(found["recomputed"]["found"]) < 1e-4
    assert found["next_token"]["found"] == f"{samples} of {samples}"


def test_the_language_model_in_kimis_wrapper(tmp_path: Path) -> None:
    """Ids are taken unchanged there; they are read from the loaded model, and the states are transformers' own."""
    target.make("tiny-kimi-k2.5", tmp_path / "tiny-kimi")
    bench = Bench(tmp_path / "tiny-kimi", tmp_path)
    write_samples(tmp_path / "samples", bench.model, [3, 17, 64, 65, 130])
    trusting = "--server-args=--trust-remote-code"
    assert bench.extract("--capture", "2,3,5", "--chunked-prefill", 64, trusting) == 0, bench.log()
    (told,) = (read_json(str(path)) for path in bench.out.glob("capture/engine-*.json"))
    assert (
        told["hooked_by"] == "plugin"
        and told["architecture"] == "KimiK25ForConditionalGeneration"
        and told["captured"] == [2, 3, 5]
    )
    capture = read_json(str(bench.out / "manifest.json"))["capture"]
    assert (capture["family"], capture["layer_ids"], capture["indices"]) == ("kimi_k25", [2, 3, 5], [2, 3, 5])
    check_proven(bench, 5)


def test_of_two_tensor_parallel_ranks_one_writes(tmp_path: Path) -> None:
    target.make("tiny-llama", tmp_path / "tiny-llama")
    bench = Bench(tmp_path / "tiny-llama", tmp_path)
    write_samples(tmp_path / "samples", bench.model, [3, 17, 64, 65, 130])
    assert bench.extract("--tensor-parallel", 2, "--chunked-prefill", 64) == 0, bench.log()
    (told,) = (read_json(str(path)) for path in bench.out.glob("capture/engine-*.json"))
    assert told["tp_size"] == 2
    (records,) = bench.out.glob("capture/records-*.jsonl")
    assert len([line for line in records.read_text().splitlines() if line]) == 5, "one file a sample, by one rank"
    check_proven(bench, 5)


def linked(source: Path, place: Path, own: Path) -> None:
    """`place` as a folder of links into `source`, down to the folder `own` (relative), whose files are copies."""
    place.mkdir()
    head = own.parts[0] if own.parts else ""
    for entry in source.iterdir():
        if entry.name == head:
            linked(entry, place / head, Path(*own.parts[1:]))
        elif own.parts or not entry.name.endswith(".py"):
            if entry.name != "__pycache__":
                (place / entry.name).symlink_to(entry)
        else:
            (place / entry.name).write_bytes(entry.read_bytes())


def test_patched_model_files_capture_without_the_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.find_spec("sglang")
    assert spec is not None and spec.submodule_search_locations is not None
    site = tmp_path / "site"
    site.mkdir()
    linked(Path(spec.submodule_search_locations[0]), site / "sglang", Path("srt/models"))
    assert patch.main(["apply", "--site", str(site)]) == 0
    target.make("tiny-deepseek-v3", tmp_path / "tiny-deepseek")
    bench = Bench(tmp_path / "tiny-deepseek", tmp_path)
    write_samples(tmp_path / "samples", bench.model, [3, 17, 64, 65, 130])
    monkeypatch.setenv("SGLANG_PLUGINS", "pointsman_cpu")  # a host that would not load ours
    monkeypatch.setenv("PYTHONPATH", f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    assert bench.extract("--capture", "2,3,5", "--chunked-prefill", 64) == 0, bench.log()
    (told,) = (read_json(str(path)) for path in bench.out.glob("capture/engine-*.json"))
    assert told["hooked_by"] == "model file"
    check_proven(bench, 5)


def test_one_sample_of_16k_tokens_among_small_ones(tmp_path: Path) -> None:
    target.make("tiny-llama", tmp_path / "tiny-llama")
    config = tmp_path / "tiny-llama/config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "max_position_embeddings": 32768}))
    bench = Bench(tmp_path / "tiny-llama", tmp_path)
    write_samples(tmp_path / "samples", bench.model, [30, 16384, 7, 50, 41, 12])
    station = Path("/dev/shm") / f"{tmp_path.name}-{os.getpid()}"
    assert bench.extract("--chunked-prefill", 1024, "--station", station, "--station-gb", 0.05) == 0, bench.log()
    assert not any(station.iterdir())
    station.rmdir()
    rows = [json.loads(line) for line in (bench.out / "samples.jsonl").read_text().splitlines()]
    assert [row["num_tokens"] for row in rows] == [30, 16384, 7, 50, 41, 12]
    evidence = bench.evidence(recompute=0)
    assert all(check["ok"] for check in evidence["checks"] if check["name"] != "recomputed"), evidence["checks"]
