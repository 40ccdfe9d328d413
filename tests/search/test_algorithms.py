import numpy as np
import pytest

from autogm.algorithm import Algorithm
from autogm.search import Categorical, Integer, Space
from autogm.search.algorithms import (
    NAMED,
    algorithm_of,
    algorithm_space,
    distinct,
    named_points,
    point_of,
)

SPACE = algorithm_space()


@pytest.mark.parametrize(("all_neighbours", "size"), [(False, 5_400_000), (True, 5_508_000)])
def test_the_size_of_the_space(all_neighbours, size):
    assert algorithm_space(all_neighbours=all_neighbours).size == size


def test_the_ends_of_the_space():
    first, last = SPACE.points(SPACE.unflat([0, SPACE.size - 1]))
    assert first == {"d": 1, "k": 1, "w": 1, "l": False, "a": "NN"}
    assert last == {"d": 300, "k": 30, "w": -1, "l": True, "a": "SA"}


def test_the_named_algorithms_are_in_the_space():
    assert list(NAMED) == ["GCN", "GraphSAGE", "SGCN", "PageRank"]
    assert all(point in SPACE for point in named_points())


def test_without_all_neighbours_only_graphsage_is_in_the_space():
    space = algorithm_space(all_neighbours=False)
    assert [point for point in named_points() if point in space] == [point_of(NAMED["GraphSAGE"])]


@pytest.mark.parametrize("algorithm", NAMED.values(), ids=NAMED)
def test_points_and_algorithms_are_inverse(algorithm):
    assert algorithm_of(point_of(algorithm)) == algorithm


def test_any_point_is_an_algorithm():
    drawn = SPACE.points(SPACE.draw(50, np.random.default_rng(0)))
    assert [point_of(algorithm_of(point)) for point in drawn] == drawn


def features_of(**changes):
    point = point_of(Algorithm(**{"d": 64, "k": 2, "w": -1, "l": False, "a": "SS", **changes}))
    return SPACE.features(SPACE.codes([point]))[0]


def apart(one, other):
    return float(np.linalg.norm(features_of(**one) - features_of(**other)))


@pytest.mark.parametrize(
    ("near", "far"),
    [
        (({"k": 1}, {"k": 2}), ({"k": 2}, {"k": 10})),
        (({"k": 29}, {"k": 30}), ({"k": 1}, {"k": 2})),
        (({"d": 290}, {"d": 300}), ({"d": 1}, {"d": 2})),
        (({"w": 50}, {"w": -1}), ({"w": 1}, {"w": -1})),
        (({"a": "SS"}, {"a": "SA"}), ({"a": "SS"}, {"a": "NS"})),
        (({"a": "SS"}, {"a": "SA"}), ({"a": "SS"}, {"a": "SN"})),
        (({"a": "NN"}, {"a": "SN"}), ({"a": "NN"}, {"a": "SA"})),
    ],
)
def test_what_is_alike_is_near(near, far):
    assert 0 < apart(*near) < apart(*far)


def widths(space):
    return list(space.axes["w"].values)


def test_widths_beyond_every_neighbour_are_all():
    assert widths(distinct(SPACE, 7)) == [1, 2, 3, 4, 5, 6, -1]


@pytest.mark.parametrize(
    ("w", "max_degree", "kept"),
    [
        (Integer(1, 9, last=-1), 100, [*range(1, 10), -1]),
        (Integer(1, 9, last=-1), 10, [*range(1, 10), -1]),
        (Integer(1, 9, last=-1), 9, [*range(1, 9), -1]),
        (Integer(1, 9, last=-1), 1, [-1]),
        (Integer(1, 9, last=-1), 0, [-1]),
        (Integer(1, 9), 4, [1, 2, 3, 4]),
        (Integer(5, 9), 4, [5]),
        (Categorical(2, 8, 16), 5, [2, 8]),
        (Categorical(2, 8, 16, -1), 5, [2, -1]),
        (Categorical(-1, 2, 8), 5, [-1, 2]),
        (Categorical(-1), 5, [-1]),
    ],
)
def test_distinct_widths(w, max_degree, kept):
    assert widths(distinct(Space(d=Integer(1, 3), w=w), max_degree)) == kept


def test_where_all_widths_differ_the_space_is_the_same():
    assert distinct(SPACE, 51) is SPACE


def test_narrower_widths_keep_their_scale():
    w = distinct(SPACE, 7).axes["w"]
    old = SPACE.axes["w"]
    assert w.log
    # From 1 to 6 it is as far as it was from 1 to 6.
    assert np.ptp(w.features()[:6]) == pytest.approx(np.ptp(old.features()[:6]))


def test_other_axes_are_kept():
    found = distinct(SPACE, 7)
    assert {**found.axes, "w": None} == {**SPACE.axes, "w": None}
