"""Where a study can be kept: SQLite, PostgreSQL, a journal; each made safe for many workers."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from autogm.errors import InputError, MissingExtra, optional

if TYPE_CHECKING:
    from optuna.storages import BaseStorage
    from sqlalchemy.engine import URL, Engine

__all__ = ["CONNECTING", "Backend", "backend", "optuna", "why"]

CONNECTING = 10
"""Seconds for a database to answer at all."""

# Seconds for its file to be unlocked.
_LOCKED = 60
_DATABASES, _JOURNALS = (".db", ".sqlite", ".sqlite3"), (".journal", ".log")


def optuna() -> ModuleType:
    return optional("optuna", extra="search", purpose="a study that is kept")


@dataclass(frozen=True, kw_only=True)
class Backend:
    shown: str
    """Its address, without passwords."""
    storage: BaseStorage
    fresh: Callable[[], BaseStorage]
    """One that has had no trial yet. Optuna's journal tells a thread that it won what it had won
    before, though it gave that up and another has it now."""
    close: Callable[[], None]


def backend(address: str) -> Backend:
    optuna()
    from sqlalchemy.engine import URL, make_url

    path = Path(address).expanduser()
    if "://" not in address and path.suffix in _JOURNALS:
        return _journal(path)
    if "://" not in address and path.suffix in _DATABASES:
        return _database(URL.create("sqlite", database=str(path)))
    try:
        url = make_url(address)
    except Exception:
        raise _unknown(re.sub(r":.*@", ":***@", address)) from None
    kind = url.get_backend_name()
    if kind == "sqlite" and not url.database:
        raise InputError(
            f"{address} keeps nothing; name a file such as sqlite:///study.db, or give no storage"
        )
    if kind in ("postgres", "postgresql") and "+" not in url.drivername:
        # Which driver that means depends on the release of SQLAlchemy.
        url = url.set(drivername="postgresql+psycopg")
    elif kind not in ("sqlite", "postgresql"):
        raise _unknown(_shown(url))
    return _database(url)


def _unknown(shown: str) -> InputError:
    return InputError(
        "storage must be a file that ends in .db, .sqlite, .journal or .log, or an address such "
        f"as postgresql://host/name, but got {shown!r}"
    )


def _shown(url: URL) -> str:
    # A query may hold a password as well.
    return url.set(query={}).render_as_string(hide_password=True)


def _database(url: URL) -> Backend:
    from sqlalchemy import event
    from sqlalchemy.exc import SQLAlchemyError

    lite = url.get_backend_name() == "sqlite"
    options: dict[str, Any] = {"pool_pre_ping": True}
    if lite:
        options = {"connect_args": {"timeout": _LOCKED}}
    else:
        # What a transaction sees must not be older than the lock it waited for.
        options["isolation_level"] = "READ COMMITTED"
        if "connect_timeout" not in url.query:
            options["connect_args"] = {"connect_timeout": CONNECTING}
    shown = _shown(url)
    _try_to_reach(url, shown, options)
    # Optuna fills in templates, which braces would be.
    address = url.render_as_string(hide_password=False).replace("{", "{{").replace("}", "}}")
    storages = optuna().storages
    for tries in range(6):
        try:
            rdb = storages.RDBStorage(address, engine_kwargs=options)
            break
        except (SQLAlchemyError, optuna().exceptions.StorageInternalError) as error:
            # Two workers that make the tables at the same time: one finds them half made.
            reason = why(error)
            time.sleep(0.05 * 2**tries)
        except RuntimeError as error:
            raise InputError(f"{shown} is of another release of Optuna: {error}") from None
    else:
        raise InputError(f"{shown} cannot hold a study: {reason}; give another storage")
    if lite:
        # SQLite has no lock on rows. So every transaction has the file to itself from its start,
        # or else two workers read that a trial is free before either writes that he has it.
        event.listen(rdb.engine, "connect", _leave_transactions_alone)
        event.listen(rdb.engine, "begin", _begin_alone)
        rdb.engine.dispose()
    storage = storages.get_storage(rdb)

    def close() -> None:
        rdb.remove_session()
        rdb.engine.dispose()

    return Backend(shown=shown, storage=storage, fresh=lambda: storage, close=close)


def _leave_transactions_alone(connection: Any, _: object) -> None:
    connection.isolation_level = None


def _begin_alone(connection: Any) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _try_to_reach(url: URL, shown: str, options: Mapping[str, Any]) -> None:
    from sqlalchemy import create_engine, inspect
    from sqlalchemy.exc import NoSuchModuleError, SQLAlchemyError

    engine: Engine | None = None
    try:
        engine = create_engine(url, **options)
        inspect(engine).get_table_names()
    except ImportError as error:
        driver = error.name or str(error)
        if driver == "psycopg":
            optional("psycopg", extra="search", purpose="a study in PostgreSQL")
        raise MissingExtra(
            f"{shown} needs {driver}, which is not installed; postgresql:// without a driver "
            "takes the one of autogm[search]"
        ) from None
    except NoSuchModuleError:
        raise _unknown(shown) from None
    except (SQLAlchemyError, OSError) as error:
        hint = "its folder is there and may be written to, and it is a database"
        if url.get_backend_name() != "sqlite":
            hint = "the address, and that the server runs and lets you in"
        reason = why(error)
        if url.password:
            reason = reason.replace(str(url.password), "***")
        raise InputError(f"{shown} cannot be reached: {reason}; check that {hint}") from None
    finally:
        if engine is not None:
            engine.dispose()


def why(error: BaseException) -> str:
    """The first line of what a driver says, without what SQLAlchemy adds."""
    while error.__cause__ is not None and not hasattr(error, "orig"):
        error = error.__cause__
    text = str(getattr(error, "orig", None) or error).strip()
    return text.splitlines()[0] if text else type(error).__name__


def _journal(path: Path) -> Backend:
    try:
        if path.exists():
            with path.open("rb") as lines:
                first = lines.readline()
            if first and not first.startswith(b'{"op_code":'):
                raise ValueError
        storage = _replayed(path)
    except OSError as error:
        raise InputError(
            f"{path} cannot be reached: {error.strerror or error}; check that its folder is there "
            "and may be written to"
        ) from None
    except (ValueError, KeyError, TypeError, AssertionError):
        raise InputError(f"{path} is there and is not the journal of a study; rename it") from None
    return Backend(
        shown=str(path), storage=storage, fresh=lambda: _replayed(path), close=lambda: None
    )


def _replayed(path: Path) -> BaseStorage:
    journal = optuna().storages.journal
    try:
        import fcntl  # noqa: F401
    except ImportError:
        lock = journal.JournalFileOpenLock(str(path))
    else:
        lock = _FileLock(path)
    made: BaseStorage = journal.JournalStorage(journal.JournalFileBackend(str(path), lock_obj=lock))
    return made


class _FileLock:
    """The system's own, which goes with its process; Optuna's stays for half a minute."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = -1

    def acquire(self) -> bool:
        import fcntl

        self._file = os.open(self._path, os.O_RDWR)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            self._mend()
        except BaseException:
            self.release()
            raise
        return True

    def release(self) -> None:
        os.close(self._file)

    def _mend(self) -> None:
        """Whoever was killed in the middle of a line has not written it."""
        size = os.lseek(self._file, 0, os.SEEK_END)
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            os.ftruncate(self._file, os.pread(self._file, size, 0).rfind(b"\n") + 1)
