"""What this machine can do at best: bytes read a second, multiplications a second, a step."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from autogm.message.dense import multiply
from autogm.message.kernel import fused, run
from autogm.message.lanes import fma, load, spread, store
from autogm.message.product import aligned
from autogm.plan.steps import Cost

__all__ = ["MAIN_MEMORY", "bandwidth", "least_seconds", "peak"]

MAIN_MEMORY = 1 << 28
"""Bytes that no cache holds."""

_ROUNDS = 7


@fused
def _read(start, stop, x, out):  # type: ignore[no-untyped-def]
    """Sums of rows of 64 numbers, so that all of them are read."""
    one, zero = spread(np.float32(1)), spread(np.float32(0))
    a0, a1, a2, a3 = zero, zero, zero, zero
    for r in range(start, stop):
        a0 = fma(one, load(x, r, 0), a0)
        a1 = fma(one, load(x, r, 16), a1)
        a2 = fma(one, load(x, r, 32), a2)
        a3 = fma(one, load(x, r, 48), a3)
    store(out, 0, 0, fma(one, fma(one, a0, a1), fma(one, a2, a3)))


@fused
def _multiply_often(start, stop, a, b, out):  # type: ignore[no-untyped-def]
    for _ in range(start, stop):
        multiply(a, b, out)


def _fastest(call: Callable[[], Any]) -> float:
    call()
    seconds = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


@cache
def bandwidth(num_bytes: int, threads: int) -> float:
    """Bytes a second read from memory of that size, which may lie in a cache."""
    rows = max(64, num_bytes // 256)
    x = aligned(rows, 64)
    x[:] = 1
    out = aligned(1, 16)
    often = max(1, (1 << 26) // (rows * 256))
    parts = [slice(i * rows // threads, (i + 1) * rows // threads) for i in range(threads)]

    def read() -> None:
        for _ in range(often):
            run(_read, parts, x, out, threads=threads)

    return often * rows * 256 / _fastest(read)


@cache
def peak(threads: int) -> float:
    """Multiplications and additions a second of dense products in the nearest cache."""
    a, b, out = (aligned(64, 64) for _ in range(3))
    for matrix in (a, b, out):
        matrix[:] = 1
    often = 400
    parts = [slice(0, often)] * threads
    own = (
        threads
        * often
        * 2
        * 64**3
        / _fastest(lambda: run(_multiply_often, parts, a, b, out, threads=threads))
    )
    x = np.ones((1024, 1024), np.float32)
    library = 2 * 1024**3 / _fastest(lambda: x @ x)
    return max(own, library)


def least_seconds(cost: Cost, threads: int, *, in_cache: bool = False) -> float:
    """A step that moves its bytes and computes, each at full speed, at the same time.

    Bytes come from main memory or, ``in_cache``, as fast as from memory that is no larger than
    what the step moves: nothing can be faster than that.
    """
    size = _rounded(cost.bytes) if in_cache else MAIN_MEMORY
    return max(cost.bytes / bandwidth(size, threads), cost.operations / peak(threads))


def _rounded(num_bytes: int) -> int:
    """To a power of two, so that few sizes are measured."""
    return 1 << max(14, int(np.ceil(np.log2(num_bytes))))
