"""GCN, GraphSAGE and SGCN are points of the framework: equal to PyG's layers, same weights."""

import numpy as np
import pytest
import torch
from torch_geometric.nn import GCNConv, SGConv, SimpleConv

from autogm import Algorithm, as_graph, embed, load_graph
from autogm.graph import planted_partition, rmat


def with_features(graph, width=12):
    x = np.random.default_rng(1).standard_normal((graph.num_nodes, width))
    return as_graph(graph, features=x)


GRAPHS = {
    "undirected": lambda: planted_partition(200, degree=6, num_features=12),
    "heavy tail": lambda: planted_partition(300, degree=8, degree_tail=2.1, num_features=12),
    "directed": lambda: with_features(rmat(7, 900)),
    "weighted": lambda: with_features(weighted()),
    "isolated nodes": lambda: with_features(as_graph([(0, 1), (1, 2)], num_nodes=6)),
}


def weighted():
    rng = np.random.default_rng(0)
    source, target = rng.integers(40, size=(2, 300))
    table = {"source": source, "target": target, "weight": rng.uniform(0.5, 3, 300)}
    return as_graph(table, directed=True)


@pytest.fixture(params=GRAPHS, scope="module")
def graph(request):
    return GRAPHS[request.param]()


def edges_of(graph):
    """PyG's edge_index (source, target), without loops, which Algorithm 1 never draws."""
    rows = graph.rows.without_loops()
    index = torch.from_numpy(np.stack([rows.indices, rows.row_of_entry]).astype(np.int64))
    weight = None if rows.values is None else torch.tensor(rows.values).float()
    return index, weight


def random_weights(*shapes):
    rng = np.random.default_rng(2)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def linear(layer, weight):
    with torch.no_grad():
        layer.lin.weight.copy_(torch.from_numpy(weight.T))
    return layer


def assert_close(result, expected):
    expected = expected.detach().numpy()
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("k", [1, 2])
def test_gcn(graph, k):
    index, weight = edges_of(graph)
    weights = random_weights((graph.num_features, 8), *[(8, 8)] * (k - 1))
    x = torch.tensor(graph.features)
    for w in weights:
        layer = linear(GCNConv(*w.shape, bias=False), w)
        x = torch.relu(layer(x, index, weight))
    assert_close(embed(graph, Algorithm.gcn(d=8, k=k), weights), x)


def test_sgcn(graph):
    index, weight = edges_of(graph)
    first, second = random_weights((graph.num_features, 8), (8, 8))
    layer = linear(SGConv(graph.num_features, 8, K=2, bias=False), first @ second)
    expected = layer(torch.tensor(graph.features), index, weight)
    assert_close(embed(graph, Algorithm.sgcn(d=8), [first, second]), expected)


# PyG's mean counts neighbours, not weights.
@pytest.mark.parametrize("graph", [name for name in GRAPHS if name != "weighted"], indirect=True)
def test_graphsage_mean_with_a_width_beyond_the_largest_degree(graph):
    index, _ = edges_of(graph)
    loops = torch.arange(graph.num_nodes).repeat(2, 1)
    (w,) = random_weights((graph.num_features, 8))
    mean = SimpleConv(aggr="mean")(torch.tensor(graph.features), torch.hstack([index, loops]))
    widest = int(np.diff(graph.rows.indptr).max())
    result = embed(graph, Algorithm.graphsage(d=8, k=1, w=widest), [w])
    assert_close(result, torch.relu(mean @ torch.from_numpy(w)))


@pytest.mark.parametrize("name", ["cora", "photo"])
def test_gcn_on_real_graphs(name, data_folder):
    graph = load_graph(name, root=data_folder)
    index, _ = edges_of(graph)
    weights = random_weights((graph.num_features, 16), (16, 16))
    x = torch.tensor(graph.features.toarray())
    for w in weights:
        x = torch.relu(linear(GCNConv(*w.shape, bias=False), w)(x, index))
    assert_close(embed(graph, Algorithm.gcn(d=16), weights), x)
