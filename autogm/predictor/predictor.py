"""What a user takes away: an algorithm with its weights, which answers for nodes of a graph."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from autogm.algorithm import Algorithm, Weights
from autogm.algorithm.heads import Binary, Head, MultiClass, Regression, head_for
from autogm.errors import InputError, require_whole, suggest
from autogm.graph import Graph, require_graph
from autogm.measure.clock import Clock, time_calls
from autogm.measure.measurement import SCOPES, Measurement, machine
from autogm.message.kernel import num_threads
from autogm.message.product import Matrix
from autogm.predictor.ready import Ready, check_nodes

if TYPE_CHECKING:
    from autogm.train import TrainResult

__all__ = ["Predictor"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Predictor:
    """Answers on the graph it was made for, on that graph changed, or on another like it.

    Many threads may use one. What a graph needs in advance (draws, normalisation, and for single
    nodes the features' first product) is made when a graph is first asked about, and kept while
    the graph lives.

    ``classes`` are what codes stand for (the labels' names for many labels a node, empty for
    numbers). ``scope`` says how it will be used, hence how it is timed: "graph", all nodes in one
    pass; "batch", ``batch_size`` nodes together; "query", one node; "paper", as the released code
    of the paper times (only to reproduce). ``threads`` None means all cores.

    >>> from autogm import load_graph
    >>> from autogm.train import train, TrainSettings
    >>> g = load_graph("digits")
    >>> p = Predictor.of(train(g, Algorithm.sgcn(), TrainSettings(epochs=20)))
    >>> p.predict(g, nodes=[0, 1]), p.predict_proba(g).shape
    (array([0, 1]), (1797, 10))
    """

    algorithm: Algorithm
    weights: Weights = field(repr=False)
    head: Head
    classes: tuple[Any, ...] = field(repr=False)
    feature_names: tuple[str, ...] | None = field(default=None, repr=False)
    sample_seed: int = 0
    oversample: bool = False
    scope: str = "graph"
    batch_size: int = 1
    threads: int | None = None
    measurement: Measurement | None = field(default=None, repr=False)
    """What it was timed at, if it was."""
    _ready: weakref.WeakKeyDictionary[Graph, Ready] = field(
        default_factory=weakref.WeakKeyDictionary, init=False, repr=False
    )
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        self.weights.check(self.algorithm, self.weights.num_features)
        if self.weights.num_features == 0:
            raise InputError(
                "a model needs features, but its weights are for none; train it on some"
            )
        for part in (*self.weights.layers, *self.weights[1:]):
            if not np.isfinite(part).all():
                raise InputError("weights must be finite, but have NaN or infinity; train it again")
        expected = _num_classes(self.head)
        if len(self.classes) != expected:
            raise InputError(
                f"classes must be {expected} for a {self.head.name} head, but are "
                f"{len(self.classes)}; give the graph's classes"
            )
        if self.weights.num_outputs != self.head.num_outputs:
            raise InputError(
                f"weights must have {self.head.num_outputs} outputs for a {self.head.name} head, "
                f"but have {self.weights.num_outputs}"
            )
        _scope(self.scope)
        require_whole("batch_size", self.batch_size, least=1)
        if self.threads is not None:
            most = num_threads()
            if require_whole("threads", self.threads, least=1) > most:
                raise InputError(
                    f"threads must be in 1..{most}, the cores there are, but got {self.threads}; "
                    "leave it out to use all"
                )

    @classmethod
    def of(cls, result: TrainResult, **options: Any) -> Predictor:
        """A trained algorithm; ``options`` are scope, batch_size, threads."""
        if not hasattr(result, "task"):
            raise InputError(
                f"a TrainResult is needed, but got a {type(result).__name__}; take one of several: "
                "max(results, key=lambda r: r.validation_score)"
            )
        graph, settings = result.task.graph, result.task.settings
        return cls(
            algorithm=result.algorithm,
            weights=result.weights,
            head=result.head,
            classes=graph.classes,
            feature_names=graph.feature_names,
            sample_seed=settings.sample_seed,
            oversample=settings.oversample,
            **options,
        )

    @classmethod
    def untrained(
        cls, graph: Graph, algorithm: Algorithm, *, seed: int = 0, **options: Any
    ) -> Predictor:
        """Random weights: time does not depend on them, so it can be measured before training."""
        require_graph(graph)
        if not isinstance(algorithm, Algorithm):
            raise InputError(f"an Algorithm is needed, but got {algorithm!r}; try Algorithm.gcn()")
        if graph.features is None or graph.num_features == 0:
            raise InputError(
                "a model needs node features, but the graph has none; give some, or make them of "
                "its structure: graph = autogm.structural_features(graph)"
            )
        many = graph.labels is not None and graph.labels.ndim == 2
        head = head_for(len(graph.classes), many=many)
        rng = np.random.default_rng(seed)
        shapes = Weights.shapes(algorithm, graph.num_features, head.num_outputs)
        *layers, output, bias = [
            (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32) for shape in shapes
        ]
        weights = Weights(tuple(layers), output, bias)
        return cls(
            algorithm=algorithm, weights=weights, head=head, classes=graph.classes, **options
        )

    def predict(self, graph: Graph, nodes: Iterable[object] | None = None) -> NDArray[Any]:
        """The class of every node, or of those with the given ids, in their order.

        0 or 1 a label where a node may have many; a number for regression.
        """
        ready = self.ready(graph)
        if isinstance(self.head, MultiClass):
            codes = ready.codes() if nodes is None else ready.codes(_positions(graph, nodes))
            return np.asarray(ready.classes[codes])
        answers = self.head.answers(self._outputs(ready, graph, nodes))
        return np.asarray(ready.classes[answers]) if isinstance(self.head, Binary) else answers

    def predict_proba(self, graph: Graph, nodes: Iterable[object] | None = None) -> NDArray[Any]:
        """A probability a class (n x C), or a label (n x L)."""
        if isinstance(self.head, Regression):
            raise InputError("predict_proba is for classes, but this model answers numbers")
        scores = self.head.scores(self._outputs(self.ready(graph), graph, nodes))
        return np.stack([1 - scores, scores], axis=1) if isinstance(self.head, Binary) else scores

    def _outputs(self, ready: Ready, graph: Graph, nodes: Iterable[object] | None) -> Matrix:
        return ready.outputs(None if nodes is None else _positions(graph, nodes))

    def ready(self, graph: Graph) -> Ready:
        """What answers about a graph; made once."""
        require_graph(graph)
        found = self._ready.get(graph)
        if found is not None:
            return found
        self._check_features(graph)
        with self._lock:
            if graph not in self._ready:
                self._ready[graph] = Ready(self, graph)
            return self._ready[graph]

    def _check_features(self, graph: Graph) -> None:
        expected = self.weights.num_features
        if graph.features is None or graph.num_features != expected:
            has = "none" if graph.features is None else graph.num_features
            raise InputError(
                f"the model was trained on {expected} features a node, but the graph has {has}; "
                "give it the features of the graph it was trained on, in their order"
            )
        if self.feature_names and graph.feature_names and self.feature_names != graph.feature_names:
            pairs = zip(self.feature_names, graph.feature_names, strict=True)
            at, (own, other) = next((i, pair) for i, pair in enumerate(pairs) if pair[0] != pair[1])
            raise InputError(
                f"feature {at} of the model is {own!r}, but of the graph {other!r}; "
                "give the features in the model's order (features=[…])"
            )

    def explain(self, graph: Graph, *, measured: bool = True) -> str:
        """The steps of a pass over all nodes: shapes, counted bytes and operations, time."""
        return self.ready(graph).whole.explain(measured=measured)

    def measure(
        self,
        graph: Graph,
        *,
        clock: Clock | None = None,
        scope: str | None = None,
        batch_size: int | None = None,
        seed: int = 0,
    ) -> Measurement:
        """How long answers take here, in the model's own scope unless another is given.

        ``batch`` and ``query`` ask for nodes drawn by ``seed``; the ten nodes with most neighbours
        are among them.
        """
        scope, ready = self.scope if scope is None else _scope(scope), self.ready(graph)
        size = self.batch_size if batch_size is None else batch_size
        size = {"batch": require_whole("batch_size", size, least=1)}.get(scope, 1)
        check_nodes(graph, size)
        work = ready.work(self, graph, scope, size, seed)
        clock = Clock(least=max(20, work.rounds)) if clock is None else clock
        timing = time_calls({scope: work.call}, clock)[scope]
        return Measurement(
            scope=scope,
            batch_size=size if scope in ("batch", "query") else None,
            median=timing.median,
            p95=timing.percentile(95),
            p99=timing.percentile(99),
            repeats=len(timing.samples),
            threads=work.threads,
            machine=machine(),
            fingerprint=graph.fingerprint,
            prepared=work.prepared,
            noise=timing.noise,
        )

    def measured(self, graph: Graph, **options: Any) -> Predictor:
        """The same with its measurement, as it is saved."""
        return self.with_measurement(self.measure(graph, **options))

    def with_measurement(self, found: Measurement) -> Predictor:
        """The same, used as it was timed."""
        size = found.batch_size or self.batch_size
        made = replace(self, measurement=found, scope=found.scope, batch_size=size)
        made._ready.update(self._ready)  # what was made of graphs stays of use
        return made

    def __getstate__(self) -> dict[str, Any]:
        """For other processes: all but what was made of graphs here."""
        return {name: value for name, value in vars(self).items() if name[0] != "_"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        own = {"_ready": weakref.WeakKeyDictionary(), "_lock": threading.Lock()}
        for name, value in (state | own).items():
            object.__setattr__(self, name, value)

    def save(self, path: str | Path) -> None:
        """Write a folder: ``model.json`` and ``weights.safetensors``; all of it or nothing."""
        from autogm.predictor.files import save

        save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Predictor:
        """Read such a folder; nothing in it is executed."""
        from autogm.predictor.files import load

        return load(Path(path))


def _scope(scope: str) -> str:
    if scope not in SCOPES:
        raise InputError(
            f"scope must be one of {', '.join(SCOPES)}, but got {scope!r}"
            f"{suggest(str(scope), SCOPES)}"
        )
    return scope


def _num_classes(head: Head) -> int:
    if isinstance(head, Regression):
        return 0
    return 2 if isinstance(head, Binary) else head.num_outputs


def _positions(graph: Graph, nodes: Iterable[object]) -> NDArray[np.int32]:
    if isinstance(nodes, str) or not hasattr(nodes, "__iter__"):
        raise InputError(f"nodes must be a list of ids, but got {nodes!r}; try [{nodes!r}]")
    if isinstance(nodes, np.ndarray) and nodes.dtype == bool:
        raise InputError("nodes must be ids, but got a mask; use graph.ids[mask]")
    positions = graph.positions(nodes)
    if positions.ndim != 1:
        raise InputError(f"nodes must be a list of ids, but have the shape {positions.shape}")
    return positions
