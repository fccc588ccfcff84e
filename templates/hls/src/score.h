// The scores of gat: s = a_l . h and r = a_r . h of every head, computed while H is stored.
#pragma once

#include "fixed.h"
#include "multiply.h"
#include "trace.h"
#include "types.h"

/// The sum of T_ATTN products, added to `before`.
template <class L>
ap_int<L::SCORE_BITS> dot(const ScoreTile<L>& h, const AttentionWord<L>& a, ap_int<L::SCORE_BITS> before) {
    HLS_INLINE
    ap_int<L::VALUE_BITS + L::WEIGHT_BITS> product[L::T_ATTN];
    HLS_REGISTERS(product)
    Multipliers<L::T_ATTN, L::SCORE_DSP>::run(h.lane, a.lane, product);
    for (int lane = 0; lane < L::T_ATTN; ++lane) {
        HLS_UNROLL
        before += product[lane];
    }
    return before;
}

/// Two cycles per tile: one for the target's vector, one for the source's. Each memory word holds the scores of
/// GROUP_HEADS heads; word g of node i is at address i * HEAD_GROUPS + g.
template <class L>
void score(unsigned nodes, const AttentionWord<L> attention[L::ATTENTION_BEATS], hls::stream<ScoreTile<L> >& tiles,
           ScoreWord<L> target_scores[L::SCORE_DEPTH], ScoreWord<L> source_scores[L::SCORE_DEPTH]) {
    ap_int<L::SCORE_BITS> target_sum = 0, source_sum = 0;
    ScoreWord<L> target = {}, source = {};
    ScoreTile<L> h = {};
    int index = 0, tile = 0, lane = 0;  // index of the vector's word
    bool for_source = false;
    unsigned address = 0;
    const unsigned count = nodes * L::ATTENTION_BEATS;
    HLS_PRODUCT(count, fabric)
    for (unsigned step = 0; step < count; ++step) {
        HLS_PIPELINE
        HLS_TRIPS(L::SCORE_TRIPS)
        if (!for_source) h = tiles.read();
        const ap_int<L::SCORE_BITS> before = tile == 0 ? ap_int<L::SCORE_BITS>(0) : for_source ? source_sum : target_sum;
        const ap_int<L::SCORE_BITS> sum = dot<L>(h, attention[index], before);
        const Value<L> rounded = saturate<L::VALUE_BITS>(shift_right_even<L::SCORE_SHIFT>(sum));
        if (for_source) {
            source_sum = sum;
            source.lane[lane] = rounded;
        } else {
            target_sum = sum;
            target.lane[lane] = rounded;
        }
        if (for_source && ++tile == L::SCORE_TILES) {
            tile = 0;
            if (++lane == L::GROUP_HEADS) {
                lane = 0;
                TRACE_ROW(L, "target_scores", target.lane, L::HEADS);
                TRACE_ROW(L, "source_scores", source.lane, L::HEADS);
                target_scores[address] = target;
                source_scores[address] = source;
                ++address;
            }
        }
        for_source = !for_source;
        index = index == L::ATTENTION_BEATS - 1 ? 0 : index + 1;
    }
}
