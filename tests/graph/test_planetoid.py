import os
import pickle
import shutil

import numpy as np
import pytest

from autogm import InputError, load_graph
from autogm.graph.planetoid import file_names, read_planetoid


class Call:
    """Unpickles by calling a function."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


ATTACKS = {
    "os.system": lambda mark: Call(os.system, f"echo > {mark}"),
    "builtins.eval": lambda mark: Call(eval, f"open({str(mark)!r}, 'w').close()"),
    "builtins.exec": lambda mark: Call(exec, f"open({str(mark)!r}, 'w').close()"),
    "shutil.copy": lambda mark: Call(shutil.copy, __file__, str(mark)),
    "pathlib.Path.touch": lambda mark: Call(type(mark).touch, mark),
    "inside a list": lambda mark: [1, {"x": Call(os.mkdir, str(mark))}],
}


def pickled_by_python2(mark):
    return f"c__builtin__\neval\n(S\"open('{mark}', 'w').close()\"\ntR.".encode()


def write_parts(folder, content):
    folder.mkdir(parents=True, exist_ok=True)
    for name in file_names("cora"):
        (folder / name).write_bytes(content)
    (folder / "ind.cora.test.index").write_text("0\n1\n")


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_file_that_would_run_code_is_refused(tmp_path, attack, protocol):
    content = pickle.dumps(ATTACKS[attack](tmp_path / "mark"), protocol=protocol)
    write_parts(tmp_path, content)
    with pytest.raises(
        InputError, match=r"ind\.cora\.x is not .* was not executed: it names \w+\."
    ):
        read_planetoid(tmp_path, "cora")


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_of_a_refused_file_is_executed(tmp_path, attack, protocol):
    content = pickle.dumps(ATTACKS[attack](tmp_path / "mark"), protocol=protocol)
    write_parts(tmp_path / "raw", content)
    with pytest.raises(InputError):
        read_planetoid(tmp_path / "raw", "cora")
    assert not (tmp_path / "mark").exists()


def test_an_attack_in_the_words_of_python_2_is_refused(tmp_path):
    write_parts(tmp_path / "raw", pickled_by_python2(tmp_path / "mark"))
    with pytest.raises(InputError, match=r"was not executed: it names __builtin__\.eval"):
        read_planetoid(tmp_path / "raw", "cora")
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_attacks_are_real(tmp_path, attack):
    pickle.loads(pickle.dumps(ATTACKS[attack](tmp_path / "mark")))
    assert (tmp_path / "mark").exists()


def test_a_named_graph_with_a_foreign_file_is_refused(tmp_path):
    write_parts(tmp_path / "Cora" / "raw", pickle.dumps(ATTACKS["os.system"](tmp_path / "mark")))
    with pytest.raises(InputError, match=r"ind\.cora\.x is not a Planetoid file and was not exec"):
        load_graph("cora", root=tmp_path)


@pytest.mark.parametrize("content", [b"", b"hello", b"\x80\x02]q", bytes(range(256))])
def test_a_broken_file_is_named(tmp_path, content):
    write_parts(tmp_path, content)
    with pytest.raises(InputError, match=r"ind\.cora\.x is not a Planetoid file"):
        read_planetoid(tmp_path, "cora")


@pytest.mark.parametrize("content", [[1, 2], {"a": [1]}, None, 5])
def test_files_of_something_else_are_refused(tmp_path, content):
    write_parts(tmp_path, pickle.dumps(content, protocol=2))
    with pytest.raises(InputError, match=r"ind\.cora\.\w+ is not a Planetoid file"):
        read_planetoid(tmp_path, "cora")


def test_a_broken_list_of_test_nodes_is_named(data_folder, tmp_path):
    raw = shutil.copytree(data_folder / "Cora" / "raw", tmp_path / "raw")
    index = raw / "ind.cora.test.index"
    index.chmod(0o644)
    index.write_text("one\ntwo\n")
    with pytest.raises(InputError, match=r"ind\.cora\.test\.index"):
        read_planetoid(raw, "cora")


@pytest.fixture(scope="module")
def citeseer(data_folder):
    return read_planetoid(data_folder / "CiteSeer" / "raw", "citeseer")


def test_fifteen_nodes_of_citeseer_have_no_label(citeseer):
    assert np.count_nonzero(citeseer.labels == -1) == 15


def test_nodes_without_a_label_have_no_features(citeseer):
    assert citeseer.features[citeseer.labels == -1].nnz == 0


def test_no_node_without_a_label_is_in_a_split(citeseer):
    assert (citeseer.labels[np.concatenate(citeseer.splits)] >= 0).all()
