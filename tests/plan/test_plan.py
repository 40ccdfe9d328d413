import dataclasses
import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autogm import Algorithm
from autogm.graph import planted_partition
from autogm.plan import node_plan, paper_plan, plan
from tests.message.graphs import make_graph
from tests.plan.points import assert_equal, features_of, given_of, oracle, points, weights_of


@given(point=points(), threads=st.sampled_from([1, 2, 3]))
@settings(max_examples=300)
def test_a_plan_answers_as_the_reference(point, threads):
    made = plan(given_of(*point), threads=threads)
    expected = oracle(*point)
    assert_equal(made.outputs(), expected)
    np.testing.assert_array_equal(made.codes(), made.outputs().argmax(axis=1))


@given(point=points())
@settings(max_examples=150)
def test_the_papers_way_answers_the_same(point):
    assert_equal(paper_plan(given_of(*point), threads=1).outputs(), oracle(*point))


@given(point=points(), data=st.data())
@settings(max_examples=300)
def test_some_nodes_answers_are_rows_of_all_nodes(point, data):
    prepared = given_of(*point)
    n = point[0].num_nodes
    asked = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=6)), np.int32)
    found = node_plan(prepared, threads=1, large=99).answers(asked)
    assert_equal(found[0], oracle(*point)[asked])
    np.testing.assert_array_equal(found[1], found[0].argmax(axis=1))


LARGER = planted_partition(3000, num_features=40, degree=20)
COMBINED = list(
    itertools.product(["SA", "SS", "SN", "NA", "NS", "NN"], [True, False], [-1, 3], [True, False])
)


@pytest.mark.parametrize(("a", "nonlinear", "w", "oversample"), COMBINED)
def test_every_combination_on_a_graph_of_many_parts(a, nonlinear, w, oversample):
    """Large enough that steps are cut into parts, and blocks into rows that are left over."""
    algorithm = Algorithm(d=20, k=2, w=w, l=nonlinear, a=a)
    weights = weights_of(algorithm, 40, 5)
    prepared = given_of(LARGER, algorithm, weights, oversample)
    whole = plan(prepared, threads=2).outputs()
    asked = np.arange(0, 3000, 331, dtype=np.int32)
    answered, codes = node_plan(prepared, threads=1, large=99).answers(asked)
    expected = paper_plan(prepared, threads=1).outputs()
    assert_equal(whole, expected)
    assert_equal(answered, expected[asked])
    np.testing.assert_array_equal(codes, answered.argmax(axis=1))


def steps(**changes):
    point = {"d": 64, "k": 2} | changes.pop("algorithm", {})
    algorithm = Algorithm(**point)
    graph = planted_partition(200, **({"num_features": 40} | changes))
    weights = weights_of(algorithm, graph.num_features, 5)
    return [step.name for step in plan(given_of(graph, algorithm, weights), threads=1).steps]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"algorithm": {"k": 0}}, ["X W_out"]),
        ({}, ["X", "relu(A X W_1) W_2", "relu(A X) W_out"]),
        ({"num_features": 100}, ["X W_1", "relu(A X) W_2", "relu(A X) W_out"]),
        ({"algorithm": {"w": 2}}, ["X", "relu(A_1 X W_1) W_2", "relu(A_2 X) W_out"]),
        ({"algorithm": {"l": False, "k": 4}}, ["X W_1..W_out", "A^3 X", "A X"]),
        ({"algorithm": {"l": False, "d": 1, "k": 5}}, ["X W_1", "A^5 X", "x W_2..W_out"]),
        ({"algorithm": {"l": False, "w": 1}}, ["X W_1..W_out", "A_1 X", "A_2 X"]),
    ],
)
def test_messages_pass_where_they_are_narrowest(changes, expected):
    assert steps(**changes) == expected


def test_a_linear_plan_of_narrow_features_multiplies_last():
    algorithm = Algorithm(d=64, k=3, l=False)
    graph = planted_partition(200, num_features=10)
    prepared = given_of(graph, algorithm, weights_of(algorithm, 10, 20))
    names = [step.name for step in plan(prepared, threads=1).steps]
    assert names == ["X", "A^2 X", "A X W_1..W_out"]


@pytest.mark.parametrize(("kind", "values", "scales"), [("ones", 0, 0), ("equal rows", 0, 200)])
def test_binary_graphs_and_features_need_no_values(kind, values, scales):
    graph = planted_partition(200, num_features=40)
    features = features_of(kind, 200, 40, np.random.default_rng(0))
    graph = dataclasses.replace(graph, features=features, feature_names=None)
    prepared = given_of(graph, Algorithm.gcn(), weights_of(Algorithm.gcn(), 40, 5))
    assert len(prepared.matrices.values) == 0
    assert (len(prepared.features.values), len(prepared.features.scale)) == (values, scales)


def test_threads_do_not_change_a_bit():
    algorithm = Algorithm(d=40, k=3, w=4)
    prepared = given_of(LARGER, algorithm, weights_of(algorithm, 40, 5))
    one, two = (plan(prepared, threads=threads).outputs() for threads in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_many_threads_may_run_a_plan_at_once():
    algorithm = Algorithm(d=40, k=3)
    made = plan(given_of(LARGER, algorithm, weights_of(algorithm, 40, 5)), threads=2)
    expected = made.outputs()
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: made.outputs(), range(80)):
            np.testing.assert_array_equal(found, expected)


def test_answers_are_fresh_arrays():
    algorithm = Algorithm.sgcn()
    prepared = given_of(LARGER, algorithm, weights_of(algorithm, 40, 5))
    made = plan(prepared, threads=1)
    first = made.outputs()
    kept = first.copy()
    made.codes()[:] = -1
    first[:] = 0
    np.testing.assert_array_equal(made.outputs(), kept)


def test_a_field_that_is_a_large_part_of_the_graph_is_left_to_the_whole():
    algorithm = Algorithm(d=8, k=6)
    prepared = given_of(LARGER, algorithm, weights_of(algorithm, 40, 5))
    assert node_plan(prepared, threads=1).answers(np.array([5], np.int32)) is None


def test_explain_names_shapes_counts_and_times():
    algorithm = Algorithm.gcn()
    made = plan(given_of(LARGER, algorithm, weights_of(algorithm, 40, 5)), threads=1)
    lines = made.explain().splitlines()
    assert lines[0].startswith("1. X ")
    assert lines[2].startswith("3. relu(A X) W_out")
    assert "3,000 x 5" in lines[2]
    assert all("at best" in line and line.endswith("s") for line in lines)
    assert "s" not in made.explain(measured=False).splitlines()[0].split("flop")[1]


@pytest.mark.parametrize("point", [Algorithm.gcn(), Algorithm.sgcn(), Algorithm(d=64, k=5, w=3)])
def test_counted_operations_are_those_of_the_products(point):
    graph = planted_partition(500, num_features=200, degree=10)
    prepared = given_of(graph, point, weights_of(point, 200, 16))
    counted = sum(step.cost.operations for step in plan(prepared, threads=1).steps)
    entries = [prepared.matrices.num_entries(step) for step in range(1, point.k + 1)]
    width = 64 if point.l else 16
    inner = 500 * 64 * (64 * (point.k - 1) + 16) if point.l else 0
    assert counted == 2 * (500 * 200 * width + sum(entries) * width + inner)


@pytest.mark.parametrize("a", ["NA", "SA", "NS", "SS"])
def test_weights_of_any_size(a):
    """Rows are normalised each by itself, in double precision."""
    weights = [1e20, 1.0, 1e-40, 3e-40, 1e38, 1e38, 1e38, 1e38]
    pairs = [(1, 0), (2, 0), (3, 1), (4, 1), (0, 2), (1, 2), (3, 2), (4, 2)]
    graph = make_graph(6, pairs, directed=True, weights=weights)
    graph = dataclasses.replace(graph, features=np.eye(6, 20, dtype=np.float32))
    algorithm = Algorithm(d=4, k=2, l=True, a=a)
    point = (graph, algorithm, weights_of(algorithm, 20, 3))
    assert_equal(plan(given_of(*point), threads=1).outputs(), oracle(*point))


def test_stamps_do_not_run_over():
    algorithm = Algorithm(d=8, k=2, w=2)
    made = node_plan(given_of(LARGER, algorithm, weights_of(algorithm, 40, 5)), threads=1)
    asked = np.array([7, 900], np.int32)
    expected = made.answers(asked)[0]
    made._own.scratch.stamp[0] = 2**31 - 2
    for _ in range(3):
        np.testing.assert_array_equal(made.answers(asked)[0], expected)
