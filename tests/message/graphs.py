"""Small random graphs for property tests, and what the oracle needs of them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from autogm import Algorithm, Graph, as_graph
from autogm.graph.edges import EdgeList, compress
from autogm.message import neighbours


def make_graph(num_nodes, pairs, *, directed, weights=None, ids=None):
    """From listed edges: loops, duplicates and isolated nodes welcome."""
    source, target = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    weights = None if weights is None else np.asarray(weights, dtype=np.float64)
    edges = EdgeList(source, target, weights=weights)
    rows, _ = compress(edges, num_nodes=num_nodes, directed=directed)
    return Graph(rows=rows, directed=directed, **({} if ids is None else {"ids": ids}))


@st.composite
def graphs(draw, max_nodes=9, weighted=None, directed=None):
    """Isolated nodes, self-loops, duplicates, one node, no edges; ids in any order or text."""
    n = draw(st.integers(1, max_nodes))
    node = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=4 * n))
    directed = draw(st.booleans()) if directed is None else directed
    weighted = draw(st.booleans()) if weighted is None else weighted
    weights = None
    if weighted:
        weight = st.floats(0.125, 8, width=32)
        weights = draw(st.lists(weight, min_size=len(pairs), max_size=len(pairs)))
    ids = np.array(draw(st.permutations([3 * i - 4 for i in range(n)])))
    if draw(st.booleans()):
        ids = np.array([f"node {i}" for i in ids])
    return make_graph(n, pairs, directed=directed, weights=weights, ids=ids)


@st.composite
def algorithms(draw, max_steps=3):
    return Algorithm(
        d=draw(st.integers(1, 4)),
        k=draw(st.integers(0, max_steps)),
        w=draw(st.sampled_from([-1, 1, 2, 3, 5])),
        l=draw(st.booleans()),
        a=draw(st.sampled_from(["SA", "SS", "SN", "NA", "NS", "NN"])),
    )


def dense(graph):
    """The oracle's matrix: entry (u, v) is the weight with which u hears from v."""
    return graph.adjacency.toarray().astype(np.float64)


def keys(graph):
    return [int(key) for key in graph.stable_keys]


def star(leaves, *, directed=False):
    """Node 0 hears from all the others."""
    pairs = [(leaf, 0) for leaf in range(1, leaves + 1)]
    return make_graph(leaves + 1, pairs, directed=directed)


__all__ = ["algorithms", "as_graph", "dense", "graphs", "keys", "make_graph", "neighbours", "star"]
