import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autogm.message.dense import multiply, multiply_transposed, transpose


def matrix(rows, columns, seed=0):
    return np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32)


WIDTHS = st.sampled_from([16, 48, 64, 80, 144])


@given(rows=st.integers(0, 11), inner=st.integers(0, 9), width=WIDTHS)
def test_multiply_is_the_product(rows, inner, width):
    a, b = matrix(rows, inner), matrix(inner, width, 1)
    out = np.full((rows, width), np.nan, np.float32)
    multiply(a, b, out)
    np.testing.assert_allclose(out, a @ b, rtol=1e-4, atol=1e-5)


@given(rows=st.integers(0, 11), inner=st.integers(0, 9), width=WIDTHS)
def test_multiply_transposed_is_the_product_with_the_transpose(rows, inner, width):
    a, b = matrix(rows, inner), matrix(rows, width, 1)
    out = np.full((inner, width), np.nan, np.float32)
    multiply_transposed(a, b, out)
    np.testing.assert_allclose(out, a.T @ b, rtol=1e-4, atol=1e-5)


def test_transpose():
    out = np.empty((5, 3), np.float32)
    transpose(matrix(3, 5), out)
    np.testing.assert_array_equal(out, matrix(3, 5).T)


def test_rows_of_registers_must_be_contiguous():
    with pytest.raises(Exception, match="must be C-contiguous float32"):
        multiply(matrix(4, 4), np.asfortranarray(matrix(4, 64)), matrix(4, 64))
