import _thread
import dataclasses
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from autogm import Algorithm, InputError, load_graph
from autogm.message import kernel
from autogm.message.field import Aggregation
from autogm.train import Reason, TrainSettings, loop, train, train_runs
from autogm.train.batches import Schedule
from autogm.train.loop import _Run
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
def test_nothing_is_prepared_for_a_moment_that_has_passed(algorithm, monkeypatch):
    monkeypatch.setattr(Aggregation, "field", lambda *_, **__: pytest.fail("a field was made"))
    result = train(planted(), algorithm, deadline=time.monotonic() - 0.5)
    assert (result.reason, result.epochs, result.validation_score) == (Reason.deadline, 0, 0.0)


@pytest.mark.parametrize("algorithm", POINTS[:3], ids=str)
def test_a_deadline_while_running_ends_all_runs_equally_far(algorithm):
    settings = TrainSettings(epochs=10**6, patience=10**6, threads=2)
    heard = []

    def progress(epoch):
        heard.append(epoch.number)
        time.sleep(0.001)

    deadline = time.monotonic() + 0.5
    results = train_runs(
        planted(), algorithm, settings, runs=5, deadline=deadline, progress=progress
    )
    assert {result.reason for result in results} == {Reason.deadline}
    epochs = [result.epochs for result in results]
    assert max(epochs) - min(epochs) <= 1
    assert max(epochs) == max(heard) > 0


def test_without_progress_runs_are_as_far_as_a_moment_allows(monkeypatch):
    """No run is asked for more epochs at once than the others."""
    asked = []
    real = _Run.learn

    def learn(self, *batches, count):
        asked.append((self.seed, count))
        real(self, *batches, count=count)

    monkeypatch.setattr(_Run, "learn", learn)
    results = train_runs(planted(), POINTS[0], TrainSettings(epochs=300, patience=300), runs=3)
    assert {result.epochs for result in results} == {300}
    by_run = [[count for seed, count in asked if seed == run] for run in range(3)]
    assert by_run[0] == by_run[1] == by_run[2]
    assert max(by_run[0]) > 1


def test_no_draw_is_made_after_the_deadline(monkeypatch):
    draws, real = [], Schedule.batches

    def batches(self, epoch):
        draws.append(epoch)
        if epoch == 2:
            cancel.set()
        return real(self, epoch)

    monkeypatch.setattr(Schedule, "batches", batches)
    cancel = threading.Event()
    results = train_runs(planted(), POINTS[1], SHORT, runs=2, cancel=cancel)
    assert draws == [0, 1, 2]
    assert {result.reason for result in results} == {Reason.cancelled}
    assert len({result.epochs for result in results}) == 1


def test_cancel_is_seen_without_progress():
    cancel = threading.Event()
    settings = TrainSettings(epochs=10**6, patience=10**6)
    threading.Timer(0.3, cancel.set).start()
    result = train(planted(), POINTS[0], settings, cancel=cancel)
    assert result.reason is Reason.cancelled
    assert 0 < result.epochs < 10**6


@pytest.mark.parametrize("deadline", ["60s", float("nan")])
def test_a_deadline_that_is_no_moment(deadline):
    with pytest.raises(InputError, match=r"deadline must be a moment of time\.monotonic\(\), but"):
        train(planted(), POINTS[0], deadline=deadline)


def test_a_progress_that_raises_stops_all_runs():
    heard, raised = [], threading.Event()

    def progress(epoch):
        if raised.is_set():
            heard.append(epoch)
        if epoch.number == 3:
            raised.set()
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        train_runs(planted(), POINTS[0], runs=6, progress=progress)
    time.sleep(0.2)
    assert len(heard) <= 2


def test_ctrl_c_stops_all_runs():
    heard, once = [], threading.Lock()

    def progress(epoch):
        heard.append(epoch.number)
        # A second signal would come after the first was dealt with.
        if epoch.number == 3 and once.acquire(blocking=False):
            _thread.interrupt_main()

    with pytest.raises(KeyboardInterrupt):
        train_runs(planted(), POINTS[0], runs=6, progress=progress)
    time.sleep(0.2)
    stopped = len(heard)
    assert max(heard) <= 4
    time.sleep(0.2)
    assert len(heard) == stopped


CROWD = """
import threading
from autogm import Algorithm
from autogm.train import TrainSettings, train_runs
from tests.train.tasks import planted
graph = planted(num_nodes=2000)
def search():
    for memory in (2**30, 1_500_000):
        settings = TrainSettings(epochs=3, threads=4, memory=memory)
        train_runs(graph, Algorithm.graphsage(d=8, w=5), settings, runs=4)
users = [threading.Thread(target=search) for _ in range(4)]
for user in users: user.start()
for user in users: user.join()
print("all trained")
"""


def test_many_users_train_at_once_with_more_threads_than_cores():
    done = subprocess.run(
        [sys.executable, "-c", CROWD], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.stdout == "all trained\n", done.stderr


class Clock:
    """Stands still but for what it is told."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now

    monotonic = perf_counter


def test_seconds_hold_each_runs_share_of_what_is_drawn(monkeypatch):
    clock, real = Clock(), Schedule.batches

    def batches(self, epoch):
        clock.now += 6
        return real(self, epoch)

    monkeypatch.setattr(Schedule, "batches", batches)
    monkeypatch.setattr(loop, "time", clock)
    settings = TrainSettings(epochs=2, threads=1)
    results = train_runs(planted(), POINTS[1], settings, runs=3, progress=lambda _: None)
    assert [result.seconds for result in results] == [4.0] * 3


@pytest.mark.parametrize(("algorithm", "fields"), [(POINTS[0], 2), (POINTS[1], 13), (POINTS[2], 2)])
def test_runs_share_their_fields(algorithm, fields, monkeypatch):
    """One of validation and one of training, or one an epoch where neighbours are drawn."""
    built, real = [], Aggregation.field

    def field(self, *args, **options):
        built.append(args)
        return real(self, *args, **options)

    monkeypatch.setattr(Aggregation, "field", field)
    results = train_runs(planted(), algorithm, SHORT, runs=4)
    assert len(built) == fields
    results[0].test_score()
    assert len(built) == fields + 1


def test_denormals_are_flushed_while_training():
    modes = []
    before = kernel._float_mode()
    train_runs(planted(), POINTS[0], SHORT, progress=lambda _: modes.append(kernel._float_mode()))
    assert all(mode & kernel._FLUSH == kernel._FLUSH for mode in modes)
    assert kernel._float_mode() == before


@pytest.mark.parametrize("algorithm", [POINTS[1], POINTS[2]], ids=str)
def test_one_thread_is_one_thread(algorithm, monkeypatch):
    monkeypatch.setattr(kernel, "help_out", lambda *_: pytest.fail("a helper was called"))
    graph = planted(num_nodes=20_000, degree=20)
    train_runs(graph, algorithm, TrainSettings(epochs=2, threads=1), runs=2)[0].test_score()


@pytest.mark.parametrize("algorithm", [Algorithm.pagerank(), Algorithm.pixie()], ids=str)
def test_the_papers_baselines_train(algorithm):
    result = train(planted(homophily=0.9), algorithm)
    assert result.reason in (Reason.epochs, Reason.patience)
    assert result.validation_score > 0.25


@pytest.mark.parametrize("algorithm", POINTS[:3], ids=str)
def test_labels_of_the_test_split_change_nothing(algorithm):
    graph = planted()
    labels = graph.labels.copy()
    labels[graph.splits.test] = np.random.default_rng(0).permutation(labels[graph.splits.test])
    other = train(dataclasses.replace(graph, labels=labels), algorithm, SHORT)
    one = train(graph, algorithm, SHORT)
    np.testing.assert_array_equal(flat(one), flat(other))
    assert one.validation_score == other.validation_score
    assert one.test_score() != other.test_score()


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


def test_a_learning_run_scores_on_the_test_split():
    result = train(load_graph("digits"), Algorithm.gcn())
    assert result.test_score() > 0.88
    assert result.test_score() == result.test_score()


def test_points_without_runs_or_algorithms():
    with pytest.raises(InputError, match="runs must be at least 1, but got 0"):
        train_runs(planted(), POINTS[0], runs=0)
    with pytest.raises(InputError, match=r"runs must be a whole number, but got 2\.5"):
        train_runs(planted(), POINTS[0], runs=2.5)
    with pytest.raises(InputError, match="seed must be at least 0, but got -1"):
        train(planted(), POINTS[0], seed=-1)
    with pytest.raises(InputError, match=r"seed must be a whole number, but got 2\.5"):
        train_runs(planted(), POINTS[0], seed=2.5)
    with pytest.raises(InputError, match=r"settings must be TrainSettings, but got {}; try TrainS"):
        train(planted(), POINTS[0], {})
    with pytest.raises(InputError, match=r"an Algorithm is needed, but got 'gcn'; try Algorithm\."):
        train(planted(), "gcn")


def test_cuda_where_there_is_none():
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a cuda device here")
    with pytest.raises(InputError, match="device 'cuda' is not available on this machine; use 'c"):
        train(planted(), POINTS[0], TrainSettings(device="cuda"))


def test_a_deadline_that_is_a_number_of_seconds():
    with pytest.raises(InputError, match="60 was before this program began; 60 seconds from"):
        train(planted(), POINTS[0], deadline=60)
