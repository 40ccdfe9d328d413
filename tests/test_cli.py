import json
import subprocess
import sys

import networkx as nx
import pytest
from typer.testing import CliRunner

import autogm
from autogm.cli import app, run


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("from,to\nann,bob\ncid,bob\nbob,dee\n")
    return path


@pytest.fixture
def nodes(tmp_path):
    path = tmp_path / "nodes.csv"
    path.write_text("id,name\nann,Ann [a]\nbob,Bob\ncid,Cid\ndee,Dee\n")
    return path


def call(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


def fails(monkeypatch, capsys, *args):
    """The sentence on standard error of a call that ends with the usage code."""
    monkeypatch.setattr(sys, "argv", ["autogm", *map(str, args)])
    with pytest.raises(SystemExit) as exit_:
        run()
    captured = capsys.readouterr()
    assert exit_.value.code == 2
    assert captured.out == ""
    assert "Traceback" not in captured.err
    return captured.err


@pytest.mark.parametrize("algorithm", ["pagerank", "ppr", "rwr", "pixie"])
def test_rank_prints_the_scores_of_the_function(edges, algorithm):
    seeds = [] if algorithm == "pagerank" else ["--seeds", "ann,cid=2"]
    result = call("rank", edges, "--algorithm", algorithm, *seeds, "--directed", "--json")
    graph = autogm.load_graph(edges, directed=True)
    score = getattr(autogm, algorithm)
    scores = score(graph, seeds={"ann": 1, "cid": 2}) if seeds else score(graph)
    expected = dict(zip(graph.ids.tolist(), scores.tolist(), strict=True))
    assert {row["id"]: row["score"] for row in json.loads(result.stdout)["top"]} == expected


def test_rank_prints_the_best_first_and_no_more_than_asked_for(edges):
    top = json.loads(call("rank", edges, "--top", 2, "--json").stdout)["top"]
    assert [row["id"] for row in top] == ["bob", "ann"]


def test_rank_shows_names_as_they_are(edges, nodes):
    assert "Ann [a]" in call("rank", edges, "--nodes", nodes).stdout


def test_rank_shows_names_of_graphml(tmp_path):
    graph = nx.Graph([("n0", "n1")])
    nx.set_node_attributes(graph, {"n0": "Ann", "n1": "Bob"}, "name")
    nx.write_graphml(graph, tmp_path / "g.graphml")
    top = json.loads(call("rank", tmp_path / "g.graphml", "--json").stdout)["top"]
    assert {row["id"]: row["name"] for row in top} == {"n0": "Ann", "n1": "Bob"}


def test_rank_of_the_embedded_graph_shows_ids_and_classes():
    top = json.loads(call("rank", "digits", "--top", 1, "--json").stdout)["top"]
    digits = autogm.load_graph("digits")
    (row,) = top
    assert row["class"] == digits.classes[digits.labels[row["id"]]]


def test_json_is_one_object_and_nothing_else(edges):
    result = call("rank", edges, "--json")
    assert json.loads(result.stdout)["algorithm"] == "pagerank"
    assert result.stderr == ""


def test_datasets_lists_every_name():
    rows = json.loads(call("datasets", "--json").stdout)["datasets"]
    assert {row["name"]: row["at hand"] for row in rows}["digits"] == "embedded"
    assert {"cora", "physics"} <= {row["name"] for row in rows}


def test_version():
    assert call("--version").stdout == f"autogm {autogm.__version__}\n"


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["rank", "nowhere.csv"], "'nowhere.csv' is neither a file nor a named graph"),
        (["rank", "digit"], "did you mean 'digits'?"),
        (["rank", "digits", "--algorithm", "ppr"], "ppr starts from seeds, but none are given"),
        (["rank", "digits", "--seeds", "1"], "pagerank has no seeds"),
        (["rank", "digits", "--algorithm", "ppr", "--seeds", "x"], "integers like 0, 1, 2"),
        (["rank", "digits", "--algorithm", "ppr", "--seeds", "1797"], "1 is not: '1797'"),
        (["rank", "digits", "--algorithm", "ppr", "--seeds", "3=x"], "'x' is no number"),
        (["rank", "digits", "--algorithm", "ppr", "--seeds", ","], "at least one seed is needed"),
    ],
)
def test_bad_input_is_one_sentence(args, text, monkeypatch, capsys):
    assert text in fails(monkeypatch, capsys, *args)


def test_an_unknown_algorithm_lists_the_choices(monkeypatch, capsys):
    error = fails(monkeypatch, capsys, "rank", "digits", "--algorithm", "hits")
    assert "pagerank" in error


@pytest.mark.parametrize("at", [1, 2, 3])
def test_debug_shows_the_traceback(monkeypatch, at):
    arguments = ["autogm", "rank", "nowhere.csv"]
    monkeypatch.setattr(sys, "argv", [*arguments[:at], "--debug", *arguments[at:]])
    with pytest.raises(autogm.InputError):
        run()


def test_the_module_runs_as_the_command():
    command = [sys.executable, "-m", "autogm", "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_ranking_needs_no_features(edges, tmp_path):
    nodes = tmp_path / "nodes.csv"
    nodes.write_text("id,age\nann,31\nbob,\ncid,x\ndee,4\n")
    assert call("rank", edges, "--nodes", nodes).exit_code == 0


def test_rank_shows_ids_and_classes_as_they_are(tmp_path):
    long = "https://example.org/" + "very-" * 30 + "long"
    (tmp_path / "edges.csv").write_text(f"source,target\n:heart:,[b]\n{long},[b]\n")
    (tmp_path / "nodes.csv").write_text(f"id,kind\n:heart:,x\n[b],y\n{long},x\n")
    printed = call("rank", tmp_path, "--label", "kind").stdout
    cells = [line.split("│")[2].strip() for line in printed.splitlines() if "│" in line]
    assert (":heart:" in cells, "[b]" in cells, long in "".join(cells)) == (True, True, True)


def test_columns_of_edges_may_be_chosen(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("date,customer,product,amount\n2020-01-01,a,b,2\n2020-01-02,c,b,1\n")
    options = ["--source", "customer", "--target", "product", "--weight", "amount", "--json"]
    top = json.loads(call("rank", path, *options).stdout)["top"]
    assert {row["id"] for row in top} == {"a", "b", "c"}


def test_weights_may_be_left_out(tmp_path, monkeypatch, capsys):
    path = tmp_path / "e.csv"
    path.write_text("source,target,weight\na,b,-2\nb,c,1\n")
    assert "--unweighted" in fails(monkeypatch, capsys, "rank", path)
    top = json.loads(call("rank", path, "--unweighted", "--json").stdout)["top"]
    assert top[0]["id"] == "b"


def test_weights_are_not_both_read_and_left_out(edges, monkeypatch, capsys):
    args = ["rank", edges, "--weight", "to", "--unweighted"]
    assert "give one of them" in fails(monkeypatch, capsys, *args)


def test_a_seed_may_hold_a_comma_or_an_equals_sign(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text('source,target\n"e,f",c=d\ng,c=d\n')
    result = call("rank", path, "--algorithm", "ppr", "--seeds", '"e,f",c=d,g=2', "--json")
    assert len(json.loads(result.stdout)["top"]) == 3


@pytest.mark.parametrize("algorithm", ["ppr", "pixie"])
def test_a_seed_that_stands_twice_counts_twice(edges, algorithm):
    options = ["--algorithm", algorithm, "--seeds", "ann,bob,ann,bob=3", "--json"]
    top = json.loads(call("rank", edges, *options).stdout)["top"]
    graph = autogm.load_graph(edges)
    scores = getattr(autogm, algorithm)(graph, ["ann", "ann", "bob", "bob", "bob", "bob"])
    expected = dict(zip(graph.ids.tolist(), scores.tolist(), strict=True))
    assert {row["id"]: row["score"] for row in top} == pytest.approx(expected)


def test_a_node_table_beside_a_named_graph_is_what_is_refused(nodes, monkeypatch, capsys):
    error = fails(monkeypatch, capsys, "rank", "digits", "--nodes", nodes)
    assert "a named graph takes no 'nodes', and 'digits' is one" in error


def test_a_named_graph_is_unweighted_as_it_is():
    assert call("rank", "digits", "--unweighted", "--top", 1).exit_code == 0


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_dates_may_be_classes(edges, tmp_path, more):
    nodes = tmp_path / "nodes.csv"
    nodes.write_text("id,day\nann,2020-01-02\nbob,2021-03-04\ncid,\ndee,2020-01-02\n")
    result = call("rank", edges, "--nodes", nodes, "--label", "day", *more)
    assert result.exit_code == 0
    assert "2021-03-04" in result.stdout


def test_a_file_that_cannot_be_read_is_one_sentence(edges, monkeypatch, capsys):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied", str(edges))

    monkeypatch.setattr(autogm, "load_graph", refuse)
    assert "Permission denied" in fails(monkeypatch, capsys, "rank", edges)


SEARCH = ("search", "digits", "--trials", 2, "--runs", 1)


@pytest.fixture(scope="module")
def team(tmp_path_factory):
    """Two groups that know each other, as tables: the README's own command."""
    folder = tmp_path_factory.mktemp("team")
    follows = ["from,to"] + [f"p{i},p{(i + step) % 60}" for i in range(60) for step in (2, 4, 6)]
    people = ["id,height,team"]
    people += [
        f"p{i},{i % 2 + i / 100},{('red', 'blue')[i % 2] if i % 5 else ''}" for i in range(60)
    ]
    (folder / "follows.csv").write_text("\n".join(follows))
    (folder / "people.csv").write_text("\n".join(people))
    return folder


def test_search_on_tables_leaves_a_model_that_answers(team, tmp_path):
    tables = (team / "follows.csv", "--nodes", team / "people.csv", "--label", "team")
    out = tmp_path / "run"
    options = ("--max-time", "1s", "--trials", 3, "--runs", 2, "--out", out)
    result = call("search", *tables, *options, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["met"]
    assert "no splits are given: 60% of the labelled nodes train" in result.stderr
    graph = autogm.load_graph(tables[0], nodes=tables[2], label="team")
    assert set(autogm.Predictor.load(out / "model").predict(graph)) <= {"red", "blue"}


def test_search_tells_of_every_trial_and_of_the_choice():
    result = call(*SEARCH, "--max-time", "1s")
    assert [line[:2] for line in result.stderr.splitlines()] == ["#0", "#1"]
    assert "the budget holds: at most 1 s (2 points were tried)" in result.stdout
    assert "chosen" in result.stdout


def test_search_says_by_its_exit_code_that_nothing_holds_the_budget():
    result = call(*SEARCH, "--max-time", "1ns", "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 3
    assert (found["met"], found["algorithm"]) == (False, None)
    assert "the fastest takes" in found["reason"]


def test_search_goes_on_where_it_stopped(tmp_path):
    out = ("--max-time", "1s", "--out", tmp_path / "run")
    call(*SEARCH, *out)
    again = call(*SEARCH, *out, "--trials", 3, "--resume", "--json")
    assert [trial["number"] for trial in json.loads(again.stdout)["trials"]] == [0, 1, 2]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--max-time", "60"], "did you mean '60ms'"),
        (["--max-time", "4 hours"], "has the unit 'hours', which is not one of ns, us"),
        (["--max-time", "4ms", "--min-accuracy", "0.8"], "got both"),
        (["--min-accuracy", "80"], "did you mean 0.8"),
        (["--trials", "0"], "trials must be a whole number of at least 1, but got 0"),
        (["--timeout", "soon"], "timeout must be a time such as '4ms', but got 'soon'"),
        (["--resume"], "add --out or --storage"),
        (["--out", __file__], "--out must be a folder, but"),
    ],
)
def test_search_refuses(monkeypatch, capsys, options, text):
    assert text in fails(monkeypatch, capsys, "search", "digits", *options)
