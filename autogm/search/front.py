"""What cannot be improved in one respect without losing in the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["hypervolume", "on_front"]


def on_front(accuracy: Any, seconds: Any) -> NDArray[np.bool_]:
    """Which points nothing else beats: none is as accurate and faster, or as fast and more so.

    Of equal points the first stands for all. NaN is never on the front.

    >>> on_front([0.8, 0.7, 0.8, 0.9], [1, 2, 1, 3]).tolist()
    [True, False, False, True]
    """
    accuracy, seconds = np.asarray(accuracy, np.float64), np.asarray(seconds, np.float64)
    kept = np.zeros(len(accuracy), np.bool_)
    known = np.flatnonzero(~(np.isnan(accuracy) | np.isnan(seconds)))
    best = -np.inf
    for i in known[np.lexsort((known, -accuracy[known], seconds[known]))]:
        if accuracy[i] > best:
            kept[i], best = True, accuracy[i]
    return kept


def hypervolume(
    accuracy: Any, seconds: Any, *, floor: float, ceiling: float, fastest: float
) -> float:
    """The share that points win of the area between ``floor`` and 1, ``fastest`` and ``ceiling``.

    Time counts by its logarithm: twice as fast is as much worth at 1 ms as at 100.

    >>> hypervolume([0.5, 1.0], [1.0, 10.0], floor=0.0, ceiling=100.0, fastest=1.0)
    0.75
    """
    accuracy, seconds = np.asarray(accuracy, np.float64), np.asarray(seconds, np.float64)
    kept = on_front(accuracy, seconds) & (accuracy > floor) & (seconds < ceiling)
    order = np.argsort(seconds[kept])
    heights = np.minimum(accuracy[kept][order], 1.0) - floor
    edges = np.log(np.append(np.maximum(seconds[kept][order], fastest), ceiling))
    area = float(np.sum(heights * np.diff(edges)))
    return area / ((1.0 - floor) * float(np.log(ceiling / fastest)))
