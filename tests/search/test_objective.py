import math

import pytest

from autogm.search import Budget, paper_objective
from autogm.search.objective import LAMBDA, barrier

NAN, INF = float("nan"), float("inf")
LEAST = math.log(5e-324)  # about -744.44


@pytest.mark.parametrize(
    ("g", "h", "h_min", "f"),
    [
        (2.0, 1.5, 0.5, 2.0),  # log 1
        (2.0, 0.5 + math.e, 0.5, 1.99),
        (2.0, 0.5 + math.exp(-3), 0.5, 2.03),
        (0.0, 0.81, 0.8, 0.0460517018598809),  # -0.01 log 0.01
        (2.0, 0.5, 0.5, 2.0 - 0.01 * LEAST),
        (2.0, 0.4999, 0.5, INF),
        (NAN, 1.0, 0.5, INF),
        (2.0, NAN, 0.5, INF),
    ],
)
def test_the_barrier(g, h, h_min, f):
    assert barrier(g, h, h_min, penalty=1e-2) == pytest.approx(f, rel=1e-12)


def test_at_the_wall_f_is_finite():
    assert barrier(2.0, 0.5, 0.5, penalty=1e-2) == pytest.approx(9.4444007)


@pytest.mark.parametrize(
    ("accuracy", "seconds", "f"),
    [
        (0.9, 0.5, 0.5 - 0.01 * math.log(0.1)),
        (0.8, 0.5, 0.5 - 0.01 * LEAST),
        (0.79, 0.5, INF),
        (NAN, 0.5, INF),
        (0.9, NAN, INF),
    ],
)
def test_a_floor_lowers_time(accuracy, seconds, f):
    found = paper_objective(Budget(min_accuracy=0.8), accuracy, seconds, penalty=1e-2)
    assert found == pytest.approx(f)


@pytest.mark.parametrize(
    ("accuracy", "seconds", "f"),
    [
        (0.9, 1.5, -0.9 - 0.01 * math.log(0.5)),
        (0.9, 2.0, -0.9 - 0.01 * LEAST),
        (0.9, 2.1, INF),
        (NAN, 1.0, INF),
        (0.9, NAN, INF),
    ],
)
def test_a_ceiling_raises_accuracy(accuracy, seconds, f):
    found = paper_objective(Budget(max_time=2.0), accuracy, seconds, penalty=1e-2)
    assert found == pytest.approx(f)


@pytest.mark.parametrize("h", [0.5, 0.5 + 1e-12, 0.6, 1.0])
def test_the_papers_barrier_vanishes(h):
    assert LAMBDA == 1e-19
    assert barrier(2.0, h, 0.5) == 2.0


@pytest.mark.parametrize("budget", [Budget(max_time=2.0), Budget(min_accuracy=0.8)])
def test_better_is_lower(budget):
    worse, better = ((0.85, 1.5), (0.95, 1.0))
    found = [paper_objective(budget, *point, penalty=1e-2) for point in (better, worse)]
    assert found[0] < found[1]
