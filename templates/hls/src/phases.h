// The phases of the kernel: in each, stages that run side by side with streams between them.
//
// A phase ends when the whole H of its layer is written, because the next one gathers from it in any order. Every
// stream has one writer and one reader, and no stage returns early: that is what DATAFLOW asks for. Deep streams are
// the row buffers behind the stages whose time differs from node to node; the others just join two stages.
#pragma once

#include "activate.h"
#include "aggregate.h"
#include "head_mean.h"
#include "linear.h"
#include "load.h"
#include "normalise.h"
#include "read.h"
#include "repack.h"
#include "store.h"

/// Phase 0: features -> linear(0) -> H(0).
template <class L>
void first_phase(unsigned nodes, unsigned feature_beats, const Beat* features,
                 const WeightWord<L> weight[L::WEIGHT_COPIES][L::WEIGHT_DEPTH], HWord<L> h[L::H_DEPTH],
                 Status& status) {
#pragma HLS DATAFLOW
    hls::stream<Beat> beats("feature beats");
    hls::stream<FeatureGroup<L> > groups("feature groups");
    hls::stream<LinearTile<L> > tiles("linear tiles");
    hls::stream<HWord<L> > words("words of H");
#pragma HLS STREAM variable=beats depth=32
#pragma HLS STREAM variable=groups depth=2
#pragma HLS STREAM variable=tiles depth=2
#pragma HLS STREAM variable=words depth=L::STORE_FIFO
    read_beats(features, feature_beats, beats);
    check_features<L>(nodes, feature_beats, beats, groups, status);
    linear_sparse<L>(nodes, weight, groups, tiles);
    repack<Value<L>, L::FEATURES, L::T_OUT, L::H_LANES>(nodes, tiles, words);
    store<L>(nodes, words, h);
}

/// A pass over the edges that only looks for faults, where the first phase that reads them would write logits already.
inline void check_phase(unsigned nodes, unsigned edge_beats, const Beat* edges, Status& status) {
#pragma HLS DATAFLOW
    hls::stream<Beat> beats("edge beats");
    hls::stream<Edge> checked("edges");
#pragma HLS STREAM variable=beats depth=32
#pragma HLS STREAM variable=checked depth=2
    read_beats(edges, edge_beats, beats);
    check_edges(nodes, edge_beats, beats, checked, status);
    drop_edges(nodes, checked);
}

/// Phase l: H(l-1) -> aggregate, normalise, activate(l-1) -> linear(l) -> H(l). L is layer l-1, N is layer l.
template <class L, class Table, class N>
void hidden_phase(unsigned nodes, unsigned edge_beats, const Beat* edges, const HWord<L> h[L::H_DEPTH],
                  const BiasWord<L> bias[L::BIAS_BEATS], const WeightWord<N> weight[N::T_IN][N::WEIGHT_DEPTH],
                  HWord<N> h_next[N::H_DEPTH], Status& status) {
#pragma HLS DATAFLOW
    hls::stream<Beat> beats("edge beats");
    hls::stream<Edge> checked("edges");
    hls::stream<TotalTile<L> > totals("totals");
    hls::stream<YTile<L> > y("Y");
    hls::stream<Lanes<Y<L>, L::T_ACT> > y_rows("Y, by activation tile");
    hls::stream<ActivateTile<L> > z("Z");
    hls::stream<InputGroup<N> > groups("Z, by input group");
    hls::stream<LinearTile<N> > tiles("linear tiles");
    hls::stream<HWord<N> > words("words of H");
#pragma HLS STREAM variable=beats depth=32
#pragma HLS STREAM variable=checked depth=2
#pragma HLS STREAM variable=totals depth=2
#pragma HLS STREAM variable=y depth=L::AGGR_FIFO
#pragma HLS STREAM variable=y_rows depth=2
#pragma HLS STREAM variable=z depth=L::ACT_FIFO
#pragma HLS STREAM variable=groups depth=2
#pragma HLS STREAM variable=tiles depth=2
#pragma HLS STREAM variable=words depth=N::STORE_FIFO
    read_beats(edges, edge_beats, beats);
    check_edges(nodes, edge_beats, beats, checked, status);
    aggregate<L>(nodes, h, checked, totals);
    normalise<L>(nodes, totals, y);
    repack<Y<L>, L::FEATURES, L::T_AGGR, L::T_ACT>(nodes, y, y_rows);
    activate<L, Table>(nodes, bias, y_rows, z);
    repack<Value<L>, L::FEATURES, L::T_ACT, N::T_IN>(nodes, z, groups);
    linear_dense<N>(nodes, weight, groups, tiles);
    repack<Value<N>, N::FEATURES, N::T_OUT, N::H_LANES>(nodes, tiles, words);
    store<N>(nodes, words, h_next);
}

/// The last phase: H(L-1) -> aggregate, normalise, head mean -> logits.
template <class L>
void output_phase(unsigned nodes, unsigned edge_beats, const Beat* edges, const HWord<L> h[L::H_DEPTH],
                  const BiasWord<L> bias[L::BIAS_BEATS], Beat* logits, Status& status) {
#pragma HLS DATAFLOW
    hls::stream<Beat> beats("edge beats");
    hls::stream<Edge> checked("edges");
    hls::stream<TotalTile<L> > totals("totals");
    hls::stream<YTile<L> > y("Y");
    hls::stream<Lanes<ap_int<16>, L::CLASS_LANES> > classes("logits, by class tile");
    hls::stream<Lanes<ap_int<16>, 8> > rows("logits, by beat");
#pragma HLS STREAM variable=beats depth=32
#pragma HLS STREAM variable=checked depth=2
#pragma HLS STREAM variable=totals depth=2
#pragma HLS STREAM variable=y depth=L::AGGR_FIFO
#pragma HLS STREAM variable=classes depth=2
#pragma HLS STREAM variable=rows depth=32
    read_beats(edges, edge_beats, beats);
    check_edges(nodes, edge_beats, beats, checked, status);
    aggregate<L>(nodes, h, checked, totals);
    normalise<L>(nodes, totals, y);
    head_mean<L>(nodes, bias, y, classes);
    repack<ap_int<16>, L::CLASSES, L::CLASS_LANES, 8>(nodes, classes, rows);
    write_logits<L>(nodes, rows, logits);
}
