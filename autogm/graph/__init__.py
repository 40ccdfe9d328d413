"""What a graph is and where it comes from."""

from autogm.graph.convert import as_graph
from autogm.graph.datasets import DATASETS, Dataset, find_raw
from autogm.graph.edges import Rows
from autogm.graph.files import load_graph
from autogm.graph.graph import Graph, require_graph
from autogm.graph.splits import Splits
from autogm.graph.tables import from_tables
from autogm.graph.toy import digits, planted_partition, rmat

__all__ = [
    "DATASETS",
    "Dataset",
    "Graph",
    "Rows",
    "Splits",
    "as_graph",
    "digits",
    "find_raw",
    "from_tables",
    "load_graph",
    "planted_partition",
    "require_graph",
    "rmat",
]
