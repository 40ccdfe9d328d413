"""One point that was looked at, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from math import isfinite

from autogm.search.budget import Budget
from autogm.search.front import on_front
from autogm.search.space import Point

__all__ = [
    "State",
    "Trial",
    "best_of",
    "front_of",
    "is_worth_training",
    "nearest_to",
    "ranked",
    "surely_best",
    "trained",
]


class State(str, Enum):
    waiting = "waiting"
    """Its time is known; somebody is to train it."""
    running = "running"
    trained = "trained"
    too_slow = "too slow"
    """Measured, of no use to the search of that time, and not trained: another may train it."""
    failed = "failed"


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Numbers that are not known are None; ``seconds`` is measured, never predicted."""

    number: int
    point: Point
    state: State = State.running
    seconds: float | None = None
    accuracy: float | None = None
    error: float | None = None
    """The standard error of the accuracy."""
    runs: int | None = None
    """How many trainings the accuracy is the mean of."""
    cost: float | None = None
    """Seconds that training took."""
    reason: str | None = None
    """Why it failed, or what is odd about it."""

    def is_within(self, budget: Budget | None) -> bool:
        if self.state is not State.trained or self.accuracy is None or self.seconds is None:
            return False
        return budget is None or budget.is_met(self.accuracy, self.seconds)

    @property
    def is_pending(self) -> bool:
        return self.state in (State.waiting, State.running)


def trained(trials: Iterable[Trial]) -> list[Trial]:
    """Those with an accuracy that is a number."""
    return [
        t
        for t in trials
        if t.state is State.trained and t.accuracy is not None and isfinite(t.accuracy)
    ]


def ranked(trials: Iterable[Trial], budget: Budget | None) -> list[Trial]:
    """What holds the budget: the most accurate first, or above an accuracy the fastest.

    Of equals the faster or more accurate one comes first, then the one that was tried first.
    """
    fitting = [trial for trial in trained(trials) if trial.is_within(budget)]
    return sorted(fitting, key=lambda trial: _rank(trial, budget))


def best_of(trials: Iterable[Trial], budget: Budget | None) -> Trial | None:
    """None when nothing holds the budget."""
    return next(iter(ranked(trials, budget)), None)


def _rank(trial: Trial, budget: Budget | None) -> tuple[float, float, int]:
    assert trial.accuracy is not None
    assert trial.seconds is not None
    if budget is not None and budget.min_accuracy is not None:
        return (trial.seconds, -trial.accuracy, trial.number)
    return (-trial.accuracy, trial.seconds, trial.number)


def surely_best(trials: Iterable[Trial], budget: Budget | None) -> Trial | None:
    """The best of what holds a floor by at least its standard error.

    What is slower than that need not be tried. What is just above a floor may be so by luck, and
    what is slower than it may be needed yet.
    """
    if budget is None or budget.min_accuracy is None:
        return best_of(trials, budget)
    lower = [
        trial
        for trial in trained(trials)
        if (trial.accuracy or 0.0) - (trial.error or 0.0) >= budget.min_accuracy
    ]
    return best_of(lower, budget)


def is_worth_training(seconds: float, trials: Iterable[Trial], budget: Budget | None) -> bool:
    """Whether a point of this time can be of any use: it fits, or is faster than what is enough."""
    if budget is None:
        return True
    if budget.max_time is not None:
        return seconds <= budget.max_time
    best = surely_best(trials, budget)
    return best is None or best.seconds is None or seconds < best.seconds


def nearest_to(trials: Iterable[Trial], budget: Budget) -> Trial | None:
    """What misses a budget by least: the fastest, or the most accurate."""
    known = [trial for trial in trained(trials) if trial.seconds is not None]
    if budget.max_time is not None:
        return min(known, key=lambda t: (t.seconds, t.number), default=None)
    return min(known, key=lambda t: _rank(t, None), default=None)


def front_of(trials: Iterable[Trial]) -> list[Trial]:
    """The trained trials that no other beats, from the fastest to the most accurate."""
    known: Sequence[Trial] = [trial for trial in trained(trials) if trial.seconds is not None]
    kept = on_front([t.accuracy for t in known], [t.seconds for t in known])
    front = [trial for trial, keep in zip(known, kept, strict=True) if keep]
    return sorted(front, key=lambda trial: trial.seconds or 0.0)
