"""Workers on other machines than the one whose times count: they train only."""

import threading
import time
from types import SimpleNamespace

import pytest

from autogm.search import Budget, Integer, Search, Space, State, loop, storage
from autogm.search.storage import open_study

SPACE = Space(k=Integer(1, 40))
BUDGET = Budget(max_time=0.03)


@pytest.fixture
def url(tmp_path):
    return tmp_path / "study.journal"


def opened(url, monkeypatch, host):
    # Not the function itself, which others remember the answer of.
    monkeypatch.setattr(storage, "socket", SimpleNamespace(gethostname=lambda: host))
    return open_study(url, "k", space=SPACE, subject="")


def search_in(study, seconds):
    return Search(SPACE, budget=BUDGET, strategy="informed", seconds=seconds, study=study)


def seconds_at_home(point):
    return point["k"] / 1000


def never(point):
    raise AssertionError("times are measured at home only")


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(loop, "_PAUSE", 0.01)


def test_only_the_machine_that_made_the_study_is_home(url, monkeypatch):
    with opened(url, monkeypatch, "here") as home, opened(url, monkeypatch, "there") as away:
        assert (home.home, away.home) == (True, False)


def test_a_worker_elsewhere_trains_what_was_measured_at_home(url, monkeypatch):
    with opened(url, monkeypatch, "here") as home, opened(url, monkeypatch, "there") as away:
        trained = []

        def accuracy_away(point):
            trained.append(point["k"])
            return 1 - 1 / point["k"]

        def accuracy_at_home(point):
            end = time.monotonic() + 5
            while not trained and time.monotonic() < end:  # until the other one has had something
                time.sleep(0.01)
            return 1 - 1 / point["k"]

        work = threading.Thread(
            target=lambda: search_in(home, seconds_at_home).run(accuracy_at_home, trials=6)
        )
        away.want()
        work.start()
        search_in(away, never).run(accuracy_away, trials=6)
        work.join()
        found = {t.point["k"]: t.seconds for t in home.trials() if t.state is State.trained}
    assert len(found) == 6
    assert trained
    assert all(found[k] == seconds_at_home({"k": k}) <= 0.03 for k in trained)


def test_a_worker_elsewhere_that_hears_nothing_gives_up(url, monkeypatch):
    monkeypatch.setattr(loop, "_IDLE", 0.05)
    with opened(url, monkeypatch, "here"), opened(url, monkeypatch, "there") as away:
        result = search_in(away, never).run(never, trials=3)
    assert result.reason.startswith("nobody had a point to train; nothing holds the budget")
