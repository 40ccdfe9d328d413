import numpy as np
import pytest
from sklearn.metrics import log_loss

from autogm.algorithm.heads import Binary, MultiClass, MultiLabel, Regression
from autogm.train.loss import loss
from autogm.train.task import Judged


def judged(targets, num_outputs, weights=None):
    targets = np.asarray(targets, np.float32).reshape(-1, num_outputs if num_outputs < 4 else 1)
    weights = np.full(targets.shape, 1 / targets.size) if weights is None else np.asarray(weights)
    weights = weights.reshape(targets.shape).astype(np.float32)
    return Judged(np.arange(len(targets)), targets, weights, num_outputs)


OUTPUTS = np.random.default_rng(0).standard_normal((6, 16)).astype(np.float32)


def test_softmax_loss_is_the_log_loss():
    codes = np.array([0, 1, 2, 4, 3, 0])
    head, gradient = MultiClass(5), np.empty_like(OUTPUTS)
    found = loss(head.kind, OUTPUTS, judged(codes, 5), gradient)
    scores = head.scores(OUTPUTS[:, :5])
    assert found == pytest.approx(log_loss(codes, scores, labels=range(5)), rel=1e-5)
    np.testing.assert_allclose(gradient[:, :5], (scores - np.eye(5)[codes]) / 6, atol=1e-6)
    assert not gradient[:, 5:].any()


@pytest.mark.parametrize("head", [Binary(), MultiLabel(3)], ids=["binary", "multilabel"])
def test_sigmoid_loss_is_the_mean_log_loss_of_its_columns(head):
    width = head.num_outputs
    targets = np.random.default_rng(1).integers(0, 2, (6, width))
    gradient = np.empty_like(OUTPUTS)
    found = loss(head.kind, OUTPUTS, judged(targets, width), gradient)
    scores = head.scores(OUTPUTS[:, :width]).reshape(6, width)
    expected = [log_loss(t, s, labels=[0, 1]) for t, s in zip(targets.T, scores.T, strict=True)]
    assert found == pytest.approx(np.mean(expected), rel=1e-5)
    np.testing.assert_allclose(gradient[:, :width], (scores - targets) / targets.size, atol=1e-6)


def test_squared_error():
    targets, gradient = np.arange(6), np.empty_like(OUTPUTS)
    found = loss(Regression().kind, OUTPUTS, judged(targets, 1), gradient)
    errors = OUTPUTS[:, 0] - targets
    assert found == pytest.approx(np.mean(errors**2), rel=1e-5)
    np.testing.assert_allclose(gradient[:, 0], 2 * errors / 6, rtol=1e-5)


@pytest.mark.parametrize("head", [MultiClass(5), MultiLabel(3), Binary(), Regression()], ids=str)
def test_a_target_without_weight_does_not_count(head):
    width = 1 if head.num_outputs == 5 else head.num_outputs
    weights = np.repeat([[1 / 3], [0]], 3, axis=0) * np.ones(width)
    some, other = np.zeros((6, width)), np.repeat([[0], [1]], 3, axis=0) * np.ones(width)
    losses = [
        loss(head.kind, OUTPUTS, judged(t, head.num_outputs, weights), np.empty_like(OUTPUTS))
        for t in (some, other)
    ]
    assert losses[0] == losses[1]


@pytest.mark.parametrize("head", [MultiClass(5), MultiLabel(3), Binary(), Regression()], ids=str)
def test_outputs_that_are_no_numbers_are_seen(head):
    outputs = np.full((1, 16), np.nan, np.float32)
    found = loss(
        head.kind,
        outputs,
        judged([0] * min(head.num_outputs, 3) if head.num_outputs < 4 else [0], head.num_outputs),
        np.empty_like(outputs),
    )
    assert np.isnan(found)


def test_large_outputs_have_finite_losses():
    outputs = np.full((1, 16), 1e30, np.float32)
    outputs[0, 1] = -1e30
    for head, target in ((MultiClass(5), [0]), (Binary(), [1])):
        assert (
            loss(head.kind, outputs, judged(target, head.num_outputs), np.empty_like(outputs)) < 2
        )
