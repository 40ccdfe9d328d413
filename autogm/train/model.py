"""A point of the framework on a task: its loss, its gradient, and what all runs of it share."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cached_property, partial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from autogm.algorithm import ALL, Algorithm, Weights
from autogm.graph.features import Features
from autogm.message.field import Field
from autogm.message.kernel import flushed_denormals
from autogm.message.product import Matrix, aligned
from autogm.message.sample import Nodes
from autogm.train import passes
from autogm.train.adam import Rates, State
from autogm.train.batches import Batch, Batches, BatchMaker, Schedule
from autogm.train.dropout import Dropout
from autogm.train.layout import Layout, Vector
from autogm.train.propagate import propagated, propagation_bytes
from autogm.train.rows import product_cost
from autogm.train.task import Judged, Task

__all__ = ["Learner", "Losses", "Model", "model", "most_at_once", "outputs"]


Losses = NDArray[np.float64]


class Learner(NamedTuple):
    """One run's state, and how it learns."""

    state: State
    rates: Rates
    dropout: Dropout


class Model(Protocol):
    """Shared by the runs of a point; many threads may learn, judge and ask for outputs at once."""

    layout: Layout
    maker: BatchMaker
    schedule: Schedule
    """The batches of training."""

    @property
    def validation(self) -> Batches:
        """Made when first asked for."""

    def learn(
        self, learner: Learner, batch: Batch, val: Batch | None, first: int, losses: Losses
    ) -> tuple[int, int]:
        """Epochs from number ``first`` on one batch, judged by ``val`` if there is one.

        Returns how many, and why no more, as `passes.message_epochs` does.
        """

    def loss(self, vector: Vector, batch: Batch) -> float:
        """Of a batch, without dropout."""

    def outputs(self, vector: Vector, batch: Batch) -> Matrix:
        """Of a batch, without dropout and without padding."""


def most_at_once(shared: Model, *batches: Batch) -> int:
    """How many threads may work on these batches, so that memory holds what each needs."""
    held = (shared.schedule.held, shared.validation.whole)
    return shared.maker.most_at_once([one for one in held if one is not None], *batches)


def model(task: Task, algorithm: Algorithm) -> Model:
    """Messages; for linear algorithms and those without a graph, the rows they come to.

    Batches of training and validation are made when they are first asked for.
    """
    here = _here(task, algorithm)
    if task.settings.device == "cpu":
        return here
    from autogm.train.device import OnDevice

    return OnDevice(here, task, algorithm)


def outputs(task: Task, algorithm: Algorithm, weights: Weights, nodes: Nodes) -> Matrix:
    """What the weights answer for some nodes, before the head reads it."""
    point = _here(task, algorithm)
    vector = point.layout.pad(weights)
    with flushed_denormals():
        parts = [point.outputs(vector, batch) for batch in point.asked(nodes)]
    return np.concatenate(parts) if parts else np.empty((0, task.head.num_outputs), np.float32)


def _here(task: Task, algorithm: Algorithm) -> Messages | Linear:
    return (Messages if algorithm.l and algorithm.k else Linear)(task, algorithm)


class _Scratch:
    """Memory that passes borrow: as many pieces as there are passes at a time."""

    def __init__(self) -> None:
        self._free: list[Vector] = []

    @contextlib.contextmanager
    def of(self, size: int) -> Iterator[Vector]:
        try:
            memory = self._free.pop()
        except IndexError:
            memory = np.empty(0, np.float32)
        if len(memory) < size:
            del memory
            memory = aligned(1, size)[0]
        try:
            yield memory
        finally:
            self._free.append(memory)


class Messages:
    """Nonlinear algorithms: every epoch passes messages over the labelled nodes' field."""

    def __init__(self, task: Task, algorithm: Algorithm) -> None:
        self._task = task
        self.layout = Layout(algorithm, task.graph.num_features, task.head.num_outputs)
        self._scratch = _Scratch()
        self.maker = BatchMaker(task, algorithm, partial(passes.message_scratch, self.layout))
        redrawn = algorithm.w != ALL
        self.schedule = Schedule(self.maker, self.maker.batch, task.train, redrawn=redrawn)

    @cached_property
    def validation(self) -> Batches:
        return Batches(self.maker, self.maker.batch, self._task.val)

    def asked(self, nodes: Nodes) -> Batches:
        return Batches(self.maker, self.maker.batch, _not_judged(nodes, self._task))

    def learn(
        self, learner: Learner, batch: Batch, val: Batch | None, first: int, losses: Losses
    ) -> tuple[int, int]:
        state, rates, dropout = learner
        val = self.maker.nothing_of(batch) if val is None else val
        given = (state, rates, self.layout.spans, batch, val, self._task.head.kind, dropout, first)
        with self._scratch.of(self.maker.scratch_size(batch, val)) as scratch:
            count, why = passes.message_epochs(*given, scratch, losses)
        return int(count), int(why)

    def loss(self, vector: Vector, batch: Batch) -> float:
        given = (vector, self.layout.spans, batch, self._task.head.kind)
        with self._scratch.of(self.maker.scratch_size(batch)) as scratch:
            return float(passes.message_loss(*given, scratch))

    def outputs(self, vector: Vector, batch: Batch) -> Matrix:
        with self._scratch.of(self.maker.scratch_size(batch)) as scratch:
            padded, _ = passes.message_outputs(vector, self.layout.spans, batch, scratch)
            return np.array(padded[:, : self._task.head.num_outputs])


class Linear:
    """Linear algorithms: a logistic regression on the rows A_k .. A_1 X_0, which are made once.

    W_1 .. W_k and the output layer are a product; where the outputs are narrower than d, it is
    taken first, and the rows meet one matrix as narrow as the outputs. Rows that do not fit the
    memory are made again in every epoch, for a part of the nodes at a time.
    """

    def __init__(self, task: Task, algorithm: Algorithm) -> None:
        self._task, self._k = task, algorithm.k
        self.layout = Layout(algorithm, task.graph.num_features, task.head.num_outputs)
        self._fold = self.layout.outputs < self.layout.width
        self._scratch = _Scratch()
        self.maker = BatchMaker(task, algorithm, partial(passes.linear_scratch, self.layout))
        make = self._finished if algorithm.k else self.maker.batch
        self.schedule = Schedule(self.maker, make, task.train, redrawn=False)

    @cached_property
    def validation(self) -> Batches:
        make = self._cheapest if self._k else self.maker.batch
        return Batches(self.maker, make, self._task.val)

    def asked(self, nodes: Nodes) -> Batches:
        return Batches(self.maker, self.maker.batch, _not_judged(nodes, self._task))

    def learn(
        self, learner: Learner, batch: Batch, val: Batch | None, first: int, losses: Losses
    ) -> tuple[int, int]:
        state, rates, dropout = learner
        val = self.maker.nothing_of(batch) if val is None else val
        given = (state, rates, self.layout.spans, self._fold, batch, val, self._task.head.kind)
        with self._scratch.of(self.maker.scratch_size(batch, val)) as scratch:
            count, why = passes.linear_epochs(*given, dropout, first, scratch, losses)
        return int(count), int(why)

    def loss(self, vector: Vector, batch: Batch) -> float:
        given = (vector, self.layout.spans, self._fold, batch, self._task.head.kind)
        with self._scratch.of(self.maker.scratch_size(batch)) as scratch:
            return float(passes.linear_loss(*given, scratch))

    def outputs(self, vector: Vector, batch: Batch) -> Matrix:
        given = (vector, self.layout.spans, self._fold, batch)
        with self._scratch.of(self.maker.scratch_size(batch)) as scratch:
            padded, _ = passes.linear_outputs(*given, scratch)
            return np.array(padded[:, : self._task.head.num_outputs])

    def _cheapest(self, judged: Judged, epoch: int) -> Batch | None:
        """Finished rows, unless passing messages each time costs less."""
        field = self.maker.field(judged.nodes)
        if field is None:
            return self._finished(judged, epoch)
        passing = self.maker.of_field(judged, field, epoch)
        cells = len(judged.nodes) * self._task.graph.num_features
        most = product_cost(cells, dense=True)
        if passing is not None and passing.steps.num_entries + passing.rows.cost <= most:
            return passing
        del passing
        rows = self._propagated(field)
        return None if rows is None else self.maker.of_rows(judged, rows, epoch)

    def _finished(self, judged: Judged, epoch: int) -> Batch | None:
        """Rows that have been through all steps, as many at a time as fit."""

        def stretch(some: slice) -> Features | None:
            field = self.maker.field(judged.nodes[some])
            return None if field is None else self._propagated(field)

        parts, held = [], 0
        for part in self.maker.fitting(len(judged.nodes), stretch):
            parts.append(part)
            held += part.nbytes if isinstance(part, np.ndarray) else 12 * part.nnz
            if held > self.maker.room:
                return None
        return self.maker.of_rows(judged, _stacked(parts), epoch)

    def _propagated(self, field: Field) -> Features | None:
        features = self.maker.features
        if propagation_bytes(field, features) > self.maker.room:
            return None
        return propagated(field, features, threads=self._task.settings.threads)


def _not_judged(nodes: Nodes, task: Task) -> Judged:
    nodes = np.array(nodes, dtype=np.int64)
    nodes.flags.writeable = False
    nothing = np.zeros((len(nodes), task.head.num_outputs), np.float32)
    return Judged(nodes, nothing, nothing, task.head.num_outputs)


def _stacked(parts: list[Features]) -> Features:
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return sparse.csr_array(sparse.vstack(parts, format="csr"))
