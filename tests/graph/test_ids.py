import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autogm import InputError
from autogm.graph.ids import IdIndex, number, stable_keys

INTEGERS = st.integers(0, 40) | st.integers(-(2**63), 2**63 - 1)
# NumPy cannot hold text that ends in a zero, nor lone surrogates.
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6)
INDICES = [
    pytest.param(np.arange(4), id="range"),
    pytest.param(np.array([7, 3, 9]), id="table"),
    pytest.param(np.array([7, -3, 2**40]), id="sorted"),
]


def some(values, **limits):
    return st.lists(values, **limits)


@given(some(INTEGERS, min_size=1, unique=True), some(INTEGERS))
def test_integers_are_found_as_in_a_dict(ids, others):
    check_against_dict(ids, ids + others, np.int64)


@given(some(st.integers(0, 30), min_size=1, unique=True), some(st.integers(-5, 40)))
def test_small_integers_are_found_as_in_a_dict(ids, others):
    check_against_dict(ids, ids + others, np.int32)


@given(some(TEXTS, min_size=1, unique=True), some(TEXTS))
def test_texts_are_found_as_in_a_dict(ids, others):
    check_against_dict(ids, ids + others, np.str_)


def check_against_dict(ids, wanted, dtype):
    place = {value: at for at, value in enumerate(ids)}
    found, known = IdIndex(np.array(ids, dtype=dtype)).find(np.array(wanted, dtype=dtype))
    assert known.tolist() == [value in place for value in wanted]
    assert found[known].tolist() == [place[value] for value in wanted if value in place]


@given(some(st.sampled_from(["a", "b", "c", "dd"]), min_size=1))
def test_duplicates_are_those_counted_twice(ids):
    twice = IdIndex(np.array(ids)).duplicates()
    assert twice.tolist() == sorted({value for value in ids if ids.count(value) > 1})


@given(some(st.tuples(INTEGERS, INTEGERS)))
def test_numbers_follow_the_ascending_ids(pairs):
    check_number(np.array(pairs, dtype=np.int64).reshape(-1, 2))


@given(some(st.tuples(st.integers(0, 20), st.integers(0, 20))))
def test_small_numbers_follow_the_ascending_ids(pairs):
    check_number(np.array(pairs, dtype=np.int32).reshape(-1, 2))


def check_number(pairs):
    positions = list(pairs.T)
    ids = number(positions)
    assert ids.tolist() == sorted(set(pairs.ravel().tolist()))
    np.testing.assert_array_equal(ids[np.array(positions, dtype=int)], pairs.T)


@given(some(INTEGERS))
def test_an_integer_is_its_own_stable_key(ids):
    keys = stable_keys(np.array(ids, dtype=np.int64))
    assert keys.tolist() == [value % 2**64 for value in ids]


@given(some(TEXTS, min_size=1), st.integers(0, 9))
def test_text_keys_do_not_depend_on_the_width_of_the_array(texts, padding):
    narrow = np.array(texts)
    wide = narrow.astype(f"U{narrow.dtype.itemsize // 4 + padding}")
    np.testing.assert_array_equal(stable_keys(narrow), stable_keys(wide))


@given(some(TEXTS, min_size=1, unique=True))
def test_different_texts_have_different_keys(texts):
    assert len(set(stable_keys(np.array(texts)).tolist())) == len(texts)


@given(some(TEXTS, min_size=1))
def test_the_key_of_a_text_does_not_depend_on_its_company(texts):
    alone = [stable_keys(np.array([text])).item() for text in texts]
    assert stable_keys(np.array(texts)).tolist() == alone


@pytest.mark.parametrize("ids", INDICES)
@pytest.mark.parametrize("kind", [str, object])
def test_integers_are_found_by_their_text(ids, kind):
    wanted = ids.astype(str).astype(kind)
    assert IdIndex(ids).require(wanted).tolist() == list(range(len(ids)))


def test_texts_are_found_by_integers():
    assert IdIndex(np.array(["7", "x"])).require(np.array([7])).tolist() == [0]


@pytest.mark.parametrize("ids", INDICES)
def test_nothing_is_found_where_nothing_is_wanted(ids):
    assert IdIndex(ids).require(np.array([])).tolist() == []


@pytest.mark.parametrize("ids", INDICES)
def test_an_unknown_id_is_named(ids):
    with pytest.raises(InputError, match=r"be in nodes\.csv, but 2 are not: 5, 55; its ids look"):
        IdIndex(ids).require(np.array([55, 5, 55]), owner="nodes.csv")


@pytest.mark.parametrize("ids", INDICES)
def test_text_that_is_no_integer_is_named(ids):
    with pytest.raises(InputError, match=r"are integers like .*, but got 'ann'"):
        IdIndex(ids).require(np.array(["ann"]))


@pytest.mark.parametrize("wanted", ["007", "+7", "7.0", "7e0", " 7", "1_0"])
def test_text_that_writes_an_integer_another_way_is_another_id(wanted):
    with pytest.raises(InputError, match=f"are integers like 7, 10, but got '{re.escape(wanted)}'"):
        IdIndex(np.array([7, 10])).require(np.array(["7", wanted]))


@pytest.mark.parametrize("ids", INDICES)
@pytest.mark.parametrize("wanted", [2.5, np.nan, np.inf])
def test_a_number_that_is_not_whole_is_no_id(ids, wanted):
    with pytest.raises(InputError, match=str(wanted)):
        IdIndex(ids).require(np.array([wanted]))


@pytest.mark.parametrize("ids", INDICES)
def test_an_integer_too_large_for_any_id_is_named(ids):
    with pytest.raises(InputError, match="99999999999999999999"):
        IdIndex(ids).require(np.array(["99999999999999999999"]))
