"""The fixed point that PageRank and its kin converge to, one pass over the edges a step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autogm.graph import Rows
from autogm.message.kernel import chunks, compiled, run

__all__ = ["share_out", "stationary"]

Scores = NDArray[np.float64]

# Sums of weights in between can be divided by, and scores divided by them, without overflow.
_SMALL, _LARGE = 2.0**-900, 2.0**900


def stationary(rows: Rows, restart: Scores, *, damping: float, tol: float) -> tuple[Scores, int]:
    """x = damping (P x + s restart) + (1 - damping) restart, and the steps it took.

    P spreads a node's score over its out-neighbours by weight; s is the score that stands on nodes
    without any, which goes where walkers restart. ``restart`` sums to one. It is Algorithm 1 with
    d = 1, l = False, a = NA, direction "out" and readout "sum", summed until nothing is left: the
    scores that are still on their way are the difference of two steps. Since a step shrinks any
    difference by ``damping``, the result is within ``tol`` of the exact scores in the 1-norm, and
    the steps that can be needed are known beforehand.
    """
    out_weight = _column_sums(rows)
    if rows.values is not None and not _is_moderate(out_weight):
        rows = rows._replace(values=_scaled(rows.values, rows.indices, rows.num_rows))
        out_weight = _column_sums(rows)
    share = np.divide(damping, out_weight, out=np.zeros(rows.num_rows), where=out_weight > 0)
    parts = chunks(rows.indptr)
    pull = _pull if rows.values is None else _pull_weighted
    values = () if rows.values is None else (rows.values,)
    # Unsigned, so that the loops need not check for Python's negative positions.
    indices = rows.indices.view(np.uint32)
    x, sent = restart.copy(), restart * share
    stuck = float(restart[out_weight == 0].sum())
    enough = min(max(tol * (1 - damping) / damping, 1e-300), 2)
    # Two distributions differ by at most 2; so many steps shrink that to enough.
    most = 1 + math.ceil(math.log(enough / 2) / math.log(damping))
    step = 0
    while True:
        step += 1
        back = 1 - damping + damping * stuck
        results = run(pull, parts, rows.indptr, indices, *values, sent, share, restart, back, x)
        change, stuck = (sum(part) for part in zip(*results, strict=True))
        if change <= enough or step >= most:
            return x, step
        run(_send, parts, x, share, sent)


def _column_sums(rows: Rows) -> NDArray[Any]:
    # np.bincount would copy the indices to int64; counts in int32 stay in cache.
    binary = rows.values is None
    sums = np.zeros(rows.num_rows, dtype=np.int32 if binary else np.float64)
    _add_up(rows.indices.view(np.uint32), np.ones(1, sums.dtype) if binary else rows.values, sums)
    return sums


def _is_moderate(sums: NDArray[Any]) -> bool:
    return bool(np.all((sums == 0) | ((sums > _SMALL) & (sums < _LARGE))))


def _scaled(weights: Scores, owner: NDArray[np.int32], num_owners: int) -> Scores:
    """The weights of each owner times a power of two that takes the largest to between 0.5 and 1.

    Their shares of the sum stay what they are, to the bit, where they are not vanishing.
    """
    largest = np.zeros(num_owners)
    np.maximum.at(largest, owner, weights)
    return np.asarray(np.ldexp(weights, -np.frexp(largest)[1][owner]))


def share_out(rows: Rows, x: Scores, num_nodes: int) -> Scores:
    """Each row shares its score out over its nodes, by weight; with an empty row it is lost."""
    owner = rows.row_of_entry
    if rows.values is None:
        weights = np.ones(len(rows.indices))
    else:
        weights = _scaled(rows.values, owner, rows.num_rows)
    totals = np.bincount(owner, weights=weights, minlength=rows.num_rows)
    sent = np.divide(x, totals, out=np.zeros_like(x), where=totals > 0)
    shares = weights * sent[owner]
    return np.bincount(rows.indices, shares, num_nodes).astype(np.float64)


@compiled
def _add_up(indices, values, sums):  # type: ignore[no-untyped-def]
    """Sum by column; one value stands for all."""
    if len(values) == 1:
        for j in range(len(indices)):
            sums[indices[j]] += values[0]
    else:
        for j in range(len(indices)):
            sums[indices[j]] += values[j]


@compiled
def _send(start, stop, x, share, sent):  # type: ignore[no-untyped-def]
    """A pass of its own: written beside the sums, what is sent would push itself out of cache."""
    for u in range(start, stop):
        sent[u] = x[u] * share[u]


@compiled
def _pull(start, stop, indptr, indices, sent, share, restart, back, x):  # type: ignore[no-untyped-def]
    """One step for some rows; returns the change and the score left on nodes without out-edges."""
    change = 0.0
    stuck = 0.0
    for u in range(start, stop):
        # Four sums side by side: one alone waits for each addition to finish.
        j, end = indptr[u], indptr[u + 1]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        while j + 4 <= end:
            a += sent[indices[j]]
            b += sent[indices[j + 1]]
            c += sent[indices[j + 2]]
            d += sent[indices[j + 3]]
            j += 4
        while j < end:
            a += sent[indices[j]]
            j += 1
        total = (a + b) + (c + d) + back * restart[u]
        change += abs(total - x[u])
        x[u] = total
        if share[u] == 0:
            stuck += total
    return change, stuck


@compiled
def _pull_weighted(start, stop, indptr, indices, values, sent, share, restart, back, x):  # type: ignore[no-untyped-def]
    """`_pull` along weighted edges."""
    change = 0.0
    stuck = 0.0
    for u in range(start, stop):
        total = 0.0
        for j in range(indptr[u], indptr[u + 1]):
            total += values[j] * sent[indices[j]]
        total += back * restart[u]
        change += abs(total - x[u])
        x[u] = total
        if share[u] == 0:
            stuck += total
    return change, stuck
