"""From a graph and a budget to a checked model: search, then prove what was found.

The finalists are trained anew with seeds that the search never saw, since the best of many is
partly luck; saved, loaded by another process and timed there. The budget must hold then.
"""

from __future__ import annotations

import contextlib
import math
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from autogm.algorithm import ALL, Algorithm
from autogm.errors import AutoGMError, InputError, require_whole
from autogm.graph import Graph, Splits, require_graph
from autogm.measure.measurement import Measurement
from autogm.message.sample import neighbours
from autogm.predictor import Predictor
from autogm.predictor.retime import retimed
from autogm.search.algorithms import algorithm_of, algorithm_space, distinct, named_points
from autogm.search.budget import Budget, parse_seconds
from autogm.search.loop import Search, SearchResult, show_point, was_interrupted
from autogm.search.oracles import GraphOracles, bar_of, mean_and_error, score_of, was_cut
from autogm.search.space import Point, Space
from autogm.search.storage import open_study
from autogm.search.trial import Trial, nearest_to, ranked, surely_best, trained
from autogm.train import TrainResult, TrainSettings

__all__ = ["Check", "Found", "find"]

_FINALISTS = 3
# One of them is not so near the ceiling that a noisy moment decides.
_SAFE = 0.8
# A new process, its imports and its compiled code; and the share of a short timeout left for it.
_START, _SHARE = 6.0, 0.4


@dataclass(frozen=True)
class Check:
    """A finalist, trained anew and timed by another process."""

    trial: Trial
    accuracy: float
    error: float
    measurement: Measurement | None
    why_not: str | None
    """None: it holds the budget."""


@dataclass(frozen=True)
class Found:
    """What a search on a graph hands over."""

    result: SearchResult
    checks: tuple[Check, ...]
    predictor: Predictor | None = field(repr=False)
    """The chosen algorithm trained, with its measurement; a near miss where nothing holds."""
    test: tuple[float, float] | None
    """Mean and standard error of the test scores of the fresh runs, read once."""
    runs: tuple[TrainResult, ...] = field(default=(), repr=False)
    """The fresh trainings of what is handed over."""
    is_checked: bool = True
    """Else this was a worker on another machine than the one whose times count."""

    @property
    def is_met(self) -> bool:
        return bool(self.checks) and self.checks[-1].why_not is None

    @property
    def _chosen(self) -> int:
        return _choice(self.checks, self.result.budget)

    @property
    def algorithm(self) -> Algorithm | None:
        return self.predictor.algorithm if self.predictor else None

    @property
    def check(self) -> Check | None:
        """Of what is handed over."""
        return self.checks[self._chosen] if self.checks else None

    @property
    def metric(self) -> str:
        """What scores are."""
        return self.runs[0].metric if self.runs else "score"

    @property
    def reason(self) -> str:
        """One sentence: what was found, or why nothing was."""
        budget = self.result.budget
        if self.is_met:
            ended = self.result.reason
            return f"the budget holds: {budget} ({ended})" if budget else ended
        if self.check is None or budget is None:
            return self.result.reason
        return f"no point holds the budget ({budget}); the nearest: {self.check.why_not}"


def find(
    graph: Graph,
    *,
    budget: Budget | None = None,
    space: Space | None = None,
    trials: int = 20,
    timeout: str | float | None = None,
    strategy: str = "informed",
    scope: str = "graph",
    batch_size: int = 1,
    runs: int = 10,
    settings: TrainSettings | None = None,
    seed: int = 0,
    storage: str | Path | None = None,
    study: str = "autogm",
    resume: bool = True,
    progress: Callable[[Trial], None] | None = None,
) -> Found:
    """The best algorithm for a graph on this machine under a budget, trained, timed and checked.

    Where the graph has no splits, 60 % of the labelled nodes train, 20 % select and the rest test.
    ``timeout`` covers everything. Ctrl-C ends the search and hands over the best so far. With a
    ``storage`` (a file that ends in .db or .journal, or the address of a database) trials outlive
    the process: the same call goes on where it stopped, and calls of other processes share them.
    On other machines than the one that made the study they train only, since times differ, and
    hand over nothing.

    >>> from autogm import load_graph
    >>> found = find(load_graph("digits"), budget=Budget(max_time="50ms"), trials=2, runs=2)
    >>> found.is_met, found.result.best.accuracy > 0.8
    (True, True)
    """
    began = time.monotonic()
    end = began + parse_seconds("timeout", timeout)[0] if timeout is not None else math.inf
    graph = with_splits(graph)
    require_whole("trials", trials, least=1)
    if budget is not None and not isinstance(budget, Budget):
        raise InputError(f"budget must be a Budget, but got {budget!r}; try Budget({budget!r})")
    oracles = GraphOracles(
        graph=graph,
        scope=scope,
        batch_size=batch_size,
        statistic=budget.statistic if budget else None,
        settings=settings or TrainSettings(),
        runs=runs,
        seed=seed,
    )
    space = _space(graph, space, strategy, oracles.settings)
    asked = Search(
        space,
        budget=budget,
        strategy=strategy,
        seed=seed,
        first=_first(space),
        seconds=oracles.seconds,
        seconds_many=oracles.seconds_many if oracles.predicts else None,
    )
    if storage is not None:  # last, so that bad input leaves no study behind
        asked.study = open_study(
            storage, study, space=space, subject=oracles.subject, resume=resume
        )
        if not asked.study.home:
            warnings.warn(
                "times in this study are those of another machine: this one trains only, what is "
                "measured there",
                stacklevel=2,
            )

    def left() -> float:
        """Seconds until training has to end for the checks to be done in time."""
        costs = [t.cost for t in trained(asked.study.trials()) if t.cost]
        reserve = _START + 2 * max(costs, default=0.0)
        return end - min(reserve, _SHARE * (end - began)) - time.monotonic()

    def accuracy(point: Point) -> dict[str, object]:
        bar = bar_of(asked.study.trials(), budget)
        deadline = None if math.isinf(end) else time.monotonic() + max(0.0, left())
        return oracles.accuracy(point, bar=bar, deadline=deadline)

    with contextlib.closing(asked.study):
        result = asked.run(accuracy, trials=trials, left=left, progress=progress)
    if not asked.study.home:
        return Found(result, (), None, None, is_checked=False)
    return _checked(oracles, result, end)


def with_splits(graph: Graph) -> Graph:
    """The graph's own splits, or some; every class stands in all of them alike."""
    require_graph(graph)
    if graph.splits is not None or graph.labels is None:
        return graph
    return replace(graph, splits=Splits.fractions(graph.labels, train=0.6, val=0.2))


def _space(graph: Graph, space: Space | None, strategy: str, settings: TrainSettings) -> Space:
    if space is None:
        space = algorithm_space(all_neighbours=strategy == "informed")
    if sorted(space.axes) != sorted("dkwla"):
        raise InputError(
            f"a space of algorithms has axes d, k, w, l and a, but got {', '.join(space.axes)}; "
            "for a fixed value write d=Categorical(64)"
        )
    space = Space(**{name: space.axes[name] for name in "dkwla"})
    for point in (space.point([0] * 5), space.point([size - 1 for size in space.shape])):
        algorithm_of(point)  # says what is wrong with it
    if settings.oversample or strategy == "paper":
        return space
    return distinct(space, int(np.diff(neighbours(graph).indptr).max(initial=0)))


def _first(space: Space) -> list[Point]:
    """The named algorithms; one whose width draws everything stands there as drawing all."""
    points = [p if p in space else {**p, "w": ALL} for p in named_points()]
    return [point for point in points if point in space]


def _checked(oracles: GraphOracles, result: SearchResult, end: float) -> Found:
    """Finalists one after another, until one holds the budget."""
    checks: list[Check] = []
    kept: list[tuple[Predictor, list[TrainResult]]] = []
    with tempfile.TemporaryDirectory(prefix="autogm-") as folder:
        graph = Path(folder) / "graph.npz"
        try:
            for trial, runs in _ranked(oracles, result, end):
                if not checks:
                    oracles.graph.save(graph)
                predictor, check = _check(oracles, trial, runs, result.budget, end, graph)
                checks.append(check)
                kept.append((predictor, runs))
                if check.why_not is None or time.monotonic() >= end:
                    break
        except (KeyboardInterrupt, SystemError) as error:  # the latter from compiled code
            if not was_interrupted(error):
                raise
            result = replace(result, reason="interrupted", interrupted=True)
    if not kept:
        return Found(result, (), None, None)
    predictor, runs = kept[_choice(checks, result.budget)]
    test = mean_and_error([run.test_score() for run in runs])
    return Found(result, tuple(checks), predictor, test, tuple(runs))


def _choice(checks: Sequence[Check], budget: Budget | None) -> int:
    """The one that holds the budget, which is the last, or the nearest miss."""
    if checks[-1].why_not is None or budget is None:
        return len(checks) - 1

    def missed(i: int) -> float:
        measured = checks[i].measurement
        if budget.max_time is None:
            return -checks[i].accuracy
        return math.inf if measured is None else measured.seconds

    return min(range(len(checks)), key=missed)


def _ranked(
    oracles: GraphOracles, result: SearchResult, end: float
) -> Iterator[tuple[Trial, list[TrainResult]]]:
    """Finalists with fresh runs: by fresh accuracy, or under a floor from the fastest on."""
    rest = max(0.0, end - time.monotonic())
    deadline = None if math.isinf(end) else end - min(_START, rest / 2)
    finalists = _finalists(result)
    fresh = _fresh(oracles, finalists, deadline)
    by_speed = result.budget is not None and result.budget.min_accuracy is not None
    if by_speed:
        yield from fresh
    else:
        yield from sorted(fresh, key=lambda pair: -score_of(pair[1])[0])


def _fresh(
    oracles: GraphOracles, finalists: Sequence[Trial], deadline: float | None
) -> Iterator[tuple[Trial, list[TrainResult]]]:
    """Those for which there is time, the first in any case."""
    for i, trial in enumerate(finalists):
        if i and deadline is not None and time.monotonic() + (trial.cost or 0.0) > deadline:
            return
        runs = oracles.fresh(trial.point, deadline)
        if i == 0 or not was_cut(runs):
            yield trial, runs


def _finalists(result: SearchResult) -> list[Trial]:
    """The best by what the search knows; where nothing holds the budget, the nearest miss."""
    budget, fitting = result.budget, ranked(result.trials, result.budget)
    if budget is None or result.interrupted:
        nearest = result.nearest
        return fitting[: 1 if result.interrupted else _FINALISTS] or ([nearest] if nearest else [])
    if not fitting:
        nearest = nearest_to(result.trials, budget)
        return [nearest] if nearest else []
    if budget.max_time is None:
        # Just above a floor by luck is where some are: whoever is next may hold it.
        sure = surely_best(result.trials, budget)
        surest = max(fitting, key=lambda trial: trial.accuracy or 0.0)
        others = [trial for trial in fitting[_FINALISTS:] if trial in (sure, surest)]
        return fitting[:_FINALISTS] + others
    limit = _SAFE * budget.max_time
    safe = [trial for trial in fitting[_FINALISTS - 1 :] if (trial.seconds or 0.0) <= limit]
    return [*fitting[: _FINALISTS - 1], *safe[:1]]


def _check(
    oracles: GraphOracles,
    trial: Trial,
    runs: list[TrainResult],
    budget: Budget | None,
    end: float,
    graph: Path,
) -> tuple[Predictor, Check]:
    best = max(runs, key=lambda run: run.validation_score)
    predictor = Predictor.of(
        best,
        scope=oracles.scope,
        batch_size=oracles.batch_size,
        threads=oracles.settings.threads,
    )
    mean, error = score_of(runs)
    patience = None if math.isinf(end) else max(5.0, end - time.monotonic())
    model = graph.with_name(f"model {trial.number}")
    predictor.save(model)
    try:
        measurement = retimed(model, graph, timeout=patience)
    except AutoGMError as error_:
        return predictor, Check(trial, mean, error, None, str(error_))
    statistic = oracles.statistic
    seconds = measurement.at(statistic) if statistic else measurement.seconds
    why_not = None
    if budget is not None and not budget.is_met(mean, seconds):
        why_not = (
            f"{show_point(trial.point)} has {mean:.4f} ± {error:.4f} on fresh seeds and, timed by "
            f"another process, {measurement}"
        )
    if was_cut(runs):
        why_not = f"the timeout cut the fresh trainings of {show_point(trial.point)} short"
    return predictor.with_measurement(measurement), Check(trial, mean, error, measurement, why_not)
