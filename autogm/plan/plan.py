"""A list of steps that computes what an algorithm with its weights answers on a graph."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from autogm.measure.clock import Clock, time_calls
from autogm.measure.measurement import show_seconds
from autogm.message.product import Matrix
from autogm.plan.crew import Program, go_through
from autogm.plan.matrices import FeatureMatrix, feature_matrix
from autogm.plan.program import Call, encoded, interpret
from autogm.plan.rewrite import Given, literal_steps, product_steps, steps_of
from autogm.plan.roofline import least_seconds
from autogm.plan.steps import Memory, Place, Step

__all__ = ["Plan", "paper_plan", "plan"]


class _Bound(NamedTuple):
    """Steps on one thread's memory; ``calls`` hold the arrays that the program points to."""

    memory: Memory
    calls: list[Call]
    program: Program
    tickets: int


class _OfThread(threading.local):
    bound: _Bound | None = None


class Plan:
    """Steps on one graph; many threads may run it at once, each in memory of its own."""

    def __init__(
        self,
        steps: Sequence[Step],
        num_outputs: int,
        threads: int,
        *,
        prepared: tuple[str, ...] = (),
    ) -> None:
        self.steps = tuple(steps)
        self.num_outputs, self.threads = num_outputs, threads
        self.prepared = prepared
        self._own = _OfThread()

    def outputs(self) -> Matrix:
        """n x C numbers before the head reads them; a fresh array."""
        return self._run().at(self.steps[-1].target)[:, : self.num_outputs].copy()

    def codes(self) -> NDArray[np.int32]:
        """The place of each node's largest output; a fresh array."""
        return self._run().codes.copy()

    def explain(self, *, measured: bool = True) -> str:
        """Each step: its shape, what it must move and compute, how long that takes here.

        At best, by this machine's bandwidth and peak as they are measured first, and in fact.
        """
        times = self._times() if measured else []
        lines = []
        for i, step in enumerate(self.steps):
            cost, target = step.cost, step.target
            line = f"{i + 1}. {step.name:<28} {target.rows:,} x {target.columns}"
            line += f"  {_count(cost.bytes)}B  {_count(cost.operations)}flop"
            if measured:
                best = least_seconds(cost, self.threads, in_cache=True)
                line += f"  at best {show_seconds(best)}  {show_seconds(times[i])}"
            lines.append(line)
        return "\n".join(lines)

    def _times(self) -> list[float]:
        """Seconds of each step, one after another, in the median."""
        calls = self._bound().calls
        timed = {str(i): partial(self._time, *encoded([call])) for i, call in enumerate(calls)}
        timings = time_calls(timed, Clock(cap=0.5))
        return [timing.median for timing in timings.values()]

    def _time(self, program: Program, tickets: int, _: int) -> None:
        go_through(interpret, program, tickets, self.threads)

    def _run(self) -> Memory:
        bound = self._bound()
        try:
            go_through(interpret, bound.program, bound.tickets, self.threads)
        except BaseException:  # a helper may still be at work on this memory
            self._own.bound = None
            raise
        return bound.memory

    def _bound(self) -> _Bound:
        if self._own.bound is None:
            memory = Memory(self._places, self._scratch, self.threads)
            calls = [step.call(memory) for step in self.steps]
            self._own.bound = _Bound(memory, calls, *encoded(calls))
        return self._own.bound

    @cached_property
    def _places(self) -> list[Place]:
        targets = [step.target for step in self.steps]
        # Steps go to and fro between two places, which are equally large.
        return [*targets, *(place._replace(slot=s) for place in targets for s in "xy")]

    @property
    def _scratch(self) -> int:
        return max(16, *(step.scratch for step in self.steps))


def plan(given: Given, *, threads: int) -> Plan:
    """All nodes in one pass."""
    prepared = ["aggregation matrices"] if given.algorithm.k else []
    prepared += [] if given.algorithm.l or not given.algorithm.k else ["product of the weights"]
    outputs = given.weights.num_outputs
    return Plan(steps_of(given), outputs, threads, prepared=tuple(prepared))


def paper_plan(given: Given, *, threads: int) -> Plan:
    """Layer by layer; a linear algorithm's messages are passed in advance.

    So does the code that the paper's authors released; it exists to reproduce their figures.
    """
    outputs = given.weights.num_outputs
    if given.algorithm.l or given.algorithm.k == 0:
        prepared: tuple[str, ...] = ("aggregation matrices",) if given.algorithm.k else ()
        return Plan(literal_steps(given), outputs, threads, prepared=prepared)
    steps = product_steps(given._replace(features=_propagated(given)))
    return Plan(steps, outputs, threads, prepared=("propagated features",))


def _propagated(given: Given) -> FeatureMatrix:
    """A_k .. A_1 X."""
    features, matrices = given.features, given.matrices
    x: Any = features.dense
    if not features.is_dense:
        x = _scipy(features.indptr, features.indices, features.values, features.width)
        x = _scaled(x, features.scale)
    n, x = given.rows, _scaled(x, matrices.before())
    for step in range(1, given.algorithm.k + 1):
        indptr = matrices.indptr[matrices.matrix_of(step)]
        entries = slice(indptr[0], indptr[-1])
        values = matrices.values[entries] if len(matrices.values) else matrices.values
        b = _scipy(indptr - indptr[0], matrices.indices[entries], values, n)
        x = _scaled(b @ x + x if matrices.loop else b @ x, matrices.scale(step))
    return feature_matrix(x, width=given.algorithm.d)


def _scipy(indptr: Any, indices: Any, values: Any, width: int) -> sparse.csr_array:
    values = values if len(values) else np.ones(len(indices), np.float32)
    return sparse.csr_array((values, indices, indptr), shape=(len(indptr) - 1, width))


def _scaled(x: Any, scale: NDArray[np.float32]) -> Any:
    if not len(scale):
        return x
    return x * scale[:, None] if isinstance(x, np.ndarray) else sparse.diags_array(scale) @ x


def _count(number: int) -> str:
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= scale:
            return f"{number / scale:.3g} {unit}"
    return f"{number} "
