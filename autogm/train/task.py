"""What is to be learnt: who trains, who selects, what is right, how much each node counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autogm.algorithm import Weights
from autogm.algorithm.heads import Head, head_for
from autogm.errors import InputError
from autogm.graph import Graph, require_graph
from autogm.graph.features import Features
from autogm.measure.metrics import can_score, score
from autogm.message.product import Matrix
from autogm.message.sample import Nodes
from autogm.train.settings import TrainSettings

__all__ = ["Judged", "Task"]


class Judged(NamedTuple):
    """Some nodes, what is right for each, and how much that counts (0: unknown).

    Weights add up to one. Targets are class codes (n x 1), 0/1 a label (n x L), or numbers (n x 1).
    """

    nodes: Nodes
    targets: Matrix
    weights: Matrix
    num_outputs: int

    def part(self, some: slice | NDArray[Any]) -> Judged:
        """A part of them, its weights adding up to one again."""
        weights = self.weights[some]
        weights = weights / max(np.float32(1e-30), weights.sum())
        nodes = self.nodes[some]
        nodes.flags.writeable = False
        return self._replace(nodes=nodes, targets=self.targets[some], weights=weights)


@dataclass(frozen=True, eq=False)
class Task:
    """A graph's labels and splits as a head wants them; bad input ends here."""

    graph: Graph
    settings: TrainSettings
    head: Head
    centre: float = 0.0
    spread: float = 1.0
    """Of regression targets: what is learnt is (target - centre) / spread."""

    @classmethod
    def of(cls, graph: Graph, settings: TrainSettings) -> Task:
        require_graph(graph)
        if not isinstance(settings, TrainSettings):
            raise InputError(
                f"settings must be TrainSettings, but got {settings!r}; try TrainSettings(epochs=…)"
            )
        _check_complete(graph)
        if settings.task == "regression":
            graph = _with_numbers(graph)
        assert graph.labels is not None
        head = head_for(len(graph.classes), many=graph.labels.ndim == 2)
        _check_choices(settings, head)
        task = cls(graph, settings, head)
        task._check_labelled("train")
        task.check_scored("val")
        if head.task == "classification":
            _check_every_class(graph, task.labelled("train"))
        if head.num_classes:
            return task
        targets = graph.labels[task.labelled("train")].astype(np.float64)
        # Equal numbers may have a tiny deviation by rounding.
        spread = float(targets.std()) if targets.min() < targets.max() else 1.0
        return replace(task, centre=float(targets.mean()), spread=spread)

    @property
    def metric(self) -> str:
        return self.settings.metric or self.head.metric

    @property
    def features(self) -> Features:
        assert self.graph.features is not None
        return self.graph.features

    @cached_property
    def train(self) -> Judged:
        return self._judged("train")

    @cached_property
    def val(self) -> Judged:
        return self._judged("val")

    def labelled(self, split: str) -> Nodes:
        """The nodes of a split of which anything is known."""
        nodes: Nodes = getattr(self.graph.splits, split)
        return nodes[self.head.known(self._labels[nodes]).any(axis=1)]

    def score(self, split: str, outputs: Matrix) -> float:
        """The metric on `labelled` nodes, from their outputs; numbers are scaled in float64."""
        scores = self.head.scores(outputs) * self.spread + self.centre
        return score(self.metric, self._labels[self.labelled(split)], scores)

    def check_scored(self, split: str) -> None:
        """There is something to judge by."""
        self._check_labelled(split)
        if not can_score(self.metric, self._labels[self.labelled(split)]):
            raise InputError(
                f"metric {self.metric!r} ranks nodes that have a class above those that have not, "
                f"but the {split} split has no two such nodes; choose other splits or 'accuracy'"
            )

    def unscale(self, weights: Weights) -> Weights:
        """Weights whose outputs are in the units of the labels."""
        factor, centre = np.float32(self.spread), np.float32(self.centre)
        if not self.head.num_classes:
            output, bias = weights.output * factor, weights.bias * factor + centre
            weights = weights._replace(output=output, bias=bias)
        return weights

    @property
    def _labels(self) -> NDArray[Any]:
        assert self.graph.labels is not None
        return self.graph.labels

    def _check_labelled(self, split: str) -> None:
        if len(self.labelled(split)) == 0:
            raise InputError(
                f"the {split} split must hold labelled nodes, but none of its "
                f"{len(getattr(self.graph.splits, split))} nodes has a label; choose other splits"
            )

    def _judged(self, split: str) -> Judged:
        nodes = self.labelled(split)
        labels = self._labels[nodes]
        known = self.head.known(labels)
        scaled = (labels.reshape(known.shape) - self.centre) / self.spread
        targets = np.where(known, scaled, 0).astype(np.float32)
        weights = (known * self._importance(targets)).astype(np.float32)
        nodes.flags.writeable = False
        return Judged(nodes, targets, weights / weights.sum(), self.head.num_outputs)

    def _importance(self, targets: Matrix) -> Matrix:
        """How much each target counts, by its class."""
        if self.settings.class_weights is None:
            return np.ones_like(targets)
        by_class = self._class_weights
        return by_class[np.arange(targets.shape[1]), targets.astype(np.int64)]

    @cached_property
    def _class_weights(self) -> Matrix:
        """One row a column of targets, one number a class."""
        given, classes = self.settings.class_weights, self.head.num_classes
        if not isinstance(given, str):
            return np.asarray([given], dtype=np.float32)
        labels = self._labels[self.labelled("train")]
        labels = labels.reshape(len(labels), -1)
        counts = np.stack([(labels == c).sum(axis=0) for c in range(classes)], axis=1)
        shares = counts.sum(axis=1, keepdims=True) / (classes * np.maximum(counts, 1))
        return np.asarray(shares, dtype=np.float32)


def _with_numbers(graph: Graph) -> Graph:
    """Classes that are numbers (ages, counts) as the numbers they are; unlabelled becomes NaN."""
    numbers = all(isinstance(c, (int, float)) and not isinstance(c, bool) for c in graph.classes)
    if not graph.classes or not numbers or graph.labels is None or graph.labels.ndim != 1:
        return graph
    values = np.array([*graph.classes, np.nan], np.float64)
    return replace(graph, labels=values[graph.labels], classes=())


def _check_complete(graph: Graph) -> None:
    if graph.features is None:
        raise InputError(
            "training needs node features, but the graph has none; give some, or make them of "
            "its structure: graph = autogm.structural_features(graph)"
        )
    if graph.labels is None:
        raise InputError("training needs labels, but the graph has none; give labels=")
    if graph.labels.ndim == 2 and not graph.classes:
        raise InputError(
            "labels without classes are numbers to predict, one a node, but their shape is "
            f"{graph.labels.shape}; train on one column at a time, or name the classes"
        )
    if graph.splits is None:
        raise InputError(
            "training needs splits, but the graph has none; name their column when the graph is "
            "read (split=), or give splits="
            "autogm.Splits.fractions(graph.labels, train=0.6, val=0.2) with dataclasses.replace"
        )


def _check_choices(settings: TrainSettings, head: Head) -> None:
    """What was asked for fits the labels."""
    if settings.task not in (None, head.task):
        raise InputError(
            f"task {settings.task!r} does not fit these labels, which are for {head.task}; "
            f"use task={head.task!r} or other labels"
        )
    if settings.metric not in (None, *head.metrics):
        raise InputError(
            f"metric {settings.metric!r} does not fit {head.name} answers; "
            f"use one of {', '.join(head.metrics)}, or none"
        )
    given = settings.class_weights
    if given is None:
        return
    if not head.num_classes:
        raise InputError(
            "class_weights are for classes, but these labels are numbers; leave class_weights out"
        )
    if not isinstance(given, str) and head.task == "multilabel":
        raise InputError(
            f"class_weights of many labels a node must be 'balanced', but got {list(given)}"
        )
    if not isinstance(given, str) and len(given) != head.num_classes:
        raise InputError(
            f"class_weights must be one a class ({head.num_classes}), but got {len(given)}; "
            "give them in the order of graph.classes"
        )


def _check_every_class(graph: Graph, nodes: Nodes) -> None:
    assert graph.labels is not None
    counts = np.bincount(graph.labels[nodes], minlength=len(graph.classes))
    if counts.min() == 0:
        missing = graph.classes[int(counts.argmin())]
        raise InputError(
            f"the train split must hold every class, but no node of class {missing!r}; "
            "choose a stratified split (Splits.per_class, Splits.fractions) or drop that class"
        )
