import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from autogm.message.lanes import padded
from autogm.message.product import SparseRows, gather, scatter_columns


@st.composite
def matrices(draw):
    shape = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    seed = draw(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    dense = rng.standard_normal(shape).astype(np.float32)
    return dense * (rng.random(shape) < draw(st.floats(0, 1)))


def rows_of(dense):
    matrix = sparse.csr_array(dense)
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    return SparseRows.of(indptr, indices, matrix.data, matrix.shape[1])


@pytest.mark.parametrize(("width", "expected"), [(1, 16), (16, 16), (17, 32), (300, 304)])
def test_widths_are_padded_to_whole_registers(width, expected):
    assert padded(width) == expected


@given(dense=matrices(), width=st.sampled_from([16, 48, 64, 80, 144]))
def test_gather_is_the_product(dense, width):
    source = np.random.default_rng(0).standard_normal((dense.shape[1], width)).astype(np.float32)
    out = np.full((len(dense), width), np.nan, dtype=np.float32)
    gather(rows_of(dense), source, out)
    np.testing.assert_allclose(out, dense @ source, rtol=1e-5, atol=1e-5)


@given(dense=matrices(), width=st.sampled_from([16, 48, 64, 80, 144]))
def test_scatter_adds_the_product_with_the_transpose(dense, width):
    source = np.random.default_rng(0).standard_normal((len(dense), width)).astype(np.float32)
    out = np.ones((dense.shape[1], width), dtype=np.float32)
    scatter_columns(0, width, *rows_of(dense)[:4], source, out)
    np.testing.assert_allclose(out, 1 + dense.T @ source, rtol=1e-5, atol=1e-5)


def test_the_number_of_threads_does_not_change_a_bit():
    rng = np.random.default_rng(1)
    matrix = rows_of(rng.random((700, 600)).astype(np.float32) * (rng.random((700, 600)) < 0.3))
    source = rng.random((700, 80), dtype=np.float32)
    one, two = (np.empty((700, 80), np.float32) for _ in range(2))
    gather(matrix, source, one, threads=1)
    gather(matrix, source, two, threads=2)
    np.testing.assert_array_equal(one, two)
