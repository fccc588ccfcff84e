// The types that pass between the stages, all derived from a layer's numbers in parameters.h.
#pragma once

#include <ap_int.h>
#include <hls_stream.h>

#include "pragmas.h"
#include "wire.h"

/// One transfer on the memory bus, the least significant byte at the lowest address.
typedef ap_uint<BEAT_BITS> Beat;

/// One bit for each reason to refuse; the bits have names in wire.h.
typedef ap_uint<32> Status;

/// N values that move together in one cycle.
template <class T, int N>
struct Lanes {
    T lane[N];
};

/// One entry of a neighbourhood S(i), as its row of the graph region lists it.
struct Edge {
    ap_uint<EDGE_SOURCE_BITS> source;       ///< the node whose features are gathered
    ap_uint<COEFFICIENT_BITS> coefficient;  ///< 0 to 256, represents 0 to 1
    bool last;                              ///< the row ends here
};

/// A logit, and the logits of a beat.
typedef ap_int<LOGIT_BITS> Logit;
typedef Lanes<Logit, BEAT_WORDS> LogitBeat;

// Types of a layer L. Sums are wide enough that they neither round nor overflow.
template <class L> using Input = ap_int<L::INPUT_BITS>;
template <class L> using Weight = ap_int<L::WEIGHT_BITS>;
template <class L> using Value = ap_int<L::VALUE_BITS>;  // H, U, Z and the bias
template <class L> using LinearSum = ap_int<L::LINEAR_BITS>;
template <class L> using AggregateSum = ap_int<L::AGGREGATE_BITS>;
template <class L> using Divisor = ap_uint<L::DIVISOR_BITS>;
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

// With gat attention: values of the GROUP_HEADS heads that the aggregation processes in parallel.
template <class L> using AttentionWord = Lanes<Weight<L>, L::T_ATTN>;
template <class L> using ScoreTile = Lanes<Value<L>, L::T_ATTN>;
template <class L> using ScoreWord = Lanes<Value<L>, L::GROUP_HEADS>;
template <class L> using Exponent = ap_int<L::EXPONENT_BITS>;
template <class L> using Exponents = Lanes<Exponent<L>, L::GROUP_HEADS>;

/// Up to T_IN non-zero features: of one node, or the last of one node and the first of the next. An empty lane holds
/// the value 0, which adds nothing.
template <class L>
struct FeatureGroup {
    ap_uint<FEATURE_COLUMN_BITS> column[L::T_IN];
    Input<L> value[L::T_IN];
    bool last;                               ///< a node ends here: lanes from `split` on belong to the next one
    ap_uint<FEATURE_TAIL_SPLIT_BITS> split;  ///< in a group that ends no node: the lanes that hold a feature
};

/// A tile of a node's aggregate before its one rounding, with the divisor of each of its heads.
template <class L>
struct TotalTile {
    AggregateSums<L> sums;
    Divisor<L> divisor[L::GROUP_HEADS];
};

/// An entry of a neighbourhood on its way to the second pass of gat, for one group of heads.
template <class L>
struct ScoredEdge {
    ap_uint<EDGE_SOURCE_BITS> source;
    Exponents<L> exponents;  ///< 5 LeakyReLU(s + r)
    bool last;               ///< the row ends here
};
