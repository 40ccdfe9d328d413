"""Problems whose best points and front are known, none of them about graphs."""

import math

import numpy as np
import pytest

from autogm.search import (
    Boolean,
    Budget,
    Categorical,
    Integer,
    Problem,
    Search,
    Space,
    State,
    Trial,
    hypervolume,
    search,
)
from autogm.search.informed import Informed

pytestmark = pytest.mark.usefixtures("one_thread")

COFFEE = Space(
    grind=Integer(1, 20, log=True),
    water=Categorical(30, 60, 90, 120, 180, 240),
    roast=Categorical("light", "medium", "dark"),
    milk=Boolean(),
)
POINTS = list(COFFEE)
CUP = Space(size=Integer(1, 6), milk=Boolean(), roast=Categorical("light", "medium", "dark"))


def seconds_of(point):
    return (2 + point["water"] / 20) / point["grind"] ** 0.5 + 4 * point["milk"]


def taste_of(point):
    grind, water = math.log(point["grind"] / 6), math.log(point["water"] / 120)
    roast = {"light": 0.8, "medium": 1.0, "dark": 0.9}[point["roast"]]
    return 0.9 * roast * math.exp(-0.5 * grind**2 - 0.3 * water**2) + 0.05 * point["milk"]


def cup_seconds(point):
    return 1.1 ** (point["size"] + 7 * point["milk"]) * (1.5 if point["roast"] == "dark" else 1)


def cup_taste(point):
    return 0.5 + 0.04 * point["size"] + 0.1 * point["milk"] + 0.05 * (point["roast"] == "medium")


SECONDS = np.array([seconds_of(point) for point in POINTS])
TASTES = np.array([taste_of(point) for point in POINTS])
BUDGET = Budget(max_time=4.0)
BEST_TASTE = TASTES[SECONDS <= 4].max()


def exactly(points):
    return [seconds_of(point) for point in points]


PREDICTIONS = {
    "learnt": None,
    "exact": exactly,
    "three times too slow": lambda points: [3 * seconds for seconds in exactly(points)],
    "three times too fast": lambda points: [seconds / 3 for seconds in exactly(points)],
    "off in two corners": lambda points: [
        seconds * (4 if point["milk"] else 1) * (0.3 if point["grind"] < 4 else 1)
        for point, seconds in zip(points, exactly(points), strict=True)
    ],
    "noise": lambda points: [
        seconds * math.exp(0.5 * math.sin(100 * seconds)) for seconds in exactly(points)
    ],
    "constant": lambda points: [1.0] * len(points),
}
PREDICTED = pytest.mark.parametrize("predicted", PREDICTIONS.values(), ids=PREDICTIONS)


class Taster:
    """The expensive oracle, which remembers whom it was asked for."""

    def __init__(self, taste=taste_of):
        self.asked, self._taste = [], taste

    def __call__(self, point):
        self.asked.append(point)
        return {"accuracy": self._taste(point), "cost": 1.0}  # on no clock: the same every time


def found(taster=None, **changes):
    options = {"seconds": seconds_of, "accuracy": taster or Taster(), "trials": 15}
    return search(COFFEE, **{**options, **changes})


# ---- under a ceiling on time


@PREDICTED
def test_nothing_that_does_not_fit_is_tasted(predicted):
    taster = Taster()
    result = found(taster, budget=BUDGET, seconds_many=predicted, trials=8)
    assert len(taster.asked) == 8
    assert max(seconds_of(point) for point in taster.asked) <= 4
    assert sorted(map(str, taster.asked)) == sorted(
        str(trial.point) for trial in result.trials if trial.state is State.trained
    )


@pytest.mark.parametrize("name", ["learnt", "exact", "three times too slow", "off in two corners"])
def test_the_best_that_fits_is_found(name):
    result = found(budget=BUDGET, seconds_many=PREDICTIONS[name])
    assert result.best.accuracy == pytest.approx(BEST_TASTE, abs=0.02)


@pytest.mark.parametrize("name", ["three times too fast", "noise", "constant"])
def test_bad_predictions_still_lead_to_a_good_point(name):
    result = found(budget=BUDGET, seconds_many=PREDICTIONS[name])
    assert result.best.accuracy > BEST_TASTE - 0.1


@pytest.mark.parametrize("limit", [0.9, 2.0, 3.0, 8.0])
def test_where_a_point_fits_one_is_found(limit):
    result = found(budget=Budget(max_time=limit), seconds_many=exactly, trials=3)
    assert result.best.seconds <= limit


@PREDICTED
def test_where_nothing_fits_nothing_is_tasted(predicted):
    taster = Taster()
    result = found(taster, budget=Budget(max_time=0.25), seconds_many=predicted)
    assert taster.asked == []
    assert result.best is None
    assert {trial.state for trial in result.trials} == {State.too_slow}


@PREDICTED
def test_where_nothing_fits_few_points_are_measured(predicted):
    result = found(budget=Budget(max_time=0.25), seconds_many=predicted)
    assert len(result.trials) < COFFEE.size / 10


@pytest.mark.parametrize("name", ["exact", "learnt", "three times too fast"])
def test_where_nothing_fits_the_fastest_is_named(name):
    result = found(budget=Budget(max_time=0.25), seconds_many=PREDICTIONS[name])
    assert result.fastest.seconds == SECONDS.min()
    assert "at most 250 ms" in result.reason
    assert result.reason.endswith(
        "the fastest takes 783 ms "
        f"(grind=20, water=30, roast={result.fastest.point['roast']}, milk=False)"
    )


def test_what_fits_exactly_fits():
    limit = float(SECONDS.min())
    result = found(budget=Budget(max_time=limit), seconds_many=exactly, trials=1)
    assert result.best.seconds == limit


# ---- points to begin with

ESPRESSO = {"grind": 10, "water": 30, "roast": "dark", "milk": False}
FILTER = {"grind": 7, "water": 120, "roast": "light", "milk": False}
CAPPUCCINO = {"grind": 10, "water": 90, "roast": "dark", "milk": True}
WITH_AND_WITHOUT = pytest.mark.parametrize("predicted", [None, exactly], ids=["learnt", "exact"])


@WITH_AND_WITHOUT
def test_named_points_that_fit_come_first(predicted):
    taster = Taster()
    found(
        taster,
        budget=BUDGET,
        first=[ESPRESSO, CAPPUCCINO, FILTER],
        seconds_many=predicted,
        trials=2,
    )
    assert taster.asked == [ESPRESSO, FILTER]


def test_a_named_point_that_does_not_fit_has_a_stand_in():
    taster = Taster()
    found(taster, budget=BUDGET, first=[CAPPUCCINO, ESPRESSO], seconds_many=exactly, trials=2)
    codes = COFFEE.codes(POINTS)
    apart = COFFEE.features(codes) - COFFEE.features(COFFEE.codes([CAPPUCCINO]))
    distance = np.where(SECONDS <= 4, np.square(apart).sum(axis=1), np.inf)
    assert taster.asked[0] == ESPRESSO
    assert distance[POINTS.index(taster.asked[1])] == pytest.approx(distance.min())


def test_a_named_point_that_turns_out_too_slow_has_a_stand_in():
    def hopeful(points):
        return [3.9 if point == CAPPUCCINO else seconds_of(point) for point in points]

    asked = Search(COFFEE, budget=BUDGET, first=[CAPPUCCINO], seconds_many=hopeful)
    trial = asked.ask()
    assert trial.point == CAPPUCCINO
    asked.tell(trial, seconds=seconds_of(CAPPUCCINO))
    stand_in = asked.ask().point
    assert (stand_in["roast"], stand_in["grind"], stand_in["water"]) == ("dark", 10, 90)


@pytest.mark.parametrize("budget", [None, Budget(min_accuracy=0.8)], ids=str)
def test_without_a_ceiling_all_named_points_come_first(budget):
    taster, named = Taster(lambda point: 0.5), [CAPPUCCINO, ESPRESSO, FILTER]
    found(taster, budget=budget, first=named, seconds_many=exactly, trials=3)
    assert taster.asked == named


def test_a_search_never_ends_below_its_named_points():
    result = found(budget=BUDGET, first=[FILTER], seconds_many=exactly, trials=4)
    assert result.best.accuracy >= taste_of(FILTER)


# ---- above a floor on accuracy


@WITH_AND_WITHOUT
def test_a_good_enough_point_that_is_fast_is_found(predicted):
    result = found(budget=Budget(min_accuracy=0.8), seconds_many=predicted, trials=18)
    assert result.best.seconds < 1.25 * SECONDS[TASTES >= 0.8].min()


@pytest.mark.parametrize("floor", [0.6, 0.7, 0.8])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_small_space_is_searched_to_its_fastest_good_enough_point(floor, seed):
    fastest = min(cup_seconds(point) for point in CUP if cup_taste(point) >= floor)
    result = search(
        CUP,
        seconds=cup_seconds,
        accuracy=Taster(cup_taste),
        seconds_many=lambda points: list(map(cup_seconds, points)),
        budget=Budget(min_accuracy=floor),
        trials=CUP.size,
        seed=seed,
    )
    assert result.best.seconds == fastest
    assert result.reason == "no point is left that is worth a training"


def test_what_is_slower_than_the_best_is_not_tasted():
    taster = Taster()
    result = found(taster, budget=Budget(min_accuracy=0.7), seconds_many=exactly)
    fastest = math.inf
    for point in taster.asked:
        assert seconds_of(point) < fastest
        if taste_of(point) >= 0.7:
            fastest = seconds_of(point)
    assert result.best.seconds == fastest


def test_where_nothing_is_good_enough_the_best_seen_is_told():
    result = found(budget=Budget(min_accuracy=0.99), seconds_many=exactly, trials=10)
    assert result.best is None
    assert result.nearest.accuracy == max(trial.accuracy for trial in result.trials)


# ---- with no budget


def share_of_front(result):
    """Of the area under the planted front."""
    box = {"floor": 0.0, "ceiling": SECONDS.max(), "fastest": SECONDS.min()}
    front = [t.accuracy for t in result.front], [t.seconds for t in result.front]
    return hypervolume(*front, **box) / hypervolume(TASTES, SECONDS, **box)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_front_comes_close_to_the_planted_one(seed):
    assert share_of_front(found(seconds_many=exactly, trials=20, seed=seed)) > 0.85


def test_the_front_of_a_search_answers_other_budgets():
    result = found(seconds_many=exactly, trials=20)
    selected = result.select(Budget(max_time=3.0))
    assert selected.trial.seconds <= 3
    assert selected.trial.accuracy == max(t.accuracy for t in result.trials if t.seconds <= 3)


def test_where_all_take_the_same_time_the_most_accurate_is_looked_for():
    result = search(
        Space(k=Integer(1, 30)),
        seconds=lambda p: 1.0,
        accuracy=Taster(lambda p: p["k"] / 30),
        trials=12,
    )
    assert max(trial.accuracy for trial in result.trials) == 1.0


# ---- what else a choice depends on


def history(points, **known):
    return [
        Trial(
            number=i,
            point=point,
            state=State.trained,
            seconds=seconds_of(point),
            accuracy=taste_of(point),
            **{name: value(point) for name, value in known.items()},
        )
        for i, point in enumerate(points)
    ]


def test_what_others_try_now_is_not_tried_beside_it():
    strategy = Informed(Problem(space=COFFEE, budget=BUDGET, seconds_many=exactly))
    trials = history(POINTS[::71])
    first = strategy.propose(trials)
    second = strategy.propose([*trials, Trial(number=99, point=first)])
    assert second not in (first, *[trial.point for trial in trials])


def test_of_equal_gains_the_cheaper_training_comes_first():
    """Two machines that taste and take alike, one of which costs a hundred times as much to try."""
    space = Space(size=Integer(1, 20), machine=Categorical("a", "b"))

    def trial(number, size, machine, cost):
        point = {"size": size, "machine": machine}
        accuracy = 0.5 + size / 100
        return Trial(
            number=number,
            point=point,
            state=State.trained,
            seconds=1.0,
            accuracy=accuracy,
            cost=cost,
        )

    for costs in ({"a": 1.0, "b": 100.0}, {"a": 100.0, "b": 1.0}):
        both = [(size, machine) for size in (1, 4, 8, 12) for machine in costs]
        trials = [trial(i, *pair, costs[pair[1]]) for i, pair in enumerate(both)]
        problem = Problem(
            space=space, budget=Budget(max_time=2.0), seconds_many=lambda p: [1.0] * len(p)
        )
        cheap = min(costs, key=costs.get)
        assert Informed(problem).propose(trials)["machine"] == cheap


def test_a_space_that_is_not_enumerated():
    space = Space(**{f"knob{i}": Integer(1, 9) for i in range(8)})

    def taste(point):
        return 1 - sum((value - 5) ** 2 for value in point.values()) / 200

    result = search(
        space,
        seconds=lambda point: sum(point.values()) / 8,
        accuracy=Taster(taste),
        seconds_many=lambda points: [sum(point.values()) / 8 for point in points],
        budget=Budget(max_time=5.0),
        trials=6,
    )
    assert len(result.trials) >= 6
    assert result.best.seconds <= 5


def test_a_space_of_many_switches():
    space = Space(**{f"switch{i}": Boolean() for i in range(30)})
    asked = Search(space, seconds_many=lambda points: [1 + sum(p.values()) for p in points])
    assert asked.ask().point in space
