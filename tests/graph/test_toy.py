import re

import numpy as np
import pytest
from scipy import sparse

from autogm import InputError, MissingExtra, load_graph
from autogm.graph import DATASETS, digits, planted_partition, rmat


def planted(**changes):
    return planted_partition(**{"num_nodes": 4000, "num_features": 20, **changes})


def homophily(graph):
    """The share of edges within a class."""
    receivers, senders = graph.rows.row_of_entry, graph.rows.indices
    return np.mean(graph.labels[receivers] == graph.labels[senders])


def degrees(graph):
    return np.diff(graph.rows.indptr)


MAKERS = pytest.mark.parametrize(
    "make",
    [
        pytest.param(planted, id="planted"),
        pytest.param(lambda **o: planted(degree_tail=2.2, **o), id="heavy tail"),
        pytest.param(lambda **o: planted(feature_density=0.1, **o), id="sparse"),
        pytest.param(lambda **o: rmat(10, 5000, **o), id="rmat"),
    ],
)


@MAKERS
def test_the_same_seed_gives_the_same_graph(make):
    assert make(seed=3).fingerprint == make(seed=3).fingerprint


@MAKERS
def test_another_seed_gives_another_graph(make):
    assert make(seed=3).fingerprint != make(seed=4).fingerprint


@MAKERS
def test_no_seed_is_seed_zero(make):
    assert make().fingerprint == make(seed=0).fingerprint


def test_nothing_is_seeded_globally():
    state = np.random.get_state()[1].tolist()
    planted(seed=1)
    assert np.random.get_state()[1].tolist() == state


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("tail", [None, 2.5])
def test_homophily_is_as_asked(share, tail):
    graph = planted(homophily=share, degree_tail=tail)
    assert homophily(graph) == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize("degree", [4, 20])
def test_the_mean_degree_is_as_asked(degree):
    assert degrees(planted(degree=degree)).mean() == pytest.approx(degree, rel=0.03)


def test_a_heavier_tail_has_larger_hubs():
    even, mild, heavy = (degrees(planted(degree_tail=tail)).max() for tail in (None, 3.5, 2.1))
    assert 2 * even < mild < heavy


def test_there_are_as_many_classes_as_asked():
    assert np.unique(planted(classes=7).labels).tolist() == list(range(7))


def test_every_class_has_two_nodes():
    assert np.bincount(planted_partition(10, classes=5).labels).tolist() == [2] * 5


def test_classes_are_not_runs_of_nodes():
    labels = planted().labels
    assert np.mean(labels[1:] == labels[:-1]) == pytest.approx(0.25, abs=0.05)


def test_dense_features_are_float32():
    features = planted().features
    assert (type(features), features.dtype, features.shape) == (np.ndarray, np.float32, (4000, 20))


def test_features_tell_the_classes_apart():
    graph = planted(feature_signal=1)
    means = [graph.features[graph.labels == c].mean(axis=0) for c in range(4)]
    assert np.linalg.norm(means[0] - means[1]) > 1


def test_without_signal_features_tell_nothing():
    graph = planted(feature_signal=0)
    means = [graph.features[graph.labels == c].mean(axis=0) for c in range(4)]
    assert np.abs(means).max() < 0.2


@pytest.mark.parametrize("density", [0.01, 0.05])
def test_the_density_of_features_is_as_asked(density):
    features = planted(num_features=500, feature_density=density, feature_signal=0).features
    assert features.nnz / (4000 * 500) == pytest.approx(density, rel=0.05)


def test_sparse_features_are_ones():
    features = planted(feature_density=0.2).features
    assert (type(features), np.unique(features.data).tolist()) == (sparse.csr_array, [1])


def test_words_of_the_class_are_as_frequent_as_asked():
    graph = planted(num_features=400, feature_density=0.01, feature_signal=0.7)
    entries = graph.features.tocoo()
    own = np.mean(entries.col // 100 == graph.labels[entries.row])
    assert own == pytest.approx(0.7 + 0.3 / 4, abs=0.02)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classes": 1}, "classes must be a whole number of at least 2, but got 1"),
        ({"num_nodes": 7}, "num_nodes must be a whole number of at least 8, but got 7"),
        ({"num_features": 0, "feature_density": 0.5}, "num_features must be .* but got 0; try 1"),
        ({"num_features": 2.5}, "num_features must be a whole number .* but got 2.5"),
        ({"seed": 1.5}, "seed must be a whole number .* but got 1.5"),
        ({"homophily": "high"}, "homophily must be in 0..1, but got 'high'; 0.8 is usual"),
        ({"homophily": 1.5}, r"homophily must be in 0\.\.1, but got 1\.5"),
        ({"feature_signal": -0.5}, r"feature_signal must be in 0\.\.1, but got -0\.5"),
        ({"feature_density": 0}, "feature_density must be above 0, at most 1, but got 0; 0.1"),
        ({"feature_density": 2}, "feature_density must be above 0, at most 1, but got 2"),
        ({"degree_tail": 1}, "degree_tail must be above 1 and finite, but got 1"),
        ({"degree": -1}, "degree must be .* but got -1"),
        ({"degree": float("inf")}, "degree must be at least 0 and finite, but got inf"),
    ],
)
def test_impossible_communities_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        planted(**changes)


def test_rmat_has_a_power_of_two_of_nodes():
    assert rmat(10, 5000).num_nodes == 1024


def test_rmat_has_at_most_as_many_edges_as_asked():
    assert 3500 < rmat(10, 5000).num_edges <= 5000


@pytest.mark.parametrize("directed", [True, False])
def test_rmat_has_a_direction_or_none(directed):
    assert rmat(6, 100, directed=directed).directed == directed


def test_rmat_is_skewed():
    even = rmat(10, 5000, quadrants=(0.25, 0.25, 0.25))
    assert degrees(rmat(10, 5000)).max() > 3 * degrees(even).max()


def test_the_first_quadrant_holds_its_share():
    everything = rmat(5, 50, quadrants=(1.0, 0.0, 0.0))
    assert everything.num_edges == 1  # one cell of the matrix


@pytest.mark.parametrize("scale", [0, 31])
def test_the_scale_of_rmat_has_bounds(scale):
    with pytest.raises(InputError, match=rf"scale must be in 1\.\.30, but got {scale}"):
        rmat(scale, 10)


@pytest.mark.parametrize(
    "quadrants", [(0.9, 0.9, 0.9), (-0.1, 0.5, 0.5), (0.5, 0.5), (float("nan"), 0.5, 0.5)]
)
def test_the_quadrants_of_rmat_are_shares(quadrants):
    with pytest.raises(
        InputError, match=re.escape(f"at most 1, the fourth being the rest, but got {quadrants}")
    ):
        rmat(5, 10, quadrants=quadrants)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((5.5, 10), "scale must be a whole number, but got 5.5"),
        ((5, 2.5), "num_edges must be a whole number of at least 0, but got 2.5"),
        ((5, "x"), "num_edges must be a whole number of at least 0, but got 'x'"),
    ],
)
def test_rmat_counts_in_whole_numbers(arguments, message):
    with pytest.raises(InputError, match=message):
        rmat(*arguments)


def test_rmat_needs_no_negative_edges():
    with pytest.raises(InputError, match=r"num_edges must be .* but got -1"):
        rmat(5, -1)


def test_digits_have_their_published_counts():
    graph, dataset = digits(), DATASETS["digits"]
    found = (graph.num_nodes, graph.num_edges, graph.num_features, len(graph.classes))
    assert found == (dataset.nodes, dataset.edges, dataset.features, dataset.classes)


def test_digits_are_the_same_on_every_machine():
    assert digits().fingerprint == "a8083f14db313cdfe0fde66023534c90"


def test_digits_have_at_least_their_neighbours():
    assert degrees(digits(neighbours=3)).min() >= 3


def test_digits_look_like_their_neighbours():
    assert homophily(digits()) > 0.95


def test_digits_are_a_named_graph():
    assert load_graph("digits").fingerprint == digits().fingerprint


def test_pixels_are_shares_of_the_brightest():
    features = digits().features
    assert (features.min(), features.max()) == (0, 1)


def test_without_their_library_digits_say_what_to_install(without):
    without("sklearn")
    with pytest.raises(MissingExtra, match=r"digits graph needs sklearn, .* 'autogm\[search\]'"):
        digits()
