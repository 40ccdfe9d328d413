import dataclasses
import json
import os

import numpy as np
import pytest

from autogm import Algorithm, InputError
from autogm.measure import Clock
from autogm.predictor import Predictor
from autogm.predictor.files import sealed
from tests.predictor.test_predictor import POINTS, planted, with_labels


@pytest.fixture
def model(tmp_path):
    graph = planted()
    folder = tmp_path / "model"
    p = Predictor.untrained(graph, Algorithm.graphsage(d=8, w=3), sample_seed=5, oversample=True)
    p.measured(graph, clock=Clock(least=1, most=1)).save(folder)
    return folder


def rewrite(folder, **fields):
    """As somebody would who knows how hashes are made."""
    path = folder / "model.json"
    known = json.loads(path.read_text()) | fields
    hashes = {name: digest for name, digest in known["hashes"].items() if name != "model.json"}
    path.write_text(json.dumps(sealed(known, hashes)))


@pytest.mark.parametrize("algorithm", POINTS, ids=str)
def test_a_model_comes_back_as_it_was(algorithm, tmp_path):
    graph = planted()
    p = Predictor.untrained(graph, algorithm, scope="batch", batch_size=7)
    p.measured(graph, clock=Clock(least=1, most=1)).save(tmp_path / "model")
    found = Predictor.load(tmp_path / "model")
    np.testing.assert_array_equal(found.predict_proba(graph), p.predict_proba(graph))
    assert (found.scope, found.batch_size, found.classes) == ("batch", 7, p.classes)
    assert found.algorithm == algorithm
    assert found.measurement.batch_size == 7


@pytest.mark.parametrize("kind", ["binary", "multilabel", "regression"])
def test_every_head_comes_back(kind, tmp_path):
    graph = with_labels(kind)
    p = Predictor.untrained(graph, Algorithm.gcn(d=8))
    p.save(tmp_path / "model")
    found = Predictor.load(tmp_path / "model")
    assert (found.head, found.classes) == (p.head, p.classes)
    np.testing.assert_array_equal(found.predict(graph), p.predict(graph))


def test_draws_come_back(model):
    found = Predictor.load(model)
    assert (found.sample_seed, found.oversample) == (5, True)


def test_saving_again_takes_the_old_ones_place(model):
    graph = planted()
    Predictor.untrained(graph, Algorithm.sgcn(d=8)).save(model)
    assert Predictor.load(model).algorithm == Algorithm.sgcn(d=8)
    assert sorted(path.name for path in model.parent.iterdir()) == ["model"]


def test_nothing_is_half_written(model, monkeypatch):
    before = {path.name: path.read_bytes() for path in model.iterdir()}

    def fails(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="the disk is full"):
        Predictor.untrained(planted(), Algorithm.sgcn(d=8)).save(model)
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before
    assert [path.name for path in model.parent.iterdir()] == ["model"]


def test_what_is_not_a_model_is_not_written_over(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="is there and is not a model; give a folder that is not"):
        Predictor.untrained(planted(), Algorithm.gcn()).save(tmp_path)
    assert (tmp_path / "thesis.txt").exists()


@pytest.mark.parametrize("name", ["model.json", "weights.safetensors"])
def test_a_missing_file(model, name):
    (model / name).unlink()
    with pytest.raises(InputError, match=f"has no {name}, so it is not a whole model; save it"):
        Predictor.load(model)


def test_no_folder(tmp_path):
    with pytest.raises(InputError, match="must be a model's folder, but there is none; check the"):
        Predictor.load(tmp_path / "nowhere")


@pytest.mark.parametrize("at", [0, 100, -1])
def test_a_changed_byte_of_the_weights(model, at):
    path = model / "weights.safetensors"
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match="is not what was saved: its hash differs from the one in"):
        Predictor.load(model)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"schema": 99}, "schema must be 1, the one this version reads, but is 99"),
        ({"schema": "1"}, 'schema must be of type int, but is "1"'),
        ({"algorithm": {"d": 8, "k": 2, "w": 3, "l": True, "a": "XX"}}, "algorithm cannot be read"),
        ({"algorithm": {"d": 10**9, "k": 3, "w": 3, "l": True, "a": "SS"}}, "asks for .* bytes of"),
        ({"algorithm": {"depth": 2}}, "algorithm cannot be read: .*depth"),
        ({"features": 10**12}, "bytes of weights, above any model"),
        ({"features": 19}, "must hold the shapes .* but holds"),
        ({"head": {"name": "heads", "outputs": 4}}, "head cannot be read: its name must be one of"),
        ({"head": {"name": "binary", "outputs": 4}}, "a binary head has one output"),
        ({"algorithm": {"d": 1, "k": 10**10, "w": 3, "l": True, "a": "SS"}}, "bytes of weights"),
        ({"classes": [1, 2]}, r"model\.json: classes must be 4 for a multiclass head, but are 2"),
        ({"scope": "qery"}, r"model\.json: scope must be one of graph"),
        (
            {"batch_size": 0},
            "batch_size must be a whole number of at least 1, but got 0",
        ),
        ({"sample_seed": True}, "sample_seed must be of type int, but is true"),
        ({"measurement": {"median": 1}}, "measurement cannot be read"),
        ({"readout": "sum"}, "readout must be 'last', but is \"sum\""),
    ],
)
def test_a_field_that_is_wrong_is_named(model, fields, message):
    rewrite(model, **fields)
    with pytest.raises(InputError, match=message):
        Predictor.load(model)


def test_a_changed_description(model):
    path = model / "model.json"
    path.write_text(path.read_text().replace('"sample_seed": 5', '"sample_seed": 4'))
    with pytest.raises(InputError, match=r"model\.json is not what was saved: its own hash diff"):
        Predictor.load(model)


def test_a_measurement_that_is_no_number(model):
    fields = json.loads((model / "model.json").read_text())["measurement"]
    rewrite(model, measurement=fields | {"median": "fast"})
    with pytest.raises(InputError, match="median must be a number of at least 0, but got 'fast'"):
        Predictor.load(model)


def test_another_programs_folder_is_not_written_over(model):
    (model / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="is there and is not a model"):
        Predictor.untrained(planted(), Algorithm.gcn(d=8)).save(model)
    assert (model / "thesis.txt").exists()


def test_weights_that_are_not_finite_are_no_model():
    p = Predictor.untrained(planted(), Algorithm.gcn(d=8))
    broken = p.weights._replace(bias=np.full(4, np.nan, np.float32))
    with pytest.raises(InputError, match="weights must be finite, but have NaN or infinity; train"):
        dataclasses.replace(p, weights=broken)


def test_a_field_that_is_missing_is_named(model):
    path = model / "model.json"
    known = json.loads(path.read_text())
    del known["head"]
    path.write_text(json.dumps(sealed(known, {"weights.safetensors": "…"})))
    with pytest.raises(InputError, match=r"model\.json has no field 'head'; save it again"):
        Predictor.load(model)


@pytest.mark.parametrize("text", ["{", "[]", "\x00"])
def test_a_description_that_is_none(model, text):
    (model / "model.json").write_text(text)
    with pytest.raises(InputError, match=r"model\.json (is not JSON|must hold one JSON object)"):
        Predictor.load(model)


def test_a_path_that_leads_out_of_the_folder(model, tmp_path):
    outside = tmp_path / "elsewhere"
    (model / "weights.safetensors").rename(outside)
    (model / "weights.safetensors").symlink_to(outside)
    with pytest.raises(InputError, match="leads out of the model's folder; nothing is read from"):
        Predictor.load(model)


def test_names_of_classes_that_json_does_not_know_are_kept_as_text(tmp_path):
    graph = planted()
    classes = tuple(np.datetime64(f"2026-0{i}-01") for i in range(1, 5))
    p = Predictor.untrained(dataclasses.replace(graph, classes=classes), Algorithm.gcn(d=8))
    p.save(tmp_path / "model")
    assert Predictor.load(tmp_path / "model").classes[0] == "2026-01-01"
