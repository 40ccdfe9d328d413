"""The paper's own procedure (its Algorithm 2 and Section V), on the package it used."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np

from autogm.errors import InputError, optional
from autogm.search.objective import paper_objective
from autogm.search.random import Random
from autogm.search.space import Boolean, Integer, Point
from autogm.search.strategy import Problem, tried
from autogm.search.trial import State, Trial

__all__ = ["PENALTY", "Paper"]

PENALTY = 100.0
"""Stands in for the objective's infinity, which a Gaussian process cannot learn from."""

_INITIAL = 5


class Paper:
    """Bayesian optimisation of f(x) = g(x) - λ log(h(x) - h_min) with parameters made real.

    Whole numbers are rounded; truth values lie between 0 and 1 and choices between 0 and their
    number, rounded to their place. Where this differs from the paper:

    - a, relaxed to (0, 6), would round to 6, which means no aggregation: it is taken for 5;
    - infeasible points, where f is infinite, are told to the optimiser as ``PENALTY`` (which is
      what the released code has for them);
    - the first five points are random: the paper does not say how many are (the package's own
      default), while its released code draws all at random and optimises nothing;
    - a point that would be tried again (several reals round to it) is replaced by a random one,
      so that no training is spent twice;
    - the optimiser is made anew for each proposal and told all trials, so that it can go on after
      an interruption: its random numbers depend on the seed and the number of trials;
    - with no budget, which the paper does not have, the accuracy alone is raised.
    """

    measures_first = False

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._package = optional("bayes_opt", extra="paper", purpose="the strategy 'paper'")
        for name, axis in problem.space.axes.items():
            if isinstance(axis, Integer) and axis.last is not None:
                raise InputError(
                    f"the strategy 'paper' knows no value beyond a range, but {name} has "
                    f"last={axis.last}; leave it out, or use strategy='informed'"
                )

    def propose(self, trials: Sequence[Trial]) -> Point | None:
        space = self._problem.space
        rng = np.random.default_rng([self._problem.seed, len(trials)])
        if len(trials) >= _INITIAL:
            code = self._rounded(self._suggested(trials, int(rng.integers(2**31))))
        else:
            code = self._rounded({n: rng.uniform(*b) for n, b in self._bounds().items()})
        if space.flat(code[None])[0] in tried(space, trials):
            return Random(self._problem).propose(trials)
        return space.point(code)

    def _bounds(self) -> dict[str, tuple[float, float]]:
        return {name: _bounds(axis) for name, axis in self._problem.space.axes.items()}

    def _suggested(self, trials: Sequence[Trial], seed: int) -> dict[str, float]:
        optimizer = self._package.BayesianOptimization(
            f=None,
            pbounds=self._bounds(),
            random_state=seed,
            verbose=0,
            allow_duplicate_points=True,
        )
        for trial in trials:
            if not trial.is_pending:
                optimizer.register(params=self._relaxed(trial.point), target=-self._f(trial))
        suggested: dict[str, float] = optimizer.suggest()
        return suggested

    def _f(self, trial: Trial) -> float:
        if trial.state is not State.trained or trial.accuracy is None or trial.seconds is None:
            return PENALTY
        if not isfinite(trial.accuracy):
            return PENALTY
        if self._problem.budget is None:
            return -trial.accuracy
        return min(PENALTY, paper_objective(self._problem.budget, trial.accuracy, trial.seconds))

    def _relaxed(self, point: Point) -> dict[str, float]:
        code = self._problem.space.codes([point])[0]
        relaxed = {}
        for (name, axis), place in zip(self._problem.space.axes.items(), code, strict=True):
            relaxed[name] = float(place + (axis.low if isinstance(axis, Integer) else 0))
        return relaxed

    def _rounded(self, relaxed: dict[str, float]) -> np.ndarray:
        places = []
        for name, axis in self._problem.space.axes.items():
            place = round(relaxed[name]) - (axis.low if isinstance(axis, Integer) else 0)
            places.append(min(max(0, place), len(axis.values) - 1))
        return np.array(places, np.int64)


def _bounds(axis: object) -> tuple[float, float]:
    if isinstance(axis, Integer):
        return float(axis.low), float(max(axis.high, axis.low + 1e-9))
    if isinstance(axis, Boolean):
        return 0.0, 1.0
    return 0.0, float(len(axis.values))  # type: ignore[attr-defined]
