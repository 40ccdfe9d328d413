"""How wrong outputs are: one compiled formula for each kind of head."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autogm.algorithm.heads import SIGMOID, SOFTMAX
from autogm.message.kernel import fused

__all__ = ["loss"]


@fused
def loss(kind: Any, outputs: Any, judged: Any, gradient: Any) -> Any:
    """The weighted sum of what is wrong; ``gradient`` becomes its derivative.

    ``outputs`` and ``gradient`` may be wider than there are outputs; the rest is padding.
    """
    targets, weights = judged.targets, judged.weights
    gradient[:] = 0
    if kind == SOFTMAX:
        return _softmax(outputs[:, : judged.num_outputs], targets, weights, gradient)
    if kind == SIGMOID:
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
