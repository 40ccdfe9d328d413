"""What a strategy is: a function from what has been tried to what to try next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from autogm.search.budget import Budget
from autogm.search.space import Codes, Point, Space
from autogm.search.trial import State, Trial

__all__ = ["Problem", "Strategy", "tried"]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What is searched, for what, and what is known before anything is trained."""

    space: Space
    budget: Budget | None = None
    seed: int = 0
    first: tuple[Point, ...] = ()
    """Points to begin with, where they fit."""
    seconds: Callable[[Point], float] | None = field(default=None, compare=False)
    """Measures one point."""
    seconds_many: Callable[[Sequence[Point]], Sequence[float]] | None = field(
        default=None, compare=False
    )
    """Predicts the time of many."""


class Strategy(Protocol):
    """Made of a problem. It holds nothing that does not follow from the problem and the trials.

    So a search that was killed goes on as if it had not been, and workers that share trials need
    share nothing else. ``measures_first`` strategies want a point's time before it is trained, and
    points that do not fit a time budget left untrained.
    """

    measures_first: bool

    def propose(self, trials: Sequence[Trial]) -> Point | None:
        """A point that no trial has, or None when there is nothing left worth a training."""
        ...


def tried(space: Space, trials: Sequence[Trial]) -> NDArray[np.int64]:
    """The places of points that were trained, failed or are being trained; not of measured ones."""
    codes: Codes = space.codes([t.point for t in trials if t.state is not State.too_slow])
    return space.flat(codes) if len(codes) else np.empty(0, np.int64)
