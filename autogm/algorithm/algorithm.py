"""The five parameters that make a message-passing algorithm, and the known ones among them."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from autogm.errors import InputError, suggest

__all__ = ["AGGREGATIONS", "ALL", "Algorithm"]

ALL = -1
"""As a width: all neighbours."""

AGGREGATIONS = ("NN", "NS", "NA", "SN", "SS", "SA")
"""No self-loop or Self-loop; No, Symmetric or Asymmetric normalisation. The paper's order."""


@dataclass(frozen=True, order=True)
class Algorithm:
    """A point of UnifiedGM: X_i = phi(Agg_i X_{i-1} W_i) for i = 1..k.

    ``d`` is the dimension of messages, ``k`` the number of steps (0: no graph), ``w`` the
    number of neighbours drawn a step (-1: all), ``l`` whether phi is ReLU or nothing, ``a`` the
    aggregation.

    >>> Algorithm.gcn()
    Algorithm(d=64, k=2, w=-1, l=True, a='SS')
    >>> Algorithm(d=64, k=2, w=0)
    Traceback (most recent call last):
        ...
    autogm.errors.InputError: w must be at least 1, or -1 for all neighbours, but got 0
    """

    d: int = 64
    k: int = 2
    w: int = ALL
    l: bool = True  # noqa: E741  (the paper's name)
    a: str = "SS"

    def __post_init__(self) -> None:
        for name in ("d", "k", "w"):
            object.__setattr__(self, name, _whole(name, getattr(self, name)))
        if self.d < 1:
            raise InputError(f"d must be at least 1, but got {self.d}")
        if self.k < 0:
            raise InputError(f"k must be at least 0 (no graph), but got {self.k}")
        if self.w < 1 and self.w != ALL:
            raise InputError(f"w must be at least 1, or -1 for all neighbours, but got {self.w}")
        if self.l not in (True, False):
            raise InputError(f"l must be True (ReLU) or False (nothing), but got {self.l!r}")
        object.__setattr__(self, "l", bool(self.l))
        if self.a not in AGGREGATIONS:
            raise InputError(
                f"a must be one of {', '.join(AGGREGATIONS)}, but got {self.a!r}"
                f"{suggest(str(self.a).upper(), AGGREGATIONS)}"
            )

    @property
    def self_loop(self) -> bool:
        return self.a[0] == "S"

    @property
    def normalization(self) -> str:
        """A, S or N."""
        return self.a[1]

    @classmethod
    def gcn(cls, *, d: int = 64, k: int = 2) -> Algorithm:
        """Graph convolutional network (Kipf and Welling 2017)."""
        return cls(d=d, k=k, w=ALL, l=True, a="SS")

    @classmethod
    def graphsage(cls, *, d: int = 64, k: int = 2, w: int = 25) -> Algorithm:
        """GraphSAGE with the mean aggregator (Hamilton et al. 2017)."""
        return cls(d=d, k=k, w=w, l=True, a="SA")

    @classmethod
    def sgcn(cls, *, d: int = 64, k: int = 2) -> Algorithm:
        """Simplified GCN (Wu et al. 2019)."""
        return cls(d=d, k=k, w=ALL, l=False, a="SS")

    @classmethod
    def pagerank(cls, *, k: int = 30) -> Algorithm:
        """PageRank (Page et al. 1999), trained on features as in the paper's experiments.

        `autogm.pagerank` is the classic score.
        """
        return cls(d=1, k=k, w=ALL, l=False, a="NA")

    @classmethod
    def pixie(cls, *, k: int = 10, budget: int = 2000) -> Algorithm:
        """Pixie (Eksombatchai et al. 2018), trained on features; ``budget`` = k w is fixed.

        `autogm.pixie` is the classic score.
        """
        if not 1 <= k <= budget:
            raise InputError(f"k must be in 1..{budget} (the budget k w), but got {k}")
        return cls(d=1, k=k, w=budget // k, l=False, a="NA")


def _whole(name: str, value: Any) -> int:
    """A whole number; 2.5 or "2" or True is a mistake, NumPy's integers are not."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise InputError(f"{name} must be a whole number, but got {value!r}") from None
