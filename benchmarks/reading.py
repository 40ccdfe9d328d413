"""Peak memory and seconds of reading a 10M-edge table, and of loading CoauthorP.

    python benchmarks/reading.py [--edges 10000000]

Each case runs in a fresh process. The baseline is the process after all imports; the peak is the
high-water mark of resident memory (Linux) while the table is read. It is set against the graph's
CSR: what ``g.adjacency`` holds (indptr, indices and float32 values), and against the leaner rows
that the graph itself holds (indptr and indices alone). CoauthorP is loaded when the real graphs
are at hand; a dense copy of its features would be 1.2 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import harness
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from autogm.graph import DATASETS, find_raw

CHILD = """
import json, sys, time
import numpy, scipy.sparse, pyarrow, pyarrow.csv, pyarrow.parquet, pyarrow.compute
from autogm import load_graph

def resident(field):
    for line in open("/proc/self/status"):
        if line.startswith(field):
            return int(line.split()[1]) * 1024

name, options = sys.argv[1], json.loads(sys.argv[2])
open("/proc/self/clear_refs", "w").write("5")  # the high-water mark starts here
before, start = resident("VmRSS"), time.perf_counter()
graph = load_graph(name, **options)
seconds, peak = time.perf_counter() - start, resident("VmHWM")
rows = graph.rows
print(json.dumps({
    "seconds": seconds, "peak_over_baseline": peak - before, "nodes": graph.num_nodes,
    "edges": graph.num_edges, "rows": rows.indptr.nbytes + rows.indices.nbytes,
    "csr": sum(getattr(graph.adjacency, p).nbytes for p in ("indptr", "indices", "data")),
}))
"""


def measure(name: str, **options: object) -> dict[str, float]:
    command = [sys.executable, "-c", CHILD, name, json.dumps(options)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def write_tables(folder: Path, num_edges: int) -> dict[str, Path]:
    rng = np.random.default_rng(0)
    source, target = rng.integers(num_edges // 10, size=(2, num_edges))
    integers = pa.table({"source": source, "target": target})
    numbers = np.unique(rng.integers(2**62, size=num_edges // 10 + 1000))
    large = pa.table({"source": numbers[source], "target": numbers[target]})
    names = [pa.array(ends).cast(pa.string()) for ends in (source, target)]
    user = pa.scalar("user-")
    text = [pa.compute.binary_join_element_wise(user, column, "") for column in names]
    strings = pa.table({"source": text[0], "target": text[1]})
    paths = {}
    tables = {"ids 0..n-1": integers, "62-bit ids": large, "text ids": strings}
    for kind, table in tables.items():
        stem = folder / kind.split()[0]
        paths[f"{kind}, Parquet"] = folder / f"{stem.name}.parquet"
        pa.parquet.write_table(table, paths[f"{kind}, Parquet"])
        paths[f"{kind}, CSV"] = folder / f"{stem.name}.csv"
        pa.csv.write_csv(table, paths[f"{kind}, CSV"])
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, default=10_000_000)
    args = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, path in write_tables(Path(folder), args.edges).items():
            results[name] = measure(str(path), directed=True)
    if (raw := find_raw(DATASETS["physics"])) is not None:
        with tempfile.TemporaryDirectory() as cache:
            os.environ["AUTOGM_CACHE"] = cache
            for again in ("CoauthorP, first time", "CoauthorP, cached"):
                results[again] = measure("physics", root=str(raw.parent.parent))
    table = [
        [
            name,
            harness.show(r["seconds"]),
            f"{r['peak_over_baseline'] / 1e6:.0f} MB",
            f"{r['peak_over_baseline'] / r['csr']:.2f}x",
            f"{r['peak_over_baseline'] / r['rows']:.2f}x",
        ]
        for name, r in results.items()
    ]
    harness.print_table(["", "time", "peak", "of the CSR", "of indptr + indices"], table)
    harness.write("reading", {"results": results}, "numpy", "pyarrow")


if __name__ == "__main__":
    main()
