"""What algorithms cost and are worth on one graph: the two oracles of a search."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from autogm.algorithm import Algorithm
from autogm.errors import require_whole
from autogm.graph import Graph
from autogm.measure.clock import Clock
from autogm.plan import CostModel
from autogm.predictor import Predictor, cost_model
from autogm.search.algorithms import algorithm_of
from autogm.search.budget import Budget
from autogm.search.loop import OutOfTime
from autogm.search.space import Point
from autogm.search.trial import Trial, best_of
from autogm.train import Reason, TrainResult, TrainSettings, train_runs
from autogm.train.task import Task

__all__ = ["GraphOracles", "bar_of", "mean_and_error", "score_of", "was_cut"]

# Runs after which a point that is this many standard errors short of what counts gets no more.
_FEW, _HOPELESS = 3, 3.0
_CLOCK = Clock(warm_up=2, least=20, most=400, tight=0.03, cap=0.5)


@dataclass(frozen=True, eq=False)
class GraphOracles:
    """Time and accuracy of algorithms on a graph and this machine.

    Times are those of a `Predictor` with random weights in the scope given; accuracy is the mean
    over ``runs`` trainings on the validation split.
    """

    graph: Graph
    scope: str = "graph"
    batch_size: int = 1
    statistic: str | None = None
    """Of a measurement; None: the scope's own."""
    settings: TrainSettings = field(default_factory=TrainSettings)
    runs: int = 10
    seed: int = 0
    _task: Task = field(init=False, repr=False)
    _measured: dict[Algorithm, float] = field(default_factory=dict, init=False, repr=False)

    @property
    def subject(self) -> str:
        """What trials are of, besides their points; other trials may not be mixed with them."""
        parts = {
            "graph": self.graph.fingerprint,
            "labels": self.graph.labels_fingerprint,
            "splits": self.graph.splits_fingerprint,
            "scope": f"{self.scope} {self.batch_size}" if self.scope == "batch" else self.scope,
            "time": self.statistic or "as usual",
            "runs": str(self.runs),
            "training": hashlib.sha256(repr(self.settings).encode()).hexdigest()[:16],
        }
        return ", ".join(f"{name} {value}" for name, value in parts.items())

    def __post_init__(self) -> None:
        # What would fail in training is said at once. The task sees labels as its head wants them,
        # and what is timed must have that head.
        object.__setattr__(self, "_task", Task.of(self.graph, self.settings))
        require_whole("runs", self.runs, least=1)
        require_whole("seed", self.seed, least=0)

    def seconds(self, point: Point) -> float:
        algorithm = algorithm_of(point)
        outputs = self._task.head.num_outputs
        if not algorithm.l and algorithm.d > outputs:
            # A linear plan folds its matrices: messages are as wide as the outputs.
            algorithm = replace(algorithm, d=outputs)
        if algorithm not in self._measured:
            self._measured[algorithm] = self._time(algorithm)
        return self._measured[algorithm]

    def _time(self, algorithm: Algorithm) -> float:
        predictor = Predictor.untrained(
            self._task.graph,
            algorithm,
            scope=self.scope,
            batch_size=self.batch_size,
            sample_seed=self.settings.sample_seed,
            oversample=self.settings.oversample,
            threads=self.settings.threads,
        )
        found = predictor.measure(self._task.graph, clock=_CLOCK)
        return found.at(self.statistic) if self.statistic else found.seconds

    @property
    def predicts(self) -> bool:
        """Whether times are predicted: the cost model knows whole passes."""
        return self.scope == "graph"

    def seconds_many(self, points: Sequence[Point]) -> Any:
        return self._model.seconds([algorithm_of(point) for point in points])

    @cached_property
    def _model(self) -> CostModel:
        return cost_model(self._task.graph, threads=self.settings.threads)

    def accuracy(
        self, point: Point, *, bar: float = -math.inf, deadline: float | None = None
    ) -> dict[str, Any]:
        """Mean and standard error of the runs; of only a few where ``bar`` is out of reach."""
        start = time.monotonic()
        few = min(_FEW, self.runs)
        results = self._train(point, few, self.seed, deadline)
        mean, error = score_of(results)
        if few < self.runs and mean + _HOPELESS * max(error, 0.003) >= bar:
            results += self._train(point, self.runs - few, self.seed + few, deadline)
            mean, error = score_of(results)
        cost = time.monotonic() - start
        if was_cut(results):
            raise OutOfTime
        reason = "some runs diverged" if _diverged(results) else None
        fields = {"accuracy": mean, "error": error, "runs": len(results)}
        return {**fields, "cost": cost, "reason": reason}

    def _train(
        self, point: Point, runs: int, seed: int, deadline: float | None
    ) -> list[TrainResult]:
        algorithm = algorithm_of(point)
        return train_runs(
            self.graph, algorithm, self.settings, runs=runs, seed=seed, deadline=deadline
        )

    def fresh(self, point: Point, deadline: float | None = None) -> list[TrainResult]:
        """Runs with seeds that the search never saw."""
        return self._train(point, self.runs, self.seed + 1_000_000, deadline)


def was_cut(results: Sequence[TrainResult]) -> bool:
    """Whether a deadline stopped them."""
    return any(result.reason is Reason.deadline for result in results)


def score_of(results: Sequence[TrainResult]) -> tuple[float, float]:
    """Mean and standard error of validation scores; of one run, no error is known (0)."""
    return mean_and_error([result.validation_score for result in results])


def mean_and_error(scores: Sequence[float]) -> tuple[float, float]:
    error = np.std(scores, ddof=1) / math.sqrt(len(scores)) if len(scores) > 1 else 0.0
    return float(np.mean(scores)), float(error)


def bar_of(trials: Sequence[Trial], budget: Budget | None) -> float:
    """The accuracy below which a point is of no use."""
    if budget is None:
        return -math.inf
    if budget.min_accuracy is not None:
        return budget.min_accuracy
    best = best_of(trials, budget)
    return -math.inf if best is None or best.accuracy is None else best.accuracy


def _diverged(results: Sequence[TrainResult]) -> bool:
    return any(result.reason is Reason.diverged for result in results)
