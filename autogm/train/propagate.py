"""A_k … A_1 X_0 for some rows: all that a linear algorithm needs of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from autogm.graph.features import Features
from autogm.message.field import Field
from autogm.message.lanes import padded
from autogm.message.product import Matrix, SparseRows, aligned, gather
from autogm.message.sample import Nodes

__all__ = ["propagated", "propagation_bytes"]

# Above this share of cells a product is cheaper dense.
_FULL = 0.1
# Columns that are propagated at a time: enough for long loops, few enough for memory.
_PANEL = 256


def propagated(field: Field, features: Features, *, threads: int | None = None) -> Features:
    """The rows of the field's targets; passed on sparse while they are, dense from then on."""
    rows = field.nodes[0]
    if isinstance(features, np.ndarray):
        return _in_panels(field.steps, features, rows, threads)
    x = features if np.array_equal(rows, np.arange(features.shape[0])) else features[rows]
    for i, step in enumerate(field.steps):
        if _share_after(step, x) > _FULL:
            return sparse.csr_array(_in_panels(field.steps[i:], x.tocsc(), None, threads))
        x = _as_scipy(step) @ x
        x.sort_indices()
    return x


def propagation_bytes(field: Field, features: Features) -> int:
    """What `propagated` takes at most while it runs, its result included."""
    most, width = max(len(level) for level in field.nodes), int(features.shape[1])
    panels = 3 * 4 * most * padded(min(width, _PANEL))
    result = 4 * len(field.nodes[-1]) * width
    if isinstance(features, np.ndarray):
        return panels + result
    entries = int(np.diff(features.indptr)[field.nodes[0]].sum())
    # The gathered rows by rows and by columns; what two steps leave while they are sparse.
    return panels + 3 * result + 24 * entries + int(24 * _FULL * most * width)


def _share_after(step: SparseRows, x: sparse.csr_array) -> float:
    """The most cells that can be filled after a step, as a share of all."""
    additions = float(np.diff(x.indptr)[step.indices].sum())
    return additions / max(1, step.num_rows * int(x.shape[1]))


def _in_panels(
    steps: Sequence[SparseRows], x: Any, rows: Nodes | None, threads: int | None
) -> Matrix:
    """Some columns at a time, through all steps; of all rows of ``x`` unless some are given."""
    width = int(x.shape[1])
    result = np.empty((steps[-1].num_rows, width), np.float32)
    most = max(steps[0].num_columns, *(step.num_rows for step in steps))
    buffers = [aligned(most, padded(min(width, _PANEL))) for _ in range(2)]
    for begin in range(0, width, _PANEL):
        panel = x[slice(None) if rows is None else rows, begin : begin + _PANEL]
        columns = padded(panel.shape[1])
        here, there = (buffer.reshape(-1)[: most * columns] for buffer in buffers)
        here, there = here.reshape(most, columns), there.reshape(most, columns)
        here[: panel.shape[0], panel.shape[1] :] = 0
        dense = panel if isinstance(panel, np.ndarray) else panel.toarray(order="C")
        here[: panel.shape[0], : panel.shape[1]] = dense
        for step in steps:
            gather(step, here[: step.num_columns], there[: step.num_rows], threads=threads)
            here, there = there, here
        result[:, begin : begin + _PANEL] = here[: len(result), : panel.shape[1]]
    return result


def _as_scipy(step: SparseRows) -> sparse.csr_array:
    """A field's rows stand one behind the other, as `SparseRows.of` lays them down."""
    indptr = np.concatenate([[0], step.last])
    return sparse.csr_array(
        (step.values, step.indices, indptr), shape=(step.num_rows, step.num_columns)
    )
