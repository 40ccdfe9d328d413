"""What every benchmark shares: interleaved repeats, a table, and JSON with the raw samples."""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def interleave(
    contenders: Mapping[str, Callable[[], Any]],
    *,
    repeats: int,
    warm_up: int = 1,
    settle: float = 0.0,
    enough: float = math.inf,
) -> dict[str, list[float]]:
    """Seconds of each contender, one after another in every round; warm-up rounds are not kept.

    Before its timed call each is called for ``settle`` seconds in every round: threads of the
    contender before may still be spinning, and its data lies in the caches. A contender that has
    taken ``enough`` seconds and three repeats is left out of the rounds that follow.
    """
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for round_ in range(warm_up + repeats):
        for name, call in contenders.items():
            if len(samples[name]) >= 3 and sum(samples[name]) > enough:
                continue
            settled = time.perf_counter() + settle
            while time.perf_counter() < settled:
                call()
            start = time.perf_counter()
            call()
            seconds = time.perf_counter() - start
            if round_ >= warm_up:
                samples[name].append(seconds)
    return samples


def median(samples: list[float]) -> float:
    return statistics.median(samples)


def spread(samples: list[float]) -> str:
    return f"{show(min(samples))}-{show(max(samples))}"


def show(seconds: float) -> str:
    for unit, scale in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def machine() -> dict[str, Any]:
    model = "unknown"
    if Path("/proc/cpuinfo").exists():
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return {"processor": model, "cores": os.cpu_count(), "system": platform.system()}


def versions(*names: str) -> dict[str, str]:
    return {
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in names},
    }


def read(name: str) -> dict[str, Any]:
    """The record of an earlier run, or an empty one."""
    path = RESULTS / f"{name}.json"
    return dict(json.loads(path.read_text())) if path.exists() else {}


def write(name: str, record: dict[str, Any], *packages: str) -> None:
    RESULTS.mkdir(exist_ok=True)
    record = {**record, "machine": machine(), "versions": versions(*packages)}
    path = RESULTS / f"{name}.json"
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(record, indent=1) + "\n")
    partial.replace(path)


def print_table(header: list[str], rows: list[list[Any]]) -> None:
    cells = [header, *[[str(cell) for cell in row] for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    for i, row in enumerate(cells):
        print("| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |")
        if i == 0:
            print("|" + "|".join("-" * (w + 2) for w in widths) + "|")
