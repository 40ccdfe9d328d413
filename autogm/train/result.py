"""What a training gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from autogm.algorithm import Algorithm, Weights
from autogm.algorithm.heads import Head
from autogm.train.model import outputs
from autogm.train.task import Task

__all__ = ["Epoch", "Reason", "TrainResult"]


class Reason(str, Enum):
    """Why a training stopped."""

    epochs = "epochs"
    """All epochs were run."""
    patience = "patience"
    """The validation loss had not fallen for so many epochs."""
    deadline = "deadline"
    cancelled = "cancelled"
    diverged = "diverged"
    """The loss was no longer a number; the weights are the best before that."""


class Epoch(NamedTuple):
    """What a progress callback hears."""

    seed: int
    number: int
    train_loss: float
    validation_loss: float


@dataclass(frozen=True, eq=False)
class TrainResult:
    """The weights with the lowest validation loss, how they score, and how they came to be."""

    algorithm: Algorithm
    seed: int
    weights: Weights = field(repr=False)
    """In float32; of a regression, in the units of the labels."""
    metric: str
    validation_score: float
    """Higher is better; a run without an epoch or a finite answer has the metric's worst value."""
    train_losses: NDArray[np.float64] = field(repr=False)
    validation_losses: NDArray[np.float64] = field(repr=False)
    epochs: int
    """How many were run."""
    best_epoch: int
    """The number, from 1, of the epoch whose weights these are; 0 for the start."""
    seconds: float
    """What the run took, with its share of what runs share."""
    reason: Reason
    task: Task = field(repr=False)
    learnt: Weights = field(repr=False)
    """The weights before a regression's were rounded to the units of the labels."""

    @property
    def head(self) -> Head:
        return self.task.head

    def test_score(self) -> float:
        """The metric on the test split, which is read only now."""
        return self._test_score

    @cached_property
    def _test_score(self) -> float:
        self.task.check_scored("test")
        answers = outputs(self.task, self.algorithm, self.learnt, self.task.labelled("test"))
        return self.task.score("test", answers)
