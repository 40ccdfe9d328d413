import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autogm import InputError, as_graph, structural_features
from autogm.message.structure import KINDS
from tests.message.graphs import graphs


@given(graph=graphs(), kinds=st.sets(st.sampled_from(KINDS), min_size=1))
def test_every_graph_gets_finite_features_with_names(graph, kinds):
    made = structural_features(graph, sorted(kinds), hashed=5)
    assert made.features.shape == (graph.num_nodes, len(made.feature_names))
    assert np.isfinite(made.features).all()
    assert made.fingerprint != graph.fingerprint


def test_degree_and_pagerank_are_standardised():
    made = structural_features(
        as_graph([(0, 1), (1, 2), (1, 3)], directed=True), ["degree", "pagerank"]
    )
    assert made.feature_names == ("in_degree", "out_degree", "pagerank")
    np.testing.assert_allclose(made.features.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(made.features.std(axis=0), 1, atol=1e-6)


def test_hashed_ids_follow_the_id_and_the_seed():
    edges = [("a", "b"), ("b", "c")]
    one = structural_features(as_graph(edges), ["ids"])
    other = structural_features(as_graph(edges[::-1]), ["ids"])
    np.testing.assert_array_equal(
        one.features[one.positions(["b"])], other.features[other.positions(["b"])]
    )
    reseeded = structural_features(as_graph(edges), ["ids"], seed=1)
    assert not np.array_equal(one.features, reseeded.features)


def test_hashed_ids_are_nearly_orthogonal():
    ring = as_graph([(i, (i + 1) % 400) for i in range(400)])
    features = structural_features(ring, ["ids"], hashed=128).features
    products = features @ features.T
    np.testing.assert_allclose(np.diag(products), 1, rtol=1e-5)
    assert np.abs(products - np.eye(400)).mean() < 0.08


@pytest.mark.parametrize(
    ("kinds", "found"), [(["degre"], "'degre'; did you mean 'degree'"), ([], "none")]
)
def test_unknown_kinds(kinds, found):
    with pytest.raises(
        InputError, match=f"kinds must be some of degree, pagerank, ids, but got {found}"
    ):
        structural_features(as_graph([(0, 1)]), kinds)


@pytest.mark.parametrize("hashed", [0, -1, 2.5, "x"])
def test_a_number_of_hashes_that_is_none(hashed):
    graph = as_graph([(0, 1), (1, 2)], directed=False)
    with pytest.raises(InputError, match="hashed must be a whole number of at least 1, but got "):
        structural_features(graph, hashed=hashed)
