// The linear stage: H = X W, T_IN inputs times T_OUT outputs per cycle, rounded once.
//
// The outer loop runs over groups of inputs, the inner one over tiles of outputs: an input is read once, and every tile
// keeps its own sums, which are needed again after OUT_TILES cycles. The products of a cycle are summed in a tree, so
// that a single addition depends on the cycles before.
#pragma once

#include "carry.h"
#include "fixed.h"
#include "multiply.h"
#include "rows.h"
#include "trace.h"
#include "types.h"

/// x * rows, T_IN x T_OUT products. Lane in * T_OUT + out has its own multiplier.
template <class L>
void multiply(const Input<L> x[L::T_IN], const WeightWord<L> rows[L::T_IN],
              ap_int<L::INPUT_BITS + L::WEIGHT_BITS> product[L::T_IN * L::T_OUT]) {
    HLS_INLINE
    const int LANES = L::T_IN * L::T_OUT;
    Input<L> left[LANES];
    Weight<L> right[LANES];
    HLS_REGISTERS(left)
    HLS_REGISTERS(right)
    for (int lane = 0; lane < LANES; ++lane) {
        HLS_UNROLL
        left[lane] = x[lane / L::T_OUT];
        right[lane] = rows[lane / L::T_OUT].lane[lane % L::T_OUT];
    }
    Multipliers<LANES, L::LINEAR_DSP>::run(left, right, product);
}

/// For each output: `before`, or 0 if `first`, plus its products over the input lanes [from, to).
template <class L>
LinearSums<L> accumulate(const ap_int<L::INPUT_BITS + L::WEIGHT_BITS> product[L::T_IN * L::T_OUT], int from, int to,
                         bool first, const LinearSums<L>& before) {
    HLS_INLINE
    LinearSums<L> sums;
    for (int out = 0; out < L::T_OUT; ++out) {
        HLS_UNROLL
        LinearSum<L> added[L::T_IN];
        HLS_REGISTERS(added)
        for (int in = 0; in < L::T_IN; ++in) {
            HLS_UNROLL
            added[in] = 0;
            if (from <= in && in < to) added[in] = product[in * L::T_OUT + out];
        }
        LinearSum<L> start = before.lane[out];
        if (first) start = 0;
        sums.lane[out] = start + Tree<L::T_IN>::sum(added);
    }
    return sums;
}

/// Exact sums as values of H: one rounding, then one saturation.
template <class L>
LinearTile<L> requantise(const LinearSums<L>& sums) {
    HLS_INLINE
    LinearTile<L> tile;
    for (int out = 0; out < L::T_OUT; ++out) {
        HLS_UNROLL
        tile.lane[out] = saturate<L::VALUE_BITS>(shift_right_even<L::LINEAR_SHIFT>(sums.lane[out]));
    }
    TRACE(L, "linear", tile.lane);
    return tile;
}

/// The first layer: only the non-zero features arrive, each with the column that names its row of W. A group that ends
/// a node also holds the first features of the next node; their sums replace the sums that leave.
template <class L>
void linear_sparse(unsigned nodes, const Packed<WeightWord<L> > weight[L::WEIGHT_COPIES][L::WEIGHT_DEPTH],
                   Stream<FeatureGroup<L> >& groups, Stream<LinearTile<L> >& tiles) {
    Packed<LinearSums<L> > sums[L::OUT_TILES];
    HLS_STORAGE(sums, ram_s2p, lutram)
    HLS_RETURNS_AFTER_TWO(sums)
    Carry<LinearSums<L>, L::OUT_TILES> carry;
    FeatureGroup<L> group;
    bool first = true;
    Turns<L::OUT_TILES> tile;
    int base = 0;  // tile * INPUT_WIDTH, without a multiplier
    Rows rows(nodes);
    while (rows.more) {
        HLS_PIPELINE
        HLS_TRIPS(L::LINEAR_TRIPS)
        if (tile.first) group = unpack<FeatureGroup<L> >(groups.read());
        WeightWord<L> words[L::T_IN];
        HLS_REGISTERS(words)
        for (int lane = 0; lane < L::T_IN; ++lane) {
            HLS_UNROLL
            // Two lanes share a copy, because block RAM has two ports.
            words[lane] = unpack<WeightWord<L> >(weight[lane / 2][base + group.column.lane[lane].to_int()]);
        }
        const LinearSums<L> before = carry.before();
        ap_int<L::INPUT_BITS + L::WEIGHT_BITS> product[L::T_IN * L::T_OUT];
        HLS_REGISTERS(product)
        multiply<L>(group.value.lane, words, product);
        const int split = group.split.to_int();
        const LinearSums<L> total = accumulate<L>(product, 0, split, first, before);
        if (group.last) tiles.write(pack(requantise<L>(total)));
        LinearSums<L> after = total;
        if (group.last) after = accumulate<L>(product, split, L::T_IN, true, before);
        carry.keep(after, tile, sums);
        base = tile.last ? 0 : base + L::INPUT_WIDTH;
        if (tile.last) first = false;
        rows.next(tile.last && group.last);
        tile.next();
    }
}

/// A later layer: all inputs of a node arrive in order, IN_GROUPS groups of T_IN.
template <class L>
void linear_dense(unsigned nodes, const Packed<WeightWord<L> > weight[L::T_IN][L::WEIGHT_DEPTH],
                  Stream<InputGroup<L> >& groups, Stream<LinearTile<L> >& tiles) {
    Packed<LinearSums<L> > sums[L::OUT_TILES];
    HLS_STORAGE(sums, ram_s2p, lutram)
    HLS_RETURNS_AFTER_TWO(sums)
    Carry<LinearSums<L>, L::OUT_TILES> carry;
    InputGroup<L> group;
    Turns<L::OUT_TILES> tile;
    Turns<L::IN_GROUPS> index;
    int address = 0;  // index * OUT_TILES + tile
    Rows rows(nodes);
    while (rows.more) {
        HLS_PIPELINE
        HLS_TRIPS(L::LINEAR_TRIPS)
        if (tile.first) group = unpack<InputGroup<L> >(groups.read());
        WeightWord<L> words[L::T_IN];
        HLS_REGISTERS(words)
        for (int lane = 0; lane < L::T_IN; ++lane) {
            HLS_UNROLL
            words[lane] = unpack<WeightWord<L> >(weight[lane][address]);
        }
        const LinearSums<L> before = carry.before();
        ap_int<L::INPUT_BITS + L::WEIGHT_BITS> product[L::T_IN * L::T_OUT];
        HLS_REGISTERS(product)
        multiply<L>(group.lane, words, product);
        const LinearSums<L> after = accumulate<L>(product, 0, L::T_IN, index.first, before);
        carry.keep(after, tile, sums);
        if (index.last) tiles.write(pack(requantise<L>(after)));
        address = tile.last && index.last ? 0 : address + 1;
        rows.next(tile.last && index.last);
        index.next(tile.last);
        tile.next();
    }
}
