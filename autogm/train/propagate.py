"""A_k … A_1 X_0 for some rows: all that a linear algorithm needs of the graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from autogm.graph.features import Features
from autogm.message.field import Field
from autogm.message.lanes import padded
from autogm.message.product import Matrix, SparseRows, aligned, gather

__all__ = ["propagated"]

# Above this share of cells a product is cheaper dense.
_FULL = 0.1
# Columns that are propagated at a time: enough for long loops, few enough for memory.
_PANEL = 256


def propagated(field: Field, features: Features) -> Features:
    """The rows of the field's targets; passed on sparse while they are, dense from then on."""
    x = features if len(field.nodes[0]) == features.shape[0] else features[field.nodes[0]]
    for i, step in enumerate(field.steps):
        if isinstance(x, np.ndarray) or _share_after(step, x) > _FULL:
            made = _in_panels(field.steps[i:], x)
            return made if isinstance(features, np.ndarray) else sparse.csr_array(made)
        x = _as_scipy(step) @ x
        x.sort_indices()
    return x


def _share_after(step: SparseRows, x: sparse.csr_array) -> float:
    """The most cells that can be filled after a step, as a share of all."""
    additions = float(np.diff(x.indptr)[step.indices].sum())
    return additions / max(1, step.num_rows * int(x.shape[1]))


def _in_panels(steps: Sequence[SparseRows], x: Features) -> Matrix:
    """Some columns at a time, through all steps."""
    width = int(x.shape[1])
    by_column = x if isinstance(x, np.ndarray) else x.tocsc()
    result = np.empty((steps[-1].num_rows, width), np.float32)
    most = max(x.shape[0], *(step.num_rows for step in steps))
    buffers = [aligned(most, padded(min(width, _PANEL))) for _ in range(2)]
    for begin in range(0, width, _PANEL):
        panel = by_column[:, begin : begin + _PANEL]
        columns = padded(panel.shape[1])
        here, there = (buffer.reshape(-1)[: most * columns] for buffer in buffers)
        here, there = here.reshape(most, columns), there.reshape(most, columns)
        here[: x.shape[0]] = 0
        dense = panel if isinstance(panel, np.ndarray) else panel.toarray(order="C")
        here[: x.shape[0], : panel.shape[1]] = dense
        for step in steps:
            gather(step, here[: step.num_columns], there[: step.num_rows])
            here, there = there, here
        result[:, begin : begin + _PANEL] = here[: len(result), : panel.shape[1]]
    return result


def _as_scipy(step: SparseRows) -> sparse.csr_array:
    indptr = np.concatenate([[0], step.last])
    return sparse.csr_array(
        (step.values, step.indices, indptr), shape=(step.num_rows, step.num_columns)
    )
