"""One small graph in plain Python, and how to read it back out of a Graph."""

import numpy as np
from scipy import sparse

NAMES = ("ann", "bob", "cid", "dan")

# Source, target and weight: an edge in both directions, a duplicate, a self-loop.
EDGES = (
    ("ann", "bob", 1.0),
    ("bob", "ann", 2.0),
    ("bob", "cid", 3.0),
    ("bob", "cid", 1.0),
    ("dan", "dan", 4.0),
)


def columns():
    source, target, weight = (list(column) for column in zip(*EDGES, strict=True))
    return {"source": source, "target": target, "weight": weight}


def positions():
    """Both ends as 2 x m places in NAMES."""
    return np.array([[NAMES.index(edge[end]) for edge in EDGES] for end in (0, 1)])


def matrix():
    weights = [weight for *_, weight in EDGES]
    return sparse.coo_array((weights, tuple(positions())), shape=(4, 4)).tocsr()


def expected_arcs(*, directed, weighted):
    """What each node hears from whom: duplicates add up, or collapse where edges are binary."""
    arcs = {}
    for source, target, weight in EDGES:
        for arc in {(source, target)} if directed else {(source, target), (target, source)}:
            arcs[arc] = arcs.get(arc, 0) + weight if weighted else 1
    return arcs


def arcs(graph):
    """{(source, target): weight} by original ids; integers count NAMES from the first of them."""
    ids = graph.ids.tolist()
    ids = [NAMES[i - ids[0]] if isinstance(i, int) else i for i in ids]
    entries = graph.adjacency.tocoo()
    places = zip(entries.row, entries.col, strict=True)
    heard = [(ids[sender], ids[receiver]) for receiver, sender in places]
    return dict(zip(heard, entries.data.tolist(), strict=True))
