import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from autogm import InputError, Splits, as_graph

from .example import EDGES, arcs, columns, expected_arcs, matrix, positions

PATH = [("a", "b"), ("b", "c")]
PLACES = [(0, 1), (1, 2)]


def in_networkx(directed):
    graph = nx.MultiDiGraph() if directed else nx.MultiGraph()
    graph.add_weighted_edges_from(EDGES)
    return graph


def in_pyg(directed):
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data")
    return data.Data(
        edge_index=torch.tensor(positions()),
        edge_weight=torch.tensor(columns()["weight"]),
        num_nodes=4,
    )


WAYS = {
    "networkx": in_networkx,
    "PyG": in_pyg,
    "SciPy's CSR array": lambda directed: sparse.csr_array(matrix()),
    "SciPy's CSC matrix": lambda directed: sparse.csc_matrix(matrix()),
    "SciPy's COO array": lambda directed: sparse.coo_array(matrix()),
    "dense array": lambda directed: matrix().toarray(),
    "list of rows": lambda directed: matrix().toarray().tolist(),
    "dict of columns": lambda directed: columns(),
    "Arrow table": lambda directed: pa.table(columns()),
    "pandas": lambda directed: pd.DataFrame(columns()),
    "polars": lambda directed: pl.DataFrame(columns()),
}
BINARY_WAYS = {
    "edge array of two rows": lambda: positions(),
    "edge array of two columns": lambda: positions().T,
    "list of two rows": lambda: positions().tolist(),
    "list of pairs": lambda: positions().T.tolist(),
    "list of text pairs": lambda: [edge[:2] for edge in EDGES],
    "array of text pairs": lambda: np.array([edge[:2] for edge in EDGES]),
}
either_way = pytest.mark.parametrize("directed", [True, False])


def attributed():
    """a - b with attributes of both kinds."""
    graph = nx.Graph([("a", "b")])
    graph.add_node("a", team="x", age=31, height=1.5)
    graph.add_node("b", team="y", age=45, height=1.75)
    return graph


def pyg(edges=PLACES, **fields):
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data")
    tensors = {name: torch.tensor(values) for name, values in fields.items()}
    return data.Data(edge_index=torch.tensor(edges).T, num_nodes=3, **tensors)


@pytest.mark.parametrize("way", WAYS)
@either_way
def test_every_way_in_gives_the_same_weighted_graph(way, directed):
    graph = as_graph(WAYS[way](directed), directed=directed)
    assert arcs(graph) == expected_arcs(directed=directed, weighted=True)


@pytest.mark.parametrize("way", WAYS)
@either_way
def test_every_way_in_gives_the_same_binary_graph(way, directed):
    graph = as_graph(WAYS[way](directed), directed=directed, weight=None)
    assert arcs(graph) == expected_arcs(directed=directed, weighted=False)


@pytest.mark.parametrize("way", WAYS)
def test_without_weights_a_graph_is_binary(way):
    assert not as_graph(WAYS[way](True), directed=True, weight=None).weighted


@pytest.mark.parametrize("way", BINARY_WAYS)
@either_way
def test_every_list_of_edges_gives_the_same_graph(way, directed):
    graph = as_graph(BINARY_WAYS[way](), directed=directed)
    assert arcs(graph) == expected_arcs(directed=directed, weighted=False)


@pytest.mark.parametrize("way", WAYS)
@either_way
def test_every_way_in_counts_the_same_edges(way, directed):
    graph = as_graph(WAYS[way](directed), directed=directed)
    assert graph.num_edges == (4 if directed else 3)


@either_way
def test_the_ways_with_the_same_ids_have_the_same_fingerprint(directed):
    tables = (way for way in WAYS if way not in ("networkx", "PyG"))
    graphs = (as_graph(WAYS[way](directed), directed=directed) for way in tables)
    assert len({graph.fingerprint for graph in graphs}) == 1


@pytest.mark.parametrize("kind", [sparse.csr_array, np.asarray])
@pytest.mark.parametrize(
    ("entries", "directed"),
    [
        pytest.param([[0, 2, 0], [2, 0, 3], [0, 3, 0]], False, id="symmetric"),
        pytest.param([[0, 2, 0], [0, 0, 3], [0, 0, 0]], True, id="one way"),
        pytest.param([[0, 2, 0], [5, 0, 3], [0, 3, 0]], True, id="unequal weights"),
    ],
)
def test_a_symmetric_matrix_is_undirected(kind, entries, directed):
    assert as_graph(kind(np.array(entries))).directed == directed


@pytest.mark.parametrize("pairs", [PATH, PLACES])
def test_a_list_with_every_edge_both_ways_is_undirected(pairs):
    assert not as_graph([*pairs, *(pair[::-1] for pair in pairs)]).directed


def test_a_list_with_an_edge_one_way_is_directed():
    assert as_graph(PATH).directed


def test_a_symmetric_matrix_may_be_directed():
    assert as_graph(sparse.csr_array([[0, 1], [1, 0]]), directed=True).num_edges == 2


def test_weights_of_a_symmetric_matrix_count_once():
    graph = as_graph(sparse.csr_array([[0, 2], [2, 0]]), directed=False)
    assert graph.adjacency.toarray().tolist() == [[0, 2], [2, 0]]


def test_a_stored_zero_is_no_edge():
    stored = sparse.csr_array(([0.0, 1.0], ([0, 1], [1, 2])), shape=(3, 3))
    assert as_graph(stored).num_edges == 1


def test_a_matrix_of_ones_is_binary():
    assert not as_graph(sparse.csr_array([[0.0, 1.0], [0, 0]])).weighted


@pytest.mark.parametrize("data", [nx.DiGraph(PATH), nx.Graph(PATH)])
def test_networkx_says_whether_it_is_directed(data):
    assert as_graph(data).directed == data.is_directed()


def test_a_directed_networkx_graph_may_be_read_as_undirected():
    assert not as_graph(nx.DiGraph(PATH), directed=False).directed


def test_an_undirected_networkx_graph_may_be_read_as_directed():
    assert as_graph(nx.Graph(PATH), directed=True).num_edges == 4


@pytest.mark.parametrize("ids", [[10, 7, 30], ["q", "b", "x"]])
def test_networkx_ids_survive_in_their_order(ids):
    graph = nx.Graph()
    graph.add_nodes_from(ids)
    assert as_graph(graph).ids.tolist() == ids


def test_networkx_ids_of_other_kinds_are_text():
    assert as_graph(nx.Graph([((0, 1), 5)])).ids.tolist() == ["(0, 1)", "5"]


def test_a_networkx_edge_without_a_weight_weighs_one():
    graph = nx.Graph([("a", "b")])
    graph.add_edge("b", "c", weight=3)
    assert as_graph(graph).rows.values.tolist() == [1, 1, 3, 3]


def test_a_networkx_attribute_may_be_the_weight():
    graph = nx.Graph()
    graph.add_edge("a", "b", cost=3)
    assert as_graph(graph, weight="cost").rows.values.tolist() == [3, 3]


def test_networkx_attributes_are_labels():
    graph = as_graph(attributed(), labels="team")
    assert (graph.labels.tolist(), graph.classes) == ([0, 1], ("x", "y"))


def test_a_missing_networkx_attribute_is_unlabelled():
    data = attributed()
    data.add_node("c")
    assert as_graph(data, labels="team").labels.tolist() == [0, 1, -1]


def test_networkx_attributes_are_features():
    graph = as_graph(attributed(), features=["height", "age"])
    assert graph.features.tolist() == [[1.5, 31], [1.75, 45]]


def test_features_have_the_names_of_their_networkx_attributes():
    assert as_graph(attributed(), features=["height", "age"]).feature_names == ("height", "age")


def test_networkx_names_are_shown():
    graph = nx.Graph([("a", "b"), ("b", "c")])
    graph.add_node("a", name="Ann")
    graph.add_node("c", name=3)
    assert as_graph(graph).names.tolist() == ["Ann", "", "3"]


def test_a_networkx_graph_without_names_has_none():
    assert as_graph(attributed()).names is None


def test_pyg_fields_are_features_and_labels():
    graph = as_graph(pyg(x=[[1.0], [2.0], [3.0]], y=[5, -1, 7]))
    found = (graph.features.tolist(), graph.labels.tolist(), graph.classes)
    assert found == ([[1], [2], [3]], [0, -1, 1], (5, 7))


def test_sparse_pyg_features_stay_sparse():
    torch = pytest.importorskip("torch")
    data = pyg()
    data.x = torch.eye(3).to_sparse()
    assert as_graph(data).features.toarray().tolist() == np.eye(3).tolist()


def test_pyg_masks_are_splits():
    masks = dict(zip(("train_mask", "val_mask", "test_mask"), np.eye(3, dtype=bool), strict=True))
    assert [part.tolist() for part in as_graph(pyg(**masks)).splits] == [[0], [1], [2]]


def test_pyg_fields_may_be_replaced():
    graph = as_graph(pyg(x=[[1.0], [2.0], [3.0]]), features=np.eye(3), labels=["u", "v", "u"])
    assert (graph.num_features, graph.classes) == (3, ("u", "v"))


def test_pyg_nodes_without_edges_stay():
    assert as_graph(pyg(edges=[(0, 1)])).num_nodes == 3


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param(["u", None, "v"], id="list"),
        pytest.param(np.array(["u", "", "v"]), id="array"),
        pytest.param({"c": "v", "a": "u"}, id="mapping"),
        pytest.param(pd.Series(["u", None, "v"]), id="pandas"),
        pytest.param(pl.Series(["u", None, "v"]), id="polars"),
    ],
)
def test_labels_are_given_in_many_forms(labels):
    graph = as_graph(PATH, labels=labels)
    assert (graph.labels.tolist(), graph.classes) == ([0, -1, 1], ("u", "v"))


def test_a_mapping_of_labels_goes_by_integer_ids():
    graph = as_graph({"source": [10, 20], "target": [20, 30]}, labels={30: 5, 10: 4})
    assert (graph.labels.tolist(), graph.classes) == ([0, -1, 1], (4, 5))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, pd.DataFrame, np.ndarray.tolist])
def test_features_are_given_in_many_forms(kind):
    graph = as_graph(PATH, features=kind(np.eye(3)))
    assert np.array_equal(graph.features @ np.eye(3), np.eye(3))


def test_features_may_be_normalized():
    graph = as_graph(PATH, features=[[1, 3], [0, 0], [2, 2]], row_normalize=True)
    assert graph.features.tolist() == [[0.25, 0.75], [0, 0], [0.5, 0.5]]


def test_the_given_features_stay_writable():
    features = np.eye(3, dtype=np.float32)
    as_graph(PATH, features=features)
    assert features.flags.writeable


def test_the_given_matrix_stays_writable():
    data = sparse.csr_array([[0.0, 2.0], [2.0, 0.0]])
    as_graph(data)
    assert data.data.flags.writeable


def test_splits_may_be_given():
    splits = Splits.given([0], [1], [2], num_nodes=3)
    found = as_graph(PATH, splits=splits).splits
    assert [part.tolist() for part in found] == [part.tolist() for part in splits]


def test_tables_take_values_and_names():
    nodes = {"id": ["a", "b", "c"], "age": [1, 2, 3], "team": ["x", "y", "x"]}
    edges = {"source": ["a"], "target": ["b"]}
    graph = as_graph(edges, nodes, labels="team", features=np.eye(3))
    assert (graph.labels.tolist(), graph.num_features) == ([0, 1, 0], 3)


def test_tables_take_names_of_features():
    nodes = {"id": ["a", "b"], "age": [1, 2], "height": [3, 4]}
    graph = as_graph({"source": ["a"], "target": ["b"]}, nodes, features=["height"])
    assert graph.feature_names == ("height",)


def test_num_nodes_adds_nodes_without_edges():
    assert as_graph(np.array([[0], [1]]), num_nodes=5).num_nodes == 5


@pytest.mark.parametrize("none", [[], np.empty((2, 0), int), np.empty((0, 2), int)])
def test_num_nodes_alone_makes_a_graph_without_edges(none):
    graph = as_graph(none, num_nodes=3)
    assert (graph.num_nodes, graph.num_edges) == (3, 0)


def test_a_graph_stays_itself():
    graph = as_graph(PATH)
    assert as_graph(graph) is graph


def test_a_graph_takes_labels():
    assert as_graph(as_graph(PATH), labels=["u", "v", "u"]).classes == ("u", "v")


def weighted_graph():
    return as_graph({"source": ["a"], "target": ["b"], "weight": [2.0]}, directed=True)


def test_a_graph_loses_its_weights_when_none_are_wanted():
    assert not as_graph(weighted_graph(), weight=None).weighted


def test_a_graph_may_be_read_as_undirected():
    assert not as_graph(weighted_graph(), directed=False).directed


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param([], "at least one node", id="empty list"),
        pytest.param(np.empty((2, 0), int), "at least one node", id="empty edge array"),
        pytest.param(nx.Graph(), "at least one node", id="empty networkx"),
        pytest.param(sparse.csr_array((0, 0)), "at least one node", id="empty matrix"),
        pytest.param({}, "edges table must have a source", id="empty dict"),
        pytest.param(object(), "but got object of shape", id="object"),
        pytest.param([(None, 1)], "but got list of shape", id="None for an id"),
        pytest.param(np.ones((3, 4)), r"float64 of shape \(3, 4\)", id="numbers"),
        pytest.param(np.ones((3, 4), int), r"int64 of shape \(3, 4\)", id="neither two nor square"),
        pytest.param(np.ones((2, 5)), r"integer ids .* float64 of shape \(2, 5\)", id="float ids"),
        pytest.param(np.eye(2), "2 x 2 array may be two edges or a matrix", id="two by two"),
        pytest.param(sparse.csr_array((2, 3)), r"be square, but .* \(2, 3\)", id="rectangle"),
        pytest.param("cora", r"use load_graph\('cora'\)", id="name"),
    ],
)
def test_what_is_no_graph_is_refused(data, message):
    with pytest.raises(InputError, match=message):
        as_graph(data)


@pytest.mark.parametrize("pair", [(0, 7), (7, 0)])
def test_an_id_out_of_range_is_named(pair):
    with pytest.raises(InputError, match=r"must be in 0\.\.2, but an edge names 7; give num_nodes"):
        as_graph([(0, 1), pair], num_nodes=3)


def test_a_negative_id_is_named():
    with pytest.raises(InputError, match=r"must be in 0\.\.1, but an edge names -4"):
        as_graph([(0, 1), (1, -4)])


def test_a_pyg_id_out_of_range_is_named():
    with pytest.raises(InputError, match=r"must be in 0\.\.2, but an edge names 9"):
        as_graph(pyg(edges=[(0, 9)]))


def test_an_id_beyond_any_graph_is_named_as_it_was_given():
    with pytest.raises(InputError, match=r"1,?000,?000,?000,?00[01](?!.* -)"):
        as_graph([(0, 1), (1, 10**12), (2, 3)])


def with_weight(weight):
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=1)
    graph.add_edge("b", "c", weight=weight)
    return graph


@pytest.mark.parametrize("weight", [-2.0, 0.0, float("nan"), float("inf")])
def test_a_networkx_weight_must_be_positive_and_finite(weight):
    with pytest.raises(InputError, match=f"but that of the edge from 'b' to 'c' is {weight}; drop"):
        as_graph(with_weight(weight))


def test_a_networkx_weight_must_be_a_number():
    with pytest.raises(InputError, match="'heavy'"):
        as_graph(with_weight("heavy"))


def test_networkx_weights_must_be_single_numbers():
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=[1, 2])
    with pytest.raises(InputError, match=r"attribute 'weight' holds \[1, 2\]; mend them"):
        as_graph(graph)


def test_a_networkx_weight_that_no_edge_has_is_named():
    with pytest.raises(InputError, match=r"'kost'.*'weight'"):
        as_graph(with_weight(2), weight="kost")


@pytest.mark.parametrize("weight", [-2.0, float("nan")])
def test_a_matrix_must_be_positive_and_finite(weight):
    with pytest.raises(InputError, match=f"but that of the edge from 1 to 0 is {weight}; drop"):
        as_graph(sparse.csr_array([[0, 1], [weight, 0]]))


def test_there_must_be_one_pyg_weight_an_edge():
    with pytest.raises(InputError, match=r"one weight an edge \(2\), but got 3"):
        as_graph(pyg(edge_weight=[1.0, 2.0, 3.0]))


def test_pyg_data_without_edges_says_so():
    data = pytest.importorskip("torch_geometric.data")
    with pytest.raises(InputError, match="edge_index"):
        as_graph(data.Data(num_nodes=3))


def test_several_node_types_are_refused():
    data = pytest.importorskip("torch_geometric.data")
    hetero = data.HeteroData()
    hetero["a"].num_nodes = 3
    with pytest.raises(InputError, match=r"several node types .* HeteroData; .*to_homogeneous\(\)"):
        as_graph(hetero)


def test_there_must_be_one_label_a_node():
    with pytest.raises(InputError, match=r"one label a node \(3\), but got 2"):
        as_graph(PATH, labels=["u", "v"])


@pytest.mark.parametrize("features", [np.eye(2), np.ones(3), sparse.csr_array(np.eye(2))])
def test_there_must_be_one_row_of_features_a_node(features):
    with pytest.raises(InputError, match=r"one row a node \(3\), but their shape is \("):
        as_graph(PATH, features=features)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_features_must_be_finite(bad):
    with pytest.raises(InputError, match=f"must be finite, but node 'b' has {bad} in column 0"):
        as_graph(PATH, features=[[1], [bad], [2]])


def test_features_must_be_numbers():
    with pytest.raises(InputError, match=r"features must be a matrix of numbers, but .*'tall'"):
        as_graph(PATH, features=np.array([["tall"], ["1"], ["2"]]))


def test_labels_of_unknown_nodes_are_named():
    with pytest.raises(InputError, match="must be in the graph, but 2 are not: 'y', 'z'; "):
        as_graph(PATH, labels={"a": 1, "z": 2, "y": 1})


def test_one_class_is_too_few():
    with pytest.raises(InputError, match="at least two classes, but every label is 'u'"):
        as_graph(PATH, labels=["u", "u", None])


def test_no_attribute_at_all_is_said():
    with pytest.raises(InputError, match="attribute 'team'; they have none"):
        as_graph(nx.path_graph(3), labels="team")


def test_a_missing_attribute_is_named_beside_those_present():
    with pytest.raises(InputError, match="attribute 'teem'; they have 'age', 'height', 'team'"):
        as_graph(attributed(), labels="teem")


@pytest.mark.parametrize("data", [PATH, as_graph(PATH)])
@pytest.mark.parametrize("asked", [{"labels": "team"}, {"features": ["team", "age"]}])
def test_a_graph_without_attributes_has_none_to_name(data, asked):
    with pytest.raises(InputError, match="'team' names a node attribute, but this kind of graph"):
        as_graph(data, **asked)


@pytest.mark.parametrize("options", [{"nodes": {"id": [0]}}, {"source": "from"}, {"colour": 1}])
def test_options_of_tables_are_refused_elsewhere(options):
    name = next(iter(options))
    with pytest.raises(InputError, match=f"'{name}' belong to tables of edges, not to list"):
        as_graph(PATH, **options)


def test_duplicates_of_a_binary_matrix_collapse():
    matrix = sparse.coo_array((np.ones(3), ([0, 0, 1], [1, 1, 2])), shape=(3, 3))
    assert not as_graph(matrix).weighted


def test_a_list_of_triples_holds_weights():
    graph = as_graph([(0, 1, 5), (1, 2, 6.5), (2, 0, 7)])
    assert (graph.num_edges, sorted(graph.rows.values.tolist())) == (3, [5, 6.5, 7])


@pytest.mark.parametrize("triple", [("b", "c", "x"), ("b", "c", {"weight": 2}), ("b", "c")])
def test_the_third_of_a_triple_must_be_a_weight(triple):
    with pytest.raises(InputError, match=r"\(u, v, weight\) throughout with numbers"):
        as_graph([("a", "b", 1.0), triple])


def test_ids_that_are_taken_for_positions_are_named():
    with pytest.raises(InputError, match=r"positions .* but 1 edges reach 300,000,000"):
        as_graph([(300_000_000, 5)])


def test_num_nodes_is_for_positions():
    with pytest.raises(InputError, match="num_nodes counts the positions of an edge array"):
        as_graph({"source": [0], "target": [1]}, num_nodes=6)


def test_a_tensor_of_two_edges_is_an_edge_index():
    torch = pytest.importorskip("torch")
    with pytest.raises(InputError, match="2 x 2 array may be two edges or a matrix"):
        as_graph(torch.tensor([[0, 0], [1, 2]]))


def test_a_series_of_labels_follows_its_index():
    labels = pd.Series(["x", "y", "z"], index=["c", "b", "a"])
    graph = as_graph(PATH, labels=labels)
    found = {node: graph.classes[code] for node, code in zip(graph.ids, graph.labels, strict=True)}
    assert found == {"a": "z", "b": "y", "c": "x"}


def test_weights_that_differ_by_rounding_are_symmetric():
    graph = as_graph(sparse.csr_array([[0, 0.3], [0.1 + 0.2, 0]]), directed=False)
    np.testing.assert_allclose(graph.rows.values, 0.3)


@pytest.mark.parametrize("y", [[1], [2, 2, 2]])
def test_pyg_labels_that_tell_no_nodes_apart_are_left_out(y):
    assert as_graph(pyg(y=y)).labels is None


def test_splits_are_not_shared_with_the_caller():
    mine = Splits.given([0], [1], [2], num_nodes=3)
    as_graph(PATH, splits=mine)
    assert mine.train.flags.writeable


def test_one_label_is_not_enough():
    with pytest.raises(InputError, match=r"one label a node \(3\), but got one value"):
        as_graph(PATH, labels=5)


def test_missing_dates_are_unlabelled():
    labels = np.array(["2020-01-01", "NaT", "2021-01-01"], dtype="datetime64[D]")
    assert as_graph(PATH, labels=labels).labels.tolist() == [0, -1, 1]


def both_ways(weight=2.0, more=()):
    """a - b in both directions, and more."""
    return [("a", "b", weight), ("b", "a", weight), *more]


def table_of(triples):
    source, target, weight = zip(*triples, strict=True)
    return {"source": source, "target": target, "weight": weight}


def digraph_of(triples):
    graph = nx.DiGraph()
    graph.add_weighted_edges_from(triples)
    return graph


def directed_graph_of(triples):
    return as_graph(triples, directed=True)


LISTS = {
    "table": table_of,
    "triples": list,
    "networkx": digraph_of,
    "a directed graph": directed_graph_of,
}


def weight_between(graph, one, other):
    here, there = graph.positions([one, other])
    return graph.adjacency[here, there]


@pytest.mark.parametrize("more", [(), [("b", "c", 3.0)]], ids=["alone", "beside another"])
@pytest.mark.parametrize("way", LISTS)
def test_in_a_list_an_edge_in_each_direction_is_a_duplicate(way, more):
    graph = as_graph(LISTS[way](both_ways(more=more)), directed=False)
    assert weight_between(graph, "a", "b") == 4


def test_a_list_that_is_undirected_by_itself_adds_up_too():
    graph = as_graph(both_ways())
    assert (graph.directed, weight_between(graph, "a", "b")) == (False, 4)


@pytest.mark.parametrize("directed", [None, False])
@pytest.mark.parametrize("kind", [sparse.csr_array, np.asarray])
def test_a_symmetric_matrix_holds_the_weight_of_an_edge(kind, directed):
    graph = as_graph(kind([[0, 2, 0], [2, 0, 3], [0, 3, 0]]), directed=directed)
    assert graph.adjacency.toarray().tolist() == [[0, 2, 0], [2, 0, 3], [0, 3, 0]]


def test_a_symmetric_data_holds_the_weight_of_an_edge():
    graph = as_graph(pyg([(0, 1), (1, 0)], edge_weight=[2.0, 2.0]), directed=False)
    assert graph.adjacency.toarray()[:2, :2].tolist() == [[0, 2], [2, 0]]


def test_the_entries_of_another_matrix_are_a_list():
    graph = as_graph(sparse.csr_array([[0, 2, 0], [2, 0, 3], [0, 0, 0]]), directed=False)
    assert graph.adjacency.toarray().tolist() == [[0, 4, 0], [4, 0, 3], [0, 3, 0]]


def test_pyg_labels_of_another_length_are_named():
    with pytest.raises(InputError, match=r"one label a node \(3\), but holds 2; give labels=, or"):
        as_graph(pyg(y=[0, 1]))


def test_pyg_labels_of_another_length_may_be_replaced():
    assert as_graph(pyg(y=[0, 1]), labels=[0, 1, 0]).classes == (0, 1)


def test_a_pyg_attribute_may_be_the_weight():
    assert as_graph(pyg(cost=[2.0, 3.0]), weight="cost").rows.values.tolist() == [2, 3]


def test_a_pyg_weight_that_is_not_there_is_named():
    with pytest.raises(InputError, match=r"the Data has no 'cost' for weights; it has .*'price'"):
        as_graph(pyg(price=[2.0, 3.0]), weight="cost")


def test_pyg_weights_may_be_one_column():
    assert as_graph(pyg(edge_weight=[[2.0], [3.0]])).rows.values.tolist() == [2, 3]


def test_pyg_weights_of_two_columns_are_named():
    with pytest.raises(
        InputError, match=r"edge_weight must be one number an edge, .* \(2, 2\); ch"
    ):
        as_graph(pyg(edge_weight=[[2.0, 1], [3.0, 1]]))


def test_brain_floats_are_read():
    torch = pytest.importorskip("torch")
    data = pyg(x=[[1.0], [2.0], [3.0]], edge_weight=[2.0, 3.0])
    data.x, data.edge_weight = data.x.to(torch.bfloat16), data.edge_weight.to(torch.bfloat16)
    graph = as_graph(data)
    found = (graph.rows.values.tolist(), graph.features.tolist())
    assert found == ([2, 3], [[1], [2], [3]])


@pytest.mark.parametrize(
    "data",
    [
        sparse.csr_array([[0.0, 2], [2, 0]]),
        np.array([[0, 2, 0], [2, 0, 0], [0, 0, 0]]),
        [("a", "b", 2), ("b", "c", 3)],
        as_graph(PATH),
    ],
    ids=lambda data: type(data).__name__,
)
def test_weights_without_a_name_have_none_to_choose(data):
    with pytest.raises(InputError, match=f"weight='cost' names .* {type(data).__name__} has none"):
        as_graph(data, weight="cost")


def with_masks(train, val, test):
    return pyg(train_mask=train, val_mask=val, test_mask=test)


SEVERAL = np.eye(3, dtype=bool)[:, :, None].repeat(10, axis=2)
WRONG_MASKS = {
    "several splits": (SEVERAL, r"its shape is \(3, 10\); give one column of it, .*; or give spl"),
    "an empty one": (np.array([[1, 0, 0], [0, 0, 0], [0, 0, 1]], bool), "the val split is empty"),
    "one twice": (np.eye(3, dtype=bool)[[0, 1, 1]], "disjoint, but nodes 1 are listed twice"),
}


@pytest.mark.parametrize("wrong", WRONG_MASKS)
def test_pyg_masks_that_are_no_splits_are_named(wrong):
    masks, message = WRONG_MASKS[wrong]
    with pytest.raises(InputError, match=f"the masks of the Data cannot be used: .*{message}"):
        as_graph(with_masks(*masks))


@pytest.mark.parametrize("wrong", WRONG_MASKS)
def test_pyg_masks_that_are_no_splits_may_be_replaced(wrong):
    splits = Splits.given([0], [1], [2], num_nodes=3)
    graph = as_graph(with_masks(*WRONG_MASKS[wrong][0]), splits=splits)
    assert [part.tolist() for part in graph.splits] == [[0], [1], [2]]


@pytest.mark.parametrize("kind", [list, tuple])
def test_three_nested_lists_of_three_may_be_two_things(kind):
    data = kind(kind(row) for row in [[0, 1, 5], [1, 2, 6], [2, 0, 7]])
    with pytest.raises(InputError, match=r"3 x 3 list .* tuples \(u, v, weight\), a matrix as"):
        as_graph(data)
    assert as_graph(np.array(data)).num_edges == 7
    assert as_graph([tuple(row) for row in data]).num_edges == 3


def test_nested_lists_are_no_edges_with_weights():
    with pytest.raises(
        InputError, match=r"integer ids .*; give edges with weights as a list of tup"
    ):
        as_graph([[0, 1, 5], [1, 2, 6]] * 2)


def test_a_square_of_text_is_no_matrix():
    with pytest.raises(InputError, match="an edge array must hold integer ids"):
        as_graph(np.array([["a", "b", "c"]] * 3))


def test_complex_weights_are_named():
    with pytest.raises(InputError, match="must be real, but the matrix holds complex128; take abs"):
        as_graph(sparse.csr_array([[0, 1j], [1, 0]]))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_a_feature_beyond_float32_is_told_as_it_was_given(kind):
    with pytest.raises(
        InputError, match=r"below 3.4e38, as float32 is, but one is -1e\+300; scale"
    ):
        as_graph(PATH, features=kind([[1.0, 2], [3, -1e300], [5, 6]]))


def test_a_feature_of_a_table_beyond_float32_is_told_as_it_was_given():
    nodes = {"id": ["a", "b"], "x": [1.0, 1e300]}
    with pytest.raises(InputError, match=r"below 3.4e38, as float32 is, but one is 1e\+300"):
        as_graph({"source": ["a"], "target": ["b"]}, nodes)


def test_an_empty_graph_is_told_what_to_do():
    with pytest.raises(InputError, match="but got an empty graph; add a node or an edge"):
        as_graph(nx.Graph())
