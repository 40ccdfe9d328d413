import pytest

from autogm.search import Budget, State, Trial
from autogm.search.trial import best_of, front_of, nearest_to, trained

NAN, INF = float("nan"), float("inf")


def trial(number, seconds=1.0, accuracy=0.5, state=State.trained):
    point = {"x": number}
    return Trial(number=number, point=point, state=state, seconds=seconds, accuracy=accuracy)


TRIALS = [
    trial(0, 1.0, 0.5),
    trial(1, 2.0, 0.8),
    trial(2, 4.0, 0.8),
    trial(3, 3.0, 0.7),
    trial(4, 8.0, 0.9),
    trial(5, 0.1, None, State.too_slow),
    trial(6, 0.1, NAN),
    trial(7, 0.1, None, State.failed),
    trial(8, None, 0.99),
    trial(9, 0.2, 0.95, State.running),
    trial(10, 0.2, 0.95, State.waiting),
]


def numbers(trials):
    return [trial.number for trial in trials]


def test_trained():
    assert numbers(trained(TRIALS)) == [0, 1, 2, 3, 4, 8]


def test_pending():
    assert numbers(t for t in TRIALS if t.is_pending) == [9, 10]


@pytest.mark.parametrize(
    ("budget", "best"),
    [
        (None, 4),
        (Budget(max_time=8.0), 4),
        (Budget(max_time=7.0), 1),
        (Budget(max_time=1.5), 0),
        (Budget(max_time=0.5), None),
        (Budget(min_accuracy=0.5), 0),
        (Budget(min_accuracy=0.6), 1),
        (Budget(min_accuracy=0.85), 4),
        (Budget(min_accuracy=0.92), None),
    ],
)
def test_the_best(budget, best):
    found = best_of(TRIALS, budget)
    assert (found and found.number) == best


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    ("trials", "budget"),
    [
        ([trial(1, 1.0, 0.8), trial(0, 2.0, 0.8)], Budget(max_time=3.0)),
        ([trial(1, 1.0, 0.8), trial(0, 1.0, 0.7)], Budget(min_accuracy=0.5)),
        ([trial(1, 1.0, 0.8), trial(2, 1.0, 0.8)], Budget(max_time=3.0)),
        ([trial(1, 1.0, 0.8), trial(2, 1.0, 0.8)], Budget(min_accuracy=0.5)),
        ([trial(1, 1.0, 0.8), trial(2, 1.0, 0.8)], None),
    ],
)
def test_of_equals_the_faster_the_more_accurate_the_first(trials, budget, order):
    assert best_of(trials[::order], budget).number == 1


@pytest.mark.parametrize(
    ("budget", "nearest"),
    [(Budget(max_time=0.5), 0), (Budget(min_accuracy=0.92), 4)],
)
def test_what_misses_by_least(budget, nearest):
    assert nearest_to(TRIALS, budget).number == nearest


def test_the_front():
    assert numbers(front_of(TRIALS)) == [0, 1, 4]


@pytest.mark.parametrize("budget", [Budget(max_time=1.0), Budget(min_accuracy=0.5)])
def test_of_nothing_nothing_is_best(budget):
    untrained = [t for t in TRIALS if t.state is not State.trained]
    assert best_of(untrained, budget) is nearest_to(untrained, budget) is None
    assert front_of(untrained) == []


@pytest.mark.parametrize("trial", TRIALS[5:])
def test_what_was_not_trained_holds_no_budget(trial):
    assert not trial.is_within(Budget(max_time=50.0))
