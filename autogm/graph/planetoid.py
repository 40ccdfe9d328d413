"""The raw files of Cora, CiteSeer and PubMed: pickles, read without trusting them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from autogm.errors import InputError, parsing
from autogm.graph.edges import check_sparse
from autogm.graph.splits import Splits

__all__ = ["Planetoid", "file_names", "read_planetoid"]

_PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")


class Planetoid(NamedTuple):
    """What the files hold; the split is the public one."""

    edges: NDArray[np.int32]
    features: sparse.csr_array
    labels: NDArray[np.int64]
    splits: Splits


def file_names(name: str) -> tuple[str, ...]:
    return tuple(f"ind.{name}.{part}" for part in _PARTS)


def read_planetoid(folder: Path, name: str) -> Planetoid:
    """Put the parts together as their authors meant them.

    Test nodes come in the order of ``test.index``. CiteSeer's index has 15 gaps, nodes without
    features, label or edges: they stay in the graph, unlabelled (PyG calls them class 0).
    """
    saved = {part: _unpickle(folder / f"ind.{name}.{part}", kind) for part, kind in _KINDS.items()}
    index = folder / f"ind.{name}.test.index"
    with parsing(index, "a list of test nodes"):
        test = np.loadtxt(index, dtype=np.int64)
    num_nodes = int(test.max()) + 1
    rows = np.concatenate([np.arange(saved["allx"].shape[0]), test])
    stacked = sparse.vstack([_csr(saved["allx"]), _csr(saved["tx"])]).tocoo()
    shape = (num_nodes, stacked.shape[1])
    features = sparse.csr_array((stacked.data, (rows[stacked.row], stacked.col)), shape=shape)
    features.eliminate_zeros()
    labels = np.full(num_nodes, -1, dtype=np.int64)
    labels[rows] = np.concatenate([saved["ally"], saved["ty"]]).argmax(axis=1)
    num_train = len(saved["y"])
    splits = Splits.given(
        np.arange(num_train), np.arange(num_train, num_train + 500), test, num_nodes=num_nodes
    )
    return Planetoid(_edges(saved["graph"]), features.astype(np.float32), labels, splits)


def _edges(neighbours: dict[int, list[int]]) -> NDArray[np.int32]:
    target = np.concatenate([np.asarray(row, dtype=np.int32) for row in neighbours.values()])
    counts = [len(row) for row in neighbours.values()]
    source = np.repeat(np.fromiter(neighbours, dtype=np.int32, count=len(neighbours)), counts)
    return np.stack([source, target])


class _SavedMatrix:
    """Stands in for SciPy's matrix while unpickling; it only takes what was saved of one."""

    data: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    _shape: tuple[int, int]

    @property
    def shape(self) -> tuple[int, int]:
        return self._shape


def _csr(saved: _SavedMatrix) -> sparse.csr_array:
    matrix = sparse.csr_array((saved.data, saved.indices, saved.indptr), shape=saved.shape)
    check_sparse(matrix, "feature columns")
    return matrix


def _reconstruct_matrix(cls: type, base: type, state: None) -> _SavedMatrix:
    if cls is not _SavedMatrix or base is not object or state is not None:
        raise pickle.UnpicklingError("only a sparse matrix is expected here")
    return _SavedMatrix()


def _default_dict(factory: type) -> dict[int, list[int]]:
    if factory is not list:
        raise pickle.UnpicklingError("only lists of neighbours are expected here")
    return {}


_reconstruct_array = np.empty(0).__reduce__()[0]

# All that the original files name; anything else in a file is foreign and refused.
_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct_array,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("scipy.sparse.csr", "csr_matrix"): _SavedMatrix,
    ("copy_reg", "_reconstructor"): _reconstruct_matrix,
    ("__builtin__", "object"): object,
    ("__builtin__", "list"): list,
    ("collections", "defaultdict"): _default_dict,
}


class _AllowListed(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it names {module}.{name}") from None


_KINDS: dict[str, type] = {
    **dict.fromkeys(("x", "tx", "allx"), _SavedMatrix),
    **dict.fromkeys(("y", "ty", "ally"), np.ndarray),
    "graph": dict,
}


def _unpickle(path: Path, kind: type) -> Any:
    with path.open("rb") as file:
        try:
            # The original files come from Python 2: array bytes are latin-1 text there.
            found = _AllowListed(file, fix_imports=False, encoding="latin1").load()
        except pickle.UnpicklingError as error:
            raise InputError(
                f"{path.name} is not a Planetoid file and was not executed: {error}; "
                "get the original file"
            ) from None
        except Exception as error:
            raise InputError(
                f"{path.name} is not a Planetoid file: {error}; get the original file"
            ) from None
    if not isinstance(found, kind):
        raise InputError(
            f"{path.name} is not a Planetoid file: it holds {type(found).__name__}; "
            "get the original file"
        )
    return found
