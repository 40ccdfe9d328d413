"""A predictor on one graph: its plans, made when they are first needed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autogm.algorithm.heads import MultiClass
from autogm.errors import InputError
from autogm.graph import Graph
from autogm.message.kernel import num_threads
from autogm.message.product import Matrix
from autogm.plan import (
    Given,
    NodePlan,
    Plan,
    aggregations,
    feature_matrix,
    first_width,
    node_plan,
    paper_plan,
)
from autogm.plan import plan as whole_plan

if TYPE_CHECKING:
    from autogm.predictor.predictor import Predictor

__all__ = ["Ready", "check_nodes"]

_HUBS = 10
_ROUNDS, _ASKED = 1000, 100_000


class Ready:
    """Knows a graph's arrays, not the graph, so that it does not keep it alive."""

    def __init__(self, predictor: Predictor, graph: Graph) -> None:
        assert graph.features is not None
        self.threads = predictor.threads or num_threads()
        self.classes = _array_of(predictor.classes)
        matrices = aggregations(
            graph,
            predictor.algorithm,
            sample_seed=predictor.sample_seed,
            oversample=predictor.oversample,
        )
        width = first_width(predictor.algorithm, predictor.head.num_outputs)
        self._given = Given(
            predictor.algorithm,
            predictor.weights,
            feature_matrix(graph.features, width=width),
            matrices,
            coded=isinstance(predictor.head, MultiClass),
        )
        self.whole: Plan = whole_plan(self._given, threads=self.threads)
        self._some: NodePlan | None = None
        self._literal: Plan | None = None
        self._lock = threading.Lock()

    @property
    def some(self) -> NodePlan:
        """Of the nodes that are asked for; made when the first is."""
        if self._some is None:
            with self._lock:
                self._some = self._some or node_plan(self._given, threads=self.threads)
        return self._some

    def codes(self, positions: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
        """The place of the largest output, of all nodes or of some."""
        if positions is None:
            return self.whole.codes()
        positions = np.array(positions, np.int32)
        found = self.some.answers(positions)
        return self.whole.codes()[positions] if found is None else found[1]

    def outputs(self, positions: NDArray[np.int32] | None = None) -> Matrix:
        if positions is None:
            return self.whole.outputs()
        positions = np.array(positions, np.int32)
        found = self.some.answers(positions)
        return self.whole.outputs()[positions] if found is None else found[0]

    @property
    def literal(self) -> Plan:
        """As the released code of the paper computes; made when it is first asked for."""
        with self._lock:
            if self._literal is None:
                self._literal = paper_plan(self._given, threads=self.threads)
            return self._literal

    def work(self, predictor: Predictor, graph: Graph, scope: str, size: int, seed: int) -> Work:
        """What is timed in a scope; ``size`` nodes at a time where only some are asked for."""
        if scope == "graph":
            return Work(lambda _: predictor.predict(graph), self.threads, self.whole.prepared)
        if scope == "paper":
            literal = self.literal
            call = literal.codes if self._given.coded else literal.outputs
            return Work(lambda _: call(), self.threads, literal.prepared)
        asked = _nodes_to_ask(graph, size, seed)
        threads, prepared = self._how(graph.positions(asked[0]))
        rounds = len(asked)
        return Work(
            lambda i: predictor.predict(graph, nodes=asked[i % rounds]), threads, prepared, rounds
        )

    def _how(self, positions: NDArray[np.int32]) -> tuple[int, tuple[str, ...]]:
        """Nodes are answered for by one thread, unless their field is most of the graph."""
        if self.some.answers(positions) is None:
            return self.threads, self.whole.prepared
        return 1, self.some.prepared


class Work(NamedTuple):
    """A round's answers, and how they are made."""

    call: Callable[[int], Any]
    threads: int
    prepared: tuple[str, ...]
    rounds: int = 1
    """How many differ."""


def _nodes_to_ask(graph: Graph, size: int, seed: int) -> list[NDArray[Any]]:
    """The ids of many rounds, no id twice in one; nodes with most neighbours are among them."""
    rng = np.random.default_rng(seed)
    rounds = int(np.clip(_ASKED // size, 1, _ROUNDS))
    if size == 1:
        asked = list(rng.integers(graph.num_nodes, size=(rounds, 1)))
    else:
        asked = [rng.choice(graph.num_nodes, size, replace=False) for _ in range(rounds)]
    hubs = np.argsort(-np.diff(graph.rows.indptr), kind="stable")[:_HUBS]
    for hub, positions in zip(hubs, rng.permutation(rounds), strict=False):
        if hub not in asked[positions]:
            asked[positions][0] = hub
    return [graph.ids[positions] for positions in asked]


def check_nodes(graph: Graph, size: int) -> None:
    if size > graph.num_nodes:
        raise InputError(
            f"batch_size must be at most the number of nodes ({graph.num_nodes}), but got {size}; "
            "use scope='graph' to ask for all"
        )


def _array_of(classes: tuple[Any, ...]) -> NDArray[Any]:
    """Names as one array: indexing it by codes is one pass."""
    made = np.array(classes)
    if made.ndim == 1 and all(
        type(a) is type(b) for a, b in zip(classes, made.tolist(), strict=True)
    ):
        return made
    objects = np.empty(len(classes), dtype=object)
    objects[:] = classes
    return objects
