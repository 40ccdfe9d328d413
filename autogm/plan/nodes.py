"""Answers for some nodes: their receptive field is laid down, then computed, in one call.

What does not depend on who asks is prepared: the features' product with the first matrix (with all
of them, where nothing is nonlinear) and the draws of every step.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autogm.algorithm import Algorithm, Weights
from autogm.message.dense import multiply
from autogm.message.kernel import flush_denormals, fused, set_float_mode
from autogm.message.lanes import padded
from autogm.message.product import Matrix, aligned
from autogm.plan.kernels import BLOCK, finish_rows, sums
from autogm.plan.matrices import Aggregations, FeatureMatrix
from autogm.plan.plan import Plan
from autogm.plan.rewrite import Given, first_product, folded, for_features, pad

__all__ = ["NodePlan", "node_plan"]

# Beyond this share of the graph in one step, all nodes are computed in one pass.
_LARGE = 0.25

# A stamp is kept in the upper half of a signed number of 64 bits.
_LAST_STAMP = 2**31 - 1

Answers = tuple[Matrix, NDArray[np.int32]]


class NodePlan(ABC):
    """Outputs, and codes if they are wanted, for nodes by position; many threads may ask."""

    prepared: tuple[str, ...] = ()
    """What was made in advance."""

    @abstractmethod
    def answers(self, targets: NDArray[np.int32]) -> Answers | None:
        """Fresh arrays; None where one pass over all nodes is cheaper."""


def node_plan(given: Given, *, threads: int, large: float = _LARGE) -> NodePlan:
    """``large`` is the share of the graph beyond which it does not answer."""
    return _Messages(given, threads, large) if given.algorithm.k else _OnlyFeatures(given)


class _OnlyFeatures(NodePlan):
    """k = 0: the output layer on the features of those who are asked for."""

    def __init__(self, given: Given) -> None:
        weight = for_features(given.features, given.weights.output)
        self._given = (given.features, weight, given.output.bias, given.weights.num_outputs)
        self._coded = given.coded

    def answers(self, targets: NDArray[np.int32]) -> Answers | None:
        features, weight, bias, count = self._given
        outputs = np.empty((len(targets), weight.shape[1]), np.float32)
        codes = np.empty(len(targets) if self._coded else 0, np.int32)
        _answer_features(targets, features, weight, bias, count, outputs, codes)
        return outputs[:, :count], codes


class _Ready(NamedTuple):
    """What a call needs besides the nodes that are asked for, all of it read-only."""

    first: Matrix
    """Messages into step 1, of all nodes."""
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]
    loop: bool
    scale: NDArray[np.float32]
    matrix_of: NDArray[np.int64]
    scale_of: NDArray[np.int64]
    relu: bool
    weights: NDArray[np.float32]
    weight_at: NDArray[np.int64]
    """Where in ``weights`` the matrix after a step begins; -1 for none."""
    bias: Matrix
    num_outputs: int


class _Scratch(NamedTuple):
    """Memory of one thread. ``place`` says where in a level a node stands, and in which call."""

    place: NDArray[np.int64]
    stamp: NDArray[np.int64]
    level_at: NDArray[np.int64]
    nodes: NDArray[np.int32]
    row_ptr: NDArray[np.int64]
    edges: NDArray[np.int32]
    values: NDArray[np.float32]
    scale: NDArray[np.float32]
    messages: Matrix
    block: NDArray[np.float32]


class _OfThread(threading.local):
    scratch: _Scratch | None = None


class _Messages(NodePlan):
    """k > 0: the receptive field of those who are asked for."""

    prepared = ("features times the first matrix", "draws of every step")

    def __init__(self, given: Given, threads: int, large: float) -> None:
        weights = given.weights
        self._k, self._coded = given.algorithm.k, given.coded
        whole = not given.algorithm.l and _passes_outputs(given.algorithm, weights)
        weight = folded(weights) if whole else weights.layers[0]
        product = first_product("X W", given, weight)
        first = Plan([product], product.target.width, threads).outputs()
        self._ready = _ready(given.algorithm, weights, first, given.matrices)
        self._large = int(large * len(first))
        self._own = _OfThread()

    def answers(self, targets: NDArray[np.int32]) -> Answers | None:
        ready, size = self._ready, len(targets)
        outputs = np.empty((size, ready.bias.shape[1]), np.float32)
        codes = np.empty(size if self._coded else 0, np.int32)
        scratch = self._own.scratch or self._grow(max(size, 256))
        if scratch.stamp[0] > _LAST_STAMP - self._k:
            scratch.place[:] = scratch.stamp[0] = 0
        given = (targets, self._k, ready)
        needed = _answer(*given, scratch, self._large, outputs, codes)
        while needed > 0:
            scratch = self._grow(needed)
            needed = _answer(*given, scratch, self._large, outputs, codes)
        return None if needed < 0 else (outputs[:, : ready.num_outputs], codes)

    def _grow(self, needed: int) -> _Scratch:
        """Room for as many nodes and edges, and more."""
        ready, before = self._ready, self._own.scratch
        room, n, width = 2 * needed, len(ready.first), ready.first.shape[1]
        self._own.scratch = _Scratch(
            place=np.zeros(n, np.int64) if before is None else before.place,
            stamp=np.zeros(1, np.int64) if before is None else before.stamp,
            level_at=np.zeros(self._k + 2, np.int64),
            nodes=np.empty(room, np.int32),
            row_ptr=np.zeros(room + 1, np.int64),
            edges=np.empty(room, np.int32),
            values=np.empty(room if len(ready.values) else 0, np.float32),
            scale=np.empty(room if ready.scale.shape[1] else 0, np.float32),
            messages=aligned(2, min(room, n) * width),
            block=aligned(1, BLOCK * width)[0],
        )
        return self._own.scratch


def _ready(algorithm: Algorithm, weights: Weights, first: Matrix, matrices: Aggregations) -> _Ready:
    steps = range(1, algorithm.k + 1)
    scales = {id(scale): scale for scale in map(matrices.scale, steps)}
    order = list(scales)
    after = _after(algorithm, weights)
    sizes = [0 if matrix is None else matrix.size for matrix in after]
    begin = np.cumsum([0, *sizes])[:-1]
    laid = [matrix.reshape(-1) for matrix in after if matrix is not None]
    return _Ready(
        first=_read_only(first),
        indptr=matrices.indptr,
        indices=matrices.indices,
        values=matrices.values,
        loop=matrices.loop,
        scale=_read_only(np.stack(list(scales.values()))),
        matrix_of=np.array([matrices.matrix_of(step) for step in steps], np.int64),
        scale_of=np.array([order.index(id(matrices.scale(step))) for step in steps], np.int64),
        relu=algorithm.l,
        weights=_read_only(np.concatenate([np.empty(0, np.float32), *laid])),
        weight_at=np.where(np.array(sizes) > 0, begin, -1).astype(np.int64),
        bias=pad(weights.bias[None], rows=1),
        num_outputs=weights.num_outputs,
    )


def _after(algorithm: Algorithm, weights: Weights) -> list[Matrix | None]:
    """What messages are multiplied with after each step."""
    if algorithm.l:
        return [pad(matrix) for matrix in (*weights.layers[1:], weights.output)]
    none: list[Matrix | None] = [None] * (algorithm.k - 1)
    return [*none, None if _passes_outputs(algorithm, weights) else pad(folded(weights, 1))]


def _passes_outputs(algorithm: Algorithm, weights: Weights) -> bool:
    """Whether a linear algorithm passes outputs on, not messages of d numbers."""
    return padded(weights.num_outputs) <= padded(algorithm.d)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


@fused
def _answer_features(  # type: ignore[no-untyped-def]
    targets, features: FeatureMatrix, weight, bias, num_outputs, outputs, codes
):
    for r in range(len(targets)):
        u, out = targets[r], outputs[r : r + 1]
        if len(features.dense):
            multiply(features.dense[u : u + 1], weight, out)
        else:
            rows = (features.indptr, features.indices, features.values)
            sums(u, u + 1, *rows, False, features.scale, False, weight, out)
    finish_rows(0, len(targets), bias, num_outputs, outputs, codes)


@fused
def _answer(targets, k, given, scratch, large, outputs, codes):  # type: ignore[no-untyped-def]
    """0 when done; how much room is needed; -1 where the field is a large part of the graph."""
    missing = _lay_down(targets, k, given, scratch, large)
    if missing != 0:
        return missing
    mode = flush_denormals()
    source = given.first
    width = source.shape[1]
    for step in range(1, k + 1):
        begin, end = scratch.level_at[k - step], scratch.level_at[k - step + 1]
        ptr = scratch.row_ptr[begin : end + 1]
        scale = scratch.scale[begin:end] if len(scratch.scale) else scratch.scale
        out = outputs
        if step < k:
            out = scratch.messages[step % 2][: (end - begin) * width].reshape((end - begin, width))
        at = given.weight_at[step - 1]
        matrix = given.weights[:0].reshape((0, width))
        if at >= 0:
            matrix = given.weights[at : at + width * out.shape[1]].reshape((width, out.shape[1]))
        _pass(ptr, scratch, scale, given.relu, source, matrix, out)
        source = out
    finish_rows(0, len(outputs), given.bias, given.num_outputs, outputs, codes)
    set_float_mode(mode)
    return 0


@fused
def _pass(ptr, scratch, scale, relu, source, matrix, out):  # type: ignore[no-untyped-def]
    """One step: out = relu(sums of source) matrix, a block of rows at a time."""
    edges, values, rows, width = scratch.edges, scratch.values, len(out), source.shape[1]
    if len(matrix) == 0:
        sums(0, rows, ptr, edges, values, False, scale, relu, source, out)
        return
    for start in range(0, rows, BLOCK):
        stop = min(start + BLOCK, rows)
        block = scratch.block[: (stop - start) * width].reshape((stop - start, width))
        sums(start, stop, ptr, edges, values, False, scale, relu, source, block)
        multiply(block, matrix, out[start:stop])


@fused
def _lay_down(targets, k, given, scratch, large):  # type: ignore[no-untyped-def]
    """The rows of every level, from the targets (level k) down, each with its edges.

    An edge of level i > 1 says where its sender stands in level i - 1, of level 1 which node it is.
    """
    place, nodes, edges, row_ptr = scratch.place, scratch.nodes, scratch.edges, scratch.row_ptr
    count, edge = len(targets), 0
    if count > len(nodes):
        return count
    for r in range(count):
        nodes[r] = targets[r]
    scratch.level_at[0], scratch.level_at[1] = 0, count
    row_ptr[0] = 0
    for depth in range(k):
        step = k - depth
        rows, scale = given.indptr[given.matrix_of[step - 1]], given.scale[given.scale_of[step - 1]]
        scratch.stamp[0] += 1
        mark = scratch.stamp[0] << 32
        begin, end = scratch.level_at[depth], scratch.level_at[depth + 1]
        if end - begin > large:
            return -1
        for r in range(begin, end):
            u = nodes[r]
            most = rows[u + 1] - rows[u] + 1
            if edge + most > len(edges) or count + most > len(nodes):
                return max(edge, count) + most
            if len(scale):
                scratch.scale[r] = scale[u]
            for e in range(rows[u] - given.loop, rows[u + 1]):
                # A self-loop is not stored; it comes first.
                own = e < rows[u]
                v = u if own else given.indices[e]
                if step == 1:
                    edges[edge] = v
                else:
                    if place[v] < mark:
                        place[v] = mark + count - end
                        nodes[count] = v
                        count += 1
                    edges[edge] = place[v] - mark
                if len(scratch.values):
                    scratch.values[edge] = np.float32(1) if own else given.values[e]
                edge += 1
            row_ptr[r + 1] = edge
        scratch.level_at[depth + 2] = count
    return 0
