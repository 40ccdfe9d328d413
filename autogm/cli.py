"""The command line: read, call, print; every decision is made elsewhere."""

from __future__ import annotations

import csv
import io
import json
import sys
import warnings
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

import autogm
from autogm.errors import AutoGMError, InputError

__all__ = ["app", "run"]

app = typer.Typer(
    help="Graph algorithms with the best speed/accuracy trade-off for your graph and machine.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

USAGE = 2
"""The exit code for input that cannot be used."""


class Score(str, Enum):
    """The classic scores."""

    pagerank = "pagerank"
    ppr = "ppr"
    rwr = "rwr"
    pixie = "pixie"


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
    options: dict[str, Any] = {
        "nodes": nodes,
        "features": [] if has_node_table else None,  # scores need none
        "label": label,
        "source": source,
        "target": target,
        "weight": weight,
        "directed": directed,
    }
    options = {name: value for name, value in options.items() if value is not None}
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
