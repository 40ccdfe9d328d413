"""Graphs made here: real digits, planted communities, R-MAT for scale. Nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from autogm.errors import InputError, optional, require_whole, show
from autogm.graph.edges import EdgeList, compress
from autogm.graph.features import Features
from autogm.graph.graph import Graph
from autogm.graph.splits import Splits

__all__ = ["digits", "planted_partition", "rmat"]


def digits(neighbours: int = 6) -> Graph:
    """1,797 handwritten digits, each joined to its nearest ones; pixels are the features.

    Pixels are whole numbers, so distances are exact and ties go to the earlier digit: the graph
    is the same on every machine.
    """
    neighbours = require_whole("neighbours", neighbours, least=1)
    purpose = "the digits graph"
    data = optional("sklearn.datasets", extra="search", purpose=purpose).load_digits()
    pixels = data.data.astype(np.int64)
    squares = (pixels**2).sum(axis=1)
    distance = squares[:, None] + squares - 2 * pixels @ pixels.T
    np.fill_diagonal(distance, np.iinfo(np.int64).max)
    nearest = np.argsort(distance, axis=1, kind="stable")[:, :neighbours].astype(np.int32)
    n = len(pixels)
    source = np.repeat(np.arange(n, dtype=np.int32), neighbours)
    rows, _ = compress(EdgeList(source, nearest.ravel()), num_nodes=n, directed=False)
    labels = data.target.astype(np.int64)
    return Graph(
        rows=rows,
        directed=False,
        features=(pixels / 16).astype(np.float32),
        feature_names=tuple(data.feature_names),
        labels=labels,
        classes=tuple(range(10)),
        splits=Splits.fractions(labels, train=0.03, val=0.10),
        name="digits",
    )


def planted_partition(
    num_nodes: int = 1000,
    *,
    classes: int = 4,
    degree: float = 10,
    homophily: float = 0.8,
    degree_tail: float | None = None,
    num_features: int = 32,
    feature_density: float = 1.0,
    feature_signal: float = 0.5,
    seed: int = 0,
) -> Graph:
    """Communities with features: the class is planted in the edges and in the features.

    A share ``homophily`` of the edges joins nodes of one class. Expected degrees are equal, or
    follow a power law of exponent ``degree_tail`` (2.1 is heavy, 3 is mild). Features are a
    class mean plus noise, dense; with ``feature_density`` below 1 they are that share of ones in
    a sparse matrix, of which ``feature_signal`` are words of the class.

    >>> planted_partition(100, feature_density=0.1)
    Graph(planted: 100 nodes, 426 edges, undirected, 32 sparse features, 4 classes)
    """
    classes = require_whole("classes", classes, least=2)
    num_nodes = require_whole("num_nodes", num_nodes, least=2 * classes)
    num_features = require_whole("num_features", num_features, least=1)
    seed = require_whole("seed", seed, least=0)
    _require("homophily", homophily, "in 0..1", lambda x: 0 <= x <= 1, 0.8)
    _require("feature_signal", feature_signal, "in 0..1", lambda x: 0 <= x <= 1, 0.5)
    _require("feature_density", feature_density, "above 0, at most 1", lambda x: 0 < x <= 1, 0.1)
    _require("degree", degree, "at least 0 and finite", lambda x: 0 <= x < np.inf, 10)
    if degree_tail is not None:
        _require("degree_tail", degree_tail, "above 1 and finite", lambda x: 1 < x < np.inf, 2.1)
    rng = np.random.default_rng(seed)
    by_class = np.sort(rng.integers(classes, size=num_nodes))
    by_class[: 2 * classes] = np.arange(2 * classes) % classes
    by_class.sort()
    source, target = _planted_edges(by_class, degree, homophily, degree_tail, rng)
    place = rng.permutation(num_nodes).astype(np.int32)  # classes must not be runs of nodes
    labels = np.empty(num_nodes, dtype=np.int64)
    labels[place] = by_class
    rows, _ = compress(EdgeList(place[source], place[target]), num_nodes=num_nodes, directed=False)
    return Graph(
        rows=rows,
        directed=False,
        features=_planted_features(
            labels, classes, num_features, feature_density, feature_signal, rng
        ),
        labels=labels,
        classes=tuple(range(classes)),
        name="planted",
    )


def rmat(
    scale: int,
    num_edges: int,
    *,
    quadrants: tuple[float, float, float] = (0.57, 0.19, 0.19),
    directed: bool = True,
    seed: int = 0,
) -> Graph:
    """An R-MAT graph of 2**scale nodes: a skewed web of any size (Graph500's quadrants).

    Duplicate edges collapse, so it ends with somewhat fewer than ``num_edges``.
    """
    if not 1 <= require_whole("scale", scale) <= 30:
        raise InputError(f"scale must be in 1..30, but got {scale}; 20 gives a million nodes")
    num_edges = require_whole("num_edges", num_edges, least=0)
    seed = require_whole("seed", seed, least=0)
    if len(quadrants) != 3 or not (min(quadrants) >= 0 and sum(quadrants) <= 1 + 1e-9):
        raise InputError(
            "quadrants must be three shares that add up to at most 1, the fourth being the rest, "
            f"but got {quadrants}; (0.57, 0.19, 0.19) is usual"
        )
    a, b, c = quadrants
    rng = np.random.default_rng(seed)
    source = np.zeros(num_edges, dtype=np.int32)
    target = np.zeros(num_edges, dtype=np.int32)
    for _ in range(scale):
        draw = rng.random(num_edges, dtype=np.float32)
        source = 2 * source + (draw >= a + b)
        target = 2 * target + (((draw >= a) & (draw < a + b)) | (draw >= a + b + c))
    place = rng.permutation(2**scale).astype(np.int32)  # hubs must not stand together
    rows, _ = compress(
        EdgeList(place[source], place[target]), num_nodes=2**scale, directed=directed
    )
    return Graph(rows=rows, directed=directed, name="rmat")


def _require(
    name: str, value: Any, rule: str, holds: Callable[[float], bool], usual: float
) -> None:
    if not isinstance(value, Real) or not holds(float(value)):
        raise InputError(f"{name} must be {rule}, but got {show([value])}; {usual} is usual")


def _planted_edges(
    by_class: NDArray[np.int64],
    degree: float,
    homophily: float,
    degree_tail: float | None,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Draw ends in proportion to expected degrees; nodes are sorted by class here."""
    n, classes = len(by_class), int(by_class[-1]) + 1
    pull = np.ones(n) if degree_tail is None else rng.pareto(degree_tail - 1, n) + 1
    pull = np.minimum(pull, np.sqrt(n) * pull.mean())  # a hub wider than that is all duplicates
    reach = np.concatenate([[0], np.cumsum(pull)])
    even = degree_tail is None
    bounds = reach[np.searchsorted(by_class, np.arange(classes + 1))]
    num_edges = round(n * degree / 2)
    source = _draw(reach, rng.random(num_edges) * reach[-1], even=even)
    low, high = (bounds[by_class[source] + i] for i in (0, 1))
    inside = low + rng.random(num_edges) * (high - low)
    # The other classes: everything but [low, high), cut out and closed up.
    outside = rng.random(num_edges) * (reach[-1] - (high - low))
    outside = np.where(outside < low, outside, outside + (high - low))
    at = np.where(rng.random(num_edges) < homophily, inside, outside)
    target = _draw(reach, at, even=even)
    other = source != target
    return source[other], target[other]


def _draw(reach: NDArray[np.float64], at: NDArray[np.float64], *, even: bool) -> NDArray[np.int32]:
    found = at if even else np.searchsorted(reach, at, side="right") - 1
    return np.minimum(found, len(reach) - 2).astype(np.int32)


def _planted_features(
    labels: NDArray[np.int64],
    classes: int,
    num_features: int,
    density: float,
    signal: float,
    rng: np.random.Generator,
) -> Features:
    n = len(labels)
    if density == 1:
        means = rng.standard_normal((classes, num_features), dtype=np.float32)
        noise = rng.standard_normal((n, num_features), dtype=np.float32)
        return np.float32(signal) * means[labels] + noise
    words = max(1, round(density * num_features))
    own = max(1, num_features // classes)
    topical = (labels[:, None] * own + rng.integers(own, size=(n, words))) % num_features
    anything = rng.integers(num_features, size=(n, words))
    column = np.where(rng.random((n, words)) < signal, topical, anything)
    matrix = sparse.csr_array(
        (np.ones(n * words, np.float32), (np.repeat(np.arange(n), words), column.ravel())),
        shape=(n, num_features),
    )
    matrix.data[:] = 1  # a word drawn twice is still one word
    return matrix
