"""Which labelled nodes train, which select, which judge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autogm.errors import InputError, require_share, require_whole, show
from autogm.graph.edges import first_outside

__all__ = ["Splits"]

Nodes = NDArray[np.int64]


class Splits(NamedTuple):
    """Three disjoint, non-empty lists of node positions, ascending.

    >>> labels = np.repeat([0, 1], 50)
    >>> splits = Splits.per_class(labels, train=5, val=20, test=30, seed=0)
    >>> splits
    Splits(train=10, val=20, test=30)
    >>> np.bincount(labels[splits.train])
    array([5, 5])
    """

    train: Nodes
    val: Nodes
    test: Nodes

    @classmethod
    def per_class(
        cls,
        labels: NDArray[Any],
        *,
        train: int = 20,
        val: int = 500,
        test: int | None = 1000,
        seed: int = 0,
    ) -> Splits:
        """``train`` nodes of every class, then ``val`` and ``test`` nodes of all the others.

        ``test=None`` takes all that is left.
        """
        codes = _class_codes(labels)
        train = require_whole("train", train, least=1)
        val = require_whole("val", val, least=1)
        test = None if test is None else require_whole("test", test, least=1)
        counts = np.bincount(codes[codes >= 0])
        poor = int(counts.argmin())
        if counts[poor] == 0:
            raise InputError(
                f"every class must have labelled nodes to train on, but class {poor} has none; "
                "label some, make labels without it, or use Splits.fractions"
            )
        if counts[poor] < train:
            raise InputError(
                f"train={train} nodes a class were asked for, but class {poor} has only "
                f"{counts[poor]} labelled; ask for at most {counts.min()}"
            )
        order = _shuffled_labelled(codes, seed)
        place = _place_in_class(codes[order])
        rest = order[place >= train]
        needed = val + (1 if test is None else test)
        if needed > len(rest):
            raise InputError(
                f"val={val} and test={test} need {needed} nodes, but {len(rest)} labelled ones "
                f"are left after train={train} a class; ask for fewer"
            )
        stop = None if test is None else val + test
        return cls.given(order[place < train], rest[:val], rest[val:stop], num_nodes=len(labels))

    @classmethod
    def fractions(
        cls,
        labels: NDArray[Any],
        *,
        train: float,
        val: float,
        test: float | None = None,
        seed: int = 0,
    ) -> Splits:
        """Shares of the labelled nodes, the same of every class; ``test=None`` takes the rest.

        Multi-label and regression targets have no classes to balance and are split at random.

        >>> Splits.fractions(np.repeat([0, 1], 50), train=0.03, val=0.1)
        Splits(train=3, val=10, test=87)
        """
        shares = {"train": require_share("train", train, usual=0.1)}
        shares["val"] = require_share("val", val, usual=0.1)
        rest = 1 - shares["train"] - shares["val"]
        shares["test"] = require_share("test", rest if test is None else test, usual=0.8)
        if sum(shares.values()) > 1 + 1e-9:
            raise InputError(
                f"train, val and test must add up to at most 1, but {train:g} + {val:g} + "
                f"{shares['test']:g} = {sum(shares.values()):g}; leave test out to give it the rest"
            )
        strata = _strata(labels)
        order = _shuffled_labelled(strata, seed)
        order = order[_interleave(strata[order])]
        ends = np.rint(np.cumsum(list(shares.values())) * len(order)).astype(int)
        if ends[0] < 1 or np.any(np.diff(ends) < 1):
            raise InputError(
                f"train={train:g}, val={val:g} of {len(order)} labelled nodes leave a split "
                "without a node; label more nodes or ask for larger shares"
            )
        num_strata = len(np.unique(strata[order]))
        if ends[0] < num_strata:
            raise InputError(
                f"train={train:g} of {len(order)} labelled nodes is {ends[0]}, fewer than the "
                f"{num_strata} classes; ask for a share of at least {num_strata / len(order):.3g}"
            )
        return cls.given(*np.split(order[: ends[2]], ends[:2]), num_nodes=len(labels))

    @classmethod
    def given(cls, train: ArrayLike, val: ArrayLike, test: ArrayLike, *, num_nodes: int) -> Splits:
        """From three boolean masks or three lists of positions."""
        splits = cls(*(_positions(part, num_nodes) for part in (train, val, test)))
        splits.check(num_nodes)
        return splits

    @classmethod
    def named(cls, column: Sequence[object]) -> Splits:
        """From one word a node: train, val (or valid, validation), test, or nothing: unused."""
        words = np.array(["" if word is None else str(word).strip().lower() for word in column])
        known = ["train", "val", "valid", "validation", "test", "", "none", "nan", "unused"]
        strange = np.unique(words[~np.isin(words, known)])
        if len(strange):
            raise InputError(
                f"a split column must say train, val, test or nothing, but says {show(strange)}; "
                "mend the cells or choose another column"
            )
        val = np.isin(words, ["val", "valid", "validation"])
        return cls.given(words == "train", val, words == "test", num_nodes=len(words))

    def check(self, num_nodes: int) -> None:
        """Every split has a node, no node is in two, all are in the graph."""
        for name, nodes in self._asdict().items():
            if len(nodes) == 0:
                raise InputError(f"the {name} split is empty; give it at least one node")
            if (wrong := first_outside(nodes, num_nodes)) is not None:
                raise InputError(
                    f"the {name} split must hold positions in 0..{num_nodes - 1}, but has {wrong}; "
                    "count nodes from 0, or find them with graph.positions(ids)"
                )
        values, counts = np.unique(np.concatenate(self), return_counts=True)
        if counts.max() > 1:
            raise InputError(
                f"splits must be disjoint, but nodes {show(values[counts > 1])} are listed twice; "
                "a node trains, selects or judges"
            )

    def subset(self, new: NDArray[np.int32], num_nodes: int) -> Splits | None:
        """The splits after nodes moved to ``new`` positions (-1: gone); None if one is empty."""
        kept = [moved[moved >= 0] for moved in (new[part] for part in self)]
        return Splits.given(*kept, num_nodes=num_nodes) if all(map(len, kept)) else None

    def __repr__(self) -> str:
        return f"Splits(train={len(self.train)}, val={len(self.val)}, test={len(self.test)})"


def _positions(part: ArrayLike, num_nodes: int) -> Nodes:
    nodes = np.asarray(part)
    if nodes.dtype == bool:
        if nodes.shape != (num_nodes,):
            raise InputError(
                f"a split mask must have one entry a node ({num_nodes}), but its shape is "
                f"{nodes.shape}; give one column of it, or a list of positions"
            )
        return np.flatnonzero(nodes).astype(np.int64)
    if nodes.ndim != 1 or (nodes.size and nodes.dtype.kind not in "iu"):
        raise InputError(
            "a split must be a boolean mask or a list of positions, but got "
            f"{nodes.dtype} values of shape {nodes.shape}; give whole numbers in one list"
        )
    return np.sort(nodes.astype(np.int64))


def _class_codes(labels: NDArray[Any]) -> NDArray[np.int64]:
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise InputError(
            "nodes a class can be counted for one class a node only, but these labels are "
            f"{labels.dtype} of shape {labels.shape}; use Splits.fractions"
        )
    if not (labels >= 0).any():
        raise InputError("a split needs labelled nodes, but every label is -1; label some")
    return np.asarray(labels, dtype=np.int64)


def _strata(labels: NDArray[Any]) -> NDArray[np.int64]:
    """What to balance: the class, or labelled (0) against unlabelled (-1)."""
    if labels.ndim == 1 and labels.dtype.kind in "iu":
        return _class_codes(labels)
    missing = np.isnan(labels) if labels.dtype.kind == "f" else labels < 0
    missing = missing if missing.ndim == 1 else missing.any(axis=1)
    return np.where(missing, -1, 0).astype(np.int64)


def _shuffled_labelled(codes: NDArray[np.int64], seed: int) -> Nodes:
    rng = np.random.default_rng(require_whole("seed", seed, least=0))
    order = rng.permutation(len(codes))
    return order[codes[order] >= 0]


def _place_in_class(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """0 for the first of its class, 1 for the second, …"""
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], codes[order])
    place = np.empty(len(codes), dtype=np.int64)
    place[order] = np.arange(len(codes)) - starts
    return place


def _interleave(codes: NDArray[np.int64]) -> NDArray[np.intp]:
    """An order whose stretches hold every class in about its share, one of each class first."""
    place = _place_in_class(codes)
    share = np.where(place == 0, 0, (place + 0.5) / np.bincount(codes)[codes])
    return np.argsort(share, kind="stable")
