import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import io, sparse

from autogm import InputError, MissingExtra, as_graph, load_graph

from .example import EDGES, arcs, columns, expected_arcs, matrix

NODES_CSV = "id,team,age,part\nann,x,31,train\nbob,y,45,val\ncid,x,28,test\ndan,,60,test\n"
MATRIX_PARTS = ("data", "indices", "indptr", "shape")


def edges_text(delimiter, header=True):
    rows = [delimiter.join(map(str, edge)) for edge in EDGES]
    return "\n".join([delimiter.join(columns())] * header + rows) + "\n"


def as_csv(folder, directed):
    (folder / "edges.csv").write_text(edges_text(","))
    return folder / "edges.csv"


def as_semicolons(folder, directed):
    (folder / "edges.csv").write_text(edges_text(";"))
    return folder / "edges.csv"


def as_tsv(folder, directed):
    (folder / "edges.tsv").write_text(edges_text("\t"))
    return folder / "edges.tsv"


def as_parquet(folder, directed):
    pd.DataFrame(columns()).to_parquet(folder / "edges.parquet")
    return folder / "edges.parquet"


def as_folder(folder, directed):
    (folder / "nodes.csv").write_text(NODES_CSV)
    return as_tsv(folder, directed).parent


def as_snap(folder, directed):
    kind = "Directed" if directed else "Undirected"
    comments = f"# {kind} graph: friends.txt\n# FromNodeId\tToNodeId\n"
    (folder / "friends.txt").write_text(comments + edges_text("\t", header=False))
    return folder / "friends.txt"


def as_matrix_market(folder, directed):
    io.mmwrite(folder / "friends.mtx", matrix())
    return folder / "friends.mtx"


def as_own_npz(folder, directed):
    as_graph(columns(), directed=directed).save(folder / "friends.npz")
    return folder / "friends.npz"


def as_scipy_npz(folder, directed):
    sparse.save_npz(folder / "friends.npz", matrix())
    return folder / "friends.npz"


def as_benchmark_npz(folder, directed):
    np.savez(
        folder / "friends.npz", **{f"adj_{key}": getattr(matrix(), key) for key in MATRIX_PARTS}
    )
    return folder / "friends.npz"


def as_graphml(folder, directed):
    graph = nx.MultiDiGraph() if directed else nx.MultiGraph()
    graph.add_weighted_edges_from(EDGES)
    nx.write_graphml(graph, folder / "friends.graphml")
    return folder / "friends.graphml"


WAYS = [
    as_csv,
    as_semicolons,
    as_tsv,
    as_parquet,
    as_folder,
    as_snap,
    as_matrix_market,
    as_own_npz,
    as_scipy_npz,
    as_benchmark_npz,
    as_graphml,
]
any_way = pytest.mark.parametrize("way", WAYS)
either_way = pytest.mark.parametrize("directed", [True, False])


@any_way
@either_way
def test_every_file_gives_the_same_weighted_graph(tmp_path, way, directed):
    path = way(tmp_path, directed)
    weight = {"weight": "column3"} if way is as_snap else {}
    graph = load_graph(path, directed=directed, **weight)
    assert arcs(graph) == expected_arcs(directed=directed, weighted=True)


@any_way
@either_way
def test_every_file_gives_the_same_binary_graph(tmp_path, way, directed):
    graph = load_graph(way(tmp_path, directed), directed=directed, weight=None)
    assert arcs(graph) == expected_arcs(directed=directed, weighted=False)


@pytest.mark.parametrize("way", [as_snap, as_own_npz, as_graphml])
@either_way
def test_files_that_say_whether_they_are_directed_are_heard(tmp_path, way, directed):
    assert load_graph(way(tmp_path, directed)).directed == directed


@any_way
@either_way
def test_what_the_user_says_of_direction_holds(tmp_path, way, directed):
    assert load_graph(way(tmp_path, not directed), directed=directed).directed == directed


def test_a_plain_list_is_undirected_unless_said(write):
    assert not load_graph(write("e.txt", "1 2\n2 3\n")).directed


@any_way
def test_a_graph_has_the_name_of_its_file(tmp_path, way):
    path = way(tmp_path, True)
    assert load_graph(path).name == path.stem


def test_a_folder_holds_nodes_beside_edges(tmp_path):
    graph = load_graph(as_folder(tmp_path, True), label="team")
    assert (graph.labels.tolist(), graph.feature_names) == ([0, 1, 0, -1], ("age",))


def test_a_folder_needs_no_nodes(tmp_path):
    as_csv(tmp_path, True)
    assert load_graph(tmp_path).ids.tolist() == ["ann", "bob", "cid", "dan"]


def test_nodes_may_lie_elsewhere(tmp_path, write):
    nodes = write("people.csv", NODES_CSV)
    assert load_graph(as_csv(tmp_path, True), nodes=nodes).feature_names == ("age",)


def test_a_column_names_the_splits(tmp_path):
    graph = load_graph(as_folder(tmp_path, True), split="part")
    assert [part.tolist() for part in graph.splits] == [[0], [1], [2, 3]]


def test_the_largest_component_of_a_file(tmp_path):
    graph = load_graph(as_csv(tmp_path, True), largest_component=True)
    assert graph.ids.tolist() == ["ann", "bob", "cid"]


def test_features_of_a_file_may_be_normalized(write):
    write("edges.csv", "a,b\nu,v\n")
    folder = write("nodes.csv", "id,x,y\nu,1,3\nv,0,0\n").parent
    assert load_graph(folder, row_normalize=True).features.tolist() == [[0.25, 0.75], [0, 0]]


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_every_form_that_scipy_saves_is_read(tmp_path, form):
    sparse.save_npz(tmp_path / "g.npz", matrix().asformat(form))
    graph = load_graph(tmp_path / "g.npz", directed=True)
    assert arcs(graph) == expected_arcs(directed=True, weighted=True)


def benchmark_arrays():
    features = sparse.csr_array(np.eye(4, 3))
    parts = {f"attr_{key}": getattr(features, key) for key in MATRIX_PARTS}
    parts |= {f"adj_{key}": getattr(matrix(), key) for key in MATRIX_PARTS}
    return {**parts, "labels": np.array([4, 2, 4, 2])}


def test_benchmark_files_hold_features_and_labels(tmp_path):
    np.savez(tmp_path / "g.npz", **benchmark_arrays())
    graph = load_graph(tmp_path / "g.npz")
    found = (graph.features.toarray().tolist(), graph.labels.tolist(), graph.classes)
    assert found == (np.eye(4, 3).tolist(), [1, 0, 1, 0], (2, 4))


def test_objects_that_a_benchmark_file_holds_beside_are_left_alone(tmp_path):
    names = np.array({0: "ann"}, dtype=object)
    np.savez(tmp_path / "g.npz", **benchmark_arrays(), idx_to_node=names)
    assert load_graph(tmp_path / "g.npz").num_nodes == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"adj_indices": [1, 7, 1, 1]}, r"node ids of .* 4 x 4 must be in 0\.\.3, but one is 7"),
        ({"adj_indptr": [0, 9, 2, 4, 4]}, r"number of entries \(4\), .* or falls in between"),
        ({"adj_indices": [1.5, 0, 1, 1]}, "adj_indices must hold whole numbers, but .* float64"),
        ({"adj_data": list("abcd")}, "adj_data must hold numbers, but holds <U1; save the matrix"),
        ({"attr_indices": [10**9, -5, 0]}, r"feature columns .* in 0\.\.2, but one is -5"),
        ({"attr_indices": [10**9, 5, 0]}, r"feature columns .* in 0\.\.2, but one is 1000000000"),
        ({"attr_indptr": [0, 9, 2, 2, 3]}, r"number of entries \(3\), .* or falls in between"),
    ],
)
def test_positions_outside_a_benchmark_file_are_named(tmp_path, changes, message):
    np.savez(tmp_path / "g.npz", **{**benchmark_arrays(), **changes})
    with pytest.raises(InputError, match=message):
        load_graph(tmp_path / "g.npz")


def test_positions_outside_a_matrix_of_scipy_are_named(tmp_path):
    broken = matrix()
    broken.indices[1] = 7
    sparse.save_npz(tmp_path / "g.npz", broken)
    with pytest.raises(InputError, match=r"node ids .* must be in 0\.\.3, but one is 7; make"):
        load_graph(tmp_path / "g.npz")


def test_a_symmetric_matrix_market_file_is_undirected(write):
    banner = "%%MatrixMarket matrix coordinate pattern symmetric\n"
    graph = load_graph(write("g.mtx", f"{banner}3 3 2\n2 1\n3 2\n"))
    assert (graph.directed, graph.weighted, graph.num_edges) == (False, False, 2)


def test_ids_of_matrix_market_are_counted_as_in_the_file(write):
    banner = "%%MatrixMarket matrix coordinate pattern general\n"
    path = write("g.mtx", f"{banner}3 3 2\n1 2\n1 3\n")
    graph = load_graph(path, labels={1: "hub", 2: "leaf", 3: "leaf"}, features=np.eye(3))
    assert (graph.ids.tolist(), graph.labels.tolist()) == ([1, 2, 3], [0, 1, 1])


def test_graphml_attributes_are_labels_and_features(tmp_path):
    graph = nx.Graph([("a", "b")])
    graph.add_node("a", team="x", age=31)
    graph.add_node("b", team="y", age=45)
    nx.write_graphml(graph, tmp_path / "g.graphml")
    read = load_graph(tmp_path / "g.graphml", label="team", features=["age"])
    assert (read.classes, read.features.tolist()) == (("x", "y"), [[31], [45]])


def test_a_file_may_be_named_by_text(tmp_path):
    assert load_graph(str(as_csv(tmp_path, True))).num_nodes == 4


def test_an_unknown_name_lists_the_choices_and_the_nearest():
    with pytest.raises(
        InputError,
        match=r"'cara' is neither .* are cora, citeseer, .* digits; did you mean 'cora'\?",
    ):
        load_graph("cara")


def test_a_missing_file_comes_with_a_suggestion(tmp_path):
    as_csv(tmp_path, True)
    with pytest.raises(InputError, match=r"'.*egdes.csv' is neither .* mean '.*edges.csv'\?"):
        load_graph(tmp_path / "egdes.csv")


def test_a_file_that_is_not_alike_is_not_suggested(tmp_path):
    as_csv(tmp_path, True)
    with pytest.raises(InputError, match=r"'.*karate.graphml' is neither (?!.*did you mean)"):
        load_graph(tmp_path / "karate.graphml")


def test_an_unknown_ending_is_named_beside_the_known(write):
    with pytest.raises(
        InputError, match=r"g\.xlsx has an unknown ending '\.xlsx'; .* \.csv, \.tsv"
    ):
        load_graph(write("g.xlsx", "a"))


def test_a_folder_without_edges_says_what_it_holds(write):
    folder = write("graph/nodes.csv", NODES_CSV).parent
    with pytest.raises(InputError, match=r"must hold edges.csv, .* but graph holds 'nodes\.csv'"):
        load_graph(folder)


@pytest.mark.parametrize("options", [{"colour": 1}, {"source": "a"}, {"nodes": "nodes.csv"}])
@pytest.mark.parametrize("way", [as_matrix_market, as_own_npz, as_graphml])
def test_columns_are_refused_where_there_are_none(tmp_path, way, options):
    name = next(iter(options))
    expected = f"('{name}' name columns of tables, but friends|knows no option '{name}')"
    with pytest.raises(InputError, match=expected):
        load_graph(way(tmp_path, True), **options)


@pytest.mark.parametrize(
    "name", ["g.csv", "g.tsv", "g.txt", "g.parquet", "g.npz", "g.mtx", "g.graphml"]
)
@pytest.mark.parametrize(
    "content",
    [
        pytest.param("", id="empty"),
        pytest.param(bytes(range(256)), id="binary"),
        pytest.param("<html></html>", id="page"),
        pytest.param("\x93NUMPY\x01\x00v\x00{'descr'".encode("latin1"), id="half an array"),
        pytest.param(b"PK\x03\x04\x14\x00 half an archive", id="half an archive"),
        pytest.param(b"PAR1 half a table", id="half a table"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_named(write, name, content):
    with pytest.raises(InputError, match=f"{name} "):
        load_graph(write(name, content))


def test_one_array_is_no_archive_of_arrays(tmp_path):
    with (tmp_path / "g.npz").open("wb") as file:
        np.save(file, np.eye(3))
    with pytest.raises(InputError, match=r"g\.npz is not an \.npz file"):
        load_graph(tmp_path / "g.npz")


def test_an_archive_of_other_arrays_says_what_it_holds(tmp_path):
    np.savez(tmp_path / "g.npz", weights=np.eye(3), bias=np.ones(3))
    with pytest.raises(InputError, match=r"g\.npz must hold a graph .* it holds 'weights', 'bias'"):
        load_graph(tmp_path / "g.npz")


def test_half_a_matrix_is_named(write):
    banner = "%%MatrixMarket matrix coordinate real general\n"
    with pytest.raises(InputError, match=r"g\.mtx is not a MatrixMarket file: Line 3"):
        load_graph(write("g.mtx", f"{banner}2 2 1\n1 3 1.0\n"))


def test_a_rectangular_matrix_is_refused(write):
    banner = "%%MatrixMarket matrix coordinate real general\n"
    with pytest.raises(InputError, match=r"must be square, but its shape is \(2, 3\)"):
        load_graph(write("g.mtx", f"{banner}2 3 1\n1 3 1.0\n"))


def test_without_its_library_graphml_says_what_to_install(tmp_path, without):
    path = as_graphml(tmp_path, True)
    without("networkx")
    with pytest.raises(MissingExtra, match=r"reading GraphML needs networkx, .*'autogm\[search\]'"):
        load_graph(path)


def test_an_unknown_option_comes_with_a_suggestion(tmp_path):
    with pytest.raises(InputError, match=r"no option 'lable'; did you mean 'label'\?"):
        load_graph(as_csv(tmp_path, True), lable="team")


def test_a_root_is_not_for_paths(tmp_path):
    path = as_csv(tmp_path, True)
    with pytest.raises(
        InputError, match=r"root= is the folder of named graphs, and '.*edges\.csv'"
    ):
        load_graph(path, root=tmp_path)


def test_what_is_no_path_is_named():
    with pytest.raises(InputError, match="a name or a path, but got dict; use as_graph"):
        load_graph({})


@pytest.mark.parametrize("name", ["g.csv", "nowhere/g.npz"])
def test_a_graph_is_saved_where_it_can_be_read(tmp_path, name):
    graph = load_graph(as_csv(tmp_path, True))
    with pytest.raises(InputError, match=r"saved as \.npz into a folder that exists"):
        graph.save(tmp_path / name)


def test_complex_weights_are_named(write):
    banner = "%%MatrixMarket matrix coordinate complex general\n"
    with pytest.raises(InputError, match=r"real, but g\.mtx holds complex numbers"):
        load_graph(write("g.mtx", f"{banner}2 2 1\n1 2 1.0 2.0\n"))
