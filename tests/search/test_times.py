import math

import numpy as np
import pytest

from autogm.errors import InputError
from autogm.search import Boolean, Categorical, Integer, Problem, Space, State, Trial
from autogm.search.times import Belief, Times

pytestmark = pytest.mark.usefixtures("one_thread")

SPACE = Space(size=Integer(1, 64, log=True), fast=Boolean(), kind=Categorical("a", "b", "c"))
ALL = SPACE.unflat(np.arange(SPACE.size))
CUPS = Space(cups=Integer(1, 9))


def seconds_of(point):
    return (
        point["size"] * (0.25 if point["fast"] else 1.0) * {"a": 1, "b": 2, "c": 3}[point["kind"]]
    )


def predicted(points):
    return [seconds_of(point) for point in points]


TRUE = np.array(predicted(SPACE.points(ALL)))


def measured(factor=1.0, count=12, seed=0):
    """Trials at random points, and what they really take."""
    places = np.random.default_rng(seed).choice(SPACE.size, count, replace=False)
    points = SPACE.points(SPACE.unflat(places))
    return [
        Trial(number=i, point=p, state=State.too_slow, seconds=factor * seconds_of(p))
        for i, p in enumerate(points)
    ]


def places_of(trials):
    return SPACE.flat(SPACE.codes([trial.point for trial in trials]))


SOURCES = pytest.mark.parametrize(
    "source",
    [{}, {"seconds": seconds_of}, {"seconds_many": predicted}],
    ids=["learnt from trials", "probed", "predicted"],
)


@SOURCES
def test_a_measurement_is_believed(source):
    trials = measured(factor=3.0)
    belief = Times(Problem(space=SPACE, **source)).of(ALL, trials)
    at = places_of(trials)
    np.testing.assert_allclose(belief.seconds[at], [trial.seconds for trial in trials])
    assert (belief.deviation[at] == 0).all()


@SOURCES
def test_what_was_not_measured_is_doubted(source):
    belief = Times(Problem(space=SPACE, **source)).of(ALL, [])
    assert np.isfinite(belief.mean).all()
    assert (belief.deviation >= 0).all()
    assert belief.deviation.max() > 0


def test_without_a_check_predictions_are_taken_as_they_are():
    belief = Times(Problem(space=SPACE, seconds_many=predicted)).of(ALL, [])
    np.testing.assert_allclose(belief.seconds, TRUE)


@pytest.mark.parametrize("factor", [1 / 3, 1.0, 3.0])
def test_predictions_that_are_all_off_are_corrected(factor):
    belief = Times(Problem(space=SPACE, seconds_many=predicted)).of(ALL, measured(factor))
    np.testing.assert_allclose(belief.seconds, factor * TRUE, rtol=0.25)


def test_one_check_corrects_a_little():
    belief = Times(Problem(space=SPACE, seconds_many=predicted)).of(ALL, measured(math.e, 1))
    others = np.setdiff1d(np.arange(SPACE.size), places_of(measured(math.e, 1)))
    np.testing.assert_allclose(belief.mean[others], np.log(TRUE[others]) + 1 / 4)


def test_predictions_that_are_off_in_a_corner_are_corrected_there():
    trials = [
        trial if trial.point["fast"] else Trial(**{**vars(trial), "seconds": 4 * trial.seconds})
        for trial in measured(count=60)
    ]
    belief = Times(Problem(space=SPACE, seconds_many=predicted)).of(ALL, trials)
    slow = ~SPACE.features(ALL)[:, 1].astype(bool)
    np.testing.assert_allclose(belief.seconds[slow], 4 * TRUE[slow], rtol=0.3)
    np.testing.assert_allclose(belief.seconds[~slow], TRUE[~slow], rtol=0.3)


def test_times_are_learnt_from_probes():
    belief = Times(Problem(space=SPACE, seconds=seconds_of)).of(ALL, [])
    assert np.median(np.abs(belief.mean - np.log(TRUE))) < 0.1


def test_nothing_known_is_doubted_much():
    belief = Times(Problem(space=SPACE)).of(ALL, [])
    assert (belief.deviation > 2).all()


def test_predictions_are_asked_for_once():
    asked = []

    def many(points):
        asked.extend(map(str, points))
        return predicted(points)

    times = Times(Problem(space=SPACE, seconds_many=many))
    for trials in ([], measured(), measured(count=20, seed=1)):
        times.of(ALL[::2], trials)
    assert len(asked) == len(set(asked)) <= SPACE.size


def test_where_times_are_predicted_nothing_is_measured():
    def seconds(point):
        raise AssertionError(point)

    Times(Problem(space=SPACE, seconds=seconds, seconds_many=predicted)).of(ALL, [])


def test_a_point_is_probed_at_most_once():
    probed = []

    times = Times(Problem(space=CUPS, seconds=lambda p: probed.append(p["cups"]) or 1.0))
    for _ in range(2):
        times.of(CUPS.unflat(np.arange(9)), [])
    assert sorted(probed) == list(range(1, 10))


def test_the_seed_chooses_the_probes():
    def probes(seed):
        asked = []
        problem = Problem(space=SPACE, seed=seed, seconds=lambda p: asked.append(p) or 1.0)
        Times(problem).of(ALL, [])
        return asked

    assert probes(1) == probes(1) != probes(2)


def test_what_cannot_be_measured_is_no_probe():
    def seconds(point):
        if point["cups"] == 5:
            raise RuntimeError("no water")
        return float(point["cups"])

    belief = Times(Problem(space=CUPS, seconds=seconds)).of(CUPS.unflat(np.arange(9)), [])
    assert np.flatnonzero(belief.deviation > 0).tolist() == [4]


@pytest.mark.parametrize("answer", [float("nan"), 0.0, -1.0, float("inf"), "1s", None])
def test_what_is_no_time_is_no_probe(answer):
    problem = Problem(space=CUPS, seconds=lambda p: answer if p["cups"] == 5 else 1.0)
    belief = Times(problem).of(CUPS.unflat(np.arange(9)), [])
    assert np.flatnonzero(belief.deviation > 0).tolist() == [4]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([1.0] * 8, r"must answer one number a point \(9\), but answered an array of shape \(8,\)"),
        (1.0, r"must answer one number a point \(9\), but answered an array of shape \(\)"),
        ([1.0] * 8 + [0.0], "must answer .* above 0, but answered 0 for {'cups': 9}"),
        ([-2.0] + [1.0] * 8, "must answer .* above 0, but answered -2 for {'cups': 1}"),
        ([1.0, float("nan")] + [1.0] * 7, "above 0, but answered nan for {'cups': 2}"),
        ([1.0, float("inf")] + [1.0] * 7, "above 0, but answered inf for {'cups': 2}"),
        (["soon"] * 9, "must answer one number a point, but answered .'soon', .*, ...]"),
        (None, "seconds_many must answer one number a point"),
    ],
)
def test_refused_predictions(answer, message):
    problem = Problem(space=CUPS, seconds_many=lambda points: answer)
    with pytest.raises(InputError, match=message):
        Times(problem).of(CUPS.unflat(np.arange(9)), [])


@pytest.mark.parametrize(
    ("seconds", "deviation", "limit", "chance"),
    [
        (1.0, 0.0, 1.0, 1.0),
        (1.0, 0.0, 0.999, 0.0),
        (1.0, 0.3, 1.0, 0.5),
        (1.0, 0.3, math.exp(0.3), 0.8413447460685429),
        (1.0, 0.3, None, 1.0),
    ],
)
def test_the_chance_that_a_point_fits(seconds, deviation, limit, chance):
    belief = Belief(np.log([seconds]), np.array([deviation]))
    assert belief.chance(limit)[0] == pytest.approx(chance)
