import math

import numpy as np
import pytest

from autogm import Algorithm, InputError, load_graph
from autogm.search import Budget, OutOfTime, State, Trial
from autogm.search.algorithms import point_of
from autogm.search.oracles import GraphOracles, bar_of, mean_and_error
from autogm.train import TrainSettings, train_runs

FAST = TrainSettings(epochs=20)
POINT = point_of(Algorithm.sgcn(d=8))


@pytest.fixture(scope="module")
def graph():
    return load_graph("digits")


def test_accuracy_is_the_mean_of_runs_on_the_validation_split(graph):
    answer = GraphOracles(graph, settings=FAST, runs=5, seed=3).accuracy(POINT)
    runs = train_runs(graph, Algorithm.sgcn(d=8), FAST, runs=5, seed=3)
    mean, error = mean_and_error([run.validation_score for run in runs])
    assert (answer["accuracy"], answer["error"], answer["runs"]) == (mean, error, 5)


def test_what_is_out_of_reach_gets_few_runs(graph):
    oracles = GraphOracles(graph, settings=FAST, runs=10)
    assert oracles.accuracy(POINT, bar=2.0)["runs"] == 3
    assert oracles.accuracy(POINT, bar=0.0)["runs"] == 10


def test_a_deadline_ends_a_training_without_a_score(graph):
    with pytest.raises(OutOfTime):
        GraphOracles(graph, settings=FAST).accuracy(POINT, deadline=0.0 + _now())


def _now():
    import time

    return time.monotonic()


def test_fresh_runs_have_seeds_the_search_never_sees(graph):
    oracles = GraphOracles(graph, settings=FAST, runs=3)
    seen = {run.seed for run in train_runs(graph, Algorithm.sgcn(d=8), FAST, runs=100)}
    assert not seen & {run.seed for run in oracles.fresh(POINT)}


def test_seconds_are_measured_in_the_scope_asked_for(graph):
    whole = GraphOracles(graph).seconds(point_of(Algorithm.gcn()))
    one = GraphOracles(graph, scope="query").seconds(point_of(Algorithm.gcn(d=16)))
    assert 0 < one
    assert 0 < whole


def test_only_whole_passes_are_predicted(graph):
    assert GraphOracles(graph).predicts
    assert not GraphOracles(graph, scope="query").predicts


def test_predictions_are_one_a_point_and_above_zero(graph):
    points = [point_of(Algorithm(d=d, k=k)) for d in (1, 16, 300) for k in (1, 30)]
    found = GraphOracles(graph).seconds_many(points)
    assert np.shape(found) == (6,)
    assert (np.asarray(found) > 0).all()


@pytest.mark.parametrize(
    "change",
    [{"scope": "query"}, {"statistic": "p99"}, {"settings": TrainSettings(dropout=0.1)}],
)
def test_trials_of_other_conditions_are_of_another_subject(graph, change):
    assert GraphOracles(graph).subject != GraphOracles(graph, **change).subject


def test_a_graph_without_labels_is_refused_before_anything_runs(graph):
    from dataclasses import replace

    with pytest.raises(InputError, match="labels"):
        GraphOracles(replace(graph, labels=None, classes=()))


def test_mean_and_error_of_one_run():
    assert mean_and_error([0.5]) == (0.5, 0.0)


def test_mean_and_error_by_hand():
    mean, error = mean_and_error([0.6, 0.8])
    assert mean == pytest.approx(0.7)
    assert error == pytest.approx(0.1)


def test_the_bar_is_the_best_within_a_time():
    trials = [
        Trial(number=i, point={}, state=State.trained, seconds=s, accuracy=a)
        for i, (s, a) in enumerate([(1.0, 0.7), (3.0, 0.9)])
    ]
    assert bar_of(trials, Budget(max_time=2)) == 0.7


def test_the_bar_is_the_floor():
    assert bar_of([], Budget(min_accuracy=0.8)) == 0.8


@pytest.mark.parametrize("budget", [None, Budget(max_time=2)])
def test_without_anything_to_compare_there_is_no_bar(budget):
    assert bar_of([], budget) == -math.inf
