"""Strategies against one another on tables of what every point gives: 20 trainings, 50 seeds.

    python benchmarks/search.py [--seeds 50] [--only informed,random] [--datasets cora,…]

Tables are made by benchmarks/tables.py. A seed sees a random 80 % of a table's points, the named
algorithms among them. Three ceilings on time and three floors on accuracy a table: the 10, 30 and
60 % quantiles of its times, and the accuracies that 10, 30 and 60 % of its points reach.

Regret is the distance to the best feasible point: the accuracy that is missing under a ceiling, the
decimal logarithm of the ratio of times under a floor. Who finds nothing feasible has, under a
ceiling, the accuracy that a quarter of all points stay below, under a floor the time of the slowest
point. That Photo's table was not looked at while `informed` was made, only those of Cora and
CiteSeer, is why its figures are printed by themselves too.

Contenders that speak of the whole space (random, paper, Optuna's) are answered by the nearest point
of the table with the same l and a; asking again for a point they know is free. "feasible" draws
among what fits the ceiling, or what is faster than its best so far: the gate on time alone. It
draws evenly from the paper's space, "feasible rows" evenly from the table's points, which thin out
towards large d and k; which is better depends on the budget, and the better one counts. "named +
feasible" begins with the named algorithms, as `informed` does.
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
    rng, space = np.random.default_rng(bench.seed), algorithm_space()
    through_the_gate(bench, bench.nearest(space.draw(20_000, rng)).tolist())


def feasible_rows(bench: Bench) -> None:
    rng = np.random.default_rng(bench.seed)
    through_the_gate(bench, rng.permutation(len(bench.table.points)).tolist())


def through_the_gate(bench: Bench, rows: list[int]) -> None:
    """Train what fits the ceiling, or is faster than the best that is good enough."""
    seconds = bench.table.seconds
    for row in rows:
        if bench.is_over:
            return
        best = bench.found()
        if bench.budget.max_time is not None:
            fits = seconds[row] <= bench.budget.max_time
        else:
            fits = best is None or seconds[row] < seconds[best]
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


CONTENDERS: dict[str, Callable[[Bench], None]] = {
    "informed": informed,
    "random": ask_and_tell("random"),
    "feasible": feasible,
    "feasible rows": feasible_rows,
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
        "first": next((i for i in range(1, TRAININGS + 1) if bench.found(i) is not None), 99),
        "regret": [bench.regret(count) for count in range(1, TRAININGS + 1)],
    }


def threads_of_one() -> None:
    import os

    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"


def overhead() -> dict[str, dict[str, float]]:
    """Seconds a training that each strategy thinks, on the space of 5.4 million points."""

    def seconds(point: dict[str, Any]) -> float:
        wide = 1 + point["d"] / 16 * point["k"] * (3 if point["l"] else 0.3)
        return 1e-5 * wide * (1 + math.log(point["w"]))

    def accuracy(point: dict[str, Any]) -> float:
        return 0.8 - abs(math.log(point["k"] / 2)) / 10 - abs(math.log(point["d"] / 100)) / 20

    def once(strategy: str, budget: Budget | None) -> float:
        start = time.perf_counter()
        asked = Search(
            algorithm_space(all_neighbours=False),
            budget=budget,
            strategy=strategy,
            seconds=seconds,
            seconds_many=lambda points: [1.1 * seconds(point) for point in points],
        )
        result = asked.run(accuracy, trials=TRAININGS)
        trained = sum(trial.state is State.trained for trial in result.trials)
        return (time.perf_counter() - start) / trained

    budgets = {
        "ceiling": Budget(max_time="200us"),
        "floor": Budget(min_accuracy=0.7),
        "none": None,
    }
    once("informed", None)  # imports are nobody's
    return {
        strategy: {name: once(strategy, budget) for name, budget in budgets.items()}
        for strategy in STRATEGIES
    }


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for kind in ("time", "accuracy"):
        for datasets in (tables.DATASETS, ("photo",)):
            mine = [r for r in runs if r["budget"].startswith(kind) and r["dataset"] in datasets]
            name = f"{kind} budgets" + (", Photo alone" if len(datasets) == 1 else "")
            out[name] = {
                who: {
                    "regret": float(np.mean([run["regret"][-1] for run in own])),
                    "found": float(np.mean([run["found"] for run in own])),
                    "training seconds": float(np.mean([run["training seconds"] for run in own])),
                }
                for who in CONTENDERS
                if (own := [run for run in mine if run["contender"] == who])
            }
    return out


def needed(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Trainings of `informed` until it has what `paper` has after all of its own.

    Where `paper` has nothing feasible, until there is anything: these stand apart.
    """

    def key(run: dict[str, Any]) -> tuple[Any, ...]:
        return run["dataset"], run["budget"], run["seed"]

    paper = {key(run): run for run in runs if run["contender"] == "paper"}
    counts: dict[str, list[int]] = {"paper has something": [], "paper has nothing": []}
    for run in runs:
        if run["contender"] != "informed" or key(run) not in paper:
            continue
        peer = paper[key(run)]
        wanted = peer["regret"][-1] if peer["found"] else math.inf
        reached = np.array(run["regret"]) <= wanted + 1e-12
        reached[: run["first"] - 1] = False
        count = int(np.argmax(reached)) + 1 if reached.any() else TRAININGS + 1
        counts["paper has something" if peer["found"] else "paper has nothing"].append(count)
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
    cells = list(itertools.product(datasets, names, contenders))
    threads_of_one()
    record: dict[str, Any] = {"runs": [], "overhead": overhead()}
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for seed in range(args.seeds):  # all contenders have as many, whenever it ends
            record["runs"] += pool.map(play, [(*cell, seed) for cell in cells], chunksize=1)
            record |= {"seeds": seed + 1, "summary": summary(record["runs"])}
            record["needed"] = needed(record["runs"])
            if not args.dry:
                write(record)
            print(f"{seed + 1} of {args.seeds} seeds", flush=True)
    print_summary(record)


def write(record: dict[str, Any]) -> None:
    harness.write("search", record, "numpy", "scikit-learn", "optuna", "bayesian-optimization")


def print_summary(record: dict[str, Any]) -> None:
    for name, found in record["summary"].items():
        print(f"\n{name}")
        for who, row in found.items():
            print(
                f"  {who:18s} regret {row['regret']:.4f}   feasible {row['found']:.1%}   "
                f"training {row['training seconds']:.0f} s"
            )
        if "informed" in found:
            print_goals(found)
    for name, counts in record["needed"].items():
        if counts:
            print(f"trainings for what paper has after 20, {name}: {np.median(counts):g} (median)")
    for strategy, thinks in record["overhead"].items():
        told = ", ".join(f"{name} {harness.show(seconds)}" for name, seconds in thinks.items())
        print(f"{strategy} thinks a training, on 5.4 million points: {told}")


def print_goals(found: dict[str, Any]) -> None:
    ours = found["informed"]["regret"]
    for goal, whom, most in (
        ("random", ("random",), 0.2),
        ("the better random one behind the gate", ("feasible", "feasible rows"), 0.6),
        ("the same after the named algorithms", ("named + feasible",), None),
        ("the best of paper, TPE and GPSampler", ("paper", "TPE", "GPSampler"), 0.6),
    ):
        regrets = [found[name]["regret"] for name in whom if name in found]
        if regrets and min(regrets) > 0:
            ratio = ours / min(regrets)
            verdict = (
                "" if most is None else f"; <= {most}: {'met' if ratio <= most else 'NOT met'}"
            )
            print(f"  {ratio:.2f} of {goal}{verdict}")


if __name__ == "__main__":
    main()
