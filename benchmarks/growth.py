"""GCN's labels on R-MAT graphs from 1M to 64M edges: time and memory.

    python benchmarks/growth.py [--edges 1,4,16,64]

Sixteen edges a node, 64 dense features, d = 64. Every size in a process of its own. The roofline is
made of what this machine shows at that size: rows of 64 numbers gathered at random places from as
many rows as there are nodes, one for each entry of the adjacency, and dense products at their peak.
R-MAT's hubs are asked for again and again and stay in a cache, so ours may be faster than that.
Memory is the process's peak over what it held, machine code included, before the graph was made,
against graph, features and two buffers of messages.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import harness
import numpy as np

from autogm import Algorithm
from autogm.graph import planted_partition, rmat
from autogm.message.kernel import num_threads, run
from autogm.message.product import aligned
from autogm.plan.kernels import sums
from autogm.plan.roofline import peak
from autogm.predictor import Predictor

D = 64
CLASSES = 10
SAMPLED = 8_000_000


def status(field: str) -> int:
    """A line of the system's account of this process, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise SystemExit(f"no {field} here; this benchmark needs Linux")


def gathered(num_rows: int, entries: int) -> float:
    """Seconds to add up ``entries`` rows at random places, sixteen to a sum, all cores."""
    count = min(entries, SAMPLED)
    source, out = aligned(num_rows, D), aligned(count // 16, D)
    source[:] = 1
    indices = np.random.default_rng(0).integers(num_rows, size=count).astype(np.int32)
    indptr = np.arange(0, count + 1, 16)
    nothing = np.empty(0, np.float32)
    for part in (indices, indptr, nothing, source):
        part.flags.writeable = False
    threads = num_threads()
    cuts = np.linspace(0, len(out), threads + 1).astype(int).tolist()
    parts = [slice(a, b) for a, b in pairwise(cuts)]

    def add(start: int, stop: int) -> None:
        rows = (indptr, indices, nothing)
        sums(start, stop, *rows, False, nothing, False, source, out[start:stop])

    seconds = []
    for _ in range(5):
        begin = time.perf_counter()
        run(add, parts, threads=threads)
        seconds.append(time.perf_counter() - begin)
    return min(seconds) * entries / count


def one(edges: int) -> dict[str, Any]:
    small = planted_partition(100, num_features=64, feature_density=1.0)
    Predictor.untrained(small, Algorithm.gcn(d=D)).predict(small)  # machine code is not counted
    start = status("VmRSS")
    graph = rmat(round(math.log2(edges / 16)), edges)
    rng = np.random.default_rng(0)
    features = rng.standard_normal((graph.num_nodes, 64), dtype=np.float32)
    labels = rng.integers(CLASSES, size=graph.num_nodes)
    graph = dataclasses.replace(
        graph, features=features, labels=labels, classes=tuple(range(CLASSES))
    )
    del features
    predictor = Predictor.untrained(graph, Algorithm.gcn(d=D))
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of making the graph
    predictor.predict(graph)
    peak_memory = status("VmHWM")
    seconds = []
    for _ in range(3 if edges > 2e7 else 9):
        begin = time.perf_counter()
        predictor.predict(graph)
        seconds.append(time.perf_counter() - begin)
    rows = graph.rows
    held = rows.indptr.nbytes + rows.indices.nbytes + graph.features.nbytes
    held += graph.ids.nbytes + graph.stable_keys.nbytes + graph.labels.nbytes
    buffers = 2 * 4 * D * graph.num_nodes
    steps = predictor.ready(graph).whole.steps
    entries = 2 * (len(rows.indices) + graph.num_nodes)
    del predictor
    dense = 2 * graph.num_nodes * (64 * D + D * D + D * CLASSES)
    least = gathered(graph.num_nodes, entries) + dense / peak(num_threads())
    return {
        "edges": graph.num_edges,
        "nodes": graph.num_nodes,
        "seconds": seconds,
        "roofline": least,
        "steps": [step.name for step in steps],
        "memory": {"start": start, "peak": peak_memory, "held": held, "buffers": buffers},
    }


def memory_ratio(found: dict[str, Any]) -> float:
    memory = found["memory"]
    return float((memory["peak"] - memory["start"]) / (memory["held"] + memory["buffers"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", default="1,4,16,64", help="in millions")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(one(args.one)))
        return
    sizes = []
    for millions in args.edges.split(","):
        command = [sys.executable, __file__, "--one", str(int(float(millions) * 1e6))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
        sizes.append(json.loads(done.stdout.splitlines()[-1]))
        show(sizes[-1])
    record: dict[str, Any] = {"threads": num_threads(), "sizes": sizes}
    large = [found for found in sizes if found["edges"] > 1e7]
    if len(large) > 1:
        times = [harness.median(found["seconds"]) for found in (large[0], large[-1])]
        grown = math.log(large[-1]["edges"] / large[0]["edges"])
        record["exponent"] = math.log(times[1] / times[0]) / grown
        met = record["exponent"] <= 1.05
        print(
            f"exponent from {large[0]['edges'] / 1e6:.0f}M up: {record['exponent']:.3f}, "
            f"at most 1.05: {'met' if met else 'NOT MET'}"
        )
    over = [memory_ratio(found) for found in sizes]
    near = [harness.median(found["seconds"]) / found["roofline"] for found in sizes]
    print(f"memory at most 1.3x: {'met' if max(over) <= 1.3 else 'NOT MET'}")
    print(f"at most 3x of the gathers: {'met' if max(near) <= 3 else 'NOT MET'}")
    harness.write("growth", record, "numpy", "numba")


def show(found: dict[str, Any]) -> None:
    seconds = harness.median(found["seconds"])
    print(
        f"{found['edges']:,} edges: {harness.show(seconds)} "
        f"({harness.spread(found['seconds'])}), {seconds / found['roofline']:.2f}x roofline, "
        f"memory {memory_ratio(found):.2f}x of graph, features and two buffers",
        flush=True,
    )


if __name__ == "__main__":
    main()
