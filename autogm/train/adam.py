"""Adam (Kingma and Ba 2015) on one long vector, as in PyTorch, and the best the vector has been."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autogm.message.kernel import fused
from autogm.message.product import Matrix, aligned
from autogm.train.layout import Vector, zeros
from autogm.train.settings import TrainSettings

__all__ = ["DIVERGED", "GO_ON", "OUT_OF_PATIENCE", "Rates", "State", "current", "judge", "step"]

GO_ON, OUT_OF_PATIENCE, DIVERGED = range(3)

_CURRENT, _BEST, _STEPS, _BEST_EPOCH = range(4)
_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8


class Rates(NamedTuple):
    """What `step` and `judge` need of the settings; only the first numbers decay."""

    learning_rate: float
    decay: float
    decayed: int
    patience: int

    @classmethod
    def of(cls, settings: TrainSettings, decayed: int) -> Rates:
        rates = float(settings.learning_rate), float(settings.weight_decay)
        return cls(*rates, decayed, settings.patience)


class State(NamedTuple):
    """A vector that is learnt.

    A step writes the new vector beside the old one, so that the best is kept without a copy: of
    three buffers, one is current, one may be the best, one is free.
    """

    buffers: Matrix
    gradient: Vector
    first: Vector
    second: Vector
    place: NDArray[np.int64]
    """The current and the best buffer, the number of steps, the best epoch (from 1)."""
    best_loss: NDArray[np.float64]

    @classmethod
    def of(cls, start: Vector) -> State:
        buffers = aligned(3, len(start))
        buffers[0] = start
        gradient, first, second = (zeros(len(start)) for _ in range(3))
        place, best_loss = np.zeros(4, np.int64), np.array([np.inf])
        return cls(buffers, gradient, first, second, place, best_loss)

    @property
    def best(self) -> Vector:
        best: Vector = self.buffers[self.place[_BEST]]
        return best

    @property
    def num_steps(self) -> int:
        return int(self.place[_STEPS])

    @property
    def best_epoch(self) -> int:
        return int(self.place[_BEST_EPOCH])


@fused
def current(state: Any) -> Any:
    return state.buffers[state.place[_CURRENT]]


@fused
def step(state: Any, rates: Any) -> None:
    """Follow the gradient."""
    place = state.place
    free = 0
    while free == place[_CURRENT] or free == place[_BEST]:
        free += 1
    place[_STEPS] += 1
    rate = rates.learning_rate / (1 - _BETA1 ** place[_STEPS])
    root = 1 / math.sqrt(1 - _BETA2 ** place[_STEPS])
    old, new, end = current(state), state.buffers[free], rates.decayed
    moments = (state.gradient, state.first, state.second)
    _follow(0, end, old, new, *moments, np.float32(rates.decay), rate, root)
    _follow(end, len(new), old, new, *moments, np.float32(0), rate, root)
    place[_CURRENT] = free


@fused
def judge(state: Any, epoch: Any, train_loss: Any, validation_loss: Any, patience: Any) -> Any:
    """Whether to go on after an epoch (from 0); the current vector may be the best so far."""
    if not (math.isfinite(train_loss) and math.isfinite(validation_loss)):
        return DIVERGED
    if validation_loss < state.best_loss[0]:
        state.best_loss[0] = validation_loss
        state.place[_BEST] = state.place[_CURRENT]
        state.place[_BEST_EPOCH] = epoch + 1
    elif epoch + 1 - state.place[_BEST_EPOCH] >= patience:
        return OUT_OF_PATIENCE
    return GO_ON


@fused
def _follow(start, stop, old, new, gradient, first, second, decay, rate, root):  # type: ignore[no-untyped-def]
    # Slices, whose positions are known to be inside, let the loop use whole registers.
    old, new, gradient = old[start:stop], new[start:stop], gradient[start:stop]
    first, second = first[start:stop], second[start:stop]
    one, beta1, beta2 = np.float32(1), np.float32(_BETA1), np.float32(_BETA2)
    rate, root, epsilon = np.float32(rate), np.float32(root), np.float32(_EPSILON)
    for i in range(len(old)):
        slope = gradient[i] + decay * old[i]
        mean = beta1 * first[i] + (one - beta1) * slope
        square = beta2 * second[i] + (one - beta2) * slope * slope
        first[i] = mean
        second[i] = square
        new[i] = old[i] - rate * mean / (math.sqrt(square) * root + epsilon)
