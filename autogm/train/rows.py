"""X W for some rows X of a matrix, with and without dropout, sparse or dense."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autogm.graph.features import Features
from autogm.message.dense import multiply, multiply_transposed
from autogm.message.kernel import fused
from autogm.message.lanes import LANES
from autogm.message.product import Matrix, gather_rows
from autogm.message.sample import Nodes
from autogm.train.dropout import drop, gather_kept, scatter_kept
from autogm.train.layout import take

__all__ = [
    "FeatureRows",
    "dense_cells",
    "feature_rows",
    "kept_size",
    "kept_times",
    "kept_transposed_times",
    "product_cost",
    "times",
]

# A multiplication of a sparse product costs as much as so many of a dense one.
_SPARSE_COST = 2.5


class FeatureRows(NamedTuple):
    """Rows of a sparse matrix, or of a dense one; dropout is keyed by the nodes they stand for.

    ``dense`` is empty where they are sparse.
    """

    nodes: Nodes
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]
    dense: Matrix

    @property
    def cost(self) -> float:
        """Of a product with one column."""
        entries = int((self.last - self.first).sum())
        return product_cost(entries) + product_cost(self.dense.size, dense=True)

    @property
    def num_bytes(self) -> int:
        """What is held besides the features themselves."""
        return 24 * len(self.nodes) + self.dense.nbytes


def feature_rows(
    features: Features, rows: Nodes, nodes: Nodes | None = None, *, kept: float = 1.0
) -> FeatureRows:
    """Rows standing for ``nodes`` (the same unless given), in the cheaper form."""
    nodes = rows if nodes is None else nodes
    if isinstance(features, np.ndarray):
        return _dense(features if _is_whole(rows, features) else features[rows], nodes)
    if dense_cells(features, rows, kept=kept):
        return _dense(features[rows].toarray(), nodes)
    first, last = (features.indptr[rows + i].astype(np.int64) for i in (0, 1))
    indices = features.indices.astype(np.int32, copy=False)
    return _frozen(nodes, first, last, indices, features.data, np.empty((0, 0), np.float32))


def dense_cells(features: Features, rows: Nodes, *, kept: float = 1.0) -> int:
    """How many cells these rows have if they are cheaper dense, else 0.

    Dropout keeps a share of their entries; a sparse product skips the others, a dense one cannot.
    """
    cells = len(rows) * int(features.shape[1])
    if isinstance(features, np.ndarray):
        return cells
    entries = int((features.indptr[rows + 1] - features.indptr[rows]).sum())
    return cells if product_cost(cells, dense=True) < kept * product_cost(entries) else 0


def product_cost(entries: int, *, dense: bool = False) -> float:
    """What a product with one column costs, in multiplications of a sparse one."""
    return entries / _SPARSE_COST if dense else float(entries)


def _is_whole(rows: Nodes, features: Matrix) -> bool:
    return len(rows) == len(features) and bool(np.all(np.diff(rows) == 1))


def _dense(matrix: Matrix, nodes: Nodes) -> FeatureRows:
    nothing = np.empty(0, np.int64)
    matrix = np.ascontiguousarray(matrix)
    none = (np.empty(0, np.int32), np.empty(0, np.float32))
    return _frozen(nodes, nothing, nothing, *none, matrix)


def _frozen(*arrays: NDArray[Any]) -> FeatureRows:
    """Read-only as those of a graph are: for arrays that are not, all would be compiled again."""
    views = [array.view() for array in arrays]
    for view in views:
        view.flags.writeable = False
    return FeatureRows(*views)


@fused
def times(rows: Any, weight: Any, out: Any) -> None:
    """out = X weight."""
    if len(rows.dense):
        multiply(rows.dense, weight, out)
    else:
        gather_rows(0, len(out), rows.first, rows.last, rows.indices, rows.values, weight, out)


@fused
def kept_size(rows: Any) -> Any:
    """How many numbers `kept_times` leaves for `kept_transposed_times`, in whole registers."""
    return (rows.dense.size + LANES - 1) // LANES * LANES


@fused
def kept_times(rows: Any, dropout: Any, key: Any, weight: Any, out: Any, scratch: Any) -> None:
    """out = dropout(X) weight; what is kept of dense rows is left in ``scratch``."""
    if len(rows.dense):
        kept, _ = take(scratch, 0, len(rows.dense), rows.dense.shape[1])
        drop(rows.dense, rows.nodes, dropout, key, kept)
        multiply(kept, weight, out)
    else:
        gather_kept(rows, dropout, key, weight, out)


@fused
def kept_transposed_times(
    rows: Any, dropout: Any, key: Any, source: Any, out: Any, scratch: Any
) -> None:
    """out = dropout(X)ᵀ source, after `kept_times` with the same key and scratch."""
    if len(rows.dense):
        kept, _ = take(scratch, 0, len(rows.dense), rows.dense.shape[1])
        multiply_transposed(kept, source, out)
    else:
        scatter_kept(rows, dropout, key, source, out)
