import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autogm import Algorithm
from autogm.graph import planted_partition
from autogm.message import INFERENCE, aggregate, neighbours, sample, step_key
from autogm.message import kernel as kernels
from autogm.message.field import Aggregation
from tests.message.graphs import algorithms, graphs, keys, make_graph


def dense(matrix):
    found = np.zeros((matrix.num_rows, matrix.num_columns))
    for row, (first, last) in enumerate(zip(matrix.first, matrix.last, strict=True)):
        np.add.at(found[row], matrix.indices[first:last], matrix.values[first:last])
    return found


@given(
    graphs(),
    algorithms().filter(lambda a: a.k),
    st.booleans(),
    st.sampled_from([0, 3, INFERENCE]),
    st.integers(0, 2**20),
)
def test_a_step_is_rows_of_the_aggregation_matrix(graph, algorithm, oversample, epoch, seed):
    rng = np.random.default_rng(seed)
    targets = rng.permutation(graph.num_nodes)[: 1 + graph.num_nodes // 2]
    drawn = sample(
        neighbours(graph),
        algorithm.w,
        key=step_key(5, 1, epoch),
        stable_keys=np.array(keys(graph), np.uint64),
        oversample=oversample,
    )
    expected = aggregate(drawn, algorithm.a).toarray()[targets]
    made = Aggregation(graph, algorithm, 5, oversample)
    step, sources = made.step(targets, 1, epoch=epoch)
    found = np.zeros((len(targets), graph.num_nodes))
    found[:, sources] = dense(step)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("a", ["NA", "NS", "SA", "SS"])
def test_a_small_row_beside_large_weights_is_not_lost(a):
    pairs, weights = [(0, 1), (2, 3), (4, 3)], [1e12, 0.01, 0.02]
    graph = make_graph(5, pairs, directed=True, weights=weights)
    expected = aggregate(neighbours(graph), a).toarray()
    step, sources = Aggregation(graph, Algorithm(k=1, a=a)).step(np.arange(5), 1, epoch=0)
    found = np.zeros((5, 5))
    found[:, sources] = dense(step)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@given(graphs(), algorithms().filter(lambda a: a.k), st.booleans())
def test_a_field_stays_within_its_bytes(graph, algorithm, oversample):
    made = Aggregation(graph, algorithm, oversample=oversample)
    targets = np.arange(graph.num_nodes)[::2]
    field = made.field(targets)
    entry = 8 * len(field.nodes[0])
    for most in range(0, field.num_bytes + 400, 40):
        some = made.field(targets, most=most)
        assert some is None or some.num_bytes <= most + entry
    assert made.field(targets, most=10**9).num_bytes == field.num_bytes


def test_a_field_that_is_too_large_is_not_begun(monkeypatch):
    graph = planted_partition(1000, degree=20)
    made = Aggregation(graph, Algorithm.gcn())
    monkeypatch.setattr(Aggregation, "step", lambda *_, **__: pytest.fail("a step was made"))
    assert made.field(np.arange(1000), most=8 * 2 * graph.num_edges) is None


@pytest.mark.parametrize("threads", [1, 2])
def test_a_field_uses_the_threads_it_is_given(threads, monkeypatch):
    helped = []
    monkeypatch.setattr(kernels, "num_threads", lambda: 4)
    real = kernels.help_out
    monkeypatch.setattr(
        kernels, "help_out", lambda *args: helped.append(threading.get_ident()) or real(*args)
    )
    graph = planted_partition(20_000, degree=20)
    made = Aggregation(graph, Algorithm.graphsage(), threads=threads)
    made.field(np.arange(20_000))
    assert (len(helped) > 0) == (threads > 1)
