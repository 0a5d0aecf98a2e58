"""Rates and remaining time follow the last minutes, and tell how sure they are."""

import pytest

from runner.rates import WINDOW_S, WINDOWS, Meter, Pace


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def paced(rates: list[float]) -> Pace:
    """One window at each of these rates."""
    clock = Clock()
    pace, done = Pace(clock), 0.0
    pace.note(done)
    for rate in rates:
        clock.now_s += WINDOW_S
        done += rate * WINDOW_S
        pace.note(done)
    return pace


def test_a_steady_pace_is_nearly_certain() -> None:
    eta = paced([2.0] * 10).eta_s(1000)
    assert eta == {"low": pytest.approx(490.2, abs=0.1), "likely": 500.0, "high": pytest.approx(510.2, abs=0.1)}


def test_the_last_minutes_count_and_the_whole_widens_the_spread() -> None:
    slowed = paced([10.0] * 100 + [1.0] * WINDOWS)
    assert slowed.rate == pytest.approx(1.0)
    eta = slowed.eta_s(1000)
    assert eta is not None and eta["likely"] == 1000.0
    assert eta["low"] < 130, "had it gone on as it began"


def test_an_uneven_pace_has_a_wide_spread() -> None:
    even, uneven = paced([2.0] * 10).eta_s(100), paced([0.5, 3.5] * 5).eta_s(100)
    assert even is not None and uneven is not None
    assert uneven["likely"] == even["likely"]
    assert uneven["high"] - uneven["low"] > 5 * (even["high"] - even["low"])


def test_a_few_windows_tell_no_spread_yet() -> None:
    eta = paced([2.0]).eta_s(100)
    assert eta == {"low": 33.3, "likely": 50.0, "high": 100.0}


def test_nothing_done_means_no_estimate_and_a_pause_falls_back_on_the_whole() -> None:
    assert paced([]).eta_s(100) is None
    assert paced([0.0] * 5).eta_s(100) is None
    paused = paced([4.0] * WINDOWS + [0.0] * (WINDOWS + 5)).eta_s(100)
    assert paused is not None and paused["likely"] == pytest.approx(100 / (4.0 * WINDOWS / (2 * WINDOWS + 5)), rel=0.01)


def test_a_meter_tells_what_is_now_and_what_was_in_all() -> None:
    clock = Clock()
    meter = Meter(clock)
    clock.now_s += 50
    meter.start()  # the server took so long
    for tokens in [100] * 100 + [10] * 400:
        clock.now_s += 1
        meter.add(tokens, 2 * tokens)
    assert meter.rates() == {"samples_s": 1.0, "tokens_s": 28.0, "bytes_s": 56.0}
    assert meter.rates_now() == {"samples_s": 1.0, "tokens_s": 10.0, "bytes_s": 20.0}
    eta = meter.eta_s(share_left=1400, share_done=meter.tokens)
    assert eta is not None and eta["likely"] == 50.0, "the first look has the whole alone"
    for _ in range(400):
        clock.now_s += 1
        meter.add(10)
        eta = meter.eta_s(1000, meter.tokens)
    assert eta is not None and eta["likely"] == 100.0


def test_nothing_is_reckoned_before_the_first_sample() -> None:
    assert Meter().eta_s(10, 0) is None
