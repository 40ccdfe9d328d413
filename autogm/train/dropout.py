"""Dropout from random bits: a mask is never stored, it is drawn again where it is needed.

With SplitMix64's mixing function, as in `autogm.message.sample`:

    row's base = mix(key + (node + 1) * GOLDEN)
    j-th word  = mix(base + (8 j + 8) * GOLDEN), one half of its 64 bits set

Bit i of word j decides on column 64 j + i of a dense row, or on the (64 j + i)-th entry of a sparse
one. A mask follows the node, so it does not depend on which other rows are there. Other rates
than one half combine up to eight words: keep = level / 256.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from autogm.message.kernel import fused
from autogm.message.lanes import fma, keep, load, lowest, positive, spread, store, where_above
from autogm.message.sample import mix, mix_int

__all__ = ["Dropout", "activate", "deactivate", "drop", "gather_kept", "layer_key", "scatter_kept"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ALL = np.uint64(2**64 - 1)
_WHOLE = 256


class Dropout(NamedTuple):
    """How much is kept, by how much that is scaled, and what the bits are drawn with."""

    level: np.uint64
    scale: np.float32
    seed: np.uint64

    @classmethod
    def of(cls, rate: float, seed: int) -> Dropout:
        """The rate is kept to 1/256, and what is kept is scaled by exactly what that drops."""
        level = max(1, round((1 - rate) * _WHOLE))
        return cls(np.uint64(level), np.float32(_WHOLE / level), np.uint64(mix_int(seed)))


@fused
def layer_key(dropout: Any, epoch: Any, layer: Any) -> Any:
    """The key of a layer's mask in an epoch; layers count from 0, the features."""
    return mix(mix(dropout.seed + np.uint64(epoch)) + np.uint64(layer))


@fused
def _word(base, j, level):  # type: ignore[no-untyped-def]
    """The j-th 64 bits of a row, each set with probability level / 256."""
    if level >= np.uint64(256):
        return _ALL
    at = base + np.uint64(8 * j) * _GOLDEN
    word = np.uint64(0)
    for i in range(lowest(level), 8):
        bits = mix(at + np.uint64(i + 1) * _GOLDEN)
        chosen = (level >> np.uint64(i)) & np.uint64(1)
        word = word | bits if chosen else word & bits
    return word


@fused
def _entries_kept(base, j, level, left):  # type: ignore[no-untyped-def]
    """`_word` without the bits beyond the ``left`` entries that the row still has."""
    bits = _word(base, j, level)
    return bits & ((np.uint64(1) << np.uint64(left)) - np.uint64(1)) if left < 64 else bits


@fused
def gather_kept(rows, dropout, key, source, out):  # type: ignore[no-untyped-def]
    """out = dropout(X) source, for sparse rows X."""
    nodes, first, last, indices = rows.nodes, rows.first, rows.last, rows.indices
    values, level, scale = rows.values, dropout.level, dropout.scale
    width = source.shape[1]
    wide = width // 64 * 64
    zero = spread(np.float32(0))
    for r in range(len(first)):
        base = mix(np.uint64(key) + np.uint64(nodes[r] + 1) * _GOLDEN)
        for c in range(0, wide, 64):
            a0, a1, a2, a3 = zero, zero, zero, zero
            for j, begin in enumerate(range(first[r], last[r], 64)):
                bits = _entries_kept(base, j, level, last[r] - begin)
                while bits:
                    e = begin + lowest(bits)
                    bits &= bits - np.uint64(1)
                    u, value = np.int64(indices[e]), spread(values[e] * scale)
                    a0 = fma(value, load(source, u, c), a0)
                    a1 = fma(value, load(source, u, c + 16), a1)
                    a2 = fma(value, load(source, u, c + 32), a2)
                    a3 = fma(value, load(source, u, c + 48), a3)
            store(out, r, c, a0)
            store(out, r, c + 16, a1)
            store(out, r, c + 32, a2)
            store(out, r, c + 48, a3)
        for c in range(wide, width, 16):
            a0 = zero
            for j, begin in enumerate(range(first[r], last[r], 64)):
                bits = _entries_kept(base, j, level, last[r] - begin)
                while bits:
                    e = begin + lowest(bits)
                    bits &= bits - np.uint64(1)
                    a0 = fma(spread(values[e] * scale), load(source, np.int64(indices[e]), c), a0)
            store(out, r, c, a0)


@fused
def scatter_kept(rows, dropout, key, source, out):  # type: ignore[no-untyped-def]
    """out = dropout(X)ᵀ source, for sparse rows X."""
    nodes, first, last, indices = rows.nodes, rows.first, rows.last, rows.indices
    values, level, scale = rows.values, dropout.level, dropout.scale
    width = source.shape[1]
    wide = width // 64 * 64
    out[:] = 0
    for r in range(len(first)):
        base = mix(np.uint64(key) + np.uint64(nodes[r] + 1) * _GOLDEN)
        for c in range(0, wide, 64):
            a0, a1 = load(source, r, c), load(source, r, c + 16)
            a2, a3 = load(source, r, c + 32), load(source, r, c + 48)
            for j, begin in enumerate(range(first[r], last[r], 64)):
                bits = _entries_kept(base, j, level, last[r] - begin)
                while bits:
                    e = begin + lowest(bits)
                    bits &= bits - np.uint64(1)
                    u, value = np.int64(indices[e]), spread(values[e] * scale)
                    store(out, u, c, fma(value, a0, load(out, u, c)))
                    store(out, u, c + 16, fma(value, a1, load(out, u, c + 16)))
                    store(out, u, c + 32, fma(value, a2, load(out, u, c + 32)))
                    store(out, u, c + 48, fma(value, a3, load(out, u, c + 48)))
        for c in range(wide, width, 16):
            a0 = load(source, r, c)
            for j, begin in enumerate(range(first[r], last[r], 64)):
                bits = _entries_kept(base, j, level, last[r] - begin)
                while bits:
                    e = begin + lowest(bits)
                    bits &= bits - np.uint64(1)
                    u = np.int64(indices[e])
                    store(out, u, c, fma(spread(values[e] * scale), a0, load(out, u, c)))


@fused
def drop(x, nodes, dropout, key, out):  # type: ignore[no-untyped-def]
    """out = dropout(x), for dense rows of any width."""
    factor, zero = spread(dropout.scale), spread(np.float32(0))
    width = x.shape[1]
    for r in range(len(x)):
        base = mix(np.uint64(key) + np.uint64(nodes[r] + 1) * _GOLDEN)
        for j, begin in enumerate(range(0, width, 64)):
            bits = _word(base, j, dropout.level)
            end = min(begin + 64, width)
            for c in range(begin, end - 15, 16):
                store(out, r, c, keep(bits, fma(factor, load(x, r, c), zero)))
                bits >>= np.uint64(16)
            for c in range(end - (end - begin) % 16, end):
                kept = bits & np.uint64(1)
                out[r, c] = x[r, c] * dropout.scale if kept else np.float32(0)
                bits >>= np.uint64(1)


@fused
def activate(x, nodes, dropout, key):  # type: ignore[no-untyped-def]
    """x = dropout(relu(x)), in place."""
    factor, zero = spread(dropout.scale), spread(np.float32(0))
    for r in range(len(x)):
        base = mix(np.uint64(key) + np.uint64(nodes[r] + 1) * _GOLDEN)
        for j, begin in enumerate(range(0, x.shape[1], 64)):
            bits = _word(base, j, dropout.level)
            for c in range(begin, min(begin + 64, x.shape[1]), 16):
                scaled = fma(factor, positive(load(x, r, c)), zero)
                store(x, r, c, keep(bits, scaled))
                bits >>= np.uint64(16)


@fused
def deactivate(activated, dropout, gradient):  # type: ignore[no-untyped-def]
    """Take a gradient back through `activate`: what is positive was kept and scaled."""
    factor, zero = spread(dropout.scale), spread(np.float32(0))
    for r in range(len(gradient)):
        for c in range(0, gradient.shape[1], 16):
            scaled = fma(factor, load(gradient, r, c), zero)
            store(gradient, r, c, where_above(load(activated, r, c), scaled))
