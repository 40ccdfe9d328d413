"""From labels as users write them to codes and class names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autogm.errors import InputError

__all__ = ["Labels", "encode", "for_every_node"]

Labels = tuple[NDArray[Any], tuple[Any, ...]]


def encode(values: Sequence[Any] | NDArray[Any], *, column: str = "labels") -> Labels:
    """Codes and class names, classes ascending.

    None, NaN, the empty text and marks like NA are unlabelled; among integers -1 is too. Dates
    and times become their ISO text, so that every class is a number, a truth value or a text.
    Fractional numbers are regression targets and come back as they are, with no classes. An n x L
    array holds one 0/1 column a label.

    >>> encode(["b", None, "a"])
    (array([ 1, -1,  0]), ('a', 'b'))
    >>> encode([3, 7, -1])
    (array([ 0,  1, -1]), (3, 7))
    """
    array = np.asarray(values)
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        array = np.asarray(values, dtype=object)  # NumPy would have made text of NaN
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 2:
        return _multilabel(array, column)
    missing = _is_nothing(array)
    present = _alike(array[~missing])
    if present.dtype.kind == "M":
        present = np.datetime_as_string(present, unit="auto")
    elif present.dtype.kind in "mS":
        present = present.astype(str)
    if present.dtype.kind == "f" and np.isinf(present).any():
        raise InputError(f"{column!r} must hold classes or finite numbers, but one is inf; drop it")
    if present.dtype.kind == "f" and np.any(present != np.rint(present)):
        targets = np.full(len(array), np.nan)
        targets[~missing] = present
        return targets, ()
    if present.dtype.kind == "f":
        present = present.astype(np.int64)
    unlabelled = _is_unlabelled(present)
    missing[~missing] = unlabelled
    classes, codes = np.unique(present[~unlabelled], return_inverse=True)
    if len(classes) < 2:
        what = f"every label is {classes[0].item()!r}" if len(classes) else "no node has a label"
        raise InputError(
            f"{column!r} must hold at least two classes, but {what}; choose another label column"
        )
    result = np.full(len(array), -1, dtype=np.int64)
    result[~missing] = codes
    return result, tuple(classes.tolist())


def for_every_node(
    known: Mapping[Any, Any], positions: NDArray[np.int32], num_nodes: int
) -> list[Any]:
    """One label a node from labels of some nodes."""
    values: list[Any] = [None] * num_nodes
    for at, value in zip(positions.tolist(), known.values(), strict=True):
        values[at] = value
    return values


def _is_nothing(array: NDArray[Any]) -> NDArray[np.bool_]:
    """None and NaN."""
    if array.dtype.kind == "f":
        return np.asarray(np.isnan(array), dtype=bool)
    if array.dtype.kind in "mM":
        return np.asarray(np.isnat(array), dtype=bool)
    if array.dtype.kind == "O":
        return np.array([_is_missing(value) for value in array.tolist()], dtype=bool)
    return np.zeros(len(array), dtype=bool)


def _is_missing(value: Any) -> bool:
    # Only NaN-likes (float NaN, pandas' NA and NaT) differ from themselves or refuse to say.
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def _alike(present: NDArray[Any]) -> NDArray[Any]:
    """Objects as truth values or numbers where all are, else as text."""
    if present.dtype.kind != "O":
        return present
    values = present.tolist()
    numbers = all(isinstance(value, (int, float, np.number, np.bool_)) for value in values)
    return np.array(values if numbers else [_text(value) for value in values])


def _text(value: Any) -> str:
    return str(value.isoformat() if hasattr(value, "isoformat") else value)


def _is_unlabelled(present: NDArray[Any]) -> NDArray[np.bool_]:
    """-1 among integers; among texts, what tables write where there is no value."""
    if present.dtype.kind in "iu":
        return np.asarray(present == -1, dtype=bool)
    if present.dtype.kind in "US":
        return np.isin(present, ["", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null"])
    return np.zeros(len(present), dtype=bool)


def _multilabel(array: NDArray[Any], column: str) -> Labels:
    if array.dtype.kind == "f" and np.isnan(array).any():
        array = np.where(np.isnan(array), -1, array)
    if array.ndim != 2 or not np.isin(array, [-1, 0, 1]).all():
        raise InputError(
            f"{column!r} with one column a label must hold 0, 1 or -1 (unlabelled), "
            f"but its shape is {array.shape} with values {np.unique(array)[:5].tolist()}; "
            "give one class a node, or 1 where a node has the label"
        )
    return array.astype(np.int64), tuple(range(array.shape[1]))
