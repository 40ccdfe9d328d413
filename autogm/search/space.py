"""A finite space: the product of named axes. A point of it is a plain dict, a value for each name.

Inside, a point is a row of codes, the place of each value on its axis, so that many points are one
array of integers.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from autogm.errors import InputError, require_whole, show, suggest

__all__ = ["Axis", "Boolean", "Categorical", "Codes", "Integer", "Point", "Space"]

Point = dict[str, Any]
Codes = NDArray[np.int64]
"""Rows are points, columns the places of their values on the axes."""


class Axis(Protocol):
    """The values a parameter can take, and what they mean to a model that learns from them."""

    @property
    def values(self) -> Sequence[Any]: ...

    def features(self) -> NDArray[np.float64]:
        """A row of numbers for each value; rows that are much less than 1 apart mean alike."""
        ...

    def thinned(self, most: int) -> NDArray[np.int64]:
        """The places of at most about ``most`` values that stand for all, or of all."""
        ...


@dataclass(frozen=True)
class Integer:
    """Whole numbers from ``low`` to ``high``, and then perhaps one ``last`` value beyond them.

    ``log`` says that ratios matter and not differences. ``last`` stands at the end of the scale,
    whatever its number: -1 that means all, for one. ``weight`` says how far apart the two ends are:
    what is much less than 1 apart is expected to be alike.

    >>> Integer(1, 3, last=-1).values
    (1, 2, 3, -1)
    >>> Integer(3, 1)
    Traceback (most recent call last):
        ...
    autogm.errors.InputError: low must be at most high, but got low=3, high=1
    """

    low: int
    high: int
    log: bool = False
    last: int | None = None
    weight: float = 1.0

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, require_whole(name, getattr(self, name)))
        if self.low > self.high:
            raise InputError(f"low must be at most high, but got low={self.low}, high={self.high}")
        if self.log and self.low < 1:
            raise InputError(f"low must be at least 1 where log=True, but got {self.low}")
        if self.last is not None:
            object.__setattr__(self, "last", require_whole("last", self.last))
            if self.low <= self.last <= self.high:
                raise InputError(
                    f"last must be outside of {self.low}..{self.high}, but got {self.last}"
                )

    @property
    def values(self) -> Sequence[int]:
        numbers = range(self.low, self.high + 1)
        return numbers if self.last is None else (*numbers, self.last)

    def features(self) -> NDArray[np.float64]:
        return self.weight * self._scale()

    def thinned(self, most: int) -> NDArray[np.int64]:
        return _spread(self._scale()[:, 0], most)

    def _scale(self) -> NDArray[np.float64]:
        numbers = np.arange(self.low, self.high + 1, dtype=np.float64)
        if self.last is not None:
            beyond = 2 * self.high if self.log else self.high + 1
            numbers = np.append(numbers, beyond)
        return _scaled(np.log(numbers) if self.log else numbers)


@dataclass(frozen=True)
class Boolean:
    """False or True; ``weight`` says how far apart."""

    weight: float = 1.0

    @property
    def values(self) -> Sequence[bool]:
        return (False, True)

    def features(self) -> NDArray[np.float64]:
        return np.array([[0.0], [self.weight]])

    def thinned(self, most: int) -> NDArray[np.int64]:
        return np.arange(2)


class Categorical:
    """Some choices: texts, numbers or truth values.

    Numbers keep their order, where they are positive on the scale of ratios; other choices are
    equally unlike. ``factors`` says what choices are made of, for those that share parts: a row of
    numbers each, of which those that are much less than 1 apart mean alike.

    >>> Categorical("NN", "SN", "SS", factors=[(0, 1), (0.5, 1), (0.5, 0)]).features()
    array([[0. , 1. ],
           [0.5, 1. ],
           [0.5, 0. ]])
    """

    def __init__(self, *choices: Any, factors: Sequence[Sequence[float]] | None = None) -> None:
        if not choices:
            raise InputError("Categorical needs at least one choice; try Categorical('a', 'b')")
        plain = tuple(choice.item() if hasattr(choice, "item") else choice for choice in choices)
        for choice in plain:
            finite = isinstance(choice, str | int) or (
                isinstance(choice, float) and math.isfinite(choice)
            )
            if not finite:
                raise InputError(
                    f"choices must be texts, finite numbers or truth values, but got {choice!r}"
                )
        # 1, 1.0 and True are equal to Python, but are other choices to a reader.
        if len(set(plain)) < len(plain):
            raise InputError(f"choices must differ, but got {show(plain, most=8)}")
        if factors is not None and len(factors) != len(plain):
            raise InputError(
                f"factors must be one row a choice ({len(plain)}), but got {len(factors)} rows"
            )
        self.values = plain
        self.factors = None if factors is None else tuple(tuple(row) for row in factors)

    def __repr__(self) -> str:
        return f"Categorical({', '.join(map(repr, self.values))})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Categorical):
            return NotImplemented
        return (self.values, self.factors) == (other.values, other.factors)

    def __hash__(self) -> int:
        return hash((self.values, self.factors))

    def features(self) -> NDArray[np.float64]:
        if self.factors is not None:
            return np.array(self.factors, np.float64)
        if all(isinstance(choice, int | float) for choice in self.values):
            numbers = np.array(self.values, np.float64)
            return _scaled(np.log(numbers) if (numbers > 0).all() else numbers)
        rows = np.eye(len(self.values)) / math.sqrt(2)  # any two are 1 apart
        return rows[:, :1] * math.sqrt(2) if len(rows) == 2 else rows

    def thinned(self, most: int) -> NDArray[np.int64]:
        return np.arange(len(self.values))


def _scaled(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """One column from 0 to 1."""
    low, high = numbers.min(), numbers.max()
    scaled: NDArray[np.float64] = (numbers - low) / (high - low if high > low else 1.0)
    return scaled[:, None]


def _spread(scale: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Places about evenly spread over a scale that rises, its ends among them."""
    if len(scale) <= most:
        return np.arange(len(scale))
    return np.unique(np.abs(scale[:, None] - np.linspace(0, 1, most)).argmin(axis=0))


class Space:
    """The product of named axes.

    >>> space = Space(d=Integer(1, 300, log=True), l=Boolean())
    >>> space.size, space.point(space.codes([{"d": 64, "l": True}])[0])
    (600, {'d': 64, 'l': True})
    >>> space.codes([{"d": 301, "l": True}])
    Traceback (most recent call last):
        ...
    autogm.errors.InputError: d must be one of 1, 2, 3, …, but got 301
    """

    def __init__(self, **axes: Axis) -> None:
        if not axes:
            raise InputError("a Space needs at least one axis; try Space(d=Integer(1, 300))")
        for name, axis in axes.items():
            if not all(hasattr(axis, part) for part in ("values", "features", "thinned")):
                raise InputError(
                    f"{name} must be an Integer, a Boolean or a Categorical, but got {axis!r}; "
                    f"for a fixed value try Categorical({axis!r})"
                )
        self.axes: Mapping[str, Axis] = dict(axes)
        self.shape = tuple(len(axis.values) for axis in axes.values())
        if self.size >= 2**63:
            raise InputError(
                f"a Space must have less than 2**63 points, but got {self.size}; give fewer values"
            )
        self._places = [
            {_key(value): i for i, value in enumerate(axis.values)} for axis in axes.values()
        ]
        self._features = [axis.features() for axis in axes.values()]

    def __repr__(self) -> str:
        return f"Space({', '.join(f'{name}={axis}' for name, axis in self.axes.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __contains__(self, point: object) -> bool:
        try:
            self.codes([point])  # type: ignore[list-item]
        except InputError:
            return False
        return True

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def fingerprint(self) -> str:
        """Of names and values, in their order."""
        text = json.dumps([[name, list(axis.values)] for name, axis in self.axes.items()])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def point(self, codes: Sequence[int] | Codes) -> Point:
        pairs = zip(self.axes.items(), codes, strict=True)
        return {name: axis.values[int(code)] for (name, axis), code in pairs}

    def points(self, codes: Codes) -> list[Point]:
        columns = [
            np.array(axis.values, dtype=object)[codes[:, i]].tolist()
            for i, axis in enumerate(self.axes.values())
        ]
        return [dict(zip(self.axes, row, strict=True)) for row in zip(*columns, strict=True)]

    def codes(self, points: Sequence[Mapping[str, Any]]) -> Codes:
        return np.array([self._code(point) for point in points], np.int64).reshape(
            -1, len(self.axes)
        )

    def _code(self, point: Mapping[str, Any]) -> list[int]:
        if not isinstance(point, Mapping):
            raise InputError(f"a point must be a dict of parameters, but got {point!r}")
        for name in point:
            if name not in self.axes:
                raise InputError(
                    f"a point has {name!r}, which the space has not: it has {', '.join(self.axes)}"
                    f"{suggest(str(name), self.axes)}"
                )
        code = []
        for (name, axis), places in zip(self.axes.items(), self._places, strict=True):
            if name not in point:
                raise InputError(f"a point needs {', '.join(self.axes)}, but {name} is missing")
            try:
                place = places.get(_key(point[name]))
            except TypeError:  # a list has no hash
                place = None
            if place is None:
                raise InputError(
                    f"{name} must be one of {show(axis.values)}, but got {show([point[name]])}"
                )
            code.append(place)
        return code

    def flat(self, codes: Codes) -> NDArray[np.int64]:
        """One number a point, its place when all are enumerated."""
        return np.asarray(np.ravel_multi_index(tuple(codes.T), self.shape), np.int64)

    def unflat(self, places: Any) -> Codes:
        return np.stack(np.unravel_index(np.asarray(places, np.int64), self.shape), axis=1)

    def features(self, codes: Codes) -> NDArray[np.float64]:
        """What points mean to a model: the axes' features, side by side."""
        return np.hstack([part[codes[:, i]] for i, part in enumerate(self._features)])

    def grid(self, most: int) -> Codes:
        """Of each axis some values that stand for all, so that at most ``most`` points come out."""
        per_axis = max(self.shape)
        while True:
            kept = [axis.thinned(per_axis) for axis in self.axes.values()]
            shape = tuple(map(len, kept))
            if math.prod(shape) <= most or per_axis <= 2:
                break
            per_axis = max(2, int(per_axis * 0.9))
        # So many axes that two values of each are too many: some of those points, evenly spread.
        some = min(most, math.prod(shape))
        places = [i * math.prod(shape) // some for i in range(some)]
        at = np.unravel_index(np.array(places, np.int64), shape)
        return np.stack([axis[i] for axis, i in zip(kept, at, strict=True)], axis=1)

    def draw(self, count: int, rng: np.random.Generator) -> Codes:
        """Random points, evenly over the space; one may come twice."""
        return np.stack([rng.integers(0, size, count) for size in self.shape], axis=1)

    def __iter__(self) -> Iterator[Point]:
        for place in range(self.size):
            yield self.point(self.unflat([place])[0])


def _key(value: Any) -> Any:
    """True is not 1 here."""
    value = value.item() if hasattr(value, "item") else value
    return (isinstance(value, bool), value)
