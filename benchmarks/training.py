"""Seconds an epoch of training, against plain PyTorch Geometric loops on the same graph.

    python benchmarks/training.py [--datasets cora,…] [--repeats 3]

Whole graphs, the paper's splits; d = 64, Adam, dropout 0.5 before every matrix, decay on the first,
a validation pass every epoch, no early stopping. Ours is a whole `train` of 200 epochs divided by
200: receptive fields, propagation and the final score are on the clock, compilation is not. Peers
run a few epochs after one that is not counted; their features are dense and their normalised
adjacency is cached, as in PyTorch Geometric's own examples. Before anything is timed, each peer
must give our outputs with our weights. Peers have one thread or all, whichever is
faster; a run of ours uses one.

- GCN (64, 2, -1, T, SS) against `GCNConv` twice with an edge index, and with a CSR adjacency.
- SGCN (64, 2, -1, F, SS) against the same without ReLU, and against rows that are propagated once,
  in advance, which is what our definition of it does too (peers' seconds are of as many epochs).
- GraphSAGE (64, 2, 25, T, SA) against gathers of drawn neighbours over the receptive field.
- Ten runs with `train_runs` against ten times one.
- Peak memory over the graph: GCN on CoauthorP; 1M nodes, 20M edges, 128 features, 1 % labelled,
  k = 2, w = 10, whole and in mini-batches. Each in a process of its own.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import subprocess
import sys
import time
import warnings
from typing import Any

import harness
import numpy as np
import torch
from torch.nn import functional
from torch_geometric.nn import GCNConv
from torch_geometric.utils import to_torch_csr_tensor

from autogm import Algorithm, Graph, load_graph
from autogm.algorithm import Weights
from autogm.message import INFERENCE, aggregate, neighbours, sample, step_key
from autogm.message.kernel import num_threads
from autogm.train import TrainSettings, train, train_runs
from autogm.train.model import outputs
from autogm.train.task import Task

DATASETS = ("cora", "citeseer", "pubmed", "photo", "computers", "cs", "physics")
PACKAGES = ("numpy", "numba", "torch", "torch_geometric")
EPOCHS = 200
THREADS = torch.get_num_threads()
SETTINGS = TrainSettings(epochs=EPOCHS, patience=EPOCHS)
# Ratios that are at least so large, or at most, as a geometric mean; bytes that are not exceeded.
AT_LEAST = {
    "GCN, PyG edge_index": 40,
    "GCN, PyG csr": 15,
    "SGCN, PyG edge_index": 60,
    "SGCN, PyG csr": 20,
    "GraphSAGE, torch gathers": 8,
}
NEVER_SLOWER = ("GCN, PyG csr",)
TEN_RUNS_AT_MOST = 7
OVER_GRAPH = {"physics": 700e6}
WHOLE_PROCESS = {"million": 6e9, "million in mini-batches": 6e9}
POINTS = {"GCN": Algorithm.gcn(), "SGCN": Algorithm.sgcn(), "GraphSAGE": Algorithm.graphsage()}


@functools.lru_cache(maxsize=1)
def dense_features(graph: Graph) -> Any:
    """Held once for all peers: CoauthorP's take 1.2 GB."""
    features = graph.features
    return torch.tensor(features if isinstance(features, np.ndarray) else features.toarray())


class Peer(torch.nn.Module):
    """What the loops share: the output layer, Adam, dropout, losses, an epoch."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        assert graph.features is not None
        assert graph.splits is not None
        self.x = dense_features(graph)
        self.y = torch.tensor(graph.labels)
        self.train_nodes = torch.tensor(graph.splits.train)
        self.val_nodes = torch.tensor(graph.splits.val)
        self.output = torch.nn.Linear(64, len(graph.classes))
        self.threads = THREADS

    def start(self) -> None:
        first = list(self.first.parameters())
        others = [p for n, p in self.named_parameters() if not n.startswith("first.")]
        self.adam = torch.optim.Adam(
            [{"params": first, "weight_decay": 5e-4}, {"params": others}], lr=0.01
        )

    def epoch(self) -> None:
        self.train()
        self.adam.zero_grad()
        out = self(self.train_nodes)
        functional.cross_entropy(out, self.y[self.train_nodes]).backward()
        self.adam.step()
        self.eval()
        with torch.no_grad():
            out = self(self.val_nodes)
            float(functional.cross_entropy(out, self.y[self.val_nodes]))

    def take(self, weights: Weights) -> None:
        """Our weights, to compare outputs."""
        matrices = (*weights.layers, weights.output)
        layers = [self.first, self.second, self.output]
        with torch.no_grad():
            for layer, matrix in zip(layers, matrices, strict=True):
                getattr(layer, "lin", layer).weight.copy_(torch.tensor(matrix.T))
            self.output.bias.copy_(torch.tensor(weights.bias))

    def drop(self, x: Any) -> Any:
        return functional.dropout(x, 0.5, self.training)


class Convolutions(Peer):
    """GCNConv twice; ``layout`` is "edge_index" or "csr"."""

    def __init__(self, graph: Graph, layout: str, *, nonlinear: bool) -> None:
        super().__init__(graph)
        d0 = self.x.shape[1]
        self.first = GCNConv(d0, 64, bias=False, cached=True)
        self.second = GCNConv(64, 64, bias=False, cached=True)
        self.nonlinear = nonlinear
        receiver = torch.tensor(graph.rows.row_of_entry.astype(np.int64))
        edges = torch.stack([torch.tensor(graph.rows.indices.astype(np.int64)), receiver])
        self.edges = edges
        if layout == "csr":
            with warnings.catch_warnings():  # sparse CSR tensors are in beta
                warnings.simplefilter("ignore")
                self.edges = to_torch_csr_tensor(edges.flip(0), size=(graph.num_nodes,) * 2)
        self.start()

    def forward(self, nodes: Any) -> Any:
        act = torch.relu if self.nonlinear else (lambda x: x)
        x = act(self.first(self.drop(self.x), self.edges))
        x = act(self.second(self.drop(x) if self.nonlinear else x, self.edges))
        return self.output(self.drop(x) if self.nonlinear else x)[nodes]


class Propagated(Peer):
    """SGC as its authors run it: A A X once, then a model on its rows."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        x = graph.features
        for _ in range(2):  # in advance and sparse: SGConv's messages would take 18 GB on CoauthorP
            x = aggregate(neighbours(graph), "SS").astype(np.float32) @ x
        self.x = torch.tensor(x if isinstance(x, np.ndarray) else x.toarray())
        self.first = torch.nn.Linear(self.x.shape[1], 64, bias=False)
        self.second = torch.nn.Linear(64, 64, bias=False)
        self.rows = {"train": self.x[self.train_nodes], "val": self.x[self.val_nodes]}
        self.start()

    def forward(self, nodes: Any) -> Any:
        x = self.rows["train" if nodes is self.train_nodes else "val"]
        return self.output(self.second(self.first(self.drop(x))))


class Gathers(Peer):
    """GraphSAGE: w neighbours of each node of the receptive field, gathered and averaged."""

    def __init__(self, graph: Graph, w: int) -> None:
        super().__init__(graph)
        self.first = torch.nn.Linear(self.x.shape[1], 64, bias=False)
        self.second = torch.nn.Linear(64, 64, bias=False)
        self.w, self.graph = w, graph
        rows = neighbours(graph)
        self.start_of = torch.tensor(rows.indptr[:-1])
        self.degree = torch.tensor(np.diff(rows.indptr))
        self.neighbour = torch.tensor(rows.indices.astype(np.int64))
        self.val_draws = [self.draw_ours(step) for step in (1, 2)]
        self.start()

    def draw(self, nodes: Any) -> tuple[Any, Any]:
        """w neighbours a node as an index matrix, and which of its cells count.

        With replacement where there are more than w, which is the cheapest way to draw.
        """
        degree = self.degree[nodes][:, None]
        place = torch.arange(self.w)[None, :].expand(len(nodes), -1)
        many = (torch.rand(len(nodes), self.w) * degree).long()
        chosen = torch.where(degree > self.w, many, place)
        valid = (place < degree) | (degree > self.w)
        index = self.start_of[nodes][:, None] + torch.where(valid, chosen, 0)
        return self.neighbour[index.clamp(max=len(self.neighbour) - 1)], valid

    def draw_ours(self, step: int) -> tuple[Any, Any]:
        """The neighbours that ours draws for inference, for all nodes."""
        rows = neighbours(self.graph)
        keys = self.graph.stable_keys
        drawn = sample(rows, self.w, key=step_key(0, step, INFERENCE), stable_keys=keys)
        size = np.diff(drawn.indptr)
        index = np.zeros((len(size), self.w), np.int64)
        valid = np.arange(self.w)[None, :] < size[:, None]
        index[valid] = drawn.indices
        return torch.tensor(index), torch.tensor(valid)

    def forward(self, nodes: Any) -> Any:
        if self.training:
            index2, valid2 = self.draw(nodes)
        else:
            index2, valid2 = (part[nodes] for part in self.val_draws[1])
        middle, place2 = torch.unique(torch.cat([nodes, index2[valid2]]), return_inverse=True)
        if self.training:
            index1, valid1 = self.draw(middle)
        else:
            index1, valid1 = (part[middle] for part in self.val_draws[0])
        inner, place1 = torch.unique(torch.cat([middle, index1[valid1]]), return_inverse=True)
        x = self.first(self.drop(self.x[inner]))
        x = torch.relu(self.mean(x, len(middle), place1, valid1))
        x = self.mean(self.second(self.drop(x)), len(nodes), place2, valid2)
        return self.output(self.drop(torch.relu(x)))

    @staticmethod
    def mean(x: Any, count: int, place: Any, valid: Any) -> Any:
        """Of each node and its neighbours: own rows first, then the neighbours' by cell."""
        index = torch.zeros(valid.shape, dtype=torch.int64)
        index[valid] = place[count:]
        total = (x[index] * valid[:, :, None]).sum(1) + x[place[:count]]
        return total / (valid.sum(1, keepdim=True) + 1)


def peers_of(name: str, graph: Graph) -> dict[str, Peer]:
    if name == "GraphSAGE":
        return {"torch gathers": Gathers(graph, POINTS[name].w)}
    nonlinear = name == "GCN"
    peers: dict[str, Peer] = {
        f"PyG {layout}": Convolutions(graph, layout, nonlinear=nonlinear)
        for layout in ("edge_index", "csr")
    }
    return peers if nonlinear else peers | {"propagated once": Propagated(graph)}


def check(graph: Graph, algorithm: Algorithm, peers: dict[str, Peer]) -> None:
    """With our weights, every peer gives our outputs."""
    assert graph.splits is not None
    result = train(graph, algorithm, TrainSettings(epochs=2))
    expected = outputs(Task.of(graph, SETTINGS), algorithm, result.weights, graph.splits.val)
    for name, peer in peers.items():
        before = {key: value.clone() for key, value in peer.state_dict().items()}
        peer.take(result.weights)
        peer.eval()
        with torch.no_grad():
            found = peer(peer.val_nodes).numpy()
        bound = 1e-4 * np.abs(expected).max()
        np.testing.assert_allclose(found, expected, atol=bound, err_msg=name)
        peer.load_state_dict(before)


def choose_threads(peer: Peer) -> None:
    """One or all, whichever serves it better: on busy cores torch's threads stall each other."""
    seconds = {}
    for threads in (1, THREADS):
        peer.threads = threads
        epochs_of(peer, 1)
        seconds[threads] = epochs_of(peer, 1)
    peer.threads = min(seconds, key=lambda threads: seconds[threads])


def epochs_of(peer: Peer, count: int) -> float:
    torch.set_num_threads(peer.threads)
    start = time.perf_counter()
    for _ in range(count):
        peer.epoch()
    return (time.perf_counter() - start) / count


def compare(name: str, graph: Graph, repeats: int) -> dict[str, list[float]]:
    """Seconds an epoch, interleaved."""
    algorithm = POINTS[name]
    peers = peers_of(name, graph)
    check(graph, algorithm, peers)
    samples: dict[str, list[float]] = {contender: [] for contender in ("autogm", *peers)}
    for peer in peers.values():
        choose_threads(peer)
    counts = {
        contender: max(1, min(20, int(1 / epochs_of(peer, 1)))) for contender, peer in peers.items()
    }
    train(graph, algorithm, SETTINGS)
    for _ in range(repeats):
        start = time.perf_counter()
        train(graph, algorithm, SETTINGS)
        samples["autogm"].append((time.perf_counter() - start) / EPOCHS)
        for contender, peer in peers.items():
            samples[contender].append(epochs_of(peer, counts[contender]))
    return samples


def ten_runs(graph: Graph, repeats: int) -> dict[str, dict[str, list[float]]]:
    """Seconds of one run and of ten, interleaved."""
    return {
        name: harness.interleave(
            {
                "one": lambda a=algorithm: train(graph, a, SETTINGS),
                "ten": lambda a=algorithm: train_runs(graph, a, SETTINGS, runs=10),
            },
            repeats=repeats,
            warm_up=0,
        )
        for name, algorithm in POINTS.items()
    }


MEMORY = """
import sys, time, json
import numpy as np
from autogm import Algorithm, load_graph
from autogm.graph import Splits, planted_partition
from autogm.train import TrainSettings, train
import dataclasses

train(load_graph("digits"), Algorithm.gcn(), TrainSettings(epochs=1))
train(load_graph("digits"), Algorithm.graphsage(), TrainSettings(epochs=1))
case = sys.argv[1]
if case == "physics":
    graph, algorithm = load_graph("physics", split="paper"), Algorithm.gcn()
    settings = TrainSettings(epochs=20)
else:
    graph = planted_partition(1_000_000, degree=40, num_features=128)
    splits = Splits.fractions(graph.labels, train=0.01, val=0.01)
    graph = dataclasses.replace(graph, splits=splits)
    algorithm = Algorithm(d=64, k=2, w=10, l=True, a="SA")
    memory = 4 * 2**30 if case == "million" else 2**28
    settings = TrainSettings(epochs=5, memory=memory)
features = graph.features
held = features.nbytes if isinstance(features, np.ndarray) else (
    features.data.nbytes + features.indices.nbytes + features.indptr.nbytes)
held += graph.rows.indptr.nbytes + graph.rows.indices.nbytes
now = int(open("/proc/self/statm").read().split()[1]) * 4096
open("/proc/self/clear_refs", "w").write("5")
start = time.perf_counter()
result = train(graph, algorithm, settings)
seconds = time.perf_counter() - start
high = [l for l in open("/proc/self/status") if l.startswith("VmHWM")][0]
high = int(high.split()[1]) * 1024
print(json.dumps({"graph": held, "resident before": now, "peak": high, "over": high - now,
  "seconds": seconds, "epochs": result.epochs, "val": result.validation_score}))
"""


def memory() -> dict[str, Any]:
    record = {}
    for case in ("physics", "million", "million in mini-batches"):
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, case], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(done.stderr)
        record[case] = json.loads(done.stdout.splitlines()[-1])
    return record


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def measure(dataset: str, repeats: int) -> dict[str, Any]:
    """All that is timed on one graph."""
    graph = load_graph(dataset, split="paper")
    found: dict[str, Any] = {"seconds an epoch": {}}
    for name in POINTS:
        found["seconds an epoch"][name] = samples = compare(name, graph, repeats)
        print(dataset, name, *describe(samples), sep="  ", flush=True)
    found["runs"] = ten_runs(graph, repeats)
    for name, samples in found["runs"].items():
        print(dataset, name, f"ten runs: {ten_over_one(samples):.1f}x one", flush=True)
    return found


def describe(samples: dict[str, list[float]]) -> list[str]:
    medians = {contender: harness.median(seconds) for contender, seconds in samples.items()}
    ours = medians.pop("autogm")
    peers = [
        f"{peer}: {harness.show(t)} ({harness.spread(samples[peer])}) {t / ours:.1f}x"
        for peer, t in medians.items()
    ]
    return [f"{harness.show(ours)} ({harness.spread(samples['autogm'])})", *peers]


def ten_over_one(samples: dict[str, list[float]]) -> float:
    return harness.median(samples["ten"]) / harness.median(samples["one"])


def ratios_of(graphs: dict[str, Any]) -> dict[str, list[float]]:
    """What each goal speaks of, one number a graph."""
    ratios: dict[str, list[float]] = {}
    for found in graphs.values():
        for name, samples in found["seconds an epoch"].items():
            ours = harness.median(samples["autogm"])
            for peer in list(samples)[1:]:
                ratio = harness.median(samples[peer]) / ours
                ratios.setdefault(f"{name}, {peer}", []).append(ratio)
        for name, samples in found["runs"].items():
            ratios.setdefault(f"{name}, ten runs over one", []).append(ten_over_one(samples))
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", default=",".join(DATASETS), help="others keep their figures")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-memory", action="store_true")
    args = parser.parse_args()
    record: dict[str, Any] = harness.read("training") | {"epochs": EPOCHS}
    graphs = record.setdefault("graphs", {})
    for dataset in filter(None, args.datasets.split(",")):
        graphs[dataset] = measure(dataset, args.repeats)
        harness.write("training", record, *PACKAGES)
    if not args.no_memory:
        record["memory"] = memory()
    record["threads"] = {"peers": f"1 or {THREADS}", "autogm": num_threads()}
    record["summary"] = {
        goal: {"geometric mean": geometric_mean(values), "least": min(values), "most": max(values)}
        for goal, values in ratios_of(graphs).items()
    }
    harness.write("training", record, *PACKAGES)
    show(record)


def show(record: dict[str, Any]) -> None:
    rows = [
        [dataset, name, *describe(samples), *[""] * (4 - len(samples))]
        for dataset, found in record["graphs"].items()
        for name, samples in found["seconds an epoch"].items()
    ]
    harness.print_table(["graph", "", "autogm, an epoch", "against", "", ""], rows)
    for line in verdicts(record):
        print(line)


def verdicts(record: dict[str, Any]) -> list[str]:
    """Each goal of the issue, what was found, and whether that meets it."""
    lines = []
    for name, found in record["summary"].items():
        mean, least, most = found["geometric mean"], found["least"], found["most"]
        line = f"{name}: {mean:.1f}x, {least:.1f}-{most:.1f}x"
        if name in AT_LEAST:
            met = mean >= AT_LEAST[name] and (name not in NEVER_SLOWER or least >= 1)
            line += f", goal {AT_LEAST[name]}x: {verdict(met)}"
        elif "ten runs" in name:
            line += f", goal at most {TEN_RUNS_AT_MOST}x: {verdict(mean <= TEN_RUNS_AT_MOST)}"
        lines.append(line)
    for case, found in record.get("memory", {}).items():
        line = f"{case}: {found['over'] / 1e6:.0f} MB over {found['graph'] / 1e6:.0f} MB of graph"
        line += f", {found['peak'] / 1e6:.0f} MB in all"
        if case in OVER_GRAPH:
            line += f", goal {OVER_GRAPH[case] / 1e6:.0f} MB over: "
            line += verdict(found["over"] <= OVER_GRAPH[case])
        if case in WHOLE_PROCESS:
            line += f", goal {WHOLE_PROCESS[case] / 1e9:.0f} GB in all: "
            line += verdict(found["peak"] <= WHOLE_PROCESS[case])
        lines.append(line)
    return lines


def verdict(met: bool) -> str:
    return "met" if met else "not met"


if __name__ == "__main__":
    main()
