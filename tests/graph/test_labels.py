from datetime import date, datetime

import numpy as np
import pandas as pd
import pytest

from autogm import InputError
from autogm.graph.labels import encode, for_every_node

NAN = float("nan")


@pytest.mark.parametrize(
    ("values", "codes", "classes"),
    [
        pytest.param(["b", "a", "b"], [1, 0, 1], ("a", "b"), id="text"),
        pytest.param([30, 10, 20], [2, 0, 1], (10, 20, 30), id="gaps between numbers"),
        pytest.param([0, -5, 0], [1, 0, 1], (-5, 0), id="negative class"),
        pytest.param([False, True], [0, 1], (False, True), id="truth values"),
        pytest.param([[4], [2], [4]], [1, 0, 1], (2, 4), id="one column"),
        pytest.param([2.0, 1.0], [1, 0], (1, 2), id="whole floats are classes"),
    ],
)
def test_classes_ascend(values, codes, classes):
    found, names = encode(values)
    assert (found.tolist(), names) == (codes, classes)


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        pytest.param(["b", None, "a"], ("a", "b"), id="None among text"),
        pytest.param(["b", "", "a"], ("a", "b"), id="empty text"),
        pytest.param(["b", NAN, "a"], ("a", "b"), id="NaN in a list of text"),
        pytest.param(np.array(["b", NAN, "a"], dtype=object), ("a", "b"), id="NaN among objects"),
        pytest.param(pd.Series(["b", pd.NA, "a"], dtype="string"), ("a", "b"), id="pandas' NA"),
        pytest.param([7, -1, 3], (3, 7), id="-1"),
        pytest.param([7, None, 3], (3, 7), id="None among integers"),
        pytest.param([7.0, NAN, 3.0], (3, 7), id="NaN among floats"),
        pytest.param([7.0, -1.0, 3.0], (3, 7), id="-1 among floats"),
        pytest.param([True, None, False], (False, True), id="None among truth values"),
        pytest.param([2**60 + 1, None, 2**60], (2**60, 2**60 + 1), id="None among large ones"),
    ],
)
def test_a_missing_label_is_unlabelled(values, classes):
    codes, names = encode(values)
    assert (codes.tolist(), list(map(repr, names))) == ([1, -1, 0], list(map(repr, classes)))


def test_fractions_are_targets_of_a_regression():
    targets, classes = encode([0.5, NAN, -1.0])
    np.testing.assert_array_equal(targets, [0.5, NAN, -1.0])
    assert classes == ()


def test_many_labels_keep_their_columns():
    codes, classes = encode([[0, 1, 1], [1, -1, 0]])
    assert (codes.tolist(), classes) == ([[0, 1, 1], [1, -1, 0]], (0, 1, 2))


def test_a_missing_one_of_many_labels_is_unlabelled():
    codes, _ = encode([[0, 1], [NAN, 1]])
    assert codes.tolist() == [[0, 1], [-1, 1]]


def test_codes_are_a_new_array():
    labels = np.array([0, 1])
    codes, _ = encode(labels)
    assert not np.shares_memory(codes, labels)


@pytest.mark.parametrize("one", ["x", 3, -7])
def test_one_class_is_too_few(one):
    with pytest.raises(InputError, match=f"'team' must .* two classes, but every .* {one!r};"):
        encode([one, one], column="team")


@pytest.mark.parametrize("values", [[None, None], ["", ""], [-1, -1], [NAN, NAN], []])
def test_no_label_at_all_is_refused(values):
    with pytest.raises(InputError, match=r"'team' must hold .* but no node has a label"):
        encode(values, column="team")


def test_many_labels_are_zero_or_one():
    with pytest.raises(
        InputError, match=r"'tags' .* its shape is \(2, 2\) with values \[0, 1, 4\]; give"
    ):
        encode([[0, 1], [4, 1]], column="tags")


def test_an_infinite_label_is_refused():
    with pytest.raises(InputError, match=r"'score'.* inf"):
        encode([0.0, 1.0, np.inf], column="score")


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        pytest.param(
            np.array(["2021-01-02", "2020-12-31"], "datetime64[D]"),
            ("2020-12-31", "2021-01-02"),
            id="days",
        ),
        pytest.param(
            pd.to_datetime(["2021-01-02", "2020-12-31"]).to_numpy(),
            ("2020-12-31", "2021-01-02"),
            id="days of pandas",
        ),
        pytest.param(
            np.array(["2021-01-02T10:00", "2021-01-02T09:30"], "datetime64[s]"),
            ("2021-01-02T09:30", "2021-01-02T10:00"),
            id="times",
        ),
        pytest.param(
            [date(2021, 1, 2), None, date(2020, 12, 31)], ("2020-12-31", "2021-01-02"), id="dates"
        ),
        pytest.param(
            [datetime(2021, 1, 2, 10), datetime(2021, 1, 2, 9)],
            ("2021-01-02T09:00:00", "2021-01-02T10:00:00"),
            id="dates with times",
        ),
        pytest.param(np.array([b"y", b"x"]), ("x", "y"), id="bytes"),
    ],
)
def test_classes_that_are_no_numbers_are_text(values, classes):
    assert encode(values)[1] == classes


def test_labels_of_some_nodes_leave_the_others_unlabelled():
    labels = for_every_node({"x": "red", "y": "blue"}, np.array([2, 0], dtype=np.int32), 4)
    assert labels == ["blue", None, "red", None]
