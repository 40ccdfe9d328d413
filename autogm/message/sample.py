"""Keyed neighbour sampling: the same key draws the same neighbours, whatever else is there.

The generator is counter-based (SplitMix64's mixing function). With 64-bit arithmetic that wraps:

    mix(x)      = SplitMix64's finaliser of x
    step key    = mix(mix(mix(sample_seed) + epoch) + step)
    node stream = mix(step key + mix(stable key of the node))
    j-th number = mix(node stream + (j + 1) * 0x9E3779B97F4A7C15), j = 0, 1, …
    below m     = the upper 64 bits of the 128-bit product of that number and m

A node of degree n draws w < n neighbours by Floyd's method: for j = 0..w-1, t is the j-th number
below n - w + j + 1; position t of the row is drawn, or position n - w + j when t was already.
The row is in the order of stable keys, so that neither the order of nodes nor the presence of
others matters.
"""

from __future__ import annotations

import operator

import numpy as np
from numpy.typing import NDArray

from autogm.algorithm import ALL
from autogm.graph import Graph, Rows
from autogm.message.kernel import chunks, compiled, run

__all__ = ["INFERENCE", "Nodes", "mix", "mix_int", "neighbours", "sample", "step_key"]

Nodes = NDArray[np.int64]

INFERENCE = 2**64 - 1
"""In place of an epoch: the one draw that inference uses."""

_MASK = 2**64 - 1
# A product with this constant has a distinct upper 6 bits for each power of two.
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_BIT = np.zeros(64, dtype=np.int64)
_BIT[[((1 << bit) * int(_DE_BRUIJN) & _MASK) >> 58 for bit in range(64)]] = range(64)


def neighbours(graph: Graph, direction: str = "in") -> Rows:
    """Whom each node may draw: its in- or out-neighbours without itself, by stable key."""
    rows = graph.rows.without_loops()
    if direction == "out" and graph.directed:
        rows = rows.transpose()
    keys = graph.stable_keys
    if np.all(keys[1:] > keys[:-1]):
        return rows
    rank = np.empty(len(keys), dtype=np.int32)
    rank[np.argsort(keys, kind="stable")] = np.arange(len(keys), dtype=np.int32)
    # Sorted by rank, the numbers of the entries are the order of the entries.
    ranked = Rows(rows.indptr, rank[rows.indices], np.arange(len(rows.indices), dtype=np.float64))
    by_rank = ranked.to_scipy()
    by_rank.sort_indices()
    order = by_rank.data.astype(np.int64)
    values = None if rows.values is None else rows.values[order]
    return Rows(rows.indptr, rows.indices[order], values)


def step_key(sample_seed: int, step: int, epoch: int = INFERENCE) -> int:
    """The key of one message-passing step; steps count from 1."""
    key = mix_int(operator.index(sample_seed))
    for part in (epoch, step):
        key = mix_int(key + operator.index(part))
    return key


def sample(
    rows: Rows,
    w: int,
    *,
    key: int,
    stable_keys: NDArray[np.uint64],
    nodes: NDArray[np.integer] | None = None,
    oversample: bool = False,
    threads: int | None = None,
) -> Rows:
    """A_samp: for each node w of its neighbours, distinct, uniform.

    A node with fewer than w has all of them. With ``oversample``, the paper's rule, it draws w
    times with replacement instead, and an entry counts how often it was drawn. An entry carries
    the weight of its edge. There is a row for each of ``nodes``, in their order, else for all.
    """
    if w == ALL and nodes is None:
        return rows
    if nodes is None:
        nodes = np.arange(rows.num_rows, dtype=np.int32)
    degree = rows.indptr[nodes + 1] - rows.indptr[nodes]
    if w == ALL:
        size = degree
    else:
        size = np.where(degree > 0, w, 0) if oversample else np.minimum(degree, w)
    indptr = np.concatenate([[0], np.cumsum(size)])
    indices = np.empty(indptr[-1], dtype=np.int32)
    # The kernel fills values where the graph has weights, and none otherwise.
    weights = np.empty(0) if rows.values is None else rows.values
    values = np.empty(0 if rows.values is None else indptr[-1])
    args = (nodes, rows.indptr, rows.indices, weights, stable_keys, np.uint64(key), indptr)
    run(_draw_rows, chunks(indptr), *args, indices, values, threads=threads)
    drawn = Rows(indptr, indices, None if rows.values is None else values)
    return _count_repeats(drawn) if oversample else drawn


def _count_repeats(drawn: Rows) -> Rows:
    """One entry for each distinct draw, times how often it was drawn."""
    fresh = np.ones(len(drawn.indices), dtype=bool)
    np.not_equal(drawn.indices[1:], drawn.indices[:-1], out=fresh[1:])
    fresh[drawn.indptr[:-1][np.diff(drawn.indptr) > 0]] = True
    first = np.flatnonzero(fresh)
    times = np.diff(np.append(first, len(fresh))).astype(np.float64)
    distinct = drawn.keep(fresh)
    values = times if distinct.values is None else times * distinct.values
    return Rows(distinct.indptr, distinct.indices, values)


def mix_int(x: int) -> int:
    """`mix` in Python's integers."""
    x &= _MASK
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & _MASK
    return x ^ (x >> 31)


@compiled
def mix(x):  # type: ignore[no-untyped-def]
    """SplitMix64's finaliser."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled
def _below(x, m):  # type: ignore[no-untyped-def]
    """The upper 64 bits of x m, for m below 2**32."""
    half = np.uint64(32)
    low = (x & np.uint64(0xFFFFFFFF)) * m
    return ((x >> half) * m + (low >> half)) >> half


@compiled
def _draw_rows(  # type: ignore[no-untyped-def]
    start, stop, nodes, row_ptr, row_indices, weights, stable_keys, key, out_ptr, indices, values
):
    """Fill each row of the output with the neighbours its node draws, in the order of the row."""
    widest = 1
    for r in range(start, stop):
        widest = max(widest, out_ptr[r + 1] - out_ptr[r])
    place = np.empty(widest, dtype=np.int64)
    scratch = np.empty(4 * widest, dtype=np.uint64)
    for r in range(start, stop):
        u = nodes[r]
        out, first = out_ptr[r], row_ptr[u]
        w, n = out_ptr[r + 1] - out, row_ptr[u + 1] - first
        if w == n:
            for j in range(n):
                place[j] = j
        elif w > n:
            _draw_again(mix(key + mix(stable_keys[u])), n, w, scratch, place)
        elif n <= 64 * w:
            _draw_dense(mix(key + mix(stable_keys[u])), n, w, scratch, place)
        else:
            _draw_sparse(mix(key + mix(stable_keys[u])), n, w, scratch, place)
        for j in range(w):
            indices[out + j] = row_indices[first + place[j]]
        if len(weights):
            for j in range(w):
                values[out + j] = weights[first + place[j]]


@compiled
def _draw_dense(stream, n, w, scratch, place):  # type: ignore[no-untyped-def]
    """Floyd's draw into a bit for each position; O(w) since n / 64 is at most w."""
    one, low6 = np.uint64(1), np.uint64(63)
    num_words = (n + 63) // 64
    for i in range(num_words):
        scratch[i] = 0
    for j in range(w):
        stream += np.uint64(0x9E3779B97F4A7C15)
        t = _below(mix(stream), np.uint64(n - w + j + 1))
        if (scratch[t >> np.uint64(6)] >> (t & low6)) & one:
            t = np.uint64(n - w + j)
        scratch[t >> np.uint64(6)] |= one << (t & low6)
    at = 0
    for i in range(num_words):
        bits = scratch[i]
        while bits:
            lowest = bits & (~bits + one)
            place[at] = 64 * i + _BIT[(lowest * _DE_BRUIJN) >> np.uint64(58)]
            at += 1
            bits ^= lowest


@compiled
def _draw_sparse(stream, n, w, scratch, place):  # type: ignore[no-untyped-def]
    """Floyd's draw into a hash table whose hash keeps the order, so that sorting is O(w) too."""
    size = 2 * w
    free = np.uint64(n)
    for i in range(3 * w):  # a run that starts before the end of the table may pass it by w - 1
        scratch[i] = free
    for j in range(w):
        stream += np.uint64(0x9E3779B97F4A7C15)
        t = _below(mix(stream), np.uint64(n - w + j + 1))
        at = _slot(scratch, size, t, free)
        if scratch[at] == t:
            t = np.uint64(n - w + j)
            at = _slot(scratch, size, t, free)
        scratch[at] = t
    at = 0
    for i in range(3 * w):
        t = scratch[i]
        if t != free:
            here = at  # neighbours in a run may stand in any order
            while here > 0 and place[here - 1] > np.int64(t):
                place[here] = place[here - 1]
                here -= 1
            place[here] = np.int64(t)
            at += 1


@compiled
def _slot(table, size, t, free):  # type: ignore[no-untyped-def]
    """Where t is, or where it belongs; ``free`` is the number of positions."""
    at = np.int64(t) * size // np.int64(free)
    while table[at] != free and table[at] != t:
        at += 1
    return at


@compiled
def _draw_again(stream, n, w, scratch, place):  # type: ignore[no-untyped-def]
    """w draws with replacement, counted so that they come in order."""
    for i in range(n):
        scratch[i] = 0
    for _ in range(w):
        stream += np.uint64(0x9E3779B97F4A7C15)
        scratch[_below(mix(stream), np.uint64(n))] += np.uint64(1)
    at = 0
    for i in range(n):
        for _ in range(np.int64(scratch[i])):
            place[at] = i
            at += 1
