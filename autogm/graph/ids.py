"""Original ids and the positions they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from autogm.errors import InputError, optional, show

__all__ = ["IdIndex", "number", "stable_keys"]

Positions = NDArray[np.int32]


class IdIndex:
    """Finds the positions of ids; integers and text alike, without a Python loop over ids."""

    def __init__(self, ids: NDArray[Any]) -> None:
        self._ids = ids
        self._table: Positions | None = None
        self._order: NDArray[np.intp] | None = None
        self._ascends = len(ids) < 2 or bool(np.all(ids[1:] > ids[:-1]))
        is_integer = ids.dtype.kind in "iu"
        self._is_range = is_integer and np.array_equal(ids, np.arange(len(ids)))
        if self._is_range:
            return
        if is_integer and _is_dense(ids, entries=4 * len(ids)):
            self._table = np.full(int(ids.max()) + 1, -1, dtype=np.int32)
            self._table[ids] = np.arange(len(ids), dtype=np.int32)
        elif not self._ascends:
            self._order = np.argsort(ids, kind="stable")

    def duplicates(self) -> NDArray[Any]:
        """The ids that stand more than once."""
        if self._ascends:
            return self._ids[:0]
        ids = np.sort(self._ids) if self._order is None else self._ids[self._order]
        return np.unique(ids[1:][ids[1:] == ids[:-1]])

    def find(self, wanted: NDArray[Any]) -> tuple[Positions, NDArray[np.bool_]]:
        """Positions of the wanted ids, and which of them are known."""
        wanted = _as_kind_of(self._ids, wanted)
        if self._table is None and not self._is_range:
            at = np.searchsorted(self._ids, wanted, sorter=self._order)
            at = np.minimum(at, len(self._ids) - 1)
            found = (at if self._order is None else self._order[at]).astype(np.int32)
            return found, np.asarray(self._ids[found] == wanted)
        size = len(self._ids) if self._table is None else len(self._table)
        known = (wanted >= 0) & (wanted < size)
        found = wanted if known.all() else np.where(known, wanted, 0)
        if self._table is not None:
            found = self._table[found]
            known &= found >= 0
        return found.astype(np.int32, copy=False), known

    def require(self, wanted: NDArray[Any], *, owner: str = "the graph") -> Positions:
        """Positions of the ids; ids that are not there are an error."""
        return self.require_each(wanted, owner=owner)[0]

    def require_each(self, *wanted: NDArray[Any], owner: str = "the graph") -> list[Positions]:
        """`require` for several arrays, whose unknown ids are told together."""
        found = [self.find(ids) for ids in wanted]
        if not all(known.all() for _, known in found):
            parts = zip(wanted, found, strict=True)
            strange = np.unique(np.concatenate([ids[~known] for ids, (_, known) in parts]))
            raise InputError(
                f"every node id must be in {owner}, but {len(strange)} "
                f"{'is' if len(strange) == 1 else 'are'} not: {show(strange)}; "
                f"its ids look like {show(self._ids)}"
            )
        return [positions for positions, _ in found]


def number(ends: list[NDArray[Any]]) -> NDArray[np.int64]:
    """Replace the integer ids at the ends of edges by positions; return the ids, ascending.

    The list is changed in place and one end after the other, so that both forms of an end are held
    for one of them at a time.
    """
    if len(ends[0]) == 0:
        ids = np.empty(0, np.int64)
    elif all(_is_dense(end, entries=len(end)) for end in ends):
        present = np.zeros(max(int(end.max()) for end in ends) + 1, dtype=bool)
        for end in ends:
            present[end] = True
        ids = np.flatnonzero(present).astype(np.int64)
        if len(ids) < len(present):
            position = np.cumsum(present, dtype=np.int32) - np.int32(1)
            for i, end in enumerate(ends):
                ends[i] = position[end]
    else:
        return _number_sparse(ends)
    for i, end in enumerate(ends):
        ends[i] = end.astype(np.int32, copy=False)
    return ids


def _number_sparse(ends: list[NDArray[Any]]) -> NDArray[np.int64]:
    """With PyArrow's hash tables: a fifth of the time of sorting and binary search."""
    arrow = optional("pyarrow", extra="search", purpose="numbering ids")
    compute = optional("pyarrow.compute", extra="search", purpose="numbering ids")
    columns = [arrow.array(end.astype(np.int64, copy=False)) for end in ends]
    distinct = arrow.chunked_array(columns).unique()
    distinct = distinct.take(compute.sort_indices(distinct))
    # The table of `unique` must not stand beside that of `index_in`.
    arrow.default_memory_pool().release_unused()
    ends.clear()
    while columns:
        ends.append(compute.index_in(columns.pop(0), value_set=distinct).to_numpy())
    arrow.default_memory_pool().release_unused()
    return np.array(distinct.to_numpy(), dtype=np.int64)


def stable_keys(ids: NDArray[Any]) -> NDArray[np.uint64]:
    """The 64-bit number that stands for an id wherever it appears, in sampling.

    An integer stands for itself. Text is hashed by FNV-1a over its code points, one 32-bit unit a
    step, and mixed once more; the length is not part of the text's array, so neither of the hash.
    """
    if ids.dtype.kind in "iu":
        return ids.astype(np.int64).view(np.uint64)
    units = np.ascontiguousarray(ids).view(np.uint32).reshape(len(ids), -1)
    keys = np.full(len(ids), 0xCBF29CE484222325, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for unit in units.T:
            step = (keys ^ unit) * np.uint64(0x100000001B3)
            keys = np.where(unit > 0, step, keys)
        keys ^= keys >> np.uint64(32)
        keys *= np.uint64(0xBF58476D1CE4E5B9)
        keys ^= keys >> np.uint64(29)
    return keys


def _is_dense(ids: NDArray[Any], *, entries: int) -> bool:
    """Whether a table with one place for each number up to the largest id is worth its memory."""
    return len(ids) > 0 and int(ids.min()) >= 0 and int(ids.max()) < entries + 1024


def _as_kind_of(ids: NDArray[Any], wanted: NDArray[Any]) -> NDArray[Any]:
    """Ids typed as text find integer ids and the other way round: "7" is 7."""
    if ids.dtype.kind == "U":
        return wanted if wanted.dtype.kind == "U" else wanted.astype(str)
    if wanted.dtype.kind in "iu":
        return wanted
    integers = [_integer(value) for value in wanted.tolist()]
    if None in integers:
        strange = wanted[integers.index(None)]
        raise InputError(
            f"node ids of this graph are integers like {show(ids)}, but got {show([strange])}; "
            "give the ids as they stand in the node table"
        )
    return np.array(integers, dtype=np.int64)


def _integer(value: Any) -> int | None:
    """The integer that a number is or a text writes; 007 is another id than 7."""
    try:
        integer = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    is_same = str(integer) == value if isinstance(value, str) else integer == value
    return integer if is_same and -(2**63) <= integer < 2**63 else None
