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
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autogm.algorithm import AGGREGATIONS, ALL, Algorithm
from autogm.graph import Graph, Rows
from autogm.measure.clock import Clock, time_calls
from autogm.message.lanes import padded
from autogm.message.sample import neighbours, sample, step_key
from autogm.plan.crew import Call, go_through
from autogm.plan.matrices import Aggregations, FeatureMatrix, feature_matrix
from autogm.plan.rewrite import pad
from autogm.plan.steps import Layer, Memory, Output, Place, Product, Propagate, Spread, Step

__all__ = ["CostModel", "calibrate"]

Numbers = NDArray[np.float64]

# How many neighbours are drawn where steps are timed, and all; between, times follow the entries.
_DRAWN = (1, 6)
# Multiplications of a probe; a step with more is timed on some of its rows.
_PROBE = 1e8
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
        table = [(p.d, p.k, p.w, p.l, AGGREGATIONS.index(p.a)) for p in algorithms]
        d, k, w, l, a = np.array(table).T.reshape(5, -1)  # noqa: E741
        return self.seconds_of(d, k, w, l, a)

    def seconds_of(self, d: Any, k: Any, w: Any, l: Any, a: Any) -> Numbers:  # noqa: E741
        """The same for arrays of parameters, broadcast; ``a`` by its place in AGGREGATIONS."""
        d, k, w, l, a = (np.asarray(part) for part in (d, k, w, l, a))  # noqa: E741
        widest = int(w.max(initial=1))
        rows = np.where(w == ALL, widest + 1, w) * 2 + (a >= 3)
        passing = np.where(l.astype(bool), self._nonlinear(d, k, rows, widest), 0)
        passing = passing + np.where(l.astype(bool), 0, self._linear(d, k, rows, widest))
        seconds: Numbers = self.base + np.where(k == 0, self.none, passing)
        return seconds

    def _nonlinear(self, d: Any, k: Any, rows: Any, widest: int) -> Any:
        wide = -(-d // 16)
        inner, last = (self._by_draw(part, widest)[rows, wide] for part in (self.inner, self.last))
        first = self.first[wide] + inner
        if self.features:
            late = self.copied + self._by_draw(self.late, widest)[rows, wide]
            first = np.where(self.features < 16 * wide, late, first)
        return first + (k - 2) * inner + last

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
        n = len(self.degrees)
        drawn = [np.minimum(self.degrees, w).sum() for w in range(widest + 1)]
        entries = np.array([[m, m + n] for m in (*drawn, self.degrees.sum())], float).ravel()
        by_width = [_interpolated(entries, self.entries, column) for column in part.T]
        made: Numbers = np.maximum(np.stack(by_width, axis=1), 0)
        return made


def _interpolated(at: Numbers, known: Numbers, values: Numbers) -> Numbers:
    """Piecewise linear, and straight on beyond both ends."""
    if len(known) == 1:
        return np.asarray(values[0] * at / known[0])
    i = np.clip(np.searchsorted(known, at), 1, len(known) - 1)
    slope = (values[i] - values[i - 1]) / (known[i] - known[i - 1])
    return np.asarray(values[i - 1] + slope * (at - known[i - 1]))


def calibrate(
    graph: Graph, *, outputs: int, coded: bool, threads: int, max_d: int = 300, seed: int = 0
) -> CostModel:
    """Time the steps of plans on a graph, for messages of up to ``max_d`` numbers."""
    probes = _Probes(graph, outputs, coded, threads, padded(max_d), seed)
    return probes.model()


class _Probes:
    """Steps that are timed, with what each one's time is to be multiplied by."""

    def __init__(
        self, graph: Graph, outputs: int, coded: bool, threads: int, widest: int, seed: int
    ) -> None:
        assert graph.features is not None
        self._graph, self._outputs, self._threads = graph, outputs, threads
        self._rows, self._features = neighbours(graph), feature_matrix(graph.features)
        self._degrees = np.diff(self._rows.indptr)
        self._n, self._widths = graph.num_nodes, [1, *range(16, widest + 1, 16)]
        self._rng = np.random.default_rng(seed)
        self._output = Output(np.zeros((1, padded(outputs)), np.float32), outputs, coded)
        self._output.bias.flags.writeable = False
        self._steps: dict[tuple[Any, ...], tuple[Step, float]] = {}
        self._entries: list[float] = []
        self._overhead = 0.0

    def model(self) -> CostModel:
        self._add_products()
        most = int(self._degrees.max(initial=0))
        for i, w in enumerate(sorted({min(w, most) for w in (*_DRAWN, most)})):
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
        features, n, d0 = self._features, self._n, self._features.width
        for j, width in enumerate(self._widths):
            some = self._some(features.multiplications * width / n)
            rows = _rows_of(features, some)
            weight = np.ones((rows.dense.shape[1] if rows.is_dense else d0, width), np.float32)
            weight.flags.writeable = False
            place = Place("y", len(some), width, width)
            step = Product("", rows, rows.scale, weight, place)
            self._steps["first", j] = (step, n / len(some))
            if width == padded(self._outputs):
                place = Place("y", len(some), width, self._outputs)
                none = replace(step, target=place, output=self._output)
                self._steps["none", 0] = (none, n / len(some))
        if features.is_dense:
            place = Place("y", n, features.dense.shape[1], d0)
            copied = Product("", features, features.scale, None, place)
            self._steps["copied", 0] = (copied, 1.0)
        row = pad(np.ones((1, self._outputs), np.float32), rows=1)
        target = Place("y", n, row.shape[1], self._outputs)
        spread = Spread("", row, Place("x", n, 1, 1), target, self._output)
        self._steps["spread", 0] = (spread, 1.0)

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
        some = self._some(work)
        matrices, share = self._matrices(some, w), self._n / len(some)
        source = Place("x", self._n, width, width)
        step: Step
        if width == 1:
            matrices = self._matrices(np.arange(self._n), w)
            step, share = Propagate("", matrices, 1, source, source._replace(slot="y")), 1.0
        elif to is None:
            target = Place("y", len(some), width, width)
            step = Layer("", matrices, 1, False, None, None, source, target)
        else:
            late = kind == "late"
            end = padded(self._outputs) if to == -1 else to
            before = _ones(width, to) if late else None
            weight = _ones(to if late else width, end)
            target = Place("y", len(some), end, end)
            output = self._output if to == -1 else None
            step = Layer("", matrices, 1, True, before, weight, source, target, output)
        self._steps[kind, i, j] = (step, share)

    def _some(self, work: float) -> NDArray[np.int64]:
        """As many rows as make a probe of them."""
        count = int(min(self._n, max(64, _PROBE / max(1.0, work))))
        if count == self._n:
            return np.arange(self._n)
        return np.sort(self._rng.choice(self._n, count, replace=False))

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
        targets = [step.target for step, _ in self._steps.values()]
        widest = Place("x", self._n, self._widths[-1], self._widths[-1])
        scratch = max(step.scratch for step, _ in self._steps.values())
        memory = Memory([widest, *targets], scratch, self._threads)
        memory.fill(1.0)
        calls: dict[str, Callable[[int], Any]] = {}
        for key, (step, _) in self._steps.items():
            call = step.call(memory)
            calls[repr(key)] = partial(self._go_through, [call])
        calls["nothing"] = partial(self._go_through, [])
        timings = {key: timing.median for key, timing in time_calls(calls, _REPEATS).items()}
        self._overhead = timings["nothing"]
        return {
            key: share * max(0.0, timings[repr(key)] - self._overhead)
            for key, (_, share) in self._steps.items()
        }

    def _go_through(self, calls: list[Call], _: int) -> None:
        go_through(calls, self._threads)


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
