"""Training learns what there is to learn, at every point of the space."""

import numpy as np
import pytest

from autogm import Algorithm
from autogm.algorithm import AGGREGATIONS
from autogm.train import Reason, TrainSettings, train
from autogm.train.device import OnDevice
from autogm.train.layout import Layout
from autogm.train.loop import _learn, _Limits, _Run
from autogm.train.model import model
from autogm.train.task import Task
from tests.train.tasks import KINDS, planted


@pytest.mark.parametrize("algorithm", [Algorithm.gcn(), Algorithm.sgcn()], ids=["gcn", "sgcn"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_head_learns_a_planted_signal(kind, algorithm):
    graph = planted(kind, homophily=0.9)
    result = train(graph, algorithm)
    assert result.validation_score > 0.85
    assert result.test_score() > 0.8


@pytest.mark.parametrize(
    "metric", ["accuracy", "macro_f1", "micro_f1", "roc_auc", "average_precision"]
)
@pytest.mark.parametrize("kind", ["multiclass", "binary", "multilabel"])
def test_each_metric_judges_each_kind_of_answer(kind, metric):
    result = train(planted(kind, homophily=0.9), Algorithm.sgcn(), TrainSettings(metric=metric))
    assert result.metric == metric
    assert 0.6 < result.validation_score <= 1


def test_balanced_weights_find_a_rare_class():
    graph = planted("binary", 2000, homophily=0.6, num_features=4)
    rng = np.random.default_rng(0)
    rare = np.flatnonzero(graph.labels == 1)
    labels = graph.labels.copy()
    labels[rng.permutation(rare)[: int(0.9 * len(rare))]] = -1
    import dataclasses

    graph = dataclasses.replace(graph, labels=labels)
    plain, balanced = (
        train(graph, Algorithm(k=0), TrainSettings(class_weights=w, metric="macro_f1", epochs=100))
        for w in (None, "balanced")
    )
    bias = [float(result.weights.bias[0]) for result in (plain, balanced)]
    assert bias[0] < bias[1]  # it says "rare" more readily


@pytest.mark.parametrize("algorithm", [Algorithm.gcn(), Algorithm.sgcn(), Algorithm(k=0)], ids=str)
def test_the_device_learns_as_well(algorithm):
    graph = planted()
    task = Task.of(graph, TrainSettings(epochs=60))
    layout = Layout(algorithm, graph.num_features, task.head.num_outputs)
    run = _Run(task, layout, 0, _Limits(None, None, None))
    _learn([run], OnDevice(model(task, algorithm), task, algorithm), 1)
    on_device, here = run.result(task, algorithm, layout), train(graph, algorithm, task.settings)
    assert on_device.validation_score > here.validation_score - 0.06
    assert on_device.reason is here.reason is Reason.epochs


def test_the_device_trains_points_of_every_kind():
    graph = planted(num_nodes=60)
    for algorithm, oversample in random_points(10):
        task = Task.of(graph, TrainSettings(epochs=2, oversample=oversample))
        layout = Layout(algorithm, graph.num_features, task.head.num_outputs)
        runs = [_Run(task, layout, seed, _Limits(None, None, None)) for seed in (0, 1)]
        _learn(runs, OnDevice(model(task, algorithm), task, algorithm), 2)
        for run in runs:
            result = run.result(task, algorithm, layout)
            assert result.epochs == 2 or result.reason is Reason.diverged, algorithm
            assert 0 <= result.validation_score <= 1


def random_points(count):
    """The paper's space, log-uniform, and whether to oversample."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        algorithm = Algorithm(
            d=int(np.exp(rng.uniform(0, np.log(300)))),
            k=int(rng.choice([0, *np.exp(rng.uniform(0, np.log(31), 9)).astype(int)])),
            w=int(rng.choice([-1, 1, 2, 5, 10, 50])),
            l=bool(rng.integers(2)),
            a=str(rng.choice(AGGREGATIONS)),
        )
        yield algorithm, bool(rng.integers(2))


@pytest.mark.parametrize("kind", KINDS)
def test_every_point_trains(kind):
    graph = planted(kind, 60)
    for algorithm, oversample in random_points(50):
        result = train(graph, algorithm, TrainSettings(epochs=3, oversample=oversample))
        assert result.reason in (Reason.epochs, Reason.diverged), algorithm
        assert not np.isnan(result.validation_score), algorithm
        assert np.isfinite(result.weights.output).all(), algorithm
        result.weights.check(algorithm, graph.num_features)
