"""What can go wrong, in words a user can act on.

Every message is one sentence that names the thing, the rule, the value and a fix.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from difflib import get_close_matches
from types import ModuleType

__all__ = ["AutoGMError", "InputError", "MissingExtra", "optional", "show", "suggest"]


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
