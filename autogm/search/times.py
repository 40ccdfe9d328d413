"""How long points take, before they are trained: measured, else predicted, else learnt."""

from __future__ import annotations

import contextlib
import math
import reprlib
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from autogm.errors import InputError
from autogm.search.space import Codes
from autogm.search.strategy import Problem
from autogm.search.surrogate import Surrogate
from autogm.search.trial import Trial

__all__ = ["Times"]

Numbers = NDArray[np.float64]

# How far a prediction is off, as a natural logarithm, before enough were checked to tell where;
# their mean counts as if so many more had been right. Of many the latest tell enough.
_DOUBT, _WEIGHT = 0.3, 3
_ENOUGH, _MOST, _REFIT = 4, 80, 8
# Two measurements of the same differ.
_NOISE = 0.05
# Without predictions so many points are measured to learn from, or for so many seconds.
_PROBES, _PROBING = 128, 2.0


@dataclass(frozen=True)
class Belief:
    """Of many points: the logarithm of seconds and how sure that is (0: measured)."""

    mean: Numbers
    deviation: Numbers

    @property
    def seconds(self) -> Numbers:
        return np.exp(self.mean)

    def chance(self, limit: float | None) -> Numbers:
        """That a point takes at most ``limit``."""
        if limit is None:
            return np.ones(len(self.mean))
        apart = math.log(limit) - self.mean
        sure = np.where(apart >= -1e-12, 1.0, 0.0)
        return np.where(self.deviation > 0, ndtr(apart / np.maximum(self.deviation, 1e-12)), sure)


class Times:
    """What is known of a problem's times; predictions are asked for once."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._predicted: dict[int, float] = {}
        self._probed: dict[int, float] | None = None
        self._kernels: dict[int, object] = {}

    def of(self, codes: Codes, trials: Sequence[Trial]) -> Belief:
        space = self._problem.space
        places = space.flat(codes)
        measured = dict(self._probes())
        for trial in trials:
            if trial.seconds is not None:
                measured[int(space.flat(space.codes([trial.point]))[0])] = trial.seconds
        if self._problem.seconds_many is not None:
            mean, deviation = self._corrected(codes, places, measured)
        elif len(measured) >= 2:
            mean, deviation = self._learnt(codes, measured)
        else:
            mean, deviation = np.zeros(len(codes)), np.full(len(codes), 10.0)
        if measured:
            keys = np.array(sorted(measured))
            at = np.minimum(np.searchsorted(keys, places), len(keys) - 1)
            known = keys[at] == places
            exact = np.log([measured[int(key)] for key in keys])[at]
            mean, deviation = np.where(known, exact, mean), np.where(known, 0.0, deviation)
        return Belief(mean, deviation)

    def _corrected(
        self, codes: Codes, places: NDArray[np.int64], measured: dict[int, float]
    ) -> tuple[Numbers, Numbers]:
        """Predictions, and by how much those that were checked were off near by."""
        self._predict(np.union1d(places, np.array(list(measured), np.int64)))
        log = np.log([self._predicted[place] for place in places.tolist()])
        off = [math.log(t / self._predicted[place]) for place, t in measured.items()]
        shift = sum(off) / (len(off) + _WEIGHT)
        if len(off) < _ENOUGH:
            return log + shift, np.full(len(log), _DOUBT)
        space, latest = self._problem.space, slice(-_MOST, None)
        x = space.features(space.unflat(list(measured)[latest]))
        model = Surrogate(x, np.array(off[latest]), prior=shift, kernel=self._kernel(off, measured))
        mean, deviation = model.predict(space.features(codes))
        return log + mean, np.sqrt(deviation**2 + _NOISE**2)

    def _kernel(self, off: list[float], measured: dict[int, float]) -> object | None:
        """Length scales change little with one measurement more: they are of the last eight's."""
        count = len(off) // _REFIT * _REFIT
        if not count:
            return None
        if count not in self._kernels:
            some, space = slice(max(0, count - _MOST), count), self._problem.space
            x = space.features(space.unflat(list(measured)[some]))
            self._kernels[count] = Surrogate(x, np.array(off[some])).kernel
        return self._kernels[count]

    def _predict(self, places: NDArray[np.int64]) -> None:
        new = [place for place in places.tolist() if place not in self._predicted]
        if not new:
            return
        assert self._problem.seconds_many is not None
        space = self._problem.space
        answer = self._problem.seconds_many(space.points(space.unflat(new)))
        try:
            found = np.asarray(answer, np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"seconds_many must answer one number a point, but answered {reprlib.repr(answer)}"
            ) from None
        if found.shape != (len(new),):
            raise InputError(
                f"seconds_many must answer one number a point ({len(new)}), but answered an array "
                f"of shape {found.shape}"
            )
        usable = (found > 0) & np.isfinite(found)
        if not usable.all():
            worst = int(np.argmin(usable))
            raise InputError(
                "seconds_many must answer finite numbers above 0, but answered "
                f"{found[worst]:g} for {space.points(space.unflat(new[worst : worst + 1]))[0]}"
            )
        self._predicted.update(zip(new, found.tolist(), strict=True))

    def _learnt(self, codes: Codes, measured: dict[int, float]) -> tuple[Numbers, Numbers]:
        space = self._problem.space
        x = space.features(space.unflat(list(measured)))
        return Surrogate(x, np.log(list(measured.values()))).predict(space.features(codes))

    def _probes(self) -> dict[int, float]:
        """Random points, measured once, where nothing predicts."""
        if self._probed is None:
            self._probed = {}
            problem, space = self._problem, self._problem.space
            if problem.seconds is not None and problem.seconds_many is None:
                drawn = space.draw(_PROBES, np.random.default_rng([problem.seed, 1]))
                if space.size <= _PROBES:
                    drawn = space.unflat(np.arange(space.size))
                end = time.monotonic() + _PROBING
                for code in drawn:
                    # Whoever tries a point that cannot be measured will hear of it.
                    with contextlib.suppress(Exception):
                        seconds = float(problem.seconds(space.point(code)))
                        if 0 < seconds < math.inf:
                            self._probed[int(space.flat(code[None])[0])] = seconds
                    if time.monotonic() > end:
                        break
        return self._probed
