import contextlib
import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autogm.errors import InputError
from autogm.search import Budget, parse_seconds

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("4ms", 0.004),
        ("4 ms", 0.004),
        ("  4ms ", 0.004),
        ("1.5s", 1.5),
        (".5s", 0.5),
        ("5.s", 5),
        ("250us", 250e-6),
        ("250µs", 250e-6),
        ("250μs", 250e-6),
        ("30ns", 30e-9),
        ("2min", 120),
        ("1_000us", 1e-3),
        ("1e-3s", 1e-3),
        ("+4ms", 0.004),
        ("0.5", 0.5),
        (0.004, 0.004),
        (3, 3),
        (59.9, 59.9),
        (np.float32(0.5), 0.5),
        ("60s", 60),
    ],
)
def test_times(text, seconds):
    assert Budget(max_time=text).max_time == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "statistic"),
    [("4ms", None), ("4ms@p95", "p95"), ("4 ms @ median", "median"), ("0.004@p99", "p99")],
)
def test_statistics(text, statistic):
    assert Budget(max_time=text).statistic == statistic


def test_a_statistic_beside_the_time():
    assert Budget(max_time=0.004, statistic="p95") == Budget(max_time="4ms@p95")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, r"needs max_time or min_accuracy, but got neither; with no budget at all \(None\)"),
        ({"max_time": "4ms", "min_accuracy": 0.8}, "needs max_time or min_accuracy, but got both"),
        ({"max_time": 0}, "max_time must be above 0 and finite, but got 0; try '4ms'"),
        ({"max_time": "0ms"}, "max_time must be above 0 and finite, but got '0ms'"),
        ({"max_time": "-1s"}, "max_time must be above 0 and finite, but got '-1s'"),
        ({"max_time": -1}, "max_time must be above 0 and finite, but got -1"),
        ({"max_time": NAN}, "max_time must be above 0 and finite, but got nan"),
        ({"max_time": INF}, "max_time must be above 0 and finite, but got inf"),
        ({"max_time": "1e999s"}, "max_time must be above 0 and finite, but got '1e999s'"),
        ({"max_time": 60}, "did you mean '60ms'. for a minute write '60s'"),
        ({"max_time": "60"}, "did you mean '60ms'. for a minute write '60s'"),
        ({"max_time": 250}, "did you mean '250ms'. for seconds write '250s'"),
        ({"max_time": "4m"}, "max_time has the unit 'm', which is not one of ns, us, µs, ms, s, m"),
        ({"max_time": "4mss"}, "has the unit 'mss', .*; did you mean 'ms'?"),
        ({"max_time": "4 MS"}, "max_time has the unit 'MS', which is not one of"),
        ({"max_time": "fast"}, "max_time must be a time such as '4ms', but got 'fast'"),
        ({"max_time": ""}, "max_time must be a time such as '4ms', but got ''"),
        ({"max_time": "ms"}, "max_time must be a time such as '4ms', but got 'ms'"),
        ({"max_time": "nan"}, "max_time must be a time such as '4ms', but got 'nan'"),
        ({"max_time": "1__0ms"}, "max_time has the unit '__0ms', which is not one of"),
        ({"max_time": "1_"}, "max_time has the unit '_', which is not one of"),
        ({"max_time": True}, "max_time must be a time such as '4ms', but got True"),
        ({"max_time": [4]}, r"max_time must be a time such as '4ms', but got \[4\]"),
        ({"max_time": "4ms@p59"}, "statistic must be one of median, p95, p99, but got 'p59'; did"),
        ({"max_time": "4ms", "statistic": "mean"}, "must be one of .*, but got 'mean'"),
        (
            {"min_accuracy": 0.8, "statistic": "p95"},
            "statistic belongs to max_time, but got 'p95' without it",
        ),
        ({"min_accuracy": 1.01}, "min_accuracy must be at most 1, but got 1.01"),
        ({"min_accuracy": 80}, "min_accuracy must be at most 1, but got 80; did you mean 0.8?"),
        ({"min_accuracy": NAN}, "min_accuracy must be a number such as 0.8, but got nan"),
        ({"min_accuracy": "0.8"}, "min_accuracy must be a number such as 0.8, but got '0.8'"),
        ({"min_accuracy": True}, "min_accuracy must be a number such as 0.8, but got True"),
    ],
)
def test_refused_budgets(arguments, message):
    with pytest.raises(InputError, match=message):
        Budget(**arguments)


def test_a_timeout_may_be_long():
    assert parse_seconds("timeout", 3600) == (3600, None)


@pytest.mark.parametrize(
    ("budget", "accuracy", "seconds", "met"),
    [
        (Budget(max_time=1.0), 0.1, 1.0, True),
        (Budget(max_time=1.0), 0.1, np.nextafter(1, 2), False),
        (Budget(max_time=1.0), NAN, 0.5, False),
        (Budget(max_time=1.0), 0.5, NAN, False),
        (Budget(min_accuracy=0.8), 0.8, 1e9, True),
        (Budget(min_accuracy=0.8), np.nextafter(0.8, 0), 1.0, False),
        (Budget(min_accuracy=0.8), NAN, 1.0, False),
        (Budget(min_accuracy=0.8), 0.9, NAN, False),
    ],
)
def test_what_holds_a_budget(budget, accuracy, seconds, met):
    assert budget.is_met(accuracy, seconds) is met


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        (Budget(max_time="4ms"), "at most 4 ms"),
        (Budget(max_time="62us@p95"), "at most 62 µs (p95)"),
        (Budget(min_accuracy=0.815), "accuracy of at least 0.815"),
    ],
)
def test_budgets_in_words(budget, text):
    assert str(budget) == text


@pytest.mark.parametrize("budget", [Budget(max_time="4ms@p95"), Budget(min_accuracy=0.8)])
def test_budgets_are_values(budget):
    assert pickle.loads(pickle.dumps(budget)) == dataclasses.replace(budget) == budget
    assert eval(repr(budget)) == budget
    assert hash(dataclasses.replace(budget)) == hash(budget)


def test_budgets_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Budget(max_time="4ms").max_time = 1


@given(st.floats(1e-12, 59.0))
def test_a_number_and_its_text_are_the_same_time(seconds):
    assert Budget(max_time=f"{seconds!r}s") == Budget(max_time=seconds)


@given(st.text(max_size=8))
def test_any_text_is_a_time_or_refused_in_words(text):
    with contextlib.suppress(InputError):
        assert 0 < parse_seconds("timeout", text)[0] < INF
