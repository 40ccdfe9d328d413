"""A graph in one file of plain arrays: written atomically, read without pickle."""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from autogm.errors import InputError, parsing
from autogm.graph.edges import Rows
from autogm.graph.graph import Graph
from autogm.graph.splits import Splits

__all__ = ["SCHEMA", "from_arrays", "open_npz", "save"]

SCHEMA = 1
"""Counts up when the arrays or the record change their meaning."""


def save(graph: Graph, path: str | Path) -> None:
    """Write the graph beside its place first, then move it there: a reader never sees half."""
    path = Path(path)
    if path.suffix.lower() != ".npz" or not path.parent.is_dir():
        raise InputError(
            f"a graph is saved as .npz into a folder that exists, but got {str(path)!r}; "
            "end the name in .npz and make the folder first"
        )
    record = {
        "schema": SCHEMA,
        "directed": graph.directed,
        "classes": graph.classes,
        "feature_names": graph.feature_names,
        "edge_type": graph.edge_type,
        "name": graph.name,
    }
    arrays: dict[str, Any] = {"autogm": np.array(json.dumps(record, default=str))}
    arrays |= {f"rows.{key}": value for key, value in graph.rows._asdict().items()}
    if sparse.issparse(graph.features):
        for key in ("indptr", "indices", "data", "shape"):
            arrays[f"features.{key}"] = np.asarray(getattr(graph.features, key))
    else:
        arrays["features"] = graph.features
    for key in ("labels", "ids", "names", "times"):
        arrays[key] = getattr(graph, key)
    if graph.splits is not None:
        arrays |= {f"splits.{key}": value for key, value in graph.splits._asdict().items()}
    present = {key: value for key, value in arrays.items() if value is not None}
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with partial.open("xb") as file:
            np.savez(file, **present)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def open_npz(path: Path) -> Iterator[Mapping[str, Any]]:
    """The arrays of an .npz file, each read when it is asked for; never pickles."""
    with parsing(path, "an .npz file"), path.open("rb") as file:
        if file.read(2) != b"PK":
            raise ValueError("it is no archive")
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            yield arrays


def from_arrays(arrays: Mapping[str, Any]) -> Graph:
    """The graph that `save` wrote."""
    record = json.loads(str(arrays["autogm"]))
    if record["schema"] != SCHEMA:
        raise InputError(
            f"the file was written with schema {record['schema']}, but this version reads "
            f"{SCHEMA}; make it again from its source"
        )

    def get(key: str) -> Any:
        return arrays[key] if key in arrays else None

    features = get("features")
    if "features.data" in arrays:
        parts = tuple(arrays[f"features.{key}"] for key in ("data", "indices", "indptr"))
        features = sparse.csr_array(parts, shape=tuple(arrays["features.shape"].tolist()))
    splits = None
    if "splits.train" in arrays:
        splits = Splits(*(arrays[f"splits.{part}"] for part in Splits._fields))
    names = record["feature_names"]
    return Graph(
        rows=Rows(arrays["rows.indptr"], arrays["rows.indices"], get("rows.values")),
        directed=record["directed"],
        features=features,
        feature_names=None if names is None else tuple(names),
        labels=get("labels"),
        classes=tuple(record["classes"]),
        ids=arrays["ids"],
        names=get("names"),
        splits=splits,
        times=get("times"),
        edge_type=record["edge_type"],
        name=record["name"],
    )
