"""Test accuracy next to plain PyTorch Geometric loops: speed must not be bought with it.

    python benchmarks/accuracy.py [--datasets cora,…] [--protocols paper,public,shchur] [--runs 10]
                                  [--again 40]

Ours is `train_runs` with its default settings. The loop is written without any of our passes: the
same matrices without biases, an output layer with one, Glorot's uniform start, Adam (0.01, decay
5e-4 on the first matrix), dropout 0.5 before every matrix (linear algorithms: on the propagated
features, once), at most 200 epochs, patience 50 on the validation loss, whose lowest point counts.
It is full-batch; as outputs of other nodes have no part in the losses, they are not computed.

- paper: the paper's splits of whole graphs, all runs on one split (20 a class / 500 / 1,000 drawn
  at random on citation graphs, so it is not the public split; 3 % / 10 % / the rest on the others).
- public: Planetoid's split of whole citation graphs.
- shchur: 20 a class / 30 a class / the rest of the largest component, another split for each run
  (Shchur et al. 2018, whose CiteSeer is our citeseer-paper).

GraphSAGE draws anew in every epoch and step of training, and once a run for evaluation. Beside GCN
stands the one of the literature, with two matrices and no output layer, and what was published.

A case holds when our mean is at most half a point below the loop's. One that does not is looked at
again with other seeds for both, as many as --again says, unless even these could not tell by their
spread; then these count. That is so for PageRank (d = 1, k = 30), most of whose runs learn nothing
and say one class, no matter who trains: which class that is depends on rounding. Standard errors of
differences are of their mean over splits where both are run on each, else those of two means.
Seconds are those of processors, all threads together, with what is prepared and the last score.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import math
import os
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from typing import Any, NamedTuple

import harness
import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch.nn import functional
from torch_geometric.nn import GCNConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from autogm import Algorithm, Graph, load_graph
from autogm.algorithm import Weights
from autogm.graph import Splits
from autogm.train import TrainSettings, train, train_runs

DATASETS = ("cora", "citeseer", "pubmed", "photo", "computers", "cs", "physics")
CITATION = DATASETS[:3]
PROTOCOLS = ("paper", "public", "shchur")
ALGORITHMS = {
    "GCN": Algorithm.gcn(),
    "GraphSAGE": Algorithm.graphsage(),
    "SGCN": Algorithm.sgcn(),
    "PageRank": Algorithm.pagerank(),
    "no graph": Algorithm(k=0),
}
# Of the GCN with two matrices.
PUBLISHED: dict[str, Any] = {
    "public": {
        "source": "Kipf and Welling 2017, Table 2",
        "GCN": {"cora": 81.5, "citeseer": 70.3, "pubmed": 79.0},
    },
    "shchur": {
        "source": "Shchur et al. 2018, their own splits",
        "GCN": {
            "cora": 81.5,
            "citeseer": 71.9,
            "pubmed": 77.8,
            "cs": 91.1,
            "physics": 92.8,
            "computers": 82.6,
            "photo": 91.2,
        },
    },
}
TOLERANCE = 0.5
EPOCHS, PATIENCE = 200, 50
CORES = os.cpu_count() or 1
SETTINGS = TrainSettings(epochs=EPOCHS, patience=PATIENCE)

Nodes = NDArray[np.int64]
Scores = tuple[list[float], float]
"""In percent, and how many seconds of processors they took."""
Aggregate = Callable[[Nodes], sparse.csr_array]
"""The rows of an aggregation matrix for some nodes; where neighbours are drawn, anew each time."""


class View(NamedTuple):
    """All that the outputs of some nodes need: features, a matrix a step, what is right."""

    x: Any
    steps: list[Any]
    y: Any


class Views(NamedTuple):
    train: Callable[[], View]
    val: View
    test: View


def graphs_of(dataset: str, protocol: str, seeds: range) -> list[Graph]:
    """A graph a seed: always the same one, unless the protocol draws a split for each."""
    if protocol != "shchur":
        return [load_graph(dataset, split=protocol)] * len(seeds)
    name = "citeseer-paper" if dataset == "citeseer" else dataset
    graph = load_graph(name, split="none", largest_component=True)
    return [dataclasses.replace(graph, splits=shchur_splits(graph.labels, seed)) for seed in seeds]


def shchur_splits(labels: Any, seed: int) -> Splits:
    """20 and 30 nodes of each class, and the rest; `Splits.per_class` counts val over all."""
    order = np.random.default_rng(seed).permutation(np.flatnonzero(labels >= 0))
    of_class = [order[labels[order] == code] for code in range(labels.max() + 1)]
    cuts = zip(*(np.split(nodes, [20, 50]) for nodes in of_class), strict=True)
    return Splits.given(*map(np.concatenate, cuts), num_nodes=len(labels))


def normalised(graph: Graph, a: str) -> sparse.csr_array:
    if a == "SS":
        receiver, sender = graph.adjacency.nonzero()
        edges = torch.tensor(np.stack([sender, receiver]), dtype=torch.int64)
        (sender, receiver), weight = gcn_norm(edges, num_nodes=graph.num_nodes)
        place = (receiver.numpy(), sender.numpy())
        return sparse.csr_array((weight.numpy(), place), shape=graph.adjacency.shape)
    degree = np.maximum(np.diff(graph.adjacency.indptr), 1).astype(np.float32)
    return sparse.csr_array(sparse.diags_array(1 / degree) @ graph.adjacency)


def drawn_mean(
    rows: sparse.csr_array, nodes: Nodes, w: int, rng: np.random.Generator
) -> sparse.csr_array:
    """The mean over each node and w of its neighbours, drawn without replacement."""
    receiver = np.repeat(np.arange(len(nodes)), np.diff(rows.indptr))
    order = np.argsort(receiver + rng.random(rows.nnz))
    kept = order[np.arange(rows.nnz) - rows.indptr[receiver] < w]
    receiver = np.concatenate([receiver[kept], np.arange(len(nodes))])
    sender = np.concatenate([rows.indices[kept], nodes])
    share = (1 / np.bincount(receiver)[receiver]).astype(np.float32)
    return sparse.csr_array((share, (receiver, sender)), shape=rows.shape)


def view(graph: Graph, steps: Sequence[Aggregate], nodes: Nodes) -> View:
    """Of nodes after messages; each step is cut to the nodes that the next one hears."""
    y = torch.tensor(graph.labels[nodes])
    matrices = []
    for aggregate in reversed(steps):
        rows = aggregate(nodes)
        nodes = np.unique(rows.indices)
        matrices.append(as_csr(rows[:, nodes]))
    return View(as_features(graph.features[nodes]), matrices[::-1], y)


def message_views(graph: Graph, algorithm: Algorithm, seed: int) -> Views:
    splits, k = graph.splits, algorithm.k
    if algorithm.a == "SS":
        steps = [normalised(graph, "SS").__getitem__] * k
        train = view(graph, steps, splits.train)
        return Views(lambda: train, *(view(graph, steps, part) for part in splits[1:]))
    rng, adjacency = np.random.default_rng(seed), graph.adjacency

    def draw(nodes: Nodes) -> sparse.csr_array:
        return drawn_mean(adjacency[nodes], nodes, algorithm.w, rng)

    steps = [draw(np.arange(graph.num_nodes)).__getitem__ for _ in range(k)]
    fixed = (view(graph, steps, part) for part in splits[1:])
    return Views(lambda: view(graph, [draw] * k, splits.train), *fixed)


def linear_views(graph: Graph, algorithm: Algorithm, seed: int) -> Views:
    """Train and val once propagated; test, which is asked once, as features and k matrices."""
    k, y = algorithm.k, torch.tensor(graph.labels)
    if k == 0:
        train, val, test = (
            View(as_features(graph.features[part]), [], y[part]) for part in graph.splits
        )
        return Views(lambda: train, val, test)
    matrix = normalised(graph, algorithm.a)
    train, val = (
        View(as_features(propagated(matrix, k, graph.features, part)), [], y[part])
        for part in graph.splits[:2]
    )
    test = graph.splits.test
    steps = [as_csr(matrix)] * (k - 1) + [as_csr(matrix[test])]
    return Views(lambda: train, val, View(as_features(graph.features), steps, y[test]))


def propagated(matrix: sparse.csr_array, k: int, features: Any, nodes: Nodes) -> sparse.csr_array:
    """Rows of A^k X, from the left: the rows of A^k are fewer than the columns of X are wide."""
    parts = []
    for some in np.array_split(nodes, math.ceil(len(nodes) / 256)):
        rows, steps = matrix[some], k - 1
        while steps and not is_full(rows):
            rows, steps = rows @ matrix, steps - 1
        made = rows @ features if steps == 0 else many_steps(rows, steps, matrix, features)
        parts.append(sparse.csr_array(made))
    return sparse.csr_array(sparse.vstack(parts))


def many_steps(rows: sparse.csr_array, steps: int, matrix: Any, features: Any) -> Any:
    """The same with dense columns, once the rows have filled up."""
    columns, turned = torch.tensor(rows.T.toarray()), as_csr(sparse.csr_array(matrix.T))
    for _ in range(steps):
        columns = turned @ columns
    return (as_csr(sparse.csr_array(features.T)) @ columns).T.numpy()


def is_full(rows: sparse.csr_array) -> bool:
    """Whether products are faster as those of a dense matrix."""
    return bool(rows.nnz > 0.1 * rows.shape[0] * rows.shape[1])


def as_csr(rows: sparse.csr_array) -> Any:
    # MKL takes 32-bit positions; others would be converted in every product.
    indptr, indices = (torch.tensor(part.astype(np.int32)) for part in (rows.indptr, rows.indices))
    return torch.sparse_csr_tensor(indptr, indices, torch.tensor(rows.data), rows.shape)


def as_features(rows: sparse.csr_array) -> Any:
    return torch.tensor(rows.toarray()) if is_full(rows) else Features(rows)


class Features:
    """Sparse rows and their transpose, which PyTorch would sort out anew in every backward pass."""

    def __init__(self, rows: sparse.csr_array) -> None:
        order = sparse.csr_array((np.arange(rows.nnz), rows.indices, rows.indptr), rows.shape)
        order = sparse.csr_array(order.T)
        self.rows = as_csr(rows)
        self.columns = as_csr(order)

    def dropped(self, rate: float, training: bool) -> tuple[Any, Any]:
        """Both after dropout; without training, the rows as they are."""
        if not training:
            return self.rows, None
        values = dropout(self.rows.values(), rate, training)
        turned = values[self.columns.values()]
        return with_values(self.rows, values), with_values(self.columns, turned)


def with_values(matrix: Any, values: Any) -> Any:
    place = matrix.crow_indices(), matrix.col_indices()
    return torch.sparse_csr_tensor(*place, values, matrix.shape)


def dropout(x: Any, rate: float, training: bool) -> Any:
    """Of one half or nothing, by bits: PyTorch's takes longer than the product that follows."""
    if rate == 0 or not training:
        return x
    words = torch.empty(x.numel() // 64 + 1, dtype=torch.int64).random_(-(2**63), None)
    bits = np.unpackbits(words.numpy().view(np.uint8), count=x.numel())
    return x * (2 * torch.from_numpy(bits)).view(x.shape)


class Product(torch.autograd.Function):
    """rows @ weight.T, given the transpose of the rows."""

    @staticmethod
    def forward(ctx: Any, weight: Any, rows: Any, columns: Any) -> Any:
        ctx.columns = columns
        return rows @ weight.T

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return (ctx.columns @ gradient).T, None, None


class Matrix(torch.nn.Linear):
    """A matrix and the dropout before it, from Glorot's uniform start."""

    def __init__(self, *shape: int, bias: bool = False, rate: float = 0.5) -> None:
        super().__init__(*shape, bias=bias)
        self.rate = rate
        torch.nn.init.xavier_uniform_(self.weight)
        if bias:
            torch.nn.init.zeros_(self.bias)

    def forward(self, x: Any) -> Any:
        if not isinstance(x, Features):
            return super().forward(dropout(x, self.rate, self.training))
        product = Product.apply(self.weight, *x.dropped(self.rate, self.training))
        return product if self.bias is None else product + self.bias


class Convolution(GCNConv):
    """PyTorch Geometric's, with dropout before its matrix."""

    def __init__(self, d_in: int, d_out: int, *, bias: bool = False) -> None:
        super().__init__(d_in, d_out, bias=bias, normalize=False)
        self.lin = Matrix(d_in, d_out)


class Peer(torch.nn.Module):
    """What the loops share."""

    @property
    def first(self) -> torch.nn.Parameter:
        """The matrix that decays."""
        return next(parameter for parameter in self.parameters() if parameter.ndim == 2)


class Messages(Peer):
    """X_i = relu(Agg X_{i-1} W_i), and an output layer."""

    def __init__(self, widths: list[int]) -> None:
        super().__init__()
        layers = [Convolution(*shape) for shape in pairwise(widths[:-1])]
        self.layers = torch.nn.ModuleList(layers)
        self.output = Matrix(*widths[-2:], bias=True)

    def forward(self, view: View) -> Any:
        x = view.x
        for layer, step in zip(self.layers, view.steps, strict=True):
            x = torch.relu(layer(x, step))
        return self.output(x)


class Linear(Peer):
    """The same without ReLU; dropout is on the propagated features alone."""

    def __init__(self, widths: list[int]) -> None:
        super().__init__()
        *layers, output = enumerate(pairwise(widths))
        rates = [0.5] + [0.0] * len(layers)
        self.layers = torch.nn.Sequential(*(Matrix(*shape, rate=rates[i]) for i, shape in layers))
        self.output = Matrix(*output[1], rate=rates[-1], bias=True)

    def forward(self, view: View) -> Any:
        x = self.layers(view.x)
        for step in view.steps:
            x = step @ x
        return self.output(x)


class TwoMatrices(Peer):
    """The GCN of the literature: its second convolution is the output layer, both have biases."""

    def __init__(self, widths: list[int]) -> None:
        super().__init__()
        d0, d, _, classes = widths
        self.layers = torch.nn.ModuleList(
            [Convolution(d0, d, bias=True), Convolution(d, classes, bias=True)]
        )

    def forward(self, view: View) -> Any:
        first, second = self.layers
        return second(torch.relu(first(view.x, view.steps[0])), view.steps[1])


def plain_loop(peer: Peer, views: Views) -> float:
    """Train, and score the weights with the lowest validation loss on the test split."""
    first = peer.first
    others = [parameter for parameter in peer.parameters() if parameter is not first]
    groups = [{"params": [first], "weight_decay": 5e-4}, {"params": others}]
    adam = torch.optim.Adam(groups, lr=0.01)
    lowest, best_epoch, best = math.inf, -1, copy.deepcopy(peer.state_dict())
    for epoch in range(EPOCHS):
        peer.train()
        adam.zero_grad()
        given = views.train()
        functional.cross_entropy(peer(given), given.y).backward()
        adam.step()
        loss = judged(peer, views.val)[0]
        if loss < lowest:
            lowest, best_epoch, best = loss, epoch, copy.deepcopy(peer.state_dict())
        elif epoch - best_epoch >= PATIENCE:
            break
    peer.load_state_dict(best)
    return judged(peer, views.test)[1]


@torch.no_grad()
def judged(peer: Peer, view: View) -> tuple[float, float]:
    """Loss, and accuracy in percent."""
    peer.eval()
    answers = peer(view)
    right = (answers.argmax(dim=1) == view.y).double().mean()
    return float(functional.cross_entropy(answers, view.y)), 100 * float(right)


def views_of(graph: Graph, algorithm: Algorithm, seed: int) -> Views:
    make = message_views if algorithm.l and algorithm.k else linear_views
    return make(graph, algorithm, seed)


def widths_of(graph: Graph, algorithm: Algorithm) -> list[int]:
    return [graph.num_features, *[algorithm.d] * algorithm.k, len(graph.classes)]


class Loops:
    """Plain loops in processes of their own: one a core, as our runs go too."""

    def __init__(self) -> None:
        self.pool = ProcessPoolExecutor(CORES, get_context("spawn"), prepare)

    def scores(
        self, kind: type[Peer], algorithm: Algorithm, graphs: list[Graph], seeds: range
    ) -> Scores:
        parts = [slice(i, None, CORES) for i in range(CORES)]
        given = [(kind, algorithm, graphs[part], seeds[part]) for part in parts]
        futures = [self.pool.submit(loops, *some) for some in given]
        scores, seconds = np.empty(len(graphs)), 0.0
        for part, future in zip(parts, futures, strict=True):
            scores[part], more = future.result()
            seconds += more
        return scores.tolist(), seconds


def prepare() -> None:
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.sparse.check_sparse_tensor_invariants.disable()
    warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
    warnings.filterwarnings("ignore", "The given NumPy array is not writable")


def loops(
    kind: type[Peer], algorithm: Algorithm, graphs: list[Graph], seeds: Sequence[int]
) -> Scores:
    """Runs on one graph share what does not depend on their seed."""
    start = time.process_time()
    scores, before = [], None
    for graph, seed in zip(graphs, seeds, strict=True):
        if graph is not before or algorithm.w > 0:
            views, before = views_of(graph, algorithm, seed), graph
        torch.manual_seed(seed)
        scores.append(plain_loop(kind(widths_of(graph, algorithm)), views))
    return scores, time.process_time() - start


def our_scores(algorithm: Algorithm, graphs: list[Graph], seeds: range) -> Scores:
    start = time.process_time()
    if graphs[0] is graphs[-1]:
        results = train_runs(graphs[0], algorithm, SETTINGS, runs=len(seeds), seed=seeds[0])
    else:
        given = zip(graphs, seeds, strict=True)
        results = [train(graph, algorithm, SETTINGS, seed) for graph, seed in given]
    scores = [100 * result.test_score() for result in results]
    return scores, time.process_time() - start


def kind_of(algorithm: Algorithm) -> type[Messages | Linear]:
    return Messages if algorithm.l and algorithm.k else Linear


def check(graph: Graph, algorithm: Algorithm) -> None:
    """With our weights, the loop's model has our test score; draws of all neighbours are equal."""
    if algorithm.w > 0:
        algorithm = dataclasses.replace(algorithm, w=graph.num_nodes)
    algorithm = dataclasses.replace(algorithm, k=min(algorithm.k, 3))
    ours = train(graph, algorithm, dataclasses.replace(SETTINGS, epochs=20))
    peer = kind_of(algorithm)(widths_of(graph, algorithm))
    take(peer, ours.weights)
    found = judged(peer, views_of(graph, algorithm, 0).test)[1]
    np.testing.assert_allclose(found, 100 * ours.test_score(), atol=0.11)


def take(peer: Messages | Linear, weights: Weights) -> None:
    """Our weights, to compare outputs."""
    layers, matrices = [*peer.layers, peer.output], (*weights.layers, weights.output)
    with torch.no_grad():
        for layer, matrix in zip(layers, matrices, strict=True):
            getattr(layer, "lin", layer).weight.copy_(torch.tensor(matrix.T))
        peer.output.bias.copy_(torch.tensor(weights.bias))


def case(
    dataset: str, protocol: str, name: str, peers: Loops, runs: int, again: int
) -> dict[str, Any]:
    """One line of the table; a near miss is looked at again, with so many other seeds for both."""
    record = look(dataset, protocol, name, peers, range(runs))
    could_tell = record["standard error"] * math.sqrt(runs / max(1, again)) <= TOLERANCE
    if again and not record["holds"] and could_tell:
        first, seeds = record, range(runs, runs + again)
        record = look(dataset, protocol, name, peers, seeds) | {"first look": first}
    return {"graph": dataset, "protocol": protocol, "algorithm": name, **record}


def look(dataset: str, protocol: str, name: str, peers: Loops, seeds: range) -> dict[str, Any]:
    algorithm, graphs = ALGORITHMS[name], graphs_of(dataset, protocol, seeds)
    kinds: dict[str, type[Peer]] = {"loop": kind_of(algorithm)}
    if name == "GCN":
        kinds["two matrices"] = TwoMatrices
    ours = found(graphs, *our_scores(algorithm, graphs, seeds))
    others = {
        key: found(graphs, *peers.scores(kind, algorithm, graphs, seeds))
        for key, kind in kinds.items()
    }
    scores, theirs = ours["scores"], others["loop"]["scores"]
    difference = float(np.mean(scores) - np.mean(theirs))
    return {
        "autogm": ours,
        **others,
        "published": PUBLISHED.get(protocol, {}).get(name, {}).get(dataset),
        "difference": difference,
        "standard error": error_of_difference(scores, theirs, paired=protocol == "shchur"),
        "holds": difference >= -TOLERANCE,
    }


def found(graphs: list[Graph], scores: list[float], seconds: float) -> dict[str, Any]:
    alike = sum(map(says_one_class, graphs, scores))
    return {"scores": scores, "processor seconds": seconds, "runs that say one class": alike}


def says_one_class(graph: Graph, score: float) -> bool:
    """Whether the score is the share of one class, as if that was the answer for all nodes."""
    codes = graph.labels[graph.splits.test]
    return bool(np.isclose(score, 100 * np.bincount(codes) / len(codes), atol=1e-3).any())


def error(scores: Sequence[float]) -> float:
    """The standard error of their mean."""
    return float(np.std(scores, ddof=1) / math.sqrt(len(scores))) if len(scores) > 1 else 0.0


def error_of_difference(ours: list[float], theirs: list[float], *, paired: bool) -> float:
    if paired:
        return error(np.subtract(ours, theirs).tolist())
    return math.hypot(error(ours), error(theirs))


HEADER = ["graph", "split", "algorithm", "runs", "autogm", "plain loop", "difference", "holds"]
HEADER += ["two matrices (PyG)", "published", "processor seconds: autogm", "loop"]


def row(record: dict[str, Any]) -> list[str]:
    return [
        *(record[key] for key in ("graph", "protocol", "algorithm")),
        str(len(record["loop"]["scores"])),
        *(mean_of(record[key]) for key in ("autogm", "loop")),
        f"{record['difference']:+.2f} ± {record['standard error']:.2f}",
        "yes" if record["holds"] else "no",
        mean_of(record["two matrices"]) if "two matrices" in record else "",
        str(record["published"] or ""),
        *(f"{record[key]['processor seconds']:.1f}" for key in ("autogm", "loop")),
    ]


def mean_of(some: dict[str, Any]) -> str:
    return f"{np.mean(some['scores']):.2f} ± {error(some['scores']):.2f}"


def summary(cases: list[dict[str, Any]]) -> str:
    lines = [f"{sum(record['holds'] for record in cases)} of {len(cases)} cases hold."]
    for record in cases:
        if not record["holds"]:
            lines.append(f"- not {told(record)}")
        if "first look" in record:
            lines.append(f"- at first sight {told(record | record['first look'])}")
    # Of all first looks: second ones are given to cases that were low, so they would flatter.
    steady = [
        record.get("first look", record) for record in cases if record["algorithm"] != "PageRank"
    ]
    mean = np.mean([record["difference"] for record in steady])
    spread = math.hypot(*(record["standard error"] for record in steady)) / max(1, len(steady))
    lines.append(f"Mean difference without PageRank's: {mean:+.3f} ± {spread:.3f} points.")
    return "\n".join(lines)


def told(record: dict[str, Any]) -> str:
    difference, spread = record["difference"], record["standard error"]
    name = ", ".join(record[key] for key in ("graph", "protocol", "algorithm"))
    alike = [record[key]["runs that say one class"] for key in ("autogm", "loop")]
    runs = len(record["loop"]["scores"])
    note = f"; {alike[0]} and {alike[1]} of {runs} runs say one class" if any(alike) else ""
    errors = difference / spread if spread else math.inf
    return f"{name}: {difference:+.2f} points, {errors:+.1f} standard errors, {runs} runs{note}"


def keep(record: dict[str, Any]) -> None:
    """Write what there is; a run that is killed meanwhile leaves the last file whole."""
    harness.write("accuracy", record, "numpy", "scipy", "numba", "torch", "torch_geometric")


def chosen(given: str, known: Sequence[str]) -> list[str]:
    names = given.split(",")
    if not set(names) <= set(known):
        raise SystemExit(f"choose among {', '.join(known)}, not {given}")
    return names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default=",".join(DATASETS), help="others keep theirs")
    parser.add_argument("--protocols", default=",".join(PROTOCOLS))
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--again", type=int, default=40, help="runs for a near miss, 0: none")
    args = parser.parse_args()
    datasets, protocols = chosen(args.datasets, DATASETS), chosen(args.protocols, PROTOCOLS)
    prepare()
    peers, earlier = Loops(), harness.read("accuracy").get("cases", [])
    asked = {(dataset, protocol) for dataset in datasets for protocol in protocols}
    cases = [old for old in earlier if (old["graph"], old["protocol"]) not in asked]
    record = {"runs": args.runs, "again": args.again, "published": PUBLISHED, "cases": cases}
    for dataset in datasets:
        for algorithm in ALGORITHMS.values():
            check(graphs_of(dataset, "paper", range(1))[0], algorithm)
        for protocol in protocols:
            if protocol == "public" and dataset not in CITATION:
                continue
            for name in ALGORITHMS:
                cases.append(case(dataset, protocol, name, peers, args.runs, args.again))
                print(*row(cases[-1]), sep="  ", flush=True)
            keep(record | {"summary": summary(cases).splitlines()})
    harness.print_table(HEADER, [row(record) for record in cases])
    print(summary(cases))


if __name__ == "__main__":
    main()
