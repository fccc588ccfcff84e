// The types that pass between the stages, all derived from a layer's numbers in parameters.h.
#pragma once

#include <ap_int.h>
#include <hls_stream.h>

/// What one transfer on the memory bus carries: 16 bytes, least significant byte at the lowest address.
typedef ap_uint<128> Beat;

/// One bit for each reason to refuse; the bits have names in parameters.h.
typedef ap_uint<32> Status;

/// N values that move together in one cycle.
template <class T, int N>
struct Lanes {
    T lane[N];
};

/// One entry of a neighbourhood S(i), as its row of the graph region lists it.
struct Edge {
    ap_uint<20> source;      ///< the node whose features are gathered
    ap_uint<9> coefficient;  ///< 0 to 256, stands for 0 to 1
    bool last;               ///< the row ends here
};

// Of a layer L. The widths of the sums are such that they neither round nor overflow.
template <class L> using Input = ap_int<L::INPUT_BITS>;
template <class L> using Weight = ap_int<L::WEIGHT_BITS>;
template <class L> using Value = ap_int<L::VALUE_BITS>;  // of H, U, Z and the bias
template <class L> using LinearSum = ap_int<L::LINEAR_BITS>;
template <class L> using AggregateSum = ap_int<L::AGGREGATE_BITS>;
template <class L> using Y = ap_int<L::Y_BITS>;

template <class L> using WeightWord = Lanes<Weight<L>, L::T_OUT>;
template <class L> using BiasWord = Lanes<Value<L>, L::BIAS_LANES>;
template <class L> using HWord = Lanes<Value<L>, L::H_LANES>;
template <class L> using InputGroup = Lanes<Input<L>, L::T_IN>;
template <class L> using LinearSums = Lanes<LinearSum<L>, L::T_OUT>;
template <class L> using LinearTile = Lanes<Value<L>, L::T_OUT>;
template <class L> using AggregateSums = Lanes<AggregateSum<L>, L::T_AGGR>;
template <class L> using YTile = Lanes<Y<L>, L::T_AGGR>;
template <class L> using ActivateTile = Lanes<Value<L>, L::T_ACT>;

/// Up to T_IN non-zero features of one node. A lane without one holds value 0, which adds nothing.
template <class L>
struct FeatureGroup {
    ap_uint<14> column[L::T_IN];
    Input<L> value[L::T_IN];
    bool last;  ///< the node has no further group
};

/// A tile of a node's aggregate before its one rounding, with what the mean divides by.
template <class L>
struct TotalTile {
    AggregateSums<L> sums;
    ap_uint<L::DEGREE_BITS> degree;  ///< |S(i)|
};
