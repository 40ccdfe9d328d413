import numpy as np
import pytest

from autogm import InputError
from autogm.measure import METRICS, score
from autogm.measure.metrics import can_score

TRUTH = np.array([0, 1, 2, 1])
SCORES = np.array([[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.4, 0.5, 0.1], [0.3, 0.4, 0.3]])


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("accuracy", 3 / 4),
        ("micro_f1", 3 / 4),
        ("macro_f1", (1 + 4 / 5 + 0) / 3),
        ("roc_auc", (1 + 2.5 / 4 + 0.5 / 3) / 3),
        ("average_precision", (1 + 7 / 12 + 1 / 4) / 3),
    ],
)
def test_one_of_many_classes(metric, expected):
    assert score(metric, TRUTH, SCORES) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("accuracy", 3 / 4),
        ("micro_f1", 3 / 4),
        ("macro_f1", (2 / 3 + 4 / 5) / 2),
        ("roc_auc", 1),
        ("average_precision", 1),
    ],
)
def test_the_second_of_two_classes(metric, expected):
    truth, scores = np.array([0, 1, 1, 0]), np.array([0.1, 0.7, 0.9, 0.6])
    assert score(metric, truth, scores) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("accuracy", 1 / 2),
        ("micro_f1", 2 / 3),
        ("macro_f1", (1 + 0) / 2),
        ("roc_auc", (1 + 0) / 2),
        ("average_precision", 0.75),
    ],
)
def test_many_labels_a_node(metric, expected):
    truth = np.array([[1, 0], [0, 1]])
    scores = np.array([[0.9, 0.4], [0.2, 0.3]])
    assert score(metric, truth, scores) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("accuracy", 2 / 3),
        ("micro_f1", 4 / 5),
        ("macro_f1", (1 + 2 / 3) / 2),
        ("roc_auc", (1 + 1) / 2),
        ("average_precision", (1 + 1) / 2),
    ],
)
def test_each_label_is_judged_where_it_is_known(metric, expected):
    truth = np.array([[1, -1], [0, 1], [-1, 0], [-1, -1]])
    scores = np.array([[0.9, 0.9], [0.2, 0.8], [0.9, 0.6], [0.9, 0.9]])
    assert score(metric, truth, scores) == pytest.approx(expected)


def test_macro_f1_counts_classes_that_are_not_there():
    """The divisor is the number of classes, whoever is asked and whatever is answered."""
    truth = np.array([0, 1])
    right, strange = np.eye(4)[[0, 1]], np.eye(4)[[0, 3]]
    assert score("macro_f1", truth, right) == 2 / 4
    assert score("macro_f1", truth, strange) == 1 / 4
    assert score("macro_f1", np.array([1, 1]), np.array([0.9, 0.9])) == 1 / 2


def test_a_ranking_needs_two_classes():
    assert can_score("roc_auc", np.array([0, 1]))
    assert not can_score("roc_auc", np.array([1, 1]))
    assert not can_score("average_precision", np.array([[1, -1], [1, 0]]))
    assert can_score("accuracy", np.array([1, 1]))


def test_numbers():
    assert score("r2", np.array([0.0, 1, 2]), np.array([0.0, 1, 2])) == 1
    assert score("r2", np.array([0.0, 1, 2]), np.array([1.0, 1, 1])) == 0


def test_a_class_that_is_not_there_is_not_ranked():
    truth, scores = np.array([0, 1, 1]), SCORES[[0, 1, 3]]
    assert score("roc_auc", truth, scores) == 1
    assert score("roc_auc", np.array([1, 1]), SCORES[:2]) == 0


@pytest.mark.parametrize("metric", METRICS)
def test_answers_that_are_no_numbers_never_win(metric):
    truth, scores = np.array([0, 1]), np.array([0.2, np.nan])
    assert score(metric, truth, scores) == (-np.inf if metric == "r2" else 0)


def test_one_number_has_no_variance():
    assert score("r2", np.array([1.0]), np.array([1.0])) == -np.inf


def test_an_unknown_metric():
    with pytest.raises(InputError, match=r"metric must be one of accuracy, .* but got 'auc'"):
        score("auc", TRUTH, SCORES)
