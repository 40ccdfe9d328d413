import time

import numpy as np
import pytest

from autogm import Algorithm, Budget, InputError, load_graph
from autogm.search import Boolean, Categorical, Integer, Space, State, find, mission
from autogm.search.algorithms import algorithm_of, algorithm_space
from autogm.train import TrainSettings

FAST = TrainSettings(epochs=30)
SMALL = Space(
    d=Categorical(4, 16), k=Integer(1, 2), w=Categorical(-1), l=Boolean(), a=Categorical("SS", "NA")
)


@pytest.fixture(scope="module")
def graph():
    return load_graph("digits")


def search(graph, budget, **options):
    options = {"trials": 3, "runs": 2, "settings": FAST, "space": SMALL} | options
    return find(graph, budget=budget, **options)


@pytest.fixture(scope="module")
def found(graph):
    return search(graph, Budget(max_time="1s"), trials=4)


def test_what_is_handed_over_is_the_last_that_was_checked(found):
    assert found.is_met
    assert found.predictor.algorithm == algorithm_of(found.checks[-1].trial.point)


def test_what_is_handed_over_carries_the_time_of_another_process(found):
    assert found.predictor.measurement == found.check.measurement
    assert found.check.measurement.median <= 1


def test_finalists_are_trained_on_fresh_seeds(found):
    trial = found.check.trial
    assert found.check.accuracy != trial.accuracy


def test_the_handed_over_predictor_answers(found, graph):
    labelled = graph.splits.test
    right = (
        found.predictor.predict(graph)[labelled] == np.array(graph.classes)[graph.labels[labelled]]
    )
    assert right.mean() == pytest.approx(found.test[0], abs=0.05)


def test_the_test_split_is_read_once_and_at_the_end(graph, monkeypatch):
    from autogm.train import TrainResult

    read = []
    score = TrainResult.test_score
    monkeypatch.setattr(
        TrainResult, "test_score", lambda self: (read.append(self.seed), score(self))[1]
    )
    ended = []
    search(graph, Budget(max_time="1s"), progress=lambda trial: ended.append(len(read)))
    assert set(ended) == {0}
    assert len(read) == len(set(read)) == 2


def test_nothing_is_trained_where_nothing_fits(graph):
    none = search(graph, Budget(max_time="10ns"))
    assert not none.is_met
    assert none.predictor is None
    assert {trial.state for trial in none.result.trials} == {State.too_slow}
    assert "nothing holds the budget (at most 10 ns): the fastest takes" in none.reason


def test_the_nearest_miss_is_handed_over_where_a_floor_is_out_of_reach(graph):
    missed = search(graph, Budget(min_accuracy=1.0))
    assert not missed.is_met
    assert missed.predictor is not None
    assert missed.reason.startswith("no point holds the budget (accuracy of at least 1)")


def test_a_floor_is_met_by_the_fastest_that_holds_it(graph):
    met = search(graph, Budget(min_accuracy=0.4), trials=6)
    assert met.is_met
    assert met.check.accuracy >= 0.4
    faster = [t for t in met.result.front if t.seconds < met.check.trial.seconds]
    assert all(t.accuracy < 0.4 or t in [c.trial for c in met.checks] for t in faster)


def test_without_a_budget_the_whole_curve_is_searched(graph):
    curve = search(graph, None, trials=6)
    seconds = [trial.seconds for trial in curve.result.front]
    assert curve.is_met
    assert seconds == sorted(seconds)


def test_the_named_algorithms_come_first(graph):
    points = []
    find(
        graph, budget=Budget(max_time="1s"), trials=4, runs=1, settings=FAST,
        progress=lambda trial: points.append(algorithm_of(trial.point)),
    )  # fmt: skip
    gcn, sgcn, pagerank = Algorithm.gcn(), Algorithm.sgcn(), Algorithm.pagerank()
    # No node of this graph has as many neighbours as GraphSAGE draws: it draws all.
    assert points == [gcn, Algorithm(d=64, k=2, w=-1, l=True, a="SA"), sgcn, pagerank]


def test_widths_that_draw_everything_are_one_candidate(graph):
    widest = int(np.diff(graph.rows.indptr).max())
    space = mission._space(graph, None, "informed", FAST)
    assert max(space.axes["w"].values) < widest
    assert -1 in space.axes["w"].values


def test_the_paper_searches_its_own_space(graph):
    assert mission._space(graph, None, "paper", FAST).size == 5_400_000


def test_a_search_goes_on_where_it_stopped(graph, tmp_path):
    storage = tmp_path / "study.db"
    first = search(graph, Budget(max_time="1s"), trials=2, storage=storage)
    again = search(graph, Budget(max_time="1s"), trials=4, storage=storage)
    assert again.result.trials[: len(first.result.trials)] == first.result.trials
    assert sum(t.state is State.trained for t in again.result.trials) == 4


def test_a_study_of_another_graph_is_refused(graph, tmp_path):
    storage = tmp_path / "study.db"
    search(graph, None, trials=1, storage=storage)
    from dataclasses import replace

    other = replace(graph, features=graph.features * 2)
    with pytest.raises(InputError, match="of another subject") as error:
        search(other, None, trials=1, storage=storage)
    assert graph.fingerprint in str(error.value)
    assert other.fingerprint in str(error.value)


def test_a_timeout_that_is_over_ends_the_search_with_what_there_is(graph, monkeypatch):
    now = [time.monotonic()]
    monkeypatch.setattr(mission.time, "monotonic", lambda: now[0])

    def a_minute_passes(trial):
        now[0] += 60

    ended = search(graph, Budget(max_time="1s"), timeout="90s", progress=a_minute_passes)
    assert len(ended.result.trials) <= 2
    assert ended.result.reason == "the time was over"
    assert ended.predictor is not None


def test_ctrl_c_hands_over_the_best_so_far(graph):
    def interrupt(trial):
        if trial.number == 1:
            raise KeyboardInterrupt

    stopped = search(graph, Budget(max_time="1s"), progress=interrupt)
    assert stopped.result.interrupted
    assert stopped.is_met
    assert len(stopped.result.trials) == 2


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"space": Space(d=Integer(1, 3))}, "axes d, k, w, l and a, but got d"),
        ({"space": Space(**{**SMALL.axes, "w": Integer(0, 3)})}, "w must be at least 1"),
        ({"trials": 0}, "trials must be a whole number of at least 1, but got 0"),
        ({"timeout": "3 hours"}, "timeout has the unit 'hours'"),
        ({"scope": "node"}, "scope must be one of"),
        ({"strategy": "grid"}, "strategy must be one of informed, paper, random, but got 'grid'"),
        ({"storage": "study.txt"}, "storage must be a file that ends in .db"),
    ],
)
def test_bad_input(graph, options, text):
    with pytest.raises(InputError, match=text):
        search(graph, Budget(max_time="1s"), **options)


def test_the_default_space_is_the_papers_and_all_neighbours():
    assert algorithm_space().size == 300 * 30 * 51 * 2 * 6


def test_a_graph_without_splits_gets_some(graph):
    from dataclasses import replace

    split = mission.with_splits(replace(graph, splits=None)).splits
    sizes = [len(part) for part in (split.train, split.val, split.test)]
    assert sum(sizes) == graph.num_nodes
    assert np.array(sizes) / graph.num_nodes == pytest.approx([0.6, 0.2, 0.2], abs=0.02)


def test_own_splits_are_kept(graph):
    assert mission.with_splits(graph) is graph
