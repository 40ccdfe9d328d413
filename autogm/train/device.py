"""The same on a device, with PyTorch: layer by layer, gradients by autograd.

Batches, the vector, Adam and its best stay where they are; what goes over is the vector of a step
and its gradient. Dropout draws with PyTorch's generator. Nothing is fused or folded here, so on the
CPU this is also what the compiled passes are tested against.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from autogm.algorithm import Algorithm
from autogm.algorithm.heads import Head, MultiClass, Regression
from autogm.errors import InputError, optional
from autogm.message.product import Matrix
from autogm.message.sample import step_key
from autogm.train.adam import GO_ON, current, judge, step
from autogm.train.batches import Batch, Batches
from autogm.train.layout import Vector
from autogm.train.model import Learner, Losses, Model
from autogm.train.task import Task

__all__ = ["OnDevice"]


class OnDevice:
    """A `Model` whose passes run on another device."""

    def __init__(self, inner: Model, task: Task, algorithm: Algorithm) -> None:
        device = task.settings.device
        self._torch: Any = optional("torch", extra="search", purpose=f"device {device!r}")
        if device.startswith("cuda") and not self._torch.cuda.is_available():
            raise InputError(f"device {device!r} is not available on this machine; use 'cpu'")
        self._device, self._inner, self._task, self._algorithm = device, inner, task, algorithm
        self._sent: dict[int, tuple[Batch, Any, list[Any]]] = {}
        self._sending = threading.Lock()
        self.layout, self.maker, self.schedule = inner.layout, inner.maker, inner.schedule

    @property
    def validation(self) -> Batches:
        return self._inner.validation

    def learn(
        self, learner: Learner, batch: Batch, val: Batch | None, first: int, losses: Losses
    ) -> tuple[int, int]:
        state, rates, dropout = learner
        for i in range(len(losses)):
            seed = step_key(int(dropout.seed), state.num_steps) % 2**63
            rate = 1 - 1 / float(dropout.scale)
            losses[i, 0] = self.gradient(current(state), batch, rate, seed, state.gradient)
            step(state, rates)
            if val is not None:
                losses[i, 1] = self.loss(current(state), val)
                why = judge(state, first + i, losses[i, 0], losses[i, 1], rates.patience)
                if why != GO_ON:
                    return i + 1, why
        return len(losses), GO_ON

    def gradient(self, vector: Vector, batch: Batch, rate: float, seed: int, out: Vector) -> float:
        """The loss of a batch with dropout; ``out`` becomes its derivative."""
        learnt = self._tensor(vector).requires_grad_()
        generator = self._torch.Generator(self._device).manual_seed(seed)
        loss = self._loss(self._outputs(learnt, batch, rate, generator), batch)
        loss.backward()
        out[:] = learnt.grad.cpu().numpy()
        return float(loss.detach())

    def loss(self, vector: Vector, batch: Batch) -> float:
        with self._torch.no_grad():
            return float(self._loss(self._outputs(self._tensor(vector), batch), batch))

    def outputs(self, vector: Vector, batch: Batch) -> Matrix:
        with self._torch.no_grad():
            made: Matrix = self._outputs(self._tensor(vector), batch).cpu().numpy()
            return made

    def _outputs(self, vector: Any, batch: Batch, rate: float = 0.0, generator: Any = None) -> Any:
        spans = zip(*(part.tolist() for part in self.layout.spans), strict=True)
        *layers, output, bias = (
            vector[at : at + rows * columns].view(rows, columns) for at, rows, columns in spans
        )
        x, steps = self._on_device(batch)
        x = self._dropped(x, rate, generator)
        for i, weight in enumerate(layers):
            # Linear rows come with all steps done, or with dropout off; then order is free.
            x = x @ weight
            if i < len(steps):
                x = steps[i] @ x
            if self._algorithm.l:
                x = self._dropped(self._torch.relu(x), rate, generator)
        return (x @ output + bias)[:, : self._task.head.num_outputs]

    def _dropped(self, x: Any, rate: float, generator: Any) -> Any:
        if rate == 0:
            return x
        values = x.values() if x.is_sparse else x
        kept = self._torch.rand(values.shape, generator=generator, device=self._device) >= rate
        values = values * kept / (1 - rate)
        if not x.is_sparse:
            return values
        place, shape = x.indices(), x.shape
        options = {"is_coalesced": True, "check_invariants": False}
        return self._torch.sparse_coo_tensor(place, values, shape, **options)

    def _loss(self, outputs: Any, batch: Batch) -> Any:
        targets, weights = self._tensor(batch.judged.targets), self._tensor(batch.judged.weights)
        return (weights * self._errors(self._task.head, outputs, targets)).sum()

    def _errors(self, head: Head, outputs: Any, targets: Any) -> Any:
        functional = self._torch.nn.functional
        if isinstance(head, MultiClass):
            codes = targets[:, 0].long()
            return functional.cross_entropy(outputs, codes, reduction="none")[:, None]
        if isinstance(head, Regression):
            return (outputs - targets) ** 2
        bce = functional.binary_cross_entropy_with_logits
        return bce(outputs, targets, reduction="none")

    def _on_device(self, batch: Batch) -> tuple[Any, list[Any]]:
        """Features and aggregation matrices; those of two batches stay there, for all runs."""
        with self._sending:
            if id(batch) not in self._sent:
                if len(self._sent) >= 2:
                    self._sent.clear()
                self._sent[id(batch)] = (batch, self._rows(batch), self._steps(batch))
            return self._sent[id(batch)][1:]

    def _rows(self, batch: Batch) -> Any:
        rows = batch.rows
        if len(rows.dense):
            return self._tensor(rows.dense)
        width = int(self.layout.spans.rows[0])
        return self._sparse(rows.first, rows.last, rows.indices, rows.values, width)

    def _steps(self, batch: Batch) -> list[Any]:
        steps, matrices = batch.steps, []
        for i in range(1, len(steps.size)):
            at = slice(steps.row_at[i], steps.row_at[i] + steps.size[i])
            first, last, width = steps.first[at], steps.last[at], int(steps.size[i - 1])
            matrices.append(self._sparse(first, last, steps.indices, steps.values, width))
        return matrices

    def _sparse(self, first: Any, last: Any, indices: Any, values: Any, width: int) -> Any:
        lengths = last - first
        row = np.repeat(np.arange(len(first)), lengths)
        before = np.repeat(np.cumsum(lengths) - lengths, lengths)
        entry = np.arange(len(row)) - before + np.repeat(first, lengths)
        place = self._tensor(np.stack([row, indices[entry]]))
        shape = (len(first), width)
        made = self._torch.sparse_coo_tensor(
            place, self._tensor(values[entry]), shape, check_invariants=False
        )
        return made.coalesce()

    def _tensor(self, array: Any) -> Any:
        return self._torch.tensor(array, device=self._device)
