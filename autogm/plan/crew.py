"""Threads that go through a plan's steps side by side.

Every thread interprets the whole program (see `program`), in one compiled call: threads that came
back to Python after each step would queue for the interpreter's lock, each time for longer than a
step of a small graph takes. A step is cut into parts, and a ticket says which part
is taken next; nobody begins a step before all parts of the one before are done. Tickets belong to
a call: a helper that comes late finds every part taken and touches nothing, so that nobody waits
for helpers, only for parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from autogm.message.kernel import fused, help_out

__all__ = ["Program", "finish_part", "go_through", "take_part", "wait_for"]

Program = NDArray[np.int64]

# Two counters a ticket, a cache line apart: parts taken, parts done.
_LINE = 8


def go_through(interpret: Callable[..., Any], program: Program, tickets: int, threads: int) -> None:
    """Run a program of so many tickets once, by up to ``threads`` threads."""
    counters = np.zeros((tickets, 2 * _LINE), np.int64)

    for who in range(1, threads):
        help_out(interpret, program, counters, who)
    interpret(program, counters, 0)


def _counter(context: Any, builder: Any, kind: Any, args: Any, place: int) -> Any:
    """Where a counter of ``tickets[i]`` stands."""
    array = context.make_array(kind)(context, builder, args[0])
    row = builder.mul(args[1], ir.Constant(ir.IntType(64), 2 * _LINE))
    return builder.gep(array.data, [builder.add(row, ir.Constant(ir.IntType(64), place * _LINE))])


@intrinsic  # type: ignore[untyped-decorator]
def take_part(_: Any, tickets: Any, i: Any) -> Any:
    """The number of the next part of step i that nobody has taken."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        counter = _counter(context, builder, signature.args[0], args, 0)
        return builder.atomic_rmw("add", counter, ir.Constant(ir.IntType(64), 1), "seq_cst")

    return types.int64(tickets, types.int64), code


@intrinsic  # type: ignore[untyped-decorator]
def finish_part(_: Any, tickets: Any, i: Any) -> Any:
    """Say that a part is done, and all that it wrote is there."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        counter = _counter(context, builder, signature.args[0], args, 1)
        return builder.atomic_rmw("add", counter, ir.Constant(ir.IntType(64), 1), "seq_cst")

    return types.int64(tickets, types.int64), code


@intrinsic  # type: ignore[untyped-decorator]
def _num_done(_: Any, tickets: Any, i: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        counter = _counter(context, builder, signature.args[0], args, 1)
        return builder.load_atomic(counter, "acquire", 8)

    return types.int64(tickets, types.int64), code


@fused
def wait_for(tickets: Any, i: Any, count: Any) -> None:
    """Until ``count`` parts of step i are done."""
    while _num_done(tickets, i) < count:
        pass
