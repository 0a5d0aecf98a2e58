import pytest

from runner.bench.alarms import explain_alarm
from runner.bench.measurement import measure_acceptance
from tests.bench.made import record

EAGLE3 = ("LlamaForCausalLMEagle3",)


def _acceptance(tokens, histogram):
    return measure_acceptance([record("drafted", output_ids=list(range(tokens)), histogram=histogram)], depth=3)


def test_a_drafter_that_works_raises_no_alarm():
    assert explain_alarm(_acceptance(20, [5, 7]), "EAGLE3", EAGLE3, capture_checked=False) is None


def test_short_answers_do_not_hide_a_useless_drafter():
    acceptance = _acceptance(10, [9])
    assert acceptance is not None
    assert acceptance.length > 1.05  # the token of the prefill
    assert "1.000 a step" in (explain_alarm(acceptance, "EAGLE3", EAGLE3, capture_checked=True) or "")


def test_the_wrong_algorithm_is_the_first_cause_named():
    alarm = explain_alarm(_acceptance(100, [99]), "EAGLE", EAGLE3, capture_checked=True) or ""
    assert alarm.split("Likely: ")[1].startswith("served with EAGLE, though the drafter is LlamaForCausalLMEagle3")


@pytest.mark.parametrize(("checked", "named"), [(True, False), (False, True)])
def test_capture_ids_are_suspected_only_while_unchecked(checked, named):
    alarm = explain_alarm(_acceptance(100, [99]), "EAGLE3", EAGLE3, capture_checked=checked) or ""
    assert ("capture ids" in alarm) is named


def test_no_verify_step_at_all_is_an_alarm():
    assert "without the drafter" in (explain_alarm(None, "EAGLE3", EAGLE3, capture_checked=True) or "")
