import dataclasses
import gc
import pickle
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from autogm import Algorithm, InputError, as_graph
from autogm.algorithm.heads import MultiClass
from autogm.graph import planted_partition
from autogm.measure import Clock
from autogm.predictor import Predictor, ready, seconds
from tests.plan.points import assert_equal, oracle

QUICK = Clock(warm_up=1, least=3, most=5)
POINTS = [
    Algorithm.gcn(d=8),
    Algorithm.graphsage(d=8, w=3),
    Algorithm.sgcn(d=8),
    Algorithm.pagerank(k=5),
    Algorithm(k=0),
]


def planted(num_nodes=300, classes=4, **options):
    return planted_partition(num_nodes, classes=classes, num_features=20, **options)


def with_labels(kind):
    graph = planted(classes=2 if kind == "binary" else 4)
    if kind == "multilabel":
        labels = (graph.labels[:, None] == [[0, 1, 2]]).astype(np.int64)
        return dataclasses.replace(graph, labels=labels, classes=("a", "b", "c"))
    if kind == "regression":
        return dataclasses.replace(graph, labels=1.5 * graph.labels, classes=())
    return graph


@pytest.mark.parametrize("algorithm", POINTS, ids=str)
def test_probabilities_are_the_heads_reading_of_the_reference(algorithm):
    graph = planted()
    p = Predictor.untrained(graph, algorithm)
    expected = p.head.scores(oracle(graph, algorithm, p.weights).astype(np.float32))
    assert_equal(p.predict_proba(graph), expected)
    assert_equal(p.predict_proba(graph, [7, 3]), expected[[7, 3]])
    np.testing.assert_array_equal(p.predict(graph), p.predict_proba(graph).argmax(axis=1))
    np.testing.assert_array_equal(p.predict(graph, [7, 3]), p.predict(graph)[[7, 3]])


@pytest.mark.parametrize(
    ("kind", "dtype", "shape", "probabilities"),
    [
        ("multiclass", "i", (300,), (300, 4)),
        ("binary", "i", (300,), (300, 2)),
        ("multilabel", "i", (300, 3), (300, 3)),
    ],
)
def test_what_heads_answer(kind, dtype, shape, probabilities):
    graph = with_labels(kind)
    p = Predictor.untrained(graph, Algorithm.gcn(d=8))
    answers, shares = p.predict(graph), p.predict_proba(graph)
    assert (answers.dtype.kind, answers.shape, shares.shape) == (dtype, shape, probabilities)
    if kind != "multilabel":
        np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert set(np.unique(answers)) <= set(range(4))


def test_regression_answers_numbers_and_no_probabilities():
    graph = with_labels("regression")
    p = Predictor.untrained(graph, Algorithm.gcn(d=8))
    assert_equal(p.predict(graph), oracle(graph, p.algorithm, p.weights)[:, 0])
    with pytest.raises(InputError, match="predict_proba is for classes, but this model answers nu"):
        p.predict_proba(graph)


def test_answers_are_classes_by_their_names_for_nodes_by_their_ids():
    graph = as_graph(
        [("ann", "bob"), ("bob", "cid"), ("cid", "dee")],
        directed=False,
        features=np.eye(4, dtype=np.float32),
        labels=["x", "y", "x", "y"],
    )
    p = Predictor.untrained(graph, Algorithm.gcn(d=8))
    everyone = p.predict(graph)
    assert set(everyone) <= {"x", "y"}
    np.testing.assert_array_equal(p.predict(graph, ["dee", "ann"]), everyone[[3, 0]])
    with pytest.raises(InputError, match="eve"):
        p.predict(graph, ["eve"])


def test_a_changed_graph_is_another_graph():
    graph = planted()
    p = Predictor.untrained(graph, Algorithm.gcn(d=8))
    p.predict(graph)
    changed = planted(seed=1)
    assert_equal(
        p.predict_proba(changed),
        p.head.scores(oracle(changed, p.algorithm, p.weights).astype(np.float32)),
    )


def test_new_nodes_are_answered_for():
    graph = planted()
    more = planted(num_nodes=310)
    p = Predictor.untrained(graph, Algorithm.sgcn(d=8))
    assert len(p.predict(more)) == 310


def test_a_graph_is_not_kept_alive():
    graph = planted()
    p = Predictor.untrained(graph, Algorithm.gcn(d=8))
    p.predict(graph, [1])
    gone = weakref.ref(graph)
    del graph
    gc.collect()
    assert gone() is None


def test_many_threads_may_ask_at_once():
    graph = planted()
    p = Predictor.untrained(graph, Algorithm.gcn(d=8))
    expected = p.predict_proba(graph)
    with ThreadPoolExecutor(4) as pool:
        asked = [(i % 300, pool.submit(p.predict_proba, graph, [i % 300])) for i in range(400)]
        for i, answer in asked:
            assert_equal(answer.result(), expected[[i]])


def test_features_of_another_width_are_refused():
    p = Predictor.untrained(planted(), Algorithm.gcn())
    other = planted_partition(50, num_features=7)
    with pytest.raises(InputError, match="trained on 20 features a node, but the graph has 7; gi"):
        p.predict(other)
    with pytest.raises(InputError, match="but the graph has none"):
        p.predict(dataclasses.replace(other, features=None, feature_names=None))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scope": "qery"}, "scope must be one of graph, batch, query, paper, but got 'qery'; d"),
        ({"batch_size": 0}, "batch_size must be a whole number of at least 1, but got 0"),
        ({"threads": 4096}, r"threads must be in 1\.\.\d+, the cores there are, but got 4096"),
        ({"head": MultiClass(9)}, "classes must be 9 for a multiclass head, but are 4; give the"),
        ({"batch_size": "7"}, "batch_size must be a whole number of at least 1, but got .7."),
    ],
)
def test_options_out_of_range(options, message):
    p = Predictor.untrained(planted(), Algorithm.gcn())
    with pytest.raises(InputError, match=message):
        dataclasses.replace(p, **options)


@pytest.mark.parametrize("scope", ["graph", "batch", "query", "paper"])
def test_a_measurement_says_what_it_depends_on(scope):
    graph = planted()
    p = Predictor.untrained(graph, Algorithm.sgcn(d=8), threads=1)
    found = p.measure(graph, scope=scope, batch_size=20, clock=QUICK)
    asked = {"graph": None, "batch": 20, "query": 1, "paper": None}[scope]
    assert (found.scope, found.batch_size, found.threads) == (scope, asked, 1)
    assert 3 <= found.repeats <= 5
    assert 0 < found.median <= found.p95 <= found.p99
    assert found.fingerprint == graph.fingerprint
    assert found.seconds == (found.median if scope in ("graph", "paper") else found.p95)
    assert found.prepared
    assert scope in str(found)


def test_nodes_are_a_list_of_ids():
    graph = planted()
    p = Predictor.untrained(graph, Algorithm.gcn(d=8))
    for nodes in (5, "ann"):
        with pytest.raises(InputError, match=r"nodes must be a list of ids, but got .*; try \["):
            p.predict(graph, nodes)
    with pytest.raises(InputError, match=r"got a mask; use graph\.ids\[mask\]"):
        p.predict(graph, np.ones(300, bool))
    assert len(p.predict(graph, [])) == 0
    with pytest.raises(InputError, match="graph"):
        p.predict("cora")


def test_features_in_another_order_are_refused():
    graph = dataclasses.replace(planted(), feature_names=tuple(f"f{i}" for i in range(20)))
    p = dataclasses.replace(
        Predictor.untrained(graph, Algorithm.gcn(d=8)), feature_names=graph.feature_names
    )
    turned = dataclasses.replace(graph, feature_names=("f1", "f0", *graph.feature_names[2:]))
    with pytest.raises(InputError, match="feature 0 of the model is 'f0', but of the graph 'f1'"):
        p.predict(turned)


def test_a_predictor_goes_to_another_process():
    graph = planted()
    p = Predictor.untrained(graph, Algorithm.gcn(d=8))
    expected = p.predict(graph)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(p)).predict(graph), expected)


def test_measuring_passes_no_messages_in_advance_but_in_the_papers_scope(monkeypatch):
    graph = planted()
    p = Predictor.untrained(graph, Algorithm.sgcn(d=8))
    monkeypatch.setattr(ready, "paper_plan", None)
    for scope in ("graph", "query", "batch"):
        p.measure(graph, scope=scope, clock=QUICK)


def test_batches_above_the_graph_are_refused():
    graph = planted()
    p = Predictor.untrained(graph, Algorithm.gcn(), scope="batch", batch_size=301)
    with pytest.raises(InputError, match=r"batch_size must be at most the number of nodes \(300\)"):
        p.measure(graph, clock=QUICK)


@pytest.mark.parametrize("algorithm", POINTS, ids=str)
def test_time_is_known_before_training(algorithm):
    assert seconds(planted(), algorithm, clock=QUICK).median > 0


def test_explain_lists_the_steps():
    graph = planted()
    text = Predictor.untrained(graph, Algorithm.gcn()).explain(graph, measured=False)
    assert [line.split(".")[0] for line in text.splitlines()] == ["1", "2", "3"]


LIGHT = """
import sys
from autogm.predictor import Predictor
from autogm.graph import planted_partition
p = Predictor.load(sys.argv[1])
p.predict(planted_partition(300, classes=4, num_features=20))
heavy = {"torch", "sklearn", "optuna", "pandas", "pyarrow", "networkx"}
print(sorted(heavy & set(sys.modules)))
"""


def test_loading_and_predicting_import_nothing_heavy(tmp_path):
    Predictor.untrained(planted(), Algorithm.gcn(d=8)).save(tmp_path / "model")
    done = subprocess.run(
        [sys.executable, "-c", LIGHT, str(tmp_path / "model")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_many_results_are_not_one():
    with pytest.raises(
        InputError, match="a TrainResult is needed, but got a list; take one of sev"
    ):
        Predictor.of([])


def test_names_are_not_algorithms():
    with pytest.raises(InputError, match="an Algorithm is needed, but got 'gcn'; try Algorithm"):
        seconds(planted(), "gcn")


def test_what_was_measured_is_what_is_saved():
    graph = planted()
    made = Predictor.untrained(graph, Algorithm.gcn(d=8)).measured(
        graph, scope="batch", batch_size=9, clock=QUICK
    )
    assert (made.scope, made.batch_size, made.measurement.batch_size) == ("batch", 9, 9)
