"""From an algorithm and its weights to the steps that compute the same, faster.

Each rewrite keeps the function:

- Linear algorithms are a product, (A_k .. A_1) X_0 (W_1 .. W_k W_out), and a product may be taken
  in any order: the matrices fold into one, and messages pass where they are narrowest.
- A (X W) = (A X) W: the first matrix goes wherever it leaves the narrower messages.
- Scales are not negative, so relu(s x) = s relu(x), and (s x) W = s (x W): what a row's sum is
  multiplied with, and what the next step multiplies the row with, are one number.
- A row of A X W needs only its own row of A X: sums of a block of rows are multiplied while they
  are in the nearest cache.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from autogm.algorithm import Algorithm, Weights
from autogm.message.lanes import padded
from autogm.message.product import Matrix, aligned
from autogm.plan.matrices import Aggregations, FeatureMatrix, Scale
from autogm.plan.steps import (
    Dense,
    Layer,
    Output,
    Place,
    Product,
    Propagate,
    Spread,
    Step,
)

__all__ = [
    "Given",
    "first_product",
    "first_width",
    "folded",
    "for_features",
    "literal_steps",
    "pad",
    "product_steps",
    "steps_of",
]


class Given(NamedTuple):
    """All that a plan is made of."""

    algorithm: Algorithm
    weights: Weights
    features: FeatureMatrix
    matrices: Aggregations
    coded: bool
    """Whether the place of the largest output is wanted."""

    @property
    def rows(self) -> int:
        return self.features.num_rows

    def outputs(self, source: Place | None = None) -> Place:
        """Beside the messages they are made of."""
        slot = "x" if source is None else _other(source).slot
        count = self.weights.num_outputs
        return Place(slot, self.rows, padded(count), count)

    @property
    def output(self) -> Output:
        """What the last step adds."""
        bias = pad(self.weights.bias[None], rows=1)
        return Output(bias, self.weights.num_outputs, self.coded)


def first_width(algorithm: Algorithm, num_outputs: int) -> int:
    """How many columns the features are multiplied with first."""
    if algorithm.l and algorithm.k:
        return algorithm.d
    return min(algorithm.d, num_outputs) if algorithm.k else num_outputs


def steps_of(given: Given) -> list[Step]:
    """The fastest steps known."""
    if given.algorithm.k == 0:
        return [_only_features(given)]
    return _linear(given) if not given.algorithm.l else _nonlinear(given)


def folded(weights: Weights, first: int = 0) -> Matrix:
    """W_first .. W_k W_out, counted from 0; multiplied in double precision, from the narrow end."""
    product = weights.output.astype(np.float64)
    for matrix in reversed(weights.layers[first:]):
        product = matrix.astype(np.float64) @ product
    return product.astype(np.float32)


def _only_features(given: Given) -> Step:
    weight = for_features(given.features, given.weights.output)
    scale = given.features.scale
    return Product("X W_out", given.features, scale, weight, given.outputs(), given.output)


def _nonlinear(given: Given) -> list[Step]:
    k, d = given.algorithm.k, padded(given.algorithm.d)
    matrices = [pad(matrix) for matrix in (*given.weights.layers[1:], given.weights.output)]
    first = given.weights.layers[0]
    late = given.features.is_dense and given.features.dense.shape[1] < d
    steps: list[Step] = [first_product("X" if late else "X W_1", given, None if late else first)]
    for i, weight in enumerate(matrices, start=1):
        before = for_features(given.features, first) if late and i == 1 else None
        inner = f"A{_number(given, i)} X" + (" W_1" if before is not None else "")
        name = f"relu({inner}) W_{'out' if i == k else i + 1}"
        source = steps[-1].target
        target = (
            given.outputs(source)
            if i == k
            else _other(source)._replace(width=d, columns=given.algorithm.d)
        )
        places = (source, target, given.output if i == k else None)
        steps.append(Layer(name, given.matrices, i, True, before, weight, *places))
    return steps


def _linear(given: Given) -> list[Step]:
    """What passes is the features, or what they become with one matrix or with all of them."""
    weights, features = given.weights, given.features
    widths = {"outputs": _lanes(weights.num_outputs), "d": _lanes(given.algorithm.d)}
    if features.is_dense:
        widths["features"] = features.dense.shape[1]
    narrowest = min(widths, key=widths.__getitem__)
    if narrowest == "outputs":
        product = first_product("X W_1..W_out", given, folded(weights), narrow=True)
        return [product, *_pass(given, product.target, None, "")]
    if narrowest == "d":
        product = first_product("X W_1", given, weights.layers[0], narrow=True)
        return [product, *_pass(given, product.target, folded(weights, 1), " W_2..W_out")]
    product = first_product("X", given, None)
    rest = for_features(features, folded(weights))
    return [product, *_pass(given, product.target, rest, " W_1..W_out")]


def _pass(given: Given, source: Place, rest: Matrix | None, name: str) -> list[Step]:
    """All steps of messages; the last of them, or one more, is multiplied with ``rest``."""
    k, matrices = given.algorithm.k, given.matrices
    if source.width == 1:
        row = pad(np.ones((1, 1), np.float32) if rest is None else rest, rows=1)
        through = _propagate(given, k, source)
        places = (through.target, given.outputs(through.target), given.output)
        return [through, Spread(f"x{name}", row, *places)]
    steps: list[Step] = [] if k == 1 else [_propagate(given, k - 1, source)]
    rest = None if rest is None else pad(rest)
    source = steps[-1].target if steps else source
    places = (source, given.outputs(source), given.output)
    last = Layer(f"A{_number(given, k)} X{name}", matrices, k, False, None, rest, *places)
    return [*steps, last]


def _propagate(given: Given, last: int, source: Place) -> Step:
    """Steps 1 to ``last``, to and fro."""
    target = _other(source) if last % 2 else source
    return Propagate(_passed(given, last), given.matrices, last, source, target)


def literal_steps(given: Given) -> list[Step]:
    """Layer by layer as the paper writes it: nothing folded, nothing fused."""
    k = given.algorithm.k
    if k == 0:
        return [_only_features(given)]
    steps: list[Step] = [first_product("X W_1", given, given.weights.layers[0])]
    source = steps[0].target
    for i in range(1, k + 1):
        target = _other(source)
        relu = given.algorithm.l
        name = f"relu(A{_number(given, i)} X)" if relu else f"A{_number(given, i)} X"
        steps.append(Layer(name, given.matrices, i, relu, None, None, source, target))
        last = i == k
        weight = pad(given.weights.output if last else given.weights.layers[i])
        source = given.outputs(target) if last else _other(target)
        output = given.output if last else None
        steps.append(Dense(f"X W_{'out' if last else i + 1}", weight, target, source, output))
    return steps


def product_steps(given: Given) -> list[Step]:
    """X W_1 .. W_k W_out, one after another, on features that have been through all messages."""
    matrices = (*given.weights.layers, given.weights.output)
    first = for_features(given.features, matrices[0])
    source = Place("x", given.rows, first.shape[1], matrices[0].shape[1])
    steps: list[Step] = [Product("X W_1", given.features, given.features.scale, first, source)]
    for i, matrix in enumerate(matrices[1:], start=2):
        last = i == len(matrices)
        weight, target = pad(matrix), _other(steps[-1].target)
        target = target._replace(width=weight.shape[1], columns=matrix.shape[1])
        output = given.output if last else None
        name = f"X W_{'out' if last else i}"
        steps.append(Dense(name, weight, steps[-1].target, target, output))
    return steps


def first_product(
    name: str, given: Given, matrix: Matrix | None, *, narrow: bool = False
) -> Product:
    """Features, multiplied or as they are, as messages into step 1; one column may be numbers."""
    features, columns = given.features, given.features.width
    scale = _times(features.scale, given.matrices.before())
    if matrix is None:
        place = Place("x", given.rows, features.dense.shape[1], columns)
        return Product(name, features, scale, None, place)
    columns = matrix.shape[1]
    weight = for_features(features, matrix, narrow=narrow and columns == 1)
    place = Place("x", given.rows, weight.shape[1], columns)
    return Product(name, features, scale, weight, place)


def _times(a: Scale, b: Scale) -> Scale:
    if not len(a) or not len(b):
        return a if len(a) else b
    product = a * b
    product.flags.writeable = False
    return product


def _number(given: Given, i: int) -> str:
    """Of a step's matrix, where steps differ."""
    return "" if len(given.matrices.indptr) == 1 else f"_{i}"


def _lanes(width: int) -> int:
    return 1 if width == 1 else padded(width)


def _passed(given: Given, last: int) -> str:
    if last == 1:
        return f"A{_number(given, 1)} X"
    return f"A^{last} X" if len(given.matrices.indptr) == 1 else f"A_{last}..A_1 X"


def _other(place: Place) -> Place:
    return place._replace(slot="y" if place.slot == "x" else "x")


def for_features(features: FeatureMatrix, weight: Matrix, *, narrow: bool = False) -> Matrix:
    """As many rows as the features have columns with their padding; whole registers wide, or 1."""
    rows = features.dense.shape[1] if features.is_dense else features.width
    return pad(weight, rows=rows, narrow=narrow)


def pad(matrix: Matrix, *, rows: int | None = None, narrow: bool = False) -> Matrix:
    """Zeros to the right and below, up to whole registers or as said."""
    height = padded(matrix.shape[0]) if rows is None else rows
    made = aligned(height, 1 if narrow else padded(matrix.shape[1]))
    made[:] = 0
    made[: matrix.shape[0], : matrix.shape[1]] = matrix
    made.flags.writeable = False
    return made
