import json
import os

import numpy as np
import pytest
from scipy import sparse

from autogm import InputError, as_graph, load_graph
from autogm.graph import Splits, from_tables
from autogm.graph.archive import SCHEMA

EDGES = {"source": ["a", "b"], "target": ["b", "c"], "weight": [1.0, 2.0], "year": [1999, 2001]}
NODES = {
    "id": ["a", "b", "c"],
    "name": ["Ann", "Bob", "Cid"],
    "age": [31, 45, 28],
    "team": ["x", None, "y"],
    "part": ["train", "val", "test"],
}


def plain(**options):
    return as_graph([("a", "b"), ("b", "c")], **options)


GRAPHS = {
    "every field": lambda: from_tables(EDGES, NODES, time="year", label="team", split="part"),
    "edges only": plain,
    "undirected": lambda: plain(directed=False),
    "no edges": lambda: as_graph(np.empty((2, 0), int), num_nodes=3),
    "sparse features": lambda: plain(features=sparse.csr_array(np.eye(3, 5))),
    "many labels": lambda: plain(labels=np.array([[0, 1], [1, -1], [0, 0]])),
    "targets": lambda: plain(labels=[0.5, float("nan"), 2]),
    "integer classes": lambda: plain(labels=[10, 20, 10]),
    "dates": lambda: plain(labels=np.array(["2020-01-02", "NaT", "2021-01-01"], "datetime64[D]")),
    "truth values": lambda: plain(labels=[True, False, True]),
    "large integer ids": lambda: as_graph({"source": [2**62], "target": [-5]}),
    "splits": lambda: plain(splits=Splits.given([0], [1], [2], num_nodes=3)),
}


def there_and_back(graph, folder):
    graph.save(folder / "g.npz")
    return load_graph(folder / "g.npz")


def as_text(value):
    """Anything a graph holds, with its type, for comparison."""
    if sparse.issparse(value):
        value = (value.shape, value.data, value.indices, value.indptr)
    if isinstance(value, tuple):
        return tuple(map(as_text, value))
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, repr(value.tolist())
    return repr(value)


@pytest.mark.parametrize(
    "field",
    [
        "rows",
        "directed",
        "features",
        "feature_names",
        "labels",
        "classes",
        "ids",
        "names",
        "splits",
        "times",
        "edge_type",
    ],
)
@pytest.mark.parametrize("kind", GRAPHS)
def test_a_saved_graph_comes_back(tmp_path, kind, field):
    graph = GRAPHS[kind]()
    read = there_and_back(graph, tmp_path)
    assert as_text(getattr(read, field)) == as_text(getattr(graph, field))


@pytest.mark.parametrize("fingerprint", ["fingerprint", "labels_fingerprint"])
@pytest.mark.parametrize("kind", GRAPHS)
def test_a_saved_graph_has_the_same_fingerprint(tmp_path, kind, fingerprint):
    graph = GRAPHS[kind]()
    read = there_and_back(graph, tmp_path)
    assert getattr(read, fingerprint) == getattr(graph, fingerprint)


def test_a_saved_graph_takes_labels_when_read(tmp_path):
    plain().save(tmp_path / "g.npz")
    assert load_graph(tmp_path / "g.npz", labels={"a": 1, "b": 2}).labels.tolist() == [0, 1, -1]


@pytest.mark.parametrize("kind", GRAPHS)
def test_the_file_holds_no_objects(tmp_path, kind):
    GRAPHS[kind]().save(tmp_path / "g.npz")
    with np.load(tmp_path / "g.npz", allow_pickle=False) as arrays:
        assert all(arrays[key].dtype.kind != "O" for key in arrays.files)


def test_a_file_is_replaced(tmp_path):
    plain().save(tmp_path / "g.npz")
    assert there_and_back(plain(directed=False), tmp_path).directed is False


def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    plain().save(tmp_path / "g.npz")
    before = (tmp_path / "g.npz").read_bytes()

    def fail(file, **arrays):
        file.write(b"half")
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="no space left"):
        plain(directed=False).save(tmp_path / "g.npz")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"g.npz": before}


def test_a_saved_file_is_as_readable_as_any_other(tmp_path):
    plain().save(tmp_path / "g.npz")
    (tmp_path / "other").write_text("")
    modes = {oct(os.stat(path).st_mode) for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_another_schema_is_refused(tmp_path):
    record = json.dumps({"schema": SCHEMA + 1})
    np.savez(tmp_path / "g.npz", autogm=np.array(record))
    with pytest.raises(
        InputError, match=f"with schema {SCHEMA + 1}, but this version reads {SCHEMA}"
    ):
        load_graph(tmp_path / "g.npz")


@pytest.mark.parametrize("record", ["{half", "[]", "{}", json.dumps({"schema": SCHEMA})])
def test_a_broken_record_is_refused(tmp_path, record):
    np.savez(tmp_path / "g.npz", autogm=np.array(record))
    with pytest.raises(
        InputError, match=r"g\.npz is not a whole graph of AutoGM: .*; save it again"
    ):
        load_graph(tmp_path / "g.npz")
