import dataclasses

import numpy as np
import pytest
from scipy import sparse

from autogm import Graph, InputError, Splits, as_graph
from autogm.graph import Rows

PATH = [("a", "b"), ("b", "c")]
NAN = float("nan")


def path(**changes):
    """a - b - c, built from rows."""
    rows = Rows(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], dtype=np.int32))
    return Graph(**{"rows": rows, "directed": False, "ids": np.array(["a", "b", "c"]), **changes})


def rows(indptr=(0, 1, 3, 4), indices=(1, 0, 2, 1), values=None):
    values = None if values is None else np.array(values, dtype=np.float64)
    return Rows(np.array(indptr), np.array(indices, dtype=np.int32), values)


def splits(*parts):
    return Splits(*(np.array([part]) for part in parts))


def full(**changes):
    """A graph with every field filled in."""
    fields = {
        "rows": rows(values=[1, 1, 2, 2]),
        "features": np.eye(3, 2, dtype=np.float32),
        "feature_names": ("age", "height"),
        "labels": np.array([0, -1, 1]),
        "classes": ("x", "y"),
        "names": np.array(["Ann", "Bob", "Cid"]),
        "splits": splits(0, 1, 2),
        "times": np.array([5.0, 5, 6, 6]),
    }
    return path(**{**fields, **changes})


def two_components(loops=()):
    """0 - 1 - 2 and 3 - 4."""
    edges = [(0, 1), (1, 2), (3, 4), *loops]
    return as_graph(edges, directed=False)


def test_a_field_cannot_be_set():
    with pytest.raises(dataclasses.FrozenInstanceError):
        path().directed = True


@pytest.mark.parametrize(
    "array",
    [
        lambda g: g.rows.indptr,
        lambda g: g.rows.indices,
        lambda g: g.rows.values,
        lambda g: g.features,
        lambda g: g.labels,
        lambda g: g.ids,
        lambda g: g.names,
        lambda g: g.times,
        lambda g: g.splits.train,
        lambda g: g.splits.val,
        lambda g: g.splits.test,
        lambda g: g.adjacency.data,
        lambda g: g.adjacency.indices,
        lambda g: g.adjacency.indptr,
    ],
)
def test_arrays_are_read_only(array):
    with pytest.raises(ValueError, match="read-only"):
        array(full())[0] = 0


@pytest.mark.parametrize("part", ["data", "indices", "indptr"])
def test_sparse_features_are_read_only(part):
    graph = path(features=sparse.csr_array(np.eye(3, dtype=np.float32)))
    with pytest.raises(ValueError, match="read-only"):
        getattr(graph.features, part)[0] = 0


def test_ids_are_positions_unless_given():
    assert path(ids=None).ids.tolist() == [0, 1, 2]


def test_an_undirected_edge_counts_once():
    assert path().num_edges == 2


def test_a_directed_edge_counts_once():
    assert as_graph(PATH, directed=True).num_edges == 2


@pytest.mark.parametrize("directed", [True, False])
def test_a_self_loop_counts_once(directed):
    assert as_graph([("a", "a"), ("a", "b")], directed=directed).num_edges == 2


def test_adjacency_holds_incoming_messages():
    adjacency = as_graph([("a", "b")], directed=True).adjacency
    assert adjacency.toarray().tolist() == [[0, 0], [1, 0]]


def test_adjacency_holds_weights():
    assert full().adjacency.toarray().tolist() == [[0, 1, 0], [1, 0, 2], [0, 2, 0]]


def test_positions_of_ids():
    assert path().positions(["c", "a"]).tolist() == [2, 0]


def test_an_unknown_id_has_no_position():
    with pytest.raises(InputError, match=r"be in the graph, but 1 is not: 'zed'; .* like 'a', 'b'"):
        path().positions(["a", "zed"])


def test_the_representation_says_what_is_there():
    expected = "Graph(3 nodes, 2 edges, undirected, weighted, 2 features, 2 classes)"
    assert repr(full()) == expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": rows((0,), ())}, "at least one node, but got an empty graph"),
        ({"rows": rows((1, 1, 3, 4))}, r"number of entries \(4\), but it runs from 1 to 4"),
        ({"rows": rows((0, 1, 3, 5))}, r"number of entries \(4\), but it runs from 0 to 5"),
        ({"rows": rows((0, 3, 1, 4))}, "or falls in between"),
        ({"rows": rows(indices=(1, 0, 3, 1))}, r"must be in 0\.\.2, but an edge names 3"),
        ({"rows": rows(indices=(1, 0, -1, 1))}, r"must be in 0\.\.2, but an edge names -1"),
        ({"rows": rows(indices=(1, 2, 0, 1))}, "once, ascending, but row 1 does not"),
        ({"rows": rows(indices=(1, 0, 0, 1))}, "once, ascending, but row 1 does not"),
        ({"rows": rows(values=(1, 2, 3))}, r"one weight an edge \(4\), but got 3"),
        (
            {"rows": rows(values=(1, -2, 3, 4))},
            "must be positive .* that of the edge from 'a' to 'b' is -2.0",
        ),
        (
            {"rows": rows(values=(1, 1, 0, 1))},
            "must be positive .* that of the edge from 'c' to 'b' is 0.0",
        ),
        ({"rows": rows((0, 1, 2, 3), (1, 0, 1))}, "not symmetric; say directed=True"),
        (
            {"rows": Rows(np.array([0, 0, 0, 0]), np.empty(0, np.int64))},
            "indices of rows must be int32, but got int64; build rows with as_graph",
        ),
        ({"features": np.eye(3)}, "features must be float32, but they are float64; as_graph"),
        ({"features": np.full((3, 1), "x")}, "features must be float32, but they are <U1"),
        ({"features": np.eye(2)}, r"one row a node \(3\), but their shape is \(2, 2\)"),
        ({"features": np.ones(3)}, r"one row a node \(3\), but their shape is \(3,\)"),
        (
            {"features": np.eye(3), "feature_names": ("age",)},
            r"feature column \(3\), but got 1; name them all or none",
        ),
        ({"labels": np.array([0, 1])}, r"one label a node \(3\), but got 2"),
        (
            {"labels": np.array([0, 1, 2]), "classes": ("x", "y")},
            r"label codes must be in -1\.\.1, but they span 0\.\.2",
        ),
        (
            {"labels": np.array([0, -2, 1]), "classes": ("x", "y")},
            r"label codes must be in -1\.\.1, but they span -2\.\.1",
        ),
        (
            {"ids": np.array(["a", "b"])},
            "ids must have 3 entries, one a node, but got 2; add those",
        ),
        ({"ids": np.array(["a", "b", "a"])}, "ids must be distinct, but 'a' stand more than once"),
        ({"ids": np.array([7, 7, 8])}, "ids must be distinct, but 7 stand more than once"),
        ({"names": np.array(["A"])}, "names must have 3 entries, one a node, but got 1"),
        ({"times": np.ones(2)}, "times must have 4 entries, one an edge and direction, but got 2"),
        ({"splits": splits(0, 1, 3)}, r"test split must hold positions in 0\.\.2, but has 3"),
    ],
)
def test_what_does_not_fit_together_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        path(**changes)


@pytest.mark.parametrize(
    ("indices", "indptr", "message"),
    [
        ([10**9, -5], [0, 1, 1, 2], r"feature columns .* must be in 0\.\.2, but one is -5"),
        ([0, 3], [0, 1, 1, 2], r"feature columns .* must be in 0\.\.2, but one is 3"),
        ([0, 1], [0, 9, 1, 2], r"indptr must rise from 0 to the number of entries \(2\)"),
    ],
)
def test_positions_of_sparse_features_are_checked(indices, indptr, message):
    features = sparse.csr_array((3, 3), dtype=np.float32)
    features.data, features.indices = np.ones(2, np.float32), np.array(indices)
    features.indptr = np.array(indptr)
    with pytest.raises(InputError, match=message):
        path(features=features)


@pytest.mark.parametrize("bad", [NAN, float("inf"), -float("inf")])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_features_that_are_not_finite_are_named(bad, kind):
    features = kind(np.array([[1, 2], [3, 4], [5, bad]], dtype=np.float32))
    with pytest.raises(InputError, match=f"node 'c' has {bad} in column 1"):
        path(features=features)


def test_a_feature_that_is_not_finite_is_named_by_its_column():
    with pytest.raises(InputError, match="node 'b' has nan in column 'age'"):
        path(features=np.array([[1], [NAN], [2]], np.float32), feature_names=("age",))


@pytest.mark.parametrize(
    "edges",
    [
        pytest.param(PATH[::-1], id="order"),
        pytest.param([pair[::-1] for pair in PATH], id="ends"),
        pytest.param([*PATH, *PATH], id="duplicates"),
        pytest.param([*PATH, *(pair[::-1] for pair in PATH)], id="both directions"),
    ],
)
def test_the_same_graph_has_the_same_fingerprint(edges):
    assert as_graph(edges, directed=False).fingerprint == path().fingerprint


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"rows": rows((0, 2, 4, 6), (1, 2, 0, 2, 0, 1))}, id="an edge"),
        pytest.param({"rows": rows((0, 1, 3, 4, 4)), "ids": None}, id="an isolated node"),
        pytest.param({"directed": True}, id="direction"),
        pytest.param({"rows": rows(values=(1, 1, 1, 1))}, id="weights"),
        pytest.param({"features": np.eye(3, dtype=np.float32)}, id="features"),
    ],
)
def test_other_data_has_another_fingerprint(changes):
    assert path(**changes).fingerprint != path().fingerprint


def test_another_weight_changes_the_fingerprint():
    other = full(rows=rows(values=[1, 1, 3, 3]))
    assert other.fingerprint != full().fingerprint


def test_another_feature_changes_the_fingerprint():
    other = full(features=np.eye(3, 2, dtype=np.float32) * 2)
    assert other.fingerprint != full().fingerprint


def test_another_shape_of_sparse_features_changes_the_fingerprint():
    here, there = (sparse.csr_array(np.eye(3, width, dtype=np.float32)) for width in (3, 4))
    assert path(features=here).fingerprint != path(features=there).fingerprint


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_layout_of_features_does_not_change_the_fingerprint(order):
    features = np.arange(6, dtype=np.float32).reshape(3, 2)
    there = path(features=np.array(features, order=order))
    assert there.fingerprint == path(features=features).fingerprint


def test_the_width_of_sparse_indices_does_not_change_the_fingerprint():
    narrow, wide = (sparse.csr_array(np.eye(3, dtype=np.float32)) for _ in range(2))
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    here, there = (as_graph(PATH, features=features) for features in (narrow, wide))
    assert here.fingerprint == there.fingerprint


def test_a_stored_zero_does_not_change_the_fingerprint():
    plain, stored = (sparse.csr_array(np.ones((3, 2), dtype=np.float32)) for _ in range(2))
    stored.data[1] = 0
    plain = sparse.csr_array(stored.toarray())
    here, there = (as_graph(PATH, features=features) for features in (plain, stored))
    assert here.fingerprint == there.fingerprint


@pytest.mark.parametrize(
    "changes",
    [
        {"labels": np.array([1, 0, 0])},
        {"classes": ("x", "z")},
        {"splits": splits(1, 0, 2)},
        {"names": np.array(["A", "B", "C"])},
        {"name": "other"},
    ],
)
def test_what_is_known_about_nodes_does_not_change_the_fingerprint(changes):
    assert full(**changes).fingerprint == full().fingerprint


@pytest.mark.parametrize("changes", [{"labels": np.array([1, 0, 0])}, {"classes": ("x", "z")}])
def test_labels_have_their_own_fingerprint(changes):
    assert full(**changes).labels_fingerprint != full().labels_fingerprint


def test_splits_have_their_own_fingerprint():
    assert full(splits=splits(1, 0, 2)).splits_fingerprint != full().splits_fingerprint


def test_splits_do_not_change_the_fingerprint_of_labels():
    assert full(splits=splits(1, 0, 2)).labels_fingerprint == full().labels_fingerprint


def test_a_graph_without_edges_has_a_fingerprint():
    here, there = (as_graph(np.empty((2, 0), int), num_nodes=n).fingerprint for n in (2, 3))
    assert here != there


def test_a_subgraph_has_the_edges_among_its_nodes():
    part = full(splits=None).subgraph(np.array([2, 1]))
    assert part.adjacency.toarray().tolist() == [[0, 2], [2, 0]]


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("ids", ["c", "b"]),
        ("names", ["Cid", "Bob"]),
        ("labels", [1, -1]),
        ("features", [[0, 0], [0, 1]]),
        ("times", [6, 6]),
    ],
)
def test_what_is_known_follows_into_a_subgraph(field, expected):
    part = full(splits=None).subgraph(np.array([2, 1]))
    assert getattr(part, field).tolist() == expected


def test_sparse_features_follow_into_a_subgraph():
    graph = path(features=sparse.csr_array(np.diag([1, 2, 3]).astype(np.float32)))
    assert graph.subgraph(np.array([2, 0])).features.toarray().tolist() == [[0, 0, 3], [1, 0, 0]]


def test_splits_follow_into_a_subgraph():
    moved = full().subgraph(np.array([2, 0, 1])).splits
    assert [part.tolist() for part in moved] == [[1], [2], [0]]


def test_a_subgraph_without_a_node_of_some_split_has_no_splits():
    assert full().subgraph(np.array([1, 2])).splits is None


def test_a_subgraph_takes_a_mask():
    assert (
        full().subgraph(np.array([True, False, True])).ids.tolist() == full().ids[[0, 2]].tolist()
    )


def test_the_whole_in_its_own_order_is_the_same_graph():
    assert full().subgraph(np.arange(3)).fingerprint == full().fingerprint


def test_the_largest_component():
    assert two_components().largest_component().ids.tolist() == [0, 1, 2]


def test_a_directed_component_is_a_weak_one():
    graph = as_graph([(1, 0), (1, 2), (3, 4)], directed=True)
    assert graph.largest_component().ids.tolist() == [0, 1, 2]


def test_the_first_of_equal_components_is_kept():
    graph = as_graph([(0, 3), (1, 2)], directed=False)
    assert graph.largest_component().ids.tolist() == [0, 3]


def test_self_loops_stay_in_a_component():
    assert two_components(loops=[(1, 1)]).largest_component().num_edges == 3
