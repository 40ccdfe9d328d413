import dataclasses
import pickle
import re

import numpy as np
import pytest

from autogm import Algorithm, InputError
from autogm.algorithm import AGGREGATIONS


def test_a_point_has_the_parameters_of_a_gcn_unless_said():
    assert Algorithm() == Algorithm.gcn()


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        (Algorithm.gcn(), (64, 2, -1, True, "SS")),
        (Algorithm.gcn(d=16, k=3), (16, 3, -1, True, "SS")),
        (Algorithm.graphsage(), (64, 2, 25, True, "SA")),
        (Algorithm.graphsage(w=10), (64, 2, 10, True, "SA")),
        (Algorithm.sgcn(), (64, 2, -1, False, "SS")),
        (Algorithm.pagerank(), (1, 30, -1, False, "NA")),
        (Algorithm.pagerank(k=5), (1, 5, -1, False, "NA")),
        (Algorithm.pixie(), (1, 10, 200, False, "NA")),
        (Algorithm.pixie(k=3), (1, 3, 666, False, "NA")),
        (Algorithm.pixie(k=3, budget=3), (1, 3, 1, False, "NA")),
    ],
)
def test_known_algorithms_are_points(point, expected):
    assert dataclasses.astuple(point) == expected


@pytest.mark.parametrize("a", AGGREGATIONS)
def test_the_first_letter_says_whether_a_node_hears_itself(a):
    assert Algorithm(a=a).self_loop == (a[0] == "S")


@pytest.mark.parametrize("a", AGGREGATIONS)
def test_the_second_letter_is_the_normalization(a):
    assert Algorithm(a=a).normalization == a[1]


def test_there_are_six_aggregations():
    assert sorted(AGGREGATIONS) == ["NA", "NN", "NS", "SA", "SN", "SS"]


@pytest.mark.parametrize("values", [{"d": 1}, {"k": 0}, {"w": 1}, {"w": -1}, {"d": 10**6}])
def test_the_bounds_are_in_reach(values):
    name, value = next(iter(values.items()))
    assert getattr(Algorithm(**values), name) == value


def test_a_parameter_cannot_be_set():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Algorithm().d = 3


def test_equal_points_are_one_in_a_set():
    assert len({Algorithm(d=8), Algorithm(d=8), Algorithm(d=9)}) == 2


def test_points_have_an_order():
    points = [Algorithm(d=2), Algorithm(d=1, k=3), Algorithm(d=1, k=2)]
    assert sorted(points) == points[::-1]


def test_a_point_survives_its_process():
    point = Algorithm.graphsage()
    assert pickle.loads(pickle.dumps(point)) == point


def test_a_replaced_parameter_is_checked():
    with pytest.raises(InputError, match="d must be at least 1, but got 0"):
        dataclasses.replace(Algorithm(), d=0)


@pytest.mark.parametrize("name", ["d", "k", "w"])
@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint32])
def test_integers_of_numpy_become_plain_ones(name, kind):
    assert type(getattr(Algorithm(**{name: kind(5)}), name)) is int


@pytest.mark.parametrize("truth", [np.True_, 1])
def test_truth_becomes_plain_truth(truth):
    assert Algorithm(l=truth).l is True


def test_numpy_and_plain_points_are_equal():
    assert hash(Algorithm(d=np.int64(8), l=np.True_)) == hash(Algorithm(d=8, l=True))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"d": 0}, "d must be at least 1, but got 0"),
        ({"d": -64}, "d must be at least 1, but got -64"),
        ({"k": -1}, r"k must be at least 0 \(no graph\), but got -1"),
        ({"w": 0}, "w must be at least 1, or -1 for all neighbours, but got 0"),
        ({"w": -2}, "w must be at least 1, or -1 for all neighbours, but got -2"),
        ({"l": "yes"}, r"l must be True \(ReLU\) or False \(nothing\), but got 'yes'"),
        ({"l": None}, "l must be True .* but got None"),
        ({"l": 2}, "l must be True .* but got 2"),
    ],
)
def test_values_out_of_range_are_refused(values, message):
    with pytest.raises(InputError, match=message):
        Algorithm(**values)


@pytest.mark.parametrize("name", ["d", "k", "w"])
@pytest.mark.parametrize("value", [2.5, 2.0, "2", None, True, float("nan"), np.float64(3)])
def test_numbers_must_be_whole(name, value):
    message = re.escape(f"{name} must be a whole number, but got {value!r}")
    with pytest.raises(InputError, match=message):
        Algorithm(**{name: value})


@pytest.mark.parametrize("a", ["SX", "gcn", "", None, 5, ["SS"]])
def test_an_unknown_aggregation_lists_the_choices(a):
    with pytest.raises(InputError, match="a must be one of NN, NS, NA, SN, SS, SA, but got"):
        Algorithm(a=a)


def test_an_unknown_aggregation_is_shown():
    with pytest.raises(InputError, match="but got 'XY'"):
        Algorithm(a="XY")


def test_a_small_letter_is_understood_as_a_slip():
    with pytest.raises(InputError, match=r"but got 'ss'; did you mean 'SS'\?"):
        Algorithm(a="ss")


@pytest.mark.parametrize(("k", "budget"), [(0, 2000), (-1, 2000), (11, 10)])
def test_pixie_stays_within_its_budget(k, budget):
    with pytest.raises(InputError, match=rf"k must be in 1\.\.{budget} .* but got {k}"):
        Algorithm.pixie(k=k, budget=budget)
