import pytest

from autogm import Algorithm, Predictor, load_graph
from autogm.errors import AutoGMError
from autogm.predictor.retime import retimed


@pytest.fixture
def saved(tmp_path):
    graph = load_graph("digits")
    model, file = tmp_path / "model", tmp_path / "graph.npz"
    Predictor.untrained(graph, Algorithm.sgcn(), scope="query").save(model)
    graph.save(file)
    return model, file


def test_another_process_times_the_same_model_on_the_same_graph(saved):
    model, file = saved
    found = retimed(model, file)
    assert (found.scope, found.fingerprint) == ("query", load_graph("digits").fingerprint)
    assert found.median > 0


def test_a_broken_model_is_told_of_in_one_sentence(saved):
    model, file = saved
    (model / "weights.safetensors").write_bytes(b"")
    with pytest.raises(AutoGMError, match=r"could not be timed again: .*weights\.safetensors"):
        retimed(model, file)


def test_patience_has_an_end(saved):
    with pytest.raises(AutoGMError, match="could not be timed again within 0 s"):
        retimed(*saved, timeout=0.01)
