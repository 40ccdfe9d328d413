"""Training inside a stated memory."""

import dataclasses
import weakref

import numpy as np
import pytest
from scipy import sparse

from autogm import Algorithm, InputError
from autogm.train import TrainSettings, train, train_runs
from autogm.train import model as models
from autogm.train.batches import BatchMaker
from autogm.train.model import model
from autogm.train.task import Task
from tests.train.tasks import planted
from tests.train.test_loop import flat

# Shapes whose batches do not fit, and a memory that holds some of their nodes.
SHAPES = [
    (Algorithm.gcn(d=8), 250_000, "dense"),
    (Algorithm.graphsage(d=8, w=3), 120_000, "dense"),
    (Algorithm.graphsage(d=8, w=3), 120_000, "sparse"),
    (Algorithm(d=8, k=2, w=3, l=False, a="SA"), 60_000, "dense"),
    (Algorithm(d=8, k=2, w=3, l=False, a="SA"), 60_000, "sparse"),
    (Algorithm(k=0), 60_000, "dense"),
]


def graph_of(kind):
    graph = planted(num_nodes=900)
    if kind == "sparse":
        kept = np.random.default_rng(0).random(graph.features.shape) < 0.2
        graph = dataclasses.replace(graph, features=sparse.csr_array(graph.features * kept))
    return graph


@pytest.mark.parametrize(("algorithm", "memory", "kind"), SHAPES, ids=str)
def test_what_is_held_stays_within_the_memory(algorithm, memory, kind, monkeypatch):
    """All batches alive and all scratch, at every moment that a run works."""
    alive, scratch, peaks = {}, [], []
    real_batches, real_aligned = models.Batches.__iter__, models.aligned

    def batches(self):
        for batch in real_batches(self):
            alive[id(batch)] = batch.num_bytes
            yield batch
            if batch is not self.whole:
                del alive[id(batch)]

    def aligned(rows, width):
        memory = real_aligned(rows, width)
        scratch.append(weakref.ref(memory.base))
        pieces = [piece().nbytes for piece in scratch if piece() is not None]
        peaks.append(sum(alive.values()) + sum(pieces))
        return memory

    monkeypatch.setattr(models.Batches, "__iter__", batches)
    monkeypatch.setattr(models, "aligned", aligned)
    settings = TrainSettings(epochs=3, memory=memory, threads=4)
    train_runs(graph_of(kind), algorithm, settings, runs=4)
    # Pieces of scratch stay as large as they once had to be: half as much again is granted.
    assert 0 < max(peaks) <= 1.5 * memory


@pytest.mark.parametrize(("algorithm", "memory", "kind"), SHAPES, ids=str)
def test_every_batch_fits_half_of_the_memory(algorithm, memory, kind, monkeypatch):
    made = []

    def keeping(make):
        def make_and_keep(self, *args):
            batch = make(self, *args)
            if batch is not None:
                made.append(batch.num_bytes + 4 * self.scratch_size(batch))
            return batch

        return make_and_keep

    monkeypatch.setattr(BatchMaker, "of_field", keeping(BatchMaker.of_field))
    monkeypatch.setattr(BatchMaker, "of_rows", keeping(BatchMaker.of_rows))
    train(graph_of(kind), algorithm, TrainSettings(epochs=3, memory=memory)).test_score()
    assert len(made) > 6  # training goes in parts
    assert max(made) <= memory // 2


@pytest.mark.parametrize(("algorithm", "memory", "kind"), SHAPES, ids=str)
def test_mini_batches_learn_too(algorithm, memory, kind):
    graph = graph_of(kind)
    whole = train(graph, algorithm, TrainSettings(epochs=40))
    settings = TrainSettings(epochs=40, memory=memory)
    parts = train(graph, algorithm, settings)
    assert parts.validation_score > whole.validation_score - 0.1
    again = train_runs(graph, algorithm, dataclasses.replace(settings, threads=3), runs=2)[0]
    np.testing.assert_array_equal(flat(parts), flat(again))
    np.testing.assert_allclose(parts.validation_score, again.validation_score)


@pytest.mark.parametrize(("algorithm", "memory", "kind"), SHAPES, ids=str)
def test_parts_hold_every_node_once(algorithm, memory, kind):
    task = Task.of(graph_of(kind), TrainSettings(memory=memory))
    made = model(task, algorithm)
    for judged, batches in (
        (task.train, made.schedule.batches(0)),
        (task.train, made.schedule.batches(1)),
        (task.val, made.validation),
    ):
        parts = list(batches)
        nodes = np.concatenate([part.judged.nodes for part in parts])
        np.testing.assert_array_equal(np.sort(nodes), np.sort(judged.nodes))
        assert sum(part.share for part in parts) == pytest.approx(1, rel=1e-4)


def test_mini_batches_are_many_steps_an_epoch():
    algorithm, memory, kind = SHAPES[0]
    whole, parts = (
        train(graph_of(kind), algorithm, TrainSettings(epochs=1, dropout=0, memory=m))
        for m in (2**30, memory)
    )
    assert parts.train_losses[0] < whole.train_losses[0]


def test_the_loss_of_parts_is_the_loss_of_all():
    algorithm, memory, kind = SHAPES[1]
    one, many = (
        model(Task.of(graph_of(kind), TrainSettings(memory=m)), algorithm) for m in (2**30, memory)
    )
    vector = one.layout.start(0)
    whole = one.loss(vector, one.validation.whole)
    assert many.validation.whole is None
    parts = sum(part.share * many.loss(vector, part) for part in many.validation)
    assert parts == pytest.approx(whole, rel=1e-5)


def test_a_part_that_turns_out_too_large_is_split():
    """Hubs last: parts sized by the first nodes would not fit."""
    maker = model(Task.of(planted(), TrainSettings()), Algorithm(k=0)).maker
    weight = np.array([1] * 12 + [5] * 4)
    made = maker.fitting(16, lambda some: some if weight[some].sum() <= 8 else None, size=8)
    parts = list(made)
    assert [index for part in parts for index in range(part.start, part.stop)] == list(range(16))
    assert parts[0] == slice(0, 8)
    assert parts[-1] == slice(15, 16)


@pytest.mark.parametrize("algorithm", [Algorithm.gcn(), Algorithm.sgcn(), Algorithm(k=0)], ids=str)
def test_a_memory_that_holds_no_node(algorithm):
    with pytest.raises(InputError, match=r"memory must hold twice .* but got 2000 bytes; raise it"):
        train(planted(), algorithm, TrainSettings(memory=2000))


def test_no_features_are_gathered_for_a_field_that_does_not_fit(monkeypatch):
    import autogm.train.batches as batches

    task = Task.of(graph_of("sparse"), TrainSettings(memory=100_000))
    made = model(task, SHAPES[0][0])
    monkeypatch.setattr(batches, "feature_rows", lambda *_, **__: pytest.fail("gathered"))
    assert made.maker.batch(task.train, 0) is None
