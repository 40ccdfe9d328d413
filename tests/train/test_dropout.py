import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from autogm.train.dropout import (
    Dropout,
    activate,
    deactivate,
    drop,
    gather_kept,
    layer_key,
    scatter_kept,
)
from autogm.train.rows import FeatureRows

RATES = [0.0, 0.25, 0.5, 0.9]


def mask_of(nodes, width, rate, seed=0, epoch=0, layer=0):
    """What is kept, read off ones that went through."""
    dropout = Dropout.of(rate, seed)
    out = np.empty((len(nodes), width), np.float32)
    ones = np.ones((len(nodes), width), np.float32)
    drop(
        ones, np.asarray(nodes, np.int64), dropout, np.uint64(layer_key(dropout, epoch, layer)), out
    )
    return out


@pytest.mark.parametrize("rate", RATES)
def test_it_drops_the_share_asked_for_and_scales_the_rest(rate):
    mask = mask_of(np.arange(2000), 70, rate)
    kept = mask > 0
    # 140,000 bits; a rate is kept to 1/256, so at most 0.002 off, and six standard errors.
    assert abs(kept.mean() - (1 - rate)) < 0.002 + 6 * np.sqrt(0.25 / mask.size)
    np.testing.assert_allclose(mask[kept], 256 / round(256 * (1 - rate)), rtol=1e-6)


@pytest.mark.parametrize("rate", [0.25, 0.5])
def test_columns_rows_and_neighbouring_bits_are_independent(rate):
    kept = (mask_of(np.arange(4000), 130, rate) > 0).astype(float)
    kept -= kept.mean()
    spread = kept.var() / np.sqrt(kept.size)
    for other in (np.roll(kept, 1, axis=0), np.roll(kept, 1, axis=1), np.roll(kept, 64, axis=1)):
        assert abs((kept * other).mean()) < 6 * spread


def test_a_mask_follows_the_node_not_its_place():
    some, other = mask_of([7, 3], 40, 0.5), mask_of([1, 2, 3, 7], 40, 0.5)
    np.testing.assert_array_equal(some, other[[3, 2]])


@pytest.mark.parametrize("change", [{"seed": 1}, {"epoch": 1}, {"layer": 1}])
def test_seeds_epochs_and_layers_have_masks_of_their_own(change):
    before, after = mask_of(np.arange(50), 64, 0.5), mask_of(np.arange(50), 64, 0.5, **change)
    assert 0.4 < np.mean(before == after) < 0.6


def rows_of(matrix, nodes):
    csr = sparse.csr_array(matrix)
    first, last = csr.indptr[:-1].astype(np.int64), csr.indptr[1:].astype(np.int64)
    indices = csr.indices.astype(np.int32)
    return FeatureRows(nodes, first, last, indices, csr.data, np.empty((0, 0), np.float32))


@given(
    rate=st.sampled_from(RATES),
    width=st.sampled_from([16, 64, 80]),
    columns=st.sampled_from([3, 64, 150]),
    seed=st.integers(0, 100),
)
def test_sparse_rows_are_dropped_entry_by_entry(rate, width, columns, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((6, columns)).astype(np.float32) * (rng.random((6, columns)) < 0.7)
    nodes = rng.permutation(20)[:6].astype(np.int64)
    dropout = Dropout.of(rate, seed)
    key = np.uint64(layer_key(dropout, 3, 0))
    mask = mask_of(nodes, columns, rate, seed, epoch=3)
    dropped = matrix.copy()
    for r in range(6):  # the j-th entry of a row is decided by bit j
        at = np.flatnonzero(matrix[r])
        dropped[r, at] *= mask[r, : len(at)]
    source = rng.standard_normal((columns, width)).astype(np.float32)
    out = np.empty((6, width), np.float32)
    gather_kept(rows_of(matrix, nodes), dropout, key, source, out)
    np.testing.assert_allclose(out, dropped @ source, rtol=1e-4, atol=1e-3)
    back = rng.standard_normal((6, width)).astype(np.float32)
    turned = np.empty((columns, width), np.float32)
    scatter_kept(rows_of(matrix, nodes), dropout, key, back, turned)
    np.testing.assert_allclose(turned, dropped.T @ back, rtol=1e-4, atol=1e-3)


def test_activation_and_the_way_back():
    nodes = np.arange(9)
    x = np.random.default_rng(0).standard_normal((9, 80)).astype(np.float32)
    mask = mask_of(nodes, 80, 0.5, layer=2)
    dropout = Dropout.of(0.5, 0)
    activated = x.copy()
    activate(activated, nodes, dropout, np.uint64(layer_key(dropout, 0, 2)))
    np.testing.assert_array_equal(activated, np.maximum(x, 0) * mask)
    gradient = np.ones_like(x)
    deactivate(activated, dropout, gradient)
    np.testing.assert_array_equal(gradient, (x > 0) * mask)


def test_a_message_that_is_no_number_is_seen():
    x = np.full((1, 16), np.nan, np.float32)
    dropout = Dropout.of(0.0, 0)
    activate(x, np.array([0]), dropout, np.uint64(layer_key(dropout, 0, 1)))
    assert np.isnan(x).all()
