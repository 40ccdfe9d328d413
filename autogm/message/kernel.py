"""Compiled loops, and the threads that run them."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any, cast

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["chunks", "compiled", "num_threads", "run"]


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first use, keep the machine code on disk, let go of the interpreter lock.

    No fast-math: sums keep the order of their row, the same on every machine and for any number
    of threads, and on rows of graph length the gathers it makes are slower than plain loads.
    """
    try:
        kernel = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder to keep machine code in: compile in every process
        kernel = numba.njit(nogil=True)(function)
    return cast("Callable[..., Any]", kernel)


def num_threads() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="autogm")


if hasattr(os, "register_at_fork"):
    # A forked child inherits the pool without its threads.
    os.register_at_fork(after_in_child=_pool.cache_clear)


def chunks(indptr: NDArray[np.int64], *, smallest: int = 1 << 16, most: int = 32) -> list[slice]:
    """Stretches of rows with about equally many entries; they depend on the matrix alone."""
    entries = int(indptr[-1]) + len(indptr)
    count = max(1, min(most, entries // smallest))
    work = indptr + np.arange(len(indptr))  # a row costs something even when it is empty
    cuts = np.searchsorted(work, np.arange(1, count) * (work[-1] / count))
    bounds = [0, *cuts.tolist(), len(indptr) - 1]
    return [slice(a, b) for a, b in pairwise(bounds) if a < b]


def run(kernel: Callable[..., Any], parts: list[slice], *args: Any) -> list[Any]:
    """Call ``kernel(start, stop, *args)`` for each part; results come in the parts' order.

    The calling thread works too, and every thread takes the next part that is left.
    """
    results: list[Any] = [None] * len(parts)
    todo = iter(range(len(parts)))

    def work() -> None:
        for i in todo:
            results[i] = kernel(parts[i].start, parts[i].stop, *args)

    helpers = min(num_threads(), len(parts)) - 1
    futures = [_pool(num_threads()).submit(work) for _ in range(helpers)]
    work()
    for future in futures:
        future.result()
    return results
