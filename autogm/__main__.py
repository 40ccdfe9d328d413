"""``autogm`` and ``python -m autogm``."""

from __future__ import annotations

import sys

from autogm.errors import MissingExtra, optional

__all__ = ["main"]


def main() -> None:
    """Run the command line, which the base installation does not bring."""
    try:
        optional("typer", extra="search", purpose="the command line")
        from autogm.cli import run

        run()
    except MissingExtra as error:
        sys.exit(f"autogm: {error}")
    except KeyboardInterrupt:  # while libraries are loaded or a graph is read
        sys.exit(130)


if __name__ == "__main__":
    main()
