"""Sparse times dense, sixteen columns at a time, in float32."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from autogm.message.kernel import chunks, fused, num_threads, run
from autogm.message.lanes import LANES, fma, load, spread, store

__all__ = [
    "Matrix",
    "SparseRows",
    "aligned",
    "gather",
    "gather_rows",
    "row_parts",
    "scatter_columns",
    "worth_threads",
]

Matrix = NDArray[np.float32]

# Handing work to another thread costs as much as about so many multiplications.
_LARGE = 1 << 21


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


def row_parts(indptr: NDArray[np.int64]) -> list[slice]:
    return chunks(indptr, smallest=1 << 14, most=16)


def worth_threads(multiplications: int, threads: int | None) -> int:
    """How many threads to use: one where handing work over costs more than it saves."""
    return (num_threads() if threads is None else threads) if multiplications >= _LARGE else 1


def aligned(num_rows: int, width: int) -> Matrix:
    """An empty matrix that starts where a cache line does.

    A register is as long as a cache line; rows that lie across two take twice as long to load.
    """
    memory = np.empty(num_rows * width + LANES, np.float32)
    start = -memory.ctypes.data % (4 * LANES) // 4
    return memory[start : start + num_rows * width].reshape(num_rows, width)


def gather(matrix: SparseRows, source: Matrix, out: Matrix, *, threads: int | None = None) -> None:
    """out = matrix @ source; both are as wide as a multiple of sixteen."""
    threads = worth_threads(len(matrix.indices) * source.shape[1], threads)
    parts = matrix.parts if threads > 1 else [slice(0, matrix.num_rows)]
    run(gather_rows, parts, *matrix[:4], source, out, threads=threads)


@fused
def gather_rows(start, stop, first, last, indices, values, source, out):  # type: ignore[no-untyped-def]
    """out = matrix @ source for some rows, four registers at a time, then one."""
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
def scatter_columns(start, stop, first, last, indices, values, source, out):  # type: ignore[no-untyped-def]
    """out += matrixᵀ @ source for columns ``start`` to ``stop``, four registers at a time."""
    wide = start + (stop - start) // 64 * 64
    for c in range(start, wide, 64):
        for r in range(len(first)):
            a0, a1 = load(source, r, c), load(source, r, c + 16)
            a2, a3 = load(source, r, c + 32), load(source, r, c + 48)
            for e in range(first[r], last[r]):
                u, value = np.int64(indices[e]), spread(values[e])
                store(out, u, c, fma(value, a0, load(out, u, c)))
                store(out, u, c + 16, fma(value, a1, load(out, u, c + 16)))
                store(out, u, c + 32, fma(value, a2, load(out, u, c + 32)))
                store(out, u, c + 48, fma(value, a3, load(out, u, c + 48)))
    for c in range(wide, stop, 16):
        for r in range(len(first)):
            a0 = load(source, r, c)
            for e in range(first[r], last[r]):
                u = np.int64(indices[e])
                store(out, u, c, fma(spread(values[e]), a0, load(out, u, c)))
