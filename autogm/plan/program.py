"""Steps as rows of numbers that one compiled function interprets.

A row holds which kernel, its first ticket, and its arguments in their order: an array as its
address and shape, everything else as a number. Arrays must outlive the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import carray, types
from numba.extending import intrinsic

from autogm.message.kernel import flush_denormals, fused, set_float_mode
from autogm.plan import kernels
from autogm.plan.crew import Program

__all__ = ["Call", "encoded", "interpret"]


class Call(NamedTuple):
    """A kernel, its arguments after (tickets, first ticket, who), and how many tickets it takes."""

    kernel: Callable[..., Any]
    args: tuple[Any, ...]
    tickets: int = 1


_KERNELS = (
    kernels.layer,
    kernels.dense_layer,
    kernels.dense_numbers,
    kernels.propagate,
    kernels.propagate_numbers,
    kernels.spread_numbers,
)
_LAYER, _DENSE, _DENSE_NUMBERS, _PROPAGATE, _, _SPREAD = range(len(_KERNELS))
_LONGEST = 40


def encoded(calls: Sequence[Call]) -> tuple[Program, int]:
    """The program, and how many tickets it takes."""
    program, tickets = np.zeros((len(calls), _LONGEST), np.int64), 0
    for row, call in zip(program, calls, strict=True):
        numbers = [_KERNELS.index(call.kernel), tickets, *_numbers(call.args)]
        row[: len(numbers)] = numbers
        tickets += call.tickets
    return program, tickets


def _numbers(args: tuple[Any, ...]) -> list[int]:
    numbers: list[int] = []
    for arg in args:
        if isinstance(arg, np.ndarray):
            assert arg.flags.c_contiguous
            numbers += [arg.ctypes.data, *arg.shape]
        else:
            numbers.append(int(arg))
    return numbers


def _pointer_to(kind: Any) -> Any:
    """A compiled function from an address to a pointer."""

    def pointer(_: Any, address: Any) -> Any:
        made = types.CPointer(kind)

        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], context.get_value_type(made))

        return made(types.int64), code

    return intrinsic(pointer)


_to_int64, _to_int32, _to_float32 = map(_pointer_to, (types.int64, types.int32, types.float32))


@fused
def _longs(row, j):  # type: ignore[no-untyped-def]
    return carray(_to_int64(row[j]), (row[j + 1],))


@fused
def _long_rows(row, j):  # type: ignore[no-untyped-def]
    return carray(_to_int64(row[j]), (row[j + 1], row[j + 2]))


@fused
def _ints(row, j):  # type: ignore[no-untyped-def]
    return carray(_to_int32(row[j]), (row[j + 1],))


@fused
def _floats(row, j):  # type: ignore[no-untyped-def]
    return carray(_to_float32(row[j]), (row[j + 1],))


@fused
def _matrix(row, j):  # type: ignore[no-untyped-def]
    return carray(_to_float32(row[j]), (row[j + 1], row[j + 2]))


@fused
def interpret(program, tickets, who):  # type: ignore[no-untyped-def]
    """Run every step with whoever else does."""
    mode = flush_denormals()
    for s in range(len(program)):
        row = program[s]
        if row[0] == _LAYER:
            _run_layer(row, tickets, who)
        elif row[0] == _DENSE:
            _run_dense(row, tickets, who)
        elif row[0] == _SPREAD:
            _run_spread(row, tickets, who)
        elif row[0] == _DENSE_NUMBERS:
            _run_dense_numbers(row, tickets, who)
        else:
            _run_propagate(row, tickets, who)
    set_float_mode(mode)


@fused
def _run_layer(row, tickets, who):  # type: ignore[no-untyped-def]
    adjacency = (_longs(row, 2), _longs(row, 4), _ints(row, 6), _floats(row, 8), row[10] != 0)
    source = (_floats(row, 11), row[13] != 0, _matrix(row, 14))
    matrices = (_matrix(row, 17), _matrix(row, 20), _matrix(row, 23), row[26])
    target = (_matrix(row, 27), _ints(row, 30), _matrix(row, 32))
    kernels.layer(tickets, row[1], who, *adjacency, *source, *matrices, *target)


@fused
def _run_dense(row, tickets, who):  # type: ignore[no-untyped-def]
    source = (_longs(row, 2), _matrix(row, 4), _floats(row, 7), _matrix(row, 9), _matrix(row, 12))
    target = (row[15], _matrix(row, 16), _ints(row, 19))
    kernels.dense_layer(tickets, row[1], who, *source, *target)


@fused
def _run_spread(row, tickets, who):  # type: ignore[no-untyped-def]
    source = (_longs(row, 2), _floats(row, 4), _matrix(row, 6), _matrix(row, 9), row[12])
    kernels.spread_numbers(tickets, row[1], who, *source, _matrix(row, 13), _ints(row, 16))


@fused
def _run_dense_numbers(row, tickets, who):  # type: ignore[no-untyped-def]
    source = (_longs(row, 2), _matrix(row, 4), _floats(row, 7), _matrix(row, 9))
    kernels.dense_numbers(tickets, row[1], who, *source, _floats(row, 12))


@fused
def _run_propagate(row, tickets, who):  # type: ignore[no-untyped-def]
    steps = (row[2], _longs(row, 3), _long_rows(row, 5), _ints(row, 8), _floats(row, 10))
    scales = (row[12] != 0, _matrix(row, 13), _longs(row, 16), _longs(row, 18))
    if row[0] == _PROPAGATE:
        x, y = _matrix(row, 20), _matrix(row, 23)
        kernels.propagate(tickets, row[1], who, *steps, *scales, x, y)
    else:
        numbers, others = _floats(row, 20), _floats(row, 22)
        kernels.propagate_numbers(tickets, row[1], who, *steps, *scales, numbers, others)
