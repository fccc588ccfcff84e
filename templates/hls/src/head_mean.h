// The end of the last layer: the mean over heads, rounded, plus the bias, saturated to 16 bits, is a logit.
#pragma once

#include "fixed.h"
#include "types.h"

/// Features of the last layer lie class by class, so a tile holds the heads of CLASS_LANES classes, or, where a class
/// has more heads than a tile has lanes, HEAD_TILES tiles hold the heads of one.
template <class L>
void head_mean(unsigned nodes, const BiasWord<L> bias[L::BIAS_BEATS], hls::stream<YTile<L> >& tiles,
               hls::stream<Lanes<ap_int<16>, L::CLASS_LANES> >& logits) {
    const int HEADS_A_TILE = L::HEADS < L::T_AGGR ? L::HEADS : L::T_AGGR;
    typedef ap_int<L::Y_BITS + L::LOG2_HEADS> Sum;
    Sum sums[L::CLASS_LANES];
#pragma HLS ARRAY_PARTITION variable=sums type=complete
    int head_tile = 0, class_tile = 0;
    const unsigned count = nodes * (L::CLASS_TILES * L::HEAD_TILES);
#pragma HLS BIND_OP variable=count op=mul impl=fabric
    for (unsigned tile = 0; tile < count; ++tile) {
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT max=L::NORMALISE_TRIPS
        const YTile<L> y = tiles.read();
        const BiasWord<L> b = bias[class_tile];
        Lanes<ap_int<16>, L::CLASS_LANES> logit;
        for (int lane = 0; lane < L::CLASS_LANES; ++lane) {
#pragma HLS UNROLL
            Sum sum = head_tile == 0 ? Sum(0) : sums[lane];
            for (int head = 0; head < HEADS_A_TILE; ++head) {
#pragma HLS UNROLL
                sum += y.lane[lane * HEADS_A_TILE + head];
            }
            sums[lane] = sum;
            const ap_int<L::VALUE_BITS + L::LOGIT_EXTRA_BITS> offset =
                ap_int<L::VALUE_BITS + L::LOGIT_EXTRA_BITS>(b.lane[lane]) << L::LOGIT_EXTRA_BITS;
            logit.lane[lane] = saturate<16>(shift_right_even<L::LOG2_HEADS>(sum) + offset);
        }
        const bool finished = head_tile == L::HEAD_TILES - 1;
        if (finished) {
            logits.write(logit);
            class_tile = class_tile == L::CLASS_TILES - 1 ? 0 : class_tile + 1;
        }
        head_tile = finished ? 0 : head_tile + 1;
    }
}
