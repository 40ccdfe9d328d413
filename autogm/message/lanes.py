"""Sixteen float32 numbers in one register, as a type that compiled loops can hold.

A loop over sixteen columns is unrolled before LLVM looks for vectors in it, and then misses them
(measured: four times slower). Loops over these need not be recognised: an operation is one
instruction, or two where registers are narrower. Rows are C-contiguous and as wide as a multiple
of sixteen; `padded` is that width.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

__all__ = [
    "LANES",
    "fetch",
    "fma",
    "keep",
    "load",
    "lowest",
    "padded",
    "positive",
    "spread",
    "store",
    "sum_of",
    "where_above",
]

LANES = 16

_VECTOR = ir.VectorType(ir.FloatType(), LANES)


def padded(width: int) -> int:
    """The next multiple of sixteen."""
    return -(-width // LANES) * LANES


class _Lanes(types.Type):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(name="float32x16")


_lanes = _Lanes()


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


def _place(context: Any, builder: Any, kind: Any, array: Any, row: Any, column: Any) -> Any:
    if kind.layout != "C" or kind.dtype != types.float32:
        raise TypeError(f"rows of registers must be C-contiguous float32, but got {kind}")
    matrix = context.make_array(kind)(context, builder, array)
    width = cgutils.unpack_tuple(builder, matrix.shape)[1]
    entry = builder.gep(matrix.data, [builder.add(builder.mul(row, width), column)])
    return builder.bitcast(entry, _VECTOR.as_pointer())


def _splat(builder: Any, value: Any) -> Any:
    first = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), value, _index(0))
    same = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, ir.Constant(_VECTOR, ir.Undefined), same)


def _index(i: int) -> Any:
    return ir.Constant(ir.IntType(32), i)


_ZEROS = ir.Constant(_VECTOR, [0.0] * LANES)


@intrinsic  # type: ignore[untyped-decorator]
def load(_: Any, array: Any, row: Any, column: Any) -> Any:
    """array[row, column : column + 16]."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_place(context, builder, signature.args[0], *args), align=4)

    return _lanes(array, types.intp, types.intp), code


@intrinsic  # type: ignore[untyped-decorator]
def store(_: Any, array: Any, row: Any, column: Any, lanes: Any) -> Any:
    """array[row, column : column + 16] = lanes."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature.args[0], *args[:3])
        builder.store(args[3], place, align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, lanes), code


@intrinsic  # type: ignore[untyped-decorator]
def spread(_: Any, number: Any) -> Any:
    """The same number in every lane."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _splat(builder, args[0])

    return _lanes(types.float32), code


@intrinsic  # type: ignore[untyped-decorator]
def fma(_: Any, a: Any, b: Any, c: Any) -> Any:
    """a b + c."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        product = builder.fmul(args[0], args[1], flags=("contract",))
        return builder.fadd(product, args[2], flags=("contract",))

    return _lanes(_lanes, _lanes, _lanes), code


@intrinsic  # type: ignore[untyped-decorator]
def positive(_: Any, lanes: Any) -> Any:
    """max(x, 0); NaN stays NaN, so that a training that diverges is seen."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        negative = builder.fcmp_ordered("<", args[0], _ZEROS)
        return builder.select(negative, _ZEROS, args[0])

    return _lanes(_lanes), code


@intrinsic  # type: ignore[untyped-decorator]
def where_above(_: Any, condition: Any, lanes: Any) -> Any:
    """``lanes`` where the condition is above zero, zero elsewhere."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        above = builder.fcmp_ordered(">", args[0], _ZEROS)
        return builder.select(above, args[1], _ZEROS)

    return _lanes(_lanes, _lanes), code


@intrinsic  # type: ignore[untyped-decorator]
def keep(_: Any, bits: Any, lanes: Any) -> Any:
    """``lanes`` where the lowest sixteen bits are set, zero elsewhere."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        mask = builder.bitcast(
            builder.trunc(args[0], ir.IntType(LANES)), ir.VectorType(ir.IntType(1), LANES)
        )
        return builder.select(mask, args[1], _ZEROS)

    return _lanes(types.uint64, _lanes), code


@intrinsic  # type: ignore[untyped-decorator]
def lowest(_: Any, bits: Any) -> Any:
    """The place of the lowest bit that is set; 64 where none is."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), code


@intrinsic  # type: ignore[untyped-decorator]
def sum_of(_: Any, lanes: Any) -> Any:
    """The lanes' sum, halves added to halves."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        total = args[0]
        for half in (8, 4, 2, 1):
            turned = [(i + half) % LANES for i in range(LANES)]
            order = ir.Constant(ir.VectorType(ir.IntType(32), LANES), turned)
            total = builder.fadd(total, builder.shuffle_vector(total, total, order))
        return builder.extract_element(total, _index(0))

    return types.float32(_lanes), code


@intrinsic  # type: ignore[untyped-decorator]
def fetch(_: Any, array: Any, row: Any, column: Any) -> Any:
    """Ask for array[row, column : column + 16], which is to be loaded soon."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature.args[0], *args)
        generic = builder.bitcast(place, ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [generic.type, number, number, number])
        hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(hint, [generic, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp), code
