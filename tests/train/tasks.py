"""Small tasks of every kind, for tests of training."""

from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from autogm.graph import Splits, planted_partition
from autogm.train import TrainSettings
from autogm.train.task import Task
from tests.message.graphs import graphs

KINDS = ("multiclass", "binary", "multilabel", "regression")


def with_labels(graph, kind, seed=0):
    """Labels at random; every class is among the first nodes."""
    n, rng = graph.num_nodes, np.random.default_rng(seed)
    if kind == "regression":
        return dataclasses.replace(graph, labels=rng.standard_normal(n), classes=())
    if kind == "multilabel":
        labels = rng.integers(-1, 2, (n, 3))
        labels[:2, 0] = [0, 1]
        return dataclasses.replace(graph, labels=labels, classes=(0, 1, 2))
    classes = {"multiclass": 3, "binary": 2}[kind]
    labels = np.arange(n) % classes
    return dataclasses.replace(graph, labels=labels, classes=tuple(range(classes)))


@st.composite
def tasks(draw, settings=None):
    """A graph of 6 to 12 nodes with sparse or dense features, half of it trains."""
    graph = draw(graphs(max_nodes=12).filter(lambda g: g.num_nodes >= 6))
    n, width = graph.num_nodes, draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    features = rng.standard_normal((n, width)).astype(np.float32)
    if draw(st.booleans()):
        kept = rng.random((n, width)) < 0.3
        features = sparse.csr_array(features * kept)
    graph = with_labels(graph, draw(st.sampled_from(KINDS)))
    splits = Splits(np.arange(4), np.array([4]), np.arange(5, n))
    graph = dataclasses.replace(graph, features=features, splits=splits)
    return Task.of(graph, settings or TrainSettings(oversample=draw(st.booleans())))


def planted(kind="multiclass", num_nodes=300, **options):
    """A planted partition whose class is easy to see, with labels of some kind."""
    classes = 2 if kind == "binary" else 4
    graph = planted_partition(num_nodes, classes=classes, feature_signal=1.0, **options)
    codes = graph.labels
    if kind == "multilabel":
        labels = (codes[:, None] == [[0, 1, 2]]) | (codes[:, None] == [[1, 2, 3]])
        graph = dataclasses.replace(graph, labels=labels.astype(np.int64), classes=(0, 1, 2))
    if kind == "regression":
        graph = dataclasses.replace(graph, labels=10.0 + 3 * codes, classes=())
    splits = Splits.fractions(graph.labels, train=0.2, val=0.2, seed=1)
    return dataclasses.replace(graph, splits=splits)
