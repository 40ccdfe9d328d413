"""Labels of all nodes in one pass, against PyTorch Geometric and against the roofline.

    python benchmarks/inference.py [--datasets cora,…] [--repeats 15]

Ours is `Predictor.predict(graph)`, from features and graph in memory to labels; prepared are the
normalised matrices, draws and the product of linear algorithms' weights. Peers are
`torch_geometric` layers with the same weights, under `inference_mode`, on dense features and on an
adjacency that is normalised and drawn in advance, as an edge index and as a CSR matrix, from
features to labels too. Outputs are compared before anything is timed. All have all cores.

SGCN's peer is `SGConv`: messages of the features, K = 2 times, then one matrix. Where the messages
of an edge index would not fit the memory (CoauthorP: 18 GB), it is left out.

The roofline counts what each step must read, write and compute at least, without padding, at the
peak of dense products and the bandwidth of main memory, both measured in the same run. A second,
stricter one grants each step the bandwidth that this machine shows for as many bytes, which may
lie in a cache.
"""

from __future__ import annotations

import argparse
import gc
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import harness
import numpy as np
import torch
from scipy import sparse
from torch_geometric.nn import GCNConv, SGConv

from autogm import Algorithm, Graph, load_graph
from autogm.message import aggregate, neighbours, sample, step_key
from autogm.plan import Plan
from autogm.plan.rewrite import folded
from autogm.plan.roofline import MAIN_MEMORY, bandwidth, least_seconds, peak
from autogm.predictor import Predictor

DATASETS = ("cora", "citeseer", "pubmed", "photo", "computers", "cs", "physics")
POINTS = {
    "PageRank": Algorithm.pagerank(),
    "GCN": Algorithm.gcn(),
    "GraphSAGE": Algorithm.graphsage(),
    "SGCN": Algorithm.sgcn(),
}
LAYOUTS = ("edge_index", "csr")
LARGEST_MESSAGES = 12e9
PACKAGES = ("numpy", "numba", "torch", "torch_geometric")
GOALS = [
    # name, against, geometric mean of at least, never below
    ("GCN", "PyG edge_index", 20, 0),
    ("GCN", "PyG faster", 9, 1.2),
    ("SGCN", "PyG edge_index", 60, 0),
    ("SGCN", "PyG csr", 20, 0),
]


def matrices_of(graph: Graph, algorithm: Algorithm) -> list[sparse.csr_array]:
    """A_agg of every step, by the plain functions."""
    rows, made = neighbours(graph), {}
    for step in range(1, algorithm.k + 1):
        key = step_key(0, step)
        if algorithm.w == -1 and made:
            break
        drawn = sample(rows, algorithm.w, key=key, stable_keys=graph.stable_keys)
        made[step] = aggregate(drawn, algorithm.a).astype(np.float32)
    return [made.get(step, made[1]) for step in range(1, algorithm.k + 1)]


def edges_of(matrix: sparse.csr_array, layout: str) -> tuple[Any, ...]:
    """The arguments that a layer takes after x."""
    if layout == "csr":
        parts = (matrix.indptr, matrix.indices.astype(np.int64), matrix.data)
        tensors = [torch.tensor(np.array(part)) for part in parts]
        indptr, indices, values = tensors[0].long(), tensors[1], tensors[2]
        adjacency = torch.sparse_csr_tensor(indptr, indices, values, size=matrix.shape)
        return (adjacency,)
    entries = matrix.tocoo()
    index = torch.tensor(np.stack([entries.col, entries.row]).astype(np.int64))
    return index, torch.tensor(entries.data)


class Peer:
    """Layers of torch_geometric with our weights."""

    def __init__(self, predictor: Predictor, x: Any, edges: list[tuple[Any, ...]]) -> None:
        self.algorithm, self.x, self.edges = predictor.algorithm, x, edges
        weights = predictor.weights
        self.output = torch.tensor(weights.output), torch.tensor(weights.bias)
        self.layers = []
        for matrix in weights.layers:
            layer = GCNConv(*matrix.shape, bias=False, normalize=False)
            layer.lin.weight.data = torch.tensor(np.ascontiguousarray(matrix.T))
            self.layers.append(layer)

    def outputs(self) -> Any:
        x = self.x
        for layer, edges in zip(self.layers, self.edges, strict=True):
            x = layer(x, *edges)
            x = torch.relu(x) if self.algorithm.l else x
        weight, bias = self.output
        return x @ weight + bias

    def __call__(self) -> Any:
        with torch.inference_mode():
            return self.outputs().argmax(dim=1)


class Simplified(Peer):
    """SGConv on an adjacency that is normalised in advance."""

    def __init__(self, predictor: Predictor, x: Any, edges: list[tuple[Any, ...]]) -> None:
        super().__init__(predictor, x, edges)
        product = folded(predictor.weights)
        self.conv = SGConv(*product.shape, K=predictor.algorithm.k)
        self.conv.lin.weight.data = torch.tensor(np.ascontiguousarray(product.T))
        self.conv.lin.bias.data = self.output[1]

    def outputs(self) -> Any:
        x = self.x
        for edges in self.edges:
            weight = edges[1] if len(edges) > 1 else None
            x = self.conv.propagate(edges[0], x=x, edge_weight=weight)
        return self.conv.lin(x)


def peers_of(graph: Graph, predictor: Predictor, x: Any) -> dict[str, Peer]:
    matrices = matrices_of(graph, predictor.algorithm)
    simplified = predictor.algorithm == Algorithm.sgcn()
    peers: dict[str, Peer] = {}
    for layout in LAYOUTS:
        messages = 4 * matrices[0].nnz * graph.num_features
        if simplified and layout == "edge_index" and messages > LARGEST_MESSAGES:
            continue
        made = {id(matrix): edges_of(matrix, layout) for matrix in matrices}
        edges = [made[id(matrix)] for matrix in matrices]
        peers[f"PyG {layout}"] = (Simplified if simplified else Peer)(predictor, x, edges)
    return peers


def check(graph: Graph, predictor: Predictor, peers: dict[str, Peer]) -> None:
    """Outputs agree to 1e-4 of the largest."""
    ours = predictor.ready(graph).outputs()
    for name, peer in peers.items():
        with torch.inference_mode():
            theirs = peer.outputs().numpy()
        bound = 1e-4 * np.abs(ours).max()
        np.testing.assert_allclose(theirs, ours, rtol=0, atol=bound, err_msg=name)


def roofline(plan: Plan, *, in_cache: bool = False) -> float:
    return sum(least_seconds(step.cost, plan.threads, in_cache=in_cache) for step in plan.steps)


def measure(dataset: str, repeats: int) -> dict[str, Any]:
    graph = load_graph(dataset)
    assert graph.features is not None
    features = graph.features
    x = torch.tensor(features if isinstance(features, np.ndarray) else features.toarray())
    found: dict[str, Any] = {}
    for name, algorithm in POINTS.items():
        predictor = Predictor.untrained(graph, algorithm)
        start = time.perf_counter()
        predictor.ready(graph)
        planning = time.perf_counter() - start
        peers = peers_of(graph, predictor, x)
        check(graph, predictor, peers)
        calls: dict[str, Callable[[], Any]] = {"autogm": lambda p=predictor: p.predict(graph)}
        samples = harness.interleave(calls | peers, repeats=repeats, settle=0.05, enough=2)
        ready = predictor.ready(graph)
        found[name] = {
            "seconds": samples,
            "planning": planning,
            "roofline": roofline(ready.whole),
            "roofline in cache": roofline(ready.whole, in_cache=True),
            "steps": ready.whole.explain().splitlines(),
        }
        print(dataset, name, *describe(found[name]), sep="  ", flush=True)
        del peers
        gc.collect()
    return found


COLD = """
import sys, time
start = time.perf_counter()
from autogm import Predictor, load_graph
Predictor.load(sys.argv[1]).predict(load_graph("cora"))
print(time.perf_counter() - start)
"""


def cold_starts(repeats: int = 5) -> list[float]:
    """Seconds from nothing imported to Cora's labels, machine code and parsed graph cached."""
    with tempfile.TemporaryDirectory() as folder:
        Predictor.untrained(load_graph("cora"), Algorithm.gcn()).save(f"{folder}/model")
        command = [sys.executable, "-c", COLD, f"{folder}/model"]
        found = [
            float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            for _ in range(repeats + 1)
        ]
    return found[1:]


def describe(found: dict[str, Any]) -> list[str]:
    medians = {name: harness.median(s) for name, s in found["seconds"].items()}
    ours = medians.pop("autogm")
    spread = harness.spread(found["seconds"]["autogm"])
    peers = [f"{name}: {harness.show(t)} {t / ours:.1f}x" for name, t in medians.items()]
    near = f"{ours / found['roofline']:.1f}x, {ours / found['roofline in cache']:.1f}x in cache"
    return [f"{harness.show(ours)} ({spread})", near, *peers]


def summary(graphs: dict[str, Any]) -> dict[str, Any]:
    """Each goal's figure."""
    ratios: dict[str, list[float]] = {}
    for found in graphs.values():
        for name, case in found.items():
            medians = {peer: harness.median(s) for peer, s in case["seconds"].items()}
            ours = medians.pop("autogm")
            for peer, seconds in medians.items():
                ratios.setdefault(f"{name}, {peer}", []).append(seconds / ours)
            ratios.setdefault(f"{name}, PyG faster", []).append(min(medians.values()) / ours)
            for kind in ("roofline", "roofline in cache"):
                ratios.setdefault(f"{name}, {kind}", []).append(ours / case[kind])
    return {
        goal: {
            "geometric mean": math.exp(sum(map(math.log, values)) / len(values)),
            "least": min(values),
            "most": max(values),
            "values": values,
        }
        for goal, values in ratios.items()
    }


def show(record: dict[str, Any]) -> None:
    rows = [
        [dataset, name, *describe(case), ""][:6]
        for dataset, found in record["graphs"].items()
        for name, case in found.items()
    ]
    harness.print_table(["graph", "", "autogm", "roofline", "against", ""], rows)
    for goal, found in record["summary"].items():
        least, most = found["least"], found["most"]
        print(f"{goal}: geometric mean {found['geometric mean']:.1f}x, {least:.1f}-{most:.1f}x")
    for name, peer, mean, least in GOALS:
        found = record["summary"][f"{name}, {peer}"]
        met = found["geometric mean"] >= mean and found["least"] >= least
        print(f"{name} against {peer}, at least {mean}x: {'met' if met else 'NOT MET'}")
    planning = [case["planning"] for found in record["graphs"].values() for case in found.values()]
    print(f"a plan is made in {harness.show(min(planning))} to {harness.show(max(planning))}")
    print(f"cold start to Cora's labels: {harness.show(harness.median(record['cold starts']))}")
    near = record["summary"]["GCN, roofline"]["values"]
    met = sum(ratio <= 3 for ratio in near) >= 5 and max(near) <= 4
    print(f"GCN within 3x of the roofline on five, 4x on all: {'met' if met else 'NOT MET'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", default=",".join(DATASETS), help="others keep their figures")
    parser.add_argument("--repeats", type=int, default=21)
    args = parser.parse_args()
    record: dict[str, Any] = harness.read("inference") | {"threads": torch.get_num_threads()}
    graphs = record.setdefault("graphs", {})
    for dataset in args.datasets.split(","):
        graphs[dataset] = measure(dataset, args.repeats)
        record["summary"] = summary(graphs)
        record["peak"] = peak(torch.get_num_threads())
        record["bandwidth"] = bandwidth(MAIN_MEMORY, torch.get_num_threads())
        harness.write("inference", record, *PACKAGES)
    record["cold starts"] = cold_starts()
    harness.write("inference", record, *PACKAGES)
    show(record)


if __name__ == "__main__":
    main()
