// The scores of gat: s = a_l . h and r = a_r . h of every head, computed while H is stored.
#pragma once

#include "carry.h"
#include "fixed.h"
#include "multiply.h"
#include "trace.h"
#include "types.h"

/// The sum of T_ATTN products.
template <class L>
ap_int<L::SCORE_BITS> dot(const ScoreTile<L>& h, const AttentionWord<L>& a) {
    HLS_INLINE
    ap_int<L::VALUE_BITS + L::WEIGHT_BITS> product[L::T_ATTN];
    HLS_REGISTERS(product)
    Multipliers<L::T_ATTN, L::SCORE_DSP>::run(h.lane, a.lane, product);
    ap_int<L::SCORE_BITS> added[L::T_ATTN];
    HLS_REGISTERS(added)
    for (int lane = 0; lane < L::T_ATTN; ++lane) {
        HLS_UNROLL
        added[lane] = product[lane];
    }
    return Tree<L::T_ATTN>::sum(added);
}

/// Two cycles per tile: one for the target's vector, one for the source's. The scores of GROUP_HEADS heads leave
/// together.
template <class L>
void score(unsigned nodes, const Packed<AttentionWord<L> > attention[L::ATTENTION_BEATS],
           Stream<ScoreTile<L> >& tiles, Stream<NodeScores<L> >& scores) {
    ap_int<L::SCORE_BITS> recent = 0, older = 0;  // sums of the two vectors in turn
    NodeScores<L> node = zeros<NodeScores<L> >();
    ScoreTile<L> h = zeros<ScoreTile<L> >();
    Turns<L::ATTENTION_BEATS> index;  // of the vectors' word
    Turns<L::SCORE_TILES> tile;
    Turns<L::GROUP_HEADS> head;
    bool for_source = false;
    const unsigned count = nodes * L::ATTENTION_BEATS;
    HLS_PRODUCT(count, fabric)
    for (unsigned step = 0; step < count; ++step) {
        HLS_PIPELINE
        HLS_TRIPS(L::SCORE_TRIPS)
        if (!for_source) h = unpack<ScoreTile<L> >(tiles.read());
        ap_int<L::SCORE_BITS> before = older;
        if (tile.first) before = 0;
        const ap_int<L::SCORE_BITS> sum = before + dot<L>(h, unpack<AttentionWord<L> >(attention[index.at]));
        const Value<L> rounded = saturate<L::VALUE_BITS>(shift_right_even<L::SCORE_SHIFT>(sum));
        older = recent;
        recent = sum;
        for (int lane = 0; lane < L::GROUP_HEADS; ++lane) {
            HLS_UNROLL
            if (head.at == lane && for_source) node.source.lane[lane] = rounded;
            if (head.at == lane && !for_source) node.target.lane[lane] = rounded;
        }
        if (for_source && tile.last && head.last) {
            TRACE_ROW(L, "target_scores", node.target.lane, L::HEADS);
            TRACE_ROW(L, "source_scores", node.source.lane, L::HEADS);
            scores.write(pack(node));
        }
        head.next(for_source && tile.last);
        tile.next(for_source);
        for_source = !for_source;
        index.next();
    }
}
