"""What other libraries' graphs hold: networkx, PyG, SciPy, arrays, lists of edges."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from autogm.errors import InputError, show
from autogm.graph.edges import check_sparse, edge_name
from autogm.graph.ids import IdIndex
from autogm.graph.splits import Splits

__all__ = ["Parts", "as_numpy", "no_attribute", "parts_of"]


@dataclasses.dataclass
class Parts:
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
    attribute: Callable[[str], Sequence[Any]] = lambda name: no_attribute(name)

    def edge(self, at: int) -> str:
        """What a person calls an edge."""
        return edge_name(self.source[at], self.target[at], self.ids)


def no_attribute(name: str) -> Sequence[Any]:
    raise InputError(
        f"{name!r} names a node attribute, but this kind of graph has none; give values"
    )


def parts_of(data: Any, weight: str | None, num_nodes: int | None) -> Parts:
    networkx = sys.modules.get("networkx")
    if networkx is not None and isinstance(data, networkx.Graph):
        return _from_networkx(data, weight)
    if sparse.issparse(data):
        return _from_scipy(data, weight)
    if hasattr(data, "layout") and "sparse" in str(data.layout):
        return _from_scipy(as_numpy(data), weight)
    if hasattr(data, "edge_types"):
        raise InputError(
            f"a graph with several node types is not supported, but got {type(data).__name__}; "
            "use data.to_homogeneous()"
        )
    if hasattr(data, "edge_index"):
        return _from_pyg(data, weight)
    return _from_array(data, weight, num_nodes)


def _from_networkx(graph: Any, weight: str | None) -> Parts:
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

    return Parts(
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
        return np.array([float(value) for value in values])
    except (TypeError, ValueError):
        strange = [w for w in values if not isinstance(w, (int, float, np.number))]
        raise InputError(
            f"edge weights must be numbers, but attribute {weight!r} holds {show(strange)}; "
            "mend them, or ignore them with weight=None"
        ) from None


def _from_scipy(matrix: Any, weight: str | None) -> Parts:
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
    return Parts(source, target, int(matrix.shape[0]), weights=weights)


def _from_pyg(data: Any, weight: str | None) -> Parts:
    if data.edge_index is None:
        raise InputError("a PyG Data needs edge_index, but it is None; give it edges")
    source, target = as_numpy(data.edge_index)
    return Parts(
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
    values = as_numpy(found)
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
        return Splits.given(*map(as_numpy, masks), num_nodes=int(data.num_nodes))
    except InputError as error:
        raise InputError(
            f"the masks of the Data cannot be used: {error}; or give splits="
        ) from None


def _from_array(data: Any, weight: str | None, num_nodes: int | None) -> Parts:
    weights = None
    if isinstance(data, list) and any(isinstance(e, tuple) and len(e) == 3 for e in data):
        data, weights = _weighted_edges(data)
    array = as_numpy(data)
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
        return Parts(source, target, len(ids), weights=weights, ids=ids, is_list=True)
    if num_nodes is None:
        largest = int(array.max(initial=-1))
        if largest > 100 * len(source) + 10_000:
            raise InputError(
                f"integers in an edge array are positions 0..n-1, but {len(source)} edges reach "
                f"{largest:,}; for other ids give a table, {{'source': …, 'target': …}}, or say "
                "num_nodes"
            )
        num_nodes = largest + 1
    return Parts(source, target, num_nodes, weights=weights, is_list=True)


def _weighted_edges(triples: list[Any]) -> tuple[list[Any], NDArray[np.float64]]:
    """A list of (u, v, weight)."""
    try:
        return [(u, v) for u, v, _ in triples], np.array([float(w) for *_, w in triples])
    except (TypeError, ValueError):
        raise InputError(
            "a list of edges must hold pairs, or (u, v, weight) throughout with numbers for "
            f"weights, but got {show(triples)}; give other data as a table or a networkx graph"
        ) from None


def as_numpy(values: Any) -> Any:
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
