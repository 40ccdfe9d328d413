"""PageRank to one tolerance against networkx, scikit-network and python-graphblas.

    python benchmarks/pagerank.py [--repeats 21]

R-MAT graphs of 1M and 16M edges without dangling nodes (scikit-network does not spread those as
the others do). Every contender starts from its own loaded form of the graph and stops when a step
changes the scores by at most 1e-10 in the 1-norm; normalising by out-degree is on everybody's
clock, and so is what a library does with its own graph on every call (networkx makes a matrix of
its dicts, most of its time). Threads: all cores for autogm and graphblas, one for networkx and for
scikit-network's power iteration (its `diteration` has more, but works in float32 and does not
reach the tolerance). Outputs are checked first. networkx is timed on 1M only.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import graphblas as gb
import harness
import networkx as nx
import numba
import numpy as np
from scipy import sparse
from sknetwork.ranking import PageRank

import autogm
from autogm.graph import Graph, rmat
from autogm.graph.edges import EdgeList, compress
from autogm.message.kernel import num_threads
from autogm.message.scores import uniform
from autogm.message.walk import stationary

DAMPING, CHANGE = 0.85, 1e-10
# autogm's tolerance bounds the error, which the change of a step bounds by this factor.
TOL = CHANGE * DAMPING / (1 - DAMPING)


def without_dangling(graph: Graph) -> Graph:
    """Give every node without out-edges one, to a random other node."""
    dangling = np.flatnonzero(np.bincount(graph.rows.indices, minlength=graph.num_nodes) == 0)
    rng = np.random.default_rng(1)
    step = rng.integers(1, graph.num_nodes, size=len(dangling))
    source = np.concatenate([graph.rows.indices, dangling]).astype(np.int32)
    target = np.concatenate([graph.rows.row_of_entry, (dangling + step) % graph.num_nodes])
    edges = EdgeList(source, target.astype(np.int32))
    rows, _ = compress(edges, num_nodes=graph.num_nodes, directed=True)
    return Graph(rows=rows, directed=True)


def with_graphblas(incoming: Any, n: int) -> np.ndarray:
    x = gb.Vector.from_scalar(1 / n, n, dtype="FP64")
    out_degree = incoming.reduce_columnwise(gb.monoid.plus).new()
    share = out_degree.apply(gb.binary.truediv, left=DAMPING).new()
    while True:
        sent = x.ewise_mult(share, gb.binary.times).new()
        y = gb.Vector.from_scalar((1 - DAMPING) / n, n, dtype="FP64")
        y(gb.binary.plus) << incoming.mxv(sent, gb.semiring.plus_second)
        difference = x.ewise_mult(y, gb.binary.minus).new().apply(gb.unary.abs).new()
        x = y
        if difference.reduce(gb.monoid.plus).get(0) <= CHANGE:
            return x.to_dense()


def with_scikit_network(outgoing: sparse.csr_matrix) -> np.ndarray:
    model = PageRank(damping_factor=DAMPING, solver="piteration", n_iter=10_000, tol=CHANGE)
    return model.fit_predict(outgoing)


def with_networkx(graph: nx.DiGraph, n: int) -> np.ndarray:
    scores = nx.pagerank(graph, alpha=DAMPING, tol=CHANGE / n, max_iter=10_000)
    return np.array([scores[u] for u in range(n)])


@numba.njit(nogil=True)
def _read(array: np.ndarray) -> int:
    total = 0
    for i in range(len(array)):
        total += array[i]
    return total


def read_bandwidth() -> float:
    """Bytes a second that all cores read together, from far more than any cache holds."""
    threads = num_threads()
    parts = np.array_split(np.ones(200_000_000, dtype=np.int32), threads)
    with ThreadPoolExecutor(threads) as pool:
        samples = harness.interleave({"read": lambda: list(pool.map(_read, parts))}, repeats=7)
    return 800e6 / harness.median(samples["read"])


def measure(scale: int, num_edges: int, repeats: int) -> dict[str, Any]:
    graph = without_dangling(rmat(scale, num_edges))
    n = graph.num_nodes
    indptr, indices = graph.rows.indptr.astype(np.uint64), graph.rows.indices.astype(np.uint64)
    incoming = gb.Matrix.from_csr(indptr, indices, 1.0, ncols=n)
    outgoing = sparse.csr_matrix(graph.adjacency.T.tocsr().astype(np.float64))
    contenders = {
        "autogm": lambda: autogm.pagerank(graph, damping=DAMPING, tol=TOL),
        "python-graphblas": lambda: with_graphblas(incoming, n),
        "scikit-network": lambda: with_scikit_network(outgoing),
    }
    if num_edges <= 1_000_000:
        digraph = nx.from_scipy_sparse_array(outgoing, create_using=nx.DiGraph)
        contenders["networkx"] = lambda: with_networkx(digraph, n)
    expected = autogm.pagerank(graph, tol=1e-13)
    for name, call in contenders.items():
        error = float(np.abs(call() - expected).sum())
        assert error <= TOL, f"{name} is off by {error}"
    _, steps = stationary(graph.rows, uniform(n), damping=DAMPING, tol=TOL)
    return {
        "nodes": n,
        "edges": graph.num_edges,
        "steps": steps,
        "samples": harness.interleave(contenders, repeats=repeats),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=21)
    args = parser.parse_args()
    bandwidth = read_bandwidth()
    record: dict[str, Any] = {"threads": num_threads(), "bytes_per_second": bandwidth, "graphs": {}}
    rows = []
    for name, scale, num_edges in (("1M", 16, 1_000_000), ("16M", 20, 16_000_000)):
        result = measure(scale, num_edges, args.repeats)
        once = 4 * result["edges"] / bandwidth  # an edge is one int32
        ours = harness.median(result["samples"]["autogm"])
        result["times_reading_the_edges"] = ours / result["steps"] / once
        record["graphs"][name] = result
        for contender, samples in result["samples"].items():
            seconds = harness.median(samples)
            ratio = f"{seconds / ours:.2f}x"
            rows.append([name, contender, harness.show(seconds), harness.spread(samples), ratio])
    harness.print_table(["edges", "", "median", "spread", "against autogm"], rows)
    print(
        f"\nAll cores read {bandwidth / 1e9:.1f} GB/s here. Against reading the edges once a step:"
    )
    for name, result in record["graphs"].items():
        print(
            f"  {name}: {result['times_reading_the_edges']:.1f}x over {result['steps']} steps "
            "(the rest is the random gather of 8 bytes an edge)"
        )
    harness.write("pagerank", record, "numba", "networkx", "scikit-network", "python-graphblas")


if __name__ == "__main__":
    main()
