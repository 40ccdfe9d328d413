import math
import time

import numpy as np
import pytest

from autogm import InputError
from autogm.measure import Clock, Measurement, Timing, show_seconds, time_calls

FIELDS = {
    "scope": "query",
    "batch_size": 1,
    "median": 2e-5,
    "p95": 3e-5,
    "p99": 5e-5,
    "repeats": 100,
    "threads": 2,
    "machine": "a machine",
    "fingerprint": "abc",
    "prepared": ("draws",),
    "noise": 1.05,
}


def test_calls_are_interleaved_and_warmed_up():
    heard = []
    calls = {name: (lambda i, name=name: heard.append((name, i))) for name in "ab"}
    timings = time_calls(calls, Clock(warm_up=2, least=3, most=3))
    warm = [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert heard == [*warm, ("a", 0), ("b", 0), ("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    assert [len(timing.samples) for timing in timings.values()] == [3, 3]


def test_repeats_end_at_the_cap():
    timing = time_calls({"x": lambda _: time.sleep(0.01)}, Clock(cap=0.05, tight=1e-9, least=2))
    assert 2 <= len(timing["x"].samples) < 20


def test_repeats_end_when_the_median_is_known():
    steady = Timing(np.full(50, 2.0), np.ones(50))
    assert steady.is_tight(0.01)
    assert not Timing(np.linspace(1, 2, 50), np.ones(50)).is_tight(0.01)


@pytest.mark.parametrize("n", [20, 101, 1000])
def test_the_interval_holds_the_median_in_95_of_100(n):
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(400):
        low, high = Timing(rng.exponential(size=n), np.ones(n)).interval
        held += low <= math.log(2) <= high
    assert held >= 370


def test_noise_is_what_the_reference_says():
    quiet = Timing(np.ones(40), np.ones(40))
    loud = Timing(np.ones(40), np.r_[np.ones(36), np.full(4, 3.0)])
    assert (quiet.noise, loud.noise) == (1.0, 3.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"least": 0}, "least must be at least 1, but got 0"),
        ({"most": 0}, "most must be at least 1, but got 0"),
        ({"warm_up": -1}, "warm_up must be at least 0, but got -1"),
        ({"cap": 0}, "cap must be above 0, but got 0"),
        ({"tight": float("nan")}, "tight must be above 0, but got nan"),
    ],
)
def test_repeats_out_of_range(options, message):
    with pytest.raises(InputError, match=message):
        Clock(**options)


@pytest.mark.parametrize(("scope", "expected"), [("graph", 2e-5), ("query", 3e-5), ("batch", 3e-5)])
def test_what_is_compared_with_a_budget(scope, expected):
    assert Measurement(**FIELDS | {"scope": scope}).seconds == expected


def test_a_statistic_by_name():
    found = Measurement(**FIELDS)
    assert found.at("p99") == 5e-5
    with pytest.raises(InputError, match="must be one of median, p95, p99, but got 'p50'"):
        found.at("p50")


def test_json_and_back():
    found = Measurement(**FIELDS)
    assert Measurement.from_json(found.to_json()) == found


def test_a_noisy_machine_is_named():
    assert "noisy" not in str(Measurement(**FIELDS))
    assert "a noisy machine (2.0x at times)" in str(Measurement(**FIELDS | {"noise": 2.0}))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (3e-10, "0.3 ns"),
        (9.996e-4, "1 ms"),
        (9.99e-4, "999 µs"),
        (1.5, "1.5 s"),
        (12.345, "12.3 s"),
        (271.4e-6, "271 µs"),
        (0.0421, "42.1 ms"),
    ],
)
def test_times_are_shown_in_their_unit(seconds, text):
    assert show_seconds(seconds) == text
