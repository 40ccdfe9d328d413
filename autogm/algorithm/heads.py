"""Output layers: what the last matrix stands for, and what it answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "HEADS",
    "SIGMOID",
    "SOFTMAX",
    "SQUARE",
    "Binary",
    "Head",
    "MultiClass",
    "MultiLabel",
    "Regression",
    "head_for",
]

Outputs = NDArray[np.float32]

SOFTMAX, SIGMOID, SQUARE = range(3)
"""How wrong answers are counted: cross-entropy of one class, of each label, or squares."""

_CLASS_METRICS = ("accuracy", "macro_f1", "micro_f1", "roc_auc", "average_precision")


@dataclass(frozen=True)
class Head(ABC):
    """``num_outputs`` columns of outputs, read as one kind of answer."""

    name: ClassVar[str]
    task: ClassVar[str]
    """What users call it."""
    metrics: ClassVar[tuple[str, ...]] = _CLASS_METRICS
    """What it can be judged by."""
    metric: ClassVar[str]
    """What it is judged by unless another is asked for."""
    kind: ClassVar[int]
    """By which formula it learns."""
    num_outputs: int

    @property
    def num_classes(self) -> int:
        """How many values a target can have; 0 if it is a number."""
        return 2

    def known(self, labels: NDArray[Any]) -> NDArray[np.bool_]:
        """Which labels are there to learn from, one row a node."""
        return np.asarray(labels.reshape(len(labels), -1) >= 0)

    @abstractmethod
    def scores(self, outputs: Outputs) -> NDArray[np.float64]:
        """What `autogm.measure.score` takes: probabilities, or numbers."""

    @abstractmethod
    def answers(self, outputs: Outputs) -> NDArray[Any]:
        """A code a node, 0 or 1 a label, or a number."""


@dataclass(frozen=True)
class MultiClass(Head):
    """One of C classes; targets are codes, n x 1."""

    name: ClassVar[str] = "multiclass"
    task: ClassVar[str] = "classification"
    metric: ClassVar[str] = "accuracy"
    kind: ClassVar[int] = SOFTMAX

    @property
    def num_classes(self) -> int:
        return self.num_outputs

    def scores(self, outputs: Outputs) -> NDArray[np.float64]:
        outputs = outputs.astype(np.float64)
        powers = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def answers(self, outputs: Outputs) -> NDArray[Any]:
        return np.asarray(outputs.argmax(axis=1))


@dataclass(frozen=True)
class MultiLabel(Head):
    """Any of L labels; targets are n x L of 0 and 1."""

    name: ClassVar[str] = "multilabel"
    task: ClassVar[str] = "multilabel"
    metric: ClassVar[str] = "micro_f1"
    kind: ClassVar[int] = SIGMOID

    def scores(self, outputs: Outputs) -> NDArray[np.float64]:
        return _sigmoid(outputs)

    def answers(self, outputs: Outputs) -> NDArray[Any]:
        return (outputs > 0).astype(np.int64)


@dataclass(frozen=True)
class Binary(Head):
    """The second of two classes or not; targets are n x 1."""

    name: ClassVar[str] = "binary"
    task: ClassVar[str] = "classification"
    metric: ClassVar[str] = "accuracy"
    kind: ClassVar[int] = SIGMOID
    num_outputs: int = 1

    def scores(self, outputs: Outputs) -> NDArray[np.float64]:
        return _sigmoid(outputs)[:, 0]

    def answers(self, outputs: Outputs) -> NDArray[Any]:
        return (outputs[:, 0] > 0).astype(np.int64)


@dataclass(frozen=True)
class Regression(Head):
    """A number; targets are n x 1."""

    name: ClassVar[str] = "regression"
    task: ClassVar[str] = "regression"
    metrics: ClassVar[tuple[str, ...]] = ("r2",)
    metric: ClassVar[str] = "r2"
    kind: ClassVar[int] = SQUARE
    num_outputs: int = 1

    @property
    def num_classes(self) -> int:
        return 0

    def known(self, labels: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(np.isfinite(labels.reshape(len(labels), -1)))

    def scores(self, outputs: Outputs) -> NDArray[np.float64]:
        return outputs[:, 0].astype(np.float64)

    def answers(self, outputs: Outputs) -> NDArray[Any]:
        return self.scores(outputs)


HEADS: dict[str, type[Head]] = {
    head.name: head for head in (MultiClass, MultiLabel, Binary, Regression)
}


def head_for(num_classes: int, *, many: bool = False) -> Head:
    """For labels of so many classes; ``many`` of them a node; none to name are numbers.

    >>> head_for(2), head_for(7), head_for(0)
    (Binary(num_outputs=1), MultiClass(num_outputs=7), Regression(num_outputs=1))
    """
    if num_classes == 0:
        return Regression()
    if many:
        return MultiLabel(num_classes)
    return Binary() if num_classes == 2 else MultiClass(num_classes)


def _sigmoid(outputs: Outputs) -> NDArray[np.float64]:
    return np.asarray(1 / (1 + np.exp(-np.clip(outputs.astype(np.float64), -500, 500))))
