import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autogm import Algorithm, InputError, as_graph, embed
from autogm.algorithm import AGGREGATIONS
from autogm.graph import Rows
from autogm.message import aggregate, reference, sample, step_key

from .graphs import algorithms, dense, graphs, keys, make_graph, neighbours


def weights_of(algorithm, d0, seed=0):
    rng = np.random.default_rng(seed)
    d = algorithm.d
    return [rng.standard_normal((d if i else d0, d)) for i in range(algorithm.k)]


@pytest.mark.parametrize("a", AGGREGATIONS)
@given(graphs(), st.sampled_from([-1, 1, 2, 4]), st.booleans(), st.sampled_from(["in", "out"]))
def test_every_aggregation_equals_the_reference(a, graph, w, oversample, direction):
    drawn = sample(
        neighbours(graph, direction),
        w,
        key=step_key(0, 1),
        stable_keys=graph.stable_keys,
        oversample=oversample,
    )
    adjacency = dense(graph) if direction == "in" else dense(graph).T
    a_samp = reference.sample(adjacency, w, keys(graph), 0, 2**64 - 1, 1, oversample)
    expected = reference.aggregate(a_samp, a)
    np.testing.assert_allclose(aggregate(drawn, a).toarray(), expected, rtol=1e-12)


@given(
    graphs(), algorithms(), st.booleans(), st.sampled_from(["in", "out"]),
    st.sampled_from(["last", "sum"]), st.integers(0, 5),
)  # fmt: skip
def test_embed_equals_the_reference(graph, algorithm, oversample, direction, readout, seed):
    x0 = np.random.default_rng(seed).standard_normal((graph.num_nodes, 3))
    weights = weights_of(algorithm, 3, seed)
    options = {"seed": seed, "direction": direction, "readout": readout, "oversample": oversample}
    expected = reference.embed(
        dense(graph), x0, weights, algorithm, stable_keys=keys(graph), **options
    )
    result = embed(graph, algorithm, weights, initial=x0, **options)
    np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_sampled_rows_in_another_order_are_left_as_they_are():
    rows = Rows(np.array([0, 2, 2, 2]), np.array([2, 1], np.int32), np.array([5.0, 7.0]))
    np.testing.assert_array_equal(aggregate(rows, "NN").toarray()[0], [0, 7, 5])
    assert (rows.indices.tolist(), rows.values.tolist()) == ([2, 1], [5, 7])


@pytest.mark.parametrize("a", AGGREGATIONS)
@pytest.mark.parametrize("direction", ["in", "out"])
def test_a_node_without_neighbours_has_a_defined_answer(a, direction):
    graph = make_graph(3, [(0, 1)], directed=True)
    x0 = np.ones((3, 2))
    result = embed(graph, Algorithm(d=2, k=1, l=False, a=a), [np.eye(2)], initial=x0,
                   direction=direction)  # fmt: skip
    np.testing.assert_array_equal(result[2], [1, 1] if a[0] == "S" else [0, 0])


@pytest.mark.parametrize("sparse_features", [False, True])
def test_features_are_the_initial_statistics(sparse_features):
    from scipy import sparse

    x0 = np.array([[1, 0], [0, 2], [3, 0]], dtype=np.float32)
    features = sparse.csr_array(x0) if sparse_features else x0
    graph = as_graph([(0, 1), (1, 2)], directed=False, features=features)
    result = embed(graph, Algorithm(d=1, k=1, l=True, a="NN"), [[[1.0], [-1.0]]])
    np.testing.assert_array_equal(result, [[0], [4], [0]])


def test_no_steps_return_the_initial_statistics():
    graph = as_graph([(0, 1), (1, 2)], directed=False, features=np.eye(3))
    np.testing.assert_array_equal(embed(graph, Algorithm(d=3, k=0), []), np.eye(3))


def test_results_keep_the_precision_of_the_features():
    graph = as_graph([(0, 1), (1, 2)], directed=False, features=np.eye(3))
    assert embed(graph, Algorithm(d=2, k=1), [np.ones((3, 2))]).dtype == np.float32


def test_missing_features_are_named():
    graph = as_graph([(0, 1), (1, 2)], directed=False)
    with pytest.raises(InputError, match="the graph has none; give initial="):
        embed(graph, Algorithm(d=2, k=1), [np.ones((3, 2))])


def test_weights_of_the_wrong_shape_are_named():
    graph = as_graph([(0, 1), (1, 2)], directed=False, features=np.eye(3))
    with pytest.raises(InputError, match=r"shapes \[\(3, 2\), \(2, 2\)\], but got \[\(3, 2\)\]"):
        embed(graph, Algorithm(d=2, k=2), [np.ones((3, 2))])


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        (np.ones((2, 3, 2)), r"shapes \[\(3, 2\), \(2, 2\)\], but got \[\(3, 2\), \(3, 2\)\]; the"),
        (np.ones(2), r"but got \[\(\), \(\)\]"),
        (5, "weights must be a list of matrices of numbers, but got int 5; give W_1..W_k"),
        (None, "weights must be a list of matrices of numbers, but got NoneType None"),
        ([[["a"]]], r"weights must be a list of matrices of numbers, but got list \[\[\['a'\]\]\]"),
    ],
)
def test_weights_that_are_no_list_of_matrices_are_named(weights, text):
    graph = as_graph([(0, 1), (1, 2)], directed=False, features=np.eye(3))
    with pytest.raises(InputError, match=text):
        embed(graph, Algorithm(d=2, k=2), weights)


def test_weights_may_be_one_array():
    graph = as_graph([(0, 1), (1, 2)], directed=False, features=np.eye(3))
    weights = np.random.default_rng(0).standard_normal((2, 3, 3))
    algorithm = Algorithm(d=3, k=2)
    expected = embed(graph, algorithm, list(weights))
    np.testing.assert_array_equal(embed(graph, algorithm, weights), expected)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ({"direction": "up"}, "direction must be one of in, out, but got 'up'"),
        ({"readout": "mean"}, "readout must be one of last, sum, but got 'mean'; choose one"),
        ({"readout": "lest"}, "readout must be one of .* 'lest'; did you mean 'last'?"),
        ({"seed": 1.5}, "seed must be a whole number, but got 1.5; try 0"),
        ({"epoch": -1}, "epoch must be a whole number of at least 0, but got -1"),
    ],
)
def test_an_unknown_option_lists_the_choices(option, text):
    graph = as_graph([(0, 1), (1, 2)], directed=False, features=np.eye(3))
    with pytest.raises(InputError, match=text):
        embed(graph, Algorithm(d=3, k=1), [np.eye(3)], **option)


@pytest.mark.parametrize("a", ["AS", "ss", "S", ""])
def test_an_unknown_aggregation_lists_the_choices(a):
    rows = make_graph(2, [(0, 1)], directed=False).rows
    with pytest.raises(InputError, match=f"one of NN, NS, NA, SN, SS, SA, but got '{a}'"):
        aggregate(rows, a)


@pytest.mark.parametrize("kind", [int, np.uint8, bool, np.float32, np.float64])
def test_initial_statistics_of_any_type_are_not_rounded(kind):
    graph = as_graph([(0, 1), (1, 2)], directed=False)
    result = embed(graph, Algorithm(d=1, k=1, l=False, a="NA"), [[[0.5]]],
                   initial=np.ones((3, 1), kind))  # fmt: skip
    np.testing.assert_array_equal(result, [[0.5]] * 3)


def test_initial_statistics_may_be_sparse():
    from scipy import sparse

    graph = as_graph([(0, 1), (1, 2)], directed=False)
    x0 = sparse.csr_array(np.eye(3))
    result = embed(graph, Algorithm(d=3, k=1, l=False, a="NN"), [np.eye(3)], initial=x0)
    np.testing.assert_array_equal(result, graph.adjacency.toarray())


def test_positions_outside_sparse_initial_statistics_are_named():
    from scipy import sparse

    x0 = sparse.csr_array(np.eye(3))
    x0.indices[1] = 10**9
    graph = as_graph([(0, 1), (1, 2)], directed=False)
    with pytest.raises(InputError, match=r"columns of initial .* in 0\.\.2, but one is 1000000000"):
        embed(graph, Algorithm(d=1, k=1), [np.ones((3, 1))], initial=x0)


@pytest.mark.parametrize("x0", [np.ones(3), np.ones((2, 1))])
def test_initial_statistics_of_the_wrong_shape_are_named(x0):
    graph = as_graph([(0, 1), (1, 2)], directed=False)
    with pytest.raises(InputError, match=r"one row a node \(3\), but its shape is \("):
        embed(graph, Algorithm(d=1, k=1), [[[1.0]]], initial=x0)


def test_a_seed_may_be_a_numpy_integer():
    graph = as_graph([(0, 1), (1, 2)], directed=False, features=np.eye(3))
    weights, algorithm = [np.eye(3)], Algorithm(d=3, k=1, w=1)
    here, there = (embed(graph, algorithm, weights, seed=seed) for seed in (3, np.int64(3)))
    np.testing.assert_array_equal(here, there)


def test_somebody_elses_graph_is_named():
    with pytest.raises(InputError, match="a Graph is needed, but got list; use as_graph"):
        embed([(0, 1)], Algorithm.gcn(), [])


def test_a_constructor_is_no_algorithm():
    graph = as_graph([(0, 1), (1, 2)], directed=False, features=np.eye(3))
    with pytest.raises(InputError, match="an Algorithm is needed, but got"):
        embed(graph, Algorithm.gcn, [])
