// gat's second pass over a row: messages weighted by their softmax; the division behind it applies the denominator.
#pragma once

#include "aggregate.h"
#include "types.h"

/// The coefficients of one edge: 256 for the strongest edge of its row. The table holds 256 exp(-D 2^-f / 5).
template <class L, class Exponential>
Coefficients<L> weights_of(const Exponents<L>& here, const Exponents<L>& largest) {
    HLS_INLINE
    Coefficients<L> coefficients;
    for (int lane = 0; lane < L::GROUP_HEADS; ++lane) {
        HLS_UNROLL
        const ap_uint<L::EXPONENT_BITS> difference = largest.lane[lane] - here.lane[lane];
        coefficients.lane[lane] = Exponential::look_up(difference);
    }
    return coefficients;
}

/// The loops run over edges, then groups of heads, then the tiles of a group: the order of H and of the ring. Sums,
/// maxima and sums of coefficients that the next cycle needs are kept in registers, as in linear.h.
template <class L, class Exponential>
void aggregate_gat(unsigned nodes, const Packed<HWord<L> > h[L::H_DEPTH], Stream<ScoredEdge<L> >& ring,
                   Stream<Exponents<L> >& maxima, Stream<TotalTile<L> >& totals) {
    const int TILES_PER_WORD = L::H_LANES / L::T_AGGR;
    typedef Lanes<ap_uint<L::COEFFICIENT_SUM_BITS>, L::GROUP_HEADS> CoefficientSums;
    Packed<AggregateSums<L> > sums[L::AGGR_TILES];
    Packed<CoefficientSums> weights[L::HEAD_GROUPS];
    Packed<Exponents<L> > largest[L::HEAD_GROUPS];
    HLS_STORAGE(sums, ram_s2p, lutram)
    HLS_STORAGE(weights, ram_s2p, lutram)
    HLS_STORAGE(largest, ram_s2p, lutram)
    HLS_RETURNS_AFTER_TWO(sums)
    HLS_RETURNS_AFTER_TWO(weights)
    HLS_RETURNS_AFTER_TWO(largest)
    AggregateSums<L> recent = zeros<AggregateSums<L> >();
    CoefficientSums weight = zeros<CoefficientSums>();
    Exponents<L> maximum = zeros<Exponents<L> >();
    ScoredEdge<L> edge = zeros<ScoredEdge<L> >();
    Coefficients<L> coefficients = zeros<Coefficients<L> >();
    ap_uint<L::DEGREE_BITS> degree = 1;
    int tile = 0, group = 0, group_tile = 0;  // tile = group * GROUP_TILES + group_tile
    unsigned node = 0;
    while (node < nodes) {
        HLS_PIPELINE
        HLS_TRIPS(L::AGGREGATE_TRIPS)
        const bool first = degree == 1;
        if (group_tile == 0) {
            edge = unpack<ScoredEdge<L> >(ring.read());
            if (first) maximum = unpack<Exponents<L> >(maxima.read());
            else if (L::HEAD_GROUPS > 1) maximum = unpack<Exponents<L> >(largest[group]);
            if (first) largest[group] = pack(maximum);
            coefficients = weights_of<L, Exponential>(edge.exponents, maximum);
            if (L::HEAD_GROUPS > 1) weight = unpack<CoefficientSums>(weights[group]);
            for (int lane = 0; lane < L::GROUP_HEADS; ++lane) {
                HLS_UNROLL
                if (first) weight.lane[lane] = 0;
                weight.lane[lane] += coefficients.lane[lane];
            }
            weights[group] = pack(weight);
        }
        const unsigned row = edge.source.to_uint() * L::H_WORDS;
        HLS_PRODUCT(row, fabric)
        const Packed<HWord<L> > word = h[row + tile / TILES_PER_WORD];
        AggregateSum<L> message[L::T_AGGR];
        HLS_REGISTERS(message)
        weigh<L>(tile_of<L>(word, tile % TILES_PER_WORD), coefficients, message);
        recent = combine<L>(L::AGGR_TILES == 1 ? recent : unpack<AggregateSums<L> >(sums[tile]), message, first);
        sums[tile] = pack(recent);
        if (edge.last) {
            TotalTile<L> total;
            total.sums = recent;
            for (int lane = 0; lane < L::GROUP_HEADS; ++lane) {
                HLS_UNROLL
                // One product per head and row; the DSP budget does not cover it.
                const auto product = weight.lane[lane] * degree;
                HLS_PRODUCT(product, fabric)
                total.divisors.lane[lane] = L::MEAN ? Divisor<L>(product) : Divisor<L>(weight.lane[lane]);
            }
            totals.write(pack(total));
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
