"""Which point next: a search over any finite space with a cheap and an expensive oracle.

Only `find` knows of graphs, and what it needs is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autogm.search.budget import Budget, parse_seconds
from autogm.search.front import hypervolume, on_front
from autogm.search.loop import STRATEGIES, OutOfTime, Search, SearchResult, Selected, search
from autogm.search.objective import paper_objective
from autogm.search.space import Axis, Boolean, Categorical, Integer, Point, Space
from autogm.search.strategy import Problem, Strategy
from autogm.search.study import InMemory, Study
from autogm.search.trial import State, Trial

if TYPE_CHECKING:
    from autogm.search.mission import Check, Found, find

__all__ = [
    "STRATEGIES",
    "Axis",
    "Boolean",
    "Budget",
    "Categorical",
    "Check",
    "Found",
    "InMemory",
    "Integer",
    "OutOfTime",
    "Point",
    "Problem",
    "Search",
    "SearchResult",
    "Selected",
    "Space",
    "State",
    "Strategy",
    "Study",
    "Trial",
    "find",
    "hypervolume",
    "on_front",
    "paper_objective",
    "parse_seconds",
    "search",
]


def __getattr__(name: str) -> Any:
    if name not in ("Check", "Found", "find"):
        raise AttributeError(f"module 'autogm.search' has no attribute {name!r}")
    from autogm.search import mission as module

    globals().update({part: getattr(module, part) for part in module.__all__})
    return globals()[name]
