"""What a training is expected to bring, given what a model believes of a point's accuracy.

Notation: mean, deviation of the believed accuracy; t the point's time, which is known.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

__all__ = ["expected_front_gain", "expected_gain", "expected_saving", "probability"]

Numbers = NDArray[np.float64]


def probability(mean: Numbers, deviation: Numbers, floor: float) -> Numbers:
    """That the accuracy is at least ``floor``."""
    return np.asarray(ndtr((mean - floor) / deviation), np.float64)


def expected_gain(mean: Numbers, deviation: Numbers, best: float) -> Numbers:
    """E max(0, accuracy - best): expected improvement."""
    z = (mean - best) / deviation
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return np.asarray(np.maximum(deviation * (z * ndtr(z) + density), 0), np.float64)


def expected_saving(
    mean: Numbers, deviation: Numbers, chance: Numbers, best: float | None
) -> Numbers:
    """E (t_best - t)+ P(accuracy >= floor), log t being ``mean`` give or take ``deviation``.

    Before anything is good enough, P / t.
    """
    if best is None:
        return np.asarray(chance * np.exp(-mean), np.float64)
    s = np.maximum(deviation, 1e-9)
    z = (np.log(best) - mean) / s
    saved = np.maximum(best * ndtr(z) - np.exp(mean + s**2 / 2) * ndtr(z - s), 0)
    return np.asarray(saved * chance, np.float64)


def expected_front_gain(
    mean: Numbers, deviation: Numbers, seconds: Numbers, front: Any, *, floor: float, ceiling: float
) -> Numbers:
    """What the area under a front grows by, time on a scale of ratios.

    A point at time t with accuracy y lifts the front to y from t on to where something is as good:
    the integral of (y - front(s))+ over log s from t to ``ceiling``. The front is a staircase, so
    that is a sum over its stairs, and its expectation a sum of expected gains.
    ``front`` holds rows of (seconds, accuracy), the fastest first; below it lies ``floor``.
    """
    stairs = np.asarray(front, np.float64).reshape(-1, 2)
    starts = np.log(np.concatenate([[1e-300], stairs[:, 0], [ceiling]]))
    heights = np.maximum(np.concatenate([[floor], stairs[:, 1]]), floor)
    gain = np.zeros(len(mean))
    for height, begin, end in zip(heights, starts, starts[1:], strict=False):
        width = np.clip(end - np.maximum(np.log(seconds), begin), 0, None)
        gain += width * expected_gain(mean, deviation, height)
    return gain
