"""The real thing: how long until a search is as good as the paper's or a random one became.

    python benchmarks/search_live.py [--datasets cora,citeseer] [--seeds 3]

`random` and `paper` train 20 points each, our own training and clock under them. What a peer ends
with is what `informed` has to reach; compared are the seconds from nothing until each first had it,
calibration and every measurement on the clock. Where a peer ends with nothing feasible, `informed`
has to find anything, and the peer's time is all that it took: these pairs are counted apart. One
ceiling on time and one floor on accuracy a graph: the 30 % quantiles of the tables
(benchmarks/tables.py).
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

import harness
import numpy as np
import tables

from autogm import Graph, load_graph
from autogm.search import Budget, Search, Trial
from autogm.search.algorithms import algorithm_space, named_points
from autogm.search.oracles import GraphOracles, bar_of

TRAININGS, RUNS = 20, 2


# After every trial: seconds since the start, and how good the best feasible point is, if any.
Curve = list[tuple[float, float | None]]


def budgets(dataset: str) -> dict[str, Budget]:
    rows = tables.load(dataset)
    seconds = np.quantile([row["seconds"] for row in rows], 0.3)
    accuracy = np.quantile([np.mean(row["scores"]) for row in rows], 0.7)
    return {
        "time": Budget(max_time=float(seconds)),
        "accuracy": Budget(min_accuracy=float(accuracy)),
    }


def play(graph: Graph, budget: Budget, strategy: str, seed: int) -> Curve:
    start = time.monotonic()
    oracles = GraphOracles(graph, runs=RUNS, seed=100 * seed)
    informed = strategy == "informed"
    asked = Search(
        algorithm_space(all_neighbours=informed),
        budget=budget,
        strategy=strategy,
        seed=seed,
        first=named_points() if informed else (),
        seconds=oracles.seconds,
        seconds_many=oracles.seconds_many if informed else None,
    )
    curve: Curve = []

    def progress(trial: Trial) -> None:
        best = asked.result("").best
        curve.append((time.monotonic() - start, None if best is None else quality(best)))

    def quality(trial: Trial) -> float:
        return float(-trial.seconds if budget.max_time is None else trial.accuracy)

    asked.run(
        lambda point: oracles.accuracy(point, bar=bar_of(asked.study.trials(), budget)),
        trials=TRAININGS,
        progress=progress,
    )
    return curve


def reached(curve: Curve, wanted: float | None) -> float | None:
    """Seconds until it was as good; within a hundredth of a time, which no clock tells apart.

    Where nothing is wanted, until anything was feasible.
    """
    enough = -math.inf if wanted is None else wanted - (0.01 * abs(wanted) if wanted < 0 else 0)
    done = [seconds for seconds, found in curve if found is not None and found >= enough]
    return min(done, default=None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", default="cora,citeseer")
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    runs: list[dict[str, Any]] = []
    for dataset in args.datasets.split(","):
        graph = load_graph(dataset)
        play(graph, Budget(max_time="1s"), "informed", 0)  # compilation is nobody's
        for seed in range(args.seeds):
            for kind, budget in budgets(dataset).items():
                curves = {
                    strategy: play(graph, budget, strategy, seed)
                    for strategy in ("informed", "paper", "random")
                }
                for peer in ("paper", "random"):
                    took, found = curves[peer][-1]
                    took = reached(curves[peer], found) or took
                    ours = reached(curves["informed"], found)
                    row = {"dataset": dataset, "seed": seed, "budget": kind, "peer": peer}
                    row |= {
                        "peer seconds": took,
                        "peer found": found,
                        "informed seconds": ours,
                    }
                    runs.append({**row, "curves": curves if peer == "paper" else None})
                    told = "never" if ours is None else f"{ours:.2f} s ({took / ours:.0f}x)"
                    print(
                        f"{dataset}, {kind}, seed {seed}: {peer} {took:.1f} s, {told}", flush=True
                    )
                write(runs)  # what is done is kept, whenever it ends
    print_summary(write(runs))


def write(runs: list[dict[str, Any]]) -> dict[str, Any]:
    record: dict[str, Any] = {"runs": runs}
    for name, empty in (("peer found something", False), ("peer found nothing", True)):
        ratios = [
            run["peer seconds"] / (run["informed seconds"] or math.inf)
            for run in runs
            if (run["peer found"] is None) == empty
        ]
        if ratios:
            record[name] = {"pairs": len(ratios), "median": float(np.median(ratios))}
            record[name]["least"] = float(min(ratios))
    harness.write("search_live", record, "numpy", "scikit-learn", "bayesian-optimization")
    return record


def print_summary(record: dict[str, Any]) -> None:
    for name, found in record.items():
        if name.startswith("peer"):
            met = "met" if found["median"] >= 5 else "NOT met"
            told = f"median {found['median']:.1f}x, least {found['least']:.1f}x"
            print(f"{name}, {found['pairs']} pairs: {told}; >= 5x: {met}")


if __name__ == "__main__":
    main()
