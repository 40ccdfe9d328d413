"""Timing: warmed up, repeated until the median is known well, on a machine that is watched."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autogm.errors import InputError
from autogm.message.dense import multiply
from autogm.message.product import aligned

__all__ = ["Clock", "Timing", "time_calls"]

Numbers = NDArray[np.float64]

# Repeats that must be there even where one takes longer than all were to take.
_ENOUGH = 3


@dataclass(frozen=True, kw_only=True)
class Clock:
    """How often to repeat.

    At least ``least`` times after ``warm_up`` calls that do not count, then until the interval in
    which the median lies with 95 % confidence is as narrow as ``tight`` of it or ``most`` repeats
    are over. After ``cap`` seconds, warm-up included, three repeats are enough.

    >>> Clock(least=0)
    Traceback (most recent call last):
        ...
    autogm.errors.InputError: least must be at least 1, but got 0
    """

    warm_up: int = 3
    least: int = 20
    most: int = 10_000
    tight: float = 0.02
    cap: float = 2.0

    def __post_init__(self) -> None:
        for name in ("least", "most"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, but got {getattr(self, name)}")
        if self.least > self.most:
            raise InputError(f"least must be at most most ({self.most}), but got {self.least}")
        if self.warm_up < 0:
            raise InputError(f"warm_up must be at least 0, but got {self.warm_up}")
        for name in ("tight", "cap"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} must be above 0, but got {getattr(self, name)}")


@dataclass(frozen=True)
class Timing:
    """Seconds of each repeat, and of the reference work between them."""

    samples: Numbers = field(repr=False)
    reference: Numbers = field(repr=False)

    def percentile(self, q: float) -> float:
        return float(np.percentile(self.samples, q))

    @property
    def median(self) -> float:
        return self.percentile(50)

    @property
    def noise(self) -> float:
        """How much longer than usual the reference took at times."""
        return float(np.percentile(self.reference, 95) / np.median(self.reference))

    @property
    def interval(self) -> tuple[float, float]:
        """Where the median lies with 95 % confidence, whatever the distribution."""
        ordered = np.sort(self.samples)
        half = 0.98 * np.sqrt(len(ordered))
        low = int(max(0, np.floor(len(ordered) / 2 - half)))
        high = int(min(len(ordered) - 1, np.ceil(len(ordered) / 2 + half)))
        return float(ordered[low]), float(ordered[high])

    def is_tight(self, share: float) -> bool:
        low, high = self.interval
        return high - low <= share * self.median


def time_calls(
    calls: Mapping[str, Callable[[int], Any]], clock: Clock | None = None
) -> dict[str, Timing]:
    """Each call's timing, one after another in every round; a call is given the round's number.

    Rounds end when every call's median is known well.

    >>> list(time_calls({"nothing": lambda i: None}, Clock(most=20)))
    ['nothing']
    """
    clock = clock or Clock()
    reference = _Reference()
    samples: dict[str, list[float]] = {name: [] for name in calls}
    beside: list[float] = []
    end = time.perf_counter() + clock.cap
    with _no_collection():
        for i in range(clock.warm_up):
            for call in calls.values():
                call(i)
            reference(i)
        for i in range(clock.most):
            for name, call in calls.items():
                samples[name].append(_seconds(call, i))
            beside.append(_seconds(reference, i))
            if _is_enough(samples, i + 1, clock, end):
                break
    return {name: Timing(np.array(own), np.array(beside)) for name, own in samples.items()}


def _is_enough(samples: dict[str, list[float]], done: int, clock: Clock, end: float) -> bool:
    if time.perf_counter() >= end:
        return done >= min(_ENOUGH, clock.least)
    if done % clock.least:  # sorting all samples after each would take longer than most calls
        return False
    nothing = np.empty(0)
    return all(Timing(np.array(own), nothing).is_tight(clock.tight) for own in samples.values())


def _seconds(call: Callable[[int], Any], i: int) -> float:
    start = time.perf_counter()
    call(i)
    return time.perf_counter() - start


class _Reference:
    """A fixed piece of work of some ten microseconds that needs no memory to speak of."""

    def __init__(self) -> None:
        self._a, self._b, self._out = (aligned(64, 64) for _ in range(3))
        for matrix in (self._a, self._b):
            matrix[:] = 1

    def __call__(self, _: int) -> None:
        multiply(self._a, self._b, self._out)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Collecting garbage in the middle of a call would count as its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
