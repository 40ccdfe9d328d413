"""``autogm`` and ``python -m autogm``."""

from __future__ import annotations

import sys

from autogm.errors import MissingExtra, optional

__all__ = ["main"]


def main() -> None:
    """Run the command line, which the base installation does not bring."""
    try:
        optional("typer", extra="search", purpose="the command line")
    except MissingExtra as error:
        sys.exit(f"autogm: {error}")
    from autogm.cli import run

    run()


if __name__ == "__main__":
    main()
