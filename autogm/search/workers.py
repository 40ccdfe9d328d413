"""Which process a worker is, and whether it is gone, as far as that can be told from here."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["OPEN", "here", "is_gone"]

OPEN: set[str] = set()
"""The workers of this very process."""


@cache
def _host() -> tuple[str, str]:
    """A host since it was booted, or a container on it: where a process number means something."""
    boot = []
    with contextlib.suppress(OSError):
        boot.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        boot.append(os.readlink("/proc/self/ns/pid"))
    return socket.gethostname(), " ".join(boot)


def here() -> dict[str, Any]:
    host, boot = _host()
    return {"host": host, "boot": boot, "pid": os.getpid(), "start": _start(os.getpid())}


def _start(pid: int) -> str | None:
    """When a process began, in ticks since boot, as its number may be another's later."""
    try:
        parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return "ended" if parts[0] in "ZX" else parts[19]


def is_gone(worker: Mapping[str, Any]) -> bool:
    """Whether its process surely is; False where that cannot be told from here."""
    own = here()
    if any(worker.get(name) != own[name] for name in ("host", "boot")):
        return False
    if (worker.get("pid"), worker.get("start")) == (own["pid"], own["start"]):
        return worker.get("id") not in OPEN
    if os.name != "posix":  # signal 0 is not harmless elsewhere
        return False
    try:
        os.kill(int(worker["pid"]), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # somebody else's
    return worker["start"] is not None and _start(worker["pid"]) not in (None, worker["start"])
