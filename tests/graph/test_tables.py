import numpy as np
import pytest

from autogm import Graph, InputError
from autogm.graph import from_tables

EDGES = {"source": ["a", "b"], "target": ["b", "c"]}
NODES = {
    "id": ["a", "b", "c"],
    "name": ["Ann", "Bob", "Cid"],
    "age": [31, 45, 28],
    "height": [1.5, 1.75, 2.0],
    "team": ["x", None, "y"],
    "part": ["train", "val", "test"],
}
NODES_CSV = "id,age,height\na,31,1.5\nb,45,1.75\nc,28,2\n"
EDGES_CSV = "source,target,weight\na,b,1\nb,c,2\n"


def graph_of(edges=None, nodes=None, **columns):
    return from_tables(
        EDGES if edges is None else edges, NODES if nodes is None else nodes, **columns
    )


def arcs(graph):
    """(source id, target id), by target."""
    receivers, senders = graph.adjacency.nonzero()
    return list(zip(graph.ids[senders].tolist(), graph.ids[receivers].tolist(), strict=True))


@pytest.mark.parametrize(
    "names",
    [("source", "target"), ("from", "to"), ("src", "dst"), ("follower", "followed")],
)
def test_the_ends_of_edges_are_found(names):
    edges = dict(zip(names, (["a"], ["b"]), strict=True))
    assert arcs(from_tables(edges, directed=True)) == [("a", "b")]


def test_named_ends_stand_anywhere():
    edges = {"year": [1999], "to": ["b"], "from": ["a"]}
    assert arcs(from_tables(edges, directed=True)) == [("a", "b")]


def test_chosen_ends_come_first():
    edges = {**EDGES, "buyer": ["c", "c"], "seller": ["a", "b"]}
    graph = from_tables(edges, source="buyer", target="seller", directed=True)
    assert arcs(graph) == [("c", "a"), ("c", "b")]


@pytest.mark.parametrize("chosen", [{"source": "to"}, {"target": "of"}])
def test_one_chosen_end_leaves_the_other_column_for_the_other(chosen):
    graph = from_tables({"of": ["a"], "to": ["b"]}, directed=True, **chosen)
    assert arcs(graph) == [("b", "a")]


def test_tables_are_undirected_unless_said():
    assert not from_tables(EDGES).directed


def test_ids_at_the_ends_of_edges_are_nodes_ascending():
    assert from_tables({"source": [30, 7], "target": [7, 10]}).ids.tolist() == [7, 10, 30]


def test_texts_at_the_ends_of_edges_are_nodes_ascending():
    assert from_tables({"source": ["q", "b"], "target": ["b", "d"]}).ids.tolist() == ["b", "d", "q"]


def test_text_and_integers_at_the_ends_are_text():
    assert from_tables({"source": [1, 2], "target": ["x", "1"]}).ids.tolist() == ["1", "2", "x"]


def test_negative_and_large_ids_survive():
    ids = [-5, 3, 2**62 + 1]
    assert from_tables({"source": ids[:2], "target": ids[1:]}).ids.tolist() == ids


def test_unsigned_ids_survive():
    ids = np.array([2**63 + 1, 2**63 + 5], dtype=np.uint64)
    assert list(map(int, from_tables({"s": ids[:1], "t": ids[1:]}).ids)) == ids.tolist()


def test_nodes_stand_in_the_order_of_their_table():
    assert graph_of(nodes={"id": ["c", "a", "b"]}).ids.tolist() == ["c", "a", "b"]


def test_the_first_column_is_the_id_where_none_is_called_so():
    assert graph_of(nodes={"key": ["a", "b", "c"], "x": [1, 2, 3]}).ids.tolist() == ["a", "b", "c"]


def test_the_column_called_id_may_stand_anywhere():
    assert graph_of(nodes={"x": [1, 2, 3], "id": ["a", "b", "c"]}).feature_names == ("x",)


def test_the_id_may_be_chosen():
    edges = {"source": ["Ann"], "target": ["Cid"]}
    assert graph_of(edges, id="name").ids.tolist() == ["Ann", "Bob", "Cid"]


def test_a_node_without_edges_stays():
    assert graph_of(nodes={"id": ["a", "b", "c", "z"]}).num_nodes == 4


def test_integers_in_one_table_find_text_in_the_other():
    graph = from_tables({"source": ["1"], "target": ["2"]}, {"id": [2, 1]}, directed=True)
    assert arcs(graph) == [(1, 2)]


def test_a_missing_label_is_unlabelled():
    graph = graph_of(label="team")
    assert (graph.labels.tolist(), graph.classes) == ([0, -1, 1], ("x", "y"))


def test_the_label_is_no_feature():
    assert graph_of(label="age").feature_names == ("height",)


def test_classes_need_not_follow_each_other():
    graph = graph_of(label="age")
    assert (graph.labels.tolist(), graph.classes) == ([1, 2, 0], (28, 31, 45))


def test_a_column_names_the_splits():
    assert [part.tolist() for part in graph_of(split="part").splits] == [[0], [1], [2]]


def test_numeric_columns_are_features():
    assert graph_of().features.tolist() == [[31, 1.5], [45, 1.75], [28, 2]]


def test_features_have_the_names_of_their_columns():
    assert graph_of().feature_names == ("age", "height")


@pytest.mark.parametrize("chosen", [["height"], ["height", "age"]])
def test_features_may_be_chosen(chosen):
    assert graph_of(features=chosen).feature_names == tuple(chosen)


def test_no_features_may_be_chosen():
    assert graph_of(features=[]).features is None


def test_features_may_be_normalized():
    graph = graph_of(
        nodes={"id": ["a", "b", "c"], "x": [1, 0, 2], "y": [3, 0, 2]}, row_normalize=True
    )
    assert graph.features.tolist() == [[0.25, 0.75], [0, 0], [0.5, 0.5]]


def test_truth_values_are_features():
    assert graph_of(nodes={"id": ["a", "b", "c"], "x": [True, False, True]}).features.shape == (
        3,
        1,
    )


def test_names_are_shown():
    assert graph_of().names.tolist() == ["Ann", "Bob", "Cid"]


def test_names_are_shown_when_features_are_chosen():
    assert graph_of(features=["age"]).names.tolist() == ["Ann", "Bob", "Cid"]


def test_a_missing_name_is_empty():
    assert graph_of(nodes={"id": ["a", "b", "c"], "name": ["A", None, "C"]}).names[1] == ""


def test_weights_are_read():
    graph = from_tables({**EDGES, "weight": [2, 0.5]}, directed=True)
    assert graph.rows.values.tolist() == [2, 0.5]


def test_a_column_of_weights_may_be_chosen():
    graph = from_tables({**EDGES, "cost": [2, 3]}, weight="cost", directed=True)
    assert graph.rows.values.tolist() == [2, 3]


def test_weights_may_be_left_out():
    assert not from_tables({**EDGES, "weight": [2, 3]}, weight=None).weighted


def test_times_follow_their_edges():
    graph = from_tables(
        {"source": ["b", "a"], "target": ["c", "b"], "t": [9, 4]}, time="t", directed=True
    )
    assert graph.times.tolist() == [4, 9]


def test_the_earliest_time_of_duplicates_stays():
    edges = {"source": ["a", "b", "a"], "target": ["b", "a", "b"], "year": [2003, 1999, 2001]}
    assert from_tables(edges, time="year").times.tolist() == [1999, 1999]


def test_the_class_method_is_the_same():
    assert Graph.from_tables(EDGES, NODES).fingerprint == graph_of().fingerprint


@pytest.mark.parametrize("role", ["source", "target", "weight", "time"])
def test_a_missing_edge_column_is_named_beside_those_present(role):
    with pytest.raises(
        InputError, match="the edges table has no column 'sauce'; it has 'source', 'target'"
    ):
        from_tables(EDGES, **{role: "sauce"})


@pytest.mark.parametrize("role", ["id", "label", "split"])
def test_a_missing_node_column_is_named_beside_those_present(role):
    with pytest.raises(
        InputError, match=r"the nodes table has no column 'teem'; .* 'team', 'part'; .* mean 'team'"
    ):
        graph_of(**{role: "teem"})


def test_a_missing_feature_is_named_beside_those_present():
    with pytest.raises(InputError, match=r"no column 'hight'; it has .*; did you mean 'height'\?"):
        graph_of(features=["age", "hight"])


@pytest.mark.parametrize("asked", [{"label": "team"}, {"split": "team"}, {"features": ["team"]}])
def test_node_columns_need_a_node_table(asked):
    with pytest.raises(InputError, match="'team' must be a column of the node table, but there is"):
        from_tables(EDGES, **asked)


def test_edges_need_two_columns():
    with pytest.raises(InputError, match="a source and a target column, but has only 'source'"):
        from_tables({"source": ["a"]})


def test_strange_ids_in_edges_are_counted_and_shown():
    edges = {"source": ["a", "x", "y", "x"], "target": ["b", "w", "a", "z"]}
    message = "be in the nodes table, but 4 are not: 'w', 'x', 'y', …; its ids look like 'a', 'b'"
    with pytest.raises(InputError, match=message):
        graph_of(edges)


def test_strange_integers_in_edges_are_counted_and_shown():
    with pytest.raises(InputError, match="be in the nodes table, but 2 are not: 55, 77; "):
        from_tables({"source": [1, 2], "target": [77, 55]}, {"id": [1, 2]})


def test_strange_integers_at_both_ends_are_counted_together():
    with pytest.raises(InputError, match="be in the nodes table, but 2 are not: 55, 77; "):
        from_tables({"source": [1, 55], "target": [77, 2]}, {"id": [1, 2]})


def test_duplicate_node_ids_are_named():
    with pytest.raises(InputError, match="ids must be distinct, but 'a' stand more than once"):
        graph_of(nodes={"id": ["a", "b", "c", "a"]})


def test_a_label_column_with_one_class_is_named():
    with pytest.raises(
        InputError, match=r"'team' must hold at least two classes, .* is 'x'; choose"
    ):
        graph_of(nodes={"id": ["a", "b", "c"], "team": ["x", None, "x"]}, label="team")


@pytest.mark.parametrize("weight", [-1.5, 0.0])
def test_weights_must_be_positive(weight):
    with pytest.raises(
        InputError, match=f"positive and finite, but that of the edges table, row 2 is {weight}"
    ):
        from_tables({**EDGES, "weight": [1, weight]})


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("heavy", "'weight' must hold numbers, but edges.csv, line 4 has 'heavy'"),
        ("", "'weight' must hold finite numbers, but edges.csv, line 4 has an empty cell"),
        ("nan", "'weight' must hold .*numbers, but edges.csv, line 4 has ('nan'|an empty cell)"),
        ("inf", "'weight' must hold .*numbers, but edges.csv, line 4 has '?inf"),
    ],
)
def test_a_bad_weight_is_found_in_its_file(write, cell, message):
    path = write("edges.csv", f"{EDGES_CSV}c,a,{cell}\na,c,1\n")
    with pytest.raises(InputError, match=message):
        from_tables(path)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("tall", "'height' must hold numbers, but nodes.csv, line 5 has 'tall'"),
        ("", "'height' must hold finite numbers, but nodes.csv, line 5 has an empty cell"),
        ("NaN", "'height' must hold finite numbers, but nodes.csv, line 5 has an empty cell"),
        ("-inf", "'height' must hold finite numbers, but nodes.csv, line 5 has -inf"),
    ],
)
@pytest.mark.parametrize("chosen", [None, ["height"]])
def test_a_bad_feature_is_found_in_its_file(write, cell, message, chosen):
    path = write("nodes.csv", f"{NODES_CSV}d,1,{cell}\n")
    with pytest.raises(InputError, match=message):
        graph_of(nodes=path, features=chosen)


def test_a_bad_feature_is_found_in_a_dataframe():
    with pytest.raises(
        InputError, match=r"'x' must hold .*, but the nodes table, row 2 has an empty"
    ):
        graph_of(nodes={"id": ["a", "b", "c"], "x": [1.0, None, 2.0]})


def test_a_text_column_cannot_be_a_feature():
    with pytest.raises(
        InputError, match="'team' must hold numbers, but the nodes table, row 1 has 'x'"
    ):
        graph_of(features=["team"])


@pytest.mark.parametrize("column", ["source", "target"])
def test_an_edge_without_an_end_is_found(column):
    edges = {**EDGES, column: ["a", None]}
    with pytest.raises(InputError, match=f"{column!r} is empty in the edges table, row 2"):
        from_tables(edges)


def test_an_edge_without_an_end_is_found_in_its_file(write):
    path = write("edges.csv", "source,target\n1,2\n2,\n")
    with pytest.raises(InputError, match=r"'target' is empty in edges\.csv, line 3"):
        from_tables(path)


def test_a_node_without_an_id_is_found_in_its_file(write):
    path = write("nodes.csv", "id,x\na,1\n,2\n")
    with pytest.raises(InputError, match=r"'id' is empty in nodes\.csv, line 3"):
        graph_of(nodes=path)


@pytest.mark.parametrize("edges", [{"source": [], "target": []}, {"source": ["a"], "target": []}])
def test_tables_without_rows_or_of_unequal_columns_are_refused(edges):
    with pytest.raises(
        InputError, match=r"the edges table (has a header but no rows|cannot be read)"
    ):
        from_tables(edges)


@pytest.mark.parametrize("edges", [5, ["a", "b"], np.eye(3), {"source": 5, "target": 6}])
def test_what_is_no_table_is_refused(edges):
    with pytest.raises(InputError, match="edges"):
        from_tables(edges)
