"""Dense products in registers, to be called inside compiled loops.

A call into BLAS would wake its threads, and would hand the interpreter's lock to and fro; and its
sums depend on its version. Right factors are as wide as a multiple of sixteen.
"""

from __future__ import annotations

import numpy as np

from autogm.message.kernel import fused
from autogm.message.lanes import fma, load, spread, store

__all__ = ["multiply", "multiply_transposed", "transpose"]


@fused
def multiply(a, b, out):  # type: ignore[no-untyped-def]
    """out = a b."""
    wide = b.shape[1] // 64 * 64
    for c in range(0, wide, 64):
        _multiply_four(a, b, c, out)
    for c in range(wide, b.shape[1], 16):
        _multiply_one(a, b, c, out)


@fused
def _multiply_four(a, b, c, out):  # type: ignore[no-untyped-def]
    """Four registers of columns, four rows at a time: sixteen sums side by side."""
    rows, zero = len(a) // 4 * 4, spread(np.float32(0))
    for r in range(0, rows, 4):
        s00, s01, s02, s03 = zero, zero, zero, zero
        s10, s11, s12, s13 = zero, zero, zero, zero
        s20, s21, s22, s23 = zero, zero, zero, zero
        s30, s31, s32, s33 = zero, zero, zero, zero
        for j in range(a.shape[1]):
            b0, b1, b2, b3 = _load_four(b, j, c)
            x = spread(a[r, j])
            s00, s01, s02, s03 = fma(x, b0, s00), fma(x, b1, s01), fma(x, b2, s02), fma(x, b3, s03)
            x = spread(a[r + 1, j])
            s10, s11, s12, s13 = fma(x, b0, s10), fma(x, b1, s11), fma(x, b2, s12), fma(x, b3, s13)
            x = spread(a[r + 2, j])
            s20, s21, s22, s23 = fma(x, b0, s20), fma(x, b1, s21), fma(x, b2, s22), fma(x, b3, s23)
            x = spread(a[r + 3, j])
            s30, s31, s32, s33 = fma(x, b0, s30), fma(x, b1, s31), fma(x, b2, s32), fma(x, b3, s33)
        _store_four(out, r, c, s00, s01, s02, s03)
        _store_four(out, r + 1, c, s10, s11, s12, s13)
        _store_four(out, r + 2, c, s20, s21, s22, s23)
        _store_four(out, r + 3, c, s30, s31, s32, s33)
    for r in range(rows, len(a)):
        s0, s1, s2, s3 = zero, zero, zero, zero
        for j in range(a.shape[1]):
            b0, b1, b2, b3 = _load_four(b, j, c)
            x = spread(a[r, j])
            s0, s1, s2, s3 = fma(x, b0, s0), fma(x, b1, s1), fma(x, b2, s2), fma(x, b3, s3)
        _store_four(out, r, c, s0, s1, s2, s3)


@fused
def _multiply_one(a, b, c, out):  # type: ignore[no-untyped-def]
    """One register of columns, eight rows at a time: an addition takes as long as eight start."""
    rows, zero = len(a) // 8 * 8, spread(np.float32(0))
    for r in range(0, rows, 8):
        s0, s1, s2, s3 = zero, zero, zero, zero
        s4, s5, s6, s7 = zero, zero, zero, zero
        for j in range(a.shape[1]):
            b0 = load(b, j, c)
            s0, s1 = fma(spread(a[r, j]), b0, s0), fma(spread(a[r + 1, j]), b0, s1)
            s2, s3 = fma(spread(a[r + 2, j]), b0, s2), fma(spread(a[r + 3, j]), b0, s3)
            s4, s5 = fma(spread(a[r + 4, j]), b0, s4), fma(spread(a[r + 5, j]), b0, s5)
            s6, s7 = fma(spread(a[r + 6, j]), b0, s6), fma(spread(a[r + 7, j]), b0, s7)
        for i, total in enumerate((s0, s1, s2, s3, s4, s5, s6, s7)):
            store(out, r + i, c, total)
    for r in range(rows, len(a)):
        total = zero
        for j in range(a.shape[1]):
            total = fma(spread(a[r, j]), load(b, j, c), total)
        store(out, r, c, total)


@fused
def multiply_transposed(a, b, out):  # type: ignore[no-untyped-def]
    """out = aᵀ b: four rows of each at a time; sums run in the order of the rows."""
    out[:] = 0
    rows, wide = len(a) // 4 * 4, b.shape[1] // 64 * 64
    for r in range(0, rows, 4):
        for c in range(0, wide, 64):
            b00, b01, b02, b03 = _load_four(b, r, c)
            b10, b11, b12, b13 = _load_four(b, r + 1, c)
            b20, b21, b22, b23 = _load_four(b, r + 2, c)
            b30, b31, b32, b33 = _load_four(b, r + 3, c)
            for j in range(a.shape[1]):
                x0, x1 = spread(a[r, j]), spread(a[r + 1, j])
                x2, x3 = spread(a[r + 2, j]), spread(a[r + 3, j])
                s0, s1, s2, s3 = _load_four(out, j, c)
                s0, s1, s2, s3 = (
                    fma(x0, b00, s0),
                    fma(x0, b01, s1),
                    fma(x0, b02, s2),
                    fma(x0, b03, s3),
                )
                s0, s1, s2, s3 = (
                    fma(x1, b10, s0),
                    fma(x1, b11, s1),
                    fma(x1, b12, s2),
                    fma(x1, b13, s3),
                )
                s0, s1, s2, s3 = (
                    fma(x2, b20, s0),
                    fma(x2, b21, s1),
                    fma(x2, b22, s2),
                    fma(x2, b23, s3),
                )
                s0, s1, s2, s3 = (
                    fma(x3, b30, s0),
                    fma(x3, b31, s1),
                    fma(x3, b32, s2),
                    fma(x3, b33, s3),
                )
                _store_four(out, j, c, s0, s1, s2, s3)
        for c in range(wide, b.shape[1], 16):
            b0, b1, b2, b3 = load(b, r, c), load(b, r + 1, c), load(b, r + 2, c), load(b, r + 3, c)
            for j in range(a.shape[1]):
                s0 = fma(spread(a[r, j]), b0, load(out, j, c))
                s0 = fma(spread(a[r + 1, j]), b1, s0)
                s0 = fma(spread(a[r + 2, j]), b2, s0)
                store(out, j, c, fma(spread(a[r + 3, j]), b3, s0))
    for r in range(rows, len(a)):
        for c in range(0, b.shape[1], 16):
            b0 = load(b, r, c)
            for j in range(a.shape[1]):
                store(out, j, c, fma(spread(a[r, j]), b0, load(out, j, c)))


@fused
def transpose(a, out):  # type: ignore[no-untyped-def]
    """out = aᵀ, for matrices that are small beside what they are multiplied with."""
    for r in range(len(a)):
        for c in range(a.shape[1]):
            out[c, r] = a[r, c]


@fused
def _load_four(a, r, c):  # type: ignore[no-untyped-def]
    return load(a, r, c), load(a, r, c + 16), load(a, r, c + 32), load(a, r, c + 48)


@fused
def _store_four(out, r, c, s0, s1, s2, s3):  # type: ignore[no-untyped-def]
    store(out, r, c, s0)
    store(out, r, c + 16, s1)
    store(out, r, c + 32, s2)
    store(out, r, c + 48, s3)
