import itertools
import math
import re

import numpy as np
import pytest

from autogm.errors import AutoGMError, InputError
from autogm.search import (
    Boolean,
    Budget,
    Categorical,
    InMemory,
    Integer,
    OutOfTime,
    Search,
    SearchResult,
    Space,
    State,
    Trial,
    search,
)

pytestmark = pytest.mark.usefixtures("one_thread")

SPACE = Space(size=Integer(1, 4), milk=Boolean(), roast=Categorical("light", "dark"))
NAN, INF = float("nan"), float("inf")


def seconds_of(point):
    return point["size"] / 10 + point["milk"]


def taste_of(point):
    return 0.5 + point["size"] / 10 + 0.05 * (point["roast"] == "dark")


def found(**changes):
    options = {"seconds": seconds_of, "accuracy": taste_of, "strategy": "random", "trials": 6}
    return search(SPACE, **{**options, **changes})


def searching(**changes):
    return Search(SPACE, **{"strategy": "random", "seconds": seconds_of, **changes})


def states(result):
    return [trial.state.value for trial in result.trials]


# ---- ask and tell


def test_what_is_asked_for_is_running():
    asked = searching()
    trial = asked.ask()
    assert (trial.number, trial.state, trial.seconds) == (0, State.running, None)
    assert asked.study.trials() == [trial]


def test_ask_and_tell_is_search():
    asked = searching(seed=3)
    for _ in range(6):
        trial = asked.ask()
        asked.tell(trial, seconds=seconds_of(trial.point), accuracy=taste_of(trial.point))
    by_hand = [(t.point, t.seconds, t.accuracy) for t in asked.result("").trials]
    assert by_hand == [(t.point, t.seconds, t.accuracy) for t in found(seed=3).trials]


@pytest.mark.parametrize(
    ("told", "state", "reason"),
    [
        ({"seconds": 1.0, "accuracy": 0.5}, "trained", None),
        ({"seconds": 1.0}, "too slow", None),
        ({"seconds": 1.0, "reason": "no beans"}, "failed", "no beans"),
        ({"reason": "no beans"}, "failed", "no beans"),
        ({"seconds": 1.0, "accuracy": 0.5, "reason": "odd"}, "trained", "odd"),
        ({"seconds": 1.0, "accuracy": NAN}, "failed", "the accuracy is nan"),
        ({"seconds": 1.0, "accuracy": -INF}, "failed", "the accuracy is -inf"),
        ({"seconds": 1.0, "accuracy": INF, "reason": "odd"}, "failed", "odd"),
        ({}, "failed", None),
    ],
)
def test_what_is_told(told, state, reason):
    asked = searching()
    trial = asked.tell(asked.ask(), **told)
    assert (trial.state.value, trial.reason) == (state, reason)
    assert asked.study.trials() == [trial]


def test_all_that_is_told_is_kept():
    asked = searching()
    told = {"seconds": 0.5, "accuracy": 0.7, "error": 0.01, "runs": 3, "cost": 12.0}
    trial = asked.tell(asked.ask(), **told)
    assert {name: getattr(trial, name) for name in told} == told


@pytest.mark.parametrize("seconds", [0, -1.0, NAN, INF, "1s", True])
def test_refused_times(seconds):
    asked = searching()
    message = f"seconds must answer a number above 0, but answered {seconds!r}"
    with pytest.raises(InputError, match=message):
        asked.tell(asked.ask(), seconds=seconds)


def test_when_all_was_asked_for_nothing_is_left():
    asked = searching()
    trials = list(itertools.islice(iter(asked.ask, None), SPACE.size + 1))
    assert len(trials) == SPACE.size


def test_points_of_others_are_left_to_them():
    class Shared(InMemory):
        """Somebody else begins the first point in the moment we propose it."""

        taken = 0

        def begin(self, point):
            begun = super().begin(point)
            self.taken += 1
            return None if self.taken == 1 else begun

    asked = searching(study=Shared())
    assert asked.ask().number == 1


@pytest.mark.parametrize(
    ("strategy", "budget", "seconds", "worth"),
    [
        ("informed", None, 100.0, True),
        ("informed", Budget(max_time=1.0), 1.0, True),
        ("informed", Budget(max_time=1.0), 1.1, False),
        ("informed", Budget(min_accuracy=0.8), 0.4, True),
        ("informed", Budget(min_accuracy=0.8), 0.5, False),
        ("informed", Budget(min_accuracy=0.95), 100.0, True),
        ("random", Budget(max_time=1.0), 1.1, True),
        ("random", Budget(min_accuracy=0.8), 0.5, True),
    ],
)
def test_what_is_worth_training(strategy, budget, seconds, worth):
    asked = searching(strategy=strategy, budget=budget)
    asked.tell(asked.ask(), seconds=0.5, accuracy=0.9)
    assert asked.is_worth_training(seconds) is worth


# ---- refused


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trials": 0}, "trials must be a whole number of at least 1, but got 0"),
        ({"trials": -3}, "trials must be a whole number of at least 1, but got -3"),
        ({"trials": 2.5}, "trials must be a whole number of at least 1, but got 2.5"),
        ({"trials": True}, "trials must be a whole number of at least 1, but got True"),
        ({"strategy": "infromed"}, "informed, paper, random, but got 'infromed'; did you mean"),
        ({"strategy": None}, "strategy must be one of informed, paper, random, but got None"),
        ({"budget": "4ms"}, r"budget must be a Budget, but got '4ms'; try Budget\('4ms'\)"),
        ({"budget": 0.5}, r"budget must be a Budget, but got 0.5; try Budget\(0.5\)"),
        ({"seed": -1}, "seed must be a whole number of at least 0, but got -1"),
        ({"seed": 0.5}, "seed must be a whole number of at least 0, but got 0.5"),
        ({"first": [{"size": 9}]}, "size must be one of 1, 2, 3, …, but got 9"),
        ({"first": {"size": 1}}, "a point must be a dict of parameters, but got 'size'"),
        ({"timeout": "1 hour"}, "timeout has the unit 'hour', which is not one of"),
        ({"timeout": "0s"}, "timeout must be above 0 and finite, but got '0s'"),
        pytest.param(
            {"timeout": 0},
            "timeout must be above 0 and finite, but got 0",
        ),
        ({"timeout": -1}, "timeout must be above 0 and finite, but got -1"),
        ({"seconds": None}, "a search needs seconds, an oracle of time; or use ask and tell"),
        ({"seconds": lambda p: "1s"}, "seconds must answer a number above 0, but answered '1s'"),
        ({"seconds": lambda p: None}, "seconds must answer a number above 0, but answered None"),
        ({"accuracy": lambda p: "good"}, r"a number or \(mean, standard error\), .* 'good'"),
        ({"accuracy": lambda p: None}, r"a number or \(mean, standard error\), .* None"),
        ({"accuracy": lambda p: True}, r"a number or \(mean, standard error\), .* True"),
        ({"accuracy": lambda p: [0.5]}, r"a number or \(mean, standard error\), .* \[0.5\]"),
    ],
)
def test_refused_searches(changes, message):
    with pytest.raises(InputError, match=message):
        found(**changes)


@pytest.mark.parametrize("space", [None, {"size": Integer(1, 3)}, [1, 2, 3], Space])
def test_what_is_no_space(space):
    message = re.escape(f"space must be a Space, but got {space!r}; try Space(")
    with pytest.raises(InputError, match=message):
        Search(space)


@pytest.mark.parametrize("strategy", ["random", "informed"])
def test_a_refused_answer_leaves_the_point_to_be_trained(strategy):
    asked = searching(strategy=strategy)
    with pytest.raises(InputError):
        asked.run(lambda point: "good", trials=3)
    assert [trial.state for trial in asked.study.trials()] == [State.waiting]


# ---- oracles


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (1, {"accuracy": 1.0, "error": None}),
        (np.float32(0.5), {"accuracy": 0.5, "error": None}),
        ((0.7, 0.01), {"accuracy": 0.7, "error": 0.01}),
        ({"accuracy": 0.7, "runs": 3, "cost": 9.0}, {"accuracy": 0.7, "runs": 3, "cost": 9.0}),
        ({"accuracy": 0.7, "reason": "odd"}, {"accuracy": 0.7, "reason": "odd"}),
    ],
)
def test_answers_of_the_accuracy_oracle(answer, kept):
    trial = found(accuracy=lambda point: answer, trials=1).trials[0]
    assert {name: getattr(trial, name) for name in kept} == kept
    assert trial.state is State.trained


def test_training_is_timed_where_the_oracle_does_not_tell():
    assert found(trials=1).trials[0].cost >= 0


@pytest.mark.parametrize("answer", [NAN, INF, (NAN, 0.1), {"accuracy": NAN}])
def test_an_accuracy_that_is_no_number_is_a_failure(answer):
    bad = {"size": 1, "milk": False, "roast": "dark"}
    result = found(accuracy=lambda p: answer if p == bad else 0.5, trials=SPACE.size)
    (trial,) = [trial for trial in result.trials if trial.state is State.failed]
    assert trial.point == bad
    assert trial.reason.startswith("the accuracy is ")


@pytest.mark.parametrize("which", ["accuracy", "seconds"])
@pytest.mark.parametrize("strategy", ["random", "informed"])
def test_an_exception_makes_a_failed_trial(which, strategy):
    oracle = {"accuracy": taste_of, "seconds": seconds_of}[which]

    def breaking(point):
        if point["milk"] and point["size"] > 2:
            raise RuntimeError("no milk")
        return oracle(point)

    result = found(**{which: breaking}, trials=SPACE.size, strategy=strategy)
    failed = [trial for trial in result.trials if trial.state is State.failed]
    assert {trial.reason for trial in failed} <= {"RuntimeError: no milk"}
    assert "trained" in states(result)


@pytest.mark.parametrize("which", ["accuracy", "seconds"])
@pytest.mark.parametrize("strategy", ["random", "informed"])
def test_a_broken_oracle_is_not_asked_for_long(which, strategy):
    def broken(point):
        raise RuntimeError("no water")

    message = "3 points failed and none was trained; the last, {.*}, with RuntimeError: no water"
    with pytest.raises(AutoGMError, match=message) as caught:
        found(**{which: broken}, strategy=strategy)
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize("bad", [0.0, -1.0, NAN, INF])
def test_a_time_that_is_none_fails_its_point_alone(bad):
    space = Space(size=Integer(1, 5))
    result = search(
        space,
        seconds=lambda p: bad if p["size"] == 3 else 1.0,
        accuracy=lambda p: p["size"] / 5,
        strategy="random",
        trials=5,
    )
    (failed,) = [trial for trial in result.trials if trial.state is State.failed]
    assert failed.point == {"size": 3}
    assert f"seconds answered {bad}" in failed.reason


def test_a_time_oracle_that_breaks_later_is_not_asked_for_long():
    def breaking(point):
        if measured:
            raise RuntimeError("no water")
        measured.append(point)
        return 1.0

    measured, space = [], Space(size=Integer(1, 200))
    result = search(
        space, seconds=breaking, accuracy=lambda point: 0.5, strategy="random", trials=3
    )
    assert len(result.trials) < 100


@pytest.mark.parametrize("answer", [{"runs": 1}, {"accuracy": 0.5, "eror": 0.1}])
def test_a_dict_says_the_accuracy_and_nothing_unknown(answer):
    with pytest.raises(InputError, match="a dict of accuracy and any of error, runs, cost, reason"):
        found(accuracy=lambda point: answer)


@pytest.mark.parametrize("told", [{"error": NAN}, {"cost": NAN}, {"cost": -1.0}])
def test_an_odd_error_or_cost_does_not_end_a_search(told):
    result = found(
        accuracy=lambda point: {"accuracy": taste_of(point), **told},
        strategy="informed",
        trials=SPACE.size - 8,
    )
    assert states(result) == ["trained"] * (SPACE.size - 8)


def test_two_failures_are_no_broken_oracle():
    broken = iter([RuntimeError("one"), RuntimeError("two")])

    def breaking(point):
        for error in broken:
            raise error
        return 0.5

    assert states(found(accuracy=breaking, trials=4)) == ["failed"] * 2 + ["trained"] * 2


def test_a_failed_training_counts():
    def breaking(point):
        if point["milk"]:
            raise RuntimeError("no milk")
        return 0.5

    result = found(accuracy=breaking, trials=7, seed=5)
    assert len(result.trials) == 7
    assert "failed" in states(result)


def test_a_point_is_measured_before_it_is_trained():
    calls = []
    found(
        seconds=lambda p: calls.append("measured") or 1.0,
        accuracy=lambda p: calls.append("trained") or 0.5,
        trials=3,
    )
    assert calls == ["measured", "trained"] * 3


# ---- the loop


def test_so_many_points_are_trained():
    result = found(trials=5)
    assert (states(result), result.reason) == (["trained"] * 5, "5 points were tried")


def test_what_is_only_measured_does_not_count():
    result = found(strategy="informed", budget=Budget(max_time=0.2), trials=3)
    assert states(result).count("trained") == 3


def test_a_space_that_is_exhausted():
    result = found(trials=100)
    assert len(result.trials) == SPACE.size
    assert result.reason == "no point is left that is worth a training"


def test_progress_hears_of_every_trial_that_ended():
    heard = []

    def breaking(point):
        if point["size"] == 1:
            raise RuntimeError("too small")
        return 0.5

    result = found(
        accuracy=breaking,
        strategy="informed",
        budget=Budget(max_time=0.35),
        seconds_many=lambda points: [0.3] * len(points),
        progress=heard.append,
        trials=SPACE.size,
    )
    assert {trial.state for trial in heard} == {State.trained, State.failed, State.too_slow}
    assert sorted(heard, key=lambda trial: trial.number) == list(result.trials)


def test_no_time_no_trial():
    result = searching().run(taste_of, left=lambda: 0.0)
    assert (result.trials, result.reason) == ((), "the time was over")


def test_time_is_looked_at_before_each_trial():
    left = iter([2.0, 1.0, 0.0])
    result = searching().run(taste_of, left=lambda: next(left))
    assert (len(result.trials), result.reason) == (2, "the time was over")


@pytest.mark.parametrize("strategy", ["random", "informed"])
@pytest.mark.parametrize(
    ("stop", "interrupted", "reason"),
    [(OutOfTime, False, "the time was over"), (KeyboardInterrupt, True, "interrupted")],
)
@pytest.mark.parametrize("which", ["seconds", "accuracy"])
def test_a_stopped_search_goes_on_with_the_point_it_left(
    stop, interrupted, reason, which, strategy
):
    trained, calls = [], {"seconds": 0, "accuracy": 0}

    def stopped(name, oracle):
        def call(point):
            calls[name] += 1
            if name == which and calls[name] == 3:
                raise stop
            if name == "accuracy":
                trained.append(point)
            return oracle(point)

        return call

    # Predictions, so that the time oracle is asked for trials alone.
    asked = searching(
        strategy=strategy,
        seconds=stopped("seconds", seconds_of),
        seconds_many=lambda points: list(map(seconds_of, points)),
    )
    accuracy = stopped("accuracy", taste_of)
    first = asked.run(accuracy, trials=5)
    assert (first.interrupted, first.reason) == (interrupted, reason)
    assert [trial.state for trial in first.trials[:2]] == [State.trained] * 2
    left = asked.study.trials()[2]
    assert left.state is State.waiting
    second = asked.run(accuracy, trials=5)
    assert trained[2] == left.point
    assert states(second) == ["trained"] * 5
    assert len({str(point) for point in trained}) == 5


def test_an_interrupted_search_keeps_its_best():
    def stopped(point):
        if len(tasted) == 4:
            raise KeyboardInterrupt
        tasted.append(taste_of(point))
        return tasted[-1]

    tasted = []
    assert found(accuracy=stopped).best.accuracy == max(tasted)


def test_a_time_that_is_known_is_not_measured_again():
    measured = []

    def seconds(point):
        measured.append(str(point))
        return seconds_of(point)

    def stopped(point):
        if len(measured) == 2:
            raise OutOfTime
        return taste_of(point)

    asked = searching(seconds=seconds)
    asked.run(stopped, trials=4)
    asked.run(taste_of, trials=4)
    assert len(measured) == len(set(measured)) == 4


def test_more_trials_go_on_where_fewer_ended():
    asked = searching(seed=1)
    asked.run(taste_of, trials=2)
    points = [trial.point for trial in asked.run(taste_of, trials=6).trials]
    assert points == [trial.point for trial in found(seed=1).trials]


def test_away_from_home_only_what_has_a_time_is_trained():
    class Away(InMemory):
        home, is_shared = False, True

    study = Away()
    trial = study.note(study.begin(next(iter(SPACE))), 0.5)
    study.put(trial)
    asked = searching(study=study, seconds=lambda point: pytest.fail("measured"))
    assert states(asked.run(taste_of, trials=1)) == ["trained"]


def test_points_are_handed_to_workers_that_may_not_measure():
    class Shared(InMemory):
        asked_for = 2

        def wanted(self):
            count, self.asked_for = self.asked_for, 0
            return count

    result = searching(study=Shared()).run(taste_of, trials=5)
    assert states(result) == ["trained"] * 5


def test_what_is_handed_out_fits():
    handed = []

    class Shared(InMemory):
        def wanted(self):
            return 1

        def put(self, trial):
            handed.append(trial.seconds)
            return super().put(trial)

    asked = searching(strategy="informed", budget=Budget(max_time=0.35), study=Shared())
    asked.run(taste_of, trials=4)
    assert handed
    assert max(handed) <= 0.35


# ---- results


def trial(number, seconds, accuracy, error=None):
    return Trial(
        number=number,
        point={"x": number},
        state=State.trained,
        seconds=seconds,
        accuracy=accuracy,
        error=error,
    )


CURVE = (
    trial(0, 1.0, 0.5),
    trial(1, 2.0, 0.7, 0.02),
    trial(2, 3.0, 0.65),
    trial(3, 4.0, 0.9, 0.1),
    trial(4, 5.0, 0.92),
)


@pytest.mark.parametrize(
    ("budget", "best", "nearest"),
    [
        (None, 4, 4),
        (Budget(max_time=4.5), 3, 3),
        (Budget(min_accuracy=0.6), 1, 1),
        (Budget(max_time=0.5), None, 0),
        (Budget(min_accuracy=0.99), None, 4),
    ],
)
def test_results(budget, best, nearest):
    result = SearchResult(CURVE, budget, "")
    assert (result.best and result.best.number) == best
    assert result.nearest.number == nearest


def test_the_front_of_a_result():
    assert [trial.number for trial in SearchResult(CURVE, None, "").front] == [0, 1, 3, 4]


def test_the_fastest_may_be_untrained():
    slow = Trial(number=9, point={"x": 9}, state=State.too_slow, seconds=0.5)
    assert SearchResult((*CURVE, slow), None, "").fastest is slow


def test_a_result_of_nothing():
    result = SearchResult((), Budget(max_time=1.0), "")
    assert result.best is result.nearest is result.fastest is None
    assert result.front == []


@pytest.mark.parametrize(
    ("searched", "budget", "number", "why"),
    [
        (
            None,
            Budget(max_time=2.5),
            1,
            "2 of 5 trained points hold it; a search of its own may fi",
        ),
        (
            None,
            Budget(max_time=1.5),
            0,
            "one of 5 trained points holds it; a search of its own may",
        ),
        (
            None,
            Budget(max_time=9.0),
            4,
            "5 of 5 trained points hold it; the whole curve was searche",
        ),
        (Budget(max_time=2.5), Budget(max_time=2.5), 1, "2 of 5 .*; it is what was searched for"),
        (Budget(max_time=2.5), Budget(max_time=9.0), 4, "5 of 5 .*; a search of its own may find"),
        (
            None,
            Budget(max_time=0.5),
            None,
            "none of 5 trained points holds it; a search of its own",
        ),
        (None, Budget(min_accuracy=0.8), 3, "hold it, this one by 1.0 standard errors; a search"),
        (None, Budget(min_accuracy=0.6), 1, "4 of 5 trained points hold it; a search of its own"),
    ],
)
def test_selected(searched, budget, number, why):
    selected = SearchResult(CURVE, searched, "").select(budget)
    assert (selected.trial and selected.trial.number) == number
    assert re.search(why, selected.why)


def test_an_accuracy_of_another_scale_is_no_trouble():
    """R², for one, has no lower end."""
    result = found(accuracy=lambda p: -math.exp(9 * p["size"]), strategy="informed", trials=8)
    assert result.best.point["size"] == 1


def test_ctrl_c_inside_compiled_code_is_no_failure_of_the_point():
    """Numba tells of it by a SystemError that it caused."""

    def interrupted(point):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise SystemError("returned a result with an exception set") from error

    result = found(accuracy=interrupted)
    assert result.interrupted
    assert states(result) == ["waiting"]


def test_accuracies_that_are_no_numbers_are_told_of():
    with pytest.raises(AutoGMError, match="3 points failed and none was trained"):
        found(accuracy=lambda point: NAN)


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ({"accuracy": 0.5}, "tell needs seconds with an accuracy"),
        ({"accuracy": "good", "seconds": 1.0}, "accuracy must be a number"),
    ],
)
def test_refused_tellings(told, text):
    asked = searching()
    with pytest.raises(InputError, match=text):
        asked.tell(asked.ask(), **told)


def test_a_trial_is_told_once():
    asked = searching()
    trial = asked.ask()
    asked.tell(trial, seconds=1.0, accuracy=0.5)
    with pytest.raises(InputError, match="trial 0 has ended already"):
        asked.tell(trial, seconds=1.0, accuracy=0.6)


def test_what_is_told_is_a_trial():
    with pytest.raises(InputError, match=r"the trial that ask gave, but got \{'size': 1\}"):
        searching().tell({"size": 1}, seconds=1.0)


def test_select_needs_a_budget():
    with pytest.raises(InputError, match=r"budget must be a Budget, but got '4ms'; try Budget"):
        found().select("4ms")
