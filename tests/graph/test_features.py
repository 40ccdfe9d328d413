import numpy as np
import pytest
from scipy import sparse

from autogm import InputError
from autogm.graph.features import as_features, normalize_rows

MATRIX = np.array([[1, 3, 0], [0, 0, 0], [0.5, 0.25, 0.25]], dtype=np.float32)
NORMALIZED = np.array([[0.25, 0.75, 0], [0, 0, 0], [0.5, 0.25, 0.25]], dtype=np.float32)


def dense(features):
    return features.toarray() if sparse.issparse(features) else features


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_values_become_float32(kind):
    assert as_features(kind(MATRIX.astype(np.float64))).dtype == np.float32


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.coo_matrix])
def test_sparse_stays_sparse_by_rows(kind):
    features = as_features(kind(MATRIX))
    assert isinstance(features, sparse.csr_array)


def test_integers_and_lists_are_features():
    np.testing.assert_array_equal(as_features([[1, 2], [3, 4]]), [[1, 2], [3, 4]])


def test_dense_features_are_a_copy():
    assert not np.shares_memory(as_features(MATRIX), MATRIX)


def test_sparse_features_are_a_copy():
    matrix = sparse.csr_array(MATRIX)
    features = as_features(matrix)
    assert not any(np.shares_memory(getattr(features, a), getattr(matrix, a)) for a in PARTS)


PARTS = ("data", "indices", "indptr")


def test_duplicate_entries_of_a_sparse_matrix_add_up():
    matrix = sparse.coo_array(([1, 2, 3], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    assert as_features(matrix).toarray().tolist() == [[0, 3], [3, 0]]


@pytest.mark.parametrize("values", [[["tall"], ["small"]], [[1, 2], [3]]])
def test_what_is_no_matrix_of_numbers_is_refused(values):
    with pytest.raises(InputError, match="features must be a matrix of numbers, but "):
        as_features(values)


def test_the_value_that_is_no_number_is_named():
    with pytest.raises(InputError, match="'tall'"):
        as_features([[1, 2], [3, "tall"]])


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
def test_rows_are_divided_by_their_sums(kind):
    np.testing.assert_array_equal(dense(normalize_rows(kind(MATRIX))), NORMALIZED)


def test_sparse_rows_stay_sparse():
    assert isinstance(normalize_rows(sparse.csr_array(MATRIX)), sparse.csr_array)


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
def test_the_given_features_are_left_alone(kind):
    given = kind(MATRIX)
    normalize_rows(given)
    np.testing.assert_array_equal(dense(given), MATRIX)


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
def test_normalized_features_are_float32(kind):
    assert normalize_rows(kind(MATRIX)).dtype == np.float32
