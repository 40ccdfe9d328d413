import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autogm import Algorithm
from autogm.message import INFERENCE, reference
from autogm.train import TrainSettings, passes
from autogm.train.adam import Rates, State
from autogm.train.device import OnDevice
from autogm.train.dropout import Dropout
from autogm.train.loss import loss
from autogm.train.model import Learner, Linear, Messages, model, outputs
from autogm.train.task import Task
from tests.message.graphs import algorithms, dense, keys
from tests.train.tasks import KINDS, planted, tasks


def gradient_of(made, vector, batch, rate=0.0, epoch=0, seed=0):
    dropout = Dropout.of(rate, seed)
    out = np.zeros_like(vector)
    kind = batch_kind(made)
    memory = np.empty(made.maker.scratch_size(batch), np.float32)
    if isinstance(made, Messages):
        given = (made.layout.spans, batch, kind, dropout, epoch, memory, out)
        return passes.message_gradient(vector, *given), out
    given = (made.layout.spans, made._fold, batch, kind, dropout, epoch, memory, out)
    return passes.linear_gradient(vector, *given), out


def batch_kind(made):
    return made._task.head.kind


def start(made, scale=1.0, seed=0):
    """Weights larger than at the start of a training, and a bias that is not zero."""
    weights = made.layout.unpad(made.layout.start(seed))
    rng = np.random.default_rng(seed)
    bias = rng.standard_normal(weights.bias.shape).astype(np.float32)
    layers = tuple(scale * layer for layer in weights.layers)
    return made.layout.pad(weights._replace(layers=layers, bias=bias))


def whole(batches):
    assert batches.whole is not None
    return batches.whole


def reference_outputs(task, algorithm, weights, nodes, epoch=None):
    """Algorithm 1 straight from the paper, in float64."""
    features = task.graph.features
    x0 = features if isinstance(features, np.ndarray) else features.toarray()
    if algorithm.k == 0:
        x = x0.astype(np.float64)
    else:
        options = {} if epoch is None else {"epoch": epoch}
        x = reference.embed(
            dense(task.graph),
            x0.astype(np.float64),
            [w.astype(np.float64) for w in weights.layers],
            algorithm,
            stable_keys=keys(task.graph),
            seed=task.settings.sample_seed,
            oversample=task.settings.oversample,
            **options,
        )
    return (x @ weights.output + weights.bias)[nodes]


@given(task=tasks(), algorithm=algorithms())
@settings(max_examples=60)
def test_outputs_are_those_of_the_reference(task, algorithm):
    made = model(task, algorithm)
    weights = made.layout.unpad(start(made))
    nodes = np.arange(task.graph.num_nodes)[::-1].copy()
    expected = reference_outputs(task, algorithm, weights, nodes)
    found = outputs(task, algorithm, weights, nodes)
    bound = 1e-5 * max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=bound)


@given(task=tasks(), algorithm=algorithms())
@settings(max_examples=60)
def test_loss_and_gradient_are_those_of_autograd_layer_by_layer(task, algorithm):
    made = model(task, algorithm)
    vector = start(made)
    batch = whole(made.schedule.batches(0))
    found, gradient = gradient_of(made, vector, batch)
    expected = np.zeros_like(vector)
    layered = OnDevice(made, task, algorithm).gradient(vector, batch, 0.0, 0, expected)
    assert found == pytest.approx(layered, rel=1e-4, abs=1e-6)
    bound = 1e-4 * max(1e-3, np.abs(expected).max())
    np.testing.assert_allclose(gradient, expected, rtol=1e-3, atol=bound)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "algorithm",
    [
        Algorithm(d=3, k=2, a="SS"),
        Algorithm(d=2, k=3, a="NA", w=2),
        Algorithm(d=40, k=2, l=False),
        Algorithm(d=2, k=3, l=False, a="SA", w=3),
        Algorithm(k=0),
    ],
    ids=str,
)
def test_the_gradient_is_that_of_finite_differences(kind, algorithm):
    graph = planted(kind, 40, num_features=3)
    task = Task.of(graph, TrainSettings())
    made = model(task, algorithm)
    vector = start(made)
    batch = whole(made.schedule.batches(0))
    _, gradient = gradient_of(made, vector, batch)
    gradient = made.layout.unpad(gradient)
    weights = made.layout.unpad(vector)
    epoch = 0 if algorithm.l else None

    def loss_at(weights):
        outputs = reference_outputs(task, algorithm, weights, task.train.nodes, epoch)
        return loss(task.head.kind, outputs, task.train, np.zeros_like(outputs))

    rng = np.random.default_rng(0)
    for name, part in enumerate((*weights.layers, weights.output, weights.bias)):
        for at in rng.integers(part.size, size=3):
            slopes = []
            for step in (1e-4, -1e-4):
                parts = [p.astype(np.float64) for p in (*weights.layers, *weights[1:])]
                parts[name].reshape(-1)[at] += step
                moved = weights._replace(layers=tuple(parts[:-2]), output=parts[-2], bias=parts[-1])
                slopes.append(loss_at(moved) / 2e-4)
            found = (*gradient.layers, gradient.output, gradient.bias)[name].reshape(-1)[at]
            assert found == pytest.approx(slopes[0] - slopes[1], rel=2e-2, abs=2e-4)


@given(task=tasks(), algorithm=algorithms().filter(lambda a: a.l and a.k))
@settings(max_examples=30)
def test_the_receptive_field_gives_what_the_whole_graph_gives(task, algorithm):
    """Nodes that nobody asks for, weighing nothing, change neither loss nor gradient."""
    made = Messages(task, algorithm)
    train, n = task.train, task.graph.num_nodes
    others = np.setdiff1d(np.arange(n), train.nodes)
    judged = train._replace(
        nodes=np.concatenate([train.nodes, others]),
        targets=np.concatenate([train.targets, np.zeros((len(others), train.targets.shape[1]))]),
        weights=np.concatenate([train.weights, np.zeros((len(others), train.weights.shape[1]))]),
    )
    judged = judged._replace(
        targets=judged.targets.astype(np.float32), weights=judged.weights.astype(np.float32)
    )
    judged.nodes.flags.writeable = False
    vector = start(made)
    field, everyone = whole(made.schedule.batches(0)), made.maker.batch(judged, 0)
    # Dropout decides by entry in sparse rows, by column in dense ones.
    rate = 0.5 if len(field.rows.first) and len(everyone.rows.first) else 0.0
    found = gradient_of(made, vector, field, rate=rate, epoch=0)
    expected = gradient_of(made, vector, everyone, rate=rate, epoch=0)
    assert found[0] == pytest.approx(expected[0], rel=1e-5, abs=1e-6)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-4, atol=1e-5)


@given(task=tasks(), d=st.sampled_from([2, 40]), k=st.integers(1, 3))
@settings(max_examples=30)
def test_finished_rows_and_passing_messages_judge_alike(task, d, k):
    algorithm = Algorithm(d=d, k=k, l=False)
    made = Linear(task, algorithm)
    vector = start(made)
    passing = made.loss(vector, made.maker.batch(task.val, INFERENCE))
    finished = made.loss(vector, made._finished(task.val, INFERENCE))
    assert passing == pytest.approx(finished, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("algorithm", [Algorithm(d=20, k=2), Algorithm(d=20, k=2, l=False)])
def test_padding_stays_zero(algorithm):
    task = Task.of(planted(num_features=5), TrainSettings())
    made = model(task, algorithm)
    vector = start(made)
    _, gradient = gradient_of(made, vector, whole(made.schedule.batches(0)), rate=0.5)
    clean = made.layout.pad(made.layout.unpad(gradient))
    np.testing.assert_array_equal(gradient, clean)


def test_equal_steps_are_laid_down_once():
    task = Task.of(planted(), TrainSettings())
    deep = Messages(task, Algorithm(d=2, k=8))
    steps = whole(deep.schedule.batches(0)).steps
    entries = task.graph.num_edges * 2 + task.graph.num_nodes
    assert len(steps.indices) < 4 * entries < steps.num_entries


@pytest.mark.parametrize("rate", [0.3, 0.5])
@pytest.mark.parametrize(
    "algorithm",
    [
        Algorithm(d=5, k=2),
        Algorithm(d=40, k=2, l=False),
        Algorithm(d=2, k=3, l=False),
        Algorithm(k=0),
    ],
    ids=str,
)
def test_with_dropout_the_gradient_is_the_slope_under_the_same_masks(algorithm, rate):
    task = Task.of(planted(num_nodes=60, num_features=6), TrainSettings())
    made = model(task, algorithm)
    vector, batch = start(made), whole(made.schedule.batches(0))
    options = {"rate": rate, "epoch": 3, "seed": 7}
    _, gradient = gradient_of(made, vector, batch, **options)
    rng = np.random.default_rng(0)
    for _ in range(5):
        way = made.layout.pad(
            made.layout.unpad(rng.standard_normal(len(vector)).astype(np.float32))
        )
        losses = [gradient_of(made, vector + by * way, batch, **options)[0] for by in (2e-3, -2e-3)]
        slope = (losses[0] - losses[1]) / 4e-3
        assert float(gradient @ way) == pytest.approx(slope, rel=2e-2, abs=2e-3)


@given(task=tasks(), d=st.sampled_from([2, 40]), k=st.integers(1, 3))
@settings(max_examples=30)
def test_finished_rows_learn_as_layer_by_layer_over_the_graph(task, d, k):
    algorithm = Algorithm(d=d, k=k, l=False)
    made = Linear(task, algorithm)
    vector = start(made)
    found, gradient = gradient_of(made, vector, made._finished(task.train, INFERENCE))
    layers, expected = OnDevice(made, task, algorithm), np.zeros_like(vector)
    passing = made.maker.batch(task.train, INFERENCE)
    assert found == pytest.approx(layers.gradient(vector, passing, 0.0, 0, expected), rel=1e-4)
    bound = 1e-4 * max(1e-3, np.abs(expected).max())
    np.testing.assert_allclose(gradient, expected, rtol=1e-3, atol=bound)


def test_on_a_device_every_mini_batch_has_masks_of_its_own():
    task = Task.of(planted(), TrainSettings())
    made = model(task, Algorithm.gcn(d=8))
    device = OnDevice(made, task, Algorithm.gcn(d=8))
    seeds, batch = [], whole(made.schedule.batches(0))
    device.gradient = lambda vector, batch, rate, seed, out: seeds.append(seed) or 0.0
    learner = Learner(
        State.of(made.layout.start(0)), Rates.of(task.settings, 16), Dropout.of(0.5, 0)
    )
    for _ in range(3):  # steps of one epoch
        device.learn(learner, batch, None, 0, np.zeros((1, 2)))
    assert len(set(seeds)) == 3
