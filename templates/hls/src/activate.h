// The activation of a hidden layer: Z = table[U], U = saturate(Y + bias).
#pragma once

#include "fixed.h"
#include "trace.h"
#include "types.h"

/// T_ACT features a cycle. `Table` is the layer's generated table of the activation over all codes of U.
template <class L, class Table>
void activate(unsigned nodes, const Packed<BiasWord<L> > bias[L::BIAS_BEATS],
              Stream<Lanes<Y<L>, L::T_ACT> >& rows, Stream<ActivateTile<L> >& tiles) {
    int index = 0;
    const unsigned count = nodes * L::ACT_TILES;
    HLS_PRODUCT(count, fabric)
    for (unsigned tile = 0; tile < count; ++tile) {
        HLS_PIPELINE
        HLS_TRIPS(L::ACTIVATE_TRIPS)
        const Lanes<Y<L>, L::T_ACT> y = unpack<Lanes<Y<L>, L::T_ACT> >(rows.read());
        const BiasWord<L> b = unpack<BiasWord<L> >(bias[index]);
        ActivateTile<L> z;
        for (int lane = 0; lane < L::T_ACT; ++lane) {
            HLS_UNROLL
            const ap_int<larger(L::Y_BITS, L::VALUE_BITS) + 1> sum = y.lane[lane] + b.lane[lane];
            z.lane[lane] = Table::look_up(saturate<L::VALUE_BITS>(sum));
        }
        TRACE(L, "activate", z.lane);
        tiles.write(pack(z));
        index = index == L::ACT_TILES - 1 ? 0 : index + 1;
    }
}
