"""What can go wrong, in words a user can act on.

Every message is one sentence that names the thing, the rule, the value and a fix.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import operator
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from numbers import Real
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = [
    "AutoGMError",
    "InputError",
    "MissingExtra",
    "optional",
    "parsing",
    "require_share",
    "require_whole",
    "show",
    "suggest",
]


class AutoGMError(Exception):
    """The root of every error that AutoGM raises on purpose."""


class InputError(AutoGMError, ValueError):
    """A value, a file or a table that cannot be used as it is."""


class MissingExtra(AutoGMError, ImportError):
    """A library is needed that the installed extras do not bring."""


def optional(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import a library that the base installation does not need, or say which extra has it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise MissingExtra(
            f"{purpose} needs {error.name}, which is not installed: pip install 'autogm[{extra}]'"
        ) from None


@contextlib.contextmanager
def parsing(path: Path, kind: str, *, fix: str = "rename it after what it is") -> Iterator[None]:
    """Whatever a parser throws at a file that is not what its name says, in one sentence."""
    try:
        yield
    except (AutoGMError, OSError) as error:
        if isinstance(error, AutoGMError) or error.errno is not None:
            raise
        raise _not_what_it_says(path, kind, error, fix) from None
    except Exception as error:
        raise _not_what_it_says(path, kind, error, fix) from None


def _not_what_it_says(path: Path, kind: str, error: Exception, fix: str) -> InputError:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return InputError(f"{path.name} is not {kind}: {reason}; {fix}")


def require_whole(name: str, value: Any, *, least: int | None = None) -> int:
    """A whole number, not below ``least``."""
    rule = "a whole number" if least is None else f"a whole number of at least {least}"
    try:
        whole = operator.index(value)
    except TypeError:
        whole = None
    if whole is None or isinstance(value, bool) or (least is not None and whole < least):
        raise InputError(f"{name} must be {rule}, but got {show([value])}; try {least or 0}")
    return whole


def require_share(name: str, value: Any, *, usual: float) -> float:
    """A number strictly between 0 and 1."""
    share = float(value) if isinstance(value, Real) else math.nan
    if not 0 < share < 1:
        raise InputError(
            f"{name} must be between 0 and 1, but got {show([value])}; {usual} is usual"
        )
    return share


def show(values: Iterable[object], most: int = 3) -> str:
    """Write the first few values of a list that may be long: ``'a', 'b', 'c', …``."""
    shown = list(values)
    # .item() turns NumPy scalars into the Python values that a user typed.
    plain = [value.item() if hasattr(value, "item") else value for value in shown[:most]]
    return ", ".join(map(repr, plain)) + (", …" if len(shown) > most else "")


def suggest(name: str, choices: Iterable[str]) -> str:
    """A closing half-sentence with the nearest choice, or nothing."""
    near = get_close_matches(name, list(choices), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
