// Rounding to nearest with ties to even, and saturation, on integers: the only roundings in the kernel.
#pragma once

#include <ap_int.h>

#include "pragmas.h"

constexpr int larger(int a, int b) { return a > b ? a : b; }

/// x / 2^SHIFT, rounded; a negative SHIFT is an exact shift to the left.
template <int SHIFT, int BITS>
ap_int<larger(BITS - SHIFT, 1) + 1> shift_right_even(ap_int<BITS> x) {
    HLS_INLINE
    const int RIGHT = larger(SHIFT, 0), LEFT = larger(-SHIFT, 0);
    typedef ap_int<larger(BITS, RIGHT + 2) + LEFT> Wide;
    const Wide wide = x;
    if (RIGHT == 0) return wide << LEFT;
    const Wide floor = wide >> RIGHT;
    const Wide rest = wide - (floor << RIGHT);
    const Wide half = (Wide(1) << RIGHT) >> 1;
    const bool up = rest > half || (rest == half && (floor & 1) != 0);
    return floor + Wide(up);
}

/// x clipped to the range of OUT bits.
template <int OUT, int BITS>
ap_int<OUT> saturate(ap_int<BITS> x) {
    HLS_INLINE
    typedef ap_int<larger(BITS, OUT) + 1> Wide;
    const Wide top = (Wide(1) << (OUT - 1)) - 1;
    const Wide wide = x;
    if (wide > top) return top;
    if (wide < ~top) return ~top;
    return wide;
}

/// numerator / denominator, rounded, for a quotient that fits in OUT bits.
///
/// A restoring division with one quotient bit per step. Unrolled in a pipeline it is one subtraction per stage, and it
/// leaves the remainder that the rounding needs; the operator / would need a multiplication to recover it.
template <int OUT, int BITS, int DENOMINATOR>
ap_int<OUT> divide_even(ap_int<BITS> numerator, ap_uint<DENOMINATOR> denominator) {
    HLS_INLINE
    const int WIDE = larger(BITS, OUT) + 1;
    const bool negative = numerator < 0;
    // Rounding to even is symmetric about 0, so the magnitude is divided and the sign restored.
    const ap_uint<WIDE> magnitude = negative ? ap_int<WIDE>(-numerator) : ap_int<WIDE>(numerator);
    ap_uint<larger(DENOMINATOR, WIDE - OUT) + 1> rest = magnitude >> OUT;
    ap_uint<OUT + 1> quotient = 0;
    for (int bit = OUT - 1; bit >= 0; --bit) {
        HLS_UNROLL
        rest = (rest << 1) | ((magnitude >> bit) & 1);
        quotient = quotient << 1;
        if (rest >= denominator) {
            rest = rest - denominator;
            quotient = quotient | 1;
        }
    }
    const ap_uint<larger(DENOMINATOR, WIDE - OUT) + 2> twice = rest << 1;
    if (twice > denominator || (twice == denominator && (quotient & 1) != 0)) quotient = quotient + 1;
    const ap_int<OUT + 2> magnitude_quotient = quotient;
    return negative ? ap_int<OUT + 2>(-magnitude_quotient) : magnitude_quotient;
}
