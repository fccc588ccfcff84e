// The types that pass between the stages, all derived from a layer's numbers in parameters.h.
#pragma once

#include <ap_int.h>

#include "packing.h"
#include "wire.h"

/// One transfer on the memory bus, the least significant byte at the lowest address.
typedef ap_uint<BEAT_BITS> Beat;

/// One bit for each reason to refuse; the bits have names in wire.h.
typedef ap_uint<32> Status;

/// One entry of a neighbourhood S(i), as its row of the graph region lists it.
struct Edge {
    ap_uint<EDGE_SOURCE_BITS> source;       ///< the node whose features are gathered
    ap_uint<COEFFICIENT_BITS> coefficient;  ///< 0 to 256, represents 0 to 1
    bool last;                              ///< the row ends here
};

template <>
struct Packing<Edge> {
    static constexpr int COEFFICIENT = EDGE_SOURCE_BITS, LAST = COEFFICIENT + COEFFICIENT_BITS;
    static constexpr int BITS = LAST + 1;
    static Word<BITS> pack(const Edge& edge) {
        HLS_INLINE
        return join(edge.source, edge.coefficient, edge.last);
    }
    static Edge unpack(const Word<BITS>& word) {
        HLS_INLINE
        Edge edge;
        edge.source = member<ap_uint<EDGE_SOURCE_BITS>, 0>(word);
        edge.coefficient = member<ap_uint<COEFFICIENT_BITS>, COEFFICIENT>(word);
        edge.last = member<bool, LAST>(word);
        return edge;
    }
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
template <class L> using Divisors = Lanes<Divisor<L>, L::GROUP_HEADS>;
template <class L> using Coefficients = Lanes<ap_uint<COEFFICIENT_BITS>, L::GROUP_HEADS>;
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
    Lanes<ap_uint<FEATURE_COLUMN_BITS>, L::T_IN> column;
    InputGroup<L> value;
    bool last;                               ///< a node ends here: lanes from `split` on belong to the next one
    ap_uint<FEATURE_TAIL_SPLIT_BITS> split;  ///< in a group that ends no node: the lanes that hold a feature
};

template <class L>
struct Packing<FeatureGroup<L> > {
    typedef Lanes<ap_uint<FEATURE_COLUMN_BITS>, L::T_IN> Columns;
    static constexpr int VALUE = Packing<Columns>::BITS, LAST = VALUE + Packing<InputGroup<L> >::BITS, SPLIT = LAST + 1;
    static constexpr int BITS = SPLIT + FEATURE_TAIL_SPLIT_BITS;
    static Word<BITS> pack(const FeatureGroup<L>& group) {
        HLS_INLINE
        return join(group.column, group.value, group.last, group.split);
    }
    static FeatureGroup<L> unpack(const Word<BITS>& word) {
        HLS_INLINE
        FeatureGroup<L> group;
        group.column = member<Columns, 0>(word);
        group.value = member<InputGroup<L>, VALUE>(word);
        group.last = member<bool, LAST>(word);
        group.split = member<ap_uint<FEATURE_TAIL_SPLIT_BITS>, SPLIT>(word);
        return group;
    }
};

/// A tile of a node's aggregate before its one rounding, with the divisor of each of its heads.
template <class L>
struct TotalTile {
    AggregateSums<L> sums;
    Divisors<L> divisors;
};

template <class L>
struct Packing<TotalTile<L> > {
    static constexpr int DIVISORS = Packing<AggregateSums<L> >::BITS;
    static constexpr int BITS = DIVISORS + Packing<Divisors<L> >::BITS;
    static Word<BITS> pack(const TotalTile<L>& total) {
        HLS_INLINE
        return join(total.sums, total.divisors);
    }
    static TotalTile<L> unpack(const Word<BITS>& word) {
        HLS_INLINE
        TotalTile<L> total;
        total.sums = member<AggregateSums<L>, 0>(word);
        total.divisors = member<Divisors<L>, DIVISORS>(word);
        return total;
    }
};

/// An entry of a neighbourhood on its way to the second pass of gat, for one group of heads.
template <class L>
struct ScoredEdge {
    ap_uint<EDGE_SOURCE_BITS> source;
    Exponents<L> exponents;  ///< 5 LeakyReLU(s + r)
    bool last;               ///< the row ends here
};

template <class L>
struct Packing<ScoredEdge<L> > {
    static constexpr int EXPONENTS = EDGE_SOURCE_BITS, LAST = EXPONENTS + Packing<Exponents<L> >::BITS;
    static constexpr int BITS = LAST + 1;
    static Word<BITS> pack(const ScoredEdge<L>& edge) {
        HLS_INLINE
        return join(edge.source, edge.exponents, edge.last);
    }
    static ScoredEdge<L> unpack(const Word<BITS>& word) {
        HLS_INLINE
        ScoredEdge<L> edge;
        edge.source = member<ap_uint<EDGE_SOURCE_BITS>, 0>(word);
        edge.exponents = member<Exponents<L>, EXPONENTS>(word);
        edge.last = member<bool, LAST>(word);
        return edge;
    }
};

/// The scores of GROUP_HEADS heads of a node: as the target of an edge, and as its source.
template <class L>
struct NodeScores {
    ScoreWord<L> target, source;
};

template <class L>
struct Packing<NodeScores<L> > {
    static constexpr int SOURCE = Packing<ScoreWord<L> >::BITS;
    static constexpr int BITS = 2 * SOURCE;
    static Word<BITS> pack(const NodeScores<L>& scores) {
        HLS_INLINE
        return join(scores.target, scores.source);
    }
    static NodeScores<L> unpack(const Word<BITS>& word) {
        HLS_INLINE
        NodeScores<L> scores;
        scores.target = member<ScoreWord<L>, 0>(word);
        scores.source = member<ScoreWord<L>, SOURCE>(word);
        return scores;
    }
};
