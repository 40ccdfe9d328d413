"""What is believed of points that were not tried: a Gaussian process over what points mean."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autogm.errors import optional

__all__ = ["Surrogate"]

Numbers = NDArray[np.float64]


class Surrogate:
    """y(x) ~ GP(prior, c Matern(x, x') + noise), length scales and noise fitted.

    Far from everything known, ``prior`` is expected: the mean, if nothing else is said. With the
    ``kernel`` of another nothing is fitted.

    A product over dimensions, so that what one parameter does may depend on every other. ``error``
    is each value's known standard error; what repeats would not explain is fitted on top.
    """

    def __init__(
        self,
        x: Numbers,
        y: Numbers,
        error: Numbers | None = None,
        prior: float | None = None,
        kernel: object | None = None,
    ) -> None:
        self._centre = float(y.mean() if prior is None else prior)
        self._scale = float(y.std()) or 1e-6
        self._x = x
        self._y = (y - self._centre) / self._scale
        known = np.zeros(len(y)) if error is None else error / self._scale
        self._alpha = np.maximum(known, 1e-3) ** 2
        if kernel is None:
            self._model = self._fitted(_kernel(x.shape[1]), "fmin_l_bfgs_b")
        else:
            self._model = self._fitted(kernel, None)

    @property
    def kernel(self) -> object:
        fitted: object = self._model.kernel_  # type: ignore[attr-defined]
        return fitted

    def _fitted(self, kernel: object, optimizer: str | None) -> object:
        gp = optional(
            "sklearn.gaussian_process", extra="search", purpose="the informed search"
        ).GaussianProcessRegressor
        with warnings.catch_warnings(), _one_thread():
            # A length scale at its bound says that a parameter does not matter: no cause to warn.
            warnings.simplefilter("ignore")
            return gp(kernel=kernel, alpha=self._alpha, optimizer=optimizer).fit(self._x, self._y)

    def believe(self, x: Numbers) -> None:
        """Take what is expected of ``x`` for true, where somebody is about to find out."""
        if not len(x):
            return
        mean = self._model.predict(x)  # type: ignore[attr-defined]
        self._x, self._y = np.vstack([self._x, x]), np.append(self._y, mean)
        self._alpha = np.append(self._alpha, np.full(len(x), 1e-6))
        self._model = self._fitted(self._model.kernel_, None)  # type: ignore[attr-defined]

    def predict(self, x: Numbers) -> tuple[Numbers, Numbers]:
        """Mean and standard deviation of the value itself, without noise."""
        kernel = self._model.kernel_  # type: ignore[attr-defined]
        signal, noise = kernel.k1, kernel.k2.noise_level
        mean, deviation = [], []
        with _one_thread():
            for part in np.array_split(x, max(1, len(x) // 20_000)):
                m, s = self._model.predict(part, return_std=True)  # type: ignore[attr-defined]
                mean.append(m)
                deviation.append(np.sqrt(np.maximum(s**2 - noise, 1e-6 * signal.k1.constant_value)))
        return (
            self._centre + self._scale * np.concatenate(mean),
            self._scale * np.maximum(np.concatenate(deviation), 1e-6),
        )


def _one_thread() -> AbstractContextManager[object]:
    """Matrices of a dozen rows are slower on many threads, four times where others work too."""
    limits: AbstractContextManager[object] = _pools().limit(limits=1)
    return limits


@cache
def _pools() -> Any:
    """Looking for the thread pools that there are takes longer than what they are to do."""
    import sklearn.gaussian_process  # noqa: F401  (whose pools are to be found)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _kernel(dimensions: int) -> object:
    """Bounds keep few points from being explained by a scale of its own for each parameter."""
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    return ConstantKernel(1.0, (0.3, 5.0)) * Matern(
        np.ones(dimensions), (0.6, 2.0), nu=2.5
    ) + WhiteKernel(1e-2, (1e-3, 0.2))
