"""Edge and node tables into a graph."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autogm.errors import InputError, show
from autogm.graph import labels as label_codes
from autogm.graph.edges import EdgeList, check_weights, compress
from autogm.graph.features import as_features, normalize_rows
from autogm.graph.graph import Graph
from autogm.graph.ids import IdIndex, number
from autogm.graph.reader import (
    TableLike,
    TableReader,
    arrow,
    as_float64,
    as_ids,
    as_numpy,
    as_text,
    compute,
    looks_numeric,
    require_ids,
    written_integers,
)
from autogm.graph.splits import Splits

__all__ = ["from_tables"]

_ENDS = (("source", "target"), ("from", "to"), ("src", "dst"))


def _named(reader: TableReader, name: str) -> str | None:
    """The column that a convention names, in whatever case it is written."""
    return next((column for column in reader.names if column.lower() == name), None)


def from_tables(
    edges: TableLike,
    nodes: TableLike | None = None,
    *,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = "weight",
    time: str | None = None,
    id: str | None = None,
    label: str | None = None,
    features: Sequence[str] | None = None,
    split: str | None = None,
    directed: bool = False,
    row_normalize: bool = False,
) -> Graph:
    """A graph from an edge table and, where there is one, a node table.

    Edges run from ``source`` to ``target``: columns of these names, from/to, src/dst, or the
    first two. A column named like ``weight`` is read where there is one (None: never). The node
    id is the column ``id`` or the first; ``features`` are the other numeric columns unless
    chosen; a column ``name`` is what people are shown; ``split`` says train, val or test.
    Weights of duplicate edges add up; where ``directed`` is False, an edge in each direction is a
    duplicate too. Missing labels are unlabelled. Ids of a text table are integers where each is
    written as one, else text as it stands there. Without a node table the nodes are the ids at the
    ends of edges, ascending.

    >>> edges = {"source": ["a", "b", "b"], "target": ["b", "c", "d"]}
    >>> nodes = {"id": ["a", "b", "c", "d"], "age": [31, 45, 28, 60], "team": ["x", "y", "x", None]}
    >>> g = from_tables(edges, nodes, label="team")
    >>> g
    Graph(4 nodes, 3 edges, undirected, 1 features, 2 classes)
    >>> g.labels, g.classes
    (array([ 0,  1,  0, -1]), ('x', 'y'))
    """
    if features is not None and not _are_names(features):
        raise InputError(
            f"features must be a list of column names like ['age'], but got {features!r}; "
            "leave it out to take all numeric columns"
        )
    edge_reader = TableReader(edges, role="edges")
    columns = _EdgeColumns.choose(edge_reader, source, target, weight, time)
    fields: dict[str, Any] = {}
    node_ids, owner = None, "the graph"
    if nodes is not None:
        node_reader = TableReader(nodes, role="nodes")
        owner = node_reader.what
        fields = _node_fields(node_reader, id=id, label=label, features=features, split=split)
        node_ids = fields["ids"]
    elif label or features or split:
        asked = [name for name in (label, *(features or ()), split) if name]
        raise InputError(
            f"{show(asked)} must be a column of the node table, but there is none; give nodes="
        )
    is_text = node_ids is not None and node_ids.dtype.kind == "U"
    read = _Edges.read(edge_reader, columns, text_ids=is_text)
    edge_list, fields["ids"] = read.locate(node_ids, owner)
    rows, times = compress(edge_list, num_nodes=len(fields["ids"]), directed=directed)
    if row_normalize and "features" in fields:
        fields["features"] = normalize_rows(fields["features"])
    return Graph(rows=rows, times=times, directed=directed, name=edge_reader.title, **fields)


def _are_names(features: Any) -> bool:
    return isinstance(features, (list, tuple)) and all(isinstance(name, str) for name in features)


@dataclass(frozen=True)
class _EdgeColumns:
    source: str
    target: str
    weight: str | None
    time: str | None

    @classmethod
    def choose(
        cls,
        reader: TableReader,
        source: str | None,
        target: str | None,
        weight: str | None,
        time: str | None,
    ) -> _EdgeColumns:
        names = reader.names
        if len(names) < 2:
            raise InputError(
                f"{reader.what} must have a source and a target column, but has only "
                f"{show(names)}; is the delimiter a comma, a semicolon or a tab?"
            )
        known = ((_named(reader, first), _named(reader, second)) for first, second in _ENDS)
        pair = next((pair for pair in known if None not in pair), (names[0], names[1]))
        if weight == "weight":
            weight = _named(reader, weight)
        if source is not None and source == target:
            raise InputError(
                f"source and target must be two columns, but both are {source!r}; "
                f"the table has {show(names, 12)}"
            )
        # Where one end is chosen, the other is the first of the pair that is left.
        left = [name for name in (*pair, *names) if name not in (None, source, target)]
        chosen = cls(source or left.pop(0), target or left.pop(0), weight, time)
        for name in chosen.names:
            reader.require(name)
        return chosen

    @property
    def names(self) -> list[str]:
        return [self.source, self.target, *self.carried]

    @property
    def carried(self) -> list[str]:
        return [name for name in (self.weight, self.time) if name is not None]


class _TextIds(Exception):
    """Ids taken for integers turn out to be text."""


class _Column:
    """Numbers that keep coming, in one stretch of memory that grows in place."""

    def __init__(self, dtype: type = np.int32) -> None:
        self._buffer: NDArray[Any] = np.empty(0, dtype)
        self._size = 0

    def append(self, values: NDArray[Any]) -> None:
        dtype = np.promote_types(self._buffer.dtype, values.dtype)
        if dtype != self._buffer.dtype:
            self._buffer = self._buffer.astype(dtype)
        size = self._size + len(values)
        if size > len(self._buffer):
            # Large blocks are moved by the page table, not copied.
            self._buffer.resize(max(size, len(self._buffer) * 5 // 4), refcheck=False)
        self._buffer[self._size : size] = values
        self._size = size

    def take(self) -> NDArray[Any]:
        """The numbers; the column keeps none."""
        buffer, self._buffer = self._buffer, np.empty(0, self._buffer.dtype)
        buffer.resize(self._size, refcheck=False)
        return buffer


@dataclass
class _Edges:
    """Edges as they are read: ends as NumPy integers or Arrow text, numbers that ride on them."""

    columns: _EdgeColumns
    is_text: bool
    ends: tuple[Any, Any]
    """Two `_Column`s, or two lists of Arrow text."""
    carried: dict[str, _Column]
    place: Callable[[int], str]
    num_edges: int = 0

    @classmethod
    def read(cls, reader: TableReader, columns: _EdgeColumns, *, text_ids: bool) -> _Edges:
        """Read once, batch by batch; once more as text when a cell is not what the first were."""
        with contextlib.suppress(_TextIds):
            return cls._read_numbers(reader, columns, text_ids=text_ids)
        return cls._read_numbers(reader, columns, text_ids=True)

    @classmethod
    def _read_numbers(cls, reader: TableReader, columns: _EdgeColumns, *, text_ids: bool) -> _Edges:
        with contextlib.suppress(arrow().ArrowInvalid):
            return cls._read(reader, columns, text_ids=text_ids, numbers=arrow().float64())
        return cls._read(reader, columns, text_ids=text_ids, numbers=arrow().string())

    @classmethod
    def _read(
        cls, reader: TableReader, columns: _EdgeColumns, *, text_ids: bool, numbers: Any
    ) -> _Edges:
        ends: tuple[Any, Any] = ([], []) if text_ids else (_Column(), _Column())
        carried = {name: _Column(np.float64) for name in columns.carried}
        edges = cls(columns, text_ids, ends, carried, reader.place)
        # Ids are read as they are written: 007 is another id than 7.
        types = dict.fromkeys(columns.names, arrow().string()) | dict.fromkeys(carried, numbers)
        for batch in reader.batches(columns.names, types):
            edges._add(batch, reader)
        if not edges.num_edges:
            raise reader.no_rows()
        arrow().default_memory_pool().release_unused()
        return edges

    def _add(self, batch: Any, reader: TableReader) -> None:
        for i, name in enumerate(self.columns.names):
            column, first_row = batch.column(i), self.num_edges
            if i < 2:
                if reader.is_text and not self.is_text:
                    column = written_integers(column)
                    if column is None:
                        raise _TextIds
                require_ids(column, name, reader, first_row=first_row)
                self.ends[i].append(as_text(column) if self.is_text else _integers(column))
            else:
                numbers = as_float64(column, name, reader, first_row=first_row)
                self.carried[name].append(numbers)
        self.num_edges += batch.num_rows

    def locate(self, known: NDArray[Any] | None, owner: str) -> tuple[EdgeList, NDArray[Any]]:
        """The edges by positions, and the ids these stand for; forgets what was read."""
        if self.is_text:
            source, target, distinct = _encode_text(*self.ends)
            if known is None:
                known = distinct
            else:
                position = IdIndex(known).require(distinct, owner=owner)
                source, target = position[source], position[target]
        else:
            ends = [column.take() for column in self.ends]
            if known is None:
                known = number(ends)
            else:
                ends = IdIndex(known).require_each(*ends, owner=owner)
            source, target = ends
        weights, times = (self._carried(name) for name in (self.columns.weight, self.columns.time))
        if weights is not None:
            check_weights(weights, self.num_edges, place=self.place)
        return EdgeList(source, target, weights=weights, times=times), known

    def _carried(self, name: str | None) -> NDArray[np.float64] | None:
        return None if name is None else self.carried[name].take()


def _integers(column: Any) -> NDArray[Any]:
    ids = as_ids(column)
    if ids.dtype.kind not in "iu":
        raise _TextIds
    narrow = len(ids) > 0 and -(2**31) <= ids.min() and ids.max() < 2**31
    return ids.astype(np.int32 if narrow else np.int64)


def _encode_text(
    sources: list[Any], targets: list[Any]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.str_]]:
    """Codes for the text at both ends, and the distinct texts, ascending; forgets what was read."""
    num_edges = sum(map(len, sources))
    texts = arrow().chunked_array(sources + targets)
    sources.clear()
    targets.clear()
    distinct = texts.unique()
    distinct = distinct.take(compute().sort_indices(distinct))
    codes = compute().index_in(texts, value_set=distinct).to_numpy()
    return codes[:num_edges], codes[num_edges:], as_numpy(distinct).astype(str)


def _node_fields(
    reader: TableReader,
    *,
    id: str | None,
    label: str | None,
    features: Sequence[str] | None,
    split: str | None,
) -> dict[str, Any]:
    """The fields of a graph that a node table fills."""
    id = reader.require(id) if id is not None else _named(reader, "id") or reader.names[0]
    name_column = _named(reader, "name")
    for name in (label, split, *(features or ())):
        if name is not None:
            reader.require(name)
    table = reader.read(text=[id] if reader.is_text else ())
    column = table.column(id)
    integers = written_integers(column) if reader.is_text else None
    column = column if integers is None else integers
    require_ids(column, id, reader)
    ids = as_ids(column)
    # A copy: Arrow shares memory with the dataframe it came from.
    fields: dict[str, Any] = {"ids": ids.copy() if ids.dtype.kind in "iu" else ids.astype(str)}
    used = [id]
    if label is not None:
        used.append(label)
        values = as_numpy(table.column(label))
        fields["labels"], fields["classes"] = label_codes.encode(values, column=label)
    if split is not None:
        used.append(split)
        fields["splits"] = Splits.named(as_numpy(table.column(split)).tolist())
    if name_column is not None and name_column not in (*used, *(features or ())):
        used.append(name_column)
        fields["names"] = as_numpy(as_text(table.column(name_column)).fill_null("")).astype(str)
    if features is None:
        others = (name for name in reader.names if name not in used)
        features = [name for name in others if looks_numeric(table.column(name), name, reader)]
    if features:
        columns = [as_float64(table.column(name), name, reader) for name in features]
        fields["features"] = as_features(np.column_stack(columns))
        fields["feature_names"] = tuple(features)
    return fields
