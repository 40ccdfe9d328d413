"""A predictor on one graph: its plans, made when they are first needed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

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
_ROUNDS = 1000


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
        found = self.some.answers(positions)
        return self.whole.codes()[positions] if found is None else found[1]

    def outputs(self, positions: NDArray[np.int32] | None = None) -> Matrix:
        if positions is None:
            return self.whole.outputs()
        found = self.some.answers(positions)
        return self.whole.outputs()[positions] if found is None else found[0]

    def prepared(self, scope: str) -> tuple[str, ...]:
        """What is not on the clock."""
        plans = {"graph": self.whole, "paper": paper_plan(self._given, threads=1)}
        return plans[scope].prepared if scope in plans else self.some.prepared

    def call(
        self, predictor: Predictor, graph: Graph, size: int | None, seed: int
    ) -> Callable[[int], Any]:
        """What is timed: a round's answers."""
        if predictor.scope == "paper":
            literal = paper_plan(self._given, threads=self.threads)
            return lambda _: literal.codes() if self._given.coded else literal.outputs()
        if size is None:
            return lambda _: predictor.predict(graph)
        asked = _nodes_to_ask(graph, size, seed)
        return lambda i: predictor.predict(graph, nodes=asked[i % len(asked)])


def _nodes_to_ask(graph: Graph, size: int, seed: int) -> list[NDArray[Any]]:
    """The ids of many rounds; the nodes with most neighbours are spread over them."""
    rng = np.random.default_rng(seed)
    rounds = max(1, min(_ROUNDS, 200_000 // size))
    hubs = np.argsort(-np.diff(graph.rows.indptr), kind="stable")[:_HUBS]
    asked = [rng.integers(graph.num_nodes, size=size) for _ in range(rounds)]
    for i, hub in enumerate(hubs):
        asked[(i * rounds) // len(hubs)][0] = hub
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
