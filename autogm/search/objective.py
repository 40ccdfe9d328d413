"""The paper's objective (its equations 1 to 3): a quantity to lower, with a wall at the budget."""

from __future__ import annotations

import math

from autogm.search.budget import Budget

__all__ = ["LAMBDA", "barrier", "paper_objective"]

LAMBDA = 1e-19
"""The paper's; in float64 the wall is then as good as upright."""

_LEAST = 5e-324


def barrier(g: float, h: float, h_min: float, *, penalty: float = LAMBDA) -> float:
    """f(x) = g(x) - λ log(h(x) - h_min) where h(x) >= h_min, and infinity where not.

    At equality, where the logarithm has no value, the smallest positive number stands in.

    >>> barrier(2.0, 1.5, 0.5, penalty=0.01)
    2.0
    >>> barrier(2.0, 0.4, 0.5)
    inf
    """
    if math.isnan(g) or not h >= h_min:
        return math.inf
    return g - penalty * math.log(max(h - h_min, _LEAST))


def paper_objective(
    budget: Budget, accuracy: float, seconds: float, *, penalty: float = LAMBDA
) -> float:
    """What is lowered under a budget.

    Under a floor on accuracy g is time and h accuracy; under a ceiling on time g is -accuracy and
    h is -time.
    """
    if budget.min_accuracy is not None:
        return barrier(seconds, accuracy, budget.min_accuracy, penalty=penalty)
    assert budget.max_time is not None
    return barrier(-accuracy, -seconds, -budget.max_time, penalty=penalty)
