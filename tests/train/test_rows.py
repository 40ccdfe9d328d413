import numpy as np
import pytest
from scipy import sparse

from autogm.train.rows import dense_cells, feature_rows


@pytest.mark.parametrize(
    ("share", "kept", "dense"),
    [(0.1, 1, False), (0.9, 1, True), (0.6, 1, True), (0.6, 0.5, False)],
)
def test_the_cheaper_form_is_counted(share, kept, dense):
    """A sparse multiplication costs 2.5 dense ones; dropout halves those of a sparse product."""
    cells = np.random.default_rng(0).random((40, 50)) < share
    features = sparse.csr_array(cells.astype(np.float32))
    rows = np.arange(5, 30)
    assert dense_cells(features, rows, kept=kept) == (25 * 50 if dense else 0)
    found = feature_rows(features, rows, kept=kept)
    assert len(found.dense) == (25 if dense else 0)
    assert len(found.first) == (0 if dense else 25)


def test_whole_dense_features_are_not_copied():
    features = np.zeros((6, 3), np.float32)
    assert np.shares_memory(feature_rows(features, np.arange(6)).dense, features)
    assert not np.shares_memory(feature_rows(features, np.arange(5)).dense, features)
