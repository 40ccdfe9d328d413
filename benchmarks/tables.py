"""Points of the space with accuracy and time, once, so that strategies are compared on them.

    python benchmarks/tables.py [--datasets cora,citeseer,photo]   trains; goes on where it stopped
    python benchmarks/tables.py --times                            times; on a quiet machine

The linear half stands on a grid (k, a, w, d), three runs a point; of the nonlinear half, points
with log-uniform d, k and w are drawn, one run each of at most 60 seconds. Every point has its
validation accuracy and the seconds its training took; its time is the median of whole passes with
random weights, beside what the cost model said. One file a graph: benchmarks/tables/NAME.parquet.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from pathlib import Path
from typing import Any

import harness
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from autogm import Algorithm, Graph, load_graph
from autogm.algorithm import AGGREGATIONS
from autogm.measure import Clock
from autogm.predictor import Predictor, cost_model
from autogm.train import train_runs

TABLES = Path(__file__).parent / "tables"
DATASETS = ("cora", "citeseer", "photo")
GRID = {
    "d": (1, 3, 8, 24, 80, 300),
    "k": (1, 2, 3, 4, 6, 10, 17, 30),
    "w": (1, 3, 8, 20, 50, -1),
    "a": AGGREGATIONS,
}
NONLINEAR = 180
CAP = 60.0
CLOCK = Clock(warm_up=2, least=9, most=45, tight=0.05, cap=0.5)


def points() -> list[Algorithm]:
    """The named algorithms, the linear grid, and nonlinear points drawn by a fixed seed."""
    named = [Algorithm.gcn(), Algorithm.graphsage(), Algorithm.sgcn(), Algorithm.pagerank()]
    grid = [
        Algorithm(d=d, k=k, w=w, l=False, a=a)
        for d, k, w, a in itertools.product(*(GRID[name] for name in "dkwa"))
    ]
    rng = np.random.default_rng(0)

    def log_uniform(most: int) -> int:
        return int(np.exp(rng.uniform(0, np.log(most + 1))))

    drawn = []
    while len(drawn) < NONLINEAR:
        w = -1 if rng.random() < 0.2 else log_uniform(50)
        a = str(rng.choice(AGGREGATIONS))
        drawn.append(Algorithm(d=log_uniform(300), k=log_uniform(30), w=w, l=True, a=a))
    return list(dict.fromkeys(named + drawn + grid))


def trained(graph: Graph, point: Algorithm) -> dict[str, Any]:
    start = time.monotonic()
    results = train_runs(graph, point, runs=1 if point.l else 3, deadline=start + CAP)
    return {
        "scores": [result.validation_score for result in results],
        "reasons": [result.reason.value for result in results],
        "training": time.monotonic() - start,
    }


def timed(graph: Graph, rows: list[dict[str, Any]]) -> None:
    model = cost_model(graph)
    for row in rows:
        point = algorithm_of(row)
        row["predicted"] = float(model.seconds([point])[0])
        row["seconds"] = Predictor.untrained(graph, point).measure(graph, clock=CLOCK).median


def algorithm_of(row: dict[str, Any]) -> Algorithm:
    return Algorithm(**{name: row[name] for name in "dkwla"})


def load(dataset: str) -> list[dict[str, Any]]:
    path = TABLES / f"{dataset}.parquet"
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist() if path.exists() else []
    return rows


def save(dataset: str, rows: list[dict[str, Any]]) -> None:
    TABLES.mkdir(exist_ok=True)
    unfinished = TABLES / f".{dataset}.parquet"
    made = {"machine": harness.machine(), "versions": harness.versions("numpy", "numba")}
    table = pa.Table.from_pylist(rows).replace_schema_metadata({"made": json.dumps(made)})
    pq.write_table(table, unfinished, compression="zstd")
    unfinished.replace(TABLES / f"{dataset}.parquet")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--times", action="store_true", help="time what is there, train nothing")
    args = parser.parse_args()
    for dataset in args.datasets.split(","):
        graph, rows = load_graph(dataset), load(dataset)
        if args.times:
            timed(graph, rows)
            save(dataset, rows)
            continue
        done = {algorithm_of(row) for row in rows}
        left = [point for point in points() if point not in done]
        start, blank = time.monotonic(), {"predicted": None, "seconds": None}
        for i, point in enumerate(left):
            fields = {name: getattr(point, name) for name in "dkwla"}
            rows.append({**fields, **trained(graph, point), **blank})
            if i % 100 == 99 or i == len(left) - 1:
                save(dataset, rows)
                spent = time.monotonic() - start
                print(f"{dataset}: {i + 1} of {len(left)} in {spent:.0f} s", flush=True)


if __name__ == "__main__":
    main()
