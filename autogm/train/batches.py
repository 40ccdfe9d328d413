"""Cutting nodes into batches that fit the memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np

from autogm.algorithm import Algorithm
from autogm.errors import InputError
from autogm.graph.features import Features
from autogm.message.field import Aggregation, Field
from autogm.message.sample import INFERENCE, Nodes, step_key
from autogm.train.passes import Steps
from autogm.train.rows import FeatureRows, dense_cells, feature_rows
from autogm.train.task import Judged, Task

__all__ = ["Batch", "BatchMaker", "Batches", "Schedule"]

T = TypeVar("T")
Make = Callable[[Judged, int], "Batch | None"]
"""The batch of some nodes in an epoch, or None if it would not fit."""


class Batch(NamedTuple):
    """Nodes to learn from or to be judged by, with all that their outputs need."""

    judged: Judged
    share: float
    """Of the weights of all nodes."""
    steps: Steps
    rows: FeatureRows

    @property
    def num_bytes(self) -> int:
        return self.steps.num_bytes + self.rows.num_bytes

    @property
    def levels(self) -> list[int]:
        """How many nodes each level of the field has."""
        return list(map(int, self.steps.size))


class BatchMaker:
    """Makes batches no larger than half of the memory, scratch for one run included.

    The other half is for the batch that is held at the same time: one trains, one judges.
    ``scratch`` tells how many numbers a pass needs, from the sizes of a field's levels and the
    cells of its dense rows.
    """

    def __init__(
        self, task: Task, algorithm: Algorithm, scratch: Callable[[list[int], int], int]
    ) -> None:
        settings = task.settings
        self.features: Features = task.features
        self.sample_seed = settings.sample_seed
        self.room = settings.memory // 2
        self._memory, self._scratch, self._kept = settings.memory, scratch, 1 - settings.dropout
        self._aggregation = Aggregation(
            task.graph, algorithm, settings.sample_seed, settings.oversample, settings.threads
        )

    def field(self, nodes: Nodes, epoch: int = INFERENCE) -> Field | None:
        return self._aggregation.field(nodes, epoch=epoch, most=self.room)

    def batch(self, judged: Judged, epoch: int) -> Batch | None:
        """Nodes with their receptive field."""
        field = self.field(judged.nodes, epoch)
        return None if field is None else self.of_field(judged, field, epoch)

    def of_field(self, judged: Judged, field: Field, epoch: int) -> Batch | None:
        """Sizes are counted before anything is gathered."""
        rows, kept = field.nodes[0], self._share_kept(epoch)
        cells = dense_cells(self.features, rows, kept=kept)
        levels = [len(level) for level in field.nodes]
        if field.num_bytes + self._bytes_of_rows(len(rows), cells, levels) > self.room:
            return None
        return Batch(judged, 1.0, Steps.of(field), feature_rows(self.features, rows, kept=kept))

    def of_rows(self, judged: Judged, features: Features, epoch: int) -> Batch | None:
        """Nodes whose rows are finished: they have been through all steps."""
        rows, kept = np.arange(len(judged.nodes)), self._share_kept(epoch)
        cells = dense_cells(features, rows, kept=kept)
        if self._bytes_of_rows(len(rows), cells, [len(rows)]) > self.room:
            return None
        finished = feature_rows(features, rows, judged.nodes, kept=kept)
        return Batch(judged, 1.0, Steps.of(Field((judged.nodes,), ())), finished)

    def fitting(
        self, count: int, make: Callable[[slice], T | None], size: int | None = None
    ) -> Iterator[T]:
        """What is made of stretches of ``count`` things: halved until it fits, then on with that.

        A stretch has at most ``size``.
        """
        at, size = 0, size or count
        while at < count:
            stretch = min(size, count - at)
            part = make(slice(at, at + stretch))
            if part is None:
                if stretch == 1:
                    raise InputError(
                        "memory must hold twice the receptive field of any node with its messages, "
                        f"but got {self._memory} bytes; raise it, or choose a smaller k, w or d"
                    )
                size = -(-stretch // 2)
                continue
            yield part
            del part  # or it would be held while the next is made
            at += stretch

    def nothing_of(self, batch: Batch) -> Batch:
        """None of its nodes."""
        judged = batch.judged.part(slice(0, 0))
        rows = feature_rows(self.features, judged.nodes)
        return Batch(judged, 0.0, Steps.of(Field((judged.nodes,), ())), rows)

    def scratch_size(self, *batches: Batch) -> int:
        """How many numbers a pass over any of them needs."""
        return max(self._scratch(batch.levels, batch.rows.dense.size) for batch in batches)

    def most_at_once(self, held: Iterable[Batch], *batches: Batch) -> int:
        """How many passes over some batches the memory has room for beside all that are held."""
        distinct = {id(batch): batch.num_bytes for batch in (*held, *batches)}
        left = self._memory - sum(distinct.values())
        return max(1, left // (4 * self.scratch_size(*batches)))

    def _share_kept(self, epoch: int) -> float:
        return 1.0 if epoch == INFERENCE else self._kept

    def _bytes_of_rows(self, count: int, cells: int, levels: list[int]) -> int:
        return 24 * count + 4 * cells + 4 * self._scratch(levels, cells)


class Batches:
    """The batches of some nodes in an epoch: one that is held, or many, made when asked for."""

    def __init__(
        self,
        maker: BatchMaker,
        make: Make,
        judged: Judged,
        epoch: int = INFERENCE,
        *,
        size: int | None = None,
    ) -> None:
        self._maker, self._make, self._judged, self._epoch = maker, make, judged, epoch
        self.whole = make(judged, epoch) if size is None else None
        self._size = size or max(1, len(judged.nodes) // 2)

    def __iter__(self) -> Iterator[Batch]:
        if self.whole is not None:
            yield self.whole
        else:
            yield from self._maker.fitting(len(self._judged.nodes), self._part, self._size)

    def _part(self, some: slice) -> Batch | None:
        batch = self._make(self._judged.part(some), self._epoch)
        share = float(self._judged.weights[some].sum())
        return None if batch is None else batch._replace(share=share)


class Schedule:
    """The batches of every epoch of training; all runs of a point follow it."""

    def __init__(self, maker: BatchMaker, make: Make, judged: Judged, *, redrawn: bool) -> None:
        self._maker, self._make, self._judged, self._redrawn = maker, make, judged, redrawn
        self._fixed: Batches | None = None
        self._size: int | None = None

    @property
    def held(self) -> Batch | None:
        """The batch of all epochs, if there is one."""
        return None if self._fixed is None else self._fixed.whole

    @property
    def is_fixed(self) -> bool:
        """Every epoch has the same one batch."""
        return self._fixed is not None

    def batches(self, epoch: int) -> Batches:
        """One batch where it fits; else parts, in another order each epoch.

        The order follows the sampling seed, as draws do.
        """
        if self._fixed is not None:
            return self._fixed
        if self._size is None:
            batches = Batches(self._maker, self._make, self._judged, epoch)
            if batches.whole is not None:
                self._fixed = None if self._redrawn else batches
                return batches
            self._size = len(next(iter(self._parts(epoch, None))).judged.nodes)
        return self._parts(epoch, self._size)

    def _parts(self, epoch: int, size: int | None) -> Batches:
        count = len(self._judged.nodes)
        rng = np.random.default_rng(step_key(self._maker.sample_seed, 0, epoch))
        judged = self._judged.part(rng.permutation(count))
        return Batches(self._maker, self._make, judged, epoch, size=size or -(-count // 2))
