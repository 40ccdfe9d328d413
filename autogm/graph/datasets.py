"""The paper's graphs and the embedded one, by name."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from autogm.errors import InputError, optional, parsing, show
from autogm.graph import archive, toy
from autogm.graph.edges import EdgeList, check_sparse, compress
from autogm.graph.features import normalize_rows
from autogm.graph.graph import Graph
from autogm.graph.planetoid import file_names, read_planetoid
from autogm.graph.splits import Splits

__all__ = ["DATASETS", "Dataset", "cache_folder", "csr_of", "find_raw", "load_named"]


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A graph with a name: where its raw files lie and how it is usually loaded."""

    name: str
    folder: str
    files: tuple[str, ...]
    pyg_class: str | None
    """The class of torch_geometric.datasets that downloads the raw files."""
    nodes: int
    edges: int
    features: int
    classes: int
    row_normalize: bool = False
    binary_features: bool = False

    @property
    def is_planetoid(self) -> bool:
        return self.pyg_class == "Planetoid"

    def paper_splits(self, labels: Any, seed: int) -> Splits:
        """20 a class / 500 / 1,000 on citation graphs, 3 % / 10 % / the rest on the others.

        The paper prints absolute numbers for the others; they were taken on the whole graph and
        exceed the largest component of Computers, so its percentages are what holds.
        """
        if self.row_normalize:
            return Splits.per_class(labels, train=20, val=500, test=1000, seed=seed)
        return Splits.fractions(labels, train=0.03, val=0.10, seed=seed)


def _planetoid(folder: str, **counts: Any) -> Dataset:
    name = folder.lower()
    return Dataset(
        name=name,
        folder=folder,
        files=file_names(name),
        pyg_class="Planetoid",
        row_normalize=True,
        **counts,
    )


def _npz(name: str, folder: str, file: str, **more: Any) -> Dataset:
    return Dataset(name=name, folder=folder, files=(f"{file}.npz",), **more)


DATASETS = {
    dataset.name: dataset
    for dataset in (
        _planetoid("Cora", nodes=2708, edges=5278, features=1433, classes=7),
        _planetoid("CiteSeer", nodes=3327, edges=4552, features=3703, classes=6),
        _npz(
            "citeseer-paper",
            "CiteSeer-paper",
            "citeseer",
            pyg_class=None,
            nodes=3312,
            edges=4536,
            features=3703,
            classes=6,
            row_normalize=True,
            binary_features=True,
        ),
        _planetoid("PubMed", nodes=19717, edges=44324, features=500, classes=3),
        _npz(
            "computers",
            "Computers",
            "amazon_electronics_computers",
            pyg_class="Amazon",
            nodes=13752,
            edges=245861,
            features=767,
            classes=10,
            binary_features=True,
        ),
        _npz(
            "photo",
            "Photo",
            "amazon_electronics_photo",
            pyg_class="Amazon",
            nodes=7650,
            edges=119081,
            features=745,
            classes=8,
            binary_features=True,
        ),
        _npz(
            "cs",
            "CS",
            "ms_academic_cs",
            pyg_class="Coauthor",
            nodes=18333,
            edges=81894,
            features=6805,
            classes=15,
            binary_features=True,
        ),
        _npz(
            "physics",
            "Physics",
            "ms_academic_phy",
            pyg_class="Coauthor",
            nodes=34493,
            edges=247962,
            features=8415,
            classes=5,
            binary_features=True,
        ),
        Dataset(
            name="digits",
            folder="",
            files=(),
            pyg_class=None,
            nodes=1797,
            edges=7522,
            features=64,
            classes=10,
        ),
    )
}


def load_named(
    name: str,
    *,
    root: str | Path | None = None,
    split: str = "default",
    largest_component: bool = False,
    row_normalize: bool | None = None,
    seed: int = 0,
) -> Graph:
    """A named graph. ``split``: "public" (Planetoid's, where there is one), "paper", or "none".

    The default is the public split where there is one, the paper's elsewhere. Citation graphs
    come with row-normalised features unless ``row_normalize`` says otherwise.
    """
    dataset = DATASETS[name]
    graph = toy.digits() if name == "digits" else _whole(dataset, root)
    if largest_component:
        graph = graph.largest_component()
    if dataset.row_normalize if row_normalize is None else row_normalize:
        assert graph.features is not None
        graph = dataclasses.replace(graph, features=normalize_rows(graph.features))
    return _with_split(graph, dataset, split, seed)


def _with_split(graph: Graph, dataset: Dataset, split: str, seed: int) -> Graph:
    if split == "default":
        split = "public" if dataset.is_planetoid else "paper"
    if split == "public" and not dataset.is_planetoid:
        raise InputError(
            f"the public split is Planetoid's, and {dataset.name!r} has none; use split='paper'"
        )
    if split == "public":
        return graph
    if split == "none":
        return dataclasses.replace(graph, splits=None)
    if split != "paper":
        raise InputError(
            f"split must be 'default', 'public', 'paper' or 'none', but got {split!r}; "
            "for other splits load with 'none' and give splits= to as_graph"
        )
    assert graph.labels is not None
    return dataclasses.replace(graph, splits=dataset.paper_splits(graph.labels, seed))


def cache_folder() -> Path:
    """$AUTOGM_CACHE, else the user's cache folder."""
    if "AUTOGM_CACHE" in os.environ:
        return Path(os.environ["AUTOGM_CACHE"])
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "autogm"


def find_raw(dataset: Dataset, root: str | Path | None = None) -> Path | None:
    """The folder with the dataset's raw files, or None."""
    for base in _roots(root):
        folder = base / dataset.folder / "raw"
        if all((folder / file).is_file() for file in dataset.files):
            return folder
    return None


def _roots(root: str | Path | None) -> Iterable[Path]:
    if root is not None:
        yield Path(root)
        return
    if os.environ.get("AUTOGM_DATA"):
        yield Path(os.environ["AUTOGM_DATA"])
    yield cache_folder() / "raw"


def _whole(dataset: Dataset, root: str | Path | None) -> Graph:
    """Parse the raw files once; afterwards read plain arrays, which needs no other library."""
    folder = find_raw(dataset, root) or _download(dataset, root)
    cached = cache_folder() / f"{dataset.name}-{archive.SCHEMA}-{_digest(dataset, folder)}.npz"
    with contextlib.suppress(OSError, InputError), archive.open_npz(cached) as arrays:
        return archive.from_arrays(arrays)
    graph = _parse(dataset, folder)
    with contextlib.suppress(OSError):  # a cache that cannot be used only costs time
        cached.parent.mkdir(parents=True, exist_ok=True)
        archive.save(graph, cached)
    return graph


def _digest(dataset: Dataset, folder: Path) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for file in dataset.files:
        digest.update((folder / file).read_bytes())
    return digest.hexdigest()


def _download(dataset: Dataset, root: str | Path | None) -> Path:
    base = Path(root) if root is not None else cache_folder() / "raw"
    where = base / dataset.folder / "raw"
    if dataset.pyg_class is None:
        raise InputError(
            f"{dataset.name!r} cannot be downloaded; put {dataset.files[0]} into {where}, "
            "or name its root= or $AUTOGM_DATA"
        )
    purpose = f"downloading {dataset.name!r} (its raw files are not in {where})"
    sets = optional("torch_geometric.datasets", extra="pyg", purpose=purpose)
    fetch = optional("torch_geometric.data", extra="pyg", purpose=purpose).download_url
    url = getattr(sets, dataset.pyg_class).url.rstrip("/")
    try:
        # The class itself would also unpickle what it fetched, before our reader sees it.
        where.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=where) as partial:
            for file in dataset.files:
                fetch(f"{url}/{file}", partial, log=False)
            for file in dataset.files:
                (Path(partial) / file).replace(where / file)
    except Exception as error:  # whatever the network throws
        raise InputError(
            f"{dataset.name!r} could not be downloaded ({type(error).__name__}); put "
            f"{show(dataset.files)} into {where}, or name another folder with root= or $AUTOGM_DATA"
        ) from error
    return where


def _parse(dataset: Dataset, folder: Path) -> Graph:
    splits = None
    if dataset.is_planetoid:
        with parsing(folder / dataset.files[0], f"part of {dataset.name!r}"):
            found = read_planetoid(folder, dataset.name)
        (source, target), features, labels, splits = found
    else:
        with archive.open_npz(folder / dataset.files[0]) as arrays:
            adjacency = csr_of(arrays, "adj").tocoo()
            features = csr_of(arrays, "attr").astype(np.float32)
            labels = arrays["labels"].astype(np.int64)
        source, target = (ends.astype(np.int32) for ends in (adjacency.row, adjacency.col))
    if dataset.binary_features:
        # As PyG has it; the Coauthor files count keywords.
        features.data = (features.data > 0).astype(np.float32)
        features.eliminate_zeros()
    features.sort_indices()
    loop = source == target
    edges = EdgeList(source[~loop], target[~loop])
    rows, _ = compress(edges, num_nodes=len(labels), directed=False)
    return Graph(
        rows=rows,
        directed=False,
        features=features,
        labels=labels,
        classes=tuple(range(dataset.classes)),
        splits=splits,
        name=dataset.name,
    )


def csr_of(arrays: Mapping[str, Any], prefix: str) -> sparse.csr_array:
    """A matrix kept as prefix_data, prefix_indices, prefix_indptr and prefix_shape."""
    parts = tuple(arrays[f"{prefix}_{key}"] for key in ("data", "indices", "indptr"))
    for key, part, kinds in zip(
        ("data", "indices", "indptr"), parts, ("biuf", "iu", "iu"), strict=True
    ):
        if part.dtype.kind not in kinds:
            rule = "numbers" if key == "data" else "whole numbers"
            raise InputError(
                f"{prefix}_{key} must hold {rule}, but holds {part.dtype}; save the matrix again"
            )
    matrix = sparse.csr_array(parts, shape=tuple(arrays[f"{prefix}_shape"].tolist()))
    check_sparse(matrix, "node ids" if prefix == "adj" else "feature columns")
    return matrix
