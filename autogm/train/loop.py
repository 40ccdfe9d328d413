"""Epochs, early stopping, deadlines: one training, or many of one point at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from autogm.algorithm import Algorithm, Weights
from autogm.errors import InputError
from autogm.graph import Graph
from autogm.message.kernel import flushed_denormals, num_threads, run
from autogm.message.product import Matrix
from autogm.message.sample import Nodes
from autogm.train.adam import DIVERGED, OUT_OF_PATIENCE, Rates, State, current, judge
from autogm.train.dropout import Dropout
from autogm.train.model import Batches, Learner, Model, model
from autogm.train.result import Epoch, Reason, TrainResult
from autogm.train.settings import TrainSettings
from autogm.train.task import Task

__all__ = ["outputs", "train", "train_runs"]

Progress = Callable[[Epoch], None]

_REASONS = {OUT_OF_PATIENCE: Reason.patience, DIVERGED: Reason.diverged}
# Epochs that take this long together need not be left to look at the clock.
_MOMENT = 0.01


def train(
    graph: Graph,
    algorithm: Algorithm,
    settings: TrainSettings | None = None,
    seed: int = 0,
    *,
    deadline: float | None = None,
    cancel: threading.Event | None = None,
    progress: Progress | None = None,
) -> TrainResult:
    """Weights for an algorithm on the graph's train split, chosen by its validation split.

    ``deadline`` is a moment of `time.monotonic`; it and ``cancel`` end a training within an epoch,
    with the best weights so far. The same seed gives the same weights to the last bit.

    >>> from autogm import load_graph
    >>> result = train(load_graph("digits"), Algorithm.sgcn(), TrainSettings(epochs=50))
    >>> result.reason.value, result.epochs, result.validation_score > 0.8
    ('epochs', 50, True)
    """
    limits = _Limits(deadline, cancel, progress)
    return _train(graph, algorithm, settings or TrainSettings(), [seed], limits)[0]


def train_runs(
    graph: Graph,
    algorithm: Algorithm,
    settings: TrainSettings | None = None,
    *,
    runs: int = 10,
    seed: int = 0,
    deadline: float | None = None,
    cancel: threading.Event | None = None,
    progress: Progress | None = None,
) -> list[TrainResult]:
    """The results of `train` with seeds ``seed``, ``seed`` + 1, …, for less.

    Runs share what does not depend on their seed: receptive fields, draws, propagated features.
    They go side by side, one a thread, so ``progress`` is called from several threads.
    """
    if runs < 1:
        raise InputError(f"runs must be at least 1, but got {runs}")
    seeds = list(range(seed, seed + runs))
    limits = _Limits(deadline, cancel, progress)
    return _train(graph, algorithm, settings or TrainSettings(), seeds, limits)


def outputs(task: Task, algorithm: Algorithm, weights: Weights, nodes: Nodes) -> Matrix:
    """What the weights answer for some nodes, before the head reads it."""
    made = model(task, algorithm)
    with flushed_denormals():
        return made.outputs(made.layout.pad(weights), nodes)


class _Limits(NamedTuple):
    deadline: float | None
    cancel: threading.Event | None
    progress: Progress | None

    def reached(self) -> Reason | None:
        if self.cancel is not None and self.cancel.is_set():
            return Reason.cancelled
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return Reason.deadline
        return None


def _train(
    graph: Graph,
    algorithm: Algorithm,
    settings: TrainSettings,
    seeds: Sequence[int],
    limits: _Limits,
) -> list[TrainResult]:
    task = Task.of(graph, settings)
    if not isinstance(algorithm, Algorithm):
        raise InputError(f"an Algorithm is needed, but got {algorithm!r}; try Algorithm.gcn()")
    start = time.perf_counter()
    shared = model(task, algorithm)
    runs = [_Run(task, shared, seed, limits) for seed in seeds]
    preparation = (time.perf_counter() - start) / len(seeds)
    threads = settings.threads or num_threads()
    # Numbers so small that they are kept in another way cost a hundred times as much.
    with flushed_denormals():
        if shared.is_fixed:
            _side_by_side(runs, threads, lambda one: one.learn_on(shared.batches(0)))
        else:
            _share_draws(runs, threads, shared, settings.epochs)
        return [one.result(algorithm, preparation) for one in runs]


def _side_by_side(runs: Sequence[_Run], threads: int, call: Callable[[_Run], None]) -> None:
    parts = [slice(i, i + 1) for i in range(len(runs))]
    run(lambda i, _: call(runs[i]), parts, threads=threads)


def _share_draws(runs: Sequence[_Run], threads: int, shared: Model, epochs: int) -> None:
    """A few epochs of all runs at a time, so that their draws are made once."""
    for first in range(0, epochs, shared.epochs_at_hand):
        going = [one for one in runs if one.reason is None]
        if not going:
            return
        numbers = range(first, min(first + shared.epochs_at_hand, epochs))
        drawn = [shared.batches(number) for number in numbers]
        _side_by_side(going, threads, partial(_Run.learn_on_each, drawn=drawn))


class _Run:
    """One seed's way through the epochs."""

    def __init__(self, task: Task, shared: Model, seed: int, limits: _Limits) -> None:
        self._task, self._model, self._seed, self._limits = task, shared, seed, limits
        layout, settings = shared.layout, task.settings
        state = State.of(layout.start(seed))
        rates = Rates.of(settings, layout.first)
        self._learner = Learner(state, rates, Dropout.of(settings.dropout, seed))
        self._losses = np.full((settings.epochs, 2), np.nan)
        self._epochs, self._seconds = 0, 0.0
        self.reason: Reason | None = None

    def learn_on(self, batches: Batches) -> None:
        """All epochs on the same nodes, at a time as many as are over in a moment."""
        start, count = time.perf_counter(), 1
        while self._epochs < len(self._losses) and not self._is_over():
            before = time.perf_counter()
            self._learn(batches, count)
            if self._limits.progress is None:
                each = (time.perf_counter() - before) / count
                count = max(1, min(2 * count, int(_MOMENT / each)))
        self._seconds += time.perf_counter() - start

    def learn_on_each(self, drawn: Iterable[Batches]) -> None:
        """An epoch on each."""
        start = time.perf_counter()
        for batches in drawn:
            if self._is_over():
                break
            self._learn(batches, 1)
        self._seconds += time.perf_counter() - start

    def _is_over(self) -> bool:
        self.reason = self.reason or self._limits.reached()
        return self.reason is not None

    def _learn(self, batches: Batches, count: int) -> None:
        """Up to ``count`` epochs."""
        losses = self._losses[self._epochs : self._epochs + count]
        val = self._model.validation.whole
        if batches.whole is not None and val is not None:
            given = (self._learner, batches.whole, val, self._epochs)
            done, why = self._model.learn(*given, losses)
        else:
            done, why = 1, self._learn_in_parts(batches, losses)
        self._epochs += done
        self.reason = _REASONS.get(why)
        if self._limits.progress is not None:
            self._limits.progress(Epoch(self._seed, self._epochs, *losses[0].tolist()))

    def _learn_in_parts(self, batches: Batches, losses: NDArray[np.float64]) -> int:
        """An epoch of many steps, judged by parts too."""
        state, rates, _ = self._learner
        validation, total = self._model.validation, 0.0
        for batch in batches:
            self._model.learn(self._learner, batch, validation.nobody, self._epochs, losses[:1])
            total += batch.share * losses[0, 0]
        vector = current(state)
        loss = sum(batch.share * self._model.loss(vector, batch) for batch in validation)
        losses[0] = total, loss
        return int(judge(state, self._epochs, total, loss, rates.patience))

    def result(self, algorithm: Algorithm, preparation: float) -> TrainResult:
        start = time.perf_counter()
        task, layout = self._task, self._model.layout
        state = self._learner.state
        answers = self._model.outputs(state.best, task.labelled("val"))
        weights = task.unscale(layout.unpad(state.best))
        score = task.score("val", answers * np.float32(task.spread) + np.float32(task.centre))
        return TrainResult(
            algorithm=algorithm,
            seed=self._seed,
            weights=weights,
            metric=task.metric,
            validation_score=score,
            train_losses=self._losses[: self._epochs, 0],
            validation_losses=self._losses[: self._epochs, 1],
            epochs=self._epochs,
            best_epoch=state.best_epoch,
            seconds=preparation + self._seconds + time.perf_counter() - start,
            reason=self.reason or Reason.epochs,
            task=task,
        )
