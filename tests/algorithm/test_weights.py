import numpy as np
import pytest

from autogm import Algorithm, InputError
from autogm.algorithm import Weights


def zeros(algorithm, num_features, num_outputs):
    *layers, output, bias = (
        np.zeros(shape, np.float32)
        for shape in Weights.shapes(algorithm, num_features, num_outputs)
    )
    return Weights(tuple(layers), output, bias)


@pytest.mark.parametrize(
    ("k", "expected"), [(0, [(5, 3), (3,)]), (3, [(5, 4), (4, 4), (4, 4), (4, 3), (3,)])]
)
def test_shapes_follow_the_algorithm(k, expected):
    assert Weights.shapes(Algorithm(d=4, k=k), 5, 3) == expected


@pytest.mark.parametrize("k", [0, 1, 2])
def test_they_know_their_widths(k):
    weights = zeros(Algorithm(d=4, k=k), 5, 3)
    assert (weights.num_features, weights.num_outputs) == (5, 3)
    weights.check(Algorithm(d=4, k=k), 5)


def test_weights_of_another_algorithm_are_refused():
    with pytest.raises(InputError, match=r"on 5 features must have the shapes \[\(5, 8\)"):
        zeros(Algorithm(d=4, k=2), 5, 3).check(Algorithm(d=8, k=2), 5)
