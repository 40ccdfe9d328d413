"""Aggregation matrices and the layer equation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from autogm.algorithm import AGGREGATIONS, Algorithm
from autogm.errors import InputError, require_whole, suggest
from autogm.graph import Graph, Rows, require_graph
from autogm.graph.edges import check_sparse
from autogm.message.sample import INFERENCE, neighbours, sample, step_key

__all__ = ["aggregate", "embed", "layer"]


def aggregate(sampled: Rows, a: str) -> sparse.csr_array:
    """A_agg of the paper's Table II, made of the sampled matrix itself.

    With B = A_samp, its diagonal set to one for S, and r_u the sum of B's row u: B_uv / r_u for
    A, B_uv / sqrt(r_u r_v) for S, B_uv for N; 0 where a sum is 0. The paper's table prints
    D of the matrix without self-loops; GCN (D + I) and GraphSAGE (|N(u)| + 1), which its Table III
    must reproduce, take it of B, and so does this. On directed graphs S equals PyG's GCNConv.
    """
    _check_choice("a", a, AGGREGATIONS)
    loop, normalization = a[0], a[1]
    matrix = sampled.to_scipy(np.float64)
    if loop == "S":
        matrix = sparse.csr_array(matrix + sparse.eye_array(sampled.num_rows, format="csr"))
    if not matrix.has_sorted_indices:
        matrix = matrix.sorted_indices()  # a copy: the sampled rows may share their arrays
    if normalization == "N":
        return matrix
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    power = 1.0 if normalization == "A" else 0.5
    scale = np.power(sums, -power, out=np.zeros_like(sums), where=sums > 0)
    values = matrix.data * np.repeat(scale, np.diff(matrix.indptr))
    if normalization == "S":
        values *= scale[matrix.indices]
    return sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def layer(aggregation: Any, x: Any, weight: NDArray[Any], *, nonlinear: bool) -> NDArray[Any]:
    """X_i = phi(A_agg X_{i-1} W_i); the narrower product, X W, comes first."""
    result: NDArray[Any] = aggregation @ (x @ weight)
    return np.maximum(result, 0) if nonlinear else result


def embed(
    graph: Graph,
    algorithm: Algorithm,
    weights: Sequence[ArrayLike],
    *,
    seed: int = 0,
    initial: Any = None,
    direction: str = "in",
    readout: str = "last",
    oversample: bool = False,
    epoch: int = INFERENCE,
) -> NDArray[Any]:
    """Algorithm 1, bare: the n x d messages after k steps with W_1..W_k.

    ``initial`` is X_0 (the node features unless given). ``direction="in"`` aggregates from
    in-neighbours, X <- Agg(A) X; "out" spreads to out-neighbours as PageRank does,
    X <- Agg(A^T)^T X. ``readout`` is X_k ("last") or the sum of X_1..X_k ("sum"). ``seed`` is
    the sampling seed: draws depend on it, the epoch and the step, and on nothing else.

    >>> from autogm import as_graph
    >>> g = as_graph([("a", "b"), ("b", "c")], directed=False, features=[[1.0], [0.0], [2.0]])
    >>> embed(g, Algorithm(d=1, k=1, l=False, a="NA"), weights=[[[1.0]]])
    array([[0. ],
           [1.5],
           [0. ]], dtype=float32)
    """
    require_graph(graph)
    if not isinstance(algorithm, Algorithm):
        raise InputError(f"an Algorithm is needed, but got {algorithm!r}; try Algorithm.gcn()")
    _check_choice("direction", direction, ("in", "out"))
    _check_choice("readout", readout, ("last", "sum"))
    seed, epoch = require_whole("seed", seed), require_whole("epoch", epoch, least=0)
    x = graph.features if initial is None else initial
    if sparse.issparse(x):
        check_sparse(x, "columns of initial")
    elif x is not None:
        x = np.asarray(x)
    if x is None:
        raise InputError(
            "Algorithm 1 starts from node features, but the graph has none; give initial="
        )
    if x.ndim != 2 or x.shape[0] != graph.num_nodes:
        raise InputError(
            f"initial must have one row a node ({graph.num_nodes}), but its shape is {x.shape}; "
            "give a matrix of nodes x features"
        )
    x = x.astype(np.result_type(x.dtype, np.float32))
    matrices = _check_weights(algorithm, weights, int(x.shape[1]), x.dtype)
    rows = neighbours(graph, direction)
    total: Any = 0
    for step, weight in enumerate(matrices, start=1):
        drawn = sample(
            rows,
            algorithm.w,
            key=step_key(seed, step, epoch),
            stable_keys=graph.stable_keys,
            oversample=oversample,
        )
        matrix = aggregate(drawn, algorithm.a).astype(x.dtype)
        x = layer(matrix if direction == "in" else matrix.T, x, weight, nonlinear=algorithm.l)
        total = total + x
    result: Any = total if readout == "sum" and algorithm.k else x
    return result.toarray() if sparse.issparse(result) else np.asarray(result)


def _check_weights(
    algorithm: Algorithm, weights: Sequence[ArrayLike], d0: int, dtype: Any
) -> list[NDArray[Any]]:
    try:
        matrices = [
            np.asarray(weight.detach() if hasattr(weight, "detach") else weight, dtype=dtype)
            for weight in weights
        ]
    except (TypeError, ValueError):
        raise InputError(
            f"weights must be a list of matrices of numbers, but got {type(weights).__name__} "
            f"{weights!r:.60}; give W_1..W_k as arrays"
        ) from None
    d, k = algorithm.d, algorithm.k
    expected = [(d0, d), *[(d, d)] * (k - 1)][:k]
    shapes = [matrix.shape for matrix in matrices]
    if shapes != expected:
        raise InputError(
            f"weights must be {k} matrices W_1..W_{k} of shapes {expected}, but got {shapes}; "
            "the first is features x d, the others d x d"
        )
    return matrices


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(
            f"{name} must be one of {', '.join(choices)}, but got {value!r}"
            f"{suggest(str(value), choices) or '; choose one of them'}"
        )
