"""The paper's space of algorithms: the five parameters, and the known points among them."""

from __future__ import annotations

import math
from dataclasses import replace

from autogm.algorithm import AGGREGATIONS, ALL, Algorithm
from autogm.search.space import Axis, Boolean, Categorical, Integer, Point, Space

__all__ = ["NAMED", "algorithm_of", "algorithm_space", "distinct", "named_points", "point_of"]

NAMED = {
    "GCN": Algorithm.gcn(),
    "GraphSAGE": Algorithm.graphsage(),
    "SGCN": Algorithm.sgcn(),
    "PageRank": Algorithm.pagerank(),
}
"""What the paper compares with."""


def algorithm_space(*, all_neighbours: bool = True) -> Space:
    """d 1-300, k 1-30, w 1-50, both l, six a: 5.4 million points; and w = all beside them.

    Weights are the length scales of accuracy on Cora and CiteSeer, rounded: a factor of 8 in d, of
    2.3 in k and of 18 in w make about as much difference as a nonlinearity.
    """
    return Space(
        d=Integer(1, 300, log=True, weight=2.8),
        k=Integer(1, 30, log=True, weight=4.0),
        w=Integer(1, 50, log=True, last=ALL if all_neighbours else None, weight=1.6),
        l=Boolean(),
        a=Categorical(*AGGREGATIONS, factors=[_factors(a) for a in AGGREGATIONS]),
    )


def _factors(a: str) -> tuple[float, ...]:
    """Self-loop or not; sums or means; which kind of mean, which matters least."""
    return (0.45 * (a[0] == "S"), 0.7 * (a[1] == "N"), 0.1 * (a[1] == "A"))


def distinct(space: Space, max_degree: int) -> Space:
    """The space without widths that draw what another does: all neighbours of every node."""
    widths = list(space.axes["w"].values)
    every = [w for w in widths if w == ALL or w >= max_degree]
    stands = [ALL] if ALL in every else every[:1]
    kept = [w for w in widths if w not in every or w in stands]
    if len(kept) == len(widths):
        return space
    w: Axis = Categorical(*kept)
    if isinstance(space.axes["w"], Integer):
        numbers = [number for number in kept if number != ALL]
        last = ALL if ALL in kept else None
        if numbers:
            w = _up_to(numbers[-1], last, space.axes["w"])
    return Space(**{**space.axes, "w": w})


def _up_to(high: int, last: int | None, axis: Integer) -> Integer:
    """A shorter axis on which the same ratios are as far apart."""
    share = math.log(2 * high / axis.low) / math.log(2 * axis.high / axis.low)
    weight = axis.weight * share if axis.log and last is not None else axis.weight
    return replace(axis, high=high, last=last, weight=weight)


def named_points() -> list[Point]:
    return [point_of(algorithm) for algorithm in NAMED.values()]


def point_of(algorithm: Algorithm) -> Point:
    return {name: getattr(algorithm, name) for name in ("d", "k", "w", "l", "a")}


def algorithm_of(point: Point) -> Algorithm:
    return Algorithm(**point)
