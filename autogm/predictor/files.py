"""A model as a folder: what it is, in JSON, and its weights, in safetensors."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autogm.algorithm import Algorithm, Weights
from autogm.algorithm.heads import HEADS, Binary, Head, Regression
from autogm.errors import InputError
from autogm.measure.measurement import Measurement
from autogm.predictor.predictor import Predictor

__all__ = ["SCHEMA", "load", "save"]

SCHEMA = 1
_DESCRIPTION = "model.json"
_WEIGHTS = "weights.safetensors"
# More than any model of the space has; a header may claim what it likes.
_LARGEST, _DEEPEST = 1 << 36, 1 << 20


def save(predictor: Predictor, folder: Path) -> None:
    from safetensors.numpy import save as serialize

    parent = folder.absolute().parent
    parent.mkdir(parents=True, exist_ok=True)
    if not _may_replace(folder):
        raise InputError(
            f"{folder} is there and is not a model; give a folder that is not there yet"
        )
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=parent))
    try:
        arrays = serialize(_named(predictor.weights))
        _write(made / _WEIGHTS, arrays)
        description = sealed(_describe(predictor), {_WEIGHTS: _digest(arrays)})
        text = json.dumps(description, indent=1, ensure_ascii=False, allow_nan=False)
        _write(made / _DESCRIPTION, text.encode() + b"\n")
        _put_in_place(made, folder)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def sealed(fields: dict[str, Any], hashes: dict[str, str]) -> dict[str, Any]:
    """With the hashes of the files beside it, and its own."""
    fields = {**fields, "hashes": hashes}
    canonical = json.dumps(fields, sort_keys=True, allow_nan=False).encode()
    return {**fields, "hashes": {**hashes, _DESCRIPTION: _digest(canonical)}}


def _may_replace(folder: Path) -> bool:
    """Nothing, an empty folder, or an older model and nothing besides."""
    if not folder.is_dir():
        return not folder.exists()
    names = {path.name for path in folder.iterdir()}
    return not names or names == {_DESCRIPTION, _WEIGHTS}


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _put_in_place(made: Path, folder: Path) -> None:
    """A folder cannot take another's place in one step, so an older model steps aside first."""
    made.chmod(0o755)
    if not folder.exists():
        made.rename(folder)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.old.", dir=folder.absolute().parent))
    old = folder.rename(aside / folder.name)
    try:
        made.rename(folder)
    except BaseException:
        old.rename(folder)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _named(weights: Weights) -> dict[str, NDArray[np.float32]]:
    layers = {f"W_{i}": matrix for i, matrix in enumerate(weights.layers, start=1)}
    named = {**layers, "W_out": weights.output, "bias": weights.bias}
    return {name: np.ascontiguousarray(array, dtype=np.float32) for name, array in named.items()}


def _describe(predictor: Predictor) -> dict[str, Any]:
    algorithm, measurement = predictor.algorithm, predictor.measurement
    return {
        "schema": SCHEMA,
        "algorithm": {name: getattr(algorithm, name) for name in "dkwla"},
        "readout": "last",
        "sample_seed": predictor.sample_seed,
        "oversample": predictor.oversample,
        "head": {"name": predictor.head.name, "outputs": predictor.head.num_outputs},
        "classes": [_plain(value) for value in predictor.classes],
        "features": predictor.weights.num_features,
        "feature_names": None if predictor.feature_names is None else list(predictor.feature_names),
        "scope": predictor.scope,
        "batch_size": predictor.batch_size,
        "threads": predictor.threads,
        "measurement": None if measurement is None else measurement.to_json(),
    }


def _plain(value: Any) -> Any:
    """As JSON has it; a class that is neither number nor text is kept as its text."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, (str, int, float, bool)) else str(value)


def load(folder: Path) -> Predictor:
    description = _Description(folder)
    if description.field("schema", int) != SCHEMA:
        raise description.wrong("schema", f"must be {SCHEMA}, the one this version reads")
    description.check_seal()
    if description.field("readout", str) != "last":
        raise description.wrong("readout", "must be 'last'")
    algorithm = description.made("algorithm", dict, lambda fields: Algorithm(**fields))
    head = description.made("head", dict, _head)
    features = description.field("features", int)
    d, k, outputs = algorithm.d, algorithm.k, head.num_outputs
    size = 4 * (features * (d if k else outputs) + k * d * d + (d + 1) * outputs)
    if k > _DEEPEST or size > _LARGEST:
        raise description.wrong("algorithm", f"asks for {size:,} bytes of weights, above any model")
    shapes = _shapes(algorithm, features, head)
    weights = _weights(description, shapes)
    names = description.field("feature_names", (list, type(None)))
    classes = tuple(description.field("classes", list))
    fields = {
        "algorithm": algorithm,
        "weights": weights,
        "head": head,
        "classes": classes,
        "feature_names": None if names is None else tuple(names),
        "sample_seed": description.field("sample_seed", int),
        "oversample": description.field("oversample", bool),
        "scope": description.field("scope", str),
        "batch_size": description.field("batch_size", int),
        "threads": _threads_here(description.field("threads", (int, type(None)))),
        "measurement": _measurement(description),
    }
    try:
        return Predictor(**fields)
    except InputError as error:  # it names the field
        raise InputError(f"{folder / _DESCRIPTION}: {error}") from None


class _Description:
    """``model.json``, whose fields are checked as they are taken."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        text = _read(folder, _DESCRIPTION)
        try:
            self._fields = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{folder / _DESCRIPTION} is not JSON: {error}; copy the model again"
            ) from None
        if not isinstance(self._fields, dict):
            raise InputError(f"{folder / _DESCRIPTION} must hold one JSON object")

    def field(self, name: str, kind: type | tuple[type, ...]) -> Any:
        if name not in self._fields:
            raise InputError(f"{self.folder / _DESCRIPTION} has no field {name!r}; save it again")
        value = self._fields[name]
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            allowed = " or ".join("null" if k is type(None) else k.__name__ for k in kinds)
            raise self.wrong(name, f"must be of type {allowed}")
        return value

    def check_seal(self) -> None:
        """Nothing of it was changed since it was saved."""
        hashes = dict(self.field("hashes", dict))
        own = hashes.pop(_DESCRIPTION, None)
        if sealed(self._fields, hashes)["hashes"][_DESCRIPTION] != own:
            raise InputError(
                f"{self.folder / _DESCRIPTION} is not what was saved: its own hash differs; "
                "copy the model again"
            )

    def made(self, name: str, kind: type, make: Callable[[Any], Any]) -> Any:
        """What a field says, or a sentence that names the field."""
        value = self.field(name, kind)
        try:
            return make(value)
        except (InputError, TypeError, KeyError, ValueError) as error:
            raise self.wrong(name, f"cannot be read: {error}") from None

    def wrong(self, name: str, rule: str) -> InputError:
        value = json.dumps(self._fields[name])
        shown = value if len(value) <= 80 else value[:77] + "…"
        return InputError(f"{self.folder / _DESCRIPTION}: {name} {rule}, but is {shown}")


def _read(folder: Path, name: str) -> bytes:
    """A file of the folder itself: a link could lead anywhere."""
    path = folder / name
    if not folder.is_dir():
        raise InputError(f"{folder} must be a model's folder, but there is none; check the path")
    if not path.exists() and not path.is_symlink():
        raise InputError(f"{folder} has no {name}, so it is not a whole model; save it again")
    if path.resolve().parent != folder.resolve():
        raise InputError(f"{path} leads out of the model's folder; nothing is read from there")
    if not path.is_file():
        raise InputError(f"{path} must be a file, but is a folder; save the model again")
    return path.read_bytes()


def _head(fields: dict[str, Any]) -> Head:
    name, outputs = fields["name"], fields["outputs"]
    if name not in HEADS:
        raise ValueError(f"its name must be one of {', '.join(HEADS)}")
    if isinstance(outputs, bool) or not isinstance(outputs, int) or outputs < 1:
        raise ValueError("outputs must be a whole number of at least 1")
    head = HEADS[name](outputs)
    if isinstance(head, (Binary, Regression)) and outputs != 1:
        raise ValueError(f"a {name} head has one output")
    return head


def _shapes(algorithm: Algorithm, features: int, head: Head) -> dict[str, tuple[int, ...]]:
    shapes = Weights.shapes(algorithm, features, head.num_outputs)
    names = [*(f"W_{i}" for i in range(1, algorithm.k + 1)), "W_out", "bias"]
    return dict(zip(names, shapes, strict=True))


def _weights(description: _Description, shapes: dict[str, tuple[int, ...]]) -> Weights:
    data = _read(description.folder, _WEIGHTS)
    hashes = description.field("hashes", dict)
    if hashes.get(_WEIGHTS) != _digest(data):
        raise InputError(
            f"{description.folder / _WEIGHTS} is not what was saved: its hash differs from the one "
            f"in {_DESCRIPTION}; copy the model again"
        )
    arrays = _arrays(description.folder / _WEIGHTS, data)
    found = {name: tuple(array.shape) for name, array in arrays.items()}
    if found != shapes:
        raise InputError(
            f"{description.folder / _WEIGHTS} must hold the shapes {shapes} of the algorithm in "
            f"{_DESCRIPTION}, but holds {found}"
        )
    *layers, output, bias = (arrays[name] for name in shapes)
    for array in arrays.values():
        array.flags.writeable = False
    return Weights(tuple(layers), output, bias)


def _arrays(path: Path, data: bytes) -> dict[str, NDArray[np.float32]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load as deserialize

    try:
        arrays = deserialize(data)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not a safetensors file: {error}") from None
    for name, array in arrays.items():
        if array.dtype != np.float32:
            raise InputError(f"{path}: {name} must be float32, but is {array.dtype}")
    return {name: np.array(array) for name, array in arrays.items()}


def _threads_here(threads: int | None) -> int | None:
    """A model that was made for more cores than there are uses those there are."""
    from autogm.message.kernel import num_threads

    return threads if threads is None or threads <= num_threads() else None


def _measurement(description: _Description) -> Measurement | None:
    fields = description.field("measurement", (dict, type(None)))
    if fields is None:
        return None
    made: Measurement = description.made("measurement", dict, Measurement.from_json)
    return made


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
