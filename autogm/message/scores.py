"""The classic scores: PageRank, personalised PageRank, random walk with restart, Pixie."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autogm.algorithm import Algorithm
from autogm.errors import InputError, require_share, require_whole
from autogm.graph import Graph, require_graph
from autogm.message.sample import neighbours, sample, step_key
from autogm.message.walk import share_out, stationary

__all__ = ["Seeds", "on_seeds", "pagerank", "pixie", "ppr", "rwr", "uniform"]

Scores = NDArray[np.float64]

Seeds = Iterable[Any] | Mapping[Any, float]
"""Original ids, or original ids with positive weights."""


def pagerank(graph: Graph, *, damping: float = 0.85, tol: float = 1e-10) -> Scores:
    """PageRank of every node, in node order; the scores sum to one.

    A walker follows an out-edge (in proportion to its weight) with probability ``damping``, else
    it starts anew anywhere, as it does from a node without out-edges. ``tol`` bounds the sum of
    absolute errors.

    >>> from autogm import as_graph
    >>> pagerank(as_graph([("a", "b"), ("c", "b")])).round(3)
    array([0.213, 0.574, 0.213])
    """
    require_graph(graph)
    return _walk(graph, uniform(graph.num_nodes), damping, tol)


def ppr(
    graph: Graph,
    seeds: Seeds,
    *,
    damping: float = 0.85,
    tol: float = 1e-10,
) -> Scores:
    """Personalised PageRank: walkers start anew at the seeds, in proportion to their weights.

    ``seeds`` are original ids, or a mapping from ids to positive weights. From a node without
    out-edges a walker starts anew at the seeds, as networkx has it.
    """
    return _walk(graph, on_seeds(graph, seeds), damping, tol)


def rwr(
    graph: Graph,
    seeds: Seeds,
    *,
    restart: float = 0.15,
    tol: float = 1e-10,
) -> Scores:
    """Random walk with restart: the probability to find the walker at each node.

    ``restart`` is the probability to return to the seeds at each step. Texts on RWR call it c,
    texts on PageRank (and the paper) give that letter to its complement, the damping: ``rwr`` with
    restart c is ``ppr`` with damping 1 - c.
    """
    damping = 1 - require_share("restart", restart, usual=0.15)
    return _walk(graph, on_seeds(graph, seeds), damping, tol)


def pixie(
    graph: Graph,
    seeds: Seeds,
    *,
    steps: int = 10,
    budget: int = 2000,
    seed: int = 0,
    readout: str = "sum",
) -> Scores:
    """Pixie: scores spread from the seeds over sampled out-neighbours, a fixed number of them.

    A seed starts with its weight (1 unless given). In each of ``steps`` (k) steps every node
    that holds a score draws w = budget / k of its out-neighbours and spreads the score over them
    evenly (a = NA; along weighted edges by weight); w is rounded down, so that 2,000 in 27 steps
    is 74 a step and 1,998 in all. The result is what each node received over
    all steps (``readout="sum"``, Pixie's visit counts), or what it holds at the end ("last", the
    paper's X_k). Draws are keyed by ``seed`` and the nodes' ids. Without weights the mean over
    seeds is the walk over all neighbours; with them, draws stay uniform, and it is near.
    """
    require_graph(graph)
    algorithm = Algorithm.pixie(k=steps, budget=budget)
    seed = require_whole("seed", seed)
    if readout not in ("sum", "last"):
        raise InputError(
            f"readout must be one of sum, last, but got {readout!r}; sum counts all visits"
        )
    rows = neighbours(graph, "out")
    x = on_seeds(graph, seeds, normalize=False)
    received = np.zeros_like(x)
    for step in range(1, algorithm.k + 1):
        holders = np.flatnonzero(x)
        drawn = sample(
            rows,
            algorithm.w,
            key=step_key(seed, step),
            stable_keys=graph.stable_keys,
            nodes=holders,
        )
        x = share_out(drawn, x[holders], graph.num_nodes)
        received += x
    return received if readout == "sum" else x


def uniform(num_nodes: int) -> Scores:
    """PageRank's initial statistics: 1/n everywhere."""
    return np.full(num_nodes, 1 / num_nodes)


def on_seeds(graph: Graph, seeds: Seeds, *, normalize: bool = True) -> Scores:
    """Initial statistics of PPR, RWR (summing to one) and Pixie: weights on seeds, else 0."""
    require_graph(graph)
    if isinstance(seeds, (str, bytes)) or not isinstance(seeds, Iterable):
        seeds = [seeds]
    ids = list(seeds)
    if not ids:
        raise InputError("at least one seed is needed, but got none; name a node to start from")
    weights = list(seeds.values()) if isinstance(seeds, Mapping) else [1.0] * len(ids)
    for node, weight in zip(ids, weights, strict=True):
        if not isinstance(weight, (int, float, np.number)) or not 0 < weight < np.inf:
            raise InputError(
                f"seed weights must be positive and finite, but seed {node!r} has {weight}; "
                "leave the seed out or give it a weight like 1"
            )
    scores = np.zeros(graph.num_nodes)
    np.add.at(scores, graph.positions(ids), weights)
    if not normalize:
        return scores
    scores /= scores.max()  # so that the sum does not overflow
    scores /= scores.sum()
    return scores


def _walk(graph: Graph, restart: Scores, damping: float, tol: float) -> Scores:
    damping = require_share("damping", damping, usual=0.85)
    tol = require_share("tol", tol, usual=1e-10)
    return stationary(graph.rows, restart, damping=damping, tol=tol)[0]
