"""Algorithm 1 and its output layer on a receptive field, forth and back, in one call each.

A call lets go of the interpreter's lock once, so that runs go side by side. The first step
computes A (X W) on the field's rows, the others (A X) W: the rows of a field become fewer from
step to step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autogm.message.dense import multiply, multiply_transposed, transpose
from autogm.message.field import Field
from autogm.message.kernel import fused
from autogm.message.lanes import fma, load, padded, positive, spread, store
from autogm.message.product import gather_rows, scatter_columns
from autogm.train.adam import GO_ON, current, judge, step
from autogm.train.dropout import activate, deactivate, layer_key
from autogm.train.layout import Layout, matrix, take
from autogm.train.loss import loss
from autogm.train.rows import kept_size, kept_times, kept_transposed_times, times

__all__ = [
    "Steps",
    "linear_epochs",
    "linear_gradient",
    "linear_loss",
    "linear_outputs",
    "linear_scratch",
    "message_epochs",
    "message_gradient",
    "message_loss",
    "message_outputs",
    "message_scratch",
]


class Steps(NamedTuple):
    """A `Field` in flat arrays; equal steps stand once.

    Level 0 is where features enter, level k the targets. Level i has ``size[i]`` nodes, at
    ``nodes[node_at[i]:]``; the rows of step i begin at ``first[row_at[i]]``, ``last[row_at[i]]``.
    """

    size: NDArray[np.int64]
    node_at: NDArray[np.int64]
    nodes: NDArray[np.int64]
    row_at: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]

    @classmethod
    def of(cls, field: Field) -> Steps:
        node_at, nodes = _distinct(list(field.nodes), len)
        row_at, steps = _distinct(list(field.steps), lambda step: step.num_rows)
        entries = np.cumsum([0, *[len(step.indices) for step in steps]])
        shifted = list(zip(steps, entries[:-1].tolist(), strict=True))
        return cls(
            size=np.array([len(level) for level in field.nodes]),
            node_at=node_at,
            nodes=np.concatenate(nodes),
            row_at=np.concatenate([[0], row_at]),
            first=_joined([step.first + at for step, at in shifted], np.int64),
            last=_joined([step.last + at for step, at in shifted], np.int64),
            indices=_joined([step.indices for step in steps], np.int32),
            values=_joined([step.values for step in steps], np.float32),
        )

    @property
    def num_entries(self) -> int:
        """Over all steps, equal ones too."""
        rows = zip(self.row_at[1:].tolist(), self.size[1:].tolist(), strict=True)
        return sum(int((self.last - self.first)[at : at + count].sum()) for at, count in rows)

    @property
    def num_bytes(self) -> int:
        return sum(array.nbytes for array in self)


def _distinct(parts: list[Any], size: Any) -> tuple[NDArray[np.int64], list[Any]]:
    """Where each part begins when each is laid down once, and the parts laid down."""
    begin: dict[int, int] = {}
    once, end = [], 0
    for part in parts:
        if id(part) not in begin:
            begin[id(part)] = end
            once.append(part)
            end += size(part)
    return np.array([begin[id(part)] for part in parts], dtype=np.int64), once


def _joined(parts: list[Any], dtype: Any) -> NDArray[Any]:
    if len(parts) == 1:
        return np.asarray(parts[0], dtype=dtype)
    return np.concatenate(parts, dtype=dtype) if parts else np.empty(0, dtype)


def message_scratch(layout: Layout, levels: list[int], cells: int) -> int:
    """How many numbers of scratch `message_gradient` needs; the other passes need less.

    ``levels`` are the sizes of the field's levels, ``cells`` those of its rows if they are dense.
    """
    width, outputs = layout.width, layout.outputs
    hidden, passing = sum(levels[1:]) * width, 2 * max(levels) * width
    return padded(cells) + hidden + passing + (2 * levels[-1] + width) * (width + outputs)


def linear_scratch(layout: Layout, levels: list[int], cells: int) -> int:
    """The same for `linear_gradient`, whose rows are one level, and for `linear_outputs`."""
    width = max(layout.width, layout.outputs)
    products = (len(layout.shapes) + 6) * width * width
    return padded(cells) + products + (2 * layout.shapes[0][0] + 4 * max(levels)) * width


@fused
def _gather(steps: Any, i: Any, source: Any, out: Any) -> None:
    """out = A_i source."""
    at, end = steps.row_at[i], steps.row_at[i] + steps.size[i]
    first, last = steps.first[at:end], steps.last[at:end]
    gather_rows(0, len(out), first, last, steps.indices, steps.values, source, out)


@fused
def _scatter(steps: Any, i: Any, source: Any, out: Any) -> None:
    """out = A_iᵀ source."""
    at, end = steps.row_at[i], steps.row_at[i] + steps.size[i]
    first, last = steps.first[at:end], steps.last[at:end]
    out[:] = 0
    width = source.shape[1]
    scatter_columns(0, width, first, last, steps.indices, steps.values, source, out)


@fused
def _nodes(steps: Any, i: Any) -> Any:
    return steps.nodes[steps.node_at[i] : steps.node_at[i] + steps.size[i]]


@fused
def _copy(a: Any, out: Any) -> None:
    """out[:] = a takes seconds to compile."""
    for r in range(len(a)):
        for c in range(a.shape[1]):
            out[r, c] = a[r, c]


@fused
def _add_bias(outputs: Any, bias: Any) -> None:
    one = spread(np.float32(1))
    for c in range(0, outputs.shape[1], 16):
        lanes = load(bias, 0, c)
        for r in range(len(outputs)):
            store(outputs, r, c, fma(one, lanes, load(outputs, r, c)))


@fused
def _sum_rows(x: Any, out: Any) -> None:
    one = spread(np.float32(1))
    for c in range(0, x.shape[1], 16):
        total = spread(np.float32(0))
        for r in range(len(x)):
            total = fma(one, load(x, r, c), total)
        store(out, 0, c, total)


@fused
def _relu(x: Any) -> None:
    for r in range(len(x)):
        for c in range(0, x.shape[1], 16):
            store(x, r, c, positive(load(x, r, c)))


@fused
def message_outputs(vector: Any, spans: Any, batch: Any, scratch: Any) -> Any:
    """The outputs with phi = ReLU and without dropout, and where scratch is free."""
    steps, rows = batch.steps, batch.rows
    k, width = len(steps.size) - 1, spans.columns[0]
    most = steps.size.max()
    here, at = take(scratch, 0, most, width)
    there, at = take(scratch, at, most, width)
    times(rows, matrix(vector, spans, 0), here[: steps.size[0]])
    _gather(steps, 1, here[: steps.size[0]], there[: steps.size[1]])
    _relu(there[: steps.size[1]])
    for i in range(2, k + 1):
        _gather(steps, i, there[: steps.size[i - 1]], here[: steps.size[i]])
        multiply(here[: steps.size[i]], matrix(vector, spans, i - 1), there[: steps.size[i]])
        _relu(there[: steps.size[i]])
    outputs, at = take(scratch, at, steps.size[k], spans.columns[k])
    multiply(there[: steps.size[k]], matrix(vector, spans, k), outputs)
    _add_bias(outputs, matrix(vector, spans, k + 1))
    return outputs, at


@fused
def message_loss(vector: Any, spans: Any, batch: Any, kind: Any, scratch: Any) -> Any:
    """The loss of `message_outputs`."""
    outputs, at = message_outputs(vector, spans, batch, scratch)
    unused, _ = take(scratch, at, outputs.shape[0], outputs.shape[1])
    return loss(kind, outputs, batch.judged, unused)


@fused
def message_gradient(
    vector: Any,
    spans: Any,
    batch: Any,
    kind: Any,
    dropout: Any,
    epoch: Any,
    scratch: Any,
    gradient: Any,
) -> Any:
    """The loss with dropout before every matrix; ``gradient`` becomes its derivative.

    Sums over neighbours are taken again on the way back, not kept: deep passes would keep as much
    as all their messages.
    """
    steps, rows = batch.steps, batch.rows
    k, width = len(steps.size) - 1, spans.columns[0]
    most = steps.size.max()
    here, at = take(scratch, kept_size(rows), most, width)
    there, at = take(scratch, at, most, width)
    hidden_at = np.empty(k + 1, np.int64)
    key = layer_key(dropout, epoch, 0)
    kept_times(rows, dropout, key, matrix(vector, spans, 0), here[: steps.size[0]], scratch)
    for i in range(1, k + 1):
        hidden_at[i] = at
        hidden, at = take(scratch, at, steps.size[i], width)
        if i == 1:
            _gather(steps, 1, here[: steps.size[0]], hidden)
        else:
            before, _ = take(scratch, hidden_at[i - 1], steps.size[i - 1], width)
            _gather(steps, i, before, here[: steps.size[i]])
            multiply(here[: steps.size[i]], matrix(vector, spans, i - 1), hidden)
        activate(hidden, _nodes(steps, i), dropout, layer_key(dropout, epoch, i))
    last, _ = take(scratch, hidden_at[k], steps.size[k], width)
    outputs, at = take(scratch, at, steps.size[k], spans.columns[k])
    d_outputs, at = take(scratch, at, steps.size[k], spans.columns[k])
    output = matrix(vector, spans, k)
    multiply(last, output, outputs)
    _add_bias(outputs, matrix(vector, spans, k + 1))
    total = loss(kind, outputs, batch.judged, d_outputs)

    _sum_rows(d_outputs, matrix(gradient, spans, k + 1))
    multiply_transposed(last, d_outputs, matrix(gradient, spans, k))
    turned, _ = take(scratch, at, output.shape[1], output.shape[0])
    transpose(output, turned)
    d_x = there[: steps.size[k]]
    multiply(d_outputs, turned, d_x)
    for i in range(k, 0, -1):
        hidden, _ = take(scratch, hidden_at[i], steps.size[i], width)
        deactivate(hidden, dropout, d_x)
        if i == 1:
            break
        before, _ = take(scratch, hidden_at[i - 1], steps.size[i - 1], width)
        summed = here[: steps.size[i]]
        _gather(steps, i, before, summed)
        multiply_transposed(summed, d_x, matrix(gradient, spans, i - 1))
        turned, _ = take(scratch, at, width, width)
        transpose(matrix(vector, spans, i - 1), turned)
        multiply(d_x, turned, summed)
        d_x = there[: steps.size[i - 1]]
        _scatter(steps, i, summed, d_x)
    d_first = here[: steps.size[0]]
    _scatter(steps, 1, d_x, d_first)
    kept_transposed_times(rows, dropout, key, d_first, matrix(gradient, spans, 0), scratch)
    return total


@fused
def _products(vector: Any, spans: Any, scratch: Any, at: Any) -> Any:
    """W_i .. W_k W_out for i = k + 1 down to 2, one behind the other; where the next may start."""
    k = len(spans.start) - 2
    product, end = take(scratch, at, spans.rows[k], spans.columns[k])
    _copy(matrix(vector, spans, k), product)
    for i in range(k - 1, 0, -1):
        before = product
        product, end = take(scratch, end, spans.rows[i], spans.columns[k])
        multiply(matrix(vector, spans, i), before, product)
    return product, end


@fused
def _factors(vector: Any, spans: Any, fold: Any, scratch: Any, at: Any) -> Any:
    """What the features meet first, what follows (only if not folded), where the next may start."""
    k = len(spans.start) - 2
    first = matrix(vector, spans, 0)
    if k == 0:
        return first, first, at
    rest, at = _products(vector, spans, scratch, at)
    if fold:
        folded, at = take(scratch, at, first.shape[0], rest.shape[1])
        multiply(first, rest, folded)
        return folded, rest, at
    return first, rest, at


@fused
def linear_outputs(vector: Any, spans: Any, fold: Any, batch: Any, scratch: Any) -> Any:
    """The outputs with phi = nothing and without dropout, and where scratch is free."""
    steps, rows = batch.steps, batch.rows
    k = len(spans.start) - 2
    first, rest, at = _factors(vector, spans, fold, scratch, 0)
    here, at = take(scratch, at, steps.size.max(), first.shape[1])
    there, at = take(scratch, at, steps.size.max(), first.shape[1])
    times(rows, first, here[: steps.size[0]])
    for i in range(1, len(steps.size)):
        _gather(steps, i, here[: steps.size[i - 1]], there[: steps.size[i]])
        here, there = there, here
    outputs = here[: steps.size[-1]]
    if k and not fold:
        outputs, at = take(scratch, at, steps.size[-1], rest.shape[1])
        multiply(here[: steps.size[-1]], rest, outputs)
    _add_bias(outputs, matrix(vector, spans, k + 1))
    return outputs, at


@fused
def linear_loss(vector: Any, spans: Any, fold: Any, batch: Any, kind: Any, scratch: Any) -> Any:
    """The loss of `linear_outputs`."""
    outputs, at = linear_outputs(vector, spans, fold, batch, scratch)
    unused, _ = take(scratch, at, outputs.shape[0], outputs.shape[1])
    return loss(kind, outputs, batch.judged, unused)


@fused
def linear_gradient(
    vector: Any,
    spans: Any,
    fold: Any,
    batch: Any,
    kind: Any,
    dropout: Any,
    epoch: Any,
    scratch: Any,
    gradient: Any,
) -> Any:
    """The loss on rows A_k .. A_1 X_0 with dropout; ``gradient`` becomes its derivative."""
    rows, judged = batch.rows, batch.judged
    k, num_rows = len(spans.start) - 2, len(judged.targets)
    begin = kept_size(rows)
    first, rest, at = _factors(vector, spans, fold, scratch, begin)
    through = k > 0 and not fold
    x, at = take(scratch, at, num_rows, first.shape[1])
    key = layer_key(dropout, epoch, 0)
    kept_times(rows, dropout, key, first, x, scratch)
    outputs = x
    if through:
        outputs, at = take(scratch, at, num_rows, rest.shape[1])
        multiply(x, rest, outputs)
    _add_bias(outputs, matrix(vector, spans, k + 1))
    d_outputs, at = take(scratch, at, num_rows, outputs.shape[1])
    total = loss(kind, outputs, judged, d_outputs)

    _sum_rows(d_outputs, matrix(gradient, spans, k + 1))
    if k == 0:
        kept_transposed_times(rows, dropout, key, d_outputs, matrix(gradient, spans, 0), scratch)
        return total
    d_rest, at = take(scratch, at, rest.shape[0], rest.shape[1])
    turned, at = take(scratch, at, rest.shape[1], rest.shape[0])
    transpose(rest, turned)
    if fold:
        d_first, at = take(scratch, at, first.shape[0], first.shape[1])
        kept_transposed_times(rows, dropout, key, d_outputs, d_first, scratch)
        multiply(d_first, turned, matrix(gradient, spans, 0))
        multiply_transposed(matrix(vector, spans, 0), d_first, d_rest)
    else:
        multiply_transposed(x, d_outputs, d_rest)
        d_rows, at = take(scratch, at, num_rows, rest.shape[0])
        multiply(d_outputs, turned, d_rows)
        kept_transposed_times(rows, dropout, key, d_rows, matrix(gradient, spans, 0), scratch)
    _to_factors(vector, spans, d_rest, begin, at, scratch, gradient)
    return total


@fused
def _to_factors(
    vector: Any, spans: Any, d_rest: Any, begin: Any, at: Any, scratch: Any, gradient: Any
) -> None:
    """From the gradient of W_2 .. W_k W_out to that of each; `_products` stand at ``begin``."""
    k = len(spans.start) - 2
    outputs = spans.columns[k]
    here, at = take(scratch, at, spans.rows[k], outputs)
    _copy(d_rest, here)
    there, at = take(scratch, at, spans.rows[k], outputs)
    turned, at = take(scratch, at, outputs, spans.rows[k])
    for i in range(1, k):
        # The product behind W_i: the first laid down is W_out's own, at i = k - 1.
        product, _ = take(scratch, begin + (k - 1 - i) * here.size, spans.rows[k], outputs)
        transpose(product, turned)
        multiply(here, turned, matrix(gradient, spans, i))
        multiply_transposed(matrix(vector, spans, i), here, there)
        here, there = there, here
    _copy(here, matrix(gradient, spans, k))


@fused
def message_epochs(
    state: Any,
    rates: Any,
    spans: Any,
    batch: Any,
    val: Any,
    kind: Any,
    dropout: Any,
    first: Any,
    scratch: Any,
    losses: Any,
) -> Any:
    """A row of ``losses`` an epoch, from number ``first``: train, and where ``val`` has nodes, val.

    Returns how many epochs were run, and why no more.
    """
    for i in range(len(losses)):
        given = (spans, batch, kind, dropout, first + i, scratch)
        losses[i, 0] = message_gradient(current(state), *given, state.gradient)
        step(state, rates)
        if len(val.judged.nodes):
            losses[i, 1] = message_loss(current(state), spans, val, kind, scratch)
            why = judge(state, first + i, losses[i, 0], losses[i, 1], rates.patience)
            if why != GO_ON:
                return i + 1, why
    return len(losses), GO_ON


@fused
def linear_epochs(
    state: Any,
    rates: Any,
    spans: Any,
    fold: Any,
    batch: Any,
    val: Any,
    kind: Any,
    dropout: Any,
    first: Any,
    scratch: Any,
    losses: Any,
) -> Any:
    """`message_epochs` for linear algorithms."""
    for i in range(len(losses)):
        given = (spans, fold, batch, kind, dropout, first + i, scratch)
        losses[i, 0] = linear_gradient(current(state), *given, state.gradient)
        step(state, rates)
        if len(val.judged.nodes):
            losses[i, 1] = linear_loss(current(state), spans, fold, val, kind, scratch)
            why = judge(state, first + i, losses[i, 0], losses[i, 1], rates.patience)
            if why != GO_ON:
                return i + 1, why
    return len(losses), GO_ON
