// gat's first pass over a row: the exponent of each edge, and the largest exponent of the row.
#pragma once

#include "trace.h"
#include "types.h"

/// 5 LeakyReLU(s + r): the slope 0.2 is not a fixed-point value, but five times the function needs only integers.
template <class L>
Exponent<L> exponent(Value<L> s, Value<L> r) {
    HLS_INLINE
    const Exponent<L> z = Exponent<L>(s) + Exponent<L>(r);
    return z < 0 ? z : Exponent<L>(z + (z << 2));
}

/// The outer loop runs over edges, the inner one over groups of heads. The exponents go into `ring`, which holds the
/// edges of two rows. The second pass, which must wait for the row's maxima, reads its edges there, so main memory is
/// read once.
template <class L>
void row_maximum(unsigned nodes, const ScoreWord<L> target_scores[L::SCORE_DEPTH],
                 const ScoreWord<L> source_scores[L::SCORE_DEPTH], hls::stream<Edge>& edges,
                 hls::stream<ScoredEdge<L> >& ring, hls::stream<Exponents<L> >& maxima) {
    // A single group needs its maxima in the next cycle and keeps them in the register `recent`.
    Exponents<L> largest[L::HEAD_GROUPS], recent = {};
    HLS_PACKED(largest)
    HLS_STORAGE(largest, ram_s2p, lutram)
    HLS_RETURNS_AFTER_TWO(largest)
    Edge edge = {0, 0, false};
    bool first = true;  // edge of the row
    int group = 0;
    unsigned node = 0, target = 0;  // target = node * HEAD_GROUPS, without a multiplier
    while (node < nodes) {
        HLS_PIPELINE
        HLS_TRIPS(L::MAXIMUM_TRIPS)
        if (group == 0) edge = edges.read();
        const unsigned source = edge.source.to_uint() * L::HEAD_GROUPS;
        HLS_PRODUCT(source, fabric)
        const ScoreWord<L> s = target_scores[target + group], r = source_scores[source + group];
        const Exponents<L> before = L::HEAD_GROUPS == 1 ? recent : largest[group];
        ScoredEdge<L> scored;
        scored.source = edge.source;
        scored.last = edge.last;
        for (int lane = 0; lane < L::GROUP_HEADS; ++lane) {
            HLS_UNROLL
            const Exponent<L> here = exponent<L>(s.lane[lane], r.lane[lane]), there = before.lane[lane];
            scored.exponents.lane[lane] = here;
            recent.lane[lane] = first || here > there ? here : there;
        }
        largest[group] = recent;
        ring.write(scored);
        if (edge.last) {
            TRACE_ROW(L, "row_maximum", recent.lane, L::HEADS);
            maxima.write(recent);
        }
        if (++group == L::HEAD_GROUPS) {
            group = 0;
            first = edge.last;
            if (edge.last) {
                ++node;
                target += L::HEAD_GROUPS;
            }
        }
    }
}
