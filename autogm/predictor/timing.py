"""How long an algorithm takes on a graph, before it is trained."""

from __future__ import annotations

from typing import Any

from autogm.algorithm import Algorithm
from autogm.graph import Graph
from autogm.measure.clock import Clock
from autogm.measure.measurement import Measurement
from autogm.predictor.predictor import Predictor

__all__ = ["seconds"]


def seconds(
    graph: Graph, algorithm: Algorithm, *, clock: Clock | None = None, **options: Any
) -> Measurement:
    """The time of answers with random weights, which is that of trained ones.

    ``options`` are those of `Predictor`: scope, batch_size, threads, sample_seed, oversample.

    >>> from autogm import load_graph
    >>> seconds(load_graph("digits"), Algorithm.sgcn()).scope
    'graph'
    """
    return Predictor.untrained(graph, algorithm, **options).measure(graph, clock=clock)
