// The aggregation: the sum, or the maximum, of the weighted messages over the neighbourhood of each node.
#pragma once

#include "carry.h"
#include "multiply.h"
#include "rows.h"
#include "types.h"

/// The values of tile `tile` of a word of H. A choice among constant parts: a variable lane would be a shift of the word.
template <class L>
Lanes<Value<L>, L::T_AGGR> tile_of(const Packed<HWord<L> >& word, int tile) {
    HLS_INLINE
    const int TILES = L::H_LANES / L::T_AGGR;
    typedef Lanes<Value<L>, L::T_AGGR> Tile;
    Packed<Tile> found = Packed<Tile>(word);
    for (int other = 1; other < TILES; ++other) {
        HLS_UNROLL
        if (tile == other) found = Packed<Tile>(word >> (Packing<Tile>::BITS * other));
    }
    return unpack<Tile>(found);
}

/// The messages c * h of one tile, with a coefficient for each of its heads. Without coefficients a message is h
/// itself, and no multiplier is built.
template <class L>
void weigh(const Lanes<Value<L>, L::T_AGGR>& h, const Coefficients<L>& coefficients, AggregateSum<L> message[L::T_AGGR]) {
    HLS_INLINE
    Value<L> value[L::T_AGGR];
    ap_uint<COEFFICIENT_BITS> weight[L::T_AGGR];
    HLS_REGISTERS(value)
    HLS_REGISTERS(weight)
    for (int lane = 0; lane < L::T_AGGR; ++lane) {
        HLS_UNROLL
        value[lane] = h.lane[lane];
        weight[lane] = coefficients.lane[lane / L::HEAD_LANES % L::GROUP_HEADS];
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
void aggregate(unsigned nodes, const Packed<HWord<L> > h[L::H_DEPTH], Stream<Edge>& edges,
               Stream<TotalTile<L> >& totals) {
    const int TILES_PER_WORD = L::H_LANES / L::T_AGGR;
    Packed<AggregateSums<L> > sums[L::AGGR_TILES];
    HLS_STORAGE(sums, ram_s2p, lutram)
    HLS_RETURNS_AFTER_TWO(sums)
    Carry<AggregateSums<L>, L::AGGR_TILES> carry;
    Edge edge = zeros<Edge>();
    ap_uint<L::DEGREE_BITS> degree = 1;
    bool first = true;  // edge of the row
    Turns<L::AGGR_TILES> tile;
    Rows rows(nodes);
    while (rows.more) {
        HLS_PIPELINE
        HLS_TRIPS(L::AGGREGATE_TRIPS)
        if (tile.first) edge = unpack<Edge>(edges.read());
        const unsigned row = edge.source.to_uint() * L::H_WORDS;
        HLS_PRODUCT(row, fabric)
        const Packed<HWord<L> > word = h[row + tile.at.to_uint() / TILES_PER_WORD];
        AggregateSum<L> message[L::T_AGGR];
        HLS_REGISTERS(message)
        Coefficients<L> coefficients;
        for (int lane = 0; lane < L::GROUP_HEADS; ++lane) {
            HLS_UNROLL
            coefficients.lane[lane] = edge.coefficient;
        }
        weigh<L>(tile_of<L>(word, tile.at.to_uint() % TILES_PER_WORD), coefficients, message);

        const AggregateSums<L> after = combine<L>(carry.before(), message, first);
        carry.keep(after, tile, sums);
        if (edge.last) {
            TotalTile<L> total;
            total.sums = after;
            for (int lane = 0; lane < L::GROUP_HEADS; ++lane) {
                HLS_UNROLL
                total.divisors.lane[lane] = degree;
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
    }
}
