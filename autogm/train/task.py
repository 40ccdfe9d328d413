"""What is to be learnt: who trains, who selects, what is right, how much each node counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autogm.algorithm import Weights
from autogm.algorithm.heads import Binary, Head, MultiClass, MultiLabel, Regression
from autogm.errors import InputError
from autogm.graph import Graph, Splits, require_graph
from autogm.measure.metrics import score
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
        if graph.features is None:
            raise InputError(
                "training needs node features, but the graph has none; give some, or make them of "
                "its structure: graph = autogm.structural_features(graph)"
            )
        if graph.labels is None:
            raise InputError("training needs labels, but the graph has none; give labels=")
        if graph.splits is None:
            raise InputError(
                "training needs splits, but the graph has none; give splits="
                "Splits.fractions(graph.labels, train=0.03, val=0.1) with dataclasses.replace"
            )
        kind = _kind(graph)
        if settings.task not in (None, kind):
            raise InputError(
                f"task {settings.task!r} does not fit these labels, which are for {kind}; "
                f"use task={kind!r} or other labels"
            )
        head = _head(graph, kind)
        for name in ("train", "val"):
            _check_labelled(graph, name)
        if kind == "classification":
            _check_classes(graph)
        _check_metric(settings.metric, head)
        centre, width = _scale(graph) if kind == "regression" else (0.0, 1.0)
        return cls(graph, settings, head, centre, width)

    @property
    def metric(self) -> str:
        return self.settings.metric or self.head.metric

    @cached_property
    def train(self) -> Judged:
        return self._judged("train")

    @cached_property
    def val(self) -> Judged:
        return self._judged("val")

    def score(self, split: str, outputs: Matrix) -> float:
        """The metric on a split's labelled nodes, from `labelled`'s outputs in its order."""
        nodes = self.labelled(split)
        truth = _labels(self.graph)[nodes]
        whole = np.ones(len(truth), bool) if truth.ndim == 1 else (truth >= 0).all(axis=1)
        return score(self.metric, truth[whole], self.head.scores(outputs)[whole])

    def labelled(self, split: str) -> Nodes:
        return _labelled(self.graph, split)

    def unscale(self, weights: Weights) -> Weights:
        """Weights whose outputs are in the units of the labels."""
        if self.head.name != "regression":
            return weights
        factor = np.float32(self.spread)
        output, bias = weights.output * factor, weights.bias * factor + np.float32(self.centre)
        return weights._replace(output=output, bias=bias)

    def _judged(self, split: str) -> Judged:
        nodes = _labelled(self.graph, split)
        labels = _labels(self.graph)[nodes]
        matrix = labels.reshape(len(nodes), -1)
        if self.head.name == "regression":
            matrix, known = (matrix - self.centre) / self.spread, np.ones(matrix.shape, bool)
        else:
            known = matrix >= 0
        targets = np.where(known, matrix, 0).astype(np.float32)
        weights = (known * self._importance(targets)).astype(np.float32)
        nodes.flags.writeable = False
        return Judged(nodes, targets, weights / weights.sum(), self.head.num_outputs)

    def _importance(self, targets: NDArray[Any]) -> NDArray[Any]:
        """How much each target counts, by its class; a label not borne is its other class."""
        by_class = self._class_weights
        if by_class is None:
            return np.ones((len(targets), 1), np.float32)
        if self.head.name == "multiclass":
            return np.asarray(by_class[0, targets.astype(np.int64)])
        return np.where(targets > 0, by_class[:, 1], by_class[:, 0])

    @cached_property
    def _class_weights(self) -> NDArray[np.float32] | None:
        """One row a label (one for classes), one weight a class."""
        given = self.settings.class_weights
        if given is None:
            return None
        if self.head.name == "regression":
            raise InputError("class_weights are for classes, but these labels are numbers")
        labels = _labels(self.graph)[self.labelled("train")].reshape(-1, 1)
        classes = len(self.graph.classes)
        if self.head.name == "multilabel":
            labels, classes = _labels(self.graph)[self.labelled("train")], 2
        if not isinstance(given, str):
            if len(given) != classes or self.head.name == "multilabel":
                raise InputError(
                    f"class_weights must be one a class ({classes}), but got {len(given)}"
                    if self.head.name != "multilabel"
                    else "class_weights of labels can only be 'balanced', but got numbers"
                )
            return np.asarray([given], dtype=np.float32)
        counts = np.stack([(labels == c).sum(axis=0) for c in range(classes)], axis=1)
        share: NDArray[np.float32] = (
            counts.sum(axis=1, keepdims=True) / (classes * np.maximum(counts, 1))
        ).astype(np.float32)
        return share


def _labels(graph: Graph) -> NDArray[Any]:
    assert graph.labels is not None
    return graph.labels


def _labelled(graph: Graph, split: str) -> Nodes:
    splits: Splits | None = graph.splits
    assert splits is not None
    nodes: Nodes = getattr(splits, split)
    labels = _labels(graph)[nodes]
    known = ~np.isnan(labels) if labels.dtype.kind == "f" else labels >= 0
    return nodes[known if known.ndim == 1 else known.any(axis=1)]


def _kind(graph: Graph) -> str:
    labels = _labels(graph)
    if not graph.classes:
        return "regression"
    return "classification" if labels.ndim == 1 else "multilabel"


def _head(graph: Graph, kind: str) -> Head:
    if kind == "regression":
        return Regression()
    if kind == "multilabel":
        return MultiLabel(len(graph.classes))
    return Binary() if len(graph.classes) == 2 else MultiClass(len(graph.classes))


def _check_labelled(graph: Graph, split: str) -> None:
    if len(_labelled(graph, split)) == 0:
        raise InputError(
            f"the {split} split must hold labelled nodes, but none of its "
            f"{len(getattr(graph.splits, split))} nodes has a label; choose other splits"
        )


def _check_classes(graph: Graph) -> None:
    codes = _labels(graph)[_labelled(graph, "train")]
    counts = np.bincount(codes, minlength=len(graph.classes))
    if counts.min() == 0:
        missing = graph.classes[int(counts.argmin())]
        raise InputError(
            f"the train split must hold every class, but no node of class {missing!r}; "
            "choose a stratified split (Splits.per_class, Splits.fractions) or drop that class"
        )


def _check_metric(metric: str | None, head: Head) -> None:
    if metric is not None and (metric == "r2") != (head.name == "regression"):
        fitting = "r2" if head.name == "regression" else "accuracy, macro_f1, roc_auc, …"
        raise InputError(
            f"metric {metric!r} does not fit {head.name} answers; use {fitting} or none"
        )


def _scale(graph: Graph) -> tuple[float, float]:
    targets = _labels(graph)[_labelled(graph, "train")]
    return float(targets.mean()), float(targets.std()) or 1.0
