"""A list of steps that computes what an algorithm with its weights answers on a graph."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from autogm.algorithm import Algorithm, Weights
from autogm.graph import Graph
from autogm.message.product import Matrix
from autogm.plan.crew import Call, go_through
from autogm.plan.matrices import Aggregations, FeatureMatrix, aggregations, feature_matrix
from autogm.plan.rewrite import Prepared, literal_steps, steps_of
from autogm.plan.steps import Memory, Place, Step

__all__ = ["Plan", "plan"]


class _Bound(NamedTuple):
    """Steps as kernel calls on one thread's memory."""

    memory: Memory
    calls: tuple[Call, ...]


class _OfThread(threading.local):
    bound: _Bound | None = None


class Plan:
    """Steps on one graph; many threads may run it at once, each in memory of its own."""

    def __init__(self, steps: Sequence[Step], num_outputs: int, threads: int) -> None:
        self.steps = tuple(steps)
        self.num_outputs, self.threads = num_outputs, threads
        self._own = _OfThread()

    @property
    def outputs_place(self) -> Place:
        return self.steps[-1].target

    def outputs(self) -> Matrix:
        """n x C numbers before the head reads them; a fresh array."""
        memory = self._run()
        return memory.at(self.outputs_place)[:, : self.num_outputs].copy()

    def codes(self) -> NDArray[np.int32]:
        """The place of each node's largest output; a fresh array."""
        return self._run().codes.copy()

    def _run(self) -> Memory:
        memory, calls = self._bound()
        go_through(calls, self.threads)
        return memory

    def _bound(self) -> _Bound:
        if self._own.bound is None:
            memory = Memory(self._places, self._scratch, self.threads)
            calls = tuple(step.call(memory) for step in self.steps)
            self._own.bound = _Bound(memory, calls)
        return self._own.bound

    @cached_property
    def _places(self) -> list[Place]:
        targets = [step.target for step in self.steps]
        # Steps go to and fro between two places, which are equally large.
        return [*targets, *(place._replace(slot=s) for place in targets for s in "xy")]

    @property
    def _scratch(self) -> int:
        return max(16, *(step.scratch for step in self.steps))


def plan(
    graph: Graph,
    algorithm: Algorithm,
    weights: Weights,
    *,
    threads: int,
    coded: bool = True,
    sample_seed: int = 0,
    oversample: bool = False,
    literal: bool = False,
    matrices: Aggregations | None = None,
    features: FeatureMatrix | None = None,
) -> Plan:
    """The plan of all nodes in one pass; what plans of a graph share may be given."""
    assert graph.features is not None
    features = feature_matrix(graph.features) if features is None else features
    if matrices is None:
        matrices = aggregations(graph, algorithm, sample_seed=sample_seed, oversample=oversample)
    given = Prepared(algorithm, weights, features, matrices, coded)
    steps = literal_steps(given) if literal else steps_of(given)
    return Plan(steps, weights.num_outputs, threads)
