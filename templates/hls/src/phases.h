// The phases of the kernel. In each, stages run concurrently with streams between them.
//
// A phase ends when the whole H of its layer is written, because the next one gathers from it in any order. Every
// stream has one writer and one reader, and no stage returns early: DATAFLOW requires both. Deep streams are the row
// buffers behind stages whose time differs from node to node; streams of depth 2 only join two functions.
#pragma once

#include "activate.h"
#include "aggregate.h"
#include "aggregate_gat.h"
#include "head_mean.h"
#include "linear.h"
#include "load.h"
#include "normalise.h"
#include "read.h"
#include "repack.h"
#include "row_maximum.h"
#include "score.h"
#include "store.h"

/// Stores the tiles of the linear stage where the next phase gathers them: H, and the scores of gat.
///
/// The generic form serves layers without gat, where the score memories are one unused word.
template <class L, bool GAT = L::GAT>
struct Keep {
    static void run(unsigned nodes, hls::stream<LinearTile<L> >& tiles, const AttentionWord<L>*, HWord<L> h[L::H_DEPTH],
                    ScoreWord<L>*, ScoreWord<L>*) {
        HLS_DATAFLOW
        hls::stream<HWord<L> > words("words of H");
        HLS_STREAM(words, L::STORE_FIFO)
        repack<Value<L>, L::FEATURES, L::T_OUT, L::H_LANES>(nodes, tiles, words);
        store<L>(nodes, words, h);
    }
};

template <class L>
struct Keep<L, true> {
    static void run(unsigned nodes, hls::stream<LinearTile<L> >& tiles,
                    const AttentionWord<L> attention[L::ATTENTION_BEATS], HWord<L> h[L::H_DEPTH],
                    ScoreWord<L> target_scores[L::SCORE_DEPTH], ScoreWord<L> source_scores[L::SCORE_DEPTH]) {
        HLS_DATAFLOW
        hls::stream<LinearTile<L> > for_h("tiles to store"), for_scores("tiles to score");
        hls::stream<HWord<L> > words("words of H");
        hls::stream<ScoreTile<L> > heads("tiles of a head");
        HLS_STREAM(for_h, 2)
        HLS_STREAM(for_scores, L::SCORE_FIFO)
        HLS_STREAM(words, L::STORE_FIFO)
        HLS_STREAM(heads, 2)
        duplicate<L::OUT_TILES>(nodes, tiles, for_h, for_scores);
        repack<Value<L>, L::FEATURES, L::T_OUT, L::H_LANES>(nodes, for_h, words);
        store<L>(nodes, words, h);
        split_heads<Value<L>, L::HEADS, L::HEAD_FEATURES, L::PADDED_FEATURES, L::T_OUT, L::T_ATTN>(nodes, for_scores,
                                                                                                  heads);
        score<L>(nodes, attention, heads, target_scores, source_scores);
    }
};

/// From edges to totals over neighbourhoods. `Exponential` is the layer's generated table, void without gat.
template <class L, class Exponential, bool GAT = L::GAT>
struct Gather {
    static void run(unsigned nodes, const HWord<L> h[L::H_DEPTH], const ScoreWord<L>*, const ScoreWord<L>*,
                    hls::stream<Edge>& edges, hls::stream<TotalTile<L> >& totals) {
        HLS_INLINE
        aggregate<L>(nodes, h, edges, totals);
    }
};

template <class L, class Exponential>
struct Gather<L, Exponential, true> {
    static void run(unsigned nodes, const HWord<L> h[L::H_DEPTH], const ScoreWord<L> target_scores[L::SCORE_DEPTH],
                    const ScoreWord<L> source_scores[L::SCORE_DEPTH], hls::stream<Edge>& edges,
                    hls::stream<TotalTile<L> >& totals) {
        HLS_DATAFLOW
        hls::stream<ScoredEdge<L> > ring("scored edges");
        hls::stream<Exponents<L> > maxima("maxima of rows");
// The first pass may end a row of any length before the second takes its first edge.
        HLS_STREAM(ring, L::RING_FIFO)
        HLS_STORAGE(ring, fifo, bram)
        HLS_STREAM(maxima, L::MAXIMUM_FIFO)
        row_maximum<L>(nodes, target_scores, source_scores, edges, ring, maxima);
        aggregate_gat<L, Exponential>(nodes, h, ring, maxima, totals);
    }
};

/// Phase 0: features -> linear(0) [-> score(0)] -> H(0).
template <class L>
void first_phase(unsigned nodes, unsigned feature_beats, const Beat* features,
                 const WeightWord<L> weight[L::WEIGHT_COPIES][L::WEIGHT_DEPTH],
                 const AttentionWord<L> attention[L::ATTENTION_BEATS], HWord<L> h[L::H_DEPTH],
                 ScoreWord<L> target_scores[L::SCORE_DEPTH], ScoreWord<L> source_scores[L::SCORE_DEPTH],
                 Status& status) {
    HLS_DATAFLOW
    hls::stream<Beat> beats("feature beats");
    hls::stream<FeatureGroup<L> > groups("feature groups");
    hls::stream<LinearTile<L> > tiles("linear tiles");
    HLS_STREAM(beats, 32)
    HLS_STREAM(groups, 2)
    HLS_STREAM(tiles, 2)
    read_beats<DATASET_FEATURE_BEATS>(features, feature_beats, beats);
    check_features<L>(nodes, feature_beats, beats, groups, status);
    linear_sparse<L>(nodes, weight, groups, tiles);
    Keep<L>::run(nodes, tiles, attention, h, target_scores, source_scores);
}

/// A pass over the edges that only checks them, for kernels whose first phase that reads edges also writes logits.
inline void check_phase(unsigned nodes, unsigned edge_beats, const Beat* edges, Status& status) {
    HLS_DATAFLOW
    hls::stream<Beat> beats("edge beats");
    hls::stream<Edge> checked("edges");
    HLS_STREAM(beats, 32)
    HLS_STREAM(checked, 2)
    read_beats<DATASET_EDGE_BEATS>(edges, edge_beats, beats);
    check_edges(nodes, edge_beats, beats, checked, status);
    drop_edges(nodes, checked);
}

/// Phase l: H(l-1) -> [row maximum,] aggregate, normalise, activate(l-1) -> linear(l) [-> score(l)] -> H(l). L is layer
/// l-1, N is layer l.
template <class L, class Exponential, class Table, class N>
void hidden_phase(unsigned nodes, unsigned edge_beats, const Beat* edges, const HWord<L> h[L::H_DEPTH],
                  const ScoreWord<L> target_scores[L::SCORE_DEPTH], const ScoreWord<L> source_scores[L::SCORE_DEPTH],
                  const BiasWord<L> bias[L::BIAS_BEATS], const WeightWord<N> weight[N::T_IN][N::WEIGHT_DEPTH],
                  const AttentionWord<N> attention[N::ATTENTION_BEATS], HWord<N> h_next[N::H_DEPTH],
                  ScoreWord<N> target_scores_next[N::SCORE_DEPTH], ScoreWord<N> source_scores_next[N::SCORE_DEPTH],
                  Status& status) {
    HLS_DATAFLOW
    hls::stream<Beat> beats("edge beats");
    hls::stream<Edge> checked("edges");
    hls::stream<TotalTile<L> > totals("totals");
    hls::stream<YTile<L> > y("Y");
    hls::stream<Lanes<Y<L>, L::T_ACT> > y_rows("Y, by activation tile");
    hls::stream<ActivateTile<L> > z("Z");
    hls::stream<InputGroup<N> > groups("Z, by input group");
    hls::stream<LinearTile<N> > tiles("linear tiles");
    HLS_STREAM(beats, 32)
    HLS_STREAM(checked, 2)
    HLS_STREAM(totals, 2)
    HLS_STREAM(y, L::AGGR_FIFO)
    HLS_STREAM(y_rows, 2)
    HLS_STREAM(z, L::ACT_FIFO)
    HLS_STREAM(groups, 2)
    HLS_STREAM(tiles, 2)
    read_beats<DATASET_EDGE_BEATS>(edges, edge_beats, beats);
    check_edges(nodes, edge_beats, beats, checked, status);
    Gather<L, Exponential>::run(nodes, h, target_scores, source_scores, checked, totals);
    normalise<L>(nodes, totals, y);
    repack<Y<L>, L::FEATURES, L::T_AGGR, L::T_ACT>(nodes, y, y_rows);
    activate<L, Table>(nodes, bias, y_rows, z);
    repack<Value<L>, L::FEATURES, L::T_ACT, N::T_IN>(nodes, z, groups);
    linear_dense<N>(nodes, weight, groups, tiles);
    Keep<N>::run(nodes, tiles, attention, h_next, target_scores_next, source_scores_next);
}

/// The last phase: H(L-1) -> [row maximum,] aggregate, normalise, head mean -> logits.
template <class L, class Exponential>
void output_phase(unsigned nodes, unsigned edge_beats, const Beat* edges, const HWord<L> h[L::H_DEPTH],
                  const ScoreWord<L> target_scores[L::SCORE_DEPTH], const ScoreWord<L> source_scores[L::SCORE_DEPTH],
                  const BiasWord<L> bias[L::BIAS_BEATS], Beat* logits, Status& status) {
    HLS_DATAFLOW
    hls::stream<Beat> beats("edge beats");
    hls::stream<Edge> checked("edges");
    hls::stream<TotalTile<L> > totals("totals");
    hls::stream<YTile<L> > y("Y");
    hls::stream<Lanes<Logit, L::CLASS_LANES> > classes("logits, by class tile");
    hls::stream<LogitBeat> rows("logits, by beat");
    HLS_STREAM(beats, 32)
    HLS_STREAM(checked, 2)
    HLS_STREAM(totals, 2)
    HLS_STREAM(y, L::AGGR_FIFO)
    HLS_STREAM(classes, 2)
    HLS_STREAM(rows, L::OUTPUT_FIFO)
    read_beats<DATASET_EDGE_BEATS>(edges, edge_beats, beats);
    check_edges(nodes, edge_beats, beats, checked, status);
    Gather<L, Exponential>::run(nodes, h, target_scores, source_scores, checked, totals);
    normalise<L>(nodes, totals, y);
    head_mean<L>(nodes, bias, y, classes);
    repack<Logit, L::CLASSES, L::CLASS_LANES, BEAT_WORDS>(nodes, classes, rows);
    write_logits<L>(nodes, rows, logits);
}
