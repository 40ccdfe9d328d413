import numpy as np
import pytest
from scipy import sparse

from autogm import Algorithm
from autogm.graph import planted_partition
from autogm.message import aggregate, neighbours
from autogm.message.field import Aggregation
from autogm.train.propagate import propagated


@pytest.mark.parametrize("width", [5, 256, 300, 520])
@pytest.mark.parametrize("form", ["dense", "full sparse", "sparse"])
def test_rows_are_those_of_the_product(width, form):
    graph = planted_partition(120, degree=4)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((120, width)).astype(np.float32)
    x *= rng.random(x.shape) < {"dense": 1, "full sparse": 0.5, "sparse": 0.002}[form]
    targets = rng.permutation(120)[:30]
    field = Aggregation(graph, Algorithm(k=2)).field(targets)
    found = propagated(field, x if form == "dense" else sparse.csr_array(x))
    assert isinstance(found, np.ndarray) == (form == "dense")
    found = found if form == "dense" else found.toarray()
    matrix = aggregate(neighbours(graph), "SS")
    np.testing.assert_allclose(found, (matrix @ (matrix @ x))[targets], rtol=1e-4, atol=1e-5)
