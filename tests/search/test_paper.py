import math

import pytest

from autogm.algorithm import AGGREGATIONS
from autogm.errors import InputError, MissingExtra
from autogm.search import Boolean, Budget, Categorical, Integer, Problem, Space, State, Trial
from autogm.search import paper as paper_module
from autogm.search.algorithms import algorithm_space
from autogm.search.paper import PENALTY, Paper

SPACE = algorithm_space(all_neighbours=False)
RELAXED = {"d": 64.0, "k": 2.0, "w": 25.0, "l": 1.0, "a": 4.0}
FLOOR, CEILING = Budget(min_accuracy=0.8), Budget(max_time=2.0)


class Optimizer:
    """Stands for the package's: writes down what it is told and suggests what it was given."""

    def __init__(self, suggestion):
        self.suggestion, self.told, self.made = suggestion, [], []

    def BayesianOptimization(self, **options):  # noqa: N802
        self.made.append(options)
        self.told.clear()
        return self

    def register(self, params, target):
        self.told.append((params, target))

    def suggest(self):
        return self.suggestion


@pytest.fixture
def package(monkeypatch):
    made = Optimizer(RELAXED)
    monkeypatch.setattr(paper_module, "optional", lambda *_, **__: made)
    return made


def trial(number, state=State.trained, accuracy=0.9, seconds=1.0):
    point = {"d": 1 + number, "k": 30, "w": 50, "l": False, "a": "NN"}
    return Trial(number=number, point=point, state=state, accuracy=accuracy, seconds=seconds)


def history(last=None):
    """Enough trials for the optimizer to be asked."""
    return [*map(trial, range(4)), last or trial(4)]


def proposed(package, trials=None, **suggestion):
    package.suggestion = {**RELAXED, **suggestion}
    return Paper(Problem(space=SPACE)).propose(history() if trials is None else trials)


def told(package, last, budget):
    Paper(Problem(space=SPACE, budget=budget)).propose(history(last))
    return package.told[-1]


def test_bounds_are_those_of_section_v(package):
    proposed(package)
    assert package.made[0]["pbounds"] == {
        "d": (1, 300),
        "k": (1, 30),
        "w": (1, 50),
        "l": (0, 1),
        "a": (0, 6),
    }


@pytest.mark.parametrize(
    ("name", "real", "value"),
    [
        ("d", 64.4, 64),
        ("d", 64.6, 65),
        ("d", 1.0, 1),
        ("d", 300.0, 300),
        ("k", 29.7, 30),
        ("w", 1.2, 1),
        ("l", 0.0, False),
        ("l", 0.49, False),
        ("l", 0.51, True),
        ("l", 1.0, True),
        *(("a", float(place), a) for place, a in enumerate(("NN", "NS", "NA", "SN", "SS", "SA"))),
        ("a", 0.4, "NN"),
        ("a", 0.6, "NS"),
        ("a", 5.4, "SA"),
        ("a", 5.51, "SA"),
        ("a", 6.0, "SA"),
    ],
)
def test_reals_are_rounded(package, name, real, value):
    assert proposed(package, **{name: real})[name] == value


def test_a_point_is_rounded_as_a_whole(package):
    assert proposed(package) == {"d": 64, "k": 2, "w": 25, "l": True, "a": "SS"}


def test_points_are_told_as_they_are_relaxed(package):
    tried = Trial(number=4, point={"d": 64, "k": 2, "w": 25, "l": True, "a": "SS"})
    ended = Trial(**{**vars(tried), "state": State.trained, "accuracy": 0.9, "seconds": 1.0})
    assert told(package, ended, None)[0] == RELAXED


@pytest.mark.parametrize(
    ("budget", "accuracy", "seconds", "f"),
    [
        (FLOOR, 0.9, 1.5, 1.5),
        (FLOOR, 0.8, 1.5, 1.5),
        (FLOOR, 0.79, 1.5, PENALTY),
        (CEILING, 0.9, 1.5, -0.9),
        (CEILING, 0.9, 2.0, -0.9),
        (CEILING, 0.9, 2.1, PENALTY),
        (None, 0.9, 2.1, -0.9),
        (None, math.nan, 2.1, PENALTY),
        (FLOOR, math.nan, 1.0, PENALTY),
        (CEILING, math.nan, 1.0, PENALTY),
    ],
)
def test_the_optimizer_is_told_minus_f(package, budget, accuracy, seconds, f):
    last = trial(4, accuracy=accuracy, seconds=seconds)
    assert told(package, last, budget)[1] == pytest.approx(-f, rel=1e-12)


@pytest.mark.parametrize("state", [State.failed, State.too_slow])
@pytest.mark.parametrize("budget", [None, FLOOR, CEILING])
def test_what_was_not_trained_is_told_as_infeasible(package, state, budget):
    assert told(package, trial(4, state, accuracy=None), budget)[1] == -PENALTY


@pytest.mark.parametrize("state", [State.waiting, State.running])
def test_what_is_going_on_is_not_told(package, state):
    proposed(package, history(trial(4, state, accuracy=None)))
    assert len(package.told) == 4


@pytest.mark.parametrize("count", range(5))
def test_the_first_points_are_random(package, count):
    proposed(package, history()[:count])
    assert package.made == []


def test_a_point_that_was_tried_is_replaced(package):
    tried = history(Trial(number=4, point=proposed(package)))
    other = proposed(package, tried)
    assert other in SPACE
    assert other not in [t.point for t in tried]


def test_the_seed_reaches_the_optimizer(package):
    def state(seed):
        Paper(Problem(space=SPACE, seed=seed)).propose(history())
        return package.made[-1]["random_state"]

    assert state(1) == state(1) != state(2)


def test_a_space_of_single_values(package):
    space = Space(d=Integer(7, 7), a=Categorical("SS"), l=Boolean())
    package.suggestion = {"d": 7.0, "a": 1.0, "l": 0.2}
    trials = [
        Trial(number=i, point=dict(space.point([0, 0, 1])), state=State.failed) for i in range(5)
    ]
    assert Paper(Problem(space=space)).propose(trials) == {"d": 7, "a": "SS", "l": False}


def test_a_value_beyond_a_range_is_refused(package):
    with pytest.raises(
        InputError, match=r"'paper' knows no value .*, but w has last=-1; .*informed"
    ):
        Paper(Problem(space=algorithm_space()))


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "bayes_opt", None)
    with pytest.raises(MissingExtra, match=r"strategy 'paper' needs bayes_opt, .*autogm\[paper\]"):
        Paper(Problem(space=SPACE))


def test_choices_stand_in_the_order_of_the_paper():
    assert AGGREGATIONS == ("NN", "NS", "NA", "SN", "SS", "SA")
