"""What tests run in other processes: workers that search, and ones that hold a trial until told."""

import json
import os
import time

from autogm.search import Boolean, Categorical, Integer, Space, State
from autogm.search.storage import open_study

SPACE = Space(d=Integer(1, 3), l=Boolean(), a=Categorical("SA", "SS"))


def opened(url, name="cora", **changes):
    return open_study(url, name, **{"space": SPACE, "subject": "a graph", **changes})


def seconds_of(point):
    return point["d"] / 1000 + point["l"] / 7


def score_of(point):
    accuracy = 0.5 + point["d"] / 9 + (point["a"] == "SS") / 30
    return {"accuracy": accuracy, "error": 0.1 / 3, "runs": 3, "cost": 0.25}


def work(url, log, pause=0.0, barrier=None):
    """Train all points, each that nobody else has; write down what was trained to its end."""
    if barrier is not None:
        barrier.wait()
    with opened(url) as study:
        while (trial := study.take() or begun(study)) is not None:
            if trial.seconds is None:
                trial = study.note(trial, seconds_of(trial.point))
            _write(log, trial, "begun")
            time.sleep(pause)
            ended = study.end(trial, State.trained, **score_of(trial.point))
            _write(log, ended, "ended")


def begun(study):
    return next(filter(None, map(study.begin, SPACE)), None)


def hold(url, pipe, grace=60.0):
    """Begin a point; end it when told, and tell what came of it."""
    with opened(url, grace=grace) as study:
        trial = study.note(begun(study), 0.5)
        pipe.send(trial)
        if pipe.recv() == "end":
            pipe.send(study.end(trial, State.trained, accuracy=0.9))


def _write(log, trial, what):
    line = json.dumps([what, os.getpid(), trial.number, trial.point]) + "\n"
    with open(log, "ab", buffering=0) as file:
        file.write(line.encode())
