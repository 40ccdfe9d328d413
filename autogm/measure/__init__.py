"""How good an answer is."""

from autogm.measure.metrics import METRICS, score

__all__ = ["METRICS", "score"]
