"""Graphs as other libraries hold them, into ours."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from autogm.errors import InputError, show
from autogm.graph import labels as label_codes
from autogm.graph.edges import (
    EdgeList,
    Rows,
    check_num_nodes,
    check_sparse,
    check_weights,
    compress,
    edge_name,
    first_outside,
)
from autogm.graph.features import as_features, normalize_rows
from autogm.graph.graph import Graph
from autogm.graph.ids import IdIndex
from autogm.graph.splits import Splits
from autogm.graph.tables import from_tables

__all__ = ["as_graph"]


def as_graph(
    data: Any,
    nodes: Any = None,
    *,
    labels: Any = None,
    features: Any = None,
    splits: Splits | None = None,
    num_nodes: int | None = None,
    directed: bool | None = None,
    weight: str | None = "weight",
    row_normalize: bool = False,
    **columns: Any,
) -> Graph:
    """A graph from whatever holds one.

    ``data`` is a networkx graph, a PyG ``Data``, a SciPy sparse matrix or square array (entry
    (u, v) is an edge from u to v), an edge array of shape 2 x m or m x 2, a list of pairs, a
    table of edges (any Arrow-compatible dataframe, with ``nodes`` and the column names of
    `from_tables`), or a graph already. Triples (u, v, weight) must be tuples: nested lists are
    rows of a matrix, except 3 x 3 of them, which may be either and are refused.

    ``labels`` is one label a node (None, NaN, -1 or "" where unknown), a mapping from ids to
    labels, or the name of a node attribute or column. The node attribute or column ``name`` is
    what people are shown. ``features`` is a dense or sparse matrix,
    or names of node attributes or columns. Where ``directed`` is not said, a matrix, a ``Data``
    or an array is undirected when every edge stands in both directions; a table is undirected.
    ``weight`` names the edge attribute or column of weights (of a ``Data``: ``edge_weight``, or
    what is named); None makes any graph binary. ``splits`` take the place of those that come with
    the data.

    Weights of duplicate edges add up. Lists of edges (tables, networkx, tuples) and directed
    graphs hold an undirected edge once, so that one in each direction is a duplicate too. A matrix
    or a ``Data`` shows both directions itself: where it is symmetric, an edge has the weight that
    stands there; where it is not, its entries are a list of edges.

    >>> import networkx as nx
    >>> as_graph(nx.karate_club_graph(), labels="club")
    Graph(34 nodes, 78 edges, undirected, weighted, 2 classes)
    """
    if isinstance(data, (str, Path)):
        raise InputError(f"{str(data)!r} is a name or a path: use load_graph({str(data)!r})")
    if num_nodes is not None and not isinstance(data, (list, tuple, np.ndarray)):
        raise InputError(
            f"num_nodes counts the positions of an edge array, but data is {type(data).__name__}, "
            "which says its nodes itself; leave it out"
        )
    if _is_table(data):
        return _from_columns(
            data,
            nodes,
            {"labels": labels, "features": features, "splits": splits},
            weight=weight,
            row_normalize=row_normalize,
            **({} if directed is None else {"directed": directed}),
            **columns,
        )
    if columns or nodes is not None:
        given = [*columns, *(["nodes"] if nodes is not None else [])]
        raise InputError(
            f"{show(given)} belong to tables of edges, not to {type(data).__name__}; "
            "leave them out, or give labels= and features= as arrays"
        )
    if weight not in (None, "weight") and _is_nameless(data):
        raise InputError(
            f"weight={weight!r} names an edge attribute, but {type(data).__name__} has none; "
            "leave weight out to use the weights it holds, or give None to ignore them"
        )
    if isinstance(data, Graph):
        if isinstance(labels, str) or _is_names(features):
            _no_attribute(labels if isinstance(labels, str) else features[0])
        graph = _as_said(data, directed=directed, weighted=weight is not None)
        return _with(graph, labels, features, None, splits, row_normalize)
    parts = _parts_of(data, weight, num_nodes)
    names = None
    if isinstance(labels, str):
        labels = parts.attribute(labels)
    if isinstance(features, str):
        raise InputError(
            f"features must be a list of names or values, but got {features!r}; try [{features!r}]"
        )
    if _is_names(features):
        names = tuple(features)
        features = np.array([parts.attribute(name) for name in features]).T
    if labels is None and _are_labels(parts.labels, parts.num_nodes):
        labels = parts.labels
    if splits is None:
        splits = parts.splits()
    features = parts.features if features is None else features
    graph = _assemble(parts, directed)
    return _with(graph, labels, features, names, splits, row_normalize)


@dataclasses.dataclass
class _Parts:
    """What was found in somebody else's graph."""

    source: NDArray[np.integer[Any]]
    target: NDArray[np.integer[Any]]
    num_nodes: int
    weights: NDArray[np.float64] | None = None
    ids: NDArray[Any] | None = None
    names: NDArray[np.str_] | None = None
    labels: Any = None
    features: Any = None
    splits: Callable[[], Splits | None] = lambda: None
    directed: bool | None = None
    is_list: bool = False
    """Whether an undirected edge stands once, so that one in each direction is a duplicate."""
    attribute: Callable[[str], Sequence[Any]] = lambda name: _no_attribute(name)

    def edge(self, at: int) -> str:
        """What a person calls an edge."""
        return edge_name(self.source[at], self.target[at], self.ids)


def _no_attribute(name: str) -> Sequence[Any]:
    raise InputError(
        f"{name!r} names a node attribute, but this kind of graph has none; give values"
    )


def _is_nameless(data: Any) -> bool:
    """Whether what weighs an edge has no name."""
    return (
        isinstance(data, (Graph, list, tuple, np.ndarray))
        or hasattr(data, "layout")
        or sparse.issparse(data)
    )


def _parts_of(data: Any, weight: str | None, num_nodes: int | None) -> _Parts:
    networkx = sys.modules.get("networkx")
    if networkx is not None and isinstance(data, networkx.Graph):
        return _from_networkx(data, weight)
    if sparse.issparse(data):
        return _from_scipy(data, weight)
    if hasattr(data, "layout") and "sparse" in str(data.layout):
        return _from_scipy(_plain(data), weight)
    if hasattr(data, "edge_types"):
        raise InputError(
            f"a graph with several node types is not supported, but got {type(data).__name__}; "
            "use data.to_homogeneous()"
        )
    if hasattr(data, "edge_index"):
        return _from_pyg(data, weight)
    return _from_array(data, weight, num_nodes)


def _assemble(parts: _Parts, directed: bool | None) -> Graph:
    """Compress the edges; where nobody says, a graph with all edges both ways is undirected."""
    _check_range(parts)
    if parts.weights is not None:
        check_weights(parts.weights, len(parts.source), place=parts.edge)
    ends = (end.astype(np.int32, copy=False) for end in (parts.source, parts.target))
    edges = EdgeList(*ends, weights=parts.weights)

    def rows_of(*, directed: bool) -> Rows:
        return compress(edges, num_nodes=parts.num_nodes, directed=directed)[0]

    if parts.directed is not None:
        rows = rows_of(directed=parts.directed and directed is not False)
        directed = parts.directed if directed is None else directed
    else:
        rows = rows_of(directed=True)
        both_ways = _is_symmetric(rows)
        directed = not both_ways if directed is None else directed
        if not directed and (parts.is_list or not both_ways):
            rows = rows_of(directed=False)
    ids = np.arange(parts.num_nodes) if parts.ids is None else parts.ids
    return Graph(rows=rows, directed=directed, names=parts.names, ids=ids)


def _as_said(graph: Graph, *, directed: bool | None, weighted: bool) -> Graph:
    """What the user says of direction and weights beats what the graph says."""
    if graph.weighted and not weighted:
        graph = dataclasses.replace(graph, rows=graph.rows._replace(values=None))
    if directed is None or directed == graph.directed:
        return graph
    if directed:
        return dataclasses.replace(graph, directed=True)
    rows = graph.rows
    edges = EdgeList(rows.indices, rows.row_of_entry, weights=rows.values, times=graph.times)
    rows, times = compress(edges, num_nodes=graph.num_nodes, directed=False)
    return dataclasses.replace(graph, rows=rows, times=times, directed=False)


def _check_range(parts: _Parts) -> None:
    check_num_nodes(parts.num_nodes)
    for end in (parts.source, parts.target):
        if (wrong := first_outside(end, parts.num_nodes)) is not None:
            raise InputError(
                f"node ids must be in 0..{parts.num_nodes - 1}, but an edge names {wrong}; "
                "give num_nodes, or a table with a node table for other ids"
            )


def _is_symmetric(rows: Rows) -> bool:
    """Whether all edges stand both ways, with weights that differ by rounding at most."""
    other = rows.transpose()
    if not np.array_equal(other.indptr, rows.indptr):
        return False
    if not np.array_equal(other.indices, rows.indices):
        return False
    if rows.values is None or other.values is None:
        return True
    return bool(np.allclose(rows.values, other.values, rtol=1e-9))


def _with(
    graph: Graph,
    labels: Any,
    features: Any,
    feature_names: tuple[str, ...] | None,
    splits: Splits | None,
    row_normalize: bool,
) -> Graph:
    """The graph with labels, features and splits as users write them."""
    changes: dict[str, Any] = {}
    if labels is not None:
        if hasattr(labels, "to_dict") and not np.array_equal(labels.index, np.arange(len(labels))):
            labels = labels.to_dict()  # a pandas Series with ids in its index
        if isinstance(labels, Mapping):
            at = graph.positions(labels)
            labels = label_codes.for_every_node(labels, at, graph.num_nodes)
        if not isinstance(labels, (list, tuple)):
            labels = _plain(labels)
        if np.ndim(labels) == 0 or len(labels) != graph.num_nodes:
            count = "one value" if np.ndim(labels) == 0 else len(labels)
            raise InputError(
                f"there must be one label a node ({graph.num_nodes}), but got {count}; "
                "mark nodes without a label with -1, None or an empty cell"
            )
        changes["labels"], changes["classes"] = label_codes.encode(labels)
    if features is not None:
        changes["features"] = as_features(_plain(features))
        changes["feature_names"] = feature_names
    if splits is not None:
        changes["splits"] = Splits(*(part.copy() for part in splits))
    if row_normalize:
        base = changes.get("features", graph.features)
        if base is not None:
            changes["features"] = normalize_rows(base)
    return dataclasses.replace(graph, **changes) if changes else graph


def _are_labels(y: Any, num_nodes: int) -> bool:
    """Whether what comes along with a graph is a label a node, and tells nodes apart.

    A single one is a label of the graph.
    """
    if y is None:
        return False
    values = _plain(y)
    if values.ndim == 0 or (len(values) == 1 and num_nodes > 1):
        return False
    if len(values) != num_nodes:
        raise InputError(
            f"y of a Data must hold one label a node ({num_nodes}), but holds {len(values)}; "
            "give labels=, or set data.y = None"
        )
    return len(np.unique(values)) > 1


def _from_columns(
    data: Any, nodes: Any, given: dict[str, Any], *, row_normalize: bool, **columns: Any
) -> Graph:
    """From tables: names choose columns, values are laid over the graph."""
    if isinstance(given["labels"], str):
        columns["label"] = given.pop("labels")
    if _is_names(given["features"]):
        columns["features"] = given.pop("features")
    graph = from_tables(data, nodes, **columns)
    labels, features = given.get("labels"), given.get("features")
    return _with(graph, labels, features, None, given["splits"], row_normalize)


def _is_names(features: Any) -> bool:
    return (
        isinstance(features, (list, tuple))
        and len(features) > 0
        and all(isinstance(name, str) for name in features)
    )


def _is_table(data: Any) -> bool:
    return isinstance(data, Mapping) or hasattr(data, "__arrow_c_stream__")


def _from_networkx(graph: Any, weight: str | None) -> _Parts:
    nodes = list(graph.nodes)
    place = {node: i for i, node in enumerate(nodes)}
    pairs = np.array([(place[u], place[v]) for u, v in graph.edges()], dtype=np.int32)
    pairs = pairs.reshape(-1, 2)
    integers = all(isinstance(n, (int, np.integer)) and abs(int(n)) < 2**63 for n in nodes)
    ids = np.array(nodes, dtype=np.int64) if integers else np.array([str(node) for node in nodes])

    def attribute(name: str) -> list[Any]:
        values = [data.get(name) for _, data in graph.nodes(data=True)]
        if all(value is None for value in values):
            present = sorted({str(key) for _, data in graph.nodes(data=True) for key in data})
            known = show(present, 12) or "none"
            raise InputError(f"no node has an attribute {name!r}; they have {known}")
        return values

    return _Parts(
        pairs[:, 0],
        pairs[:, 1],
        len(nodes),
        weights=None if weight is None else _networkx_weights(graph, weight),
        ids=ids,
        names=_networkx_names(graph),
        directed=graph.is_directed(),
        attribute=attribute,
    )


def _networkx_names(graph: Any) -> NDArray[np.str_] | None:
    """The attribute ``name``, as tables have a column for it."""
    names = [name for _, name in graph.nodes(data="name")]
    if all(name is None for name in names):
        return None
    return np.array(["" if name is None else str(name) for name in names])


def _networkx_weights(graph: Any, weight: str) -> NDArray[np.float64] | None:
    present = {key for *_, data in graph.edges(data=True) for key in data}
    if weight not in present:
        if weight == "weight":  # nobody asked for it
            return None
        known = show(sorted(map(str, present)), 12) or "none"
        raise InputError(f"no edge has an attribute {weight!r}; they have {known}")
    # As networkx has it: an edge without the attribute weighs 1.
    values = [w for *_, w in graph.edges(data=weight, default=1)]
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        strange = [w for w in values if not isinstance(w, (int, float, np.number))]
        raise InputError(
            f"edge weights must be numbers, but attribute {weight!r} holds {show(strange)}; "
            "mend them, or ignore them with weight=None"
        ) from None


def _from_scipy(matrix: Any, weight: str | None) -> _Parts:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(
            f"an adjacency matrix must be square, but its shape is {matrix.shape}; "
            "give a row and a column for every node"
        )
    check_sparse(matrix, "node ids")
    entries = sparse.coo_array(matrix)  # duplicates as they are: those of a binary graph collapse
    present = entries.data != 0
    source, target = (ends[present].astype(np.int32) for ends in (entries.row, entries.col))
    values = entries.data[present]
    if values.dtype.kind == "c":
        raise InputError(
            f"edge weights must be real, but the matrix holds {values.dtype}; "
            "take abs(matrix), or ignore them with abs(matrix) > 0"
        )
    binary = weight is None or values.dtype == bool or bool(np.all(values == 1))
    weights = None if binary else values.astype(np.float64)
    return _Parts(source, target, int(matrix.shape[0]), weights=weights)


def _from_pyg(data: Any, weight: str | None) -> _Parts:
    if data.edge_index is None:
        raise InputError("a PyG Data needs edge_index, but it is None; give it edges")
    source, target = _plain(data.edge_index)
    return _Parts(
        source,
        target,
        int(data.num_nodes),
        weights=None if weight is None else _pyg_weights(data, weight),
        labels=getattr(data, "y", None),
        features=getattr(data, "x", None),
        splits=lambda: _pyg_splits(data),
    )


def _pyg_weights(data: Any, weight: str) -> NDArray[np.float64] | None:
    name = "edge_weight" if weight == "weight" else weight
    found = getattr(data, name, None)
    if found is None:
        if weight == "weight":  # nobody asked for it
            return None
        known = show(sorted(set(data.keys()) - {"edge_index"}), 12)
        raise InputError(f"the Data has no {weight!r} for weights; it has {known or 'none'}")
    values = _plain(found)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or values.dtype.kind not in "iufb":
        raise InputError(
            f"{name} must be one number an edge, but it is {values.dtype} of shape "
            f"{values.shape}; choose one column, or ignore it with weight=None"
        )
    return np.asarray(values, dtype=np.float64)


def _pyg_splits(data: Any) -> Splits | None:
    """The three masks, where there are three."""
    masks = [getattr(data, f"{part}_mask", None) for part in Splits._fields]
    if any(mask is None for mask in masks):
        return None
    try:
        return Splits.given(*map(_plain, masks), num_nodes=int(data.num_nodes))
    except InputError as error:
        raise InputError(
            f"the masks of the Data cannot be used: {error}; or give splits="
        ) from None


def _from_array(data: Any, weight: str | None, num_nodes: int | None) -> _Parts:
    weights = None
    if isinstance(data, list) and any(isinstance(e, tuple) and len(e) == 3 for e in data):
        data, weights = _weighted_edges(data)
    array = _plain(data)
    if array.shape == (0,):
        array = np.empty((0, 2), dtype=np.int64)  # no edges, in whatever type
    if array.shape == (3, 3) and isinstance(data, (list, tuple)):
        raise InputError(
            "a 3 x 3 list may be three edges with weights or a matrix; give edges as a list of "
            "tuples (u, v, weight), a matrix as an array"
        )
    if array.ndim != 2 or array.dtype.kind not in "iufbU":
        raise InputError(
            "a graph must be a networkx graph, a PyG Data, a SciPy matrix, an edge array or a "
            f"table, but got {type(data).__name__} of shape {array.shape}; "
            "a table of two columns fits any ids"
        )
    rows, columns = array.shape
    is_list_of_pairs = columns == 2 and isinstance(data, (list, tuple))
    if rows == columns == 2 and not is_list_of_pairs:
        raise InputError(
            "a 2 x 2 array may be two edges or a matrix; give a SciPy matrix, or edges as a table"
        )
    if rows == columns and array.dtype.kind != "U" and not is_list_of_pairs:
        return _from_scipy(sparse.csr_array(array), weight)
    if array.dtype.kind in "fb" or 2 not in (rows, columns):
        raise InputError(
            "an edge array must hold integer ids in 2 rows or 2 columns, "
            f"but it is {array.dtype} of shape {array.shape}; give edges with weights as a list "
            "of tuples (u, v, weight), or a table"
        )
    source, target = array.T if is_list_of_pairs or rows != 2 else array
    if array.dtype.kind == "U":
        ids = np.unique(array)
        source, target = IdIndex(ids).require_each(source, target)
        return _Parts(source, target, len(ids), weights=weights, ids=ids, is_list=True)
    if num_nodes is None:
        largest = int(array.max(initial=-1))
        if largest > 100 * len(source) + 10_000:
            raise InputError(
                f"integers in an edge array are positions 0..n-1, but {len(source)} edges reach "
                f"{largest:,}; for other ids give a table, {{'source': …, 'target': …}}, or say "
                "num_nodes"
            )
        num_nodes = largest + 1
    return _Parts(source, target, num_nodes, weights=weights, is_list=True)


def _weighted_edges(triples: list[Any]) -> tuple[list[Any], NDArray[np.float64]]:
    """A list of (u, v, weight)."""
    try:
        return [(u, v) for u, v, _ in triples], np.array([float(w) for *_, w in triples])
    except (TypeError, ValueError):
        raise InputError(
            "a list of edges must hold pairs, or (u, v, weight) throughout with numbers for "
            f"weights, but got {show(triples)}; give other data as a table or a networkx graph"
        ) from None


def _plain(values: Any) -> Any:
    """NumPy (or SciPy) values of an array, a tensor or a column."""
    if sparse.issparse(values):
        return values
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        if values.layout.__str__().startswith("torch.sparse"):
            entries = values.to_sparse_coo().coalesce()
            row, column = entries.indices().numpy()
            shape = tuple(values.shape)
            return sparse.csr_array((_numpy(entries.values()), (row, column)), shape=shape)
        return _numpy(values)
    try:
        return np.asarray(values)
    except ValueError as error:
        raise InputError(f"rows must be of one length, but {error}; fill them up") from None


def _numpy(tensor: Any) -> NDArray[Any]:
    try:
        return np.asarray(tensor.numpy())
    except TypeError:  # bfloat16, which NumPy has not
        return np.asarray(tensor.float().numpy())
