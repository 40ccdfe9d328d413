"""How long an algorithm takes on a graph, before it is trained."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from autogm.algorithm import Algorithm
from autogm.algorithm.heads import MultiClass
from autogm.graph import Graph
from autogm.measure.clock import Clock
from autogm.measure.measurement import Measurement
from autogm.message.kernel import num_threads
from autogm.plan import CostModel, calibrate
from autogm.predictor.predictor import Predictor

__all__ = ["cost_model", "seconds"]


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


# Cheap points of different kinds, by which a model learns what answers cost besides their steps.
_ANCHORS = (Algorithm(k=0), Algorithm.sgcn(d=16), Algorithm.gcn(d=16))


def cost_model(graph: Graph, *, threads: int | None = None, max_d: int = 300) -> CostModel:
    """What every point would take in one pass over all nodes, from about a second of timing.

    >>> from autogm import load_graph
    >>> model = cost_model(load_graph("digits"), max_d=64)
    >>> times = model.seconds([Algorithm.sgcn(), Algorithm.gcn(k=10)])
    >>> bool(times[0] < times[1])
    True
    """
    anchors = [Predictor.untrained(graph, point, threads=threads) for point in _ANCHORS]
    head = anchors[0].head
    model = calibrate(
        graph,
        outputs=head.num_outputs,
        coded=isinstance(head, MultiClass),
        threads=threads or num_threads(),
        max_d=max_d,
    )
    clock = Clock(warm_up=2, least=7, most=7)
    measured = [anchor.measure(graph, clock=clock).median for anchor in anchors]
    missing = float(np.median(np.array(measured) - model.seconds(_ANCHORS)))
    return replace(model, base=max(0.0, model.base + missing))
