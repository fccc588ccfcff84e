// The linear stage: H = X W, T_IN inputs times T_OUT outputs per cycle, rounded once.
//
// The outer loop runs over groups of inputs, the inner one over tiles of outputs: an input is read once, and every tile
// keeps its own sums. The sums of a tile are needed again after OUT_TILES cycles. With two or more tiles, LUTRAM has
// time for the write and the read; a single tile needs its sums in the next cycle and keeps them in the register
// `recent`.
#pragma once

#include "fixed.h"
#include "multiply.h"
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
        LinearSum<L> sum = first ? LinearSum<L>(0) : before.lane[out];
        for (int in = 0; in < L::T_IN; ++in) {
            HLS_UNROLL
            if (from <= in && in < to) sum += product[in * L::T_OUT + out];
        }
        sums.lane[out] = sum;
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
    LinearSums<L> recent = zeros<LinearSums<L> >();
    FeatureGroup<L> group;
    bool first = true;
    int tile = 0, base = 0;  // base = tile * INPUT_WIDTH, without a multiplier
    unsigned node = 0;
    while (node < nodes) {
        HLS_PIPELINE
        HLS_TRIPS(L::LINEAR_TRIPS)
        if (tile == 0) group = unpack<FeatureGroup<L> >(groups.read());
        WeightWord<L> rows[L::T_IN];
        HLS_REGISTERS(rows)
        for (int lane = 0; lane < L::T_IN; ++lane) {
            HLS_UNROLL
            // Two lanes share a copy, because block RAM has two ports.
            rows[lane] = unpack<WeightWord<L> >(weight[lane / 2][base + group.column.lane[lane].to_int()]);
        }
        const LinearSums<L> before = L::OUT_TILES == 1 ? recent : unpack<LinearSums<L> >(sums[tile]);
        ap_int<L::INPUT_BITS + L::WEIGHT_BITS> product[L::T_IN * L::T_OUT];
        HLS_REGISTERS(product)
        multiply<L>(group.value.lane, rows, product);
        const int split = group.split.to_int();
        const LinearSums<L> total = accumulate<L>(product, 0, split, first, before);
        if (group.last) tiles.write(pack(requantise<L>(total)));
        recent = group.last ? accumulate<L>(product, split, L::T_IN, true, before) : total;
        sums[tile] = pack(recent);
        base += L::INPUT_WIDTH;
        if (++tile == L::OUT_TILES) {
            tile = base = 0;
            first = false;
            if (group.last) ++node;
        }
    }
}

/// A later layer: all inputs of a node arrive in order, IN_GROUPS groups of T_IN.
template <class L>
void linear_dense(unsigned nodes, const Packed<WeightWord<L> > weight[L::T_IN][L::WEIGHT_DEPTH],
                  Stream<InputGroup<L> >& groups, Stream<LinearTile<L> >& tiles) {
    Packed<LinearSums<L> > sums[L::OUT_TILES];
    HLS_STORAGE(sums, ram_s2p, lutram)
    HLS_RETURNS_AFTER_TWO(sums)
    LinearSums<L> recent = zeros<LinearSums<L> >();
    InputGroup<L> group;
    int tile = 0, index = 0, address = 0;  // address = index * OUT_TILES + tile
    unsigned node = 0;
    while (node < nodes) {
        HLS_PIPELINE
        HLS_TRIPS(L::LINEAR_TRIPS)
        if (tile == 0) group = unpack<InputGroup<L> >(groups.read());
        WeightWord<L> rows[L::T_IN];
        HLS_REGISTERS(rows)
        for (int lane = 0; lane < L::T_IN; ++lane) {
            HLS_UNROLL
            rows[lane] = unpack<WeightWord<L> >(weight[lane][address]);
        }
        const LinearSums<L> before = L::OUT_TILES == 1 ? recent : unpack<LinearSums<L> >(sums[tile]);
        ap_int<L::INPUT_BITS + L::WEIGHT_BITS> product[L::T_IN * L::T_OUT];
        HLS_REGISTERS(product)
        multiply<L>(group.lane, rows, product);
        recent = accumulate<L>(product, 0, L::T_IN, index == 0, before);
        sums[tile] = pack(recent);
        const bool last = index == L::IN_GROUPS - 1;
        if (last) tiles.write(pack(requantise<L>(recent)));
        ++address;
        if (++tile == L::OUT_TILES) {
            tile = 0;
            ++index;
            if (last) {
                index = address = 0;
                ++node;
            }
        }
    }
}
