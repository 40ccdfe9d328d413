"""Algorithm 1 written straight from the paper: dense, in float64, one node at a time.

Slow and obvious on purpose: it is the judge of every faster path and shares no code with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from autogm.algorithm import Algorithm

__all__ = ["aggregate", "below", "draw", "embed", "sample", "stream"]

Matrix = NDArray[np.float64]
_WORD = 2**64


def embed(
    adjacency: Matrix,
    x0: Matrix,
    weights: Sequence[Matrix],
    algorithm: Algorithm,
    *,
    stable_keys: Sequence[int] | None = None,
    seed: int = 0,
    epoch: int = _WORD - 1,
    direction: str = "in",
    readout: str = "last",
    oversample: bool = False,
) -> Matrix:
    """Algorithm 1; entry (u, v) of ``adjacency`` is the weight with which u hears from v."""
    keys = list(range(len(adjacency))) if stable_keys is None else list(stable_keys)
    a = adjacency if direction == "in" else adjacency.T
    x, total = x0, np.zeros((len(x0), algorithm.d))
    for i in range(1, algorithm.k + 1):
        a_samp = sample(a, algorithm.w, keys, seed, epoch, i, oversample)
        a_agg = aggregate(a_samp, algorithm.a)
        x = (a_agg if direction == "in" else a_agg.T) @ x @ weights[i - 1]
        if algorithm.l:
            x = np.where(x > 0, x, 0)
        total = total + x
    return total if readout == "sum" and algorithm.k else x


def sample(
    a: Matrix, w: int, keys: Sequence[int], seed: int, epoch: int, step: int, oversample: bool
) -> Matrix:
    """A_samp: every row keeps what it draws; a node never draws itself."""
    a_samp = np.zeros_like(a)
    for u in range(len(a)):
        row = sorted((v for v in range(len(a)) if a[u, v] != 0 and v != u), key=lambda v: keys[v])
        for position in draw(keys[u], len(row), w, seed, epoch, step, oversample):
            a_samp[u, row[position]] += a[u, row[position]]
    return a_samp


def aggregate(a_samp: Matrix, a: str) -> Matrix:
    """Table II of the paper with D taken of the matrix that is normalised."""
    n = len(a_samp)
    b = a_samp * (1 - np.eye(n)) + (np.eye(n) if a[0] == "S" else 0)
    r = [sum(row) for row in b]
    result = np.zeros_like(b)
    for u in range(n):
        for v in range(n):
            by = {"A": r[u], "S": (r[u] * r[v]) ** 0.5, "N": 1}[a[1]]
            result[u, v] = b[u, v] / by if by > 0 else 0
    return result


def draw(
    key: int, degree: int, w: int, seed: int, epoch: int, step: int, oversample: bool
) -> list[int]:
    """The positions that one node draws."""
    if degree == 0 or w == -1 or (degree < w and not oversample) or degree == w:
        return list(range(degree))
    if degree < w:
        return [below(stream(seed, epoch, step, key, j), degree) for j in range(w)]
    drawn: list[int] = []
    for j, last in enumerate(range(degree - w, degree)):
        t = below(stream(seed, epoch, step, key, j), last + 1)
        drawn.append(last if t in drawn else t)
    return drawn


def stream(seed: int, epoch: int, step: int, key: int, j: int) -> int:
    """The j-th number of a node's stream, as `autogm.message.sample` defines it."""
    step_key = _mix(_mix(_mix(seed) + epoch) + step)
    return _mix(_mix(step_key + _mix(key)) + (j + 1) * 0x9E3779B97F4A7C15)


def below(number: int, m: int) -> int:
    """A 64-bit number scaled to 0..m-1."""
    return int(Fraction(number, _WORD) * m)


def _mix(x: int) -> int:
    x %= _WORD
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) % _WORD
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) % _WORD
    return x ^ x >> 31
