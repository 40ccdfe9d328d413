"""A saved model, timed in a process that knows nothing but its folder and the graph.

    python -m autogm.predictor.retime MODEL GRAPH.npz

prints the `Measurement` as JSON. `retimed` starts such a process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from autogm.errors import AutoGMError
from autogm.graph import load_graph
from autogm.measure.measurement import Measurement
from autogm.predictor.predictor import Predictor

__all__ = ["retimed"]


def retimed(model: Path, graph: Path, *, timeout: float | None = None) -> Measurement:
    """The time of a saved model in a fresh process, compilation and loading off the clock."""
    command = [sys.executable, "-m", "autogm.predictor.retime", str(model), str(graph)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise AutoGMError(
            f"the saved model could not be timed again within {timeout:.0f} s"
        ) from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise AutoGMError(f"the saved model could not be timed again: {last}")
    return Measurement.from_json(json.loads(done.stdout))


def main(model: str, graph: str) -> None:
    measurement = Predictor.load(model).measure(load_graph(graph))
    print(json.dumps(measurement.to_json()))


if __name__ == "__main__":
    main(*sys.argv[1:])
