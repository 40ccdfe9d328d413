"""Weights for an algorithm."""

from autogm.algorithm.heads import Binary, Head, MultiClass, MultiLabel, Regression
from autogm.train.loop import train, train_runs
from autogm.train.result import Epoch, Reason, TrainResult
from autogm.train.settings import TrainSettings

__all__ = [
    "Binary",
    "Epoch",
    "Head",
    "MultiClass",
    "MultiLabel",
    "Reason",
    "Regression",
    "TrainResult",
    "TrainSettings",
    "train",
    "train_runs",
]
