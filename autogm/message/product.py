"""Sparse times dense, sixteen columns at a time, in float32."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from autogm.message.kernel import chunks, fused, num_threads, run
from autogm.message.lanes import fma, load, spread, store

__all__ = ["Matrix", "SparseRows", "gather", "multiply", "multiply_transposed", "row_parts"]

Matrix = NDArray[np.float32]

# Handing work to another thread costs as much as about so many multiplications.
_LARGE = 1 << 21
# Rows of a dense product that one thread takes; fixed, so that sums do not depend on threads.
_BLOCK = 1 << 13


class SparseRows(NamedTuple):
    """A float32 matrix by rows: entries ``first[r]`` up to ``last[r]`` belong to row r.

    Rows need not stand next to each other, so that some rows of a matrix are a view of it, and
    entries can be left out in place. ``parts`` are stretches of rows with equal work.
    """

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]
    num_columns: int
    parts: list[slice]

    @classmethod
    def of(
        cls,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float32],
        num_columns: int,
    ) -> SparseRows:
        return cls(indptr[:-1], indptr[1:], indices, values, num_columns, row_parts(indptr))

    @property
    def num_rows(self) -> int:
        return len(self.first)

    @property
    def num_entries(self) -> int:
        return int((self.last - self.first).sum())

    def transposed(self) -> SparseRows:
        """By columns; entries of a column stay in row order."""
        counts = np.zeros(self.num_columns + 1, dtype=np.int64)
        _count(self.first, self.last, self.indices, counts)
        indptr = np.cumsum(counts)
        indices = np.empty(indptr[-1], dtype=np.int32)
        values = np.empty(indptr[-1], dtype=np.float32)
        _turn(self.first, self.last, self.indices, self.values, indptr.copy(), indices, values)
        return SparseRows.of(indptr, indices, values, self.num_rows)


def row_parts(indptr: NDArray[np.int64]) -> list[slice]:
    return chunks(indptr, smallest=1 << 14, most=16)


def gather(matrix: SparseRows, source: Matrix, out: Matrix, *, threads: int | None = None) -> None:
    """out = matrix @ source; both are as wide as a multiple of sixteen."""
    threads = num_threads() if threads is None else threads
    large = len(matrix.parts) > 1 and len(matrix.indices) * source.shape[1] >= _LARGE
    parts = matrix.parts if large and threads > 1 else [slice(0, matrix.num_rows)]
    entries = (matrix.first, matrix.last, matrix.indices, matrix.values)
    run(_gather, parts, *entries, source, out, threads=threads)


def multiply(a: Matrix, b: Matrix, out: Matrix, *, threads: int = 1) -> None:
    """out = a @ b, by blocks of rows."""

    def block(start: int, stop: int) -> None:
        np.matmul(a[start:stop], b, out=out[start:stop])

    run(block, _blocks(len(a)), threads=threads)


def multiply_transposed(a: Matrix, b: Matrix, out: Matrix, *, threads: int = 1) -> None:
    """out = aᵀ @ b; sums over blocks of rows are added in their order."""
    if len(a) <= _BLOCK:
        np.matmul(a.T, b, out=out)
        return
    blocks = _blocks(len(a))
    out[:] = 0
    for some in (blocks[i : i + 8] for i in range(0, len(blocks), 8)):
        for part in run(lambda start, stop: a[start:stop].T @ b[start:stop], some, threads=threads):
            out += part


def _blocks(num_rows: int) -> list[slice]:
    return [slice(i, min(i + _BLOCK, num_rows)) for i in range(0, max(num_rows, 1), _BLOCK)]


@fused
def _gather(start, stop, first, last, indices, values, source, out):  # type: ignore[no-untyped-def]
    """Four registers wide, then one; a loop over columns inside the loop over entries."""
    width = source.shape[1]
    wide = width // 64 * 64
    zero = spread(np.float32(0))
    for r in range(start, stop):
        for c in range(0, wide, 64):
            a0, a1, a2, a3 = zero, zero, zero, zero
            for e in range(first[r], last[r]):
                u, value = np.int64(indices[e]), spread(values[e])
                a0 = fma(value, load(source, u, c), a0)
                a1 = fma(value, load(source, u, c + 16), a1)
                a2 = fma(value, load(source, u, c + 32), a2)
                a3 = fma(value, load(source, u, c + 48), a3)
            store(out, r, c, a0)
            store(out, r, c + 16, a1)
            store(out, r, c + 32, a2)
            store(out, r, c + 48, a3)
        for c in range(wide, width, 16):
            a0 = zero
            for e in range(first[r], last[r]):
                a0 = fma(spread(values[e]), load(source, np.int64(indices[e]), c), a0)
            store(out, r, c, a0)


@fused
def _count(first, last, indices, counts):  # type: ignore[no-untyped-def]
    for r in range(len(first)):
        for e in range(first[r], last[r]):
            counts[indices[e] + 1] += 1


@fused
def _turn(first, last, indices, values, at, out_indices, out_values):  # type: ignore[no-untyped-def]
    for r in range(len(first)):
        for e in range(first[r], last[r]):
            c = indices[e]
            out_indices[at[c]] = r
            out_values[at[c]] = values[e]
            at[c] += 1
