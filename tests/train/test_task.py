import dataclasses

import numpy as np
import pytest

from autogm import InputError, structural_features
from autogm.graph import Splits, planted_partition
from autogm.train import TrainSettings, train
from autogm.train.task import Task
from tests.train.tasks import KINDS, planted


def refused(match, graph, **settings):
    with pytest.raises(InputError, match=match):
        Task.of(graph, TrainSettings(**settings))


@pytest.mark.parametrize("kind", KINDS)
def test_labels_choose_the_head(kind):
    task = Task.of(planted(kind), TrainSettings())
    assert task.head.name == kind
    assert task.train.weights.sum() == pytest.approx(1, rel=1e-5)


def test_regression_targets_are_standardised_and_weights_scaled_back():
    task = Task.of(planted("regression"), TrainSettings())
    assert abs(task.train.targets.mean()) < 1e-6
    assert task.train.targets.std() == pytest.approx(1, rel=1e-5)


def test_unlabelled_nodes_of_a_split_are_left_out():
    graph = planted()
    labels = graph.labels.copy()
    labels[graph.splits.train[0]] = -1
    task = Task.of(dataclasses.replace(graph, labels=labels), TrainSettings())
    assert len(task.train.nodes) == len(graph.splits.train) - 1


def test_unknown_cells_of_many_labels_weigh_nothing():
    graph = planted("multilabel")
    labels = graph.labels.copy()
    labels[graph.splits.train[0], 1] = -1
    task = Task.of(dataclasses.replace(graph, labels=labels), TrainSettings())
    np.testing.assert_array_equal(task.train.weights[0] > 0, [True, False, True])


@pytest.mark.parametrize("kind", ["multiclass", "binary", "multilabel"])
def test_balanced_classes_weigh_the_same(kind):
    graph = planted(kind)
    task = Task.of(graph, TrainSettings(class_weights="balanced"))
    targets, weights = task.train.targets[:, 0], task.train.weights[:, 0]
    by_class = [weights[targets == c].sum() for c in np.unique(targets)]
    np.testing.assert_allclose(by_class, by_class[0], rtol=1e-4)


def test_class_weights_by_hand():
    graph = planted()
    task = Task.of(graph, TrainSettings(class_weights=[1, 1, 1, 5]))
    codes, weights = graph.labels[task.train.nodes], task.train.weights[:, 0]
    assert weights[codes == 3][0] == pytest.approx(5 * weights[codes == 0][0], rel=1e-4)


def test_a_graph_without_features_is_told_how_to_get_some():
    graph = dataclasses.replace(planted(), features=None)
    refused("no.*features.*autogm.structural_features", graph)
    assert Task.of(structural_features(graph), TrainSettings()).graph.num_features > 2


def test_a_graph_without_labels_or_splits():
    graph = planted_partition()
    refused("needs splits, but the graph has none; give splits=", graph)
    refused(
        "needs labels, but the graph has none", dataclasses.replace(graph, labels=None, classes=())
    )


@pytest.mark.parametrize("split", ["train", "val"])
def test_a_split_without_a_label(split):
    graph = planted()
    labels = graph.labels.copy()
    labels[getattr(graph.splits, split)] = -1
    refused(
        f"the {split} split must hold labelled nodes, but none of its",
        dataclasses.replace(graph, labels=labels),
    )


def test_a_class_that_nobody_trains():
    graph = planted()
    train = graph.splits.train[graph.labels[graph.splits.train] != 2]
    splits = Splits(train, graph.splits.val, graph.splits.test)
    refused(
        "must hold every class, but no node of class 2", dataclasses.replace(graph, splits=splits)
    )


def test_a_task_that_does_not_fit_the_labels():
    refused(
        "task 'regression' does not fit these labels, which are for classification",
        planted(),
        task="regression",
    )


@pytest.mark.parametrize(("kind", "metric"), [("multiclass", "r2"), ("regression", "accuracy")])
def test_a_metric_that_does_not_fit(kind, metric):
    refused(f"metric '{metric}' does not fit {kind} answers", planted(kind), metric=metric)


def test_class_weights_that_do_not_fit():
    with pytest.raises(InputError, match=r"class_weights must be one a class \(4\), but got 2"):
        _ = Task.of(planted(), TrainSettings(class_weights=[1, 2])).train
    with pytest.raises(InputError, match="class_weights are for classes, but these labels are num"):
        _ = Task.of(planted("regression"), TrainSettings(class_weights="balanced")).train


def test_somebody_elses_graph():
    with pytest.raises(InputError, match="a Graph is needed, but got ndarray"):
        train(np.zeros((3, 3)), None)
