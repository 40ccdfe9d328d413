"""The compiled loops that plans are made of.

Each takes parts of its rows until none is left (see `crew`). Matrices of messages are as wide as a
multiple of sixteen. Which way a loop goes depends on shapes and options, never on a message or a
weight, so that the time of a plan does not depend on them.
"""

from __future__ import annotations

import numpy as np

from autogm.message.dense import multiply
from autogm.message.kernel import fused, inlined
from autogm.message.lanes import fetch, fma, load, positive, spread, store, sum_of
from autogm.plan.crew import finish_part, take_part, wait_for

__all__ = [
    "BLOCK",
    "dense_layer",
    "dense_numbers",
    "finish_rows",
    "layer",
    "propagate",
    "propagate_numbers",
    "spread_numbers",
    "sums",
]

BLOCK = 32
"""Rows whose sums stay in the nearest cache until they are multiplied."""

# How many entries ahead messages are asked for: by then they have come from the last cache.
_AHEAD = 32


@fused
def layer(  # type: ignore[no-untyped-def]
    tickets,
    i,
    who,
    bounds,
    indptr,
    indices,
    values,
    loop,
    scale,
    relu,
    source,
    before,
    weight,
    bias,
    num_outputs,
    out,
    codes,
    scratch,
):
    """out = relu(scale A source before) weight + bias; what is not there is left out."""
    num_parts = len(bounds) - 1
    through = len(before) > 0 or len(weight) > 0
    part = take_part(tickets, i)
    while part < num_parts:
        if through:
            block = scratch[who]
            for start in range(bounds[part], bounds[part + 1], BLOCK):
                stop = min(start + BLOCK, bounds[part + 1])
                _layer_block(
                    start,
                    stop,
                    indptr,
                    indices,
                    values,
                    loop,
                    scale,
                    relu,
                    source,
                    before,
                    weight,
                    block,
                    out,
                )
        else:
            rows = out[bounds[part] : bounds[part + 1]]
            sums(
                bounds[part],
                bounds[part + 1],
                indptr,
                indices,
                values,
                loop,
                scale,
                relu,
                source,
                rows,
            )
        finish_rows(bounds[part], bounds[part + 1], bias, num_outputs, out, codes)
        finish_part(tickets, i)
        part = take_part(tickets, i)
    wait_for(tickets, i, num_parts)


@fused
def _layer_block(  # type: ignore[no-untyped-def]
    start, stop, indptr, indices, values, loop, scale, relu, source, before, weight, block, out
):
    size = (stop - start) * source.shape[1]
    summed = block[:size].reshape((stop - start, source.shape[1]))
    late = len(before) > 0
    sums(start, stop, indptr, indices, values, loop, scale, relu and not late, source, summed)
    if late:
        end = size + (stop - start) * before.shape[1]
        made = block[size:end].reshape((stop - start, before.shape[1]))
        multiply(summed, before, made)
        if relu:
            _relu(made)
        multiply(made, weight, out[start:stop])
    else:
        multiply(summed, weight, out[start:stop])


@fused
def dense_layer(  # type: ignore[no-untyped-def]
    tickets, i, who, bounds, x, scale, weight, bias, num_outputs, out, codes
):
    """out = scale x weight + bias; without a weight the rows stay as they are."""
    num_parts = len(bounds) - 1
    part = take_part(tickets, i)
    while part < num_parts:
        start, stop = bounds[part], bounds[part + 1]
        if len(weight):
            multiply(x[start:stop], weight, out[start:stop])
        else:
            _copy(x[start:stop], out[start:stop])
        if len(scale):
            _scale(out[start:stop], scale[start:stop])
        finish_rows(start, stop, bias, num_outputs, out, codes)
        finish_part(tickets, i)
        part = take_part(tickets, i)
    wait_for(tickets, i, num_parts)


@fused
def propagate(  # type: ignore[no-untyped-def]
    tickets, i, who, count, bounds, indptr, indices, values, loop, scale, matrix_of, scale_of, x, y
):
    """``count`` steps A x, to and fro between two buffers; an odd number of them ends in ``y``."""
    num_parts = len(bounds) - 1
    for step in range(count):
        here, there = (y, x) if step % 2 else (x, y)
        part = take_part(tickets, i + step)
        while part < num_parts:
            rows, factor = indptr[matrix_of[step]], scale[scale_of[step]]
            start, stop = bounds[part], bounds[part + 1]
            out = there[start:stop]
            sums(start, stop, rows, indices, values, loop, factor, False, here, out)
            finish_part(tickets, i + step)
            part = take_part(tickets, i + step)
        wait_for(tickets, i + step, num_parts)


@fused
def propagate_numbers(  # type: ignore[no-untyped-def]
    tickets, i, who, count, bounds, indptr, indices, values, loop, scale, matrix_of, scale_of, x, y
):
    """`propagate` for messages of one number."""
    num_parts = len(bounds) - 1
    for step in range(count):
        here, there = (y, x) if step % 2 else (x, y)
        part = take_part(tickets, i + step)
        while part < num_parts:
            rows, factor = indptr[matrix_of[step]], scale[scale_of[step]]
            for r in range(bounds[part], bounds[part + 1]):
                total = here[r] if loop else np.float32(0)
                total += _sum_numbers(rows[r], rows[r + 1], indices, values, here)
                there[r] = total * factor[r] if len(factor) else total
            finish_part(tickets, i + step)
            part = take_part(tickets, i + step)
        wait_for(tickets, i + step, num_parts)


@inlined
def _sum_numbers(first, last, indices, values, x):  # type: ignore[no-untyped-def]
    """Two sums side by side, so that one need not wait for the other."""
    one, two, e = np.float32(0), np.float32(0), first
    if len(values):
        while e < last:
            one += values[e] * x[np.uint32(indices[e])]
            e += 1
        return one
    while e + 1 < last:
        one += x[np.uint32(indices[e])]
        two += x[np.uint32(indices[e + 1])]
        e += 2
    if e < last:
        one += x[np.uint32(indices[e])]
    return one + two


@fused
def sums(start, stop, indptr, indices, values, loop, scale, relu, source, out):  # type: ignore[no-untyped-def]
    """out = scale A source for some rows, laid down from the first row of ``out`` on."""
    width = source.shape[1]
    wide = width // 64 * 64
    one = spread(np.float32(1))
    valued, scaled, final = len(values) > 0, len(scale) > 0, len(indices) - 1
    for r in range(start, stop):
        first, last = indptr[r], indptr[r + 1]
        factor = spread(scale[r]) if scaled else one
        for c in range(0, wide, 64):
            a0, a1, a2, a3 = _own(loop, source, r, c)
            if valued:
                for e in range(first, last):
                    u, value = np.int64(indices[e]), spread(values[e])
                    a0 = fma(value, load(source, u, c), a0)
                    a1 = fma(value, load(source, u, c + 16), a1)
                    a2 = fma(value, load(source, u, c + 32), a2)
                    a3 = fma(value, load(source, u, c + 48), a3)
            else:
                for e in range(first, last):
                    ahead = np.int64(indices[min(e + _AHEAD, final)])
                    fetch(source, ahead, c)
                    fetch(source, ahead, c + 16)
                    fetch(source, ahead, c + 32)
                    fetch(source, ahead, c + 48)
                    u = np.int64(indices[e])
                    a0 = fma(one, load(source, u, c), a0)
                    a1 = fma(one, load(source, u, c + 16), a1)
                    a2 = fma(one, load(source, u, c + 32), a2)
                    a3 = fma(one, load(source, u, c + 48), a3)
            _put(out, r - start, c, a0, factor, relu)
            _put(out, r - start, c + 16, a1, factor, relu)
            _put(out, r - start, c + 32, a2, factor, relu)
            _put(out, r - start, c + 48, a3, factor, relu)
        for c in range(wide, width, 16):
            total = _narrow_sum(first, last, indices, values, source, c)
            if loop:
                total = fma(one, load(source, r, c), total)
            _put(out, r - start, c, total, factor, relu)


@inlined
def _own(loop, source, r, c):  # type: ignore[no-untyped-def]
    """What a row begins with: its own messages where there is a self-loop."""
    if loop:
        return (
            load(source, r, c),
            load(source, r, c + 16),
            load(source, r, c + 32),
            load(source, r, c + 48),
        )
    zero = spread(np.float32(0))
    return zero, zero, zero, zero


@inlined
def _narrow_sum(first, last, indices, values, source, c):  # type: ignore[no-untyped-def]
    """One register of a row: four sums side by side, so that none waits for another."""
    zero, one = spread(np.float32(0)), spread(np.float32(1))
    a0, a1, a2, a3 = zero, zero, zero, zero
    e = first
    if len(values):
        while e + 3 < last:
            a0 = fma(spread(values[e]), load(source, np.int64(indices[e]), c), a0)
            a1 = fma(spread(values[e + 1]), load(source, np.int64(indices[e + 1]), c), a1)
            a2 = fma(spread(values[e + 2]), load(source, np.int64(indices[e + 2]), c), a2)
            a3 = fma(spread(values[e + 3]), load(source, np.int64(indices[e + 3]), c), a3)
            e += 4
        while e < last:
            a0 = fma(spread(values[e]), load(source, np.int64(indices[e]), c), a0)
            e += 1
    else:
        while e + 3 < last:
            a0 = fma(one, load(source, np.int64(indices[e]), c), a0)
            a1 = fma(one, load(source, np.int64(indices[e + 1]), c), a1)
            a2 = fma(one, load(source, np.int64(indices[e + 2]), c), a2)
            a3 = fma(one, load(source, np.int64(indices[e + 3]), c), a3)
            e += 4
        while e < last:
            a0 = fma(one, load(source, np.int64(indices[e]), c), a0)
            e += 1
    return fma(one, fma(one, a0, a1), fma(one, a2, a3))


@inlined
def _put(out, r, c, total, factor, relu):  # type: ignore[no-untyped-def]
    total = fma(total, factor, spread(np.float32(0)))
    store(out, r, c, positive(total) if relu else total)


@fused
def _relu(x):  # type: ignore[no-untyped-def]
    for r in range(len(x)):
        for c in range(0, x.shape[1], 16):
            store(x, r, c, positive(load(x, r, c)))


@fused
def _copy(x, out):  # type: ignore[no-untyped-def]
    for r in range(len(x)):
        for c in range(0, x.shape[1], 16):
            store(out, r, c, load(x, r, c))


@fused
def _scale(x, scale):  # type: ignore[no-untyped-def]
    zero = spread(np.float32(0))
    for r in range(len(x)):
        factor = spread(scale[r])
        for c in range(0, x.shape[1], 16):
            store(x, r, c, fma(factor, load(x, r, c), zero))


@fused
def finish_rows(start, stop, bias, num_outputs, out, codes):  # type: ignore[no-untyped-def]
    """Add the bias; the place of the largest output becomes the code."""
    one = spread(np.float32(1))
    if len(bias):
        for r in range(start, stop):
            for c in range(0, out.shape[1], 16):
                store(out, r, c, fma(one, load(bias, 0, c), load(out, r, c)))
    if len(codes):
        for r in range(start, stop):
            best, highest = 0, out[r, 0]
            for c in range(1, num_outputs):
                above = out[r, c] > highest
                best = c if above else best
                highest = out[r, c] if above else highest
            codes[r] = best


@fused
def spread_numbers(tickets, i, who, bounds, x, weight, bias, num_outputs, out, codes):  # type: ignore[no-untyped-def]
    """out = x weight + bias for messages of one number."""
    num_parts = len(bounds) - 1
    zero = spread(np.float32(0))
    part = take_part(tickets, i)
    while part < num_parts:
        for r in range(bounds[part], bounds[part + 1]):
            number = spread(x[r])
            for c in range(0, out.shape[1], 16):
                store(out, r, c, fma(number, load(weight, 0, c), zero))
        finish_rows(bounds[part], bounds[part + 1], bias, num_outputs, out, codes)
        finish_part(tickets, i)
        part = take_part(tickets, i)
    wait_for(tickets, i, num_parts)


@fused
def dense_numbers(tickets, i, who, bounds, x, scale, weight, out):  # type: ignore[no-untyped-def]
    """out = scale x weight for a weight of one column: sixteen products side by side."""
    num_parts = len(bounds) - 1
    part = take_part(tickets, i)
    while part < num_parts:
        for r in range(bounds[part], bounds[part + 1]):
            lanes = spread(np.float32(0))
            for c in range(0, x.shape[1], 16):
                lanes = fma(load(x, r, c), load(weight, 0, c), lanes)
            total = sum_of(lanes)
            out[r] = total * scale[r] if len(scale) else total
        finish_part(tickets, i)
        part = take_part(tickets, i)
    wait_for(tickets, i, num_parts)
