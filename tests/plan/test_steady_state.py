import tracemalloc

import pytest

from autogm import Algorithm, Predictor, load_graph

GRAPH = load_graph("digits")


@pytest.mark.parametrize("algorithm", [Algorithm.gcn(), Algorithm.sgcn(), Algorithm(k=3, w=4)])
def test_answers_allocate_nothing_but_themselves(algorithm):
    """Messages of 64 numbers a node would be 460 kB; the labels are 14."""
    predictor = Predictor.untrained(GRAPH, algorithm)
    labels = predictor.predict(GRAPH)
    tracemalloc.start()
    for _ in range(3):
        predictor.predict(GRAPH)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * labels.nbytes + 20_000
