"""Strategies against one another on tables of what every point gives: 20 trainings, 50 seeds.

    python benchmarks/search.py [--seeds 50] [--only informed,random] [--datasets cora,…]

Tables are made by benchmarks/tables.py. A seed sees a random 80 % of a table's points, the named
algorithms among them. Three ceilings on time and three floors on accuracy a table: the 10, 30 and
60 % quantiles of its times, and the accuracies that 10, 30 and 60 % of its points reach.

Regret is the distance to the best feasible point: the accuracy that is missing under a ceiling, the
decimal logarithm of the ratio of times under a floor. Who finds nothing feasible has, under a
ceiling, the accuracy of the largest class, under a floor the time of the slowest point.

Contenders that speak of the whole space (random, paper, Optuna's) are answered by the nearest point
of the table with the same l and a; asking again for a point they know is free. "feasible" draws
among what fits the ceiling, or what is faster than its best so far: the gate on time alone.
"named + feasible" does so after the named algorithms, as `informed` does.
"""

from __future__ import annotations

import argparse
import itertools
import math
import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import harness
import numpy as np
import tables
from scipy.spatial.distance import cdist

from autogm.algorithm import AGGREGATIONS
from autogm.search import STRATEGIES, Budget, Search, Space, State
from autogm.search.algorithms import algorithm_space, named_points

TRAININGS = 20
QUANTILES = (0.1, 0.3, 0.6)
SHARE = 0.8
# An optimiser that keeps asking for points it knows is not asked forever.
PATIENCE = 300


class Rows:
    """An axis whose values are a table's rows, told apart by what their points mean."""

    def __init__(self, points: list[dict[str, Any]]) -> None:
        space = algorithm_space()
        self.values = range(len(points))
        self._features = space.features(space.codes(points))

    def features(self) -> Any:
        return self._features

    def thinned(self, most: int) -> Any:
        return np.arange(len(self.values))


@dataclass
class Table:
    points: list[dict[str, Any]]
    accuracy: Any
    error: Any
    seconds: Any
    predicted: Any
    training: Any

    @classmethod
    def of(cls, dataset: str) -> Table:
        rows = tables.load(dataset)
        scores = [np.array(row["scores"]) for row in rows]
        usual = np.median([s.mean() for s in scores])
        spread = np.median([s.std(ddof=1) for s in scores if len(s) > 1 and s.mean() >= usual])
        return cls(
            points=[{name: row[name] for name in "dkwla"} for row in rows],
            accuracy=np.array([s.mean() for s in scores]),
            error=np.array([_error(s, spread) for s in scores]),
            seconds=np.array([row["seconds"] for row in rows]),
            predicted=np.array([row["predicted"] for row in rows]),
            training=np.array([row["training"] for row in rows]),
        )

    def part(self, seed: int) -> Table:
        rng = np.random.default_rng(seed)
        kept = rng.random(len(self.points)) < SHARE
        known = named_points()
        kept |= np.array([point in known for point in self.points])
        points = [point for point, keep in zip(self.points, kept, strict=True) if keep]
        others = (self.accuracy, self.error, self.seconds, self.predicted, self.training)
        return Table(points, *(column[kept] for column in others))

    def budgets(self) -> Iterator[tuple[str, Budget]]:
        for q in QUANTILES:
            yield f"time {q:.0%}", Budget(max_time=float(np.quantile(self.seconds, q)))
        for q in QUANTILES:
            floor = float(np.quantile(self.accuracy, 1 - q))
            yield f"accuracy {q:.0%}", Budget(min_accuracy=floor)


def _error(scores: Any, usual: float) -> float:
    """The standard error of a mean; three runs alone say little of their spread."""
    if len(scores) == 1:
        return usual
    own = scores.var(ddof=1)
    return math.sqrt((own * (len(scores) - 1) + usual**2) / len(scores) / len(scores))


@dataclass
class Bench:
    """A table, a budget, and who was trained so far."""

    table: Table
    budget: Budget
    seed: int

    def __post_init__(self) -> None:
        self.trained: list[int] = []
        space = algorithm_space()
        self._features = space.features(space.codes(self.table.points))
        self._space = space
        self._kind = space.codes(self.table.points)[:, 3:]

    def train(self, row: int) -> None:
        if row not in self.trained:
            self.trained.append(row)

    @property
    def is_over(self) -> bool:
        return len(self.trained) >= TRAININGS

    def nearest(self, codes: Any) -> Any:
        """For each point the row with the same l and a that means most nearly the same."""
        kinds = codes[:, 3:]
        rows = np.empty(len(codes), np.int64)
        for kind in np.unique(kinds, axis=0):
            own = np.flatnonzero((self._kind == kind).all(axis=1))
            asked = (kinds == kind).all(axis=1)
            x = self._space.features(codes[asked])
            rows[asked] = own[cdist(x, self._features[own]).argmin(axis=1)]
        return rows

    def nearest_to(self, point: dict[str, Any]) -> int:
        return int(self.nearest(self._space.codes([point]))[0])

    def found(self, count: int = TRAININGS) -> int | None:
        """The best feasible row among the first ``count`` trainings."""
        met = [row for row in self.trained[:count] if self.is_met(row)]
        return min(met, key=self._rank, default=None)

    def is_met(self, row: int) -> bool:
        return self.budget.is_met(self.table.accuracy[row], self.table.seconds[row])

    def _rank(self, row: int) -> float:
        by_time = self.budget.max_time is None
        return float(self.table.seconds[row] if by_time else -self.table.accuracy[row])

    def regret(self, count: int = TRAININGS) -> float:
        table, row = self.table, self.found(count)
        best = min((r for r in range(len(table.points)) if self.is_met(r)), key=self._rank)
        if self.budget.max_time is not None:
            largest = float(np.median(table.accuracy[table.accuracy < np.median(table.accuracy)]))
            return float(table.accuracy[best] - (largest if row is None else table.accuracy[row]))
        seconds = table.seconds.max() if row is None else table.seconds[row]
        return math.log10(seconds / table.seconds[best])


def informed(bench: Bench) -> None:
    table = bench.table
    asked = Search(
        Space(row=Rows(table.points)),
        budget=bench.budget,
        seed=bench.seed,
        first=[{"row": table.points.index(point)} for point in named_points()],
        seconds=lambda point: table.seconds[point["row"]],
        seconds_many=lambda points: [table.predicted[point["row"]] for point in points],
    )

    def accuracy(point: dict[str, Any]) -> dict[str, float]:
        row = point["row"]
        bench.train(row)
        return {
            "accuracy": float(table.accuracy[row]),
            "error": float(table.error[row]),
            "cost": float(table.training[row]),
        }

    asked.run(accuracy, trials=TRAININGS)


def ask_and_tell(strategy: str) -> Callable[[Bench], None]:
    def contender(bench: Bench) -> None:
        table = bench.table
        asked = Search(
            algorithm_space(all_neighbours=False),
            budget=bench.budget,
            strategy=strategy,
            seed=bench.seed,
        )
        for _ in range(PATIENCE):
            trial = asked.ask()
            if trial is None or bench.is_over:
                return
            row = bench.nearest_to(trial.point)
            bench.train(row)
            asked.tell(trial, seconds=table.seconds[row], accuracy=table.accuracy[row])

    return contender


def feasible(bench: Bench) -> None:
    rng, table = np.random.default_rng(bench.seed), bench.table
    space = algorithm_space()
    for row in bench.nearest(space.draw(20_000, rng)).tolist():
        if bench.is_over:
            return
        best = bench.found()
        if bench.budget.max_time is not None:
            fits = table.seconds[row] <= bench.budget.max_time
        else:
            fits = best is None or table.seconds[row] < table.seconds[best]
        if fits:
            bench.train(row)


def named_then_feasible(bench: Bench) -> None:
    for point in named_points():
        row = bench.table.points.index(point)
        if bench.budget.max_time is None or bench.table.seconds[row] <= bench.budget.max_time:
            bench.train(row)
    feasible(bench)


def optuna_sampler(name: str) -> Callable[[Bench], None]:
    def contender(bench: Bench) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        warnings.simplefilter("ignore")
        table, budget = bench.table, bench.budget
        sampler = {"TPE": optuna.samplers.TPESampler, "GP": optuna.samplers.GPSampler}[name]
        study = optuna.create_study(
            sampler=sampler(seed=bench.seed),
            direction="minimize" if budget.max_time is None else "maximize",
        )
        for _ in range(PATIENCE):
            if bench.is_over:
                return
            trial = study.ask()
            w = trial.suggest_int("w", 1, 51, log=True)
            point = {
                "d": trial.suggest_int("d", 1, 300, log=True),
                "k": trial.suggest_int("k", 1, 30, log=True),
                "w": -1 if w == 51 else w,
                "l": trial.suggest_categorical("l", [False, True]),
                "a": trial.suggest_categorical("a", list(AGGREGATIONS)),
            }
            row = bench.nearest_to(point)
            bench.train(row)
            seconds, accuracy = float(table.seconds[row]), float(table.accuracy[row])
            if budget.max_time is not None:
                trial.set_constraint("time", math.log(seconds / budget.max_time))
                study.tell(trial, accuracy)
            else:
                trial.set_constraint("accuracy", budget.min_accuracy - accuracy)
                study.tell(trial, math.log(seconds))

    return contender


OPTIMISERS = ("paper", "TPE", "GPSampler")
CONTENDERS: dict[str, Callable[[Bench], None]] = {
    "informed": informed,
    "random": ask_and_tell("random"),
    "feasible": feasible,
    "named + feasible": named_then_feasible,
    "paper": ask_and_tell("paper"),
    "TPE": optuna_sampler("TPE"),
    "GPSampler": optuna_sampler("GP"),
}


def play(job: tuple[str, str, str, int]) -> dict[str, Any]:
    dataset, budget_name, name, seed = job
    table = Table.of(dataset)
    budget = dict(table.budgets())[budget_name]
    bench = Bench(table.part(seed), budget, seed)
    start = time.perf_counter()
    CONTENDERS[name](bench)
    return {
        "dataset": dataset,
        "budget": budget_name,
        "contender": name,
        "seed": seed,
        "seconds": time.perf_counter() - start,
        "trainings": len(bench.trained),
        "training seconds": float(bench.table.training[bench.trained].sum()),
        "found": bench.found() is not None,
        "regret": [bench.regret(count) for count in range(1, TRAININGS + 1)],
    }


def threads_of_one() -> None:
    import os

    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"


def overhead() -> dict[str, float]:
    """Seconds a trial that each of our strategies thinks, on the space of 5.4 million points."""

    def seconds(point: dict[str, Any]) -> float:
        wide = 1 + point["d"] / 16 * point["k"] * (3 if point["l"] else 0.3)
        return 1e-5 * wide * (1 + math.log(point["w"]))

    def accuracy(point: dict[str, Any]) -> float:
        return 0.8 - abs(math.log(point["k"] / 2)) / 10 - abs(math.log(point["d"] / 100)) / 20

    found = {}
    for strategy in STRATEGIES:
        asked = Search(
            algorithm_space(all_neighbours=False),
            budget=Budget(max_time="200us"),
            strategy=strategy,
            seconds=seconds,
            seconds_many=lambda points: [1.1 * seconds(point) for point in points],
        )
        asked.ask()  # imports
        start = time.perf_counter()
        result = asked.run(accuracy, trials=TRAININGS)
        trained = sum(trial.state is State.trained for trial in result.trials)
        found[strategy] = (time.perf_counter() - start) / trained
    return found


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for kind in ("time", "accuracy"):
        mine = [run for run in runs if run["budget"].startswith(kind)]
        out[kind] = {
            name: {
                "regret": float(np.mean([run["regret"][-1] for run in own])),
                "found": float(np.mean([run["found"] for run in own])),
                "training seconds": float(np.mean([run["training seconds"] for run in own])),
            }
            for name in CONTENDERS
            if (own := [run for run in mine if run["contender"] == name])
        }
    return out


def needed(runs: list[dict[str, Any]]) -> list[int]:
    """Trainings of `informed` until it has what `paper` has after all of its own."""
    key = lambda run: (run["dataset"], run["budget"], run["seed"])  # noqa: E731
    paper = {key(run): run["regret"][-1] for run in runs if run["contender"] == "paper"}
    counts = []
    for run in runs:
        if run["contender"] == "informed" and key(run) in paper:
            reached = np.array(run["regret"]) <= paper[key(run)] + 1e-12
            counts.append(int(np.argmax(reached)) + 1 if reached.any() else TRAININGS + 1)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--only", default=",".join(CONTENDERS))
    parser.add_argument("--datasets", default=",".join(tables.DATASETS))
    parser.add_argument("--dry", action="store_true", help="write nothing")
    args = parser.parse_args()
    names = [name for name, _ in Table.of(tables.DATASETS[0]).budgets()]
    datasets, contenders = args.datasets.split(","), args.only.split(",")
    jobs = list(itertools.product(datasets, names, contenders, range(args.seeds)))
    threads_of_one()
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        runs = list(pool.imap_unordered(play, jobs, chunksize=4))
    record = {"runs": runs, "summary": summary(runs), "needed": needed(runs)}
    record["overhead"] = overhead()
    print_summary(record)
    if not args.dry:
        harness.write("search", record, "numpy", "scikit-learn", "optuna", "bayesian-optimization")


def print_summary(record: dict[str, Any]) -> None:
    for kind, found in record["summary"].items():
        print(f"\n{kind} budgets")
        for name, row in found.items():
            print(
                f"  {name:18s} regret {row['regret']:.4f}   feasible {row['found']:.1%}   "
                f"training {row['training seconds']:.0f} s"
            )
        if "informed" in found:
            ours = found["informed"]["regret"]
            peers = [found[name]["regret"] for name in OPTIMISERS if name in found]
            for goal, against, most in (
                ("random", found.get("random", {}).get("regret"), 0.2),
                ("random within the feasible set", found.get("feasible", {}).get("regret"), 0.6),
                ("the best of paper, TPE and GPSampler", min(peers, default=None), 0.6),
            ):
                if against:
                    ratio = ours / against
                    verdict = "met" if ratio <= most else "NOT met"
                    print(f"  {ratio:.2f} of {goal}; <= {most:.2f}: {verdict}")
    if record["needed"]:
        print(f"\ntrainings for what paper has after 20: {np.median(record['needed']):g} (median)")
    for name, seconds in record["overhead"].items():
        print(f"{name} thinks {harness.show(seconds)} a trial on 5.4 million points")


if __name__ == "__main__":
    main()
