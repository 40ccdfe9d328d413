import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from autogm.message.lanes import padded
from autogm.message.product import SparseRows, gather


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


@given(dense=matrices())
def test_transposing_twice_gives_the_matrix_back(dense):
    turned = rows_of(dense).transposed()
    assert turned.num_rows == dense.shape[1]
    again = turned.transposed()
    for ours, expected in zip(again[:4], rows_of(dense)[:4], strict=True):
        np.testing.assert_array_equal(ours, expected)
