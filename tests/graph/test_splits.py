import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autogm import InputError, Splits

LABELS = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [700, 200, 100]))
NAN = float("nan")


def per_class(labels=LABELS, **changes):
    return Splits.per_class(labels, **{"train": 5, "val": 50, "test": 100, **changes})


def fractions(labels=LABELS, **changes):
    return Splits.fractions(labels, **{"train": 0.1, "val": 0.2, **changes})


MAKERS = pytest.mark.parametrize("make", [per_class, fractions])


def as_lists(splits):
    return [part.tolist() for part in splits]


def test_per_class_trains_on_the_same_number_of_every_class():
    assert np.bincount(LABELS[per_class().train]).tolist() == [5, 5, 5]


def test_per_class_counts_validation_and_test_nodes():
    splits = per_class()
    assert (len(splits.val), len(splits.test)) == (50, 100)


def test_without_a_number_the_rest_is_tested():
    assert len(per_class(test=None).test) == 1000 - 15 - 50


@pytest.mark.parametrize(("part", "share"), [("train", 0.1), ("val", 0.2), ("test", 0.7)])
def test_fractions_hold_every_class_in_its_share(part, share):
    counts = np.bincount(LABELS[getattr(fractions(), part)], minlength=3)
    np.testing.assert_allclose(counts, share * np.array([700, 200, 100]), atol=1)


def test_fractions_round_to_the_whole():
    assert [len(part) for part in fractions(test=0.3)] == [100, 200, 300]


@given(
    st.lists(st.integers(5, 60), min_size=2, max_size=5),
    st.integers(0, 9),
    st.floats(0.2, 0.4),
)
def test_a_class_is_never_more_than_two_nodes_off_its_share(counts, seed, train):
    labels = np.repeat(np.arange(len(counts)), counts)
    splits = Splits.fractions(labels, train=train, val=0.3, seed=seed)
    found = np.bincount(labels[splits.train], minlength=len(counts))
    assert np.abs(found - train * np.array(counts)).max() <= 2


def test_a_rare_class_is_trained_on():
    labels = np.repeat([0, 1, 2], [500, 497, 3])
    assert 2 in labels[Splits.fractions(labels, train=0.03, val=0.1).train]


@MAKERS
def test_splits_are_disjoint(make):
    listed = np.concatenate(make())
    assert len(np.unique(listed)) == len(listed)


@MAKERS
def test_the_same_seed_gives_the_same_splits(make):
    assert as_lists(make(seed=3)) == as_lists(make(seed=3))


@MAKERS
def test_another_seed_gives_other_splits(make):
    assert as_lists(make(seed=3)) != as_lists(make(seed=4))


@MAKERS
def test_positions_ascend(make):
    assert all((np.diff(part) > 0).all() for part in make())


@MAKERS
def test_unlabelled_nodes_are_left_out(make):
    labels = np.where(np.arange(1000) % 2, LABELS, -1)
    assert (labels[np.concatenate(make(labels))] >= 0).all()


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param(np.where(np.arange(100) < 60, 0.5, NAN), id="regression"),
        pytest.param(np.where(np.arange(100) < 60, 1, [[-1], [0]]).T, id="many labels"),
    ],
)
def test_targets_without_classes_are_split_at_random(labels):
    splits = Splits.fractions(labels, train=0.5, val=0.25)
    assert [len(part) for part in splits] == [30, 15, 15]


def test_masks_give_positions():
    masks = np.eye(3, dtype=bool)
    assert as_lists(Splits.given(*masks, num_nodes=3)) == [[0], [1], [2]]


def test_lists_of_positions_are_sorted():
    assert as_lists(Splits.given([4, 0], [2], [3, 1], num_nodes=5)) == [[0, 4], [2], [1, 3]]


@pytest.mark.parametrize("word", ["val", "valid", "validation", " Valid "])
def test_words_name_the_splits(word):
    splits = Splits.named(["train", word, "test", "", None, "Train"])
    assert as_lists(splits) == [[0, 5], [1], [2]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train": 101}, "train=101 .* class 2 has only 100 labelled; ask for at most 100"),
        ({"train": 0}, "train must be a whole number of at least 1, but got 0; try 1"),
        ({"train": 2.5}, "train must be a whole number of at least 1, but got 2.5"),
        ({"val": 0}, "val must be a whole number of at least 1, but got 0"),
        ({"val": -3}, "val must be a whole number of at least 1, but got -3"),
        ({"val": 2.5}, "val must be a whole number of at least 1, but got 2.5"),
        ({"val": True}, "val must be a whole number of at least 1, but got True"),
        ({"test": 0}, "test must be a whole number of at least 1, but got 0"),
        ({"test": -1}, "test must be a whole number of at least 1, but got -1"),
        ({"test": 1.5}, "test must be a whole number of at least 1, but got 1.5"),
        ({"seed": 1.5}, "seed must be a whole number of at least 0, but got 1.5"),
        ({"seed": -1}, "seed must be a whole number of at least 0, but got -1"),
        ({"labels": np.repeat([0, 2], 50)}, "but class 1 has none; label some"),
        ({"val": 900}, "val=900 and test=100 need 1000 nodes, but 985 labelled ones are left"),
        ({"val": 985, "test": None}, "val=985 and test=None need 986 nodes, but 985"),
        ({"labels": np.zeros(9) + 0.5}, r"float64 of shape \(9,\); use Splits.fractions"),
        ({"labels": np.full(9, -1)}, "every label is -1"),
    ],
)
def test_impossible_counts_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        per_class(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train": 0}, "train must be between 0 and 1, but got 0; 0.1 is usual"),
        ({"train": "x"}, "train must be between 0 and 1, but got 'x'"),
        ({"val": 1.5}, "val must be between 0 and 1, but got 1.5"),
        ({"train": NAN}, "train must be between 0 and 1, but got nan"),
        ({"test": -0.1}, "test must be between 0 and 1, but got -0.1"),
        ({"train": 0.8, "val": 0.2}, "test must be between 0 and 1"),
        ({"test": 0.9}, r"at most 1, but 0.1 \+ 0.2 \+ 0.9 = 1.2; leave test out"),
        ({"seed": 1.5}, "seed must be a whole number of at least 0, but got 1.5"),
        ({"labels": np.repeat([0, 1], 2)}, "train=0.1, val=0.2 of 4 .* split without a node"),
        ({"labels": np.arange(50)}, "train=0.1 of 50 .* is 5, fewer than the 50 classes"),
        ({"labels": np.full(9, -1)}, "every label is -1"),
    ],
)
def test_impossible_shares_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        fractions(**changes)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([], [1], [2]), "the train split is empty"),
        (([0], [False, False, False], [2]), "the val split is empty"),
        (([0], [1], [3]), r"the test split must hold positions in 0\.\.2, but has 3"),
        (([-1], [1], [2]), r"the train split must hold positions in 0\.\.2, but has -1"),
        (([0], [0, 1], [1, 2]), "must be disjoint, but nodes 0, 1 are listed twice"),
        (([0.0], [1], [2]), "list of positions, but got float64 values"),
        (([[0, 1]], [1], [2]), r"a list of positions, but got int64 values of shape \(1, 2\)"),
        ((0, [1], [2]), r"a list of positions, but got int64 values of shape \(\)"),
        (([True, False], [1], [2]), r"one entry a node \(3\), but its shape is \(2,\)"),
    ],
)
def test_wrong_parts_are_refused(parts, message):
    with pytest.raises(InputError, match=message):
        Splits.given(*parts, num_nodes=3)


def test_a_column_without_one_of_the_words_is_refused():
    with pytest.raises(InputError, match="the test split is empty"):
        Splits.named(["train", "val", "validation"])
