"""How to train, as one frozen record."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from autogm.errors import InputError, suggest
from autogm.measure.metrics import METRICS

__all__ = ["TASKS", "TrainSettings"]

TASKS = ("classification", "multilabel", "regression")
DEVICES = ("cpu", "cuda")


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """Learning rate, weight decay and dropout are the paper's; the rest is our choice.

    ``task`` None follows the labels, ``metric`` None the task. ``weight_decay`` is on the first
    layer. ``patience`` epochs without a lower validation loss stop a run; its best weights count.
    ``class_weights`` "balanced" makes every class weigh the same. ``memory`` bounds the bytes of a
    receptive field and its messages; where it would not fit, training goes in mini-batches.
    ``sample_seed`` and ``oversample`` belong to the algorithm's neighbour sampling and are shared
    by all runs. ``threads`` None uses all cores.

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
        for name in ("epochs", "patience", "memory"):
            _check_whole(name, getattr(self, name), least=1)
        _check_whole("sample_seed", self.sample_seed, least=0)
        if self.threads is not None:
            _check_whole("threads", self.threads, least=1)
        _check_choice("task", self.task, TASKS)
        _check_choice("metric", self.metric, tuple(METRICS))
        _check_choice("device", self.device, DEVICES)
        if not self.learning_rate > 0:
            raise InputError(f"learning_rate must be above 0, but got {self.learning_rate}")
        if not self.weight_decay >= 0:
            raise InputError(f"weight_decay must be at least 0, but got {self.weight_decay}")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout must be at least 0 and below 1, but got {self.dropout}")
        if isinstance(self.class_weights, str):
            _check_choice("class_weights", self.class_weights, ("balanced",))
        elif self.class_weights is not None:
            object.__setattr__(self, "class_weights", tuple(self.class_weights))
            if not all(weight > 0 for weight in self.class_weights):
                raise InputError(f"class_weights must be above 0, but got {self.class_weights}")


def _check_whole(name: str, value: Any, *, least: int) -> None:
    try:
        whole = operator.index(value)
    except TypeError:
        raise InputError(f"{name} must be a whole number, but got {value!r}") from None
    if whole < least:
        raise InputError(f"{name} must be at least {least}, but got {whole}")


def _check_choice(name: str, value: str | None, choices: tuple[str, ...]) -> None:
    if value is not None and value not in choices:
        raise InputError(
            f"{name} must be one of {', '.join(choices)}, but got {value!r}"
            f"{suggest(str(value), choices)}"
        )
