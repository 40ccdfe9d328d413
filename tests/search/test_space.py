import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autogm.errors import InputError
from autogm.search import Boolean, Categorical, Integer, Space

SMALL = Space(
    d=Integer(1, 5, log=True), w=Integer(2, 4, last=-1), l=Boolean(), a=Categorical("x", "y", "z")
)


@st.composite
def axes(draw):
    kind = draw(st.sampled_from(["integer", "boolean", "text", "number"]))
    if kind == "boolean":
        return Boolean()
    if kind == "integer":
        low = draw(st.integers(1, 50))
        high = low + draw(st.integers(0, 40))
        last = draw(st.sampled_from([None, -1, 1000]))
        return Integer(low, high, log=draw(st.booleans()), last=last)
    texts, numbers = st.text(max_size=3), st.floats(-9, 9).map(lambda x: round(x, 3))
    choices = draw(
        st.lists(texts if kind == "text" else numbers, min_size=1, max_size=5, unique=True)
    )
    return Categorical(*choices)


spaces = st.lists(axes(), min_size=1, max_size=4).map(
    lambda made: Space(**{f"p{i}": axis for i, axis in enumerate(made)})
)


# ---- axes


@pytest.mark.parametrize(
    ("axis", "values"),
    [
        (Integer(2, 4), [2, 3, 4]),
        (Integer(-1, 1), [-1, 0, 1]),
        (Integer(7, 7), [7]),
        (Integer(2, 4, last=-1), [2, 3, 4, -1]),
        (Boolean(), [False, True]),
        (Categorical("b", "a"), ["b", "a"]),
        (Categorical(np.int64(3), np.str_("a"), np.bool_(True)), [3, "a", True]),
    ],
)
def test_values(axis, values):
    assert list(axis.values) == values
    assert [type(found) for found in axis.values] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("axis", "features"),
    [
        (Integer(0, 4), [0, 0.25, 0.5, 0.75, 1]),
        (Integer(1, 4, log=True), [0, 0.5, np.log2(3) / 2, 1]),
        (Integer(7, 7), [0]),
        (Integer(1, 3, weight=3), [0, 1.5, 3]),
        (Integer(1, 3, last=-1), [0, 1 / 3, 2 / 3, 1]),
        (Integer(1, 2, log=True, last=-1), [0, 0.5, 1]),
        (Boolean(weight=0.5), [0, 0.5]),
        (Categorical("a", "b"), [1, 0]),
        (Categorical(64), [0]),
        (Categorical(1, 10, 100), [0, 0.5, 1]),
        (Categorical(-1, 0, 3), [0, 0.25, 1]),
    ],
)
def test_features_of_one_column(axis, features):
    expected = np.array(features, np.float64)[:, None]
    np.testing.assert_allclose(axis.features(), expected, atol=1e-15)


def test_choices_are_equally_unlike():
    rows = Categorical("a", "b", "c").features()
    apart = np.linalg.norm(rows[:, None] - rows, axis=-1)
    np.testing.assert_allclose(apart, 1 - np.eye(3))


def test_factors_are_features():
    axis = Categorical("NN", "SN", factors=[(0, 1), (0.5, 1)])
    assert axis.features().tolist() == [[0, 1], [0.5, 1]]


@pytest.mark.parametrize("weight", [1.0, 4.0, 0.0])
@pytest.mark.parametrize("log", [False, True])
def test_thinned_values_hold_both_ends(log, weight):
    kept = Integer(1, 300, log=log, last=-1, weight=weight).thinned(10)
    assert (kept[0], kept[-1], len(kept)) == (0, 300, 10)


def test_thinned_values_follow_the_scale():
    axis = Integer(1, 1024, log=True)
    assert [axis.values[i] for i in axis.thinned(11)] == [2**i for i in range(11)]


@pytest.mark.parametrize("axis", [Integer(3, 9), Boolean(), Categorical("a", "b", "c")])
def test_a_short_axis_is_not_thinned(axis):
    assert axis.thinned(7).tolist() == list(range(len(axis.values)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Integer(3, 1), "low must be at most high, but got low=3, high=1"),
        (lambda: Integer(0.5, 1), "low must be a whole number, but got 0.5"),
        (lambda: Integer(1, True), "high must be a whole number, but got True"),
        (lambda: Integer(0, 5, log=True), "low must be at least 1 where log=True, but got 0"),
        (lambda: Integer(1, 5, last=4), "last must be outside of 1..5, but got 4"),
        (lambda: Integer(1, 5, last=0.5), "last must be a whole number, but got 0.5"),
        (lambda: Categorical(), "Categorical needs at least one choice"),
        (lambda: Categorical([1, 2]), r"texts, finite numbers or truth values, but got \[1, 2\]"),
        (lambda: Categorical(None), "texts, finite numbers or truth values, but got None"),
        (lambda: Categorical("a", "a"), "choices must differ, but got 'a', 'a'"),
        (lambda: Categorical(1, True), "choices must differ, but got 1, True"),
        (lambda: Categorical(1, float("nan")), "finite numbers or truth values, but got nan"),
        (lambda: Categorical(float("inf")), "finite numbers or truth values, but got inf"),
        (
            lambda: Categorical("a", "b", factors=[(0,)]),
            r"factors must be one row a choice \(2\), but got 1 rows",
        ),
    ],
)
def test_refused_axes(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (Categorical("a", "b"), Categorical("a", "b"), True),
        (Categorical("a", "b"), Categorical("b", "a"), False),
        (Categorical("a"), Categorical("a", factors=[(1,)]), False),
        (Integer(1, 3), Integer(1, 3), True),
        (Integer(1, 3), Integer(1, 3, log=True), False),
    ],
)
def test_equal_axes(one, other, same):
    assert (one == other) is same


# ---- spaces


def test_size_is_the_product():
    assert SMALL.size == 5 * 4 * 2 * 3


def test_points_are_all_enumerated_once():
    points = [tuple(point.values()) for point in SMALL]
    assert len(set(points)) == len(points) == SMALL.size


def test_a_point_is_a_plain_dict():
    assert SMALL.point([0, 3, 1, 2]) == {"d": 1, "w": -1, "l": True, "a": "z"}


@given(spaces, st.data())
def test_codes_and_points_are_inverse(space, data):
    places = data.draw(st.lists(st.integers(0, space.size - 1), max_size=5))
    codes = space.unflat(places)
    assert space.flat(space.codes(space.points(codes))).tolist() == places


@given(spaces, st.data())
def test_one_point_is_as_of_many(space, data):
    code = space.unflat([data.draw(st.integers(0, space.size - 1))])
    assert space.point(code[0]) == space.points(code)[0]


@given(spaces)
def test_points_are_json(space):
    point = space.point(space.unflat([space.size - 1])[0])
    assert json.loads(json.dumps(point)) == point


@given(spaces, st.integers(1, 2000))
def test_a_grid_is_small_and_holds_each_point_once(space, most):
    places = space.flat(space.grid(most))
    assert len(places) <= max(most, 1)
    assert len(np.unique(places)) == len(places)
    assert places.max() < space.size


def test_a_grid_of_a_small_space_is_the_space():
    assert sorted(SMALL.flat(SMALL.grid(SMALL.size))) == list(range(SMALL.size))


def test_a_grid_of_very_many_switches_stays_small():
    space = Space(**{f"switch{i}": Boolean() for i in range(40)})
    assert 0 < len(space.grid(1000)) <= 1000


@given(spaces, st.integers(0, 99))
def test_draws_are_in_the_space(space, seed):
    drawn = space.draw(20, np.random.default_rng(seed))
    assert all(point in space for point in space.points(drawn))


def test_draws_are_even():
    places = SMALL.flat(SMALL.draw(12_000, np.random.default_rng(0)))
    counts = np.bincount(places, minlength=SMALL.size)
    # 100 each: chi-square with 119 degrees of freedom, 99.9 %.
    assert ((counts - 100) ** 2 / 100).sum() < 174


def test_features_stand_side_by_side():
    codes = SMALL.codes([{"d": 5, "w": 2, "l": True, "a": "y"}])
    np.testing.assert_allclose(SMALL.features(codes), [[1, 0, 1, 0, 1 / np.sqrt(2), 0]])


@pytest.mark.parametrize(
    ("point", "is_in"),
    [
        ({"d": 1, "w": 2, "l": True, "a": "x"}, True),
        ({"a": "x", "l": False, "w": -1, "d": 5}, True),
        ({"d": np.int64(1), "w": 2, "l": np.bool_(True), "a": np.str_("x")}, True),
        ({"d": 1.0, "w": 2, "l": True, "a": "x"}, True),
        ({"d": True, "w": 2, "l": True, "a": "x"}, False),
        ({"d": 1, "w": 2, "l": 1, "a": "x"}, False),
        ({"d": 1, "w": 1, "l": True, "a": "x"}, False),
        ({"d": [1], "w": 2, "l": True, "a": "x"}, False),
        ({"d": 1, "w": 2, "l": True}, False),
        ({"d": 1, "w": 2, "l": True, "a": "x", "b": 1}, False),
        ("d=1", False),
        (None, False),
    ],
)
def test_membership(point, is_in):
    assert (point in SMALL) is is_in


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ({"d": 6, "w": 2, "l": True, "a": "x"}, "d must be one of 1, 2, 3, …, but got 6"),
        ({"d": 1, "w": 2, "l": True, "a": "w"}, "a must be one of 'x', 'y', 'z', but got 'w'"),
        ({"d": 1, "w": 2, "l": 0, "a": "x"}, "l must be one of False, True, but got 0"),
        ({"d": 1, "l": True, "a": "x"}, "a point needs d, w, l, a, but w is missing"),
        ({"D": 1, "w": 2}, "a point has 'D', which the space has not: it has d, w, l, a"),
        ({"ww": 1}, "a point has 'ww'.*; did you mean 'w'?"),
        (7, "a point must be a dict of parameters, but got 7"),
    ],
)
def test_refused_points(point, message):
    with pytest.raises(InputError, match=message):
        SMALL.codes([point])


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({}, "a Space needs at least one axis"),
        (
            {f"d{i}": Integer(1, 512) for i in range(7)},
            r"less than 2\*\*63 points, but got 9223372036854775808; give fewer values",
        ),
        ({"d": 64}, r"d must be an Integer, a Boolean or a Categorical, but got 64; .*\(64\)"),
        ({"a": ["x", "y"]}, r"a must be an Integer, .* but got \['x', 'y'\]"),
    ],
)
def test_refused_spaces(axes, message):
    with pytest.raises(InputError, match=message):
        Space(**axes)


@pytest.mark.parametrize(
    "other",
    [
        Space(d=Integer(1, 4), l=Boolean()),
        Space(l=Boolean(), d=Integer(1, 3)),
        Space(e=Integer(1, 3), l=Boolean()),
        Space(d=Integer(1, 3), l=Categorical("no", "yes")),
        Space(d=Integer(1, 3, last=-1), l=Boolean()),
    ],
)
def test_other_spaces_have_other_fingerprints(other):
    assert other.fingerprint != Space(d=Integer(1, 3), l=Boolean()).fingerprint


@pytest.mark.parametrize(
    "same",
    [
        Space(d=Integer(1, 3, log=True, weight=2), l=Boolean()),
        Space(d=Categorical(1, 2, 3), l=Categorical(False, True)),
        Space(d=Integer(np.int64(1), np.int32(2), last=np.int64(3)), l=Boolean()),
    ],
)
def test_spaces_of_the_same_points_are_equal(same):
    space = Space(d=Integer(1, 3), l=Boolean())
    assert (same, hash(same)) == (space, hash(space))


def test_a_space_is_written_as_it_was_made():
    space = Space(a=Categorical("x", "y"), l=Boolean())
    assert repr(space) == "Space(a=Categorical('x', 'y'), l=Boolean(weight=1.0))"
