"""From a list of edges to compressed rows: node u's row holds the nodes u hears from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from autogm.errors import InputError, show

__all__ = [
    "MAX_NODES",
    "EdgeList",
    "Rows",
    "check_num_nodes",
    "check_row_starts",
    "check_sparse",
    "check_weights",
    "compress",
    "edge_name",
    "first_outside",
]

# Node positions are int32.
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
        # SciPy wants one type of index, and would widen the columns to that of the offsets.
        few = len(self.indices) < 2**31
        indptr = self.indptr.astype(np.int32) if few else self.indptr
        shape = (self.num_rows, self.num_rows)
        return sparse.csr_array((values, self.indices, indptr), shape=shape)

    def transpose(self) -> Rows:
        """The same entries by columns; entries of one column stay in row order."""
        columns = self.to_scipy(np.int8).tocsc()
        values = None if self.values is None else columns.data
        return Rows(columns.indptr.astype(np.int64), columns.indices.astype(np.int32), values)


class EdgeList:
    """Edges on their way into a graph: positions of both ends, and what each edge carries."""

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

    def mirrored(self) -> EdgeList:
        """With each edge in the other direction too; a loop has none."""
        other = self.source != self.target

        def both(here: NDArray[Any], there: NDArray[Any]) -> NDArray[Any]:
            return np.concatenate([here, there[other]])

        return EdgeList(
            both(self.source, self.target),
            both(self.target, self.source),
            weights=None if self.weights is None else both(self.weights, self.weights),
            times=None if self.times is None else both(self.times, self.times),
        )


def compress(
    edges: EdgeList, *, num_nodes: int, directed: bool
) -> tuple[Rows, NDArray[np.float64] | None]:
    """Sort edges into rows of incoming neighbours, ascending; return them with the edges' times.

    An undirected edge stands in both rows. Of duplicates, a binary graph keeps one, weights add
    up, and the earliest time stays.
    """
    check_num_nodes(num_nodes)
    if not directed:
        edges = edges.mirrored()
    binary = edges.weights is None
    # A binary graph's values are thrown away, so they may as well be small and overflow.
    values = np.ones(len(edges.source), np.int8) if binary else edges.weights
    matrix = sparse.coo_array(
        (values, (edges.target, edges.source)), shape=(num_nodes, num_nodes)
    ).tocsr()
    rows = Rows(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32, copy=False),
        None if binary else matrix.data,
    )
    return rows, None if edges.times is None else _earliest(rows, edges, edges.times)


def _earliest(rows: Rows, edges: EdgeList, times: NDArray[np.float64]) -> NDArray[np.float64]:
    """The earliest time of each entry among the edges that became it."""
    keys = _keys(rows.row_of_entry, rows.indices)
    entry = np.searchsorted(keys, _keys(edges.target, edges.source))
    earliest = np.full(len(keys), np.inf)
    np.minimum.at(earliest, entry, times)
    return earliest


def _keys(row: NDArray[np.int32], column: NDArray[np.int32]) -> NDArray[np.int64]:
    """A number for each entry that ascends by row, then by column."""
    return row.astype(np.int64) << 32 | column


def check_num_nodes(num_nodes: int) -> None:
    """There is a node, and positions fit."""
    if num_nodes < 1:
        raise InputError(
            "a graph needs at least one node, but got an empty graph; add a node or an edge"
        )
    if num_nodes > MAX_NODES:
        raise InputError(
            f"a graph holds at most {MAX_NODES:,} nodes, but got {num_nodes:,}; "
            "split it into components or sample it first"
        )


def edge_name(source: int, target: int, ids: NDArray[Any] | None) -> str:
    """What a person calls an edge."""
    ends = (source, target) if ids is None else (ids[source], ids[target])
    return f"the edge from {show(ends[:1])} to {show(ends[1:])}"


def first_outside(positions: NDArray[Any], count: int) -> int | None:
    """A position that is not in 0..count-1, or None."""
    for extreme in (positions.min, positions.max) if len(positions) else ():
        if not 0 <= (position := int(extreme())) < count:
            return position
    return None


def check_row_starts(indptr: NDArray[Any], num_entries: int) -> None:
    """The entries of a row follow those of the row before."""
    if indptr[0] != 0 or indptr[-1] != num_entries or np.any(np.diff(indptr) < 0):
        raise InputError(
            f"indptr must rise from 0 to the number of entries ({num_entries}), but it runs "
            f"from {indptr[0]} to {indptr[-1]} or falls in between; make the matrix again"
        )


def check_sparse(matrix: Any, what: str) -> None:
    """Compiled loops follow the positions in a compressed matrix wherever they lead.

    ``what`` says what its column numbers are.
    """
    if matrix.format not in ("csr", "csc", "bsr"):
        return  # SciPy itself looks at the others
    check_row_starts(matrix.indptr, len(matrix.indices))
    rows, columns = matrix.shape
    count = rows if matrix.format == "csc" else columns
    if matrix.format == "bsr":
        count //= matrix.blocksize[1]
    if (wrong := first_outside(matrix.indices, count)) is not None:
        raise InputError(
            f"{what} of a matrix of shape {rows} x {columns} must be in 0..{count - 1}, but one "
            f"is {wrong}; make the matrix again with the right shape"
        )


def check_weights(
    values: NDArray[np.float64], num_edges: int, *, place: Callable[[int], str] | None = None
) -> None:
    """Edge weights are one an edge, positive and finite; ``place`` says where an edge stands."""
    if len(values) != num_edges:
        raise InputError(
            f"there must be one weight an edge ({num_edges}), but got {len(values)}; "
            "drop the extra ones or fill the missing ones"
        )
    bad = ~((values > 0) & np.isfinite(values))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise InputError(
            "edge weights must be positive and finite, but "
            f"{'weight ' + str(at) if place is None else 'that of ' + place(at)} is {values[at]}; "
            "drop such edges or shift the weights, or ignore them with weight=None (--unweighted)"
        )
