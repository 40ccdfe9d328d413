"""The command line: read, call, print; every decision is made elsewhere."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

import autogm
from autogm.errors import AutoGMError, InputError
from autogm.measure.measurement import show_seconds

if TYPE_CHECKING:
    from autogm.search import Check, Found, Trial

__all__ = ["app", "run"]

app = typer.Typer(
    help="Graph algorithms with the best speed/accuracy trade-off for your graph and machine.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

USAGE = 2
"""The exit code for input that cannot be used."""
NOT_MET = 3
"""The exit code for a budget that nothing holds."""


class Score(str, Enum):
    """The classic scores."""

    pagerank = "pagerank"
    ppr = "ppr"
    rwr = "rwr"
    pixie = "pixie"


class Scope(str, Enum):
    """What one inference is."""

    graph = "graph"
    batch = "batch"
    query = "query"


class Strategy(str, Enum):
    """How the next point is chosen."""

    informed = "informed"
    paper = "paper"
    random = "random"


@app.callback(invoke_without_command=True)
def main(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    _debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks; anywhere.")] = False,
) -> None:
    if version:
        print(f"autogm {autogm.__version__}")
        raise typer.Exit


@app.command()
def rank(
    graph: Annotated[str, typer.Argument(help="A dataset's name or a path.")],
    algorithm: Annotated[Score, typer.Option(help="The score.")] = Score.pagerank,
    seeds: Annotated[
        str | None, typer.Option(help="Node ids: a,b or with weights a=2,b=1. Not for pagerank.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many nodes to print.")] = 20,
    directed: Annotated[
        bool | None, typer.Option("--directed/--undirected", help="Whether edges have a direction.")
    ] = None,
    nodes: Annotated[
        Path | None, typer.Option(help="A node table; column `name` is shown.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="A column of the node table to show.")] = None,
    source: Annotated[str | None, typer.Option(help="The edge column of senders.")] = None,
    target: Annotated[str | None, typer.Option(help="The edge column of receivers.")] = None,
    weight: Annotated[str | None, typer.Option(help="The edge column of weights.")] = None,
    unweighted: Annotated[
        bool, typer.Option("--unweighted", help="Ignore the weights of edges.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Rank the nodes by PageRank, personalised PageRank, random walk with restart or Pixie."""
    from autogm.graph import DATASETS

    has_node_table = (nodes is not None or Path(graph).is_dir()) and graph not in DATASETS
    features: list[str] | None = [] if has_node_table else None  # scores need none
    columns = {"source": source, "target": target, "weight": weight, "directed": directed}
    options = _given(nodes=nodes, features=features, label=label, **columns)
    if unweighted:
        if weight is not None:
            raise InputError(f"--weight {weight} reads what --unweighted ignores; give one of them")
        if graph not in DATASETS:  # they have none
            options["weight"] = None
    g = autogm.load_graph(graph, **options)
    scores = _scores(g, algorithm, seeds)
    best = np.argsort(-scores, kind="stable")[:top].tolist()
    rows = [_row(g, place, u, scores[u]) for place, u in enumerate(best, start=1)]
    if as_json:
        record = {"graph": g.name, "nodes": g.num_nodes, "edges": g.num_edges}
        record |= {"algorithm": algorithm.value, "seeds": seeds, "top": rows}
        print(json.dumps(record))
    else:
        _print_table(f"{g!r}, {algorithm.value}", rows)


@app.command()
def search(
    graph: Annotated[str, typer.Argument(help="A dataset's name or a path.")],
    max_time: Annotated[
        str | None, typer.Option(help="Answers within this time: 4ms, 250us, 4ms@p95.")
    ] = None,
    min_accuracy: Annotated[
        float | None, typer.Option(help="At least so many right, as fast as possible: 0.8.")
    ] = None,
    trials: Annotated[int, typer.Option(help="How many points to train.")] = 20,
    timeout: Annotated[
        str | None, typer.Option(help="When to end, all included: 60s, 10min.")
    ] = None,
    scope: Annotated[Scope, typer.Option(help="What is timed.")] = Scope.graph,
    batch_size: Annotated[int, typer.Option(help="Nodes asked together, with batch.")] = 1,
    strategy: Annotated[Strategy, typer.Option(help="How to search.")] = Strategy.informed,
    runs: Annotated[int, typer.Option(help="Trainings of a point, whose mean counts.")] = 10,
    seed: Annotated[int, typer.Option(help="The same gives the same trainings.")] = 0,
    nodes: Annotated[Path | None, typer.Option(help="A table of nodes.")] = None,
    label: Annotated[str | None, typer.Option(help="The node column to predict.")] = None,
    features: Annotated[
        str | None, typer.Option(help="Node columns to learn from: a,b. Else all numeric ones.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="The node column that says train, val or test.")
    ] = None,
    directed: Annotated[
        bool | None, typer.Option("--directed/--undirected", help="Whether edges have a direction.")
    ] = None,
    source: Annotated[str | None, typer.Option(help="The edge column of senders.")] = None,
    target: Annotated[str | None, typer.Option(help="The edge column of receivers.")] = None,
    weight: Annotated[str | None, typer.Option(help="The edge column of weights.")] = None,
    out: Annotated[Path | None, typer.Option(help="A folder for the model and the trials.")] = None,
    storage: Annotated[
        str | None, typer.Option(help="Where trials are kept: a .db or .journal file, a database.")
    ] = None,
    study: Annotated[str, typer.Option(help="The name of this search in its storage.")] = "autogm",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a search.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Find the best algorithm for a graph under a budget of time or accuracy.

    With no budget the whole trade-off curve is searched. Workers that name the same storage and
    study share one search. Exit code 3: nothing holds the budget, and the nearest miss is saved.
    """
    from autogm.search import Budget, find, parse_seconds

    end = time.monotonic() + parse_seconds("timeout", timeout)[0] if timeout else None
    asked = _given(max_time=max_time, min_accuracy=min_accuracy)
    budget = Budget(**asked) if asked else None
    if resume and storage is None and out is None:
        raise InputError("--resume goes on with trials that were kept; add --out or --storage")
    if out is not None:
        if out.exists() and not out.is_dir():
            raise InputError(f"--out must be a folder, but {str(out)!r} is a file; name another")
        out.mkdir(parents=True, exist_ok=True)
        storage = storage or str(out / "study.db")
    columns = {"source": source, "target": target, "weight": weight, "directed": directed}
    chosen = None if features is None else [name.strip() for name in features.split(",")]
    g = autogm.load_graph(
        graph, **_given(nodes=nodes, label=label, split=split, features=chosen, **columns)
    )
    if g.splits is None and g.labels is not None:
        print(
            "no splits are given: 60% of the labelled nodes train, 20% select, the rest tests; "
            "--split names a column that says otherwise",
            file=sys.stderr,
        )
    found = find(
        g,
        budget=budget,
        trials=trials,
        timeout=end and max(1e-3, end - time.monotonic()),  # reading the graph is on the clock
        scope=scope.value,
        batch_size=batch_size,
        strategy=strategy.value,
        runs=runs,
        seed=seed,
        storage=storage,
        study=study,
        # Workers that name a storage share what is there.
        resume=resume or out is None,
        progress=None if as_json else lambda trial: print(_trial(trial), file=sys.stderr),
    )
    if out is not None and found.predictor is not None:
        found.predictor.save(out / "model")
    if as_json:
        print(json.dumps(_found(found)))
    else:
        print(f"{g!r}\n{found.reason}")
        if found.checks:
            title = "trained on fresh seeds and timed by another process"
            _print_table(title, [_checked(check, check is found.check) for check in found.checks])
            test, error = found.test or (math.nan, math.nan)
            print(f"test {found.metric} of the chosen one: {test:.4f} ± {error:.4f}")
    if budget is not None and found.is_checked and not found.is_met:
        raise typer.Exit(NOT_MET)


@app.command()
def datasets(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List the named graphs, their sizes, and whether they are at hand."""
    from autogm.graph import DATASETS, find_raw

    rows = [
        {
            "name": d.name,
            "nodes": d.nodes,
            "edges": d.edges,
            "features": d.features,
            "classes": d.classes,
            "at hand": "embedded" if not d.files else "yes" if find_raw(d) else "no",
        }
        for d in DATASETS.values()
    ]
    if as_json:
        print(json.dumps({"datasets": rows}))
    else:
        _print_table("named graphs", rows)


def run() -> None:
    """Turn errors that were foreseen into a sentence and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that has no é still shows the rest
    args = [arg for arg in sys.argv[1:] if arg != "--debug"]  # wherever it stands
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            app(args)
        except (AutoGMError, OSError) as error:
            if "--debug" in sys.argv:
                raise
            print(f"autogm: {error}", file=sys.stderr)
            sys.exit(USAGE)


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _trial(trial: Trial) -> str:
    """One line: the point, what it has, and what became of it."""
    point = " ".join(f"{name}={value}" for name, value in trial.point.items())
    parts = [f"#{trial.number} {point}"]
    if trial.accuracy is not None:
        parts.append(f"accuracy {trial.accuracy:.4f} ± {trial.error or 0:.4f}")
    if trial.seconds is not None:
        parts.append(show_seconds(trial.seconds))
    parts.append(
        trial.state.value if trial.reason is None else f"{trial.state.value}: {trial.reason}"
    )
    return "  ".join(parts)


def _checked(check: Check, is_chosen: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"": "chosen" if is_chosen else ""}
    row |= {name: str(value) for name, value in check.trial.point.items()}
    row["validation"] = f"{check.accuracy:.3f} ± {check.error:.3f}"
    if check.measurement is not None:
        row["p50"] = show_seconds(check.measurement.median)
        row["p95"] = show_seconds(check.measurement.p95)
    return row


def _found(found: Found) -> dict[str, Any]:
    check = found.check
    return {
        "met": found.is_met,
        "reason": found.reason,
        "ended": found.result.reason,
        "algorithm": check and check.trial.point,
        "validation": check and [check.accuracy, check.error],
        "test": found.test,
        "measurement": check and check.measurement and check.measurement.to_json(),
        "interrupted": found.result.interrupted,
        "finalists": [
            {
                "algorithm": check.trial.point,
                "validation": [check.accuracy, check.error],
                "why not": check.why_not,
            }
            for check in found.checks
        ],
        "front": [_plain(trial) for trial in found.result.front],
        "trials": [_plain(trial) for trial in found.result.trials],
    }


def _plain(trial: Trial) -> dict[str, Any]:
    return {**asdict(trial), "state": trial.state.value}


def _scores(g: autogm.Graph, algorithm: Score, seeds: str | None) -> Any:
    if algorithm is Score.pagerank:
        if seeds is not None:
            raise InputError("pagerank has no seeds; use --algorithm ppr for scores around --seeds")
        return autogm.pagerank(g)
    if seeds is None:
        raise InputError(
            f"{algorithm.value} starts from seeds, but none are given; add --seeds with node ids"
        )
    score: Callable[..., Any] = getattr(autogm, algorithm.value)
    return score(g, seeds=_parse_seeds(seeds, {str(node) for node in g.ids.tolist()}))


def _parse_seeds(text: str, ids: set[str]) -> dict[str, float]:
    """``a,b`` or ``a=2,b=1``; an id with a comma stands in double quotes.

    Weights of an id that stands twice add up, as in Python's list of seeds.
    """
    seeds: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in next(csv.reader([text])))):
        node, equals, weight = ("", "", "") if part in ids else part.rpartition("=")
        node = node if equals else part
        try:
            seeds[node] = seeds.get(node, 0) + (float(weight) if equals else 1.0)
        except ValueError:
            raise InputError(
                f"seeds are written a,b or a=2,b=1, but got {part!r}: {weight!r} is no number; "
                "mend it, or name the id as it stands in the graph"
            ) from None
    return seeds


def _row(g: autogm.Graph, place: int, u: int, score: float) -> dict[str, Any]:
    row: dict[str, Any] = {"rank": place, "id": g.ids[u].item()}
    if g.names is not None:
        row["name"] = str(g.names[u])
    row["score"] = float(score)
    if g.classes and g.labels is not None and g.labels.ndim == 1:
        row["class"] = g.classes[g.labels[u]] if g.labels[u] >= 0 else None
    return row


def _print_table(title: str, rows: list[dict[str, Any]]) -> None:
    table = Table()
    for name, value in rows[0].items():
        is_number = isinstance(value, (int, float))
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        # Text, not a string: ids with brackets or colons are no markup.
        table.add_row(*(Text(_cell(value)) for value in row.values()))
    console = Console()
    console.print(Text(title), soft_wrap=True)
    console.print(table)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"autogm: warning: {message}", file=sys.stderr)
