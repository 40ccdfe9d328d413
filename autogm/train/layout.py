"""All matrices of an algorithm in one long vector, padded to whole registers.

Padding is zero and stays zero: messages, gradients and moments of a padding column are all zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autogm.algorithm import Algorithm, Weights
from autogm.message.kernel import fused
from autogm.message.lanes import padded
from autogm.message.product import Matrix, aligned

__all__ = ["Layout", "Spans", "Vector", "matrix", "take", "zeros"]

Vector = NDArray[np.float32]


class Spans(NamedTuple):
    """Where W_1 .. W_k, the output matrix and the bias (a matrix of one row) stand."""

    start: NDArray[np.int64]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]


class Layout:
    """The vector's shape, for some algorithm, features and outputs."""

    def __init__(self, algorithm: Algorithm, num_features: int, num_outputs: int) -> None:
        self.shapes = Weights.shapes(algorithm, num_features, num_outputs)
        (rows, columns), *inner, (bias,) = self.shapes
        padding = [(rows, padded(columns)), *((padded(r), padded(c)) for r, c in inner)]
        padding.append((1, padded(bias)))
        sizes = np.array(padding, dtype=np.int64)
        ends = np.cumsum(sizes.prod(axis=1))
        self.spans = Spans(ends - sizes.prod(axis=1), sizes[:, 0].copy(), sizes[:, 1].copy())
        self.size, self.first = int(ends[-1]), int(ends[0])
        self.width = int(sizes[0, 1])
        self.outputs = int(sizes[-1, 1])

    def start(self, seed: int) -> Vector:
        """Glorot's uniform start; the bias is zero."""
        rng = np.random.default_rng(seed)
        vector = zeros(self.size)
        for part, shape in list(self._cut(vector))[:-1]:
            bound = np.sqrt(6 / sum(shape))
            part[:] = rng.uniform(-bound, bound, shape)
        return vector

    def pad(self, weights: Weights) -> Vector:
        vector = zeros(self.size)
        given = (*weights.layers, weights.output, weights.bias[None])
        for (part, _), own in zip(self._cut(vector), given, strict=True):
            part[:] = own
        return vector

    def unpad(self, vector: Vector) -> Weights:
        """Copies of the matrices without padding."""
        *layers, output, bias = (part.copy() for part, _ in self._cut(vector))
        return Weights(tuple(layers), output, bias[0])

    def _cut(self, vector: Vector) -> Iterator[tuple[Matrix, tuple[int, ...]]]:
        for i, shape in enumerate(self.shapes):
            whole = matrix(vector, self.spans, i)
            own = shape if len(shape) == 2 else (1, *shape)
            yield whole[: own[0], : own[1]], own


def zeros(size: int) -> Vector:
    vector: Vector = aligned(1, size)[0]
    vector[:] = 0
    return vector


@fused
def matrix(vector: Any, spans: Any, i: Any) -> Any:
    """The i-th matrix, counted from 0, as a view."""
    start, rows, columns = spans.start[i], spans.rows[i], spans.columns[i]
    return vector[start : start + rows * columns].reshape((rows, columns))


@fused
def take(scratch: Any, at: Any, rows: Any, columns: Any) -> Any:
    """A matrix out of scratch memory, and where the next may start."""
    end = at + rows * columns
    return scratch[at:end].reshape((rows, columns)), end
