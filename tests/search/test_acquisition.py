import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from autogm.search import hypervolume
from autogm.search.acquisition import (
    expected_front_gain,
    expected_gain,
    expected_saving,
    probability,
)

MEANS, DEVIATIONS = np.array([0.2, 0.5, 0.79, 0.8, 0.95]), np.array([0.3, 0.1, 0.01, 0.2, 1.0])
DRAWS = np.random.default_rng(0).standard_normal(200_000)


def expectation(function, mean, deviation, *kinks):
    low, high = mean - 9 * deviation, mean + 9 * deviation
    inner = [kink for kink in kinks if low < kink < high]
    value, _ = quad(
        lambda y: function(y) * norm.pdf(y, mean, deviation), low, high, points=inner, limit=200
    )
    return value


def test_probability():
    expected = norm.sf(0.8, MEANS, DEVIATIONS)
    np.testing.assert_allclose(probability(MEANS, DEVIATIONS, 0.8), expected, rtol=1e-12)


def test_probability_at_the_floor_is_one_half():
    assert probability(np.array([0.8]), np.array([0.1]), 0.8) == 0.5


@pytest.mark.parametrize("best", [-1.0, 0.6, 0.8, 2.0])
def test_expected_gain_is_the_integral(best):
    expected = [
        expectation(lambda y: max(0, y - best), m, s, best)
        for m, s in zip(MEANS, DEVIATIONS, strict=True)
    ]
    np.testing.assert_allclose(expected_gain(MEANS, DEVIATIONS, best), expected, atol=1e-8)


@given(st.floats(-5, 5), st.floats(1e-6, 5), st.floats(-5, 5))
def test_expected_gain_is_no_less_than_that_of_the_mean(mean, deviation, best):
    gain = expected_gain(np.array([mean]), np.array([deviation]), best)[0]
    assert gain >= max(0, mean - best) - 1e-9


def test_where_nothing_is_doubted_the_gain_is_the_difference():
    gain = expected_gain(np.array([0.9, 0.7]), np.full(2, 1e-9), 0.8)
    np.testing.assert_allclose(gain, [0.1, 0], atol=1e-9)


@pytest.mark.parametrize("best", [0.5, 1.0, 3.0])
def test_expected_saving_is_the_integral(best):
    chance = np.array([0.1, 0.5, 0.7, 0.9, 1.0])
    saved = [
        expectation(lambda x: max(0, best - np.exp(x)), m, s, np.log(best))
        for m, s in zip(MEANS, DEVIATIONS, strict=True)
    ]
    found = expected_saving(MEANS, DEVIATIONS, chance, best)
    np.testing.assert_allclose(found, saved * chance, atol=1e-7)


def test_a_measured_time_saves_the_difference():
    mean = np.log([0.5, 1.0, 2.0])
    found = expected_saving(mean, np.zeros(3), np.full(3, 0.5), 1.0)
    np.testing.assert_allclose(found, [0.25, 0, 0], atol=1e-9)


def test_before_anything_is_good_enough_the_chance_per_second_counts():
    mean = np.log([0.5, 2.0])
    found = expected_saving(mean, np.ones(2), np.array([0.2, 0.9]), None)
    np.testing.assert_allclose(found, [0.4, 0.45])


FRONTS = {
    "nothing": [],
    "one": [(2.0, 0.5)],
    "three": [(1.5, 0.3), (4.0, 0.6), (20.0, 0.9)],
}
BOX = {"floor": 0.1, "ceiling": 100.0}


def area(front):
    """In accuracies times logarithms of seconds."""
    times, heights = [t for t, _ in front], [y for _, y in front]
    share = hypervolume(np.minimum(heights, 1), times, fastest=0.01, **BOX)
    return share * 0.9 * np.log(100 / 0.01)


@pytest.mark.parametrize("front", FRONTS.values(), ids=FRONTS)
@pytest.mark.parametrize("seconds", [0.5, 2.0, 3.0, 50.0, 200.0])
def test_a_sure_point_gains_what_the_area_grows_by(front, seconds):
    for height in (0.05, 0.4, 0.6, 0.95):
        found = expected_front_gain(
            np.array([height]), np.full(1, 1e-9), np.array([seconds]), front, **BOX
        )
        grown = area([*front, (seconds, height)]) - area(front)
        assert found[0] == pytest.approx(grown, abs=1e-7)


@pytest.mark.parametrize("front", FRONTS.values(), ids=FRONTS)
def test_expected_front_gain_is_the_mean_over_draws(front):
    stairs = [(0.0, BOX["floor"]), *front, (BOX["ceiling"], np.inf)]
    mean, deviation, seconds = 0.55, 0.2, 3.0
    drawn = mean + deviation * DRAWS
    grown = np.zeros(len(drawn))
    for (begin, height), (end, _) in itertools.pairwise(stairs):
        if end > seconds:
            grown += np.maximum(drawn - height, 0) * np.log(end / max(begin, seconds))
    found = expected_front_gain(
        np.array([mean]), np.array([deviation]), np.array([seconds]), front, **BOX
    )
    assert found[0] == pytest.approx(grown.mean(), abs=5 * grown.std() / len(drawn) ** 0.5)


def test_below_the_floor_nothing_is_gained():
    low, front = np.array([0.3]), [(1.0, 0.05), (20.0, 0.9)]
    box = {"floor": 0.5, "ceiling": 100.0}
    assert expected_front_gain(low, np.full(1, 1e-9), np.array([2.0]), front, **box)[0] < 1e-6


def test_many_points_are_as_each_alone():
    seconds = np.array([0.5, 1.0, 3.0, 10.0, 99.0])
    together = expected_front_gain(MEANS, DEVIATIONS, seconds, FRONTS["three"], **BOX)
    alone = [
        expected_front_gain(MEANS[[i]], DEVIATIONS[[i]], seconds[[i]], FRONTS["three"], **BOX)[0]
        for i in range(5)
    ]
    np.testing.assert_allclose(together, alone)


def test_faster_is_worth_more():
    seconds = np.array([1.0, 2.0, 5.0, 50.0])
    found = expected_front_gain(np.full(4, 0.7), np.full(4, 0.1), seconds, FRONTS["three"], **BOX)
    assert (np.diff(found) < 0).all()
