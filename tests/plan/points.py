"""Points with weights on small graphs, and what the oracle answers for them."""

from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from autogm import Algorithm
from autogm.algorithm import Weights
from autogm.message import reference
from autogm.plan import Given, aggregations, feature_matrix
from tests.message.graphs import dense, graphs, keys

KINDS = ("dense", "sparse", "equal rows", "ones")


def features_of(kind, n, width, rng):
    """Dense, sparse, sparse with one value a row, sparse of ones."""
    x = rng.standard_normal((n, width)).astype(np.float32)
    if kind == "dense":
        return x
    kept = rng.random((n, width)) < 0.3
    if kind == "sparse":
        return sparse.csr_array(x * kept)
    row = rng.uniform(0.1, 2, (n, 1)).astype(np.float32) if kind == "equal rows" else np.float32(1)
    return sparse.csr_array((kept * row).astype(np.float32))


def weights_of(algorithm, width, outputs, seed=0):
    rng = np.random.default_rng(seed)
    shapes = Weights.shapes(algorithm, width, outputs)
    *layers, output, bias = [
        (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32) for shape in shapes
    ]
    return Weights(tuple(layers), output, bias)


@st.composite
def points(draw, min_steps=0):
    """A graph with features, an algorithm, its weights and the rule of sampling."""
    graph = draw(graphs(max_nodes=10))
    width = draw(st.sampled_from([1, 3, 17, 40]))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    features = features_of(draw(st.sampled_from(KINDS)), graph.num_nodes, width, rng)
    graph = dataclasses.replace(graph, features=features)
    algorithm = Algorithm(
        d=draw(st.sampled_from([1, 4, 20, 70])),
        k=draw(st.integers(min_steps, 4)),
        w=draw(st.sampled_from([-1, 1, 2, 3])),
        l=draw(st.booleans()),
        a=draw(st.sampled_from(["SA", "SS", "SN", "NA", "NS", "NN"])),
    )
    weights = weights_of(algorithm, width, draw(st.sampled_from([1, 2, 5, 18])))
    if algorithm.normalization == "N" and algorithm.k:
        weights = weights._replace(layers=_tamed(weights.layers, graph, algorithm.k))
    return graph, algorithm, weights, draw(st.booleans())


def _tamed(layers, graph, k):
    """Sums of neighbours grow with every step, and what is left of them at the end may be small:

    no float32 could hold both. So what comes in is smaller by as much as they may grow.
    """
    growth = (1 + abs(graph.adjacency).sum(axis=1).max(initial=0)) ** k
    return (layers[0] / np.float32(growth), *layers[1:])


def given_of(graph, algorithm, weights, oversample=False, *, coded=True, sample_seed=0):
    matrices = aggregations(graph, algorithm, sample_seed=sample_seed, oversample=oversample)
    return Given(algorithm, weights, feature_matrix(graph.features), matrices, coded)


def oracle(graph, algorithm, weights, oversample=False, sample_seed=0):
    """In float64, by the reference."""
    x = graph.features.toarray() if sparse.issparse(graph.features) else graph.features
    x = x.astype(np.float64)
    if algorithm.k:
        layers = [layer.astype(np.float64) for layer in weights.layers]
        options = {"stable_keys": keys(graph), "seed": sample_seed, "oversample": oversample}
        x = reference.embed(dense(graph), x, layers, algorithm, **options)
    return x @ weights.output.astype(np.float64) + weights.bias.astype(np.float64)


def assert_equal(found, expected):
    """To 1e-5 of the largest entry."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * max(1, np.abs(expected).max()))
