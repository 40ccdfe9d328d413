import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from autogm import InputError, MissingExtra, load_graph
from autogm.graph import DATASETS, find_raw
from autogm.graph.datasets import cache_folder

PAPER = [name for name, dataset in DATASETS.items() if dataset.files]
PLANETOID = ["cora", "citeseer", "pubmed"]
CITATIONS = [*PLANETOID, "citeseer-paper"]
OTHERS = ["computers", "photo", "cs", "physics"]
LARGEST = {
    "cora": (2485, 5069),
    "citeseer": (2120, 3679),
    "citeseer-paper": (2110, 3668),
    "pubmed": (19717, 44324),
    "computers": (13381, 245778),
    "photo": (7487, 119043),
    "cs": (18333, 81894),
    "physics": (34493, 247962),
}


@pytest.fixture(scope="module")
def load(data_folder):
    """A named graph from the raw files."""
    return lambda name, **options: load_graph(name, root=data_folder, **options)


@pytest.fixture
def new_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("AUTOGM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize("name", PAPER)
def test_whole_graphs_have_their_published_counts(load, name):
    graph, dataset = load(name), DATASETS[name]
    found = (graph.num_nodes, graph.num_edges, graph.num_features, len(graph.classes))
    assert found == (dataset.nodes, dataset.edges, dataset.features, dataset.classes)


@pytest.mark.parametrize("name", LARGEST)
def test_largest_components_have_the_counts_of_the_paper(load, name):
    graph = load(name, largest_component=True, split="none")
    assert (graph.num_nodes, graph.num_edges) == LARGEST[name]


@pytest.mark.parametrize("name", PAPER)
def test_features_stay_sparse(load, name):
    assert isinstance(load(name).features, sparse.csr_array)


@pytest.mark.parametrize("name", PAPER)
def test_named_graphs_are_undirected_and_binary(load, name):
    graph = load(name)
    assert (graph.directed, graph.weighted) == (False, False)


@pytest.mark.parametrize("name", PAPER)
def test_every_class_is_seen(load, name):
    graph = load(name)
    assert np.unique(graph.labels[graph.labels >= 0]).tolist() == list(graph.classes)


@pytest.mark.parametrize("name", PLANETOID)
def test_the_public_split_has_twenty_a_class(load, name):
    graph = load(name)
    assert np.bincount(graph.labels[graph.splits.train]).tolist() == [20] * len(graph.classes)


@pytest.mark.parametrize("name", PLANETOID)
def test_the_public_split_selects_on_500_and_judges_on_1000(load, name):
    splits = load(name, split="public").splits
    assert (len(splits.val), len(splits.test)) == (500, 1000)


@pytest.mark.parametrize("name", CITATIONS)
def test_the_paper_splits_citations_by_number(load, name):
    graph = load(name, split="paper", largest_component=True)
    per_class = np.bincount(graph.labels[graph.splits.train]).tolist()
    expected = ([20] * len(graph.classes), 500, 1000)
    assert (per_class, len(graph.splits.val), len(graph.splits.test)) == expected


@pytest.mark.parametrize("name", OTHERS)
def test_the_paper_splits_the_others_by_share(load, name):
    graph = load(name)
    shares = np.array([len(part) for part in graph.splits]) / graph.num_nodes
    np.testing.assert_allclose(shares, [0.03, 0.10, 0.87], atol=1 / graph.num_nodes)


@pytest.mark.parametrize("name", OTHERS)
def test_every_class_is_trained_on_in_its_share(load, name):
    graph = load(name)
    trained = np.bincount(graph.labels[graph.splits.train])
    np.testing.assert_allclose(trained, 0.03 * np.bincount(graph.labels), atol=1.5)


def test_the_seed_chooses_among_the_splits_of_the_paper(load):
    here, there, again = (load("cora", split="paper", seed=seed).splits for seed in (0, 1, 0))
    found = (
        here.train.tolist() == again.train.tolist(),
        here.train.tolist() == there.train.tolist(),
    )
    assert found == (True, False)


def test_a_graph_may_come_without_splits(load):
    assert load("cora", split="none").splits is None


@pytest.mark.parametrize("name", CITATIONS)
def test_citations_are_row_normalized(load, name):
    sums = load(name).features.sum(axis=1)
    np.testing.assert_allclose(sums[sums != 0], 1, rtol=1e-5)


@pytest.mark.parametrize("name", ["cora", "citeseer", "citeseer-paper", *OTHERS])
def test_words_are_there_or_not(load, name):
    assert np.unique(load(name, row_normalize=False).features.data).tolist() == [1]


def test_the_others_may_be_row_normalized(load):
    sums = load("photo", row_normalize=True).features.sum(axis=1)
    np.testing.assert_allclose(sums[sums != 0], 1, rtol=1e-5)


def test_fingerprints_differ_between_graphs(load):
    assert len({load(name).fingerprint for name in PAPER}) == len(PAPER)


def copy_of(folder, source, name):
    """Raw files that a test may change."""
    dataset = DATASETS[name]
    raw = shutil.copytree(source / dataset.folder / "raw", folder / dataset.folder / "raw")
    for path in (raw.parent, raw, *raw.iterdir()):
        path.chmod(0o755)
    return raw


def pyg_data(kind, folder, name):
    datasets = pytest.importorskip("torch_geometric.datasets")
    return getattr(datasets, kind)(str(folder), name)[0]


@pytest.fixture(
    scope="module",
    params=[
        ("cora", "Planetoid", "Cora"),
        ("citeseer", "Planetoid", "CiteSeer"),
        ("photo", "Amazon", "Photo"),
        pytest.param(("cs", "Coauthor", "CS"), marks=pytest.mark.slow),
    ],
    ids=lambda param: param[0],
)
def both(request, load, data_folder, tmp_path_factory):
    """A graph as we read it and as torch_geometric reads the same raw files."""
    name, kind, folder = request.param
    base = tmp_path_factory.mktemp(name)
    copy_of(base, data_folder, name)
    yield load(name, row_normalize=False), pyg_data(kind, base, folder)
    shutil.rmtree(base)


def test_edges_equal_those_of_pyg(both):
    graph, data = both
    source, target = data.edge_index.numpy()
    other = source != target
    keys = np.unique(target[other] * graph.num_nodes + source[other])
    ours = graph.rows.row_of_entry.astype(np.int64) * graph.num_nodes + graph.rows.indices
    np.testing.assert_array_equal(ours, keys)


def test_features_equal_those_of_pyg(both):
    graph, data = both
    assert (graph.features != sparse.csr_array(data.x.numpy())).nnz == 0


def test_labels_equal_those_of_pyg_where_there_are_any(both):
    graph, data = both
    labelled = graph.labels >= 0
    np.testing.assert_array_equal(graph.labels[labelled], data.y.numpy()[labelled])


def test_only_the_gaps_of_citeseer_have_no_label(both):
    graph, _ = both
    assert np.count_nonzero(graph.labels < 0) == (15 if graph.name == "citeseer" else 0)


@pytest.mark.parametrize("both", [("cora", "Planetoid", "Cora")], indirect=True, ids=["cora"])
@pytest.mark.parametrize("part", ["train", "val", "test"])
def test_the_public_split_equals_that_of_pyg(both, part):
    graph, data = both
    mask = data[f"{part}_mask"].numpy()
    np.testing.assert_array_equal(getattr(graph.splits, part), np.flatnonzero(mask))


def test_the_second_read_does_not_parse(load, new_cache, monkeypatch):
    first = load("cora")
    monkeypatch.setattr("autogm.graph.datasets._parse", None)
    assert load("cora").fingerprint == first.fingerprint


@pytest.mark.parametrize("name", ["cora", "photo"])
def test_the_second_read_equals_the_first(load, new_cache, name):
    first, second = load(name), load(name)
    assert all(
        repr(getattr(first, field)) == repr(getattr(second, field))
        for field in ("fingerprint", "labels_fingerprint", "splits", "classes", "name", "ids")
    )


FRESH = """
import json, sys
from autogm import load_graph
graph = load_graph(sys.argv[1])
heavy = {"torch", "torch_geometric", "pandas", "networkx", "sklearn", "pyarrow"} & set(sys.modules)
print(json.dumps([graph.fingerprint, sorted(heavy)]))
"""


@pytest.mark.parametrize("name", ["cora", "photo"])
def test_the_second_read_imports_neither_torch_nor_its_kin(load, data_folder, name):
    expected = load(name).fingerprint
    fresh = subprocess.run(
        [sys.executable, "-c", FRESH, name],
        env={**os.environ, "AUTOGM_DATA": str(data_folder)},
        capture_output=True,
        check=True,
    )
    assert json.loads(fresh.stdout) == [expected, []]


def test_other_raw_files_are_read_anew(data_folder, tmp_path, new_cache):
    raw = copy_of(tmp_path, data_folder, "cora")
    load_graph("cora", root=tmp_path)
    index = (raw / "ind.cora.test.index").read_text().split()
    (raw / "ind.cora.test.index").write_text("\n".join(index[::-1]))
    reversed_labels = load_graph("cora", root=tmp_path).labels_fingerprint
    assert reversed_labels != load_graph("cora", root=data_folder).labels_fingerprint


def test_a_cache_that_cannot_be_written_only_costs_time(load, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("AUTOGM_CACHE", str(tmp_path / "file"))
    assert load("cora").num_nodes == 2708


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 half"])
def test_a_cache_that_cannot_be_read_only_costs_time(load, new_cache, content):
    load("cora")
    for path in new_cache.iterdir():
        path.write_bytes(content)
    assert load("cora").num_nodes == 2708


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 half", b"hello"])
def test_a_broken_raw_file_is_named(data_folder, tmp_path, content):
    raw = copy_of(tmp_path, data_folder, "photo")
    (raw / "amazon_electronics_photo.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"amazon_electronics_photo\.npz"):
        load_graph("photo", root=tmp_path)


def test_raw_files_are_found_in_the_environment(data_folder, monkeypatch):
    monkeypatch.setenv("AUTOGM_DATA", str(data_folder))
    assert find_raw(DATASETS["cora"]) == data_folder / "Cora" / "raw"


def test_raw_files_are_found_in_the_cache(new_cache, monkeypatch):
    monkeypatch.delenv("AUTOGM_DATA", raising=False)
    raw = new_cache / "raw" / "CiteSeer-paper" / "raw"
    raw.mkdir(parents=True)
    (raw / "citeseer.npz").touch()
    assert find_raw(DATASETS["citeseer-paper"]) == raw


def test_a_root_is_the_only_place(data_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("AUTOGM_DATA", str(data_folder))
    assert find_raw(DATASETS["cora"], tmp_path) is None


def test_half_of_the_raw_files_are_not_enough(tmp_path):
    (tmp_path / "Cora" / "raw").mkdir(parents=True)
    (tmp_path / "Cora" / "raw" / "ind.cora.x").touch()
    assert find_raw(DATASETS["cora"], tmp_path) is None


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"AUTOGM_CACHE": "here", "XDG_CACHE_HOME": "there"}, "here"),
        ({"XDG_CACHE_HOME": "there"}, os.path.join("there", "autogm")),
        ({}, os.path.expanduser(os.path.join("~", ".cache", "autogm"))),
    ],
)
def test_the_cache_is_where_the_user_says(monkeypatch, variables, expected):
    for name in ("AUTOGM_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert str(cache_folder()) == expected


@pytest.mark.parametrize("name", ["cora", "photo", "cs"])
def test_a_download_says_what_it_needs(tmp_path, without, name):
    without("torch_geometric")
    with pytest.raises(
        MissingExtra, match=rf"downloading '{name}' .* torch_geometric.* 'autogm\[pyg\]'"
    ):
        load_graph(name, root=tmp_path)


def test_what_cannot_be_downloaded_says_where_to_put_it(tmp_path):
    with pytest.raises(
        InputError, match=r"'citeseer-paper' cannot be .* put citeseer\.npz into .*"
    ):
        load_graph("citeseer-paper", root=tmp_path)


def fake_fetch(monkeypatch, contents):
    """Let torch_geometric's fetch write these files; the addresses it was asked for."""
    datasets = pytest.importorskip("torch_geometric.data")
    asked = []

    def fetch(url, folder, log=True):
        asked.append(url)
        (Path(folder) / url.rpartition("/")[2]).write_bytes(contents(url))

    monkeypatch.setattr(datasets, "download_url", fetch)
    return asked


def test_a_download_is_read_by_our_own_reader(data_folder, tmp_path, monkeypatch):
    raw = data_folder / "Cora" / "raw"
    asked = fake_fetch(monkeypatch, lambda url: (raw / url.rpartition("/")[2]).read_bytes())
    graph = load_graph("cora", root=tmp_path)
    assert graph.fingerprint == load_graph("cora", root=data_folder).fingerprint
    assert asked[0] == "https://github.com/kimiyoung/planetoid/raw/master/data/ind.cora.x"
    assert [path.name for path in (tmp_path / "Cora").iterdir()] == ["raw"]
    assert {path.name for path in (tmp_path / "Cora" / "raw").iterdir()} == set(
        DATASETS["cora"].files
    )


class Foreign:
    """Unpickles by making a folder."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def test_a_foreign_pickle_in_a_download_is_refused(data_folder, tmp_path, monkeypatch):
    raw, mark = data_folder / "Cora" / "raw", tmp_path / "mark"
    foreign = pickle.dumps(Foreign(mark))
    fake_fetch(
        monkeypatch,
        lambda url: foreign if url.endswith(".graph") else (raw / url.split("/")[-1]).read_bytes(),
    )
    with pytest.raises(InputError, match=r"ind\.cora\.graph is not .* was not executed"):
        load_graph("cora", root=tmp_path)
    assert not mark.exists()


def test_half_a_download_leaves_nothing(tmp_path, monkeypatch):
    def contents(url):
        if url.endswith(".allx"):
            raise OSError("the line is dead")
        return b"x"

    fake_fetch(monkeypatch, contents)
    with pytest.raises(InputError, match=r"'cora' could not be downloaded \(OSError\); put "):
        load_graph("cora", root=tmp_path)
    assert list((tmp_path / "Cora" / "raw").iterdir()) == []


@pytest.mark.parametrize("name", ["computers", "cs"])
def test_the_addresses_of_other_graphs(name, tmp_path, monkeypatch):
    asked = fake_fetch(monkeypatch, lambda url: b"no archive")
    with pytest.raises(InputError, match=r"\.npz is not an \.npz file"):
        load_graph(name, root=tmp_path)
    folder = "https://github.com/shchur/gnn-benchmark/raw/master/data/npz"
    assert asked == [f"{folder}/{DATASETS[name].files[0]}"]


def test_columns_are_not_for_named_graphs():
    with pytest.raises(InputError, match="a named graph takes no 'label', and 'cora' is one"):
        load_graph("cora", label="topic")


def test_an_unknown_split_lists_the_choices(load):
    with pytest.raises(InputError, match="'public', 'paper' or 'none', but got 'privat'"):
        load("cora", split="privat")


def test_only_planetoid_has_a_public_split(load):
    with pytest.raises(InputError, match="'photo' has none; use split='paper'"):
        load("photo", split="public")
