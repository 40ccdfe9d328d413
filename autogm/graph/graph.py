"""The one record that flows through AutoGM: a graph with what is known about its nodes."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from autogm.errors import InputError, show
from autogm.graph.edges import (
    Rows,
    check_num_nodes,
    check_row_starts,
    check_sparse,
    check_weights,
    edge_name,
    first_outside,
)
from autogm.graph.features import Features
from autogm.graph.ids import IdIndex, stable_keys
from autogm.graph.splits import Splits

if TYPE_CHECKING:
    from autogm.graph.reader import TableLike

__all__ = ["Graph", "require_graph"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Graph:
    """A graph, its node features and labels; frozen, validated, in plain arrays.

    Row u of ``rows`` holds the nodes that u hears from (sources of its incoming edges), ascending;
    an undirected graph holds both directions. Arrays are taken over, not copied, and become
    read-only. `as_graph`, `load_graph` and `Graph.from_tables` make graphs from what users have.

    >>> from autogm import as_graph
    >>> g = as_graph([("ann", "bob"), ("bob", "cid")], directed=False)
    >>> g
    Graph(3 nodes, 2 edges, undirected)
    >>> g.adjacency.toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]], dtype=float32)
    """

    rows: Rows
    directed: bool
    features: Features | None = None
    feature_names: tuple[str, ...] | None = None
    labels: NDArray[Any] | None = None
    """int64 codes into ``classes`` with -1 for unlabelled; n x L of them for multi-label; float64
    targets with NaN for unlabelled when ``classes`` is empty."""
    classes: tuple[Any, ...] = ()
    ids: NDArray[Any] = None  # type: ignore[assignment]  # filled in below, never None
    """Original ids, integers or text, 0..n-1 unless given. They are the stable ids: sampling is
    keyed by them."""
    names: NDArray[np.str_] | None = None
    """What to show a person instead of the id."""
    splits: Splits | None = None
    times: NDArray[np.float64] | None = None
    """When each entry of ``rows`` came to be."""
    edge_type: str = "edge"
    name: str = "graph"

    def __post_init__(self) -> None:
        if cast("Any", self.ids) is None:
            object.__setattr__(self, "ids", np.arange(self.rows.num_rows))
        _check_lengths(self)
        _check_rows(self.rows, self.ids, directed=self.directed)
        _check_features(self.features, self.feature_names, self.ids)
        _check_labels(self.labels, self.classes, self.num_nodes)
        if self.splits is not None:
            self.splits.check(self.num_nodes)
        for array in self._arrays():
            array.flags.writeable = False

    @classmethod
    def from_tables(cls, edges: TableLike, nodes: TableLike | None = None, **columns: Any) -> Graph:
        """A graph from an edge table and a node table; see `autogm.graph.from_tables`."""
        from autogm.graph.tables import from_tables

        return from_tables(edges, nodes, **columns)

    def save(self, path: str | Path) -> None:
        """Write the graph to one .npz of plain arrays, which `load_graph` reads."""
        from autogm.graph.archive import save

        save(self, path)

    @property
    def num_nodes(self) -> int:
        return self.rows.num_rows

    @cached_property
    def num_edges(self) -> int:
        """Edges; an undirected edge counts once."""
        entries = len(self.rows.indices)
        return entries if self.directed else (entries + self._num_loops) // 2

    @cached_property
    def _num_loops(self) -> int:
        return int(np.count_nonzero(self.rows.indices == self.rows.row_of_entry))

    @property
    def weighted(self) -> bool:
        return self.rows.values is not None

    @property
    def num_features(self) -> int:
        return 0 if self.features is None else int(self.features.shape[1])

    @cached_property
    def adjacency(self) -> sparse.csr_array:
        """SciPy CSR of incoming messages: entry (u, v) says that u hears from v."""
        matrix = self.rows.to_scipy()
        for array in (matrix.data, matrix.indices, matrix.indptr):
            array.flags.writeable = False
        return matrix

    @cached_property
    def fingerprint(self) -> str:
        """A digest of structure, weights and features; the same data has the same one anywhere."""
        kind = "directed" if self.directed else "undirected"
        return _digest(kind, *self.rows, *_feature_parts(self.features))

    @cached_property
    def labels_fingerprint(self) -> str:
        return _digest(repr(self.classes), self.labels)

    @cached_property
    def splits_fingerprint(self) -> str:
        return _digest(*(self.splits or ()))

    @cached_property
    def _index(self) -> IdIndex:
        return IdIndex(self.ids)

    @cached_property
    def stable_keys(self) -> NDArray[np.uint64]:
        """A number for each node that follows its id, not its place; sampling is keyed by it."""
        return stable_keys(self.ids)

    def positions(self, ids: Iterable[object]) -> NDArray[np.int32]:
        """Where the given original ids stand; an id that is not there is an error."""
        if not isinstance(ids, np.ndarray):
            # Ids that are no integers were kept as their text.
            is_text = self.ids.dtype.kind == "U"
            ids = np.array([str(i) for i in ids]) if is_text else np.array(list(ids))
        wanted = ids
        return self._index.require(wanted)

    def subgraph(self, nodes: NDArray[Any]) -> Graph:
        """The graph on some of the nodes, in the given order; ids, labels and splits follow.

        Splits of which one would be empty are left out.
        """
        nodes = np.flatnonzero(nodes) if nodes.dtype == bool else nodes
        new = np.full(self.num_nodes, -1, dtype=np.int32)
        new[nodes] = np.arange(len(nodes), dtype=np.int32)
        matrix = sparse.csr_array(
            (np.arange(len(self.rows.indices)), self.rows.indices, self.rows.indptr),
            shape=(self.num_nodes, self.num_nodes),
        )[nodes][:, nodes]
        matrix.sort_indices()
        entry = matrix.data
        values = None if self.rows.values is None else self.rows.values[entry]

        def of(array: Any) -> Any:
            return None if array is None else array[nodes]

        return dataclasses.replace(
            self,
            rows=Rows(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), values),
            times=None if self.times is None else self.times[entry],
            features=of(self.features),
            labels=of(self.labels),
            ids=of(self.ids),
            names=of(self.names),
            splits=None if self.splits is None else self.splits.subset(new, len(nodes)),
        )

    def largest_component(self) -> Graph:
        """The largest (weakly) connected component, the first of equals; node order is kept."""
        _, component = sparse.csgraph.connected_components(self.adjacency, directed=True)
        return self.subgraph(np.flatnonzero(component == np.bincount(component).argmax()))

    def _arrays(self) -> Iterable[NDArray[Any]]:
        splits = self.splits or ()
        fields = (self.labels, self.ids, self.names, self.times)
        for array in (*self.rows, *_feature_arrays(self.features), *fields, *splits):
            if array is not None:
                yield array

    def __repr__(self) -> str:
        parts = [f"{self.num_nodes:,} nodes", f"{self.num_edges:,} edges"]
        parts.append("directed" if self.directed else "undirected")
        if self.weighted:
            parts.append("weighted")
        if self.features is not None:
            kind = "sparse " if sparse.issparse(self.features) else ""
            parts.append(f"{self.num_features:,} {kind}features")
        if self.classes:
            parts.append(f"{len(self.classes)} classes")
        name = "" if self.name == "graph" else f"{self.name}: "
        return f"Graph({name}{', '.join(parts)})"


def require_graph(graph: object) -> None:
    """For functions whose argument is easily taken for somebody else's graph."""
    if not isinstance(graph, Graph):
        raise InputError(
            f"a Graph is needed, but got {type(graph).__name__}; use as_graph or load_graph first"
        )


def _check_rows(rows: Rows, ids: NDArray[Any], *, directed: bool) -> None:
    indptr, indices, values = rows
    n = rows.num_rows
    kinds = {"indptr": np.int64, "indices": np.int32, "values": np.float64}
    for name, array in rows._asdict().items():
        if array is not None and array.dtype != kinds[name]:
            raise InputError(
                f"{name} of rows must be {kinds[name].__name__}, but got {array.dtype}; "
                "build rows with as_graph"
            )
    check_row_starts(indptr, len(indices))
    if (wrong := first_outside(indices, n)) is not None:
        raise InputError(
            f"node positions must be in 0..{n - 1}, but an edge names {wrong}; "
            "give num_nodes, or ids that are in the node table"
        )
    rising = np.empty(len(indices), dtype=bool)
    np.greater(indices[1:], indices[:-1], out=rising[1:])
    starts = indptr[:-1]
    rising[starts[starts < len(indices)]] = True
    if not rising.all():
        at = int(np.searchsorted(indptr, np.flatnonzero(~rising)[0], side="right")) - 1
        raise InputError(
            f"a row must list each neighbour once, ascending, but row {at} does not; "
            "build rows with as_graph, which sorts and collapses duplicates"
        )
    if values is not None:

        def place(at: int) -> str:
            receiver = int(np.searchsorted(indptr, at, side="right")) - 1
            return edge_name(indices[at], receiver, ids)

        check_weights(values, len(indices), place=place)
    # Exact symmetry costs a transpose; unequal degrees give away all but contrived cases.
    if not directed and not np.array_equal(np.bincount(indices, minlength=n), np.diff(indptr)):
        raise InputError(
            "an undirected graph must hold every edge in both directions, but these rows are not "
            "symmetric; say directed=True"
        )


def _check_features(
    features: Features | None, names: Sequence[str] | None, ids: NDArray[Any]
) -> None:
    if features is None:
        return
    num_nodes = len(ids)
    if features.ndim != 2 or features.shape[0] != num_nodes:
        raise InputError(
            f"features must have one row a node ({num_nodes}), but their shape is "
            f"{tuple(features.shape)}; give a row for every node, in node order"
        )
    if names is not None and len(names) != features.shape[1]:
        raise InputError(
            f"there must be one name a feature column ({features.shape[1]}), but got {len(names)}; "
            "name them all or none"
        )
    if features.dtype != np.float32:
        raise InputError(
            f"features must be float32, but they are {features.dtype}; as_graph converts them"
        )
    if sparse.issparse(features):
        check_sparse(features, "feature columns")
    values = features.data if sparse.issparse(features) else features
    if not np.isfinite(values).all():
        raise InputError(_where_not_finite(features, names, ids))


def _where_not_finite(features: Features, names: Sequence[str] | None, ids: NDArray[Any]) -> str:
    if sparse.issparse(features):
        entries = sparse.coo_array(features)
        at = int(np.flatnonzero(~np.isfinite(entries.data))[0])
        row, column, value = int(entries.row[at]), int(entries.col[at]), entries.data[at]
    else:
        row, column = (int(i) for i in np.argwhere(~np.isfinite(features))[0])
        value = features[row, column]
    named = repr(names[column]) if names is not None else column
    return (
        f"features must be finite, but node {show(ids[[row]])} has {value} in column {named}; "
        "fill or drop such values first"
    )


def _check_labels(labels: NDArray[Any] | None, classes: tuple[Any, ...], num_nodes: int) -> None:
    if labels is None:
        return
    if len(labels) != num_nodes:
        raise InputError(
            f"there must be one label a node ({num_nodes}), but got {len(labels)}; "
            "mark nodes without a label with -1, None or an empty cell"
        )
    if classes and labels.size and (labels.max() >= len(classes) or labels.min() < -1):
        raise InputError(
            f"label codes must be in -1..{len(classes) - 1}, but they span "
            f"{labels.min()}..{labels.max()}; let as_graph make the codes"
        )


def _check_lengths(graph: Graph) -> None:
    n, entries = graph.num_nodes, len(graph.rows.indices)
    check_num_nodes(n)
    for name, array, expected in (
        ("ids", graph.ids, n),
        ("names", graph.names, n),
        ("times", graph.times, entries),
    ):
        if array is not None and len(array) != expected:
            one = "an edge and direction" if name == "times" else "a node"
            raise InputError(
                f"{name} must have {expected} entries, one {one}, but got {len(array)}; "
                "add those that are missing or drop the extra ones"
            )
    twice = graph._index.duplicates()
    if len(twice):
        raise InputError(
            f"node ids must be distinct, but {show(twice)} stand more than once; "
            "keep one row a node"
        )


def _feature_arrays(features: Features | None) -> tuple[NDArray[Any] | None, ...]:
    if features is None:
        return ()
    if isinstance(features, np.ndarray):
        return (features,)
    return (features.indptr, features.indices, features.data)


def _feature_parts(features: Features | None) -> tuple[NDArray[Any] | str | None, ...]:
    """What the fingerprint covers: the same for any type of sparse index."""
    if features is None or isinstance(features, np.ndarray):
        return (features,)
    wide = (features.indptr.astype(np.int64), features.indices.astype(np.int64))
    return (repr(tuple(features.shape)), *wide, features.data)


def _digest(*parts: NDArray[Any] | str | None) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).data.cast("B"))
        else:
            digest.update(repr(part).encode())
    return digest.hexdigest()
