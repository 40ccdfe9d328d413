"""The receptive field of some nodes: what Algorithm 1 must compute to know their messages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from autogm.algorithm import ALL, Algorithm
from autogm.graph import Graph, Rows
from autogm.message.kernel import chunks, fused, run
from autogm.message.product import SparseRows
from autogm.message.sample import INFERENCE, Nodes, neighbours, sample, step_key

__all__ = ["Aggregation", "Field"]


class Field(NamedTuple):
    """``steps[i - 1]`` is A_agg of step i, its rows ``nodes[i]`` and its columns ``nodes[i - 1]``.

    ``nodes[k]`` are the targets in the order they were asked for; the others ascend. Where steps
    are equal, they and their nodes are the same objects.
    """

    nodes: tuple[Nodes, ...]
    steps: tuple[SparseRows, ...]

    @property
    def num_bytes(self) -> int:
        """What is held, equal steps once."""
        nodes = {id(level): 8 * len(level) for level in self.nodes}
        steps = {id(step): 16 * step.num_rows + 8 * len(step.indices) for step in self.steps}
        return sum(nodes.values()) + sum(steps.values())


@dataclass(frozen=True, eq=False)
class Aggregation:
    """A_agg of every step and epoch of an algorithm on a graph, made for the rows asked for."""

    graph: Graph
    algorithm: Algorithm
    sample_seed: int = 0
    oversample: bool = False
    threads: int | None = None

    def field(
        self, targets: Nodes, *, epoch: int = INFERENCE, most: float = math.inf
    ) -> Field | None:
        """The receptive field of ``targets`` over all k steps; None above ``most`` bytes.

        A step's size follows from degrees, so a step that is too large is not begun.
        """
        nodes, steps = [np.asarray(targets, dtype=np.int64)], list[SparseRows]()
        for step in range(self.algorithm.k, 0, -1):
            most -= 24 * len(nodes[0]) + 8 * self._num_entries(nodes[0])
            if most < 0:
                return None
            matrix, sources = self.step(nodes[0], step, epoch=epoch)
            steps.insert(0, matrix)
            closed = self.algorithm.w == ALL and np.array_equal(sources, nodes[0])
            nodes.insert(0, nodes[0] if closed else sources)
            if closed:  # every step before this one has the same rows and draws
                nodes = [nodes[0]] * (step - 1) + nodes
                steps = [matrix] * (step - 1) + steps
                break
        return Field(tuple(nodes), tuple(steps))

    def step(self, targets: Nodes, step: int, *, epoch: int) -> tuple[SparseRows, Nodes]:
        """A_agg of one step for some rows, and the nodes its columns stand for, ascending."""
        drawn = self._draw(targets, step, epoch)
        present = np.zeros(self.graph.num_nodes, dtype=bool)
        present[drawn.indices] = True
        if self.algorithm.self_loop:
            present[targets] = True
        sources = np.flatnonzero(present)
        place = np.empty(self.graph.num_nodes, dtype=np.int32)
        place[sources] = np.arange(len(sources), dtype=np.int32)
        row_scale, column_scale = self._scales(drawn, targets, sources, step, epoch)
        loop = int(self.algorithm.self_loop)
        indptr = drawn.indptr + loop * np.arange(len(targets) + 1)
        indices = np.empty(indptr[-1], dtype=np.int32)
        values = np.empty(indptr[-1], dtype=np.float32)
        weights = np.empty(0) if drawn.values is None else drawn.values
        given = (targets, drawn.indptr, drawn.indices, weights, place, loop)
        made = (row_scale, column_scale, indptr, indices, values)
        run(_assemble, chunks(indptr), *given, *made, threads=self.threads)
        return SparseRows.of(indptr, indices, values, len(sources)), sources

    @cached_property
    def _rows(self) -> Rows:
        return neighbours(self.graph)

    @cached_property
    def _degree(self) -> NDArray[np.int64]:
        return np.diff(self._rows.indptr)

    def _draw(self, nodes: Nodes, step: int, epoch: int) -> Rows:
        return sample(
            self._rows,
            self.algorithm.w,
            key=step_key(self.sample_seed, step, epoch),
            stable_keys=self.graph.stable_keys,
            nodes=nodes,
            oversample=self.oversample,
            threads=self.threads,
        )

    def _num_entries(self, nodes: Nodes) -> int:
        """Of a step's rows for these nodes, at most: draws with replacement may repeat."""
        return int(self._num_drawn(nodes).sum()) + self.algorithm.self_loop * len(nodes)

    def _num_drawn(self, nodes: Nodes) -> NDArray[np.int64]:
        degree, w = self._degree[nodes], self.algorithm.w
        if w == ALL:
            return degree
        return np.where(degree > 0, w, 0) if self.oversample else np.minimum(degree, w)

    def _scales(
        self, drawn: Rows, targets: Nodes, sources: Nodes, step: int, epoch: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What the entries of a row and of a column are multiplied with."""
        ones = np.ones(1)
        if self.algorithm.normalization == "N":
            return np.broadcast_to(ones, len(targets)), np.broadcast_to(ones, len(sources))
        if self.algorithm.normalization == "A":
            scale = _power(self._sums(targets, step, epoch, drawn), -1.0)
            return scale, np.broadcast_to(ones, len(sources))
        return (
            _power(self._sums(targets, step, epoch, drawn), -0.5),
            _power(self._sums(sources, step, epoch), -0.5),
        )

    def _sums(
        self, nodes: Nodes, step: int, epoch: int, drawn: Rows | None = None
    ) -> NDArray[np.float64]:
        """r_u, the sum of the row: known from the degree alone unless edges have weights."""
        loop = float(self.algorithm.self_loop)
        if self.graph.weighted:
            drawn = self._draw(nodes, step, epoch) if drawn is None else drawn
            assert drawn.values is not None
            return _row_sums(drawn.indptr, drawn.values) + loop
        return (self._num_drawn(nodes) + loop).astype(np.float64)


def _row_sums(indptr: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each row by itself: differences of one running sum lose small rows behind large weights."""
    sums, filled = np.zeros(len(indptr) - 1), indptr[1:] > indptr[:-1]
    if len(values):
        sums[filled] = np.add.reduceat(values, indptr[:-1][filled])
    return sums


def _power(sums: NDArray[np.float64], exponent: float) -> NDArray[np.float64]:
    powers: NDArray[np.float64] = np.zeros_like(sums)
    np.power(sums, exponent, out=powers, where=sums > 0)
    return powers


@fused
def _assemble(  # type: ignore[no-untyped-def]
    start,
    stop,
    targets,
    drawn_ptr,
    drawn,
    weights,
    place,
    loop,
    row_scale,
    column_scale,
    indptr,
    indices,
    values,
):
    """Number the columns, put the self-loop first, and scale."""
    for r in range(start, stop):
        at = indptr[r]
        if loop:
            here = place[targets[r]]
            indices[at] = here
            values[at] = row_scale[r] * column_scale[here]
            at += 1
        for e in range(drawn_ptr[r], drawn_ptr[r + 1]):
            there = place[drawn[e]]
            weight = weights[e] if len(weights) else 1.0
            indices[at] = there
            values[at] = row_scale[r] * column_scale[there] * weight
            at += 1
