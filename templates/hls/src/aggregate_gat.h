// gat's second pass over a row: messages weighted by their softmax; the division behind it applies the denominator.
#pragma once

#include "aggregate.h"
#include "types.h"

/// The coefficients of one edge: 256 for the strongest edge of its row. The table holds 256 exp(-D 2^-f / 5).
template <class L, class Exponential>
void coefficients(const Exponents<L>& here, const Exponents<L>& largest, ap_uint<COEFFICIENT_BITS> coefficient[L::GROUP_HEADS]) {
    HLS_INLINE
    for (int lane = 0; lane < L::GROUP_HEADS; ++lane) {
        HLS_UNROLL
        const ap_uint<L::EXPONENT_BITS> difference = largest.lane[lane] - here.lane[lane];
        coefficient[lane] = Exponential::look_up(difference);
    }
}

/// The loops run over edges, then groups of heads, then the tiles of a group: the order of H and of the ring. Sums,
/// maxima and sums of coefficients that the next cycle needs are kept in registers, as in linear.h.
template <class L, class Exponential>
void aggregate_gat(unsigned nodes, const HWord<L> h[L::H_DEPTH], hls::stream<ScoredEdge<L> >& ring,
                   hls::stream<Exponents<L> >& maxima, hls::stream<TotalTile<L> >& totals) {
    const int TILES_PER_WORD = L::H_LANES / L::T_AGGR;
    typedef Lanes<ap_uint<L::COEFFICIENT_SUM_BITS>, L::GROUP_HEADS> CoefficientSums;
    AggregateSums<L> sums[L::AGGR_TILES], recent = {};
    CoefficientSums weights[L::HEAD_GROUPS], weight = {};
    Exponents<L> largest[L::HEAD_GROUPS], maximum = {};
    HLS_PACKED(sums)
    HLS_PACKED(weights)
    HLS_PACKED(largest)
    HLS_STORAGE(sums, ram_s2p, lutram)
    HLS_STORAGE(weights, ram_s2p, lutram)
    HLS_STORAGE(largest, ram_s2p, lutram)
    HLS_RETURNS_AFTER_TWO(sums)
    HLS_RETURNS_AFTER_TWO(weights)
    HLS_RETURNS_AFTER_TWO(largest)
    ScoredEdge<L> edge = {};
    ap_uint<COEFFICIENT_BITS> coefficient[L::GROUP_HEADS] = {};
    HLS_REGISTERS(coefficient)
    ap_uint<L::DEGREE_BITS> degree = 1;
    int tile = 0, group = 0, group_tile = 0;  // tile = group * GROUP_TILES + group_tile
    unsigned node = 0;
    while (node < nodes) {
        HLS_PIPELINE
        HLS_TRIPS(L::AGGREGATE_TRIPS)
        const bool first = degree == 1;
        if (group_tile == 0) {
            edge = ring.read();
            if (first) maximum = maxima.read();
            else if (L::HEAD_GROUPS > 1) maximum = largest[group];
            if (first) largest[group] = maximum;
            coefficients<L, Exponential>(edge.exponents, maximum, coefficient);
            if (L::HEAD_GROUPS > 1) weight = weights[group];
            for (int lane = 0; lane < L::GROUP_HEADS; ++lane) {
                HLS_UNROLL
                if (first) weight.lane[lane] = 0;
                weight.lane[lane] += coefficient[lane];
            }
            weights[group] = weight;
        }
        const unsigned row = edge.source.to_uint() * L::H_WORDS;
        HLS_PRODUCT(row, fabric)
        const HWord<L> word = h[row + tile / TILES_PER_WORD];
        AggregateSum<L> message[L::T_AGGR];
        HLS_REGISTERS(message)
        weigh<L>(word, tile % TILES_PER_WORD * L::T_AGGR, coefficient, message);
        recent = combine<L>(L::AGGR_TILES == 1 ? recent : sums[tile], message, first);
        sums[tile] = recent;
        if (edge.last) {
            TotalTile<L> total;
            total.sums = recent;
            for (int lane = 0; lane < L::GROUP_HEADS; ++lane) {
                HLS_UNROLL
                const Divisor<L> times = L::MEAN ? degree : ap_uint<L::DEGREE_BITS>(1);
                const Divisor<L> divisor = weight.lane[lane] * times;
                // One product per head and row; the DSP budget does not cover it.
                HLS_PRODUCT(divisor, fabric)
                total.divisor[lane] = divisor;
            }
            totals.write(total);
        }
        const bool group_ends = group_tile == L::GROUP_TILES - 1, edge_ends = group_ends && group == L::HEAD_GROUPS - 1;
        group_tile = group_ends ? 0 : group_tile + 1;
        if (group_ends) group = edge_ends ? 0 : group + 1;
        tile = edge_ends ? 0 : tile + 1;
        if (edge_ends) {
            degree = edge.last ? ap_uint<L::DEGREE_BITS>(1) : ap_uint<L::DEGREE_BITS>(degree + 1);
            if (edge.last) ++node;
        }
    }
}
