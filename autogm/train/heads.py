"""Output layers: what the last matrix stands for, how wrong it is, and what it answers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from autogm.message.kernel import fused
from autogm.message.product import Matrix

__all__ = ["HEADS", "Binary", "Head", "MultiClass", "MultiLabel", "Regression", "loss"]

_SOFTMAX, _SIGMOID, _SQUARE = range(3)


@dataclass(frozen=True)
class Head(ABC):
    """The outputs of ``num_outputs`` columns, read as one kind of answer."""

    name: ClassVar[str]
    metric: ClassVar[str]
    """What it is judged by unless another is asked for."""
    kind: ClassVar[int]
    """Which of `loss`'s formulas is its own."""
    num_outputs: int

    @abstractmethod
    def scores(self, outputs: Matrix) -> NDArray[np.float64]:
        """What `autogm.measure.score` takes: probabilities, or numbers."""


@dataclass(frozen=True)
class MultiClass(Head):
    """One of C classes: softmax and cross-entropy; targets are codes, n x 1."""

    name: ClassVar[str] = "multiclass"
    metric: ClassVar[str] = "accuracy"
    kind: ClassVar[int] = _SOFTMAX

    def scores(self, outputs: Matrix) -> NDArray[np.float64]:
        outputs = outputs.astype(np.float64)
        powers = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class MultiLabel(Head):
    """Any of L labels: a sigmoid each; targets are n x L of 0 and 1."""

    name: ClassVar[str] = "multilabel"
    metric: ClassVar[str] = "micro_f1"
    kind: ClassVar[int] = _SIGMOID

    def scores(self, outputs: Matrix) -> NDArray[np.float64]:
        return np.asarray(1 / (1 + np.exp(-np.clip(outputs.astype(np.float64), -500, 500))))


@dataclass(frozen=True)
class Binary(MultiLabel):
    """The second of two classes or not: one sigmoid; targets are n x 1."""

    name: ClassVar[str] = "binary"
    metric: ClassVar[str] = "accuracy"
    num_outputs: int = 1

    def scores(self, outputs: Matrix) -> NDArray[np.float64]:
        return super().scores(outputs)[:, 0]


@dataclass(frozen=True)
class Regression(Head):
    """A number: squared error; targets are n x 1."""

    name: ClassVar[str] = "regression"
    metric: ClassVar[str] = "r2"
    kind: ClassVar[int] = _SQUARE
    num_outputs: int = 1

    def scores(self, outputs: Matrix) -> NDArray[np.float64]:
        return outputs[:, 0].astype(np.float64)


HEADS: dict[str, type[Head]] = {
    head.name: head for head in (MultiClass, MultiLabel, Binary, Regression)
}


@fused
def loss(kind: Any, outputs: Any, judged: Any, gradient: Any) -> Any:
    """The weighted sum of what is wrong; ``gradient`` becomes its derivative.

    ``outputs`` and ``gradient`` may be wider than there are outputs; the rest is padding.
    """
    targets, weights = judged.targets, judged.weights
    gradient[:] = 0
    if kind == _SOFTMAX:
        return _softmax(outputs[:, : judged.num_outputs], targets, weights, gradient)
    if kind == _SIGMOID:
        return _sigmoid(outputs[:, : judged.num_outputs], targets, weights, gradient)
    return _square(outputs[:, : judged.num_outputs], targets, weights, gradient)


@fused
def _softmax(outputs, targets, weights, gradient):  # type: ignore[no-untyped-def]
    total = 0.0
    for r in range(len(outputs)):
        highest = outputs[r, 0]
        for c in range(1, outputs.shape[1]):
            highest = max(highest, outputs[r, c])
        powers = np.float32(0)
        for c in range(outputs.shape[1]):
            power = math.exp(outputs[r, c] - highest)
            gradient[r, c] = power
            powers += power
        weight = weights[r, 0]
        for c in range(outputs.shape[1]):
            gradient[r, c] *= weight / powers
        target = int(targets[r, 0])
        gradient[r, target] -= weight
        total += weight * (math.log(powers) + highest - outputs[r, target])
    return total


@fused
def _sigmoid(outputs, targets, weights, gradient):  # type: ignore[no-untyped-def]
    total = 0.0
    for r in range(len(outputs)):
        for c in range(outputs.shape[1]):
            x, target, weight = outputs[r, c], targets[r, c], weights[r, c]
            power = math.exp(-abs(x))
            probability = (np.float32(1) if x >= 0 else power) / (np.float32(1) + power)
            gradient[r, c] = weight * (probability - target)
            total += weight * (max(x, np.float32(0)) - x * target + math.log1p(power))
    return total


@fused
def _square(outputs, targets, weights, gradient):  # type: ignore[no-untyped-def]
    total = 0.0
    for r in range(len(outputs)):
        for c in range(outputs.shape[1]):
            error = outputs[r, c] - targets[r, c]
            gradient[r, c] = np.float32(2) * weights[r, c] * error
            total += weights[r, c] * error * error
    return total
