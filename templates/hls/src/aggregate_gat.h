// gat's second pass over a row: messages weighted by their softmax; the division behind it applies the denominator.
#pragma once

#include "aggregate.h"
#include "rows.h"
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
/// maxima and sums of coefficients come back as in linear.h.
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
    Carry<AggregateSums<L>, L::AGGR_TILES> carry;
    Carry<CoefficientSums, L::HEAD_GROUPS> carried_weights;
    Carry<Exponents<L>, L::HEAD_GROUPS> carried_maxima;
    CoefficientSums weight = zeros<CoefficientSums>();
    ScoredEdge<L> edge = zeros<ScoredEdge<L> >();
    Coefficients<L> coefficients = zeros<Coefficients<L> >();
    ap_uint<L::DEGREE_BITS> degree = 1;
    bool first = true;  // edge of the row
    Turns<L::AGGR_TILES> tile;  // group * GROUP_TILES + group_tile
    Turns<L::HEAD_GROUPS> group;
    Turns<L::GROUP_TILES> group_tile;
    Rows rows(nodes);
    while (rows.more) {
        HLS_PIPELINE
        HLS_TRIPS(L::AGGREGATE_TRIPS)
        if (group_tile.first) {
            edge = unpack<ScoredEdge<L> >(ring.read());
            Exponents<L> maximum = carried_maxima.before();
            if (first) maximum = unpack<Exponents<L> >(maxima.read());
            carried_maxima.keep(maximum, group, largest);
            coefficients = weights_of<L, Exponential>(edge.exponents, maximum);
            weight = carried_weights.before();
            for (int lane = 0; lane < L::GROUP_HEADS; ++lane) {
                HLS_UNROLL
                if (first) weight.lane[lane] = 0;
                weight.lane[lane] += coefficients.lane[lane];
            }
            carried_weights.keep(weight, group, weights);
        }
        const unsigned row = edge.source.to_uint() * L::H_WORDS;
        HLS_PRODUCT(row, fabric)
        const Packed<HWord<L> > word = h[row + tile.at.to_uint() / TILES_PER_WORD];
        AggregateSum<L> message[L::T_AGGR];
        HLS_REGISTERS(message)
        weigh<L>(tile_of<L>(word, tile.at.to_uint() % TILES_PER_WORD), coefficients, message);
        const AggregateSums<L> after = combine<L>(carry.before(), message, first);
        carry.keep(after, tile, sums);
        if (edge.last) {
            TotalTile<L> total;
            total.sums = after;
            for (int lane = 0; lane < L::GROUP_HEADS; ++lane) {
                HLS_UNROLL
                // One product per head and row; the DSP budget does not cover it.
                const auto product = weight.lane[lane] * degree;
                HLS_PRODUCT(product, fabric)
                total.divisors.lane[lane] = L::MEAN ? Divisor<L>(product) : Divisor<L>(weight.lane[lane]);
            }
            totals.write(pack(total));
        }
        rows.next(tile.last && edge.last);
        if (tile.last) {
            first = edge.last;
            ++degree;
            if (edge.last) degree = 1;
        }
        tile.next();
        group.next(group_tile.last);
        group_tile.next();
    }
}
