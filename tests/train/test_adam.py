import numpy as np
import pytest

from autogm.train import TrainSettings
from autogm.train.adam import Rates, State, current, step


@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_steps_are_those_of_torch_with_decay_on_the_first_numbers(decay):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    start = rng.standard_normal(48).astype(np.float32)
    state = State.of(start)
    rates = Rates.of(TrainSettings(learning_rate=0.05, weight_decay=decay), 32)
    first, others = (torch.tensor(part.copy()) for part in (start[:32], start[32:]))
    adam = torch.optim.Adam(
        [{"params": [first], "weight_decay": decay}, {"params": [others]}], 0.05
    )
    for _ in range(20):
        gradient = rng.standard_normal(48).astype(np.float32)
        state.gradient[:] = gradient
        step(state, rates)
        first.grad, others.grad = torch.tensor(gradient[:32]), torch.tensor(gradient[32:])
        adam.step()
        expected = torch.cat([first, others]).numpy()
        np.testing.assert_allclose(current(state), expected, rtol=1e-4, atol=1e-5)
    assert state.num_steps == 20


def test_a_decay_changes_the_first_layer_alone():
    """With no gradient, only what decays moves."""
    start = np.ones(48, np.float32)
    state = State.of(start)
    state.gradient[:] = 0
    step(state, Rates.of(TrainSettings(weight_decay=0.1), 32))
    assert (current(state)[:32] < 1).all()
    np.testing.assert_array_equal(current(state)[32:], 1)
