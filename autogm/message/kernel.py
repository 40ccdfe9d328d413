"""Compiled loops, and the threads that run them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

__all__ = [
    "chunks",
    "compiled",
    "flush_denormals",
    "flushed_denormals",
    "fused",
    "help_out",
    "inlined",
    "num_threads",
    "run",
    "set_float_mode",
]


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first use, keep the machine code on disk, let go of the interpreter lock.

    No fast-math: sums keep the order of their row, the same on every machine and for any number
    of threads, and on rows of graph length the gathers it makes are slower than plain loads.
    """
    return _compile(function)


def fused(function: Callable[..., Any]) -> Callable[..., Any]:
    """`compiled`, with a b + c in one instruction and division as the machine has it."""
    return _compile(function, fastmath={"contract"}, error_model="numpy")


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """`fused` for loops' insides: laid into its caller, and its arrays' users are not counted.

    Counting is atomic: two arrays cost more than a short row (measured: 22 ns of 26 a row). It may
    make no array.
    """
    options = {"fastmath": {"contract"}, "error_model": "numpy", "forceinline": True}
    return _compile(function, **options, _nrt=False)


def _compile(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    try:
        kernel = numba.njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # no folder to keep machine code in: compile in every process
        return cast("Callable[..., Any]", numba.njit(nogil=True, **options)(function))
    _stamp(kernel)
    return cast("Callable[..., Any]", kernel)


def _stamp(kernel: Any) -> None:
    """Let kept machine code count only for the kernels of all files as they are now.

    Numba looks at the file of the function alone, not at those of the functions it calls.
    """
    with contextlib.suppress(AttributeError):
        file = kernel._cache._cache_file
        file._source_stamp = (file._source_stamp, _digest_of_kernels())


@cache
def _digest_of_kernels() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.parent.rglob("*.py")):
        source = path.read_bytes()
        if any(mark in source for mark in (b"@fused", b"@compiled", b"@inlined", b"intrinsic")):
            digest.update(source)
    return digest.hexdigest()


def num_threads() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def help_out(call: Callable[..., Any], *args: Any) -> Future[Any]:
    """Have a helper thread call it, soon."""
    return _pool(num_threads()).submit(call, *args)


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="autogm")


if hasattr(os, "register_at_fork"):
    # A forked child inherits the pool without its threads.
    os.register_at_fork(after_in_child=_pool.cache_clear)


def chunks(indptr: NDArray[np.int64], *, smallest: int = 1 << 16, most: int = 32) -> list[slice]:
    """Stretches of rows with about equally many entries; they depend on the matrix alone."""
    entries = int(indptr[-1]) + len(indptr)
    count = max(1, min(most, entries // smallest))
    work = indptr + np.arange(len(indptr))  # a row costs something even when it is empty
    cuts = np.searchsorted(work, np.arange(1, count) * (work[-1] / count))
    bounds = [0, *cuts.tolist(), len(indptr) - 1]
    return [slice(a, b) for a, b in pairwise(bounds) if a < b]


def run(
    kernel: Callable[..., Any], parts: list[slice], *args: Any, threads: int | None = None
) -> list[Any]:
    """Call ``kernel(start, stop, *args)`` for each part; results come in the parts' order.

    The calling thread works too, and every thread takes the next part that is left. Nobody waits
    for a helper that has not begun, so a kernel may itself call `run`. When a part fails, no other
    is begun, and those that are being worked on are not waited for.
    """
    helpers = min(num_threads() if threads is None else threads, len(parts)) - 1
    if helpers < 1:
        return [kernel(part.start, part.stop, *args) for part in parts]
    results: list[Any] = [None] * len(parts)
    todo = iter(range(len(parts)))

    def work() -> None:
        for i in todo:
            results[i] = kernel(parts[i].start, parts[i].stop, *args)

    mode = _float_mode()

    def work_alike() -> None:
        with _in_float_mode(mode):
            work()

    futures = [help_out(work_alike) for _ in range(helpers)]
    try:
        work()
        for future in futures:
            if not future.cancel():
                future.result()
    finally:
        for _ in todo:
            pass
    return results


@contextlib.contextmanager
def flushed_denormals() -> Iterator[None]:
    """Numbers below 1.2e-38 count as zero, here and in `run`'s helpers: they are 100 times slower.

    The setting belongs to the thread and is put back afterwards.
    """
    with _in_float_mode(_float_mode() | _FLUSH):
        yield


@contextlib.contextmanager
def _in_float_mode(mode: int) -> Iterator[None]:
    before = _float_mode()
    if mode == before:
        yield
        return
    set_float_mode(mode)
    try:
        yield
    finally:
        set_float_mode(before)


_MACHINE = platform.machine().lower()
_ON_X86 = _MACHINE in ("x86_64", "amd64")
_ON_ARM = _MACHINE in ("aarch64", "arm64")
# The bits that flush: results and operands (x86), both (ARM); elsewhere nothing is changed.
_FLUSH = 0x8040 if _ON_X86 else 1 << 24 if _ON_ARM else 0


@intrinsic  # type: ignore[untyped-decorator]
def _read_mode(_: Any) -> Any:
    """The register that says how floating-point numbers are treated."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if _ON_X86:
            slot = cgutils.alloca_once(builder, ir.IntType(32))
            _call(builder, "llvm.x86.sse.stmxcsr", _pointer(builder, slot))
            return builder.zext(builder.load(slot), ir.IntType(64))
        if _ON_ARM:
            kind = ir.FunctionType(ir.IntType(64), [])
            return builder.asm(kind, "mrs $0, fpcr", "=r", [], True)
        return ir.Constant(ir.IntType(64), 0)

    return types.int64(), code


@intrinsic  # type: ignore[untyped-decorator]
def _write_mode(_: Any, mode: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if _ON_X86:
            slot = cgutils.alloca_once(builder, ir.IntType(32))
            builder.store(builder.trunc(args[0], ir.IntType(32)), slot)
            _call(builder, "llvm.x86.sse.ldmxcsr", _pointer(builder, slot))
        elif _ON_ARM:
            kind = ir.FunctionType(ir.VoidType(), [ir.IntType(64)])
            builder.asm(kind, "msr fpcr, $0", "r", [args[0]], True)
        return context.get_dummy_value()

    return types.void(types.int64), code


def _pointer(builder: Any, slot: Any) -> Any:
    return builder.bitcast(slot, ir.IntType(8).as_pointer())


def _call(builder: Any, name: str, pointer: Any) -> None:
    kind = ir.FunctionType(ir.VoidType(), [pointer.type])
    builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [pointer])


@compiled
def flush_denormals():  # type: ignore[no-untyped-def]
    """From here on, in compiled code; gives back what `set_float_mode` is to restore."""
    mode = _read_mode()
    _write_mode(mode | _FLUSH)
    return mode


@compiled
def _float_mode():  # type: ignore[no-untyped-def]
    return _read_mode()


@compiled
def set_float_mode(mode):  # type: ignore[no-untyped-def]
    """How this thread treats floating-point numbers."""
    _write_mode(mode)
