"""How good an answer is, and how long it takes."""

from autogm.measure.clock import Clock, Timing, time_calls
from autogm.measure.measurement import SCOPES, Measurement, show_seconds
from autogm.measure.metrics import METRICS, score

__all__ = [
    "METRICS",
    "SCOPES",
    "Clock",
    "Measurement",
    "Timing",
    "score",
    "show_seconds",
    "time_calls",
]
