"""How good answers are, by scikit-learn's metrics; higher is better in all of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autogm.errors import InputError, optional, suggest

__all__ = ["METRICS", "score", "worst"]


def score(metric: str, truth: NDArray[Any], scores: NDArray[Any]) -> float:
    """``truth`` holds codes (n), or 0/1 a label (n x L), or numbers; ``scores`` what was answered.

    For codes, scores are n x C, or n for the second of two classes; for labels n x L; they are
    probabilities. Numbers are answered by numbers, for ``r2`` alone.

    >>> score("accuracy", np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]))
    0.6666666666666666
    """
    if metric not in METRICS:
        raise InputError(
            f"metric must be one of {', '.join(METRICS)}, but got {metric!r}"
            f"{suggest(metric, METRICS)}"
        )
    if not np.isfinite(scores).all():
        return worst(metric)
    return float(METRICS[metric](truth, scores))


def worst(metric: str) -> float:
    """What answers get that are no numbers."""
    return -math.inf if metric == "r2" else 0.0


def _sklearn() -> Any:
    return optional("sklearn.metrics", extra="search", purpose="a metric")


def _decide(truth: NDArray[Any], scores: NDArray[Any]) -> NDArray[Any]:
    """One code a node, or 0/1 a label."""
    if scores.ndim == 2 and truth.ndim == 1:
        return np.asarray(scores.argmax(axis=1))
    return (scores > 0.5).astype(np.int64)


def _indicators(truth: NDArray[Any], scores: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """One 0/1 column a class, beside its scores; classes of which all or none are there go."""
    if scores.ndim == 1:
        truth, scores = truth[:, None], scores[:, None]
    elif truth.ndim == 1:
        truth = (truth[:, None] == np.arange(scores.shape[1])).astype(np.int64)
    both = (truth.min(axis=0) == 0) & (truth.max(axis=0) == 1)
    return truth[:, both], scores[:, both]


def _accuracy(truth: NDArray[Any], scores: NDArray[Any]) -> float:
    """The share of right nodes; with many labels a node, all must be right."""
    return float(_sklearn().accuracy_score(truth, _decide(truth, scores)))


def _f1(average: str) -> Callable[[NDArray[Any], NDArray[Any]], float]:
    def f1(truth: NDArray[Any], scores: NDArray[Any]) -> float:
        answers = _decide(truth, scores)
        return float(_sklearn().f1_score(truth, answers, average=average, zero_division=0))

    return f1


def _ranking(name: str) -> Callable[[NDArray[Any], NDArray[Any]], float]:
    """The mean over classes, one against the rest."""

    def ranking(truth: NDArray[Any], scores: NDArray[Any]) -> float:
        truth, scores = _indicators(truth, scores)
        if truth.shape[1] == 0:
            return 0.0
        return float(getattr(_sklearn(), name)(truth, scores, average="macro"))

    return ranking


def _r2(truth: NDArray[Any], scores: NDArray[Any]) -> float:
    with warnings.catch_warnings():  # one node has no variance; sklearn warns and says NaN
        warnings.simplefilter("ignore")
        value = float(_sklearn().r2_score(truth, scores))
    return value if math.isfinite(value) else -math.inf


METRICS: dict[str, Callable[[NDArray[Any], NDArray[Any]], float]] = {
    "accuracy": _accuracy,
    "macro_f1": _f1("macro"),
    "micro_f1": _f1("micro"),
    "roc_auc": _ranking("roc_auc_score"),
    "average_precision": _ranking("average_precision_score"),
    "r2": _r2,
}
