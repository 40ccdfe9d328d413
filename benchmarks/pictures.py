"""Draw each benchmark's JSON: PNG and SVG beside it.

python benchmarks/pictures.py
"""

from __future__ import annotations

from typing import Any

import altair as alt
import harness

WIDTH, HEIGHT = 420, 240


def save(name: str, chart: alt.TopLevelMixin) -> None:
    for kind in ("svg", "png"):
        chart.save(str(harness.RESULTS / f"{name}.{kind}"), scale_factor=2.0)
    print(f"results/{name}.svg, .png")


def seconds_axis(title: str) -> alt.X:
    axis = alt.Axis(format="~s", grid=False)
    return alt.X("seconds:Q", title=title, scale=alt.Scale(type="log"), axis=axis)


def compared(rows: list[dict[str, Any]], title: str, axis: str) -> alt.FacetChart:
    """A point a contender, a row a graph, a panel an algorithm; logarithmic time."""
    order = list(dict.fromkeys(row["graph"] for row in rows))
    contenders = list(dict.fromkeys(row["who"] for row in rows))
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_point(filled=True, size=70)
        .encode(
            x=seconds_axis(axis),
            y=alt.Y("graph:N", title=None, sort=order),
            color=alt.Color("who:N", title=None, sort=contenders),
            shape=alt.Shape("who:N", sort=contenders, legend=None),
        )
        .properties(width=WIDTH // 2, height=HEIGHT // 2)
        .facet(alt.Facet("algorithm:N", title=None), columns=2, title=title)
    )


def inference(record: dict[str, Any]) -> None:
    rows = []
    for graph, found in record["graphs"].items():
        for algorithm, case in found.items():
            timed = {who: harness.median(s) for who, s in case["seconds"].items()}
            for who, seconds in {**timed, "roofline": case["roofline"]}.items():
                rows.append(
                    {"graph": graph, "algorithm": algorithm, "who": who, "seconds": seconds}
                )
    save("inference", compared(rows, "Labels of all nodes in one pass", "seconds"))


def training(record: dict[str, Any]) -> None:
    rows = [
        {"graph": graph, "algorithm": algorithm, "who": who, "seconds": harness.median(seconds)}
        for graph, found in record["graphs"].items()
        for algorithm, samples in found["seconds an epoch"].items()
        for who, seconds in samples.items()
    ]
    save("training", compared(rows, "An epoch of training, d = 64", "seconds an epoch"))


def cost_model(record: dict[str, Any]) -> None:
    rows = [
        {"graph": graph, "predicted": predicted, "measured": measured}
        for graph, found in record["graphs"].items()
        for predicted, measured in zip(found["predicted"], found["measured"], strict=True)
    ]
    log = alt.Scale(type="log")
    points = (
        alt.Chart(alt.Data(values=rows))
        .mark_circle(size=14, opacity=0.6)
        .encode(
            x=alt.X("predicted:Q", title="predicted seconds", scale=log),
            y=alt.Y("measured:Q", title="measured seconds", scale=log),
        )
        .properties(width=160, height=160)
    )
    chart = points.facet("graph:N", columns=4, title="200 random points a graph")
    save("cost_model", chart)


def growth(record: dict[str, Any]) -> None:
    rows = []
    for found in record["sizes"]:
        seconds = harness.median(found["seconds"])
        for who, value in (("autogm", seconds), ("random gathers", found["roofline"])):
            rows.append({"edges": found["edges"], "who": who, "seconds": value})
    chart = (
        alt.Chart(alt.Data(values=rows), title="GCN's labels on R-MAT graphs")
        .mark_line(point=True)
        .encode(
            x=alt.X(
                "edges:Q", scale=alt.Scale(type="log"), title="edges", axis=alt.Axis(format="~s")
            ),
            y=alt.Y("seconds:Q", scale=alt.Scale(type="log"), title="seconds"),
            color=alt.Color("who:N", title=None),
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    save("growth", chart)


def query(record: dict[str, Any]) -> None:
    rows = [
        {"who": who, "microseconds": 1e6 * value, "share": i / len(own)}
        for who, own in record["seconds"].items()
        for i, value in enumerate(sorted(own))
        if i % 5 == 0 or i > 0.99 * len(own)
    ]
    chart = (
        alt.Chart(alt.Data(values=rows), title="One node of a million, 20M edges")
        .mark_line()
        .encode(
            x=alt.X("microseconds:Q", scale=alt.Scale(type="log"), title="microseconds"),
            y=alt.Y("share:Q", title="share of queries answered", axis=alt.Axis(format="%")),
            color=alt.Color("who:N", title=None),
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    save("query", chart)


def search(record: dict[str, Any]) -> None:
    """Mean regret after each training, a panel a kind of budget."""
    sums: dict[tuple[str, str, int], list[float]] = {}
    for run in record["runs"]:
        kind = run["budget"].partition(" ")[0]
        for i, regret in enumerate(run["regret"], start=1):
            sums.setdefault((kind, run["contender"], i), []).append(regret)
    titles = {
        "time": "ceiling on time: accuracy that is missing",
        "accuracy": "floor on accuracy: powers of ten too slow",
    }
    rows = [
        {"kind": titles[kind], "who": who, "trainings": i, "regret": sum(own) / len(own)}
        for (kind, who, i), own in sums.items()
    ]
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_line()
        .encode(
            x=alt.X("trainings:Q"),
            y=alt.Y("regret:Q", title="mean regret", scale=alt.Scale(type="log")),
            color=alt.Color("who:N", title=None),
            strokeDash=alt.StrokeDash("who:N", title=None),
        )
        .properties(width=WIDTH * 3 // 4, height=HEIGHT)
        .facet(alt.Facet("kind:N", title=None), title="Regret after each training")
        .resolve_scale(y="independent")
    )
    save("search", chart)


def main() -> None:
    for name, draw in {
        "inference": inference,
        "training": training,
        "cost_model": cost_model,
        "growth": growth,
        "query": query,
        "search": search,
    }.items():
        record = harness.read(name)
        if record:
            draw(record)


if __name__ == "__main__":
    main()
