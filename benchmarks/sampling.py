"""Keyed sampling of w = 10 neighbours for all nodes, against NumPy gathers of as many entries.

    python benchmarks/sampling.py [--repeats 15]

A planted graph (1M nodes, 20M edges, even degrees) and an R-MAT graph (1M nodes, 20M edges, hubs).
The gathers take exactly the sampled entries out of the same array: once in the order of the rows
(the least that any sampler must do), once in random order. NumPy gathers with one thread; autogm
is timed with all cores and with one. Putting the rows in the order of stable keys (`neighbours`),
which is done once a graph, is timed by itself.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import harness
import numpy as np

from autogm import Graph
from autogm.graph import planted_partition, rmat
from autogm.message import kernel, neighbours, sample, step_key

WIDTH = 10
ALL_CORES = kernel.num_threads()


def measure(graph: Graph, repeats: int) -> dict[str, Any]:
    rows, keys = neighbours(graph), graph.stable_keys
    counter = iter(range(10**6))

    def draw(threads: int) -> Any:
        kernel.num_threads = lambda: threads
        return sample(rows, WIDTH, key=step_key(next(counter), 1), stable_keys=keys)

    drawn = draw(ALL_CORES)
    # The place of each drawn entry: rows ascend, so (row, neighbour) does too.
    entry = rows.row_of_entry.astype(np.int64) << 32 | rows.indices
    place = np.searchsorted(entry, drawn.row_of_entry.astype(np.int64) << 32 | drawn.indices)
    assert np.array_equal(rows.indices[place], drawn.indices)
    shuffled = np.random.default_rng(0).permutation(place)
    samples = harness.interleave(
        {
            f"autogm, {ALL_CORES} threads": lambda: draw(ALL_CORES),
            "autogm, 1 thread": lambda: draw(1),
            "NumPy gather, row order": lambda: rows.indices[place],
            "NumPy gather, random order": lambda: rows.indices[shuffled],
        },
        repeats=repeats,
        warm_up=2,
    )
    start = time.perf_counter()
    neighbours(graph)
    preparation = time.perf_counter() - start
    return {"entries": len(place), "preparation": preparation, "samples": samples}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    args = parser.parse_args()
    record, table = {}, []
    for name, graph in (
        ("planted", planted_partition(1_000_000, degree=40, num_features=1)),
        ("R-MAT", rmat(20, 20_000_000)),
    ):
        result = record[name] = measure(graph, args.repeats)
        first = harness.median(next(iter(result["samples"].values())))
        for contender, samples in result["samples"].items():
            seconds = harness.median(samples)
            entries = f"{result['entries']:,}"
            row = [name, entries, contender, harness.show(seconds), harness.spread(samples)]
            table.append([*row, f"{first / seconds:.2f}x"])
    harness.print_table(
        ["graph", "entries", "", "median", "spread", "autogm, all cores, takes"], table
    )
    for name, result in record.items():
        print(f"{name}: rows put in order once in {harness.show(result['preparation'])}")
    harness.write("sampling", {"graphs": record}, "numba", "numpy")


if __name__ == "__main__":
    main()
