"""Where trials are kept: an interface, and the one that forgets them with the process."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from autogm.errors import InputError
from autogm.search.space import Point
from autogm.search.trial import State, Trial

__all__ = ["InMemory", "Study"]


class Study(Protocol):
    """Trials by rising numbers, which may have gaps; safe to share if it lives outside a process.

    A trial is begun by one worker, which alone notes its time and ends it. ``begin`` answers None
    where the point has a trial already, unless that was too slow for the search of its time.
    ``take`` hands over a trial that nobody has: it was ``put`` there, or its worker died, and then
    it may have a new number. A worker that was thought dead gets from ``end`` and ``put`` the trial
    as others have it now. That a trial runs does not say that its worker lives.
    """

    home: bool
    """Whether times may be measured here; else only what has a time is handed over."""
    is_shared: bool

    def trials(self) -> list[Trial]: ...

    def begin(self, point: Point) -> Trial | None: ...

    def note(self, trial: Trial, seconds: float) -> Trial:
        """The measured time of a trial that goes on."""
        ...

    def put(self, trial: Trial) -> Trial:
        """Give up a begun trial: whoever takes it trains it."""
        ...

    def take(self) -> Trial | None: ...

    def end(self, trial: Trial, state: State, **fields: Any) -> Trial:
        """The trial as it is kept from now on; ``fields`` are those of `Trial`."""
        ...

    def want(self) -> None:
        """Say that this worker, which may not measure, has nothing to train."""
        ...

    def wanted(self) -> int:
        """How many workers said so since this was last asked."""
        ...

    def close(self) -> None: ...


class InMemory:
    """A list, for one worker."""

    home, is_shared = True, False

    def __init__(self) -> None:
        self._trials: list[Trial] = []

    def trials(self) -> list[Trial]:
        return list(self._trials)

    def begin(self, point: Point) -> Trial | None:
        held = [trial.point for trial in self._trials if trial.state is not State.too_slow]
        if point in held:
            return None
        trial = Trial(number=len(self._trials), point=dict(point))
        self._trials.append(trial)
        return trial

    def note(self, trial: Trial, seconds: float) -> Trial:
        return self._kept(replace(trial, seconds=seconds))

    def put(self, trial: Trial) -> Trial:
        return self._kept(replace(trial, state=State.waiting))

    def take(self) -> Trial | None:
        waiting = next((t for t in self._trials if t.state is State.waiting), None)
        return waiting and self._kept(replace(waiting, state=State.running))

    def end(self, trial: Trial, state: State, **fields: Any) -> Trial:
        if not self._trials[trial.number].is_pending:
            raise InputError(f"trial {trial.number} has ended already; ask for another")
        return self._kept(replace(trial, state=state, **fields))

    def want(self) -> None:
        pass

    def wanted(self) -> int:
        return 0

    def close(self) -> None:
        pass

    def _kept(self, trial: Trial) -> Trial:
        self._trials[trial.number] = trial
        return trial
