// gat's first pass over a row: the exponent of each edge, and the largest exponent of the row.
#pragma once

#include "carry.h"
#include "rows.h"
#include "trace.h"
#include "types.h"

/// 5 LeakyReLU(s + r): the slope 0.2 is not a fixed-point value, but five times the function needs only integers.
template <class L>
Exponent<L> exponent(Value<L> s, Value<L> r) {
    HLS_INLINE
    const Exponent<L> z = Exponent<L>(s) + Exponent<L>(r);
    return z < 0 ? z : Exponent<L>(z + (z << 2));
}

/// Scores into the memories that rows of edges are looked up in: word g of node i at address i * HEAD_GROUPS + g.
template <class L>
void store_scores(unsigned nodes, Stream<NodeScores<L> >& scores, Packed<ScoreWord<L> > target_scores[L::SCORE_DEPTH],
                  Packed<ScoreWord<L> > source_scores[L::SCORE_DEPTH]) {
    const unsigned count = nodes * L::HEAD_GROUPS;
    HLS_PRODUCT(count, fabric)
    for (unsigned address = 0; address < count; ++address) {
        HLS_PIPELINE
        HLS_TRIPS(L::STORE_SCORES_TRIPS)
        const NodeScores<L> here = unpack<NodeScores<L> >(scores.read());
        target_scores[address] = pack(here.target);
        source_scores[address] = pack(here.source);
    }
}

/// The outer loop runs over edges, the inner one over groups of heads. The exponents go into `ring`, which holds the
/// edges of two rows. The second pass, which must wait for the row's maxima, reads its edges there, so main memory is
/// read once.
template <class L>
void row_maximum(unsigned nodes, const Packed<ScoreWord<L> > target_scores[L::SCORE_DEPTH],
                 const Packed<ScoreWord<L> > source_scores[L::SCORE_DEPTH], Stream<Edge>& edges,
                 Stream<ScoredEdge<L> >& ring, Stream<Exponents<L> >& maxima) {
    Packed<Exponents<L> > largest[L::HEAD_GROUPS];
    HLS_STORAGE(largest, ram_s2p, lutram)
    HLS_RETURNS_AFTER_TWO(largest)
    Carry<Exponents<L>, L::HEAD_GROUPS> carry;
    Edge edge = zeros<Edge>();
    bool first = true;  // edge of the row
    Turns<L::HEAD_GROUPS> group;
    unsigned target = 0;  // the node times HEAD_GROUPS, without a multiplier
    Rows rows(nodes);
    while (rows.more) {
        HLS_PIPELINE
        HLS_TRIPS(L::MAXIMUM_TRIPS)
        if (group.first) edge = unpack<Edge>(edges.read());
        const unsigned source = edge.source.to_uint() * L::HEAD_GROUPS;
        HLS_PRODUCT(source, fabric)
        const ScoreWord<L> s = unpack<ScoreWord<L> >(target_scores[target + group.at.to_uint()]);
        const ScoreWord<L> r = unpack<ScoreWord<L> >(source_scores[source + group.at.to_uint()]);
        const Exponents<L> before = carry.before();
        Exponents<L> after;
        ScoredEdge<L> scored;
        scored.source = edge.source;
        scored.last = edge.last;
        for (int lane = 0; lane < L::GROUP_HEADS; ++lane) {
            HLS_UNROLL
            const Exponent<L> here = exponent<L>(s.lane[lane], r.lane[lane]), there = before.lane[lane];
            scored.exponents.lane[lane] = here;
            after.lane[lane] = first || here > there ? here : there;
        }
        carry.keep(after, group, largest);
        ring.write(pack(scored));
        if (edge.last) {
            TRACE_ROW(L, "row_maximum", after.lane, L::HEADS);
            maxima.write(pack(after));
        }
        if (group.last) {
            first = edge.last;
            if (edge.last) target += L::HEAD_GROUPS;
        }
        rows.next(group.last && edge.last);
        group.next();
    }
}
