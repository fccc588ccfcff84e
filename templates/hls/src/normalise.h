// After the aggregation: the one rounding that turns an exact total into Y, and the division for the mean and for gat.
#pragma once

#include "fixed.h"
#include "trace.h"
#include "types.h"

/// total / divisor at Y's fraction bits. A positive shift multiplies the divisor, a negative one the dividend.
template <class L>
Y<L> divide(const AggregateSum<L>& total, const Divisor<L>& by) {
    HLS_INLINE
    const int RIGHT = larger(L::AGGREGATE_SHIFT, 0), LEFT = larger(-L::AGGREGATE_SHIFT, 0);
    const ap_int<L::AGGREGATE_BITS + LEFT> dividend = ap_int<L::AGGREGATE_BITS + LEFT>(total) << LEFT;
    const ap_uint<L::DIVISOR_BITS + RIGHT> divisor = ap_uint<L::DIVISOR_BITS + RIGHT>(by) << RIGHT;
    return divide_even<L::Y_BITS>(dividend, divisor);
}

template <class L>
void normalise(unsigned nodes, Stream<TotalTile<L> >& totals, Stream<YTile<L> >& tiles) {
    const unsigned count = nodes * L::AGGR_TILES;
    HLS_PRODUCT(count, fabric)
    for (unsigned tile = 0; tile < count; ++tile) {
        HLS_PIPELINE
        HLS_TRIPS(L::NORMALISE_TRIPS)
        const TotalTile<L> total = unpack<TotalTile<L> >(totals.read());
        YTile<L> y;
        for (int lane = 0; lane < L::T_AGGR; ++lane) {
            HLS_UNROLL
            const int head = lane / L::HEAD_LANES % L::GROUP_HEADS;
            if (L::DIVIDES) y.lane[lane] = divide<L>(total.sums.lane[lane], total.divisors.lane[head]);
            else y.lane[lane] = shift_right_even<L::AGGREGATE_SHIFT>(total.sums.lane[lane]);
        }
        TRACE(L, "aggregate", y.lane);
        tiles.write(pack(y));
    }
}
