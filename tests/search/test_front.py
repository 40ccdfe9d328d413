import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autogm.search import hypervolume, on_front

NAN, INF = float("nan"), float("inf")
BOX = {"floor": 0.0, "ceiling": 100.0, "fastest": 1.0}
few = st.sampled_from([0.0, 0.25, 0.5, 1.0, NAN])
clouds = st.lists(st.tuples(few, st.sampled_from([1.0, 2.0, 4.0, 8.0, NAN])), max_size=12)


def kept_of(cloud):
    """By the definition, pair by pair."""

    def beats(one, other):
        (y, t, i), (v, s, j) = one, other
        return y >= v and t <= s and (y > v or t < s or i < j)

    known = [(y, t, i) for i, (y, t) in enumerate(cloud) if not np.isnan(y + t)]
    return {point[2] for point in known if not any(beats(other, point) for other in known)}


def columns(cloud):
    return [y for y, _ in cloud], [t for _, t in cloud]


@pytest.mark.parametrize(
    ("accuracy", "seconds", "expected"),
    [
        ([], [], []),
        ([0.5], [1], [0]),
        ([0.8, 0.7], [1, 2], [0]),
        ([0.7, 0.8], [1, 2], [0, 1]),
        ([0.8, 0.8], [2, 1], [1]),
        ([0.7, 0.8], [1, 1], [1]),
        ([0.8, 0.8], [1, 1], [0]),
        ([NAN, 0.8], [1, 2], [1]),
        ([0.9, 0.8], [NAN, 2], [1]),
        ([NAN], [NAN], []),
        ([-0.5, -0.2], [1, 2], [0, 1]),
        ([0.5, 0.6], [1, INF], [0, 1]),
    ],
)
def test_the_front(accuracy, seconds, expected):
    assert np.flatnonzero(on_front(accuracy, seconds)).tolist() == expected


@given(clouds)
def test_the_front_is_what_nothing_beats(cloud):
    assert set(np.flatnonzero(on_front(*columns(cloud))).tolist()) == kept_of(cloud)


@pytest.mark.parametrize(
    ("accuracy", "seconds", "area"),
    [
        ([], [], 0),
        ([1], [1], 1),
        ([1], [10], 1 / 2),
        ([0.5, 1], [1, 10], 3 / 4),
        ([1, 0.5], [10, 1], 3 / 4),
        ([0.5, 1, 0.4], [1, 10, 50], 3 / 4),
        ([0.5, 0.5], [1, 1], 1 / 2),
        ([1], [0.1], 1),
        ([0.5, 1], [0.1, 0.2], 1),
        ([1], [100], 0),
        ([1], [1000], 0),
        ([-1], [1], 0),
        ([2], [1], 1),
        ([NAN, 0.5], [1, 1], 1 / 2),
        ([1, 0.5], [NAN, 1], 1 / 2),
    ],
)
def test_hypervolume(accuracy, seconds, area):
    assert hypervolume(accuracy, seconds, **BOX) == pytest.approx(area)


def test_hypervolume_above_a_floor():
    found = hypervolume([0.5, 0.9], [1, 10], floor=0.8, ceiling=100, fastest=1)
    assert found == pytest.approx((0.9 - 0.8) / 0.2 / 2)


@given(clouds, few, st.sampled_from([1.0, 3.0, 8.0]))
def test_another_point_never_costs_area(cloud, accuracy, seconds):
    accuracies, times = columns(cloud)
    less = hypervolume(accuracies, times, **BOX)
    assert hypervolume([*accuracies, accuracy], [*times, seconds], **BOX) >= less - 1e-12


@given(clouds)
def test_area_is_that_of_the_front(cloud):
    accuracies, times = map(np.array, columns(cloud))
    kept = on_front(accuracies, times)
    assert hypervolume(accuracies, times, **BOX) == hypervolume(
        accuracies[kept], times[kept], **BOX
    )


@given(clouds)
def test_area_is_a_sum_over_time(cloud):
    grid = np.exp((np.arange(2000) + 0.5) / 2000 * np.log(100))
    best = [max([y for y, t in cloud if t <= s and not np.isnan(y)], default=0) for s in grid]
    assert hypervolume(*columns(cloud), **BOX) == pytest.approx(np.mean(best), abs=2e-3)
