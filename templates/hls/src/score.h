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

/// Two cycles per tile: one for the target's vector, one for the source's. The scores of GROUP_HEADS heads leave
/// together.
template <class L>
void score(unsigned nodes, const Packed<AttentionWord<L> > attention[L::ATTENTION_BEATS],
           Stream<ScoreTile<L> >& tiles, Stream<NodeScores<L> >& scores) {
    ap_int<L::SCORE_BITS> target_sum = 0, source_sum = 0;
    NodeScores<L> node = zeros<NodeScores<L> >();
    ScoreTile<L> h = zeros<ScoreTile<L> >();
    int index = 0, tile = 0, head = 0;  // index of the vector's word
    bool for_source = false;
    const unsigned count = nodes * L::ATTENTION_BEATS;
    HLS_PRODUCT(count, fabric)
    for (unsigned step = 0; step < count; ++step) {
        HLS_PIPELINE
        HLS_TRIPS(L::SCORE_TRIPS)
        if (!for_source) h = unpack<ScoreTile<L> >(tiles.read());
        const ap_int<L::SCORE_BITS> before = tile == 0 ? ap_int<L::SCORE_BITS>(0) : for_source ? source_sum : target_sum;
        const ap_int<L::SCORE_BITS> sum = dot<L>(h, unpack<AttentionWord<L> >(attention[index]), before);
        const Value<L> rounded = saturate<L::VALUE_BITS>(shift_right_even<L::SCORE_SHIFT>(sum));
        if (for_source) source_sum = sum;
        else target_sum = sum;
        for (int lane = 0; lane < L::GROUP_HEADS; ++lane) {
            HLS_UNROLL
            if (lane == head && for_source) node.source.lane[lane] = rounded;
            if (lane == head && !for_source) node.target.lane[lane] = rounded;
        }
        if (for_source && ++tile == L::SCORE_TILES) {
            tile = 0;
            if (++head == L::GROUP_HEADS) {
                head = 0;
                TRACE_ROW(L, "target_scores", node.target.lane, L::HEADS);
                TRACE_ROW(L, "source_scores", node.source.lane, L::HEADS);
                scores.write(pack(node));
            }
        }
        for_source = !for_source;
        index = index == L::ATTENTION_BEATS - 1 ? 0 : index + 1;
    }
}
