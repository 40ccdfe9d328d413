import re
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sknetwork.ranking import PageRank

from autogm import Algorithm, InputError, as_graph, embed, pagerank, pixie, ppr, rwr
from autogm.graph import planted_partition, rmat
from autogm.message import kernel, reference
from autogm.message.scores import on_seeds, uniform

from .graphs import dense, graphs, keys, make_graph

SCORES = [pagerank, ppr, rwr, pixie]


def walk_matrix(graph):
    """P: column v spreads over v's out-neighbours by weight; zero where there are none."""
    a = dense(graph)
    sums = a.sum(axis=0)
    return np.divide(a, sums, out=np.zeros_like(a), where=sums > 0)


def solve(graph, restart, damping):
    """The stationary distribution by a dense linear solve."""
    p = walk_matrix(graph)
    p[:, p.sum(axis=0) == 0] = restart[:, None]
    n = graph.num_nodes
    return np.linalg.solve(np.eye(n) - damping * p, (1 - damping) * restart)


def as_networkx(graph):
    g = nx.DiGraph() if graph.directed else nx.Graph()
    g.add_nodes_from(graph.ids.tolist())
    entries = graph.adjacency.tocoo()
    for u, v, weight in zip(entries.row, entries.col, entries.data, strict=True):
        g.add_edge(graph.ids[v].item(), graph.ids[u].item(), weight=float(weight))
    return g


def in_order(graph, scores):
    return np.array([scores[node] for node in graph.ids.tolist()])


@st.composite
def seeded(draw):
    """A graph, some of its ids, and weights for them."""
    graph = draw(graphs())
    ids = draw(st.lists(st.sampled_from(graph.ids.tolist()), min_size=1, unique=True))
    weights = st.floats(0.1, 10)
    return graph, {node: draw(weights) for node in ids}


@given(graphs(), st.sampled_from([0.5, 0.85, 0.99]))
def test_pagerank_equals_networkx_and_a_dense_solve(graph, damping):
    scores = pagerank(graph, damping=damping)
    theirs = nx.pagerank(as_networkx(graph), alpha=damping, tol=1e-14, max_iter=10_000)
    np.testing.assert_allclose(scores, in_order(graph, theirs), atol=1e-8)
    exact = solve(graph, uniform(graph.num_nodes), damping)
    np.testing.assert_allclose(scores, exact, atol=1e-8)


@given(seeded())
def test_ppr_equals_networkx_and_a_dense_solve(case):
    graph, seeds = case
    scores = ppr(graph, seeds)
    theirs = nx.pagerank(as_networkx(graph), personalization=seeds, tol=1e-14, max_iter=10_000)
    np.testing.assert_allclose(scores, in_order(graph, theirs), atol=1e-8)
    np.testing.assert_allclose(scores, solve(graph, on_seeds(graph, seeds), 0.85), atol=1e-8)


@given(seeded(), st.sampled_from([0.15, 0.4]))
def test_rwr_equals_networkx_and_a_dense_solve(case, restart):
    graph, seeds = case
    scores = rwr(graph, seeds, restart=restart)
    theirs = nx.pagerank(
        as_networkx(graph), alpha=1 - restart, personalization=seeds, tol=1e-14, max_iter=10_000
    )
    np.testing.assert_allclose(scores, in_order(graph, theirs), atol=1e-8)
    np.testing.assert_allclose(scores, solve(graph, on_seeds(graph, seeds), 1 - restart), atol=1e-8)


@given(seeded())
def test_one_seed_by_itself_is_a_list_of_one(case):
    graph, seeds = case
    node = next(iter(seeds))
    np.testing.assert_array_equal(ppr(graph, node), ppr(graph, [node]))


@pytest.mark.parametrize("weighted", [False, True])
def test_pagerank_equals_scikit_network_where_nothing_dangles(weighted):
    graph = planted_partition(500, degree=12, num_features=1)
    if weighted:
        matrix = graph.adjacency.astype(float)
        matrix.data = 1.0 + (matrix.indices + graph.rows.row_of_entry) % 5
        graph = as_graph(matrix)
    from scipy.sparse import csr_matrix

    model = PageRank(damping_factor=0.85, n_iter=1000, tol=1e-13)
    theirs = model.fit_predict(csr_matrix(graph.adjacency.T.astype(float)))
    np.testing.assert_allclose(pagerank(graph), theirs, atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_pagerank_equals_scikit_network_on_directed_edges(weighted):
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(4)
    ring = [(u, (u + 1) % 300) for u in range(300)]  # so that nothing dangles
    pairs = [*ring, *rng.integers(300, size=(2000, 2)).tolist()]
    weights = rng.uniform(1, 9, len(pairs)) if weighted else None
    graph = make_graph(300, pairs, directed=True, weights=weights)
    assert (graph.adjacency != graph.adjacency.T).nnz > 0
    model = PageRank(damping_factor=0.85, n_iter=1000, tol=1e-13)
    theirs = model.fit_predict(csr_matrix(graph.adjacency.T.astype(float)))
    np.testing.assert_allclose(pagerank(graph), theirs, atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_bits_of_pagerank_do_not_depend_on_threads(monkeypatch, weighted):
    graph = rmat(14, 600_000, seed=3)
    if weighted:
        matrix = graph.adjacency.T.astype(float)
        matrix.data = 1 + np.arange(matrix.nnz) % 7 / 3
        graph = as_graph(matrix, directed=True)
    assert len(kernel.chunks(graph.rows.indptr)) > 4

    def scores(threads):
        monkeypatch.setattr(kernel, "num_threads", lambda: threads)
        return pagerank(graph).tobytes()

    assert len({scores(threads) for threads in (1, 2, 5)}) == 1


def test_pixie_rounds_its_draws_down():
    algorithm = Algorithm.pixie(k=27)
    assert (algorithm.w, algorithm.k * algorithm.w) == (74, 1998)


@pytest.mark.parametrize("damping", [0.5, 0.85, 0.99])
def test_tolerance_bounds_the_sum_of_errors(damping):
    graph = rmat(8, 1000)
    exact = solve(graph, uniform(graph.num_nodes), damping)
    for tol in (1e-2, 1e-5, 1e-9):
        assert np.abs(pagerank(graph, damping=damping, tol=tol) - exact).sum() <= tol


@given(st.integers(2, 8), st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20))
def test_pagerank_is_a_point_of_the_framework(n, more):
    """Algorithm 1 with d = 1, a = NA, outward, summed, on a graph where nothing dangles."""
    ring = [(u, (u + 1) % n) for u in range(n)]
    more = [(u % n, v % n) for u, v in more if u % n != v % n]
    graph = make_graph(n, ring + more, directed=True)
    steps, damping = 150, 0.85
    x0 = (1 - damping) * uniform(n)[:, None]
    received = embed(
        graph, Algorithm.pagerank(k=steps), [[[damping]]] * steps,
        initial=x0, direction="out", readout="sum",
    )  # fmt: skip
    np.testing.assert_allclose((x0 + received).ravel(), pagerank(graph), atol=1e-9)


def expected_step(graph, width):
    """E[Agg(A_samp^T)^T] for NA, outward, by going through every draw a node can make."""
    a = dense(graph) * (1 - np.eye(graph.num_nodes))
    expected = np.zeros_like(a)
    for v in range(graph.num_nodes):
        heard_by = np.flatnonzero(a[:, v])
        draws = list(combinations(heard_by, min(width, len(heard_by))))
        for draw in map(list, draws if len(heard_by) else []):
            expected[draw, v] += a[draw, v] / a[draw, v].sum() / len(draws)
    return expected


@pytest.mark.parametrize("readout", ["sum", "last"])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_mean_of_pixie_is_the_expectation_of_its_walk(readout, directed, weighted):
    rng = np.random.default_rng(3)
    pairs, weights = rng.integers(8, size=(30, 2)), rng.uniform(1, 9, 30)
    graph = make_graph(8, pairs, directed=directed, weights=weights if weighted else None)
    seeds, steps, width = {0: 1.0, 3: 2.0}, 3, 2
    held, received = on_seeds(graph, seeds, normalize=False), 0
    for _ in range(steps):  # draws of different steps are independent, so expectations multiply
        held = expected_step(graph, width) @ held
        received = received + held
    runs = np.array(
        [
            pixie(graph, seeds, steps=steps, budget=steps * width, seed=seed, readout=readout)
            for seed in range(2000)
        ]
    )
    error = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
    assert error.max() > 0
    expected = received if readout == "sum" else held
    assert (np.abs(runs.mean(axis=0) - expected) <= 4 * error + 1e-12).all()


@given(graphs(), st.integers(1, 4), st.integers(1, 3), st.integers(0, 3))
def test_pixie_is_algorithm_1_on_its_point(graph, steps, width, seed):
    node = graph.ids[0].item()
    x0 = on_seeds(graph, [node], normalize=False)[:, None]
    algorithm = Algorithm.pixie(k=steps, budget=steps * width)
    expected = reference.embed(
        dense(graph), x0, [np.ones((1, 1))] * steps, algorithm,
        stable_keys=keys(graph), seed=seed, direction="out", readout="sum",
    )  # fmt: skip
    scores = pixie(graph, node, steps=steps, budget=steps * width, seed=seed)
    np.testing.assert_allclose(scores, expected.ravel(), atol=1e-12)


def with_weights(weights):
    """A ring of seven with chords, its weights in the order of entries."""
    pairs = [(u, (u + step) % 7) for u in range(7) for step in (1, 3)]
    return make_graph(7, pairs, directed=True, weights=weights)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("power", [-1060, -1000, 1021])
def test_the_unit_of_weights_does_not_matter(score, power):
    eighths = np.arange(8, 22) / 8  # exact, even as subnormal numbers
    seeds = () if score is pagerank else ([0],)
    expected = score(with_weights(eighths), *seeds)
    here = score(with_weights(np.ldexp(eighths, power)), *seeds)
    np.testing.assert_array_equal(here, expected)


@pytest.mark.parametrize("score", SCORES)
def test_weights_of_all_sizes_give_finite_scores(score):
    seeds = () if score is pagerank else ([0],)
    weights = np.tile([1e-310, 1e308, 1.7e308, 1, 5e-324, 1e154, 1e-154], 2)
    with np.errstate(all="raise", under="ignore"):
        scores = score(with_weights(weights), *seeds)
    assert np.isfinite(scores).all()
    if score is not pixie:
        assert scores.sum() == pytest.approx(1, abs=1e-9)


def test_two_tiny_weights_are_two_equal_edges():
    graph = as_graph([("a", "b", 1e-310), ("b", "a", 1e-310)], directed=True)
    np.testing.assert_allclose(pagerank(graph), [0.5, 0.5])


def test_two_huge_weights_do_not_overflow():
    graph = as_graph([("a", "b", 1e308), ("a", "c", 1e308), ("b", "a", 1), ("c", "a", 1)])
    np.testing.assert_allclose(pagerank(graph)[1:], 2 * [pagerank(graph)[1]])
    assert pagerank(graph).sum() == pytest.approx(1)


def test_huge_weights_of_seeds_do_not_overflow():
    graph = as_graph([("a", "b"), ("b", "a")], directed=True)
    here = ppr(graph, {"a": 1e308, "b": 1e308})
    np.testing.assert_allclose(here, [0.5, 0.5])


def test_pixie_repeats_with_its_seed():
    graph = planted_partition(300, degree=20, num_features=1)
    one, again = (pixie(graph, 0, steps=4, budget=8, seed=5) for _ in range(2))
    np.testing.assert_array_equal(one, again)


@pytest.mark.parametrize("score", SCORES)
def test_scores_are_float64_in_node_order(score):
    graph = as_graph([("b", "a"), ("c", "a")])
    scores = score(graph) if score is pagerank else score(graph, seeds=["b"])
    assert scores.dtype == np.float64
    assert scores.shape == (3,)


@given(graphs(), st.randoms(use_true_random=False))
def test_scores_follow_the_ids(graph, random):
    order = list(range(graph.num_nodes))
    random.shuffle(order)
    moved = graph.subgraph(np.array(order))
    np.testing.assert_allclose(pagerank(moved), pagerank(graph)[order], atol=1e-12)


@pytest.mark.parametrize("score", [ppr, rwr, pixie])
@pytest.mark.parametrize(
    ("seeds", "text"),
    [
        (["a", "x"], "every node id must be in the graph, but 1 is not: 'x'"),
        ([], "at least one seed is needed, but got none"),
        ({"a": 0.0}, "seed weights must be positive and finite, but seed 'a' has 0.0; leave"),
        ({"a": -1.0}, "seed weights must be positive and finite, but seed 'a' has -1.0; leave"),
        ({"a": float("nan")}, "seed weights must be .* finite, but seed 'a' has nan; leave"),
        ({"a": float("inf")}, "seed weights must be .* finite, but seed 'a' has inf; leave"),
    ],
)
def test_wrong_seeds_are_named(score, seeds, text):
    with pytest.raises(InputError, match=text):
        score(as_graph([("a", "b"), ("b", "c")]), seeds=seeds)


def test_a_text_seed_of_a_graph_with_integer_ids_is_named():
    with pytest.raises(InputError, match="integers like 0, 1, 2, but got 'x'"):
        ppr(as_graph([(0, 1), (1, 2)]), seeds=["x"])


@pytest.mark.parametrize("damping", [0, 1, -0.5, float("nan"), "x", None, [0.5]])
def test_damping_outside_its_range_is_named(damping):
    expected = f"damping must be between 0 and 1, but got {damping!r}; 0.85 is usual"
    with pytest.raises(InputError, match=re.escape(expected)):
        pagerank(as_graph([(0, 1), (1, 2)]), damping=damping)


@pytest.mark.parametrize("tol", [0, 1, -1e-3, float("nan"), "x"])
def test_a_tolerance_outside_its_range_is_named(tol):
    expected = f"tol must be between 0 and 1, but got {tol!r}; 1e-10 is usual"
    with pytest.raises(InputError, match=re.escape(expected)):
        pagerank(as_graph([(0, 1), (1, 2)]), tol=tol)


@pytest.mark.parametrize("options", [{"tol": 1e-30}, {"tol": 5e-324}, {"damping": 5e-324}])
def test_options_at_the_end_of_their_range_end(options):
    assert pagerank(rmat(6, 200), **options).sum() == pytest.approx(1, abs=1e-12)


def test_a_restart_that_rounds_away_is_named():
    with pytest.raises(InputError, match=r"damping must be between 0 and 1, but got 1\.0"):
        rwr(as_graph([(0, 1), (1, 2)]), 0, restart=1e-17)


def test_a_restart_outside_its_range_is_named():
    with pytest.raises(InputError, match="restart must be between 0 and 1, but got 2"):
        rwr(as_graph([(0, 1), (1, 2)]), 0, restart=2)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"seed": 1.5}, "seed must be a whole number, but got 1.5"),
        ({"seed": "x"}, "seed must be a whole number, but got 'x'"),
        ({"readout": "mean"}, "readout must be one of sum, last, but got 'mean'; sum counts"),
        ({"steps": 2.5}, "k must be a whole number, but got 2.5"),
    ],
)
def test_wrong_options_of_pixie_are_named(options, text):
    with pytest.raises(InputError, match=text):
        pixie(as_graph([(0, 1), (1, 2)]), 0, **options)


def test_more_steps_than_pixie_may_take_are_named():
    with pytest.raises(InputError, match=r"k must be in 1..5 \(the budget k w\), but got 6"):
        pixie(as_graph([(0, 1), (1, 2)]), 0, steps=6, budget=5)


@pytest.mark.parametrize("score", SCORES)
def test_somebody_elses_graph_is_named(score):
    arguments = () if score is pagerank else ([0],)
    with pytest.raises(InputError, match="a Graph is needed, but got Graph; use as_graph"):
        score(nx.path_graph(3), *arguments)


def test_a_seed_weight_must_be_a_number():
    with pytest.raises(InputError, match="seed 'a' has x"):
        ppr(as_graph([("a", "b"), ("b", "c")]), {"a": "x"})


def test_seeds_that_are_tuples_are_found_by_their_text():
    graph = as_graph(nx.grid_2d_graph(2, 2))
    assert ppr(graph, [(0, 1)]).argmax() == graph.ids.tolist().index("(0, 1)")
