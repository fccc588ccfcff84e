// The aggregation: the sum, or the maximum, of the weighted messages over the neighbourhood of each node.
#pragma once

#include "multiply.h"
#include "types.h"

/// The messages c * h of one tile, with a coefficient for each of its heads. Without coefficients a message is h
/// itself, and no multiplier is built.
template <class L>
void weigh(const HWord<L>& word, int first_lane, const ap_uint<COEFFICIENT_BITS> coefficient[L::GROUP_HEADS],
           AggregateSum<L> message[L::T_AGGR]) {
    HLS_INLINE
    Value<L> value[L::T_AGGR];
    ap_uint<COEFFICIENT_BITS> weight[L::T_AGGR];
    HLS_REGISTERS(value)
    HLS_REGISTERS(weight)
    for (int lane = 0; lane < L::T_AGGR; ++lane) {
        HLS_UNROLL
        value[lane] = word.lane[first_lane + lane];
        weight[lane] = coefficient[lane / L::HEAD_LANES % L::GROUP_HEADS];
        message[lane] = value[lane];
    }
    // A compile-time constant: only one of the two branches is built.
    if (L::WEIGHTED || L::GAT) Multipliers<L::T_AGGR, L::AGGREGATE_DSP>::run(value, weight, message);
}

/// The sums, or maxima, of a tile after one more message.
template <class L>
AggregateSums<L> combine(const AggregateSums<L>& before, const AggregateSum<L> message[L::T_AGGR], bool first) {
    HLS_INLINE
    AggregateSums<L> after;
    for (int lane = 0; lane < L::T_AGGR; ++lane) {
        HLS_UNROLL
        const AggregateSum<L> there = before.lane[lane], here = message[lane];
        if (first) after.lane[lane] = here;
        else if (L::MAXIMUM) after.lane[lane] = there > here ? there : here;
        else after.lane[lane] = there + here;
    }
    return after;
}

/// The outer loop runs over edges, the inner one over tiles: an edge is read once, and its row of H word by word. Sums
/// are kept as in linear.h.
template <class L>
void aggregate(unsigned nodes, const HWord<L> h[L::H_DEPTH], hls::stream<Edge>& edges,
               hls::stream<TotalTile<L> >& totals) {
    const int TILES_PER_WORD = L::H_LANES / L::T_AGGR;
    AggregateSums<L> sums[L::AGGR_TILES], recent = {};
    HLS_PACKED(sums)
    HLS_STORAGE(sums, ram_s2p, lutram)
    HLS_RETURNS_AFTER_TWO(sums)
    Edge edge = {0, 0, false};
    ap_uint<L::DEGREE_BITS> degree = 0;
    int tile = 0;
    unsigned node = 0;
    while (node < nodes) {
        HLS_PIPELINE
        HLS_TRIPS(L::AGGREGATE_TRIPS)
        if (tile == 0) {
            edge = edges.read();
            ++degree;
        }
        const unsigned row = edge.source.to_uint() * L::H_WORDS;
        HLS_PRODUCT(row, fabric)
        const HWord<L> word = h[row + tile / TILES_PER_WORD];
        AggregateSum<L> message[L::T_AGGR];
        HLS_REGISTERS(message)
        const ap_uint<COEFFICIENT_BITS> coefficient[1] = {edge.coefficient};
        HLS_REGISTERS(coefficient)
        weigh<L>(word, tile % TILES_PER_WORD * L::T_AGGR, coefficient, message);

        recent = combine<L>(L::AGGR_TILES == 1 ? recent : sums[tile], message, degree == 1);
        sums[tile] = recent;
        if (edge.last) {
            const TotalTile<L> total = {recent, {degree}};
            totals.write(total);
        }
        if (++tile == L::AGGR_TILES) {
            tile = 0;
            if (edge.last) {
                degree = 0;
                ++node;
            }
        }
    }
}
