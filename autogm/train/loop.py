"""Epochs, early stopping, deadlines: one training, or many of one point at once."""

from __future__ import annotations

import contextlib
import math
import numbers
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from autogm.algorithm import Algorithm
from autogm.errors import InputError
from autogm.graph import Graph
from autogm.measure.metrics import worst
from autogm.message.kernel import flushed_denormals, num_threads, run
from autogm.message.product import Matrix
from autogm.train.adam import DIVERGED, OUT_OF_PATIENCE, Rates, State, current, judge
from autogm.train.batches import Batch, Batches
from autogm.train.dropout import Dropout
from autogm.train.layout import Layout
from autogm.train.model import Learner, Model, model, most_at_once, outputs
from autogm.train.result import Epoch, Reason, TrainResult
from autogm.train.settings import TrainSettings, check_whole
from autogm.train.task import Task

__all__ = ["outputs", "train", "train_runs"]

Progress = Callable[[Epoch], None]

_REASONS = {OUT_OF_PATIENCE: Reason.patience, DIVERGED: Reason.diverged}
# Epochs that take this long together need not be left to look at the clock.
_MOMENT = 0.01
# A deadline before it is a number of seconds, not a moment.
_BEGAN = time.monotonic() - 60


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

    ``deadline`` is a moment of `time.monotonic`, not a number of seconds: 60 seconds from now is
    ``time.monotonic() + 60``, and a moment that has passed ends the training before its first
    epoch. It and ``cancel`` are looked at before and after preparation, and then after every epoch
    or, where epochs are shorter, every 10 ms; the best weights so far are the result. The same
    seed gives the same weights to the last bit.

    >>> from autogm import load_graph
    >>> result = train(load_graph("digits"), Algorithm.sgcn(), TrainSettings(epochs=50))
    >>> result.reason.value, result.epochs, result.validation_score > 0.8
    ('epochs', 50, True)
    """
    limits = _Limits.of(deadline, cancel, progress)
    return _train(graph, algorithm, settings, range(_check_seed(seed), seed + 1), limits)[0]


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

    Runs share what does not depend on their seed: receptive fields, draws, propagated features,
    mini-batches. They go side by side, one a thread, so ``progress`` is called from several
    threads. Each goes on for 10 ms or an epoch at a time, so that a deadline finds all of them
    about equally far: their numbers of epochs differ by that much at most, unless a run was over
    before. When ``progress`` raises, or on Ctrl-C, no run begins another epoch.
    """
    check_whole("runs", runs, least=1)
    limits = _Limits.of(deadline, cancel, progress)
    return _train(graph, algorithm, settings, range(_check_seed(seed), seed + runs), limits)


class _Limits(NamedTuple):
    deadline: float | None
    cancel: threading.Event | None
    progress: Progress | None

    @classmethod
    def of(
        cls, deadline: float | None, cancel: threading.Event | None, progress: Progress | None
    ) -> _Limits:
        a_moment = isinstance(deadline, numbers.Real) and not math.isnan(deadline)
        if deadline is not None and not a_moment:
            raise InputError(
                f"deadline must be a moment of time.monotonic(), but got {deadline!r}; "
                "60 seconds from now is time.monotonic() + 60"
            )
        if deadline is not None and deadline < _BEGAN:
            raise InputError(
                f"deadline must be a moment of time.monotonic(), but {deadline} was before this "
                f"program began; {deadline} seconds from now is time.monotonic() + {deadline}"
            )
        return cls(deadline, cancel, progress)

    def reached(self) -> Reason | None:
        if self.cancel is not None and self.cancel.is_set():
            return Reason.cancelled
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return Reason.deadline
        return None


def _check_seed(seed: int) -> int:
    return check_whole("seed", seed, least=0)


def _train(
    graph: Graph,
    algorithm: Algorithm,
    settings: TrainSettings | None,
    seeds: Sequence[int],
    limits: _Limits,
) -> list[TrainResult]:
    task = Task.of(graph, TrainSettings() if settings is None else settings)
    if not isinstance(algorithm, Algorithm):
        raise InputError(f"an Algorithm is needed, but got {algorithm!r}; try Algorithm.gcn()")
    layout = Layout(algorithm, graph.num_features, task.head.num_outputs)
    runs = [_Run(task, layout, seed, limits) for seed in seeds]
    if not all(one.is_over() for one in runs):
        # Numbers so small that they are kept in another way cost a hundred times as much.
        with flushed_denormals():
            _learn(runs, model(task, algorithm), task.settings.threads or num_threads())
    return [one.result(task, algorithm, layout) for one in runs]


def _learn(runs: Sequence[_Run], shared: Model, threads: int) -> None:
    """Epochs of all runs, and what the best weights of each answer for the validation split."""
    with _shared_by(runs):
        validation = shared.validation
    epoch, count = 0, 1
    while going := [one for one in runs if not one.is_over()]:
        with _shared_by(going):
            drawn = _drawn(shared, range(epoch, min(epoch + count, going[0].most)), going)
        slowest = _learn_on(going, shared, drawn, count, threads)
        done = count if shared.schedule.is_fixed else len(drawn)
        epoch += done
        del drawn  # or they would be held while the next are made
        if going[0].hears_nothing:
            count = max(1, min(2 * count, int(_MOMENT * done / slowest)))
    if trained := [one for one in runs if one.epochs]:
        for batch in _timed(validation, trained):
            _side_by_side(trained, shared, threads, _Run.answer, batch)
            del batch


def _drawn(shared: Model, epochs: range, runs: Sequence[_Run]) -> list[Batches]:
    """The batches of the next epochs: as many as the memory holds; once if they stay the same."""
    first = shared.schedule.batches(epochs[0])
    if first.whole is None or shared.schedule.is_fixed:
        return [first]
    drawn, most = [first], shared.maker.room // (2 * first.whole.num_bytes)
    for epoch in epochs[1:most]:
        if any(one.is_over() for one in runs):
            break
        batches = shared.schedule.batches(epoch)
        if batches.whole is None:
            break
        drawn.append(batches)
    return drawn


def _learn_on(
    runs: Sequence[_Run], shared: Model, drawn: Sequence[Batches], count: int, threads: int
) -> float:
    """An epoch on each, or ``count`` if there is one for all; the seconds of the slowest run."""
    val = shared.validation.whole
    held = [batches.whole for batches in drawn if batches.whole is not None]
    if held and val is not None:
        learn = partial(_Run.learn, count=count if shared.schedule.is_fixed else 1)
        return _side_by_side(runs, shared, threads, learn, val, *held)
    (batches, *_) = drawn
    start = time.perf_counter()
    for batch in _timed(batches, runs):
        _side_by_side(runs, shared, threads, _Run.learn_part, batch)
        del batch
    for batch in _timed(shared.validation, runs):
        _side_by_side(runs, shared, threads, _Run.weigh, batch)
        del batch
    for one in runs:
        one.end_epoch()
    return time.perf_counter() - start


def _side_by_side(
    runs: Sequence[_Run], shared: Model, threads: int, call: Callable[..., None], *batches: Batch
) -> float:
    """Each run's seconds go to its account; those of the slowest come back."""

    def timed(i: int, _: int) -> float:
        start = time.perf_counter()
        call(runs[i], shared, *batches)
        seconds = time.perf_counter() - start
        runs[i].seconds += seconds
        return seconds

    at_once = min(threads, most_at_once(shared, *batches))
    parts = [slice(i, i + 1) for i in range(len(runs))]
    seconds: list[float] = run(timed, parts, threads=at_once)
    return max(seconds)


@contextlib.contextmanager
def _shared_by(runs: Sequence[_Run]) -> Iterator[None]:
    """What this takes goes to the account of all of them, in equal shares."""
    start = time.perf_counter()
    yield
    share = (time.perf_counter() - start) / len(runs)
    for one in runs:
        one.seconds += share


def _timed(batches: Iterable[Batch], runs: Sequence[_Run]) -> Iterator[Batch]:
    """The batches; making them is shared by the runs."""
    iterator = iter(batches)
    while True:
        with _shared_by(runs):
            batch = next(iterator, None)
        if batch is None:
            return
        yield batch
        del batch


class _Run:
    """One seed's way through the epochs."""

    def __init__(self, task: Task, layout: Layout, seed: int, limits: _Limits) -> None:
        self.seed, self.epochs, self.seconds = seed, 0, 0.0
        self._limits = limits
        settings = task.settings
        rates = Rates.of(settings, layout.first)
        dropout = Dropout.of(settings.dropout, seed)
        self._learner = Learner(State.of(layout.start(seed)), rates, dropout)
        self._losses = np.full((settings.epochs, 2), np.nan)
        self._reason: Reason | None = None
        self._sums = np.zeros(2)
        self._answers: list[Matrix] = []

    @property
    def most(self) -> int:
        """How many epochs there may be."""
        return len(self._losses)

    @property
    def hears_nothing(self) -> bool:
        """Nobody listens to its epochs, so that many may go in one call."""
        return self._limits.progress is None

    def is_over(self) -> bool:
        if self._reason is None and self.epochs == self.most:
            self._reason = Reason.epochs
        self._reason = self._reason or self._limits.reached()
        return self._reason is not None

    def learn(self, shared: Model, val: Batch, *batches: Batch, count: int) -> None:
        """Up to ``count`` epochs on each."""
        for batch in batches:
            if self.is_over():
                return
            losses = self._losses[self.epochs : self.epochs + count]
            done, why = shared.learn(self._learner, batch, val, self.epochs, losses)
            self._end(done, why)

    def learn_part(self, shared: Model, batch: Batch) -> None:
        """One step of an epoch of many."""
        losses = np.full((1, 2), np.nan)
        shared.learn(self._learner, batch, None, self.epochs, losses)
        self._sums[0] += batch.share * losses[0, 0]

    def weigh(self, shared: Model, batch: Batch) -> None:
        """A part of the validation loss."""
        self._sums[1] += batch.share * shared.loss(current(self._learner.state), batch)

    def end_epoch(self) -> None:
        """After steps and validation in parts."""
        state, rates, _ = self._learner
        self._losses[self.epochs] = self._sums
        why = judge(state, self.epochs, *self._sums, rates.patience)
        self._sums[:] = 0
        self._end(1, why)

    def _end(self, count: int, why: int) -> None:
        """Some epochs are done."""
        losses = self._losses[self.epochs]
        self.epochs += count
        self._reason = _REASONS.get(int(why))
        if self._limits.progress is not None:
            self._limits.progress(Epoch(self.seed, self.epochs, *losses.tolist()))

    def answer(self, shared: Model, batch: Batch) -> None:
        self._answers.append(shared.outputs(self._learner.state.best, batch))

    def result(self, task: Task, algorithm: Algorithm, layout: Layout) -> TrainResult:
        state, start = self._learner.state, time.perf_counter()
        learnt = layout.unpad(state.best)
        score = worst(task.metric)
        if self.epochs:
            score = task.score("val", np.concatenate(self._answers))
        return TrainResult(
            algorithm=algorithm,
            seed=self.seed,
            weights=task.unscale(learnt),
            metric=task.metric,
            validation_score=score,
            train_losses=self._losses[: self.epochs, 0],
            validation_losses=self._losses[: self.epochs, 1],
            epochs=self.epochs,
            best_epoch=state.best_epoch,
            seconds=self.seconds + time.perf_counter() - start,
            reason=self._reason or Reason.epochs,
            task=task,
            learnt=learnt,
        )
