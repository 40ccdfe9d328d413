"""How long something takes, with all that the number depends on."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from autogm.errors import InputError

__all__ = ["NOISY", "SCOPES", "STATISTICS", "Measurement", "machine", "show_seconds"]

SCOPES = ("graph", "batch", "query", "paper")
"""All nodes in one pass; some together; one; as the paper's released code times."""

STATISTICS = ("median", "p95", "p99")

NOISY = 1.3
"""Above this, the reference kernel's slow calls beside its usual ones, a machine is noisy."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """Seconds from features and graph in memory to predicted labels.

    ``prepared`` names what was made before and is not on the clock; ``noise`` is how much longer
    than usual (95th percentile over median) a fixed piece of work took that was timed in between.
    """

    scope: str
    batch_size: int | None
    """How many nodes were asked together; None for all."""
    median: float
    p95: float
    p99: float
    repeats: int
    threads: int
    machine: str
    fingerprint: str
    """Of the graph."""
    prepared: tuple[str, ...]
    noise: float

    @property
    def seconds(self) -> float:
        """What is compared with a budget: the median of whole passes, the 95th percentile else."""
        return self.at("median" if self.scope in ("graph", "paper") else "p95")

    @property
    def is_noisy(self) -> bool:
        return self.noise > NOISY

    def at(self, statistic: str) -> float:
        if statistic not in STATISTICS:
            raise InputError(
                f"a statistic must be one of {', '.join(STATISTICS)}, but got {statistic!r}"
            )
        return float(getattr(self, statistic))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Measurement:
        made = cls(**{**fields, "prepared": tuple(fields["prepared"])})
        for name in ("median", "p95", "p99", "noise"):
            value = getattr(made, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
                raise InputError(f"{name} must be a number of at least 0, but got {value!r}")
        return made

    def __str__(self) -> str:
        asked = "" if self.batch_size is None else f" of {self.batch_size:,} node(s)"
        noisy = f"; a noisy machine ({self.noise:.1f}x at times)" if self.is_noisy else ""
        return (
            f"{self.scope}{asked}: {show_seconds(self.median)}, p95 {show_seconds(self.p95)}, "
            f"p99 {show_seconds(self.p99)} ({self.repeats:,} repeats, {self.threads} thread(s)"
            f"{noisy})"
        )


def show_seconds(seconds: float) -> str:
    """Three digits and a unit.

    >>> show_seconds(0.00421), show_seconds(62e-6), show_seconds(0), show_seconds(90)
    ('4.21 ms', '62 µs', '0 s', '90 s')
    """
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9)):
        if seconds * scale >= 0.9995 or (unit == "ns" and seconds > 0):
            digits = max(0, 2 - int(np.floor(np.log10(max(1.0, seconds * scale)) + 2e-4)))
            text = f"{seconds * scale:.{digits}f}"
            return f"{text.rstrip('0').rstrip('.') if '.' in text else text} {unit}"
    return "0 s"


@cache
def machine() -> str:
    """Processor, cores and system, as far as they can be told apart from outside."""
    model = platform.processor() or platform.machine()
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        names = [line for line in listing.read_text().splitlines() if "model name" in line]
        model = names[0].partition(":")[2].strip() if names else model
    return f"{model}, {os.cpu_count()} cores, {platform.system()}"
