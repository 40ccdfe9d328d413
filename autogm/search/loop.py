"""Ask for a point, tell what came of it; and the loop over both.

Nothing here knows what the parameters mean: a space, two oracles, a budget.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

from autogm.errors import AutoGMError, InputError, require_whole, suggest
from autogm.measure.measurement import show_seconds
from autogm.search.budget import Budget, parse_seconds
from autogm.search.informed import Informed
from autogm.search.paper import Paper
from autogm.search.random import Random
from autogm.search.space import Point, Space
from autogm.search.strategy import Problem, Strategy
from autogm.search.study import InMemory, Study
from autogm.search.trial import (
    State,
    Trial,
    best_of,
    front_of,
    is_worth_training,
    nearest_to,
    trained,
)

__all__ = ["STRATEGIES", "Search", "SearchResult", "Selected", "search"]

STRATEGIES: Mapping[str, Callable[[Problem], Strategy]] = {
    "informed": Informed,
    "paper": Paper,
    "random": Random,
}

Accuracy = float | tuple[float, float] | Mapping[str, Any]
_ANSWERS = ("accuracy", "error", "runs", "cost", "reason")
# So many failures with no success say that the oracle is broken, not the points.
_BROKEN = 3
# Seconds between looks at what other workers do, and until one that hears nothing gives up.
_PAUSE, _IDLE = 0.5, 600.0


class OutOfTime(Exception):
    """Raised by an oracle that a deadline stopped: its point stays to be trained."""


@dataclass(frozen=True)
class Selected:
    """An answer for another budget from what was trained already."""

    trial: Trial | None
    why: str
    """How far it is to be trusted, in words."""


@dataclass(frozen=True)
class SearchResult:
    """What a search found."""

    trials: tuple[Trial, ...]
    budget: Budget | None
    reason: str
    """Why it ended."""
    interrupted: bool = False

    @property
    def best(self) -> Trial | None:
        """The most accurate within the time, or the fastest that is accurate enough."""
        return best_of(self.trials, self.budget)

    @property
    def front(self) -> list[Trial]:
        """All trade-offs, from the fastest to the most accurate."""
        return front_of(self.trials)

    @property
    def nearest(self) -> Trial | None:
        """What misses the budget by least, where nothing holds it."""
        return self.best or (nearest_to(self.trials, self.budget) if self.budget else None)

    @property
    def fastest(self) -> Trial | None:
        """The fastest point that was measured, trained or not."""
        known = [trial for trial in self.trials if trial.seconds is not None]
        return min(known, key=lambda trial: (trial.seconds, trial.number), default=None)

    def select(self, budget: Budget) -> Selected:
        """The best for another budget among what was trained, and how far to trust that.

        >>> from autogm.search import Boolean, Space
        >>> found = search(Space(l=Boolean()), seconds=lambda p: 1 + p["l"], trials=2,
        ...                accuracy=lambda p: 0.6 + 0.2 * p["l"], strategy="random")
        >>> found.select(Budget(max_time=1.5)).trial.point
        {'l': False}
        """
        if not isinstance(budget, Budget):
            raise InputError(f"budget must be a Budget, but got {budget!r}; try Budget({budget!r})")
        measured = self.budget.statistic if self.budget else None
        if budget.statistic is not None and budget.statistic != measured:
            raise InputError(
                f"trials were timed by {measured or 'the usual statistic of their scope'}, but "
                f"asked for is {budget.statistic}; leave out @{budget.statistic} or search again"
            )
        best = best_of(self.trials, budget)
        return Selected(best, _trust(self, budget, best))


def _trust(result: SearchResult, budget: Budget, best: Trial | None) -> str:
    known = trained(result.trials)
    fitting = [trial for trial in known if trial.is_within(budget)]
    if best is None:
        return f"none of {len(known)} trained points holds it; a search of its own may find one"
    count = "one" if len(fitting) == 1 else str(len(fitting))
    verb = "holds" if len(fitting) == 1 else "hold"
    text = f"{count} of {len(known)} trained points {verb} it"
    if budget.min_accuracy is not None and best.error and best.accuracy is not None:
        margin = (best.accuracy - budget.min_accuracy) / best.error
        if margin < 2:
            text += f", this one by {margin:.1f} standard errors"
    if budget == result.budget:
        return f"{text}; it is what was searched for"
    if result.budget is None and len(fitting) >= 5:
        return f"{text}; the whole curve was searched"
    return f"{text}; a search of its own may find better"


class Search:
    """The same as `search`, step by step.

    >>> from autogm.search import Boolean, Integer, Space
    >>> asked = Search(Space(k=Integer(1, 30), l=Boolean()), budget=Budget(max_time="4ms"))
    >>> trial = asked.ask()
    >>> asked.tell(trial, seconds=0.001, accuracy=0.7, error=0.01).state.value
    'trained'
    >>> asked.tell(asked.ask(), seconds=0.1).state.value
    'too slow'
    """

    def __init__(
        self,
        space: Space,
        *,
        budget: Budget | None = None,
        strategy: str = "informed",
        seed: int = 0,
        first: Sequence[Point] = (),
        seconds: Callable[[Point], float] | None = None,
        seconds_many: Callable[[Sequence[Point]], Sequence[float]] | None = None,
        study: Study | None = None,
    ) -> None:
        if not isinstance(space, Space):
            raise InputError(
                f"space must be a Space, but got {space!r}; try Space(k=Integer(1, 9))"
            )
        if budget is not None and not isinstance(budget, Budget):
            raise InputError(f"budget must be a Budget, but got {budget!r}; try Budget({budget!r})")
        if not isinstance(strategy, str) or strategy not in STRATEGIES:
            raise InputError(
                f"strategy must be one of {', '.join(STRATEGIES)}, but got {strategy!r}"
                f"{suggest(str(strategy), STRATEGIES)}"
            )
        space.codes(first)
        self.problem = Problem(
            space=space,
            budget=budget,
            seed=require_whole("seed", seed, least=0),
            first=tuple(dict(point) for point in first),
            seconds=seconds,
            seconds_many=seconds_many,
        )
        self.strategy = STRATEGIES[strategy](self.problem)
        self.study: Study = InMemory() if study is None else study

    def ask(self) -> Trial | None:
        """A running trial, or None when nothing is left that is worth a training."""
        while True:
            point = self.strategy.propose(self.study.trials())
            if point is None:
                return None
            trial = self.study.begin(point)
            if trial is not None:  # else another worker was faster
                return trial

    def is_worth_training(self, seconds: float) -> bool:
        """Whether a point of this time can be of any use."""
        if not self.strategy.measures_first:
            return True
        return is_worth_training(seconds, self.study.trials(), self.problem.budget)

    def tell(
        self,
        trial: Trial,
        *,
        seconds: float | None = None,
        accuracy: float | None = None,
        error: float | None = None,
        runs: int | None = None,
        cost: float | None = None,
        reason: str | None = None,
    ) -> Trial:
        """Without an accuracy the trial was too slow, or it failed for the ``reason`` given."""
        if not isinstance(trial, Trial):
            raise InputError(f"tell needs the trial that ask gave, but got {trial!r}")
        seconds = trial.seconds if seconds is None else _positive("seconds", seconds)
        if seconds is None and accuracy is not None:
            raise InputError("tell needs seconds with an accuracy, but got none; measure the point")
        known: dict[str, Any] = {"seconds": seconds, "reason": reason}
        known["cost"] = _known("cost", cost)
        if accuracy is None:
            state = State.failed if reason is not None or seconds is None else State.too_slow
            return self.study.end(trial, state, **known)
        accuracy = _number("accuracy", accuracy)
        if not math.isfinite(accuracy):
            known["reason"] = reason or f"the accuracy is {accuracy}"
            return self.study.end(trial, State.failed, **known)
        known |= {"accuracy": accuracy, "error": _known("error", error), "runs": runs}
        return self.study.end(trial, State.trained, **known)

    def result(self, reason: str = "so far", *, interrupted: bool = False) -> SearchResult:
        budget, trials = self.problem.budget, tuple(self.study.trials())
        found = SearchResult(trials, budget, reason, interrupted)
        if budget is None or found.best is not None:
            return found
        return replace(found, reason=f"{reason}; {_miss(found, budget)}")

    def run(
        self,
        accuracy: Callable[[Point], Accuracy],
        *,
        trials: int = 20,
        left: Callable[[], float] | None = None,
        progress: Callable[[Trial], None] | None = None,
    ) -> SearchResult:
        """Until so many points are trained, no time is left, or nothing is worth it. See `search`.

        ``left`` says how many seconds there are until no training should begin.
        """
        require_whole("trials", trials, least=1)
        if self.problem.seconds is None:
            raise InputError("a search needs seconds, an oracle of time; or use ask and tell")
        trial, idle = None, time.monotonic()
        try:
            while True:
                if left is not None and left() <= 0:
                    return self.result("the time was over")
                trial, why_none = self._next(trials)
                if trial is not None:
                    self._hand_out(trials)
                    done, trial = self._try(trial, accuracy), None
                    if progress is not None:
                        progress(done)
                    idle = time.monotonic()
                elif not self._others_train() and (why_none or time.monotonic() > idle + _IDLE):
                    return self.result(why_none or "nobody had a point to train")
                else:
                    self.study.want()
                    time.sleep(_PAUSE)
        except BaseException as stop:
            if trial is not None:
                self._give_back(trial.number)
            if isinstance(stop, OutOfTime):
                return self.result("the time was over")
            if isinstance(stop, KeyboardInterrupt):
                return self.result("interrupted", interrupted=True)
            raise

    def _next(self, trials: int) -> tuple[Trial | None, str]:
        """A trial to go on with, or why there is none; no reason where only others can tell."""
        trial = self.study.take()
        if trial is not None:
            return trial, ""
        if _spent(self.study.trials()) >= trials:
            return None, f"{trials} points were tried"
        if not self.study.home:
            return None, ""
        trial = self.ask()
        return trial, "" if trial else "no point is left that is worth a training"

    def _hand_out(self, trials: int) -> None:
        """Measured points for workers that may not measure."""
        for _ in range(self.study.wanted() if self.study.home else 0):
            if _spent(self.study.trials()) >= trials:
                return
            trial = self.ask()
            if trial is None:
                return
            try:
                trial = self._measured(trial)
            except Exception as error:
                self.tell(trial, reason=f"{type(error).__name__}: {error}")
                return
            if self.is_worth_training(trial.seconds or math.inf):
                self.study.put(trial)
            else:
                self.tell(trial)

    def _others_train(self) -> bool:
        return self.study.is_shared and any(trial.is_pending for trial in self.study.trials())

    def _give_back(self, number: int) -> None:
        """Whoever goes on with this search trains it."""
        for trial in self.study.trials():
            if trial.number == number and trial.state is State.running:
                self.study.put(trial)

    def _measured(self, trial: Trial) -> Trial:
        assert self.problem.seconds is not None
        if trial.seconds is not None:
            return trial
        seconds = self.problem.seconds(trial.point)
        if isinstance(seconds, Real) and not 0 < float(seconds) < math.inf:
            raise ValueError(f"seconds answered {seconds}")  # of this point; others may do better
        return self.study.note(trial, _positive("seconds", seconds))

    def _try(self, trial: Trial, accuracy: Callable[[Point], Accuracy]) -> Trial:
        """Measure, and train if that is worth it."""
        cause = None
        try:
            trial = self._measured(trial)
            if not self.is_worth_training(trial.seconds or math.inf):
                return self.tell(trial)
            start = time.monotonic()
            score = _score(accuracy(trial.point))
            done = self.tell(trial, **{"cost": time.monotonic() - start, **score})
        except (InputError, OutOfTime):
            raise
        except Exception as error:
            if was_interrupted(error):
                raise KeyboardInterrupt from error
            cause, done = error, self.tell(trial, reason=f"{type(error).__name__}: {error}")
        if done.state is State.failed:
            self._check_oracles(done, cause)
        return done

    def _check_oracles(self, failed: Trial, error: Exception | None) -> None:
        states = [other.state for other in self.study.trials()]
        if State.trained not in states and states.count(State.failed) >= _BROKEN:
            raise AutoGMError(
                f"{_BROKEN} points failed and none was trained; the last, {failed.point}, "
                f"with {failed.reason}"
            ) from error


def search(
    space: Space,
    *,
    seconds: Callable[[Point], float],
    accuracy: Callable[[Point], Accuracy],
    budget: Budget | None = None,
    trials: int = 20,
    strategy: str = "informed",
    seed: int = 0,
    seconds_many: Callable[[Sequence[Point]], Sequence[float]] | None = None,
    first: Sequence[Point] = (),
    timeout: str | float | None = None,
    progress: Callable[[Trial], None] | None = None,
    study: Study | None = None,
) -> SearchResult:
    """The best point of a space under a budget, in at most ``trials`` trainings.

    ``seconds(point)`` is cheap: it measures. ``accuracy(point)`` is expensive, higher is better; it
    answers a number, a pair of it and its standard error, or a dict with any of accuracy, error,
    runs, cost and reason. An exception makes a failed trial, unless all fail. ``seconds_many``
    predicts the times of many points at once; without it they are learnt from some that are
    measured. ``first`` are points to begin with, where they fit. With no budget the whole
    trade-off curve is searched. ``progress`` hears of every trial that ended; Ctrl-C ends the
    search with what it has.

    >>> from autogm.search import Integer, Space
    >>> found = search(Space(k=Integer(1, 30)), seconds=lambda p: p["k"] / 1000,
    ...                accuracy=lambda p: 1 - 1 / p["k"], budget=Budget(max_time="4ms"), trials=5)
    >>> found.best.point, found.best.seconds
    ({'k': 4}, 0.004)
    """
    asked = Search(
        space,
        budget=budget,
        strategy=strategy,
        seed=seed,
        first=first,
        seconds=seconds,
        seconds_many=seconds_many,
        study=study,
    )
    end = math.inf
    if timeout is not None:
        end = time.monotonic() + parse_seconds("timeout", timeout)[0]
    return asked.run(
        accuracy, trials=trials, left=lambda: end - time.monotonic(), progress=progress
    )


def was_interrupted(error: BaseException | None) -> bool:
    """Ctrl-C while compiled code is called comes out as another error that it caused."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _spent(trials: Sequence[Trial]) -> int:
    """Trainings that were begun or promised; what was only measured costs none."""
    return sum(trial.state is not State.too_slow for trial in trials)


def _positive(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < math.inf:
        raise InputError(f"{name} must answer a number above 0, but answered {value!r}")
    return float(value)


def _score(answer: Accuracy) -> dict[str, Any]:
    if isinstance(answer, Mapping):
        if "accuracy" in answer and not set(answer) - set(_ANSWERS):
            return dict(answer)
        raise InputError(
            f"accuracy must answer a dict of accuracy and any of {', '.join(_ANSWERS[1:])}, "
            f"but answered one of {', '.join(map(str, answer)) or 'nothing'}"
        )
    pair = answer if isinstance(answer, tuple) else (answer, None)
    if len(pair) != 2:
        raise InputError(f"accuracy must answer (mean, standard error), but answered {answer!r}")
    return {"accuracy": _number("accuracy", pair[0]), "error": pair[1]}


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(
            f"{name} must be a number or (mean, standard error), but it is {value!r}"
            if name == "accuracy"
            else f"{name} must be a number, but it is {value!r}"
        )
    return float(value)


def _known(name: str, value: Any) -> float | None:
    """A spread or a cost; one that is no finite number says that it is not known."""
    if value is None:
        return None
    number = _number(name, value)
    return number if 0 <= number < math.inf else None


def _miss(result: SearchResult, budget: Budget) -> str:
    """What can be reached where a budget cannot."""
    nearest, fastest = result.nearest, result.fastest
    if budget.max_time is not None and fastest is not None and fastest.seconds is not None:
        reach = f"the fastest takes {show_seconds(fastest.seconds)} ({show_point(fastest.point)})"
    elif nearest is not None:
        spread = f" ± {nearest.error:.4f}" if nearest.error is not None else ""
        reach = f"the best has {nearest.accuracy:.4f}{spread} ({show_point(nearest.point)})"
    else:
        reach = "none was trained"
    return f"nothing holds the budget ({budget}): {reach}"


def show_point(point: Point) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.items())
