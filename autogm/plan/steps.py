"""What a plan is a list of: each step names itself, counts itself, and becomes one kernel call."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from autogm.message.lanes import padded
from autogm.message.product import Matrix, aligned
from autogm.plan import kernels
from autogm.plan.matrices import Aggregations, FeatureMatrix, Scale
from autogm.plan.program import Call

__all__ = [
    "Cost",
    "Dense",
    "Layer",
    "Memory",
    "Output",
    "Place",
    "Product",
    "Propagate",
    "Spread",
    "Step",
]

# What is left out of a kernel's arguments.
_NO_NUMBERS = np.empty(0, np.float32)
_NO_MATRIX = np.empty((0, 0), np.float32)
_NO_CODES = np.empty(0, np.int32)
for _nothing in (_NO_NUMBERS, _NO_MATRIX):
    _nothing.flags.writeable = False

# Parts of a step: a few for each thread of a common machine, none so small that taking it costs.
_PARTS = 16
_SMALLEST = 1 << 16


class Cost(NamedTuple):
    """What a step must read and write at least, each array once, and multiply and add."""

    bytes: int
    operations: int


class Place(NamedTuple):
    """A matrix in a thread's memory, of ``width`` columns with padding; 1 means plain numbers."""

    slot: str
    rows: int
    width: int
    columns: int
    """Without padding, as they are counted."""

    @property
    def size(self) -> int:
        return self.rows * self.width

    @property
    def numbers(self) -> int:
        return self.rows * self.columns


class Output(NamedTuple):
    """What the last step adds: the bias, and codes of the largest output if they are wanted."""

    bias: Matrix
    num_outputs: int
    coded: bool


class Memory:
    """Buffers of one thread that calls, and of those who help it."""

    def __init__(self, places: list[Place], scratch: int, threads: int) -> None:
        sizes: dict[str, int] = {}
        for place in places:
            sizes[place.slot] = max(sizes.get(place.slot, 0), place.size)
        self._flat = {slot: aligned(1, size)[0] for slot, size in sizes.items()}
        self.scratch = aligned(threads, -(-scratch // 16) * 16)
        self.codes = np.empty(max(place.rows for place in places), np.int32)

    def fill(self, number: float) -> None:
        """Memory that was never written to is not read as other memory is."""
        for flat in self._flat.values():
            flat[:] = number

    def at(self, place: Place) -> NDArray[np.float32]:
        flat: NDArray[np.float32] = self._flat[place.slot][: place.size]
        return flat if place.width == 1 else flat.reshape(place.rows, place.width)


class Step(Protocol):
    """One kernel call, or several in one, from a place in memory to another."""

    @property
    def name(self) -> str: ...

    @property
    def source(self) -> Place | None:
        """None where it is the features."""

    @property
    def target(self) -> Place: ...

    @property
    def scratch(self) -> int:
        """Numbers that a thread needs besides."""

    @property
    def cost(self) -> Cost: ...

    def call(self, memory: Memory) -> Call: ...


@dataclass(frozen=True, eq=False)
class Product:
    """Features times a matrix (dense ones may be left as they are), each row scaled."""

    name: str
    features: FeatureMatrix
    scale: Scale
    weight: Matrix | None
    target: Place
    output: Output | None = None
    source: None = None
    scratch: int = 0

    @property
    def cost(self) -> Cost:
        moved = self.features.num_bytes + 4 * self.target.numbers
        if self.weight is None:
            return Cost(moved, self.target.numbers)
        weight = self.features.width * self.target.columns
        operations = 2 * self.features.nonzeros * self.target.columns
        return Cost(moved + 4 * weight, operations)

    def call(self, memory: Memory) -> Call:
        weight = _NO_MATRIX if self.weight is None else self.weight
        if not self.features.is_dense:
            return _sparse_call(self, weight, memory)
        x, out = self.features.dense, memory.at(self.target)
        bounds = even_bounds(len(x), max(1, len(weight)) * self.target.width)
        if self.target.width == 1:
            return Call(kernels.dense_numbers, (bounds, x, self.scale, _row(weight), out))
        bias, count, codes = _output(self.output, memory)
        given = (bounds, x, self.scale, weight)
        return Call(kernels.dense_layer, (*given, bias, count, out, codes))


def _sparse_call(step: Product, weight: Matrix, memory: Memory) -> Call:
    """A product with a sparse matrix adds rows of the weight up, as a layer does messages."""
    features, out = step.features, memory.at(step.target)
    bounds = bounds_of(features.indptr, step.target.width)
    if step.target.width == 1:
        rows = (features.indptr[None], features.indices, features.values, False)
        one = np.zeros(1, np.int64)
        steps = (_scales([step.scale]), one, one)
        return Call(kernels.propagate_numbers, (1, bounds, *rows, *steps, weight.reshape(-1), out))
    rows = (features.indptr, features.indices, features.values, False)
    bias, count, codes = _output(step.output, memory)
    products = (weight, _NO_MATRIX, _NO_MATRIX)
    given = (bounds, *rows, step.scale, False, *products, bias, count)
    return Call(kernels.layer, (*given, out, codes, memory.scratch))


@dataclass(frozen=True, eq=False)
class Layer:
    """One step of messages, and the products around it that need not be stored between."""

    name: str
    matrices: Aggregations
    step: int
    relu: bool
    before: Matrix | None
    weight: Matrix | None
    source: Place
    target: Place
    output: Output | None = None

    @property
    def scratch(self) -> int:
        if self.before is None and self.weight is None:
            return 0
        between = 0 if self.before is None else self.before.shape[1]
        return kernels.BLOCK * (self.source.width + between)

    @property
    def cost(self) -> Cost:
        widths = [self.source.columns]
        widths += [] if self.before is None else [self.before.shape[1]]
        widths += [] if self.weight is None else [self.target.columns]
        weights = sum(rows * columns for rows, columns in pairwise(widths))
        operations = 2 * self.matrices.num_entries(self.step) * self.source.columns
        moved = 4 * (self.source.numbers + weights + self.target.numbers)
        return Cost(
            _bytes_of_step(self.matrices) + moved, operations + 2 * self.target.rows * weights
        )

    def call(self, memory: Memory) -> Call:
        matrices, i = self.matrices, self.matrices.matrix_of(self.step)
        work = self.source.width + sum(
            m.shape[1] for m in (self.before, self.weight) if m is not None
        )
        bias, count, codes = _output(self.output, memory)
        args = (
            bounds_of(matrices.indptr[i], work),
            matrices.indptr[i],
            matrices.indices,
            matrices.values,
            matrices.loop,
            matrices.scale(self.step),
            self.relu,
            memory.at(self.source),
            _NO_MATRIX if self.before is None else self.before,
            _NO_MATRIX if self.weight is None else self.weight,
            bias,
            count,
            memory.at(self.target),
            codes,
            memory.scratch,
        )
        return Call(kernels.layer, args)


@dataclass(frozen=True, eq=False)
class Propagate:
    """The first ``count`` steps of messages with nothing between them, in one call."""

    name: str
    matrices: Aggregations
    count: int
    source: Place
    target: Place
    """The source's place after an even number of steps, else the other."""
    scratch: int = 0

    @property
    def cost(self) -> Cost:
        steps = range(1, self.count + 1)
        operations = sum(2 * self.matrices.num_entries(s) * self.source.columns for s in steps)
        each = _bytes_of_step(self.matrices) + 8 * self.source.numbers
        return Cost(self.count * each, operations)

    def call(self, memory: Memory) -> Call:
        matrices, steps = self.matrices, range(1, self.count + 1)
        x = self.source
        other = x._replace(slot="y" if x.slot == "x" else "x")
        scales = {id(scale): scale for scale in map(matrices.scale, steps)}
        order = list(scales)
        kernel = kernels.propagate_numbers if self.source.width == 1 else kernels.propagate
        args = (
            self.count,
            bounds_of(matrices.indptr[0], self.source.width),
            matrices.indptr,
            matrices.indices,
            matrices.values,
            matrices.loop,
            _scales(list(scales.values())),
            np.array([matrices.matrix_of(step) for step in steps], np.int64),
            np.array([order.index(id(matrices.scale(step))) for step in steps], np.int64),
            memory.at(x),
            memory.at(other),
        )
        return Call(kernel, args, self.count)


@dataclass(frozen=True, eq=False)
class Spread:
    """Messages of one number times a matrix of one row."""

    name: str
    weight: Matrix
    source: Place
    target: Place
    output: Output
    scratch: int = 0

    @property
    def cost(self) -> Cost:
        numbers = self.source.numbers + self.target.numbers
        return Cost(4 * numbers, 2 * self.target.numbers)

    def call(self, memory: Memory) -> Call:
        bounds = even_bounds(self.target.rows, self.target.width)
        given = (bounds, memory.at(self.source), self.weight)
        bias, count, codes = _output(self.output, memory)
        return Call(kernels.spread_numbers, (*given, bias, count, memory.at(self.target), codes))


@dataclass(frozen=True, eq=False)
class Dense:
    """Messages times a matrix."""

    name: str
    weight: Matrix
    source: Place
    target: Place
    output: Output | None = None
    scratch: int = 0

    @property
    def cost(self) -> Cost:
        weight = self.source.columns * self.target.columns
        numbers = self.source.numbers + weight + self.target.numbers
        return Cost(4 * numbers, 2 * self.source.rows * weight)

    def call(self, memory: Memory) -> Call:
        bounds = even_bounds(self.target.rows, self.weight.size)
        bias, count, codes = _output(self.output, memory)
        given = (bounds, memory.at(self.source), _NO_NUMBERS, self.weight)
        return Call(kernels.dense_layer, (*given, bias, count, memory.at(self.target), codes))


def bounds_of(indptr: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Where parts of equal work begin; they depend on the matrix alone."""
    rows = len(indptr) - 1
    work = indptr - indptr[0] + np.arange(rows + 1)
    parts = int(max(1, min(_PARTS, work[-1] * max(16, width) // _SMALLEST)))
    cuts = np.searchsorted(work, np.arange(1, parts) * (work[-1] / parts))
    return np.unique(np.concatenate([[0], cuts, [rows]])).astype(np.int64)


def even_bounds(rows: int, width: int) -> NDArray[np.int64]:
    """Parts of equally many rows."""
    parts = int(max(1, min(_PARTS, rows * max(16, width) // _SMALLEST)))
    return np.unique(np.linspace(0, rows, parts + 1).astype(np.int64))


def read_only(array: NDArray[np.float32]) -> NDArray[np.float32]:
    view = array.view()
    view.flags.writeable = False
    return view


def _bytes_of_step(matrices: Aggregations) -> int:
    """Of one step's matrix."""
    distinct = len(matrices.indptr)
    return matrices.num_bytes // distinct


def _output(output: Output | None, memory: Memory) -> tuple[Matrix, int, NDArray[np.int32]]:
    if output is None:
        return _NO_MATRIX, 0, _NO_CODES
    return output.bias, output.num_outputs, memory.codes if output.coded else _NO_CODES


def _scales(scales: list[Scale]) -> NDArray[np.float32]:
    made = np.stack(scales)
    made.flags.writeable = False
    return made


def _row(weight: Matrix) -> Matrix:
    """A column as a row of whole registers."""
    made = aligned(1, padded(weight.size))
    made[:] = 0
    made[0, : weight.size] = weight.reshape(-1)
    return read_only(made)
