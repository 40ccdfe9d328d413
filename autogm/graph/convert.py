"""Graphs as other libraries hold them, into ours."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from autogm.errors import InputError, show
from autogm.graph import labels as label_codes
from autogm.graph.edges import (
    EdgeList,
    Rows,
    check_num_nodes,
    check_weights,
    compress,
    first_outside,
)
from autogm.graph.features import as_features, normalize_rows
from autogm.graph.foreign import Parts, as_numpy, no_attribute, parts_of
from autogm.graph.graph import Graph
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
            no_attribute(labels if isinstance(labels, str) else features[0])
        graph = _as_said(data, directed=directed, weighted=weight is not None)
        return _with(graph, labels, features, None, splits, row_normalize)
    parts = parts_of(data, weight, num_nodes)
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


def _is_nameless(data: Any) -> bool:
    """Whether what weighs an edge has no name."""
    return (
        isinstance(data, (Graph, list, tuple, np.ndarray))
        or hasattr(data, "layout")
        or sparse.issparse(data)
    )


def _assemble(parts: Parts, directed: bool | None) -> Graph:
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


def _check_range(parts: Parts) -> None:
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
            labels = as_numpy(labels)
        if np.ndim(labels) == 0 or len(labels) != graph.num_nodes:
            count = "one value" if np.ndim(labels) == 0 else len(labels)
            raise InputError(
                f"there must be one label a node ({graph.num_nodes}), but got {count}; "
                "mark nodes without a label with -1, None or an empty cell"
            )
        changes["labels"], changes["classes"] = label_codes.encode(labels)
    if features is not None:
        changes["features"] = as_features(as_numpy(features))
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
    values = as_numpy(y)
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
