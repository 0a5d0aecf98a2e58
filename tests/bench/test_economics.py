import pytest

from runner.bench.economics import Balance


def test_speedup_is_acceptance_over_cost_and_cost_is_breakeven():
    balance = Balance(acceptance=1.762, cost_ratio=2.8, steps=3)
    assert balance.speedup == pytest.approx(0.629, abs=1e-3)
    assert balance.breakeven == 2.8


def test_the_rate_that_breaks_even_is_the_same_at_every_position():
    rate = Balance(acceptance=1.5, cost_ratio=2.7, steps=3).position_rate
    assert rate is not None
    assert 1 + rate + rate**2 + rate**3 == pytest.approx(2.7)


def test_a_cost_that_no_acceptance_can_reach_is_said():
    balance = Balance(acceptance=2.0, cost_ratio=4.5, steps=3)
    assert balance.position_rate is None
    assert "no acceptance length that 3 draft steps can reach (at most 4)" in balance.describe()


def test_a_slower_target_pays_when_the_drafting_itself_keeps_its_time():
    # plain step 10 ms, verify step 27 ms: drafting adds 17 ms. A plain step of 22.4 ms then breaks even at 1.76.
    factor = Balance(acceptance=1.76, cost_ratio=2.7, steps=3).target_factor
    assert factor == pytest.approx(1.7 / 0.76)
    plain_ms, added_ms = 10 * factor, 17.0
    assert 1.76 / ((plain_ms + added_ms) / plain_ms) == pytest.approx(1.0)


def test_nothing_accepted_pays_with_no_target():
    balance = Balance(acceptance=1.0, cost_ratio=2.7, steps=3)
    assert balance.target_factor is None
    assert "target whose" not in balance.describe()


def test_words_for_gain_and_for_loss():
    assert "Drafting pays" in Balance(acceptance=3.0, cost_ratio=1.5, steps=3).describe()
    loss = Balance(acceptance=1.76, cost_ratio=2.7, steps=3).describe()
    assert "0.65x" in loss
    assert "slows" in loss
    assert "2.70" in loss
