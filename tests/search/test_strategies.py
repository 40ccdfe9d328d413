"""What every strategy keeps to, whatever came of the points it proposed."""

import itertools
import math

import numpy as np
import pytest

from autogm.search import (
    STRATEGIES,
    Boolean,
    Budget,
    Categorical,
    Integer,
    Problem,
    Space,
    State,
    Trial,
)

pytestmark = pytest.mark.usefixtures("one_thread")

COFFEE = Space(
    grind=Integer(1, 8, log=True),
    water=Categorical(30, 60, 120, 240),
    roast=Categorical("light", "medium", "dark"),
    milk=Boolean(),
)
CUP = Space(size=Integer(1, 3), milk=Boolean(), roast=Categorical("light", "dark"))
COUNT = 9


def seconds_of(point):
    return (2 + point.get("water", 50) / 20) / point.get("grind", 3) ** 0.3 + 4 * point["milk"]


def taste_of(point):
    grind, milk = point.get("grind", 10), 0.05 * point["milk"]
    roast = {"light": 0.8, "medium": 1.0, "dark": 0.9}[point["roast"]]
    return 0.9 * roast * math.exp(-((math.log(grind / 4)) ** 2)) + milk


def predicted(points):
    return [seconds_of(point) for point in points]


@pytest.fixture(params=["random", "paper", "informed", "informed, probing", "informed, predicting"])
def make(request):
    """A strategy for a problem."""
    name, _, how = request.param.partition(", ")
    if name == "paper":
        pytest.importorskip("bayes_opt")
    known = {"probing": {"seconds": seconds_of}, "predicting": {"seconds_many": predicted}}

    def made(space=COFFEE, **problem):
        return STRATEGIES[name](Problem(space=space, **known.get(how, {}), **problem))

    return made


def trained(number, point):
    return Trial(
        number=number,
        point=point,
        state=State.trained,
        seconds=seconds_of(point),
        accuracy=taste_of(point),
        error=0.01,
        runs=3,
        cost=0.1 + point["milk"],
    )


def failed(number, point):
    return Trial(number=number, point=point, state=State.failed, reason="no beans")


def failed_late(number, point):
    seconds = seconds_of(point)
    return Trial(number=number, point=point, state=State.failed, seconds=seconds, reason="spilt")


def too_slow(number, point):
    return Trial(number=number, point=point, state=State.too_slow, seconds=seconds_of(point))


def waiting(number, point):
    return Trial(number=number, point=point, state=State.waiting, seconds=seconds_of(point))


def running(number, point):
    return Trial(number=number, point=point)


def not_a_number(number, point):
    return Trial(number=number, point=point, state=State.trained, seconds=1.0, accuracy=math.nan)


def alike(number, point):
    return Trial(number=number, point=point, state=State.trained, seconds=1.0, accuracy=0.5)


def one_after_another(number, point):
    kinds = [trained, failed, trained, too_slow, running, trained, waiting, not_a_number, trained]
    return kinds[number % len(kinds)](number, point)


def trained_or_not(number, point):
    kinds = [trained, failed, running, waiting, not_a_number]
    return kinds[number % len(kinds)](number, point)


OUTCOMES = [trained, failed, failed_late, too_slow, waiting, running, not_a_number, alike]
BUDGETS = pytest.mark.parametrize(
    "budget",
    [None, Budget(max_time=6.0), Budget(max_time=0.1), Budget(min_accuracy=0.6)],
    ids=str,
)


def play(strategy, outcome=one_after_another, count=COUNT, trials=()):
    """What the strategy proposes after each outcome, until it has nothing left."""
    trials = list(trials)
    while len(trials) < count:
        point = strategy.propose(trials)
        if point is None:
            break
        trials.append(outcome(len(trials), point))
    return trials


def points_of(trials):
    return [trial.point for trial in trials]


@BUDGETS
def test_no_point_is_proposed_twice(make, budget):
    trials = play(make(budget=budget))
    assert len(np.unique(COFFEE.flat(COFFEE.codes(points_of(trials))))) == len(trials)


@BUDGETS
def test_a_search_goes_on_as_if_it_had_not_been_interrupted(make, budget):
    trials = play(make(budget=budget))
    for cut in (0, 1, 4, 6, 8):
        if cut < len(trials):
            assert make(budget=budget).propose(trials[:cut]) == trials[cut].point


def test_to_be_asked_again_changes_nothing(make):
    strategy = make()
    trials = play(strategy, trained, 6)
    again = [strategy.propose(trials[:cut]) for cut in (5, 2, 5, 0)]
    assert again == [trials[cut].point for cut in (5, 2, 5, 0)]


def test_the_seed_decides(make):
    one, same, other = (play(make(seed=seed), trained, 7) for seed in (1, 1, 2))
    assert points_of(one) == points_of(same) != points_of(other)


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("budget", [None, Budget(max_time=6.0), Budget(min_accuracy=0.6)], ids=str)
def test_any_outcome_can_be_learnt_from(make, outcome, budget):
    trials = play(make(budget=budget), outcome, 6)
    assert trials
    assert all(point in COFFEE for point in points_of(trials))


def test_proposals_come_to_an_end(make):
    trials = play(make(CUP), trained, CUP.size + 1)
    assert len(trials) <= CUP.size
    assert make(CUP).propose(trials) is None


@pytest.mark.parametrize("name", ["random", "paper"])
def test_what_does_not_choose_by_worth_tries_everything(name):
    if name == "paper":
        pytest.importorskip("bayes_opt")
    trials = play(STRATEGIES[name](Problem(space=CUP)), trained, CUP.size + 1)
    assert sorted(CUP.flat(CUP.codes(points_of(trials)))) == list(range(CUP.size))


@BUDGETS
@pytest.mark.parametrize("outcome", [trained_or_not, failed, running])
def test_when_all_was_tried_nothing_is_left(make, budget, outcome):
    trials = list(itertools.starmap(outcome, enumerate(CUP)))
    assert make(CUP, budget=budget).propose(trials) is None


def test_what_was_too_slow_once_may_be_trained_under_another_budget(make):
    """A study goes on under a higher ceiling."""
    slow = [too_slow(number, point) for number, point in enumerate(CUP)]
    proposed = make(CUP, budget=Budget(max_time=50.0)).propose(slow)
    assert proposed in CUP


@BUDGETS
def test_a_space_of_one_point(make, budget):
    space = Space(milk=Categorical(True), roast=Categorical("dark"))
    assert make(space, budget=budget).propose([]) == {"milk": True, "roast": "dark"}


def test_points_are_made_of_plain_values(make):
    for point in points_of(play(make(), trained, 6)):
        assert [type(value) for value in point.values()] == [int, int, str, bool]


def test_trials_are_left_as_they_are(make):
    trials = play(make(), trained, 6)
    before = list(trials)
    make().propose(trials)
    assert trials == before
