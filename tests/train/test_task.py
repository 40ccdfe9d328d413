import dataclasses

import numpy as np
import pytest

from autogm import Algorithm, InputError, structural_features
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
    refused("needs splits, but the graph has none; name their column when the graph", graph)
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
        dataclasses.replace(planted(), classes=tuple("abcd")),
        task="regression",
    )


@pytest.mark.parametrize(("kind", "metric"), [("multiclass", "r2"), ("regression", "accuracy")])
def test_a_metric_that_does_not_fit(kind, metric):
    refused(f"metric '{metric}' does not fit {kind} answers", planted(kind), metric=metric)


@pytest.mark.parametrize(
    ("kind", "given", "match"),
    [
        ("multiclass", [1, 2], r"class_weights must be one a class \(4\), but got 2; give them in"),
        (
            "multilabel",
            [1, 2, 3],
            "class_weights of many labels a node must be 'balanced', but got",
        ),
        ("regression", "balanced", "class_weights are for classes, but these labels are numbers"),
    ],
)
def test_class_weights_that_do_not_fit(kind, given, match):
    refused(match, planted(kind), class_weights=given)


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
def test_a_split_that_cannot_be_ranked(metric):
    graph = planted("binary")
    labels = graph.labels.copy()
    labels[graph.splits.val] = 1
    match = f"metric '{metric}' ranks nodes .*, but the val split has no two such nodes; choose"
    refused(match, dataclasses.replace(graph, labels=labels), metric=metric)


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1", "micro_f1", "roc_auc"])
def test_many_labels_are_scored_where_they_are_known(metric):
    graph = planted("multilabel", homophily=0.9)
    labels = graph.labels.copy()
    labels[np.random.default_rng(0).random(labels.shape) < 0.3] = -1
    graph = dataclasses.replace(graph, labels=labels)
    result = train(graph, Algorithm.sgcn(), TrainSettings(epochs=100, metric=metric))
    assert result.validation_score > 0.6
    assert result.test_score() > 0.6


def test_a_test_split_without_labels_is_named_when_it_is_asked_for():
    graph = planted()
    labels = graph.labels.copy()
    labels[graph.splits.test] = -1
    graph = dataclasses.replace(graph, labels=labels)
    result = train(graph, Algorithm(k=0), TrainSettings(epochs=2))
    with pytest.raises(InputError, match="the test split must hold labelled nodes, but none of"):
        result.test_score()


def test_integer_targets_may_be_negative():
    graph = planted("regression")
    labels = graph.labels.astype(np.int64) - 16
    task = Task.of(dataclasses.replace(graph, labels=labels), TrainSettings())
    assert (labels < 0).any()
    assert len(task.train.nodes) == len(graph.splits.train)


def test_many_numbers_a_node():
    graph = planted("regression")
    labels = np.stack([graph.labels, graph.labels], axis=1)
    refused("one a node, but their shape is .300, 2.; train on one column at a time",
            dataclasses.replace(graph, labels=labels))  # fmt: skip


def test_numbers_far_from_zero_are_scored_in_full():
    graph = planted("regression", homophily=0.9)
    settings = TrainSettings(epochs=100)
    near, far = (
        train(dataclasses.replace(graph, labels=graph.labels + by), Algorithm.sgcn(), settings)
        for by in (0, 1e9)
    )
    assert near.validation_score > 0.8
    assert far.validation_score == pytest.approx(near.validation_score, abs=1e-3)
    assert far.test_score() == pytest.approx(near.test_score(), abs=1e-3)


def test_targets_that_are_all_the_same():
    graph = planted("regression")
    labels = graph.labels.copy()
    labels[graph.splits.train] = 0.1
    graph = dataclasses.replace(graph, labels=labels)
    assert Task.of(graph, TrainSettings()).spread == 1
    assert np.isfinite(train(graph, Algorithm.sgcn(), TrainSettings(epochs=5)).validation_score)


def test_somebody_elses_graph():
    with pytest.raises(InputError, match="a Graph is needed, but got ndarray"):
        train(np.zeros((3, 3)), None)


def test_whole_numbers_are_learnt_as_numbers_when_asked_to():
    graph = planted()
    graph = dataclasses.replace(graph, classes=tuple(10 * code for code in graph.classes))
    result = train(graph, Algorithm.gcn(d=8), TrainSettings(task="regression", epochs=60))
    assert (result.metric, result.head.name) == ("r2", "regression")
    assert result.test_score() > 0.5
