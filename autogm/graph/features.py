"""Node features: sparse or dense, as they come, in float32."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from autogm.errors import InputError
from autogm.graph.edges import check_sparse

__all__ = ["Features", "as_features", "normalize_rows"]

Features: TypeAlias = NDArray[np.float32] | sparse.csr_array


def as_features(values: Any) -> Features:
    """A copy in float32: CSR where the values are sparse, else dense."""
    if sparse.issparse(values):
        check_sparse(values, "feature columns")
        with np.errstate(over="ignore"):
            matrix = sparse.csr_array(values, dtype=np.float32, copy=True)
        _check_overflow(matrix.data, values)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        return matrix
    try:
        with np.errstate(over="ignore"):
            features = np.array(values, dtype=np.float32, ndmin=2, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(
            f"features must be a matrix of numbers, but {error}; leave other columns out"
        ) from None
    _check_overflow(features, values)
    return features


def _check_overflow(narrow: NDArray[np.float32], values: Any) -> None:
    """A number that is finite, and beyond float32, is told as it was given."""
    if not np.isinf(narrow).any():
        return
    given = sparse.coo_array(values).data if sparse.issparse(values) else np.asarray(values, float)
    large = given[np.isfinite(given) & (np.abs(given) > np.finfo(np.float32).max)]
    if len(large):
        raise InputError(
            f"features must be below 3.4e38, as float32 is, but one is {large[0]}; "
            "scale its column first"
        )


def normalize_rows(features: Features) -> Features:
    """Divide each row by its sum; rows that sum to zero stay as they are.

    >>> normalize_rows(np.array([[1, 3], [0, 0]], dtype=np.float32))
    array([[0.25, 0.75],
           [0.  , 0.  ]], dtype=float32)
    """
    sums = np.asarray(features.sum(axis=1), dtype=np.float64).ravel()
    scale = np.divide(1, sums, out=np.ones_like(sums), where=sums != 0).astype(np.float32)
    if isinstance(features, np.ndarray):
        return features * scale[:, None]
    data = features.data * np.repeat(scale, np.diff(features.indptr))
    return sparse.csr_array((data, features.indices, features.indptr), shape=features.shape)
