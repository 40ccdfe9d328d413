"""What is asked for: answers within some time, or at least so many right; never both."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from autogm.errors import InputError, show, suggest
from autogm.measure.measurement import STATISTICS, show_seconds

__all__ = ["Budget", "parse_seconds"]

UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
_NUMBER = r"[+-]?(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
# Nobody waits a minute for one inference: a bare number from here on was meant in milliseconds.
_SECONDS_AT_MOST = 60


@dataclass(frozen=True)
class Budget:
    """A ceiling on time or a floor on accuracy.

    ``max_time`` is a text with its unit, or a number of seconds; ``"4ms@p95"`` says which statistic
    of a measurement must hold it (``statistic``; the scope decides otherwise).

    >>> Budget(max_time="4ms@p95")
    Budget(max_time=0.004, statistic='p95')
    >>> str(Budget(max_time="250us")), str(Budget(min_accuracy=0.8))
    ('at most 250 µs', 'accuracy of at least 0.8')
    >>> Budget(max_time=60)
    Traceback (most recent call last):
        ...
    autogm.errors.InputError: max_time is a number of seconds: did you mean '60ms'? for a minute \
write '60s'
    """

    max_time: float | None = None
    min_accuracy: float | None = None
    statistic: str | None = field(default=None, kw_only=True)

    def __init__(
        self,
        max_time: str | float | None = None,
        min_accuracy: float | None = None,
        *,
        statistic: str | None = None,
    ) -> None:
        if (max_time is None) == (min_accuracy is None):
            if max_time is None:
                raise InputError(
                    "a Budget needs max_time or min_accuracy, but got neither; "
                    "with no budget at all (None) the whole trade-off curve is searched"
                )
            raise InputError(
                "a Budget needs max_time or min_accuracy, but got both; search under one of them "
                "and look at the front for the other"
            )
        if max_time is not None:
            max_time, named = parse_seconds("max_time", max_time)
            statistic = named or statistic
        elif statistic is not None:
            raise InputError(f"statistic belongs to max_time, but got {statistic!r} without it")
        if statistic is not None and statistic not in STATISTICS:
            raise InputError(
                f"a statistic must be one of {', '.join(STATISTICS)}, but got {statistic!r}"
                f"{suggest(statistic, STATISTICS)}"
            )
        if min_accuracy is not None:
            min_accuracy = _accuracy(min_accuracy)
        for name, value in (
            ("max_time", max_time),
            ("min_accuracy", min_accuracy),
            ("statistic", statistic),
        ):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        parts = {name: value for name, value in vars(self).items() if value is not None}
        return f"Budget({', '.join(f'{name}={value!r}' for name, value in parts.items())})"

    def __str__(self) -> str:
        if self.max_time is None:
            return f"accuracy of at least {self.min_accuracy:g}"
        at = f" ({self.statistic})" if self.statistic else ""
        return f"at most {show_seconds(self.max_time)}{at}"

    def is_met(self, accuracy: float, seconds: float) -> bool:
        """Whether a point holds it; NaN holds nothing."""
        if self.max_time is not None:
            return bool(seconds <= self.max_time) and not math.isnan(accuracy)
        assert self.min_accuracy is not None
        return bool(accuracy >= self.min_accuracy) and not math.isnan(seconds)


def parse_seconds(name: str, value: Any) -> tuple[float, str | None]:
    """Seconds of a text with its unit or of a bare number, and the statistic after ``@``.

    >>> parse_seconds("timeout", "1.5 min")
    (90.0, None)
    """
    number, unit, statistic = _parts(name, value)
    if statistic is not None and name != "max_time":
        raise InputError(f"{name} has no statistic, but got {value!r}; leave out @{statistic}")
    if unit is None and _SECONDS_AT_MOST <= number < math.inf and name == "max_time":
        raise InputError(
            f"{name} is a number of seconds: did you mean '{number:g}ms'? "
            f"for {'a minute' if number == 60 else 'seconds'} write '{number:g}s'"
        )
    seconds = number * UNITS.get(unit or "s", 1.0)
    if not (0 < seconds < math.inf):
        raise InputError(f"{name} must be above 0 and finite, but got {show([value])}; try '4ms'")
    return seconds, statistic


def _parts(name: str, value: Any) -> tuple[float, str | None, str | None]:
    if isinstance(value, Real) and not isinstance(value, bool):
        return float(value), None, None
    if not isinstance(value, str):
        raise InputError(f"{name} must be a time such as '4ms', but got {value!r}")
    text, at, statistic = value.partition("@")
    if at and not statistic.strip():
        raise InputError(f"{name} must name a statistic after @, but got {value!r}; try '4ms@p95'")
    found = re.fullmatch(rf"\s*({_NUMBER})\s*(\S*)\s*", text)
    if found is None:
        raise InputError(f"{name} must be a time such as '4ms', but got {value!r}")
    number, unit = float(found[1]), found[2] or None
    if unit is not None and unit not in UNITS:
        raise InputError(
            f"{name} has the unit {unit!r}, which is not one of ns, us, µs, ms, s, min"
            f"{suggest(unit, UNITS)}"
        )
    return number, unit, statistic.strip() or None


def _accuracy(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise InputError(f"min_accuracy must be a number such as 0.8, but got {value!r}")
    if float(value) > 1:
        raise InputError(
            f"min_accuracy must be at most 1, but got {show([value])}"
            + (f"; did you mean {float(value) / 100:g}?" if 2 <= float(value) <= 100 else "")
        )
    return float(value)
