import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from autogm import Algorithm, InputError, load_graph
from autogm.train import Reason, TrainSettings, train, train_runs
from tests.train.tasks import planted

POINTS = [
    Algorithm.gcn(d=8),
    Algorithm.graphsage(d=8, w=3),
    Algorithm.sgcn(d=8),
    Algorithm(d=1, k=4, l=False, a="NA"),
    Algorithm(k=0),
]
SHORT = TrainSettings(epochs=12)


def flat(result):
    weights = result.weights
    return np.concatenate([part.ravel() for part in (*weights.layers, *weights[1:])])


@pytest.mark.parametrize("algorithm", POINTS, ids=str)
def test_the_same_seed_gives_the_same_bits(algorithm):
    graph = planted()
    one, two = (train(graph, algorithm, SHORT, seed=3) for _ in range(2))
    np.testing.assert_array_equal(flat(one), flat(two))
    assert not np.array_equal(flat(one), flat(train(graph, algorithm, SHORT, seed=4)))


@pytest.mark.parametrize("algorithm", POINTS, ids=str)
def test_runs_side_by_side_are_the_runs_alone(algorithm):
    graph = planted()
    together = train_runs(graph, algorithm, SHORT, runs=3, seed=5)
    for seed, result in enumerate(together, start=5):
        alone = train(graph, algorithm, SHORT, seed=seed)
        np.testing.assert_array_equal(flat(result), flat(alone))
        assert (result.seed, result.validation_score) == (seed, alone.validation_score)


def test_threads_do_not_change_a_bit():
    graph = planted()
    one, two = (
        train_runs(graph, POINTS[1], TrainSettings(epochs=12, threads=t), runs=4) for t in (1, 2)
    )
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(flat(a), flat(b))


FRESH = """
from autogm.train import TrainSettings, train
from tests.train.test_loop import POINTS, flat
from tests.train.tasks import planted
import hashlib
print(hashlib.sha256(flat(train(planted(), POINTS[1], TrainSettings(epochs=12)))).hexdigest())
"""


def test_a_fresh_process_gives_the_same_bits():
    digests = {
        subprocess.run(
            [sys.executable, "-c", FRESH], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    }
    assert len(digests) == 1


@pytest.mark.parametrize("algorithm", POINTS, ids=str)
def test_the_best_weights_by_validation_loss_are_kept(algorithm):
    result = train(planted(), algorithm, TrainSettings(epochs=40, patience=40))
    assert result.epochs == len(result.validation_losses) == len(result.train_losses) == 40
    assert result.best_epoch == 1 + result.validation_losses.argmin()
    assert result.reason is Reason.epochs
    # Fewer epochs that still hold the best one end with the same weights.
    until = TrainSettings(epochs=result.best_epoch)
    np.testing.assert_array_equal(flat(result), flat(train(planted(), algorithm, until)))


def test_patience_ends_a_run():
    result = train(planted(), Algorithm.gcn(), TrainSettings(patience=3, learning_rate=0.3))
    assert result.reason is Reason.patience
    assert result.epochs == result.best_epoch + 3


@pytest.mark.parametrize("algorithm", POINTS[:3], ids=str)
def test_a_deadline_that_has_passed_ends_it_before_it_starts(algorithm):
    result = train(planted(), algorithm, deadline=time.monotonic() - 1)
    assert (result.reason, result.epochs, result.best_epoch) == (Reason.deadline, 0, 0)
    assert np.isfinite(flat(result)).all()


@pytest.mark.parametrize("algorithm", POINTS[:3], ids=str)
def test_a_cancelled_run_ends_within_the_epoch(algorithm):
    cancel = threading.Event()

    def progress(epoch):
        if epoch.number == 5:
            cancel.set()

    result = train(planted(), algorithm, cancel=cancel, progress=progress)
    assert (result.reason, result.epochs) == (Reason.cancelled, 5)


def test_progress_hears_every_epoch_of_every_run():
    heard = []
    results = train_runs(planted(), POINTS[0], SHORT, runs=2, progress=heard.append)
    for result in results:
        own = sorted(epoch for epoch in heard if epoch.seed == result.seed)
        assert [epoch.number for epoch in own] == list(range(1, 13))
        np.testing.assert_array_equal([e.train_loss for e in own], result.train_losses)
        np.testing.assert_array_equal([e.validation_loss for e in own], result.validation_losses)


def test_progress_does_not_change_a_bit():
    heard = train(planted(), POINTS[2], SHORT, progress=lambda epoch: None)
    np.testing.assert_array_equal(flat(heard), flat(train(planted(), POINTS[2], SHORT)))


@pytest.mark.parametrize("a", ["SN", "NN"])
@pytest.mark.parametrize("nonlinear", [True, False])
def test_a_run_that_diverges_is_a_result(a, nonlinear):
    result = train(planted(degree=40), Algorithm(d=8, k=30, l=nonlinear, a=a))
    assert result.reason is Reason.diverged
    assert 0 <= result.validation_score <= 1
    assert np.isfinite(flat(result)).all()


@pytest.mark.parametrize("algorithm", POINTS, ids=str)
def test_mini_batches_learn_too(algorithm):
    graph = planted()
    whole = train(graph, algorithm, TrainSettings(epochs=60))
    parts = train(graph, algorithm, TrainSettings(epochs=60, memory=60_000))
    assert parts.validation_score > whole.validation_score - 0.1
    again = train_runs(graph, algorithm, TrainSettings(epochs=60, memory=60_000), runs=2)[0]
    np.testing.assert_array_equal(flat(parts), flat(again))


def test_mini_batches_are_many_steps_an_epoch():
    graph = planted()
    whole, parts = (
        train(graph, POINTS[0], TrainSettings(epochs=1, dropout=0, memory=memory))
        for memory in (2**30, 60_000)
    )
    assert parts.train_losses[0] < whole.train_losses[0]


def test_a_learning_run_scores_on_the_test_split():
    result = train(load_graph("digits"), Algorithm.gcn())
    assert result.test_score() > 0.88
    assert result.test_score() == result.test_score()


def test_points_without_runs_or_algorithms():
    with pytest.raises(InputError, match="runs must be at least 1, but got 0"):
        train_runs(planted(), POINTS[0], runs=0)
    with pytest.raises(InputError, match=r"an Algorithm is needed, but got 'gcn'; try Algorithm\."):
        train(planted(), "gcn")


def test_cuda_where_there_is_none():
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a cuda device here")
    with pytest.raises(InputError, match="device 'cuda' is not available on this machine; use 'c"):
        train(planted(), POINTS[0], TrainSettings(device="cuda"))
