import json
import subprocess
import sys

import pytest

import autogm


def modules_after(statement):
    code = f"import json, sys; {statement}; print(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-c", code]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {name.partition(".")[0] for name in json.loads(output)}


def test_importing_autogm_loads_nothing_heavy():
    heavy = {"torch", "optuna", "numba", "scipy", "sklearn", "pyarrow", "networkx", "typer"}
    assert not modules_after("import autogm") & heavy


def test_reading_and_ranking_need_no_training_library():
    heavy = {"torch", "torch_geometric", "optuna", "networkx"}
    statement = "import autogm; autogm.pagerank(autogm.as_graph([(0, 1), (1, 2)]))"
    assert not modules_after(statement) & heavy


@pytest.mark.parametrize("name", autogm.__all__)
def test_every_public_name_is_there(name):
    assert getattr(autogm, name) is not None
    assert name in dir(autogm)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'autogm' has no attribute 'pagerunk'"):
        _ = autogm.pagerunk
