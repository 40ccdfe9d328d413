import numpy as np
import pytest

from autogm.search.surrogate import Surrogate

pytestmark = pytest.mark.usefixtures("one_thread")

GRID = np.linspace(0, 1, 9)[:, None]
VALUES = np.sin(3 * GRID[:, 0])
FAR = np.array([[1000.0]])


def test_what_is_known_is_predicted():
    mean, deviation = Surrogate(GRID, VALUES).predict(GRID)
    np.testing.assert_allclose(mean, VALUES, atol=0.03)
    assert (deviation < 0.05).all()


def test_between_known_values_the_curve_goes_on():
    between = GRID[:-1] + 1 / 16
    mean, deviation = Surrogate(GRID, VALUES).predict(between)
    assert (np.abs(mean - np.sin(3 * between[:, 0])) < np.maximum(3 * deviation, 0.02)).all()


@pytest.mark.parametrize(("prior", "expected"), [(None, VALUES.mean()), (-2.0, -2.0)])
def test_far_from_everything_known_the_prior_is_expected(prior, expected):
    mean, _ = Surrogate(GRID, VALUES, prior=prior).predict(FAR)
    assert mean[0] == pytest.approx(expected)


def test_far_from_everything_known_doubt_is_greatest():
    model = Surrogate(GRID, VALUES)
    _, deviation = model.predict(np.vstack([GRID, FAR]))
    assert deviation.argmax() == len(GRID)


@pytest.mark.parametrize(("scale", "shift"), [(1e-6, 0.0), (1e6, 5.0), (1.0, -100.0)])
def test_units_do_not_matter(scale, shift):
    x = np.linspace(0, 2, 5)[:, None]
    mean, deviation = Surrogate(GRID, VALUES).predict(x)
    scaled = Surrogate(GRID, scale * VALUES + shift).predict(x)
    np.testing.assert_allclose(scaled[0], scale * mean + shift, rtol=1e-3, atol=1e-3 * scale)
    np.testing.assert_allclose(scaled[1], scale * deviation, rtol=1e-2)


def test_a_noisy_value_is_trusted_less():
    y = np.append(np.zeros(8), 1.0)
    sure = Surrogate(GRID, y).predict(GRID[8:])[0][0]
    doubted = Surrogate(GRID, y, error=np.append(np.zeros(8), 2.0)).predict(GRID[8:])[0][0]
    assert doubted < sure - 0.3


def test_repeats_of_a_point_leave_less_doubt():
    x = np.array([[0.0], [0.5], [1.0]])
    y, noise = np.array([0.0, 1.0, 0.0]), np.full(3, 0.2)
    once = Surrogate(x, y, noise).predict(x[1:2])[1]
    often = Surrogate(np.repeat(x, 5, axis=0), np.repeat(y, 5), np.repeat(noise, 5)).predict(x[1:2])
    assert often[1] < once


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (GRID[:1], np.array([0.7])),
        (GRID, np.full(9, 0.7)),
        (np.repeat(GRID[:1], 9, axis=0), np.full(9, 0.7)),
        (np.zeros((9, 4)), np.full(9, 0.7)),
    ],
)
def test_values_that_do_not_differ(x, y):
    mean, deviation = Surrogate(x, y).predict(x)
    np.testing.assert_allclose(mean, 0.7)
    assert np.isfinite(deviation).all()
    assert (deviation > 0).all()


def test_a_belief_leaves_less_to_find_out():
    model = Surrogate(GRID, VALUES)
    before = model.predict(FAR)
    model.believe(FAR)
    mean, deviation = model.predict(FAR)
    assert mean == pytest.approx(before[0])
    assert deviation < before[1] / 2


def test_to_believe_nothing_changes_nothing():
    model = Surrogate(GRID, VALUES)
    before = model.predict(GRID)
    model.believe(np.empty((0, 1)))
    np.testing.assert_array_equal(model.predict(GRID), before)


def test_parts_are_as_one():
    model, x = Surrogate(GRID, VALUES), np.random.default_rng(0).uniform(0, 1, (45_000, 1))
    together = model.predict(x)
    apart = np.hstack([model.predict(part) for part in np.array_split(x, 9)])
    np.testing.assert_allclose(together, apart, rtol=1e-6)


def test_the_same_values_make_the_same_model():
    x = np.random.default_rng(0).uniform(0, 1, (12, 3))
    y = x.sum(axis=1)
    np.testing.assert_array_equal(Surrogate(x, y).predict(x), Surrogate(x, y).predict(x))
