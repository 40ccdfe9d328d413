"""Features made of the structure alone, for graphs whose nodes bring none."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from autogm.errors import InputError, show, suggest
from autogm.graph import Graph, require_graph
from autogm.message.sample import step_key
from autogm.message.scores import pagerank

__all__ = ["KINDS", "structural_features"]

KINDS = ("degree", "pagerank", "ids")


def structural_features(
    graph: Graph, kinds: Sequence[str] = KINDS, *, hashed: int = 32, seed: int = 0
) -> Graph:
    """The graph with features made of its structure.

    ``degree``: logarithms of the in-degree and, in a directed graph, the out-degree; ``pagerank``:
    the logarithm of n times the score; ``ids``: ``hashed`` signs that follow from the node's id,
    by which neighbourhoods can be told apart. Degree and PageRank are scaled to mean 0, variance 1.

    >>> from autogm import as_graph
    >>> g = as_graph([("a", "b"), ("b", "c")], directed=False)
    >>> structural_features(g, ["degree"]).features.ravel().round(2)
    array([-0.71,  1.41, -0.71], dtype=float32)
    """
    require_graph(graph)
    strange = [kind for kind in kinds if kind not in KINDS]
    if strange or not kinds:
        raise InputError(
            f"kinds must be some of {', '.join(KINDS)}, but got {show(strange) or 'none'}"
            f"{suggest(str(strange[0]), KINDS) if strange else ''}"
        )
    if "ids" in kinds and not (isinstance(hashed, int | np.integer) and hashed >= 1):
        raise InputError(
            f"hashed must be a whole number of at least 1, but got {hashed!r}; "
            "for no hashed ids leave 'ids' out of kinds"
        )
    columns: dict[str, NDArray[np.float64]] = {}
    if "degree" in kinds:
        columns["in_degree"] = np.log1p(np.diff(graph.rows.indptr))
        if graph.directed:
            sent = np.bincount(graph.rows.indices, minlength=graph.num_nodes)
            columns["out_degree"] = np.log1p(sent)
    if "pagerank" in kinds:
        columns["pagerank"] = np.log(graph.num_nodes * pagerank(graph))
    columns = {name: _standard(column) for name, column in columns.items()}
    if "ids" in kinds:
        signs = _signs(graph.stable_keys, hashed, seed)
        columns |= {f"id_hash_{i}": signs[:, i] for i in range(hashed)}
    features = np.stack(list(columns.values()), axis=1).astype(np.float32)
    return dataclasses.replace(graph, features=features, feature_names=tuple(columns))


def _standard(column: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray((column - column.mean()) / (column.std() or 1))


def _signs(keys: NDArray[np.uint64], count: int, seed: int) -> NDArray[np.float64]:
    """The bits of each key's hashes, as signs that add up to squares of one."""
    words = []
    for i in range(-(-count // 64)):
        word = keys ^ np.uint64(step_key(seed, i))
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            word = (word ^ (word >> np.uint64(shift))) * np.uint64(factor)
        words.append(word ^ (word >> np.uint64(31)))
    bits = np.unpackbits(np.stack(words, axis=1).view(np.uint8), axis=1, count=count)
    return np.asarray(np.where(bits, 1.0, -1.0) / np.sqrt(count))
