"""From a list of edges to compressed rows: node u's row holds the nodes u hears from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from autogm.errors import InputError

__all__ = ["MAX_NODES", "EdgeList", "Rows", "check_weights", "compress"]

# Node positions are int32, and an edge is one int64 sort key of two of them.
MAX_NODES = 2**31 - 1


class Rows(NamedTuple):
    """A sparse matrix by rows; ``values`` is None when every entry is one."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64] | None = None

    @property
    def num_rows(self) -> int:
        return len(self.indptr) - 1

    @property
    def row_of_entry(self) -> NDArray[np.int32]:
        return np.repeat(np.arange(self.num_rows, dtype=np.int32), np.diff(self.indptr))

    def keep(self, entries: NDArray[np.bool_]) -> Rows:
        """The same rows with only the marked entries."""
        before = np.concatenate([[0], np.cumsum(entries)])
        values = None if self.values is None else self.values[entries]
        return Rows(before[self.indptr], self.indices[entries], values)

    def without_loops(self) -> Rows:
        """The same rows without their diagonal."""
        other = self.indices != self.row_of_entry
        return self if other.all() else self.keep(other)

    def to_scipy(self, dtype: type = np.float32) -> sparse.csr_array:
        """As SciPy's CSR, entries of a binary matrix written out as ones."""
        values = np.ones(len(self.indices), dtype) if self.values is None else self.values
        shape = (self.num_rows, self.num_rows)
        return sparse.csr_array((values, self.indices, self.indptr), shape=shape)

    def transpose(self) -> Rows:
        """The same entries by columns; entries of one column stay in row order."""
        columns = self.to_scipy(np.int8).tocsc()
        values = None if self.values is None else columns.data
        return Rows(columns.indptr.astype(np.int64), columns.indices.astype(np.int32), values)


class EdgeList:
    """Edges on their way into a graph: positions of both ends, and what each edge carries.

    ``compress`` takes the arrays out as it goes, so that a large list is never held twice.
    """

    def __init__(
        self,
        source: NDArray[np.int32],
        target: NDArray[np.int32],
        *,
        weights: NDArray[np.float64] | None = None,
        times: NDArray[np.float64] | None = None,
    ) -> None:
        self.source, self.target = source, target
        self.weights, self.times = weights, times

    def take_keys(self, *, mirrored: bool) -> NDArray[np.int64]:
        """One sort key an edge (row above, column below); empties the list of its ends."""
        keys = _keys(self.target, self.source)
        if mirrored:
            other = self.source != self.target
            keys = np.concatenate([keys, _keys(self.source[other], self.target[other])])
            self.weights = _mirror(self.weights, other)
            self.times = _mirror(self.times, other)
        del self.source, self.target
        return keys


def compress(
    edges: EdgeList, *, num_nodes: int, directed: bool
) -> tuple[Rows, NDArray[np.float64] | None]:
    """Sort edges into rows of incoming neighbours, ascending; return them with the edges' times.

    An undirected edge stands in both rows. Of duplicates, a binary graph keeps one, weights add
    up, and the earliest time stays.
    """
    if num_nodes > MAX_NODES:
        raise InputError(
            f"a graph holds at most {MAX_NODES:,} nodes, but got {num_nodes:,}; "
            "split it into components or sample it first"
        )
    keys = edges.take_keys(mirrored=not directed)
    weights, times = edges.weights, edges.times
    if weights is None and times is None:
        keys.sort()
        fresh = _fresh(keys)
        if not fresh.all():
            keys = keys[fresh]
    else:
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.flatnonzero(_fresh(keys))
        keys = keys[first]
        if weights is not None and len(first):
            weights = np.add.reduceat(weights[order], first)
        if times is not None and len(first):
            times = np.minimum.reduceat(times[order], first)
    return _rows_of_sorted(keys, num_nodes, weights), times


def check_weights(values: NDArray[np.float64], num_edges: int) -> None:
    """Edge weights are one an edge, positive and finite."""
    if len(values) != num_edges:
        raise InputError(
            f"there must be one weight an edge ({num_edges}), but got {len(values)}; "
            "drop the extra ones or fill the missing ones"
        )
    bad = ~((values > 0) & np.isfinite(values))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"edge weights must be positive and finite, but weight {at} is {values[at]}; "
            "drop such edges or shift the weights, or ignore them with weight=None"
        )


def _rows_of_sorted(
    keys: NDArray[np.int64], num_nodes: int, weights: NDArray[np.float64] | None
) -> Rows:
    indices = keys.astype(np.int32)  # the lower half of each key
    keys >>= 32
    indptr = np.searchsorted(keys, np.arange(num_nodes + 1))
    return Rows(indptr.astype(np.int64, copy=False), indices, weights)


def _keys(row: NDArray[np.int32], column: NDArray[np.int32]) -> NDArray[np.int64]:
    keys = row.astype(np.int64)
    keys <<= 32
    keys |= column
    return keys


def _fresh(keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    fresh = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
    return fresh


def _mirror(
    values: NDArray[np.float64] | None, other: NDArray[np.bool_]
) -> NDArray[np.float64] | None:
    return None if values is None else np.concatenate([values, values[other]])
