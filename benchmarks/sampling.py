"""Keyed sampling of w = 10 neighbours for all nodes, against NumPy gathers of as many entries.

    python benchmarks/sampling.py [--repeats 15]

1M nodes, 20M edges. The gathers take exactly the sampled entries out of the same array: once in
the order of the rows (the least that any sampler must do), once in random order.
"""

from __future__ import annotations

import argparse

import harness
import numpy as np

from autogm.graph import planted_partition
from autogm.message import neighbours, sample, step_key
from autogm.message.kernel import num_threads

WIDTH = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    args = parser.parse_args()
    graph = planted_partition(1_000_000, degree=40, num_features=1)
    rows, keys = neighbours(graph), graph.stable_keys
    counter = iter(range(10**6))

    def draw() -> object:
        return sample(rows, WIDTH, key=step_key(next(counter), 1), stable_keys=keys)

    drawn = draw()
    owner = drawn.row_of_entry.astype(np.int64)
    # The place of each drawn entry: rows ascend, so (row, neighbour) does too.
    place = np.searchsorted(
        rows.row_of_entry.astype(np.int64) << 32 | rows.indices, owner << 32 | drawn.indices
    )
    assert np.array_equal(rows.indices[place], drawn.indices)
    shuffled = np.random.default_rng(0).permutation(place)
    samples = harness.interleave(
        {
            "autogm, keyed sampling": draw,
            "NumPy gather, row order": lambda: rows.indices[place],
            "NumPy gather, random order": lambda: rows.indices[shuffled],
        },
        repeats=args.repeats,
        warm_up=2,
    )
    ours = harness.median(samples["autogm, keyed sampling"])
    table = [
        [
            name,
            harness.show(harness.median(s)),
            harness.spread(s),
            f"{ours / harness.median(s):.2f}x",
        ]
        for name, s in samples.items()
    ]
    print(f"{graph.num_nodes:,} nodes, {graph.num_edges:,} edges, {len(place):,} entries drawn\n")
    harness.print_table(["", "median", "spread", "autogm takes"], table)
    record = {"threads": num_threads(), "entries": len(place), "samples": samples}
    harness.write("sampling", record, "numba", "numpy")


if __name__ == "__main__":
    main()
