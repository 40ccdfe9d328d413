"""A point of the framework on a task: its loss, its gradient, and what all runs of it share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from autogm.algorithm import ALL, Algorithm
from autogm.graph.features import Features
from autogm.message.field import Aggregation, Field
from autogm.message.product import Matrix, aligned
from autogm.message.sample import INFERENCE, Nodes, step_key
from autogm.train import passes
from autogm.train.adam import Rates, State
from autogm.train.dropout import Dropout
from autogm.train.layout import Layout, Vector
from autogm.train.passes import Batch, Steps
from autogm.train.propagate import propagated
from autogm.train.rows import FeatureRows, feature_rows, product_cost
from autogm.train.task import Judged, Task

__all__ = ["Batches", "Learner", "Losses", "Model", "in_order", "model"]


Losses = NDArray[np.float64]


class Learner(NamedTuple):
    """One run's state, and how it learns."""

    state: State
    rates: Rates
    dropout: Dropout


class Model(Protocol):
    """Shared by the runs of a point; many threads may use it at once."""

    layout: Layout
    fields: Fields
    is_fixed: bool
    """Every epoch has the same one batch."""
    epochs_at_hand: int
    """Of how many epochs the batches may be held at once."""
    validation: Batches
    """Of the validation split."""

    def batches(self, epoch: int) -> Batches:
        """What an epoch's steps are taken on; the same for all runs."""

    def learn(
        self, learner: Learner, batch: Batch, val: Batch, first: int, losses: Losses
    ) -> tuple[int, int]:
        """Epochs from number ``first`` on one batch, see `passes.message_epochs`."""

    def loss(self, vector: Vector, batch: Batch) -> float:
        """Of a batch, without dropout."""

    def outputs(self, vector: Vector, nodes: Nodes) -> Matrix:
        """Without dropout and without padding, in the order of ``nodes``."""


def model(task: Task, algorithm: Algorithm) -> Model:
    """Messages; for linear algorithms and those without a graph, the rows they come to."""
    made: Model = (Messages if algorithm.l and algorithm.k else Linear)(task, algorithm)
    if task.settings.device == "cpu":
        return made
    from autogm.train.device import OnDevice

    return OnDevice(made, task, algorithm)


class _Scratch(threading.local):
    """Memory that a thread keeps from one call to the next."""

    def __init__(self) -> None:
        self._memory: Vector = np.empty(0, np.float32)

    def of(self, size: int) -> Vector:
        if len(self._memory) < size:
            self._memory = aligned(1, size)[0]
        return self._memory


class Fields:
    """Nodes cut so that the receptive field of each part fits the memory."""

    def __init__(self, task: Task, algorithm: Algorithm, scratch: Callable[..., int]) -> None:
        settings = task.settings
        self.features = _features(task)
        self._aggregation = Aggregation(
            task.graph, algorithm, settings.sample_seed, settings.oversample
        )
        self._memory, self._scratch = settings.memory, scratch
        self.kept = 1 - settings.dropout

    def batch(self, judged: Judged, epoch: int, share: float = 1.0) -> Batch:
        field = self.field(judged.nodes, epoch)
        kept = 1.0 if epoch == INFERENCE else self.kept
        rows = feature_rows(self.features, field.nodes[0], kept=kept)
        return Batch(judged, share, Steps.of(field), rows)

    def field(self, nodes: Nodes, epoch: int = INFERENCE) -> Field:
        return self._aggregation.field(nodes, epoch=epoch)

    def fitted(self, judged: Judged, epoch: int = INFERENCE) -> Batches:
        """As many of the nodes at a time as fit the memory."""
        size = len(judged.nodes)
        batch = self.batch(judged, epoch)
        while size > 1 and self.num_bytes(batch) > self._memory:
            size = -(-size // 2)
            batch = self.batch(judged.part(slice(0, size)), epoch)
        whole = batch if size == len(judged.nodes) else None
        return Batches(self, judged, epoch, size=size, whole=whole)

    def num_bytes(self, batch: Batch) -> int:
        matrices = 8 * len(batch.steps.indices)
        return 4 * self._scratch(batch.steps, batch.rows) + batch.rows.num_bytes + matrices


class Batches:
    """The batches of some nodes in an epoch: one that is held, or many made when asked for."""

    def __init__(
        self, fields: Fields, judged: Judged, epoch: int, *, size: int, whole: Batch | None = None
    ) -> None:
        self._fields, self._judged, self._epoch, self.size = fields, judged, epoch, size
        if whole is None and size == len(judged.nodes):
            whole = fields.batch(judged, epoch)
        self.whole = whole

    def __iter__(self) -> Iterator[Batch]:
        if self.whole is not None:
            yield self.whole
            return
        for some in stretches(len(self._judged.nodes), self.size):
            share = float(self._judged.weights[some].sum())
            yield self._fields.batch(self._judged.part(some), self._epoch, share)

    @property
    def nobody(self) -> Batch:
        """A batch without nodes."""
        judged = self._judged.part(slice(0, 0))
        return _without_steps(judged, feature_rows(self._fields.features, judged.nodes))


def _without_steps(judged: Judged, rows: FeatureRows) -> Batch:
    """A batch whose rows have been through all steps."""
    return Batch(judged, 1.0, Steps.of(Field((judged.nodes,), ())), rows)


class Messages:
    """Nonlinear algorithms: every epoch passes messages over the labelled nodes' field."""

    def __init__(self, task: Task, algorithm: Algorithm) -> None:
        self._task = task
        self.layout = Layout(algorithm, task.graph.num_features, task.head.num_outputs)
        self._scratch = _Scratch()
        self.fields = Fields(task, algorithm, self._scratch_size)
        first = self.fields.fitted(task.train, 0)
        self._size = first.size
        self.is_fixed = algorithm.w == ALL and first.whole is not None
        self._fixed = first if self.is_fixed else None
        self.epochs_at_hand = 1
        if first.whole is not None:
            held = task.settings.memory // (8 * self.fields.num_bytes(first.whole))
            self.epochs_at_hand = max(1, min(10, held))
        self.validation = self.fields.fitted(task.val)

    def batches(self, epoch: int) -> Batches:
        train = self._task.train
        if self._fixed is not None:
            return self._fixed
        if self._size < len(train.nodes):
            # In an order that all runs share, as they share their draws.
            rng = np.random.default_rng(step_key(self._task.settings.sample_seed, 0, epoch))
            train = train.part(rng.permutation(len(train.nodes)))
        return Batches(self.fields, train, epoch, size=self._size)

    def learn(
        self, learner: Learner, batch: Batch, val: Batch, first: int, losses: Losses
    ) -> tuple[int, int]:
        state, rates, dropout = learner
        given = (state, rates, self.layout.spans, batch, val, self._task.head.kind, dropout, first)
        done, why = passes.message_epochs(*given, self._memory(batch, val), losses)
        return int(done), int(why)

    def loss(self, vector: Vector, batch: Batch) -> float:
        given = (self.layout.spans, batch, self._task.head.kind, self._memory(batch))
        return float(passes.message_loss(vector, *given))

    def outputs(self, vector: Vector, nodes: Nodes) -> Matrix:
        def outputs(batch: Batch) -> Matrix:
            given = (self.layout.spans, batch, self._memory(batch))
            made: Matrix = passes.message_outputs(vector, *given)[0]
            return made

        return in_order(self.fields, nodes, self._task.head.num_outputs, outputs)

    def _memory(self, *batches: Batch) -> Vector:
        size = max(self._scratch_size(batch.steps, batch.rows) for batch in batches)
        return self._scratch.of(size)

    def _scratch_size(self, steps: Steps, rows: FeatureRows) -> int:
        return passes.message_scratch(self.layout, steps, rows)


class Linear:
    """Linear algorithms: a logistic regression on the rows A_k .. A_1 X_0, which are made once.

    W_1 .. W_k and the output layer are a product; where the outputs are narrower than d, it is
    taken first, and the rows meet one matrix as narrow as the outputs.
    """

    is_fixed = True
    epochs_at_hand = 1

    def __init__(self, task: Task, algorithm: Algorithm) -> None:
        self._task = task
        self.layout = Layout(algorithm, task.graph.num_features, task.head.num_outputs)
        self._fold = self.layout.outputs < self.layout.width
        self._scratch = _Scratch()
        self.fields = Fields(task, algorithm, self._scratch_size)
        self._train = self._made(task.train, kept=self.fields.kept)
        self.validation = self.fields.fitted(task.val)
        if self._cheaper_made(task.val, self.validation.whole):
            self.validation = self._made(task.val)

    def batches(self, epoch: int) -> Batches:
        return self._train

    def learn(
        self, learner: Learner, batch: Batch, val: Batch, first: int, losses: Losses
    ) -> tuple[int, int]:
        state, rates, dropout = learner
        given = (state, rates, self.layout.spans, self._fold, batch, val)
        how = (self._task.head.kind, dropout, first, self._memory(batch, val), losses)
        done, why = passes.linear_epochs(*given, *how)
        return int(done), int(why)

    def loss(self, vector: Vector, batch: Batch) -> float:
        kind, memory = self._task.head.kind, self._memory(batch)
        return float(passes.linear_loss(vector, self.layout.spans, self._fold, batch, kind, memory))

    def outputs(self, vector: Vector, nodes: Nodes) -> Matrix:
        def outputs(batch: Batch) -> Matrix:
            given = (self.layout.spans, self._fold, batch, self._memory(batch))
            made: Matrix = passes.linear_outputs(vector, *given)[0]
            return made

        return in_order(self.fields, nodes, self._task.head.num_outputs, outputs)

    def _made(self, judged: Judged, *, kept: float = 1.0) -> Batches:
        """One batch whose rows have been through all steps."""
        parts = [
            propagated(self.fields.field(judged.nodes[some]), self.fields.features)
            for some in stretches(len(judged.nodes), self.fields.fitted(judged).size)
        ]
        count = len(judged.nodes)
        rows = feature_rows(_stacked(parts), np.arange(count), judged.nodes, kept=kept)
        batch = _without_steps(judged, rows)
        return Batches(self.fields, judged, INFERENCE, size=count, whole=batch)

    def _cheaper_made(self, judged: Judged, batch: Batch | None) -> bool:
        """Whether finished rows, however full, cost less than passing messages each time."""
        if batch is None:
            return True
        cells = len(judged.nodes) * self._task.graph.num_features
        return product_cost(cells, dense=True) < batch.steps.num_entries + batch.rows.cost

    def _memory(self, *batches: Batch) -> Vector:
        size = max(self._scratch_size(batch.steps, batch.rows) for batch in batches)
        return self._scratch.of(size)

    def _scratch_size(self, steps: Steps, rows: FeatureRows) -> int:
        return passes.linear_scratch(self.layout, int(steps.size.max()), rows)


def _features(task: Task) -> Features:
    assert task.graph.features is not None
    return task.graph.features


def _stacked(parts: list[Any]) -> Features:
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return sparse.csr_array(sparse.vstack(parts, format="csr"))


def in_order(
    fields: Fields, nodes: Nodes, num_outputs: int, outputs: Callable[[Batch], Matrix]
) -> Matrix:
    """Rows of outputs for nodes at inference, copied out of where they were made."""
    nothing = np.zeros((len(nodes), num_outputs), np.float32)
    result, at = np.empty_like(nothing), 0
    for batch in fields.fitted(Judged(nodes, nothing, nothing, num_outputs)):
        count = len(batch.judged.nodes)
        result[at : at + count] = outputs(batch)[:, :num_outputs]
        at += count
    return result


def stretches(count: int, size: int) -> list[slice]:
    """Of at most ``size``, of ``count`` things."""
    return [slice(a, b) for a, b in pairwise([*range(0, count, size), count])]
