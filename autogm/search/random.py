"""Points by chance: the paper's RandomSearch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autogm.search.space import Point
from autogm.search.strategy import Problem, tried
from autogm.search.trial import Trial

__all__ = ["Random"]


class Random:
    """Every point as likely as any other, none twice; budgets are only looked at afterwards."""

    measures_first = False

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    def propose(self, trials: Sequence[Trial]) -> Point | None:
        space = self._problem.space
        known = set(tried(space, trials).tolist())
        if len(known) >= space.size:
            return None
        rng = np.random.default_rng([self._problem.seed, len(trials)])
        if 2 * len(known) > space.size:
            left = np.setdiff1d(np.arange(space.size), np.array(list(known)))
            return space.point(space.unflat([rng.choice(left)])[0])
        while True:
            code = space.draw(1, rng)
            if int(space.flat(code)[0]) not in known:
                return space.point(code[0])
