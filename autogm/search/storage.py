"""Trials that outlive their process: in a database or a file, shared by workers on many machines.

A point is one Optuna trial, so that Optuna's own tools show a study. What we call it, and they:

    waiting            WAITING
    running            RUNNING
    trained            COMPLETE, with accuracy and seconds for its values
    too slow, failed   FAIL, and which of them in the attribute ``state``
    (withdrawn)        PRUNED: not a trial of ours any more, never shown again

The trial that *holds* a point is the one with the lowest number of those not withdrawn. To claim a
point is to create a trial of it and then to look whether it holds it; the loser withdraws its own.
That is right because of two things that every storage here gives:

- Numbers appear in order: who sees his own trial sees all that have a lower number. A database
  locks the study's row (SQLite: the whole file) from before the number is counted until the trial
  is committed, with its parameters; in a journal the number is the place of its line.
- A trial ends once. The second to end it, whoever that is, is told that it has ended already.

A trial that was withdrawn stays so and new ones have higher numbers, so who holds a point once
holds it until he ends the trial or it is withdrawn; nobody else may train it until then.

A worker that dies leaves a running trial behind. Whoever finds that withdraws it (only one of all
who try can, and none where its worker ended it first) and claims the point anew, as above: so a
survivor that dies in between loses nothing, because a withdrawn point that no trial holds is there
for the next one. A worker that was only thought dead finds its trial ended when it comes back, and
what it brings is dropped: the point is somebody else's, who may have trained it already.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

from autogm.errors import AutoGMError, InputError
from autogm.measure.measurement import machine
from autogm.search.backends import CONNECTING, Backend, backend, optuna, why
from autogm.search.space import Axis, Integer, Point, Space
from autogm.search.trial import State, Trial
from autogm.search.workers import OPEN, here, is_gone

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial

__all__ = ["Stored", "open_study"]

SCHEMA = 1
"""Of what we write into a study; another one is refused."""

# Seconds to wait for the maker of a study to write what it is of.
_MAKING = 1.0
# A point that so many workers died of is not tried again.
_DEATHS = 3
_DIED = "its worker died"
# Attributes of an Optuna trial; it has places of its own for the rest.
_FIELDS = tuple(
    field.name for field in fields(Trial) if field.name not in ("number", "point", "state")
)


def open_study(
    url: str | os.PathLike[str],
    name: str,
    *,
    space: Space,
    subject: str,
    resume: bool = True,
    grace: float = 60.0,
) -> Stored:
    """The study of that name, made where it is not there yet.

    ``url`` is a file (.db, .sqlite: SQLite; .journal, .log: a journal that Optuna only appends to)
    or the address of a database (sqlite:///…, postgresql://…). ``subject`` says what is searched
    for, the fingerprint of a graph for one: a study of another subject or space is refused, and
    with ``resume=False`` any that is there. A worker is thought dead when nothing was heard of it
    for ``grace`` seconds, or at once where it ran on this host and its process is gone.

    >>> from autogm.search import Boolean
    >>> open_study("study.csv", "cora", space=Space(l=Boolean()), subject="")
    Traceback (most recent call last):
        ...
    autogm.errors.InputError: storage must be a file that ends in .db, .sqlite, .journal or .log, \
or an address such as postgresql://host/name, but got 'study.csv'
    """
    if not isinstance(name, str) or not 0 < len(name) <= 512:
        raise InputError(f"a study's name must be a text of 1 to 512 letters, but got {name!r}")
    if isinstance(grace, bool) or not isinstance(grace, Real) or not 0 < grace < math.inf:
        raise InputError(f"grace must be a number of seconds above 0, but got {grace!r}; try 60")
    opened = backend(os.fspath(url))
    try:
        return Stored(opened, name, space=space, subject=subject, resume=resume, grace=float(grace))
    except BaseException:
        opened.close()
        raise


class Stored:
    """A study in a storage. Made by `open_study`; each process opens its own, threads may share it.

    ``home`` says whether this is the machine whose times count, the one that made the study:
    workers elsewhere train only, and are handed no trial whose time is not known.
    """

    is_shared = True

    def __init__(
        self,
        backend: Backend,
        name: str,
        *,
        space: Space,
        subject: str,
        resume: bool,
        grace: float,
    ) -> None:
        self.name, self.space, self.shown = name, space, backend.shown
        self._backend, self._storage = backend, backend.storage
        self._states = optuna().trial.TrialState
        # The thread that beats and the one that works share a storage.
        self._lock = threading.RLock()
        self._ended: dict[int, _Kept] = {}
        self._ours: dict[int, _Kept] = {}
        self._heard: dict[int, tuple[object, float]] = {}
        self._wants, self._asked = 0, dict[str, int]()
        self._grace, self._stop = grace, threading.Event()
        self._beating: threading.Thread | None = None
        with self._reached():
            self._study, known = self._open(subject, resume)
            self._distributions = {name: _distribution(axis) for name, axis in space.axes.items()}
            # Spaces may differ in what their axes mean and not in their values; Optuna's may not.
            for frozen in self._storage.get_all_trials(self._study, deepcopy=False):
                self._distributions.update(frozen.distributions)
        self.home = (known["host"], known["machine"]) == (socket.gethostname(), machine())
        self._worker = {**here(), "id": uuid.uuid4().hex}
        OPEN.add(self._worker["id"])

    def __repr__(self) -> str:
        return f"<study {self.name!r} in {self.shown}>"

    def __enter__(self) -> Stored:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def trials(self) -> list[Trial]:
        """What holds its point or was too slow, by number; withdrawn trials leave gaps."""
        with self._reached():
            seen = self._look()
        held = {kept.id for kept in _holders(seen).values()}
        return [kept.trial for kept in seen if kept.id in held or _was_too_slow(kept)]

    def begin(self, point: Point) -> Trial | None:
        with self._reached():
            place = self._place(point)
            if place in _holders(self._look()):
                return None
            return self._claim(place)

    def note(self, trial: Trial, seconds: float) -> Trial:
        """Where the trial is not ours any more, its end will tell."""
        trial = replace(trial, seconds=_plain(seconds))
        with self._reached(), contextlib.suppress(_Dropped), self._as_ours(trial) as ours:
            self._write(ours, trial)
        return trial

    def put(self, trial: Trial) -> Trial:
        waiting = replace(trial, state=State.waiting)
        try:
            with self._reached(), self._as_ours(trial) as ours:
                self._write(ours, waiting)
                # Nobody may take the one who put it for the one who has it.
                self._storage.set_trial_user_attr(ours.id, "worker", None)
                self._storage.set_trial_state_values(ours.id, self._states.WAITING)
                del self._ours[trial.number]
        except _Dropped:
            return self._as_others_have_it(trial)
        return waiting

    def take(self) -> Trial | None:
        """One that waits, else one whose worker died, under a new number."""
        with self._reached():
            return self._take_waiting() or self._take_over()

    def end(self, trial: Trial, state: State, **fields: Any) -> Trial:
        """As it is kept; where the trial is not ours any more, as somebody else has the point."""
        fields = {name: _plain(value) for name, value in fields.items()}
        ended = replace(trial, state=State(state), **fields)
        if ended.is_pending:
            raise InputError(
                f"a trial ends as trained, too slow or failed, but got {ended.state.value!r}; "
                "put() lets another worker have it"
            )
        # Optuna wants both values of what is complete, and numbers.
        values = [ended.accuracy, ended.seconds] if ended.state is State.trained else [None]
        numbers = [value for value in values if value is not None and math.isfinite(value)]
        shows = len(numbers) == 2
        try:
            with self._reached(), self._as_ours(trial) as ours:
                self._write(ours, ended)
                self._storage.set_trial_user_attr(ours.id, "state", ended.state.value)
                self._storage.set_trial_state_values(
                    ours.id,
                    self._states.COMPLETE if shows else self._states.FAIL,
                    numbers if shows else None,
                )
                del self._ours[trial.number]
        except _Dropped:
            return self._as_others_have_it(trial)
        return ended

    def want(self) -> None:
        self._wants += 1
        with self._reached():
            key = f"wants {self._worker['id']}"
            self._storage.set_study_user_attr(self._study, key, self._wants)

    def wanted(self) -> int:
        with self._reached():
            known = self._storage.get_study_user_attrs(self._study)
        asked = {key: value for key, value in known.items() if key.startswith("wants ")}
        new = sum(int(self._asked.get(key) != value) for key, value in asked.items())
        self._asked = asked
        return new

    def close(self) -> None:
        """Stop beating: what still runs is everybody's soon."""
        self._stop.set()
        if self._beating is not None:
            self._beating.join(CONNECTING)
        OPEN.discard(self._worker["id"])
        self._backend.close()

    # ---- claims

    def _claim(self, place: int, **known: Any) -> Trial | None:
        """A new trial, if it holds its point."""
        point = self._point(place)
        template = optuna().trial.create_trial(
            state=self._states.RUNNING,
            params=point,
            distributions=self._distributions,
            user_attrs={**known, "worker": self._worker, "beat": 0},
        )
        made = self._storage.create_new_trial(self._study, template)
        kept = _holders(self._look())[place]
        if kept.id != made:
            self._withdraw(made, f"trial {kept.trial.number} has its point")
            return None
        return self._have(kept, kept.trial)

    def _have(self, kept: _Kept, trial: Trial) -> Trial:
        self._ours[trial.number] = replace(kept, trial=trial)
        if self._beating is None:
            self._beating = threading.Thread(target=self._beat, name="beat", daemon=True)
            self._beating.start()
        return trial

    def _withdraw(self, made: int, why: str) -> None:
        with contextlib.suppress(self._too_late):
            # Only a word to the reader: where the trial is ended first it means nothing.
            self._storage.set_trial_user_attr(made, "withdrawn", why)
            self._storage.set_trial_state_values(made, self._states.PRUNED)

    def _take_waiting(self) -> Trial | None:
        for kept in _holders(self._look()).values():
            if kept.trial.state is not State.waiting or not self._can_have(kept):
                continue
            with contextlib.suppress(self._too_late):
                fresh = self._backend.fresh()
                if fresh.set_trial_state_values(kept.id, self._states.RUNNING):
                    self._storage.set_trial_user_attr(kept.id, "worker", self._worker)
                    return self._have(kept, replace(kept.trial, state=State.running))
        return None

    def _take_over(self) -> Trial | None:
        """A point that somebody had and nobody has."""
        for kept in self._look():
            if kept.trial.state is State.running and self._is_dead(kept):
                self._withdraw(kept.id, _DIED)
        seen = self._look()
        held = {kept.place for kept in seen if not kept.withdrawn}
        lost: dict[int, list[_Kept]] = {}
        for kept in seen:
            if kept.place not in held:
                lost.setdefault(kept.place, []).append(kept)
        for place, before in lost.items():
            last = max(before, key=lambda kept: (kept.trial.seconds is not None, kept.id))
            if not self._can_have(last):
                continue
            reason = f"taken over from trial {last.trial.number}"
            trial = self._claim(place, seconds=last.trial.seconds, reason=reason)
            deaths = sum(kept.died for kept in before)
            if trial is not None and deaths >= _DEATHS:
                self.end(trial, State.failed, reason=f"{deaths} workers died while they had it")
            elif trial is not None:
                return trial
        return None

    def _can_have(self, kept: _Kept) -> bool:
        return self.home or kept.trial.seconds is not None

    @contextlib.contextmanager
    def _as_ours(self, trial: Trial) -> Iterator[_Kept]:
        """The trial as we keep it, for as long as it is ours."""
        ours = self._ours.get(trial.number)
        if ours is None:
            raise _Dropped
        try:
            yield ours
        except self._too_late:
            self._ours.pop(trial.number, None)
            raise _Dropped from None

    def _as_others_have_it(self, trial: Trial) -> Trial:
        with self._reached():
            held = _holders(self._look()).get(self._place(trial.point))
        return held.trial if held else replace(trial, state=State.failed, reason=_DIED)

    # ---- who lives

    def _beat(self) -> None:
        beats = 0
        while not self._stop.wait(self._grace / 6):
            beats += 1
            with self._lock:
                for kept in self._ours.values():
                    # A storage out of reach is told of by who works; here the next beat may get
                    # through, and a trial that is not ours any more is found when it is ended.
                    with contextlib.suppress(Exception):
                        self._storage.set_trial_user_attr(kept.id, "beat", beats)
        self._storage.remove_session()

    def _is_dead(self, kept: _Kept) -> bool:
        if kept.trial.number in self._ours:
            return False
        if kept.worker and is_gone(kept.worker):
            return True
        return time.monotonic() - self._heard[kept.id][1] > self._grace

    # ---- reading and writing

    def _look(self) -> list[_Kept]:
        """All trials, by number; of those that run, whether something new was heard of them."""
        now, seen = time.monotonic(), []
        for frozen in self._storage.get_all_trials(self._study, deepcopy=False):
            kept = self._ended.get(frozen._trial_id) or self._kept(frozen)
            if kept is None:
                continue
            if kept.trial.is_pending:
                # Clocks of other machines say nothing: a beat is new when it differs from the last.
                sign = (kept.worker, kept.beat)
                if kept.id not in self._heard or self._heard[kept.id][0] != sign:
                    self._heard[kept.id] = (sign, now)
            else:
                self._ended[kept.id] = kept
            seen.append(kept)
        return seen

    def _kept(self, frozen: FrozenTrial) -> _Kept | None:
        if frozen.params.keys() != self.space.axes.keys():
            return None  # put there by other tools
        place = self._place(frozen.params)
        attributes, states = frozen.user_attrs, self._states
        state = {
            states.WAITING: State.waiting,
            states.RUNNING: State.running,
            states.COMPLETE: State.trained,
        }.get(frozen.state) or State(attributes.get("state", State.failed))
        return _Kept(
            id=frozen._trial_id,
            place=place,
            trial=Trial(
                number=frozen.number,
                point=self._point(place),
                state=state,
                **{name: attributes.get(name) for name in _FIELDS},
            ),
            withdrawn=frozen.state == states.PRUNED,
            died=attributes.get("withdrawn") == _DIED,
            worker=attributes.get("worker"),
            beat=attributes.get("beat"),
        )

    def _place(self, point: Point) -> int:
        return int(self.space.flat(self.space.codes([point]))[0])

    def _point(self, place: int) -> Point:
        return self.space.points(self.space.unflat([place]))[0]

    def _write(self, ours: _Kept, trial: Trial) -> None:
        """What is new, each as an attribute of its own, a column to whoever looks at the study."""
        for name in _FIELDS:
            value = getattr(trial, name)
            if value != getattr(ours.trial, name):
                self._storage.set_trial_user_attr(ours.id, name, value)
        self._ours[trial.number] = replace(ours, trial=trial)

    @property
    def _too_late(self) -> type[Exception]:
        kind: type[Exception] = optuna().exceptions.UpdateFinishedTrialError
        return kind

    @contextlib.contextmanager
    def _reached(self) -> Iterator[None]:
        """Alone with the storage; where it is out of reach, one sentence."""
        from optuna.exceptions import StorageInternalError
        from sqlalchemy.exc import SQLAlchemyError

        with self._lock:
            try:
                yield
            except (SQLAlchemyError, StorageInternalError, OSError) as error:
                raise AutoGMError(
                    f"the study {self.name!r} is out of reach in {self.shown}: {why(error)}; "
                    "what had ended is kept: go on with resume=True (--resume)"
                ) from None

    # ---- the study itself

    def _open(self, subject: str, resume: bool) -> tuple[int, dict[str, Any]]:
        exceptions, study_module = optuna().exceptions, optuna().study
        goals = [study_module.StudyDirection.MAXIMIZE, study_module.StudyDirection.MINIMIZE]
        try:
            with _hushed():
                study = self._storage.create_new_study(goals, self.name)
        except exceptions.DuplicatedStudyError:
            if not resume:
                raise InputError(
                    f"the study {self.name!r} is in {self.shown} already; go on with it "
                    "(resume=True, --resume) or give another name"
                ) from None
            study = self._storage.get_study_id_from_name(self.name)
            known = self._known(study, goals) or self._make(study, subject)
        else:
            known = self._make(study, subject)
        self._check(known, subject)
        return study, known

    def _make(self, study: int, subject: str) -> dict[str, Any]:
        known = {
            "schema": SCHEMA,
            "space": self.space.fingerprint,
            "subject": subject,
            "host": socket.gethostname(),
            "machine": machine(),
        }
        self._storage.set_study_system_attr(study, "study:metric_names", ["accuracy", "seconds"])
        self._storage.set_study_user_attr(study, "autogm", known)
        return known

    def _known(self, study: int, goals: list[Any]) -> dict[str, Any] | None:
        """What its maker wrote, who may be about to; None where he died before he did."""
        end = time.monotonic() + _MAKING
        while True:
            known: dict[str, Any] | None = self._storage.get_study_user_attrs(study).get("autogm")
            if known is not None:
                return known
            if self._storage.get_study_directions(study) != goals or self._storage.get_all_trials(
                study, deepcopy=False
            ):
                raise InputError(
                    f"the study {self.name!r} in {self.shown} is not one of AutoGM's; "
                    "give another name"
                )
            if time.monotonic() > end:
                return None
            time.sleep(_MAKING / 20)

    def _check(self, known: Mapping[str, Any], subject: str) -> None:
        where = f"the study {self.name!r} in {self.shown}"
        if known["schema"] != SCHEMA:
            raise InputError(
                f"{where} has schema {known['schema']}, but this AutoGM reads schema {SCHEMA}; "
                "give another name or use the AutoGM that made it"
            )
        for what, asked in (("space", self.space.fingerprint), ("subject", subject)):
            if known[what] != asked:
                theirs, ours = _differing(str(known[what]), asked)
                raise InputError(
                    f"{where} is of another {what}: it has {theirs}, but asked for is {ours}; give "
                    "another name (study=, --study) or another storage"
                )


class _Dropped(Exception):
    """A trial is not ours any more."""


@dataclass(frozen=True, kw_only=True)
class _Kept:
    """An Optuna trial as we read it."""

    id: int
    place: int
    """Of its point in the space."""
    trial: Trial
    withdrawn: bool
    died: bool
    worker: Mapping[str, Any] | None
    beat: int | None


def _differing(one: str, other: str) -> tuple[str, str]:
    """The parts of two lists that are not in both."""
    parts = [text.split(", ") for text in (one, other)]
    left, right = ([p for p in own if p not in rest] for own, rest in (parts, parts[::-1]))
    return ", ".join(left) or one, ", ".join(right) or other


def _was_too_slow(kept: _Kept) -> bool:
    return not kept.withdrawn and kept.trial.state is State.too_slow


def _holders(seen: list[_Kept]) -> dict[int, _Kept]:
    """By place, the first of the trials of a point that was not withdrawn; in their order.

    One that ended as too slow holds nothing: under another budget its point may be trained.
    """
    held: dict[int, _Kept] = {}
    for kept in seen:
        if not kept.withdrawn and not _was_too_slow(kept):
            held.setdefault(kept.place, kept)
    return held


def _distribution(axis: Axis) -> BaseDistribution:
    distributions = optuna().distributions
    made: BaseDistribution
    if isinstance(axis, Integer) and axis.last is None:
        made = distributions.IntDistribution(axis.low, axis.high, log=axis.log)
    else:
        made = distributions.CategoricalDistribution(tuple(axis.values))
    return made


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


@contextlib.contextmanager
def _hushed() -> Iterator[None]:
    """Optuna tells of every study it makes."""
    logger = logging.getLogger("optuna.storages")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
