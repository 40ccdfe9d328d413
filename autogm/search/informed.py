"""Time is known before training, so only what fits is trained, and what is trained is chosen well.

Under a ceiling on time: the greatest expected gain in accuracy among what probably fits. Under a
floor on accuracy: the greatest expected saving of time, and before anything is good enough the
best chance for the time. With no budget: the greatest expected gain of the front. All of it per
second that the training is expected to take, to some power: a small gain that is cheap comes first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autogm.search.acquisition import (
    expected_front_gain,
    expected_gain,
    expected_saving,
    probability,
)
from autogm.search.budget import Budget
from autogm.search.space import Codes, Point
from autogm.search.strategy import Problem, tried
from autogm.search.surrogate import Surrogate
from autogm.search.times import Belief, Times
from autogm.search.trial import State, Trial, front_of, is_worth_training, surely_best, trained

__all__ = ["Informed"]

Numbers = NDArray[np.float64]

# Candidates: all points of a space up to this size, else a grid of as many and random ones.
_GRID, _DRAWN = 40_000, 10_000
# A model needs something to learn from.
_LEAST_TRAINED = 4
# Below this chance to fit, points are measured only to be sure that nothing does.
_HOPELESS = 0.02
_LAST_CHECKS = 5
# Below this chance to be noticeably faster than the best so far, a point is not worth measuring;
# after each in a row that was not faster, the chance has to be so much greater.
_UNLIKELY, _NOTICED, _WARY = 0.1, 0.97, 0.02
# A gain is divided by this power of the training's seconds: a small one that is cheap comes first.
_POWER = 0.25


class Informed:
    """The default."""

    measures_first = True

    def __init__(self, problem: Problem) -> None:
        self._problem, self._times = problem, Times(problem)
        self._candidates: Codes | None = None
        self._believed: tuple[object, _Prospect] | None = None

    def propose(self, trials: Sequence[Trial]) -> Point | None:
        space, budget = self._problem.space, self._problem.budget
        codes = self._untried(trials)
        if not len(codes):
            return None
        times = self._times.of(codes, trials)
        fits = times.chance(budget.max_time if budget else None)
        if fits.max() < _HOPELESS or (fits.max() < 0.5 and self._nothing_fitted(trials)):
            return self._last_check(codes, times, trials)
        begin = self._first(codes, fits, trials)
        if begin is None and len(trained(trials)) < _LEAST_TRAINED:
            begin = self._any(fits, trials)
        if begin is None:
            worth = self._worth(codes, times, fits, trials)
            begin = int(np.argmax(worth))
            if not worth[begin] > 0:
                return None
        return space.point(codes[begin])

    def _untried(self, trials: Sequence[Trial]) -> Codes:
        space = self._problem.space
        if self._candidates is None:
            self._candidates = self._pool()
        budget, known = self._problem.budget, tried(space, trials)
        slow = [
            t.point
            for t in trials
            if t.state is State.too_slow and not is_worth_training(t.seconds or 0.0, trials, budget)
        ]
        known = np.append(known, space.flat(space.codes(slow)))
        return self._candidates[~np.isin(space.flat(self._candidates), known)]

    def _pool(self) -> Codes:
        space, problem = self._problem.space, self._problem
        if space.size <= _GRID + _DRAWN:
            return space.unflat(np.arange(space.size))  # in the order of their places
        drawn = space.draw(_DRAWN, np.random.default_rng([problem.seed, 0]))
        parts = [space.codes(list(problem.first)), space.grid(_GRID), drawn]
        return space.unflat(np.unique(space.flat(np.concatenate(parts))))

    def _first(self, codes: Codes, fits: Numbers, trials: Sequence[Trial]) -> int | None:
        """The next of the points to begin with; for one that does not fit, what is most like it."""
        space = self._problem.space
        wanted, places = space.codes(list(self._problem.first)), space.flat(codes)
        begun = [t for t in trials if t.state is not State.too_slow]
        known = space.flat(space.codes([trial.point for trial in begun]))
        missing = []
        for want in wanted:
            at = np.flatnonzero(places == space.flat(want[None]))
            if len(at) and fits[at[0]] >= _HOPELESS:
                return int(at[0])
            if space.flat(want[None])[0] not in known:
                missing.append(want)
        stand_ins = len(begun) - (len(wanted) - len(missing))
        likely = np.flatnonzero(fits >= min(0.5, fits.max()))
        if stand_ins >= len(missing):
            return None
        apart = space.features(codes[likely]) - space.features(missing[stand_ins][None])
        return int(likely[np.argmin(np.square(apart).sum(axis=1))])

    def _any(self, fits: Numbers, trials: Sequence[Trial]) -> int:
        rng = np.random.default_rng([self._problem.seed, 2, len(trials)])
        likely = fits * (fits >= min(0.5, fits.max()))
        return int(rng.choice(len(fits), p=likely / likely.sum()))

    def _nothing_fitted(self, trials: Sequence[Trial]) -> bool:
        limit = self._problem.budget.max_time if self._problem.budget else None
        return limit is not None and not any((t.seconds or math.inf) <= limit for t in trials)

    def _last_check(self, codes: Codes, times: Belief, trials: Sequence[Trial]) -> Point | None:
        """What should be fastest, before it is said that nothing fits."""
        slow = [t.seconds or 0.0 for t in trials if t.state is State.too_slow]
        near = 2 * min(float(times.seconds.min()), *slow, math.inf)
        if not self._nothing_fitted(trials) or sum(t <= near for t in slow) >= _LAST_CHECKS:
            return None
        return self._problem.space.point(codes[int(np.argmin(times.mean))])

    def _worth(
        self, codes: Codes, times: Belief, fits: Numbers, trials: Sequence[Trial]
    ) -> Numbers:
        budget, done = self._problem.budget, trained(trials)
        belief = self._belief(trials)
        at = np.searchsorted(belief.places, self._problem.space.flat(codes))
        mean, deviation, cost = belief.mean[at], belief.deviation[at], belief.cost[at]
        best, scale = surely_best(trials, budget), belief.scale
        if budget is None:
            gain = self._front_gain(mean, deviation, scale, times, trials)
        elif budget.min_accuracy is not None:
            chance = probability(mean, deviation, float(scale(budget.min_accuracy)))
            if best is None:
                # The longer nothing is good enough, the more the chance counts.
                chance = chance ** (1 + len(done) / 4)
            fastest = best.seconds if best else None
            gain = expected_saving(times.mean, times.deviation, chance, fastest)
            unlikely = min(0.95, _UNLIKELY + _WARY * _misses(trials))
            faster = times.chance(fastest and _NOTICED * fastest) >= unlikely
            gain = np.where(faster, gain, 0.0)
        else:
            reached = best or min(done, key=lambda trial: trial.accuracy or 0.0)
            gain = expected_gain(mean, deviation, float(scale(reached.accuracy)))
        return gain * fits / cost**_POWER

    def _front_gain(
        self,
        mean: Numbers,
        deviation: Numbers,
        scale: _Scale,
        times: Belief,
        trials: Sequence[Trial],
    ) -> Numbers:
        front = [(t.seconds, scale(t.accuracy)) for t in front_of(trials)]
        known = [t.seconds for t in trained(trials) if t.seconds is not None]
        floor = float(np.median([scale(t.accuracy) for t in trained(trials)]))
        # Beyond the slowest, or else that would have nothing to gain.
        ceiling = math.e * max([*known, float(times.seconds.max())])
        return expected_front_gain(
            mean, deviation, times.seconds, front, floor=floor, ceiling=ceiling
        )

    def _belief(self, trials: Sequence[Trial]) -> _Prospect:
        """Of all candidates; the same until another trial is trained or begun."""
        space, done = self._problem.space, trained(trials)
        pending = [trial for trial in trials if trial.is_pending]
        key = tuple((t.number, t.accuracy, t.error, t.cost) for t in [*done, *pending])
        if self._believed is None or self._believed[0] != key:
            assert self._candidates is not None
            x, known = (
                space.features(codes)
                for codes in (self._candidates, space.codes([t.point for t in done]))
            )
            scale = _Scale.of(done, self._problem.budget)
            accuracy = np.array([trial.accuracy for trial in done], np.float64)
            error = np.array([trial.error or 0.0 for trial in done])
            # What nobody knows is believed to be as bad as the worst that was tried: most of a
            # space is, and a few trainings are better spent around what is good.
            y = scale(accuracy)
            model = Surrogate(known, y, error * scale.slope(accuracy), prior=float(y.min()))
            if pending:
                model.believe(space.features(space.codes([t.point for t in pending])))
            places = space.flat(self._candidates)
            made = _Prospect(places, *model.predict(x), _cost(known, done, x), scale)
            self._believed = (key, made)
        return self._believed[1]


class _Prospect(NamedTuple):
    """What trained trials say of all candidates."""

    places: NDArray[np.int64]
    mean: Numbers
    deviation: Numbers
    cost: Numbers
    scale: _Scale


@dataclass(frozen=True)
class _Scale:
    """Accuracies as the model sees them: z / (1 + |z|), z how far they are from what counts.

    How bad a bad point is says nothing of good ones: differences far from the best, or from the
    floor, are drawn together.
    """

    centre: float
    width: float

    @classmethod
    def of(cls, done: Sequence[Trial], budget: Budget | None) -> _Scale:
        accuracy = np.array([trial.accuracy for trial in done], np.float64)
        centre = float(accuracy.max())
        if budget is not None and budget.min_accuracy is not None:
            centre = min(centre, budget.min_accuracy)
        width = float(np.median(np.abs(accuracy - centre)))
        return cls(centre, max(width, 1e-3 * max(1.0, abs(centre))))

    def __call__(self, accuracy: Any) -> Numbers:
        z = (np.asarray(accuracy, np.float64) - self.centre) / self.width
        return np.asarray(z / (1 + np.abs(z)), np.float64)

    def slope(self, accuracy: Numbers) -> Numbers:
        z = np.abs(accuracy - self.centre) / self.width
        return np.asarray(1 / (self.width * (1 + z) ** 2), np.float64)


def _misses(trials: Sequence[Trial]) -> int:
    """How many points in a row, the last ones, were too slow."""
    states = [trial.state for trial in reversed(trials)]
    others = (i for i, state in enumerate(states) if state is not State.too_slow)
    return next(others, len(states))


def _cost(known: Numbers, done: Sequence[Trial], x: Numbers) -> Numbers:
    """Seconds that training is expected to take."""
    told = [i for i, trial in enumerate(done) if trial.cost]
    if len(told) < _LEAST_TRAINED:
        return np.ones(len(x))
    model = Surrogate(known[told], np.log([done[i].cost or 1.0 for i in told]))
    return np.asarray(np.exp(model.predict(x)[0]), np.float64)
