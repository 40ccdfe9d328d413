"""How long any point would take on a graph, from a second or two of timing its parts.

The time of a plan is the sum of its steps' times. A step's time depends on how wide its messages
are and on how many entries its matrix has, and both take few values: widths are padded, and the
entries of a sampled matrix follow from the degrees. So each kind of step is timed at every width
for three numbers of entries, on some of the rows where all of them would take long, and
interpolated between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autogm.algorithm import AGGREGATIONS, ALL, Algorithm
from autogm.errors import InputError
from autogm.graph import Graph, Rows, require_graph
from autogm.measure.clock import Clock, time_calls
from autogm.message.lanes import padded
from autogm.message.sample import neighbours, sample, step_key
from autogm.plan.crew import go_through
from autogm.plan.matrices import Aggregations, FeatureMatrix, feature_matrix
from autogm.plan.program import Call, encoded, interpret
from autogm.plan.rewrite import pad
from autogm.plan.steps import Layer, Memory, Output, Place, Product, Propagate, Spread, Step

__all__ = ["CostModel", "calibrate"]

Numbers = NDArray[np.float64]

# How many neighbours are drawn where steps are timed; between, times follow the entries.
_DRAWN = (1, 6, 25)
# Multiplications of a probe: a step with more is timed on some of its rows, one with less several
# times in a row, so that what it waits for helpers is shared as it is in a plan.
_PROBE, _LEAST, _MOST_OFTEN = 1e8, 2e7, 12
_STRETCHES = 8
# Nothing is faster than a call; a noisy calibration may think so.
_LEAST_TIME = 1e-6
_REPEATS = Clock(warm_up=1, least=5, most=5)


@dataclass(frozen=True, eq=False)
class CostModel:
    """Predicted seconds of whole passes; made by `calibrate` for one graph and machine.

    ``first[i]`` is the features' product into messages of width 16 i (0: plain numbers), ``copied``
    what it takes to pass dense features as they are. ``inner``, ``last`` and ``plain`` are steps of
    messages of that width, a row for each number of entries in ``entries``: with a product as wide,
    with the output layer, with neither; ``late`` is the first step on features that were copied.
    """

    outputs: int
    features: int
    """How wide they are with padding, if dense; else 0."""
    degrees: NDArray[np.int64]
    entries: Numbers
    base: float
    first: Numbers
    copied: float
    inner: Numbers
    late: Numbers
    last: Numbers
    plain: Numbers
    spread: float
    none: float
    """Without a graph."""

    def seconds(self, algorithms: Sequence[Algorithm]) -> Numbers:
        """One prediction an algorithm."""
        if isinstance(algorithms, Algorithm) or not all(
            isinstance(point, Algorithm) for point in algorithms
        ):
            raise InputError(f"algorithms must be a list of them, but got {algorithms!r}")
        table = [(p.d, p.k, p.w, p.l, AGGREGATIONS.index(p.a)) for p in algorithms]
        d, k, w, l, a = np.array(table, np.int64).reshape(-1, 5).T  # noqa: E741
        return self.seconds_of(d, k, w, l, a)

    def seconds_of(self, d: Any, k: Any, w: Any, l: Any, a: Any) -> Numbers:  # noqa: E741
        """The same for arrays of parameters, broadcast; ``a`` by its place in AGGREGATIONS."""
        d, k, w, l, a = (np.asarray(part) for part in (d, k, w, l, a))  # noqa: E741
        most = 16 * (len(self.first) - 1)
        if d.max(initial=1) > most:
            raise InputError(
                f"d must be at most {most} for this model, but got {d.max()}; calibrate it with "
                f"max_d={d.max()}"
            )
        widest = int(w.max(initial=1))
        rows = np.where(w == ALL, widest + 1, w) * 2 + (a >= 3)
        passing = np.where(l.astype(bool), self._nonlinear(d, k, rows, widest), 0)
        passing = passing + np.where(l.astype(bool), 0, self._linear(d, k, rows, widest))
        seconds: Numbers = self.base + np.where(k == 0, self.none, passing)
        return np.maximum(seconds, _LEAST_TIME)

    def _nonlinear(self, d: Any, k: Any, rows: Any, widest: int) -> Any:
        wide = -(-d // 16)
        inner, last = (self._by_draw(part, widest)[rows, wide] for part in (self.inner, self.last))
        first = self.first[wide] + inner
        if self.features:
            late = self.copied + self._by_draw(self.late, widest)[rows, wide]
            first = np.where(self.features < 16 * wide, late, first)
        # Of one step, the difference of two kinds of step: a small number give or take noise.
        return first + np.maximum((k - 2) * inner + last, 0)

    def _linear(self, d: Any, k: Any, rows: Any, widest: int) -> Any:
        """Messages pass where they are narrowest."""
        outputs = 0 if self.outputs == 1 else padded(self.outputs) // 16
        narrow = np.minimum(np.where(d == 1, 0, -(-d // 16)), outputs)
        first = self.first[narrow]
        if self.features:
            dense = self.features // 16
            first = np.where(dense < narrow, self.copied, first)
            narrow = np.minimum(narrow, dense)
        plain, last = (self._by_draw(part, widest) for part in (self.plain, self.last))
        end = np.where(narrow == 0, plain[rows, 0] + self.spread, last[rows, narrow])
        return first + (k - 1) * plain[rows, narrow] + end

    def _by_draw(self, part: Numbers, widest: int) -> Numbers:
        """For w = 1 .. widest and all, without and with self-loops, a row each; row 0 is unused."""
        n, most = len(self.degrees), int(self.degrees.max(initial=0))
        few = range(min(widest, most) + 1)
        drawn = [float(np.minimum(self.degrees, w).sum()) for w in few]
        drawn += [float(self.degrees.sum())] * (widest + 2 - len(drawn))
        entries = np.array([[m, m + n] for m in drawn]).ravel()
        rows = np.arange(widest + 2)
        sampled = np.repeat((rows < most) & (rows <= widest), 2)
        return np.stack([self._at(entries, sampled, column) for column in part.T], axis=1)

    def _at(self, entries: Numbers, sampled: Any, column: Numbers) -> Numbers:
        """Straight between the draws that were timed; all neighbours were timed by themselves."""
        known, whole = self.entries[:-1], self.entries[-1]
        if not len(known):
            return np.asarray(column[-1] * entries / whole)
        slope = (column[-2] - column[0]) / max(1.0, known[-1] - known[0])
        beyond = column[-2] + slope * np.maximum(0, entries - known[-1])
        between = np.where(entries > known[-1], beyond, np.interp(entries, known, column[:-1]))
        every = column[-1] + slope * (entries - whole)
        return np.maximum(np.where(sampled, between, every), 0)


def calibrate(
    graph: Graph, *, outputs: int, coded: bool, threads: int, max_d: int = 300
) -> CostModel:
    """Time the steps of plans on a graph, for messages of up to ``max_d`` numbers."""
    probes = _Probes(graph, outputs, coded, threads, padded(max_d))
    return probes.model()


class _Probes:
    """Steps that are timed, with what each one's time is to be multiplied by."""

    def __init__(self, graph: Graph, outputs: int, coded: bool, threads: int, widest: int) -> None:
        require_graph(graph)
        if graph.features is None or graph.num_features == 0:
            raise InputError(
                "times need node features, but the graph has none; give some, or make them of its "
                "structure: graph = autogm.structural_features(graph)"
            )
        widest = max(widest, padded(outputs))
        self._graph, self._outputs, self._threads = graph, outputs, threads
        self._rows, self._features = neighbours(graph), feature_matrix(graph.features)
        self._narrow_features = feature_matrix(graph.features, width=1)
        self._degrees = np.diff(self._rows.indptr)
        self._n, self._widths = graph.num_nodes, [1, *range(16, widest + 1, 16)]
        self._output = Output(np.zeros((1, padded(outputs)), np.float32), outputs, coded)
        self._output.bias.flags.writeable = False
        self._steps: dict[tuple[Any, ...], tuple[list[Step], float]] = {}
        self._entries: list[float] = []
        self._overhead = 0.0
        self._kept: list[Call] = []

    def model(self) -> CostModel:
        self._add_products()
        most = int(self._degrees.max(initial=0))
        for i, w in enumerate([w for w in _DRAWN if w < most] + [most]):
            self._add_steps(i, w)
        found = self._time()
        count = max(1, len(self._entries))
        wide = range(len(self._widths))

        def table(kind: str) -> Numbers:
            return np.array([[found.get((kind, i, j), 0.0) for j in wide] for i in range(count)])

        return CostModel(
            outputs=self._outputs,
            features=self._features.dense.shape[1] if self._features.is_dense else 0,
            degrees=self._degrees,
            entries=np.array(self._entries or [1.0]),
            base=self._overhead,
            first=np.array([found["first", j] for j in wide]),
            copied=found.get(("copied", 0), 0.0),
            inner=table("inner"),
            late=table("late"),
            last=table("last"),
            plain=table("plain"),
            spread=found["spread", 0],
            none=found["none", 0],
        )

    def _add_products(self) -> None:
        n, d0 = self._n, self._features.width
        for j, width in enumerate(self._widths):
            features = self._features if width >= 64 else self._narrow_features
            work = features.dense.size if features.is_dense else features.nonzeros
            some = self._some(work * width / n)
            rows = _rows_of(features, some)
            weight = np.ones((rows.dense.shape[1] if rows.is_dense else d0, width), np.float32)
            weight.flags.writeable = False
            place = Place("y", len(some), width, width)
            step = Product("", rows, rows.scale, weight, place)
            self._steps["first", j] = ([step] * _often(work * width * len(some) / n), n / len(some))
            if width == padded(self._outputs):
                place = Place("y", len(some), width, self._outputs)
                none = replace(step, target=place, output=self._output)
                self._steps["none", 0] = ([none], n / len(some))
        features = self._features
        if features.is_dense:
            place = Place("y", n, features.dense.shape[1], d0)
            copied = Product("", features, features.scale, None, place)
            self._steps["copied", 0] = ([copied], 1.0)
        row = pad(np.ones((1, self._outputs), np.float32), rows=1)
        target = Place("y", n, row.shape[1], self._outputs)
        spread = Spread("", row, Place("x", n, 1, 1), target, self._output)
        self._steps["spread", 0] = ([spread] * _often(n * 16), 1.0)

    def _add_steps(self, i: int, w: int) -> None:
        n, entries = self._n, np.minimum(self._degrees, w).sum()
        self._entries.append(float(entries + n))
        dense = self._features.dense.shape[1] if self._features.is_dense else 0
        for j, width in enumerate(self._widths):
            drawn = (entries + n) * width / n
            if width == 1:
                self._add("plain", i, j, w, drawn, width)
                continue
            self._add("inner", i, j, w, drawn + width * width, width, width)
            self._add("last", i, j, w, drawn + width * padded(self._outputs), width, -1)
            if width <= padded(self._outputs):
                self._add("plain", i, j, w, drawn, width)
            if 0 < dense < width:
                self._add("late", i, j, w, drawn + width * (width + dense), dense, width)

    def _add(
        self, kind: str, i: int, j: int, w: int, work: float, width: int, to: int | None = None
    ) -> None:
        """A step of messages of ``width`` into as wide ones, or (-1) into outputs."""
        if to is None:
            self._steps[kind, i, j] = self._plain(w, width)
            return
        some = self._some(work)
        often = _often(work * len(some))
        step = self._layer(kind, self._matrices(some, w), width, to)
        steps: list[Step] = [step] * often
        if w < self._degrees.max(initial=0):  # every step of a plan reads a draw of its own
            steps = [replace(step, matrices=_copies(step.matrices, 1)) for _ in range(often)]
        self._steps[kind, i, j] = (steps, self._n / len(some))

    def _plain(self, w: int, width: int) -> tuple[list[Step], float]:
        """Several steps to and fro, as in a plan: what one reads, another core may have written."""
        matrices = self._matrices(np.arange(self._n), w)
        often = _often(matrices.num_entries(1) * width / 8)
        if w < self._degrees.max(initial=0):
            matrices = _copies(matrices, often)
        source = Place("x", self._n, width, width)
        steps: list[Step] = [Propagate("", replace(matrices, k=often), often, source, source)]
        return steps, 1 / often

    def _layer(self, kind: str, matrices: Aggregations, width: int, to: int) -> Layer:
        source, rows = Place("x", self._n, width, width), matrices.num_rows
        end = padded(self._outputs) if to == -1 else to
        before = _ones(width, to) if kind == "late" else None
        weight = _ones(to if kind == "late" else width, end)
        target, output = Place("y", rows, end, end), self._output if to == -1 else None
        return Layer("", matrices, 1, True, before, weight, source, target, output)

    def _some(self, work: float) -> NDArray[np.int64]:
        """As many rows as make a probe of them, in stretches: neighbours often stand together."""
        count = int(min(self._n, max(64, _PROBE / max(1.0, work))))
        length = -(-count // _STRETCHES)
        if count * 2 > self._n:
            return np.arange(self._n)
        begin = np.linspace(0, self._n - length, _STRETCHES).astype(np.int64)
        return np.unique(begin[:, None] + np.arange(length))

    def _matrices(self, some: NDArray[np.int64], w: int) -> Aggregations:
        keys = self._graph.stable_keys
        drawn: Rows = sample(self._rows, w, key=step_key(0, 1), stable_keys=keys, nodes=some)
        ones = np.ones(len(some), np.float32)
        values = np.empty(0) if drawn.values is None else drawn.values
        parts = (drawn.indptr[None], drawn.indices, values.astype(np.float32), ones)
        for part in parts:
            part.flags.writeable = False
        indptr, indices, weights, scale = parts
        return Aggregations(indptr, indices, weights, True, (scale,), (ones[:0],), k=1)

    def _time(self) -> dict[tuple[Any, ...], float]:
        """Seconds of every step, as if on all rows."""
        targets = [steps[0].target for steps, _ in self._steps.values()]
        widest = Place("x", self._n, self._widths[-1], self._widths[-1])
        scratch = max(steps[0].scratch for steps, _ in self._steps.values())
        memory = Memory([widest, *targets], scratch, self._threads)
        memory.fill(1.0)
        timed: dict[str, Callable[[int], Any]] = {"nothing": self._timed([])}
        for key, (steps, _) in self._steps.items():
            timed[repr(key)] = self._timed([step.call(memory) for step in steps])
        timings = {key: timing.median for key, timing in time_calls(timed, _REPEATS).items()}
        self._overhead = timings["nothing"]
        return {
            key: share * max(0.0, timings[repr(key)] - self._overhead) / len(steps)
            for key, (steps, share) in self._steps.items()
        }

    def _timed(self, calls: list[Call]) -> Callable[[int], Any]:
        program, tickets = encoded(calls)
        self._kept += calls

        def run(_: int) -> None:
            go_through(interpret, program, tickets, self._threads)

        return run


def _often(work: float) -> int:
    return int(np.clip(_LEAST / max(1.0, work), 1, _MOST_OFTEN))


def _copies(matrices: Aggregations, count: int) -> Aggregations:
    """The same matrix so many times, each with entries of its own."""
    indices = np.tile(matrices.indices, count)
    values = np.tile(matrices.values, count)
    indptr = matrices.indptr[0] + len(matrices.indices) * np.arange(count)[:, None]
    for part in (indices, values, indptr):
        part.flags.writeable = False
    row, column = matrices.row * count, matrices.column * count
    return replace(matrices, indptr=indptr, indices=indices, values=values, row=row, column=column)


def _ones(rows: int, columns: int) -> NDArray[np.float32]:
    made = np.full((rows, columns), 1e-3, np.float32)
    made.flags.writeable = False
    return made


def _rows_of(features: FeatureMatrix, some: NDArray[np.int64]) -> FeatureMatrix:
    """Some rows, in the same form."""
    if len(some) == features.num_rows:
        return features
    scale = features.scale[some] if len(features.scale) else features.scale
    if features.is_dense:
        made = features._replace(dense=features.dense[some], scale=scale)
    else:
        sizes = np.diff(features.indptr)[some]
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        entry = np.arange(indptr[-1]) + np.repeat(features.indptr[some] - indptr[:-1], sizes)
        values = features.values[entry] if len(features.values) else features.values
        made = features._replace(
            indptr=indptr, indices=features.indices[entry], values=values, scale=scale
        )
    for part in made[:5]:
        part.flags.writeable = False
    return made
