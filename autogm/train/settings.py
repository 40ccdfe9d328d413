"""How to train, as one frozen record."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autogm.errors import InputError, suggest
from autogm.measure.metrics import METRICS

__all__ = ["TASKS", "TrainSettings", "check_whole"]

TASKS = ("classification", "multilabel", "regression")
DEVICES = ("cpu", "cuda")


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """Learning rate, weight decay and dropout are the paper's; the rest is our choice.

    ``task`` None follows the labels, ``metric`` None the task. ``weight_decay`` is on the first
    layer. ``dropout`` is rounded to 1/256, which is what a byte of random bits can decide.
    ``patience`` epochs without a lower validation loss stop a run; its best weights count.
    ``class_weights`` "balanced" makes every class weigh the same. ``memory`` bounds the bytes of
    receptive fields and messages, one half for training and one for validation; what does not fit
    goes in mini-batches, and fewer runs go at once. While a batch is made it may take as much
    again, and weights (six times their size a run) come on top. ``sample_seed`` and ``oversample``
    belong to the algorithm's neighbour sampling and are shared by all runs. ``threads`` None uses
    all cores. How long a training may take is no setting: see ``deadline`` of `train`.

    >>> TrainSettings(dropout=0.6).learning_rate
    0.01
    >>> TrainSettings(dropout=1)
    Traceback (most recent call last):
        ...
    autogm.errors.InputError: dropout must be at least 0 and below 1, but got 1
    """

    task: str | None = None
    metric: str | None = None
    epochs: int = 200
    patience: int = 50
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    dropout: float = 0.5
    class_weights: str | Sequence[float] | None = None
    sample_seed: int = 0
    oversample: bool = False
    memory: int = 4 * 2**30
    threads: int | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        check_whole("epochs", self.epochs, least=1, most=10**6)
        check_whole("patience", self.patience, least=1, most=10**9)
        check_whole("memory", self.memory, least=1)
        check_whole("sample_seed", self.sample_seed, least=0)
        if self.threads is not None:
            check_whole("threads", self.threads, least=1)
        _check_choice("task", self.task, TASKS)
        _check_choice("metric", self.metric, tuple(METRICS))
        _check_choice("device", self.device, DEVICES)
        _check_number(
            "learning_rate", self.learning_rate, lambda x: 0 < x < math.inf, "above 0 and finite"
        )
        _check_number(
            "weight_decay", self.weight_decay, lambda x: 0 <= x < math.inf, "at least 0 and finite"
        )
        _check_number("dropout", self.dropout, lambda x: 0 <= x < 1, "at least 0 and below 1")
        if isinstance(self.class_weights, str):
            _check_choice("class_weights", self.class_weights, ("balanced",))
        elif self.class_weights is not None:
            object.__setattr__(self, "class_weights", _positive_numbers(self.class_weights))


def check_whole(name: str, value: Any, *, least: int, most: int | None = None) -> int:
    """A whole number in a range; 2.5 or "2" or True is a mistake, NumPy's integers are not."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        whole = operator.index(value)
    except TypeError:
        raise InputError(f"{name} must be a whole number, but got {value!r}") from None
    if whole < least:
        raise InputError(f"{name} must be at least {least}, but got {whole}")
    if most is not None and whole > most:
        raise InputError(f"{name} must be at most {most}, but got {whole}")
    return whole


def _check_number(name: str, value: Any, fits: Callable[[Any], bool], rule: str) -> None:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputError(f"{name} must be a number, but got {value!r}")
    if not fits(value):
        raise InputError(f"{name} must be {rule}, but got {value}")


def _positive_numbers(given: Any) -> tuple[float, ...]:
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(())
    if values.ndim != 1:
        raise InputError(
            f"class_weights must be 'balanced' or a list of one number a class, but got {given!r}"
        )
    if not (np.isfinite(values) & (values > 0)).all():
        raise InputError(f"class_weights must be above 0 and finite, but got {values.tolist()}")
    return tuple(values.tolist())


def _check_choice(name: str, value: str | None, choices: tuple[str, ...]) -> None:
    if value is not None and (not isinstance(value, str) or value not in choices):
        raise InputError(
            f"{name} must be one of {', '.join(choices)}, but got {value!r}"
            f"{suggest(str(value), choices)}"
        )
