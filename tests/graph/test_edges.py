import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autogm import InputError
from autogm.graph import Rows
from autogm.graph.edges import MAX_NODES, EdgeList, check_weights, compress


@st.composite
def edge_lists(draw):
    """Few nodes and many edges, so that duplicates and self-loops are common."""
    n = draw(st.integers(1, 6))
    node = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=25))
    eighths = st.integers(1, 80).map(lambda x: x / 8)  # sums of them are exact
    weights = draw(st.lists(eighths, min_size=len(pairs), max_size=len(pairs)))
    times = draw(st.lists(st.integers(-9, 9), min_size=len(pairs), max_size=len(pairs)))
    return n, pairs, weights, times


def oracle(pairs, weights, times, *, directed):
    """(receiver, sender) -> (summed weight, earliest time), in row order."""
    entries = {}
    for (u, v), weight, time in zip(pairs, weights, times, strict=True):
        for receiver, sender in {(v, u)} if directed else {(u, v), (v, u)}:
            total, earliest = entries.get((receiver, sender), (0, time))
            entries[receiver, sender] = total + weight, min(earliest, time)
    return dict(sorted(entries.items()))


def compressed(n, pairs, weights=None, times=None, *, directed):
    source, target = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    carried = (None if c is None else np.array(c, dtype=np.float64) for c in (weights, times))
    edges = EdgeList(source, target, **dict(zip(("weights", "times"), carried, strict=True)))
    return compress(edges, num_nodes=n, directed=directed)


def entries(rows):
    return list(zip(rows.row_of_entry.tolist(), rows.indices.tolist(), strict=True))


@given(edge_lists(), st.booleans())
def test_binary_rows_hold_each_neighbour_once_ascending(edges, directed):
    n, pairs, weights, times = edges
    rows, _ = compressed(n, pairs, directed=directed)
    assert entries(rows) == list(oracle(pairs, weights, times, directed=directed))


@given(edge_lists(), st.booleans())
def test_weighted_rows_have_the_same_structure(edges, directed):
    n, pairs, weights, times = edges
    rows, _ = compressed(n, pairs, weights, times, directed=directed)
    assert entries(rows) == list(oracle(pairs, weights, times, directed=directed))


@given(edge_lists(), st.booleans())
def test_weights_of_duplicates_add_up(edges, directed):
    n, pairs, weights, times = edges
    rows, _ = compressed(n, pairs, weights, directed=directed)
    expected = [weight for weight, _ in oracle(pairs, weights, times, directed=directed).values()]
    assert rows.values.tolist() == expected


@given(edge_lists(), st.booleans())
def test_the_earliest_time_of_duplicates_stays(edges, directed):
    n, pairs, weights, times = edges
    _, kept = compressed(n, pairs, times=times, directed=directed)
    expected = [time for _, time in oracle(pairs, weights, times, directed=directed).values()]
    assert kept.tolist() == expected


@given(edge_lists(), st.booleans(), st.randoms(use_true_random=False))
def test_the_order_of_edges_does_not_matter(edges, directed, random):
    n, pairs, _, _ = edges
    shuffled = list(pairs)
    random.shuffle(shuffled)
    here, _ = compressed(n, pairs, directed=directed)
    there, _ = compressed(n, shuffled, directed=directed)
    assert entries(here) == entries(there)


@given(edge_lists())
def test_transpose_is_the_dense_one(edges):
    n, pairs, weights, _ = edges
    rows, _ = compressed(n, pairs, weights, directed=True)
    dense = rows.to_scipy().toarray()
    np.testing.assert_array_equal(rows.transpose().to_scipy().toarray(), dense.T)


@given(edge_lists())
def test_without_loops_empties_the_diagonal_only(edges):
    n, pairs, weights, _ = edges
    rows, _ = compressed(n, pairs, weights, directed=True)
    dense = rows.to_scipy().toarray()
    np.fill_diagonal(dense, 0)
    np.testing.assert_array_equal(rows.without_loops().to_scipy().toarray(), dense)


def test_index_types_are_those_of_the_record():
    rows, _ = compressed(3, [(0, 1)], directed=True)
    assert (rows.indptr.dtype, rows.indices.dtype) == (np.int64, np.int32)


def test_no_edges_give_empty_rows():
    rows, _ = compressed(3, [], directed=False)
    assert rows.indptr.tolist() == [0, 0, 0, 0]


def test_kept_entries_stay_in_their_rows():
    rows = Rows(np.array([0, 2, 3]), np.array([0, 1, 0], dtype=np.int32), np.array([1.0, 2, 3]))
    kept = rows.keep(np.array([False, True, True]))
    assert (entries(kept), kept.values.tolist()) == ([(0, 1), (1, 0)], [2, 3])


def test_too_many_nodes_are_refused():
    with pytest.raises(InputError, match=f"at most {MAX_NODES:,} nodes, but got {2**31:,}"):
        compressed(2**31, [], directed=True)


@pytest.mark.parametrize("bad", [-2.0, 0.0, np.nan, np.inf])
def test_a_weight_that_is_not_positive_and_finite_is_refused(bad):
    with pytest.raises(InputError, match=f"positive and finite, but weight 1 is {bad}"):
        check_weights(np.array([1, bad, 1]), 3)


def test_there_must_be_one_weight_an_edge():
    with pytest.raises(InputError, match=r"one weight an edge \(3\), but got 2"):
        check_weights(np.ones(2), 3)


def test_scipy_gets_narrow_indices():
    matrix = Rows(np.array([0, 1, 1]), np.array([1], np.int32)).to_scipy()
    assert matrix.indptr.dtype == matrix.indices.dtype == np.int32
