"""The benchmark against real servers: tiny random target, drafter made by hand, everything on the CPU."""

import signal

import pytest

from runner.bench import files
from runner.bench.prompts import read_sent
from runner.bench.records import read_records
from runner.verify.bench import check_bench
from tests.sglang.benched import INDICES, STEPS, STOP, TOKENS, Bench, living

pytestmark = pytest.mark.sglang


def test_every_verify_step_is_the_one_of_the_plain_loop(finished, models):
    import torch

    from runner.hf import load_causal_lm
    from tests.sglang.greedy_loop import Drafter, answer

    target = load_causal_lm(models[0], torch.float32)
    drafter = Drafter.load(models[1], target.get_input_embeddings().weight.detach())
    sent = read_sent(finished.out / files.PROMPTS)
    drafted = [record for record in read_records(finished.out / files.RECORDS) if record.side == "drafted"]
    expected = {name: answer(target, drafter, INDICES, ids, TOKENS, STEPS, STOP) for name, ids in sent.items()}
    assert {(r.prompt, r.verify_steps) for r in drafted} == {(name, e.verify_steps) for name, e in expected.items()}
    assert all(record.output_ids == expected[record.prompt].output_ids for record in drafted)
    steps = sum(e.verify_steps for e in expected.values())
    length = sum(len(e.output_ids) for e in expected.values()) / steps
    assert finished.result["acceptance"]["length"] == pytest.approx(length)
    assert length > 1.1  # or the comparison would say little


def test_answers_are_the_baselines_and_the_evidence_proves_it(finished, models):
    result = finished.result
    assert (result["identical"], result["total"], result["equality_demanded"]) == (5, 5, True)
    assert result["alarm"] is None
    checks = check_bench(finished.out, *models[:2], full=True)
    assert {check.name: check.ok for check in checks} == {check.name: True for check in checks}
    assert "replayed" in {check.name for check in checks}


def test_figures_fit_each_other(finished):
    result = finished.result
    assert result["speedup"] == pytest.approx(result["drafted"]["acceptance_length"] / result["cost_ratio"])
    assert [row["concurrency"] for row in result["by_concurrency"]] == [1, 3]
    for row in result["by_concurrency"]:
        assert row["baseline_tok_s"]["min"] <= row["baseline_tok_s"]["median"] <= row["baseline_tok_s"]["max"]
    assert finished.status["progress"] == {"done": 40, "total": 40, "unit": "answers"}
    assert (finished.out / files.PICTURE).read_bytes().startswith(b"\x89PNG")


def test_an_eagle3_drafter_served_as_eagle_raises_the_alarm(models, tmp_path):
    flags = ("--algorithm", "EAGLE", "--servers", "alternating", "--rounds", "1", "--max-new-tokens", "16")
    with Bench(tmp_path, *models, *flags) as bench:
        assert bench.finish() == 0, bench.log.read_text()[-3000:]
    result = bench.result
    assert result["acceptance"]["per_step"] < 1.05 < result["acceptance"]["length"]  # the prefill's token hid it
    assert "served with EAGLE, though the drafter is LlamaForCausalLMEagle3" in result["alarm"]
    failed = {check.name for check in check_bench(bench.out, *models[:2], full=False) if check.ok is False}
    assert failed == {"acceptance", "drafter_used"}


def test_a_server_killed_in_mid_run_is_named_with_the_end_of_its_log(models, tmp_path):
    with Bench(tmp_path, *models, "--max-new-tokens", "400", "--rounds", "3") as bench:
        processes = bench.wait_for_answers()
        servers = [process for process in processes if "runner.serve.child" in process.cmdline()]
        assert len(servers) == 2, [process.cmdline() for process in processes]
        for server in servers:  # the way the kernel does when memory runs out
            max(server.children(), key=lambda process: process.memory_info().rss).kill()
        assert bench.finish(120) == 1
        error = bench.status["error"]
        assert error["kind"] == "ServerError"
        assert "server died during the benchmark" in error["message"]
        assert len(error["message"].splitlines()) > 3  # the end of its log
        assert not (bench.out / files.RESULT).exists()
        assert not living(processes)


def test_sigterm_ends_both_servers_and_keeps_what_was_measured(models, tmp_path):
    with Bench(tmp_path, *models, "--max-new-tokens", "400", "--rounds", "3") as bench:
        processes = bench.wait_for_answers()
        bench.process.send_signal(signal.SIGTERM)
        assert bench.finish(60) == 143
        assert bench.status["error"]["kind"] == "Interrupted"
        assert "starts anew" in bench.status["error"]["hint"]
        assert not (bench.out / files.RESULT).exists()
        assert not living(processes)
