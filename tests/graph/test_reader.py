import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from autogm import InputError, MissingExtra
from autogm.graph import from_tables

EDGES = {"source": ["a", "b"], "target": ["b", "c"], "weight": [1.0, 2.0]}
NODES = {"id": ["a", "b", "c"], "x": ["1", "2", "3"], "team": ["red", None, "blue"]}
WITH_A_TWIN = pa.table([["a"], ["b"], ["c"]], names=["source", "target", "target"])


def arcs(graph):
    """{(source id, target id): weight}"""
    entries = graph.adjacency.tocoo()
    ends = zip(graph.ids[entries.col].tolist(), graph.ids[entries.row].tolist(), strict=True)
    return dict(zip(ends, entries.data.tolist(), strict=True))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("e.csv", "source,target,weight\na,b,1\nb,c,2\n", id="comma"),
        pytest.param("e.csv", "source;target;weight\na;b;1\nb;c;2\n", id="semicolon"),
        pytest.param("e.csv", "source|target|weight\na|b|1\nb|c|2\n", id="bar"),
        pytest.param("e.tsv", "source\ttarget\tweight\na\tb\t1\nb\tc\t2\n", id="tab"),
        pytest.param("e.csv", "source,target,weight\na,b,1\nb,c,2", id="no last line break"),
        pytest.param("e.csv", "source,target,weight\r\na,b,1\r\nb,c,2\r\n", id="carriage returns"),
        pytest.param("e.csv", "\ufeffsource,target,weight\na,b,1\nb,c,2\n", id="byte order mark"),
        pytest.param("e.csv", '"source","target","weight"\n"a","b",1\n"b","c",2\n', id="quotes"),
        pytest.param("e.csv", " source , target , weight \na,b,1\nb,c,2\n", id="spaced header"),
        pytest.param("e.csv", "weight,target,source\n1,b,a\n2,c,b\n", id="another order"),
        pytest.param("e.csv", "source,target,weight\na,b,1\n\nb,c,2\n\n", id="blank lines"),
        pytest.param("e.csv", "source,target,weight\na,b,+1\nb,c,2.\n", id="forms of numbers"),
    ],
)
def test_dialects_say_the_same(write, name, text):
    graph = from_tables(write(name, text), directed=True)
    assert arcs(graph) == {("a", "b"): 1, ("b", "c"): 2}


@pytest.mark.parametrize("order", [("source", "target", "weight"), ("weight", "target", "source")])
def test_the_order_of_parquet_columns_does_not_matter(tmp_path, order):
    parquet.write_table(pa.table(EDGES).select(order), tmp_path / "e.parquet")
    graph = from_tables(tmp_path / "e.parquet", directed=True)
    assert arcs(graph) == {("a", "b"): 1, ("b", "c"): 2}


@pytest.mark.parametrize("name", ["e.csv", "e.tsv"])
def test_two_numbers_in_the_first_line_are_an_edge(write, name):
    delimiter = "," if name == "e.csv" else "\t"
    graph = from_tables(write(name, f"5{delimiter}6\n6{delimiter}7\n"))
    assert graph.ids.tolist() == [5, 6, 7]


@pytest.mark.parametrize("text", ["# two\n# lines\n1\t2\n2\t3\n", "1 2\n2 3\n", "1,2\n2,3\n"])
def test_plain_lists_have_no_header(write, text):
    assert from_tables(write("e.txt", text)).ids.tolist() == [1, 2, 3]


def test_further_columns_of_a_plain_list_have_numbers(write):
    graph = from_tables(write("e.txt", "a b 3\nb c 4\n"), weight="column3", directed=True)
    assert arcs(graph) == {("a", "b"): 3, ("b", "c"): 4}


def test_ids_that_turn_into_text_late_are_all_text(write):
    lines = "".join(f"{i},{i + 1}\n" for i in range(200_000))  # more than one batch
    graph = from_tables(write("e.csv", f"source,target\n{lines}0,x\n"))
    assert (graph.num_nodes, graph.ids[-1], graph.ids.dtype.kind) == (200_002, "x", "U")


def test_a_weight_that_is_written_strangely_leaves_ids_integers(write):
    graph = from_tables(write("e.csv", "source,target,weight\n1,2,+1.5\n10,2, 3\n"))
    assert graph.ids.tolist() == [1, 2, 10]


def test_integers_beyond_64_bits_stay_apart(write):
    ids = ["12345678901234567890", "12345678901234567891"]
    graph = from_tables(write("e.csv", f"source,target\n{ids[0]},{ids[1]}\n"))
    assert graph.ids.astype(str).tolist() == ids


@pytest.mark.parametrize(
    "ids", [("10:30", "11:30"), ("True", "False"), ("2020-01-01 10:00", "2020-01-02 10:00")]
)
def test_ids_that_look_like_something_else_survive(write, ids):
    edges = write("e.csv", f"source,target\n{ids[0]},{ids[1]}\n")
    nodes = write("n.csv", f"id,x\n{ids[0]},1\n{ids[1]},2\n")
    assert from_tables(edges, nodes).ids.tolist() == list(ids)


def test_a_mostly_numeric_column_with_a_mistake_is_not_left_out(write):
    nodes = write("n.csv", "id,x\na,1\nb,two\nc,3\n")
    with pytest.raises(InputError, match=r"'x' must hold numbers, but n\.csv, line 3 has 'two'"):
        from_tables(EDGES, nodes)


def test_a_column_of_text_is_left_out(write):
    nodes = write("n.csv", "id,x,title\na,1,first\nb,2,2nd\nc,3,third\n")
    assert from_tables(EDGES, nodes).feature_names == ("x",)


def test_blank_lines_count_when_a_line_is_named(write):
    path = write("e.csv", "source,target,weight\na,b,1\n\n\nb,c,heavy\n")
    with pytest.raises(InputError, match=r"e\.csv, line 5 has 'heavy'"):
        from_tables(path)


def test_a_line_without_a_header_is_named(write):
    path = write("e.csv", "1,2,3\n2,3,heavy\n")
    with pytest.raises(InputError, match=r"e\.csv, line 2 has 'heavy'"):
        from_tables(path, weight="column3")


def test_a_line_after_comments_is_named(write):
    path = write("e.txt", "# a\n# b\n1 2 3\n2 3 heavy\n")
    with pytest.raises(InputError, match=r"e\.txt, line 4 has 'heavy'"):
        from_tables(path, weight="column3")


def test_a_hash_before_the_header_is_no_comment_in_a_table(write):
    path = write("e.csv", "#source,target,weight\na,b,2\n")
    assert arcs(from_tables(path, directed=True)) == {("a", "b"): 2}


def test_a_comment_above_a_table_is_named(write):
    with pytest.raises(InputError, match="target column, but has only '# friends'"):
        from_tables(write("e.csv", "# friends\nsource,target\na,b\n"))


def test_a_bad_weight_beyond_the_first_batch_is_found(write):
    lines = "".join(f"{i},{i + 1},1\n" for i in range(200_000))
    path = write("e.csv", f"source,target,weight\n{lines}0,1,heavy\n")
    with pytest.raises(InputError, match=r"e\.csv, line 200002 has 'heavy'"):
        from_tables(path)


@pytest.mark.parametrize("role", ["edges", "nodes"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("", r"f\.csv is empty", id="empty"),
        pytest.param("id,target\n", r"f\.csv has a header but no rows", id="header"),
        pytest.param("id,target\n\n\n", r"f\.csv has a header but no rows", id="blank lines"),
        pytest.param("id,x,y,x\na,b,1,2\n", r"f\.csv .* once, but 'x' stands twice", id="twins"),
        pytest.param("id,target\na,b\nc\n", r"f\.csv .* got 1: c; give every line", id="ragged"),
        pytest.param(bytes(range(256)), r"f\.csv .* holds binary data", id="binary"),
        pytest.param(b"PAR1 and more", r"f\.csv .* holds binary data", id="parquet"),
        pytest.param("id,target\nJosé,b\n".encode("latin1"), r"f\.csv", id="another encoding"),
    ],
)
def test_a_file_that_is_no_table_is_named(write, role, content, message):
    tables = {"edges": EDGES, "nodes": NODES, role: write("f.csv", content)}
    with pytest.raises(InputError, match=message):
        from_tables(tables["edges"], tables["nodes"])


def test_a_class_name_in_another_encoding_is_refused(write):
    nodes = write("n.csv", "id,team\na,José\nb,x\nc,x\n".encode("latin1"))
    with pytest.raises(InputError, match=r"n\.csv"):
        from_tables(EDGES, nodes, label="team")


@pytest.mark.parametrize("text", ["# only\n# comments\n", "#"])
def test_a_list_of_comments_holds_no_edges(write, text):
    with pytest.raises(InputError, match=r"e\.txt holds no edges"):
        from_tables(write("e.txt", text))


@pytest.mark.parametrize("content", ["source,target\n1,2\n", ""])
def test_a_parquet_file_must_be_one(write, content):
    with pytest.raises(InputError, match=r"e\.parquet is not a Parquet file"):
        from_tables(write("e.parquet", content))


def test_half_a_parquet_file_is_named(write, tmp_path):
    parquet.write_table(pa.table(EDGES), tmp_path / "e.parquet")
    half = (tmp_path / "e.parquet").read_bytes()[:80]
    with pytest.raises(InputError, match=r"half\.parquet"):
        from_tables(write("half.parquet", half))


def test_a_missing_file_comes_with_a_suggestion(write):
    path = write("edges.csv", "a,b\n")
    with pytest.raises(InputError, match=r"there is no file '.*egdes.csv'; .* mean 'edges.csv'\?"):
        from_tables(path.with_name("egdes.csv"))


@pytest.mark.parametrize(
    "twins",
    [
        pytest.param(lambda: WITH_A_TWIN, id="arrow"),
        pytest.param(
            lambda: pd.DataFrame([["a", "b", "c"]], columns=WITH_A_TWIN.column_names), id="pandas"
        ),
    ],
)
def test_duplicate_columns_of_a_dataframe_are_named(twins):
    with pytest.raises(InputError, match=r"the edges table .*'target'"):
        from_tables(twins())


def test_duplicate_columns_of_parquet_are_named(tmp_path):
    parquet.write_table(WITH_A_TWIN, tmp_path / "e.parquet")
    with pytest.raises(InputError, match=r"e\.parquet .*'target'"):
        from_tables(tmp_path / "e.parquet")


@pytest.mark.parametrize("frame", [pa.table, pd.DataFrame, pl.DataFrame, dict])
def test_numbers_may_be_text_in_a_dataframe(frame):
    graph = from_tables(frame(EDGES), frame(NODES))
    assert graph.features.tolist() == [[1], [2], [3]]


@pytest.mark.parametrize("frame", [pa.table, pd.DataFrame, pl.DataFrame, dict])
def test_weights_may_be_text_in_a_dataframe(frame):
    graph = from_tables(frame({**EDGES, "weight": ["1", "2.5"]}), directed=True)
    assert arcs(graph) == {("a", "b"): 1, ("b", "c"): 2.5}


@pytest.mark.parametrize(
    "categories",
    [
        pytest.param(lambda columns: pd.DataFrame(columns).astype("category"), id="pandas"),
        pytest.param(lambda columns: pl.DataFrame(columns).cast(pl.Categorical), id="polars"),
        pytest.param(
            lambda columns: pa.table(
                {k: pa.array(v).dictionary_encode() for k, v in columns.items()}
            ),
            id="arrow",
        ),
    ],
)
def test_ids_and_labels_may_be_categories(categories):
    edges = categories({"source": ["a", "b"], "target": ["b", "c"]})
    nodes = categories({"id": NODES["id"], "team": NODES["team"]})
    graph = from_tables(edges, nodes, label="team")
    assert (graph.ids.tolist(), graph.labels.tolist()) == (["a", "b", "c"], [1, -1, 0])


def test_the_index_of_a_filtered_dataframe_is_no_feature():
    nodes = pd.DataFrame({"id": ["z", "a", "b", "c"], "x": [0, 1, 2, 3]})
    assert from_tables(EDGES, nodes[nodes.x > 0]).feature_names == ("x",)


def test_missing_values_of_pandas_are_empty_cells():
    nodes = pd.DataFrame({"id": ["a", "b", "c"], "x": pd.array([1, None, 3], dtype="Int64")})
    with pytest.raises(InputError, match="the nodes table, row 2 has an empty cell"):
        from_tables(EDGES, nodes)


@pytest.mark.parametrize("column", ["day", "colours"])
def test_a_column_of_another_kind_cannot_be_a_feature(column):
    days = pa.array([1, 2, 3], pa.timestamp("s"))
    nodes = pa.table({"id": ["a", "b", "c"], "day": days, "colours": [["r"], ["g"], ["b"]]})
    with pytest.raises(InputError, match=f"{column!r} must hold numbers, but in the nodes table"):
        from_tables(EDGES, nodes, features=[column])


@pytest.mark.parametrize("name", ["e.csv", "e.parquet"])
def test_without_its_library_a_table_says_what_to_install(write, without, name):
    path = write(name, "PAR1" if name == "e.parquet" else "source,target\na,b\n")
    without("pyarrow")
    with pytest.raises(MissingExtra, match=r"needs pyarrow, .*: pip install 'autogm\[search\]'"):
        from_tables(path)


def test_without_its_library_a_dataframe_says_what_to_install(without):
    without("pyarrow")
    with pytest.raises(MissingExtra, match=r"needs pyarrow, .*: pip install 'autogm\[search\]'"):
        from_tables(EDGES)


def test_leading_zeros_of_ids_survive(write):
    edges = write("e.csv", "source,target\n001,010\n1,001\n")
    assert from_tables(edges).ids.tolist() == ["001", "010", "1"]


def test_leading_zeros_of_node_ids_survive(write):
    nodes = write("n.csv", "id,x\n007,1\n7,2\n")
    graph = from_tables(write("e.csv", "source,target\n007,7\n"), nodes)
    assert (graph.ids.tolist(), graph.num_edges) == (["007", "7"], 1)


LATE = "".join(f"{i},{i + 1}\n" for i in range(1, 30_000))


@pytest.mark.parametrize(
    "twins", [("007", "7"), ("1e5", "100000"), ("+7", "7"), ("0x1F", "31"), ("-0", "0")]
)
@pytest.mark.parametrize("lines", ["", LATE], ids=["early", "late"])
def test_ids_that_are_written_differently_stay_apart(write, twins, lines):
    graph = from_tables(write("e.csv", f"source,target\n{lines}{twins[0]},{twins[1]}\n"))
    assert set(twins) <= set(graph.ids.tolist())


@pytest.mark.parametrize("twins", [("007", "7"), ("1e5", "100000")])
@pytest.mark.parametrize("lines", ["", LATE], ids=["early", "late"])
def test_nodes_that_are_written_differently_stay_apart(write, twins, lines):
    others = "".join(f"{i + 200_000},1\n" for i, _ in enumerate(lines.splitlines()))
    nodes = write("n.csv", f"id,x\n{others}{twins[0]},1\n{twins[1]},2\n")
    graph = from_tables(write("e.csv", f"source,target\n{twins[0]},{twins[1]}\n"), nodes)
    assert graph.ids.tolist()[-2:] == list(twins)
    assert graph.num_edges == 1


def test_an_edge_does_not_find_a_node_that_is_written_differently(write):
    nodes = write("n.csv", "id,x\n7,1\n8,2\n")
    with pytest.raises(InputError, match="integers like 7, 8, but got '007'"):
        from_tables(write("e.csv", "source,target\n007,8\n"), nodes)


def test_whole_numbers_of_pandas_are_integers(write):
    nodes = write("n.csv", "id,x\n7.0,1\n10.0,2\n")
    graph = from_tables(write("e.csv", "source,target\n7,10\n"), nodes)
    assert graph.ids.tolist() == [7, 10]


def test_a_mark_for_nothing_among_integers_is_no_id(write):
    with pytest.raises(InputError, match=r"'target' is empty in e\.csv, line 3"):
        from_tables(write("e.csv", "source,target\n1,2\n2,NA\n"))


@pytest.mark.parametrize("text", ["0,10,20\n1,5,6\n2,7,8\n", "5\n6\n", "1,5,x\n2,7,y\n"])
def test_numbers_do_not_name_the_columns_of_nodes(write, text):
    cells = ", ".join(map(repr, text.split("\n")[0].split(",")))
    expected = f"first line of n.csv must name its columns, but it holds {cells}; give .* id,x"
    with pytest.raises(InputError, match=expected):
        from_tables({"source": [1], "target": [2]}, write("n.csv", text))


def test_features_may_have_numbers_for_names(write):
    nodes = write("n.csv", "id,0,1\na,5,6\nb,5,6\nc,7,8\n")
    assert from_tables(EDGES, nodes).feature_names == ("0", "1")


SEVERAL_LINES = 'id,note,x\na,"one\ntwo\nthree",1\n\nb,"four\nfive",2\nc,,'


def test_a_cell_over_several_lines_counts_them_when_a_line_is_named(write):
    with pytest.raises(InputError, match=r"n\.csv, line 8 has 'three'"):
        from_tables(EDGES, write("n.csv", f"{SEVERAL_LINES}three\n"), features=["x"])


def test_a_header_over_several_lines_is_counted(write):
    text = f'"id","a\nnote"{SEVERAL_LINES[7:]}'
    assert from_tables(EDGES, write("n.csv", f"{text}3\n"), features=["x"]).num_nodes == 3
    with pytest.raises(InputError, match=r"n\.csv, line 9 has 'three'"):
        from_tables(EDGES, write("n.csv", f"{text}three\n"), features=["x"])


def test_cells_over_several_lines_may_stand_in_a_large_table(write):
    lines = "".join(f'{i},"one\n{"x" * 40}\nthree",{i % 3}\n' for i in range(40_000))
    nodes = write("n.csv", f"id,note,x\n{lines}")
    graph = from_tables({"source": [0], "target": [1]}, nodes)
    assert (graph.num_nodes, graph.feature_names) == (40_000, ("x",))


def test_a_cell_longer_than_python_reads_does_not_hide_the_mistake(write):
    text = f"id,note,x\na,{'y' * 200_000},1\nb,,two\nc,,3\n"
    with pytest.raises(InputError, match=r"n\.csv, row 2 has 'two'"):
        from_tables(EDGES, write("n.csv", text))


def test_a_weight_that_is_written_strangely_does_not_make_ids_text(write):
    path = write("e.csv", "source,target,weight\n1,2, 2.\n10,2,+.5\n")
    assert from_tables(path).ids.tolist() == [1, 2, 10]


def test_several_spaces_between_columns_are_named(write):
    with pytest.raises(InputError, match=r"columns of e\.txt must be separated by one space"):
        from_tables(write("e.txt", "1   2\n2   3\n"))


def test_a_column_that_turns_late_leaves_the_others_alone(write):
    wide = "x" * 40  # several megabytes
    lines = "".join(f"{i},{i % 3 - 1},{wide if i > 39_990 else ''},{wide}\n" for i in range(40_000))
    nodes = write("n.csv", f"id,topic,note,text\n{lines}")
    graph = from_tables({"source": [0], "target": [1]}, nodes, label="topic", features=[])
    assert (graph.ids.dtype.kind, graph.classes) == ("i", (0, 1))


def test_a_column_whose_values_begin_late_keeps_its_type(write):
    lines = "".join(f"{i},{i % 2 if i > 39_990 else ''},{'x' * 40}\n" for i in range(40_000))
    nodes = write("n.csv", f"id,topic,text\n{lines}")
    graph = from_tables({"source": [0], "target": [1]}, nodes, label="topic", features=[])
    assert (graph.classes, int((graph.labels >= 0).sum())) == ((0, 1), 9)


def test_spaces_around_cells_are_no_part_of_them(write):
    edges = write("e.csv", "source, target\na, b\nb , c\n")
    assert from_tables(edges).ids.tolist() == ["a", "b", "c"]


def test_a_first_line_that_is_an_edge_is_no_header(write):
    with pytest.raises(InputError, match=r"first line of e\.csv must name .* 'bob' stands among"):
        from_tables(write("e.csv", "ann,bob\nbob,cid\n"))


def test_excel_may_say_its_delimiter(write):
    assert from_tables(write("e.csv", "sep=;\nsource;target\na;b\n")).ids.tolist() == ["a", "b"]


def test_a_list_may_have_a_header(write):
    graph = from_tables(write("e.txt", "FromNodeId\tToNodeId\n1\t2\n"))
    assert graph.ids.tolist() == [1, 2]


def test_a_tsv_is_split_at_tabs(write):
    edges = write("e.tsv", "source\ttarget\tnote (a, b, c, d)\nx\ty\tz\n")
    assert from_tables(edges).ids.tolist() == ["x", "y"]


def test_utf_16_is_named(write):
    with pytest.raises(InputError, match=r"e\.csv must be UTF-8, but it is UTF-16"):
        from_tables(write("e.csv", "source,target\na,b\n".encode("utf-16")))


def test_a_folder_is_no_table(tmp_path):
    with pytest.raises(InputError, match="must be a file, but it is a folder"):
        from_tables(tmp_path)


@pytest.mark.parametrize("source", ["Source", "FROM", "Src"])
def test_columns_are_known_in_any_case(source):
    target = {"Source": "Target", "FROM": "To", "Src": "dst"}[source]
    edges = {target: ["b"], source: ["a"], "Weight": [2.0]}
    graph = from_tables(edges, directed=True)
    assert arcs(graph) == {("a", "b"): 2}


def test_both_ends_must_not_be_one_column():
    with pytest.raises(InputError, match="two columns, but both are 'a'"):
        from_tables({"a": [1], "b": [2]}, source="a", target="a")


def test_features_are_a_list_of_names():
    with pytest.raises(InputError, match=r"a list of column names like .* but got 'age'"):
        from_tables(EDGES, NODES, features="age")


def test_columns_with_leading_zeros_are_no_features(write):
    nodes = write("n.csv", "id,zip,x\na,01234,1\nb,98765,2\nc,00001,3\n")
    assert from_tables(EDGES, nodes).feature_names == ("x",)


def test_ids_are_not_shared_with_the_dataframe():
    ids = np.array([10, 20, 30])
    graph = from_tables({"source": [10], "target": [20]}, {"id": ids})
    ids[0] = 99
    assert graph.ids.tolist() == [10, 20, 30]
