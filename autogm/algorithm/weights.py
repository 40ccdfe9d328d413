"""What training gives an algorithm: its matrices and an output layer."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from autogm.algorithm.algorithm import Algorithm
from autogm.errors import InputError

__all__ = ["Weights"]

Matrix = NDArray[np.float32]


class Weights(NamedTuple):
    """W_1..W_k of Algorithm 1 (no biases) and the output layer: X_k ``output`` + ``bias``.

    ``layers[0]`` is d0 x d, the others are d x d; ``output`` is d x C (d0 x C for k = 0).
    """

    layers: tuple[Matrix, ...]
    output: Matrix
    bias: NDArray[np.float32]

    @property
    def num_features(self) -> int:
        return int((*self.layers, self.output)[0].shape[0])

    @property
    def num_outputs(self) -> int:
        return int(self.output.shape[1])

    @classmethod
    def shapes(
        cls, algorithm: Algorithm, num_features: int, num_outputs: int
    ) -> list[tuple[int, ...]]:
        """Of W_1..W_k, the output matrix and the bias."""
        widths = [num_features, *[algorithm.d] * algorithm.k, num_outputs]
        return [*pairwise(widths), (num_outputs,)]

    def check(self, algorithm: Algorithm, num_features: int) -> None:
        """They are what the algorithm needs on features of that width."""
        shapes = [matrix.shape for matrix in (*self.layers, self.output, self.bias)]
        expected = self.shapes(algorithm, num_features, self.num_outputs)
        if shapes != expected:
            raise InputError(
                f"weights of {algorithm} on {num_features} features must have the shapes "
                f"{expected}, but got {shapes}; train them for this algorithm and these features"
            )
