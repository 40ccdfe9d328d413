from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from autogm import Graph
from autogm.graph import Rows, planted_partition
from autogm.message import INFERENCE, neighbours, reference, sample, step_key
from autogm.message import kernel as kernel_module

from .graphs import dense, graphs, keys, make_graph, star

WIDTHS = [1, 2, 3, 5, 9, 40]


def draw(graph, w, *, seed=0, step=1, epoch=INFERENCE, direction="in", **options):
    key = step_key(seed, step, epoch)
    rows = neighbours(graph, direction)
    return sample(rows, w, key=key, stable_keys=graph.stable_keys, **options)


def as_dense(rows):
    return rows.to_scipy(np.float64).toarray()


def neighbour_ids(graph, rows, u):
    return graph.ids[rows.indices[rows.indptr[u] : rows.indptr[u + 1]]].tolist()


@given(graphs(), st.sampled_from([-1, *WIDTHS]), st.booleans(), st.sampled_from(["in", "out"]))
def test_draws_equal_the_reference(graph, w, oversample, direction):
    a = dense(graph) if direction == "in" else dense(graph).T
    expected = reference.sample(a, w, keys(graph), 7, 3, 2, oversample)
    drawn = draw(graph, w, seed=7, step=2, epoch=3, direction=direction, oversample=oversample)
    np.testing.assert_allclose(as_dense(drawn), expected)


@given(graphs(weighted=False), st.sampled_from(WIDTHS))
def test_a_row_has_as_many_distinct_true_neighbours_as_it_can(graph, w):
    rows, drawn = neighbours(graph), draw(graph, w)
    np.testing.assert_array_equal(np.diff(drawn.indptr), np.minimum(np.diff(rows.indptr), w))
    for u in range(graph.num_nodes):
        ids = neighbour_ids(graph, drawn, u)
        assert len(set(ids)) == len(ids)
        assert set(ids) <= set(neighbour_ids(graph, rows, u)) - {graph.ids[u]}


@given(graphs(weighted=False), st.sampled_from(WIDTHS))
def test_oversampling_draws_exactly_w_where_there_is_any_neighbour(graph, w):
    counts = as_dense(draw(graph, w, oversample=True)).sum(axis=1)
    has_any = np.diff(neighbours(graph).indptr) > 0
    np.testing.assert_array_equal(counts, np.where(has_any, w, 0))


@given(graphs(weighted=True, directed=True), st.sampled_from(WIDTHS))
def test_a_drawn_edge_keeps_its_weight(graph, w):
    drawn = as_dense(draw(graph, w))
    np.testing.assert_array_equal(drawn[drawn > 0], dense(graph)[drawn > 0])


@given(graphs(), st.sampled_from(WIDTHS), st.randoms(use_true_random=False))
def test_the_order_of_nodes_does_not_matter(graph, w, random):
    order = list(range(graph.num_nodes))
    random.shuffle(order)
    moved = graph.subgraph(np.array(order))
    here, there = draw(graph, w), draw(moved, w)
    for u, old in enumerate(order):
        assert set(neighbour_ids(moved, there, u)) == set(neighbour_ids(graph, here, old))


@given(graphs(), st.sampled_from(WIDTHS))
def test_the_rest_of_the_graph_does_not_matter(graph, w):
    whole = draw(graph, w)
    for u in range(graph.num_nodes):
        around = np.unique([u, *graph.rows.indices[slice(*graph.rows.indptr[u : u + 2])]])
        part = graph.subgraph(around)
        at = int(np.flatnonzero(around == u)[0])
        assert neighbour_ids(part, draw(part, w), at) == neighbour_ids(graph, whole, u)


@given(graphs(), st.sampled_from([-1, *WIDTHS]), st.data())
def test_asking_for_some_rows_gives_the_same_rows(graph, w, data):
    asked = data.draw(st.lists(st.integers(0, graph.num_nodes - 1), unique=True))
    some, whole = draw(graph, w, nodes=np.array(asked, dtype=int)), draw(graph, w)
    for row, u in enumerate(asked):
        assert neighbour_ids(graph, some, row) == neighbour_ids(graph, whole, u)


@pytest.mark.parametrize("w", [3, 100, 500])
def test_the_number_of_threads_does_not_matter(w, monkeypatch):
    graph = planted_partition(20_000, degree=30, degree_tail=2.1, num_features=1)
    many = draw(graph, w)
    monkeypatch.setattr(kernel_module, "num_threads", lambda: 1)
    alone = draw(graph, w)
    np.testing.assert_array_equal(alone.indices, many.indices)


def test_threads_of_the_caller_do_not_disturb_each_other():
    graph = planted_partition(20_000, degree=30, num_features=1)
    expected = draw(graph, 5).indices
    with ThreadPoolExecutor(4) as pool:
        for drawn in pool.map(lambda _: draw(graph, 5), range(8)):
            np.testing.assert_array_equal(drawn.indices, expected)


@pytest.mark.parametrize("other", [{"seed": 1}, {"step": 2}, {"epoch": 0}])
def test_another_key_gives_another_draw(other):
    graph = star(1000)
    assert set(draw(graph, 20).indices[:20]) != set(draw(graph, 20, **other).indices[:20])


# Widths on both sides of each way to draw: by bits (n <= 64 w) and by a table (n > 64 w).
@pytest.mark.parametrize(("n", "w"), [(7, 3), (64, 1), (65, 1), (130, 2), (300, 30), (1000, 4)])
def test_draws_are_uniform(n, w):
    graph, draws = star(n), 40 * n // w
    rows = neighbours(graph)
    counts = np.zeros(n + 1)
    for seed in range(draws):
        drawn = sample(
            rows,
            w,
            key=step_key(seed, 1),
            stable_keys=graph.stable_keys,
            nodes=np.array([0]),
        )
        counts[drawn.indices] += 1
    # Without replacement counts vary less than chi-square's by (n - w) / (n - 1).
    statistic = ((counts[1:] - draws * w / n) ** 2 / (draws * w / n)).sum() * (n - 1) / (n - w)
    assert 1e-4 < stats.chi2.cdf(statistic, n - 1) < 1 - 1e-4


def test_oversampled_draws_are_uniform():
    graph, w, draws = star(5), 20, 2000
    rows, counts = neighbours(graph), np.zeros(6)
    for seed in range(draws):
        drawn = sample(
            rows, w, key=step_key(seed, 1), stable_keys=graph.stable_keys, oversample=True
        )
        counts += as_dense(drawn)[0]
    assert stats.chisquare(counts[1:]).pvalue > 1e-4


def test_pairs_are_drawn_independently():
    graph, draws = star(6), 6000
    together = np.zeros((7, 7))
    for seed in range(draws):
        i, j = draw(graph, 2, seed=seed, nodes=np.array([0])).indices
        together[i, j] += 1
    pairs = together[np.triu_indices(7, 1)]
    assert stats.chisquare(pairs[pairs > 0]).pvalue > 1e-4
    assert (pairs > 0).sum() == 15


@pytest.mark.parametrize(("n", "w"), [(10_000, 100), (200, 150), (100_000, 1500), (70, 1)])
def test_wide_and_narrow_draws_equal_the_reference(n, w):
    graph = star(n)
    expected = reference.draw(0, n, w, 5, 2, 1, False)
    drawn = draw(graph, w, seed=5, epoch=2, nodes=np.array([0]))
    assert (drawn.indices - 1).tolist() == sorted(expected)


def test_loops_are_never_drawn():
    graph = make_graph(3, [(0, 0), (1, 1), (0, 1), (2, 2)], directed=True)
    np.testing.assert_array_equal(as_dense(draw(graph, -1)).diagonal(), 0)


def test_a_graph_without_edges_draws_nothing():
    graph = Graph(rows=Rows(np.zeros(4, np.int64), np.empty(0, np.int32)), directed=True)
    assert len(draw(graph, 3).indices) == len(draw(graph, 3, oversample=True).indices) == 0


@settings(max_examples=300)
@given(st.integers(0, 2**64 - 1), st.integers(1, 2**31))
def test_below_is_the_exact_scaling(number, m):
    from autogm.message.sample import _below

    assert int(_below(np.uint64(number), np.uint64(m))) == reference.below(number, m)


@given(st.integers(-(2**63), 2**64), st.integers(0, 2**64 - 1), st.integers(1, 1000))
def test_keys_of_steps_equal_the_reference(seed, epoch, step):
    from autogm.message.sample import mix

    number = reference.stream(seed, epoch, step, key=9, j=0)
    stream = (step_key(seed, step, epoch) + int(mix(np.uint64(9)))) % 2**64
    stream = (int(mix(np.uint64(stream))) + 0x9E3779B97F4A7C15) % 2**64
    assert int(mix(np.uint64(stream))) == number
