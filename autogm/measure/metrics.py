"""How good answers are, by scikit-learn's metrics; higher is better in all of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autogm.errors import InputError, optional, suggest

__all__ = ["METRICS", "can_score", "score", "worst"]


def score(metric: str, truth: NDArray[Any], scores: NDArray[Any]) -> float:
    """``truth`` holds codes (n), or 0/1 a label (n x L), or numbers; ``scores`` what was answered.

    For codes, scores are n x C, or n for the second of two classes; for labels n x L; they are
    probabilities. A label that is -1 is unknown: each label is judged where it is known. Numbers
    are answered by numbers, for ``r2`` alone.

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


def can_score(metric: str, truth: NDArray[Any]) -> bool:
    """Whether the truth says anything: a ranking needs nodes with and without some class."""
    if metric not in _RANKINGS:
        return bool((truth >= 0).any()) or metric == "r2"
    columns = truth.T if truth.ndim == 2 else (truth[:, None] == np.unique(truth)).T
    return any((column == 0).any() and (column == 1).any() for column in columns)


def _answers(truth: NDArray[Any], scores: NDArray[Any]) -> NDArray[Any]:
    """One code a node, or 0/1 a label."""
    if scores.ndim == 2 and truth.ndim == 1:
        return np.asarray(scores.argmax(axis=1))
    return (scores > 0.5).astype(np.int64)


def _accuracy(truth: NDArray[Any], scores: NDArray[Any]) -> float:
    """The share of right nodes; with many labels a node, all that are known must be right."""
    right, known = truth == _answers(truth, scores), truth >= 0
    if truth.ndim == 2:
        return float((right | ~known).all(axis=1)[known.any(axis=1)].mean())
    return float(right.mean())


def _macro_f1(truth: NDArray[Any], scores: NDArray[Any]) -> float:
    """The mean over all classes there are, whether or not these nodes have them."""
    answers = _answers(truth, scores)
    if truth.ndim == 2:
        return float(
            np.mean([_f1(t[t >= 0], a[t >= 0]) for t, a in zip(truth.T, answers.T, strict=True)])
        )
    classes = range(scores.shape[1] if scores.ndim == 2 else 2)
    return float(
        _sklearn().f1_score(truth, answers, labels=[*classes], average="macro", zero_division=0)
    )


def _micro_f1(truth: NDArray[Any], scores: NDArray[Any]) -> float:
    answers = _answers(truth, scores)
    if truth.ndim == 2:
        return _f1(truth[truth >= 0], answers[truth >= 0])
    return float(_sklearn().f1_score(truth, answers, average="micro", zero_division=0))


def _f1(truth: NDArray[Any], answers: NDArray[Any]) -> float:
    """Of one label; 0 where nothing is known."""
    if len(truth) == 0:
        return 0.0
    return float(_sklearn().f1_score(truth, answers, zero_division=0))


def _ranking(name: str) -> Callable[[NDArray[Any], NDArray[Any]], float]:
    """The mean over classes, one against the rest; classes that all or none have are left out."""

    def ranking(truth: NDArray[Any], scores: NDArray[Any]) -> float:
        if scores.ndim == 1:
            truth, scores = truth[:, None], scores[:, None]
        elif truth.ndim == 1:
            truth = (truth[:, None] == np.arange(scores.shape[1])).astype(np.int64)
        rank = getattr(_sklearn(), name)
        ranks = [
            rank(column[column >= 0], score[column >= 0])
            for column, score in zip(truth.T, scores.T, strict=True)
            if (column == 0).any() and (column == 1).any()
        ]
        return float(np.mean(ranks)) if ranks else 0.0

    return ranking


def _r2(truth: NDArray[Any], scores: NDArray[Any]) -> float:
    with warnings.catch_warnings():  # one node has no variance; sklearn warns and says NaN
        warnings.simplefilter("ignore")
        value = float(_sklearn().r2_score(truth, scores))
    return value if math.isfinite(value) else -math.inf


METRICS: dict[str, Callable[[NDArray[Any], NDArray[Any]], float]] = {
    "accuracy": _accuracy,
    "macro_f1": _macro_f1,
    "micro_f1": _micro_f1,
    "roc_auc": _ranking("roc_auc_score"),
    "average_precision": _ranking("average_precision_score"),
    "r2": _r2,
}

_RANKINGS = ("roc_auc", "average_precision")
