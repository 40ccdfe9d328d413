"""AutoGM: the message-passing algorithm with the best speed/accuracy trade-off for your graph.

Importing this module is cheap: every name is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autogm.algorithm import Algorithm
    from autogm.errors import AutoGMError, InputError, MissingExtra
    from autogm.graph import Graph, Splits, as_graph, load_graph
    from autogm.message import embed, pagerank, pixie, ppr, rwr, structural_features
    from autogm.predictor import Predictor
    from autogm.search import Budget

__version__ = "0.1.0"

_ROOM = {
    "Algorithm": "algorithm",
    "AutoGMError": "errors",
    "Budget": "search",
    "Graph": "graph",
    "InputError": "errors",
    "MissingExtra": "errors",
    "Predictor": "predictor",
    "Splits": "graph",
    "as_graph": "graph",
    "embed": "message",
    "load_graph": "graph",
    "pagerank": "message",
    "pixie": "message",
    "ppr": "message",
    "rwr": "message",
    "structural_features": "message",
}

__all__ = [
    "Algorithm",
    "AutoGMError",
    "Budget",
    "Graph",
    "InputError",
    "MissingExtra",
    "Predictor",
    "Splits",
    "as_graph",
    "embed",
    "load_graph",
    "pagerank",
    "pixie",
    "ppr",
    "rwr",
    "structural_features",
]


def __getattr__(name: str) -> Any:
    try:
        room = _ROOM[name]
    except KeyError:
        raise AttributeError(f"module 'autogm' has no attribute {name!r}") from None
    value = getattr(importlib.import_module(f"autogm.{room}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
