"""Algorithm 1 as pure functions on arrays, and the classic scores that are points of it."""

from autogm.message.aggregate import aggregate, embed, layer
from autogm.message.sample import INFERENCE, neighbours, sample, step_key
from autogm.message.scores import pagerank, pixie, ppr, rwr
from autogm.message.structure import structural_features

__all__ = [
    "INFERENCE",
    "aggregate",
    "embed",
    "layer",
    "neighbours",
    "pagerank",
    "pixie",
    "ppr",
    "rwr",
    "sample",
    "step_key",
    "structural_features",
]
