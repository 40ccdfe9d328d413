"""What a plan reads: aggregation matrices and features, without what need not be stored.

Where edges have no weights, every A_agg is (row scale) B (column scale) with B of ones, so that no
value array is read: what a row is multiplied with, and what its messages are multiplied with in the
next step, come together in one number a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autogm.algorithm import ALL, Algorithm
from autogm.graph import Graph, Rows
from autogm.graph.features import Features
from autogm.message.aggregate import aggregate
from autogm.message.lanes import padded
from autogm.message.product import Matrix, aligned
from autogm.message.sample import neighbours, sample, step_key

__all__ = ["Aggregations", "FeatureMatrix", "Scale", "aggregations", "feature_matrix"]

Scale = NDArray[np.float32]
"""One number a row; empty where all are one."""

_NOTHING: Scale = np.empty(0, np.float32)
_NOTHING.flags.writeable = False

# A multiplication of a product with sparse features costs as much as so many of a dense one: wide
# dense products stay in registers, narrow ones wait for their loads.
_SPARSE_COST_WIDE, _SPARSE_COST_NARROW, _WIDE = 3.5, 2.0, 64


@dataclass(frozen=True, eq=False)
class Aggregations:
    """B of all k steps; steps that are equal stand once.

    ``indptr`` is one row of offsets a distinct step; ``values`` is empty where all entries are one.
    ``row`` and ``column`` hold a scale for each distinct step, or none.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]
    loop: bool
    row: tuple[Scale, ...]
    column: tuple[Scale, ...]
    k: int

    @property
    def num_rows(self) -> int:
        return int(self.indptr.shape[1]) - 1

    def matrix_of(self, step: int) -> int:
        """Which of the distinct ones is the step's; steps count from 1."""
        return min(step, len(self.row)) - 1

    def num_entries(self, step: int) -> int:
        """Additions of the step: entries, and the self-loops that are not stored."""
        rows = self.indptr[self.matrix_of(step)]
        return int(rows[-1] - rows[0]) + self.loop * self.num_rows

    def before(self) -> Scale:
        """What messages are multiplied with on their way into step 1."""
        return self.column[0] if self.k else _NOTHING

    def scale(self, step: int) -> Scale:
        """What step's sums are multiplied with: its own rows', and the next step's columns'."""
        own = self.row[self.matrix_of(step)]
        if step == self.k or not len(own):
            return own
        following = self.column[self.matrix_of(step + 1)]
        return self._product(self.matrix_of(step), own, following)

    @cached_property
    def _products(self) -> dict[int, Scale]:
        return {}

    def _product(self, i: int, own: Scale, following: Scale) -> Scale:
        """Steps that are equal share theirs."""
        if not len(following):
            return own
        if i not in self._products:
            product = own * following
            product.flags.writeable = False
            self._products[i] = product
        return self._products[i]

    @property
    def num_bytes(self) -> int:
        arrays: list[NDArray[Any]] = [self.indptr, self.indices, self.values]
        arrays += [*self.row, *self.column]
        return sum(part.nbytes for part in arrays)


def aggregations(
    graph: Graph, algorithm: Algorithm, *, sample_seed: int = 0, oversample: bool = False
) -> Aggregations:
    """All steps' matrices at inference, with their draws."""
    drawn = _draws(graph, algorithm, sample_seed, oversample)
    if all(each.values is None for each in drawn):
        sums = [np.diff(each.indptr) + float(algorithm.self_loop) for each in drawn]
        row, column = _POWERS[algorithm.normalization]
        scales = [(_power(each, row), _power(each, column)) for each in sums]
        return _laid_down(drawn, scales, algorithm.k, loop=algorithm.self_loop)
    # Weights may be of any size: their products with both scales are taken in double precision.
    finished = [aggregate(each, algorithm.a) for each in drawn]
    rows = [Rows(m.indptr.astype(np.int64), m.indices, m.data) for m in finished]
    return _laid_down(rows, [(_NOTHING, _NOTHING)] * len(rows), algorithm.k, loop=False)


_POWERS = {"A": (-1.0, 0.0), "S": (-0.5, -0.5), "N": (0.0, 0.0)}


def _draws(graph: Graph, algorithm: Algorithm, sample_seed: int, oversample: bool) -> list[Rows]:
    """What each step draws; once where all steps draw the same."""
    if algorithm.k == 0:
        return [Rows(np.zeros(graph.num_nodes + 1, np.int64), np.empty(0, np.int32))]
    rows = neighbours(graph)
    most = int(np.diff(rows.indptr).max(initial=0))
    if algorithm.w == ALL or (algorithm.w >= most and not oversample):
        return [rows]
    return [
        sample(
            rows,
            algorithm.w,
            key=step_key(sample_seed, step),
            stable_keys=graph.stable_keys,
            oversample=oversample,
        )
        for step in range(1, algorithm.k + 1)
    ]


def _laid_down(
    drawn: list[Rows], scales: list[tuple[Scale, Scale]], k: int, *, loop: bool
) -> Aggregations:
    before = np.cumsum([0, *(len(each.indices) for each in drawn)])[:-1]
    indptr = [each.indptr + at for each, at in zip(drawn, before, strict=True)]
    return Aggregations(
        indptr=_frozen(np.stack(indptr)),
        indices=_frozen(_joined([each.indices for each in drawn])),
        values=_frozen(_joined([_values(each) for each in drawn])),
        loop=loop,
        row=tuple(row for row, _ in scales),
        column=tuple(column for _, column in scales),
        k=k,
    )


def _power(sums: NDArray[np.float64], exponent: float) -> Scale:
    if exponent == 0:
        return _NOTHING
    powers = np.zeros(len(sums))
    np.power(sums, exponent, out=powers, where=sums > 0)
    return _frozen(powers.astype(np.float32))


def _values(rows: Rows) -> NDArray[np.float32]:
    return _NOTHING if rows.values is None else rows.values.astype(np.float32)


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


class FeatureMatrix(NamedTuple):
    """X_0 by rows or, where ``dense`` has rows, dense; each row times its ``scale``.

    ``nonzeros`` and ``num_bytes`` are those of the smaller form, as they are counted.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]
    scale: Scale
    dense: Matrix
    width: int
    nonzeros: int
    num_bytes: int

    @property
    def num_rows(self) -> int:
        return max(len(self.indptr) - 1, len(self.dense))

    @property
    def is_dense(self) -> bool:
        return len(self.dense) > 0


def feature_matrix(features: Features, *, width: int = _WIDE) -> FeatureMatrix:
    """The form in which a product with ``width`` columns costs least.

    Rows of equal entries need no values.
    """
    if isinstance(features, np.ndarray):
        return _dense(features, features.size, features.nbytes)
    indptr = features.indptr.astype(np.int64)
    scale = _scale_of_equal_rows(indptr, features.data)
    values = features.data if scale is None else _NOTHING
    scale = _NOTHING if scale is None else scale
    indices = features.indices.astype(np.int32, copy=False)
    num_bytes = sum(part.nbytes for part in (indptr, indices, values, scale))
    cost = _SPARSE_COST_WIDE if width >= _WIDE else _SPARSE_COST_NARROW
    if features.nnz * cost > features.shape[0] * features.shape[1]:
        return _dense(features.toarray(), features.nnz, num_bytes)
    nothing = np.empty((0, 0), np.float32)
    parts = [_frozen(part) for part in (indptr, indices, values, scale, nothing)]
    counted = (features.shape[1], features.nnz, num_bytes)
    return FeatureMatrix(parts[0], parts[1], parts[2], parts[3], parts[4], *counted)


def _scale_of_equal_rows(indptr: NDArray[np.int64], data: NDArray[np.float32]) -> Scale | None:
    """The one value of each row, if every row has one; empty if that is 1 everywhere."""
    filled = np.diff(indptr) > 0
    scale = np.ones(len(filled), np.float32)
    scale[filled] = data[indptr[:-1][filled]]
    if not np.array_equal(np.repeat(scale, np.diff(indptr)), data):
        return None
    return _NOTHING if np.all(scale == 1) else scale


def _dense(features: Matrix, nonzeros: int, num_bytes: int) -> FeatureMatrix:
    """Rows begin on a cache line and are as wide as whole registers."""
    width = int(features.shape[1])
    if width % 16 or not features.flags.c_contiguous:
        made = aligned(len(features), padded(width))
        made[:, :width] = features
        made[:, width:] = 0
        features = made
    no_rows, no_entries = np.zeros(1, np.int64), np.empty(0, np.int32)
    features = _frozen(features)
    parts = (_frozen(no_rows), _frozen(no_entries), _NOTHING, _NOTHING, features)
    return FeatureMatrix(*parts, width, nonzeros, num_bytes)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Read-only: for arrays that are not, kernels would be compiled again."""
    view = array.view()
    view.flags.writeable = False
    return view
