"""Graphs by name or by path."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from autogm.errors import InputError, optional, parsing, show, suggest
from autogm.graph import archive
from autogm.graph.convert import as_graph
from autogm.graph.datasets import DATASETS, csr_of, load_named
from autogm.graph.graph import Graph
from autogm.graph.tables import from_tables

__all__ = ["load_graph"]

_TABLES = (".csv", ".tsv", ".parquet", ".pq")
_ENDINGS = (*_TABLES, ".txt", ".mtx", ".npz", ".graphml")


def load_graph(
    name: str | Path,
    *,
    root: str | Path | None = None,
    split: str = "default",
    largest_component: bool = False,
    row_normalize: bool | None = None,
    seed: int = 0,
    **columns: Any,
) -> Graph:
    """A graph by its name or its path.

    Names are those of `autogm datasets`; their raw files are looked for in ``root``, then in
    $AUTOGM_DATA, else downloaded (extra ``[pyg]``). A path is a table of edges (.csv, .tsv,
    .parquet; ``nodes`` is the node table), a folder with edges.* and nodes.*, a SNAP list (.txt),
    .mtx, .npz (ours, SciPy's, or with adj_* and attr_*) or .graphml; ``columns`` are those of
    `from_tables`, or ``labels``, ``features`` and ``directed`` of `as_graph`. ``split`` is
    "public", "paper" or "none" for a named graph, drawn with ``seed``, and a column of the node
    table for a path. ``root`` is for names, and so is ``seed``.
    """
    if not isinstance(name, (str, Path)):
        raise InputError(
            f"load_graph takes a name or a path, but got {type(name).__name__}; use as_graph"
        )
    if str(name) in DATASETS:
        if columns:
            raise InputError(
                f"a named graph takes no {show(columns)}, and {name!r} is one; that is for paths"
            )
        return load_named(
            str(name),
            root=root,
            split=split,
            largest_component=largest_component,
            row_normalize=row_normalize,
            seed=seed,
        )
    path = Path(name)
    if not path.exists():
        raise InputError(
            f"{str(name)!r} is neither a file nor a named graph; names are "
            f"{', '.join(DATASETS)}{suggest(path.name.lower(), [*DATASETS, *_neighbours(path)])}"
        )
    if root is not None:
        raise InputError(
            f"root= is the folder of named graphs, and {str(name)!r} is a path; "
            "give the whole path instead"
        )
    if split != "default":
        columns["split"] = split
    graph = _read(path, {**columns, "row_normalize": bool(row_normalize)})
    graph = dataclasses.replace(graph, name=path.stem)
    return graph.largest_component() if largest_component else graph


def _neighbours(path: Path) -> list[str]:
    return [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []


_COLUMNS = [*inspect.signature(from_tables).parameters][1:]


def _read(path: Path, options: dict[str, Any]) -> Graph:
    for option in options:
        if option not in (*_COLUMNS, "labels"):
            hint = suggest(option, _COLUMNS) or f"; it knows {', '.join(_COLUMNS)}"
            raise InputError(f"load_graph knows no option {option!r}{hint}")
    if "labels" in options and (path.is_dir() or path.suffix.lower() in (*_TABLES, ".txt")):
        raise InputError("labels of a table must be a column, but got labels=; name it with label=")
    if path.is_dir():
        return _read_folder(path, options)
    ending = path.suffix.lower()
    if ending in _TABLES:
        return from_tables(path, **options)
    if ending == ".txt":
        return _read_snap(path, options)
    if ending == ".mtx":
        return _read_matrix_market(path, options)
    if ending == ".npz":
        return _read_npz(path, options)
    if ending == ".graphml":
        networkx = optional("networkx", extra="search", purpose="reading GraphML")
        with parsing(path, "a GraphML file"):
            data = networkx.read_graphml(path)
        if "label" in options:
            options["labels"] = options.pop("label")
        return as_graph(data, **_for_matrix(path, options))
    raise InputError(
        f"{path.name} has an unknown ending {ending!r}; graphs are read from "
        f"{', '.join(_ENDINGS)} or a folder with edges.* and nodes.*"
    )


def _read_folder(path: Path, options: dict[str, Any]) -> Graph:
    found = {}
    for role in ("edges", "nodes"):
        files = [path / f"{role}{ending}" for ending in _TABLES]
        found[role] = next((file for file in files if file.is_file()), None)
    if found["edges"] is None:
        raise InputError(
            f"a folder must hold edges.csv, .tsv or .parquet, but {path.resolve().name} holds "
            f"{show(sorted(p.name for p in path.iterdir())) or 'nothing'}; "
            "rename the table of edges, or give its path and nodes="
        )
    return from_tables(found["edges"], options.pop("nodes", found["nodes"]), **options)


def _read_snap(path: Path, options: dict[str, Any]) -> Graph:
    """A list of edges; its comments may say whether it is directed."""
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if not line.startswith("#"):
                break
            words = line.lower().replace(":", " ").split()
            if "directed" in words or "undirected" in words:
                options.setdefault("directed", "undirected" not in words)
                break
    return from_tables(path, **options)


def _read_matrix_market(path: Path, options: dict[str, Any]) -> Graph:
    io = optional("scipy.io", extra="search", purpose="reading MatrixMarket")
    with parsing(path, "a MatrixMarket file"):
        matrix = io.mmread(path)
    if matrix.dtype.kind == "c":
        raise InputError(
            f"edge weights must be real, but {path.name} holds complex numbers; "
            "save their sizes instead"
        )
    options = _for_matrix(path, options)
    structure = {key: options.pop(key) for key in ("directed", "weight") if key in options}
    graph = as_graph(sparse.coo_array(matrix), **structure)
    # The file counts its rows from 1; labels given by id mean these ids.
    graph = dataclasses.replace(graph, ids=np.arange(1, graph.num_nodes + 1))
    return as_graph(graph, **options)


def _read_npz(path: Path, options: dict[str, Any]) -> Graph:
    options = _for_matrix(path, options)
    with archive.open_npz(path) as arrays:
        data = _from_npz(path, arrays, options)
    return as_graph(data, **options)


def _from_npz(path: Path, arrays: Mapping[str, Any], options: dict[str, Any]) -> Any:
    """The graph or matrix in an archive; features and labels beside it become options."""
    if "autogm" in arrays:
        with parsing(path, "a whole graph of AutoGM", fix="save it again"):
            return archive.from_arrays(arrays)
    if {"format", "shape"} <= set(arrays):
        return sparse.load_npz(path)
    if {"adj_data", "adj_indices", "adj_indptr", "adj_shape"} <= set(arrays):
        if "attr_data" in arrays:
            options.setdefault("features", csr_of(arrays, "attr"))
        if "labels" in arrays:
            options.setdefault("labels", arrays["labels"])
        return csr_of(arrays, "adj")
    raise InputError(
        f"{path.name} must hold a graph that AutoGM or SciPy saved, or adj_data, adj_indices, "
        f"adj_indptr and adj_shape, but it holds {show(arrays, 8)}; "
        "save it with Graph.save or scipy.sparse.save_npz"
    )


def _for_matrix(path: Path, options: dict[str, Any]) -> dict[str, Any]:
    """The options of `as_graph`; a matrix has no columns to name."""
    known = {"labels", "features", "directed", "row_normalize", "weight"}
    strange = sorted(set(options) - known)
    if strange:
        raise InputError(
            f"{show(strange)} name columns of tables, but {path.name} has none; "
            "give labels and features as arrays with as_graph"
        )
    return dict(options)
