// Reading the feature and graph regions, and refusing rows that the kernel cannot run.
//
// Whatever the memory holds, the checks pass on a well-formed stream: exactly `nodes` rows, with every column and every
// source in range. The later stages therefore need no checks, never wait for a missing row and never read out of
// bounds. An error is recorded in the status, and then no later phase runs.
#pragma once

#include "parameters.h"
#include "types.h"

/// Reads a region in order; BEATS is the dataset's count. It only bursts, so that the adapter keeps the bus busy.
template <int BEATS>
void read_beats(const Beat* region, unsigned beats, hls::stream<Beat>& out) {
    for (unsigned beat = 0; beat < beats; ++beat) {
        HLS_PIPELINE
        HLS_TRIPS(BEATS)
        out.write(region[beat]);
    }
}

/// BITS bits of a beat, from bit `first` on.
template <int BITS>
ap_uint<BITS> field(const Beat& beat, int first) {
    HLS_INLINE
    return beat.range(first + BITS - 1, first);
}

/// A beat of the feature region as a group; lanes that are empty or whose column is out of range become zeros.
template <class L>
FeatureGroup<L> unpack_group(const Beat& beat, Status& problems) {
    HLS_INLINE
    FeatureGroup<L> group;
    const int count = field<FEATURE_TAIL_COUNT_BITS>(beat, FEATURE_TAIL_COUNT_AT).to_int();
    group.last = beat[FEATURE_TAIL_LAST_AT];
    group.split = field<FEATURE_TAIL_SPLIT_BITS>(beat, FEATURE_TAIL_SPLIT_AT);
    for (int lane = 0; lane < L::T_IN; ++lane) {
        HLS_UNROLL
        const int first = FEATURE_BITS * lane;
        const ap_uint<FEATURE_COLUMN_BITS> column = field<FEATURE_COLUMN_BITS>(beat, first + FEATURE_COLUMN_AT);
        const ap_int<FEATURE_VALUE_BITS> value = field<FEATURE_VALUE_BITS>(beat, first + FEATURE_VALUE_AT);
        const bool used = lane < count, known = column < L::INPUT_WIDTH;
        if (used && !known) problems[COLUMN_OUT_OF_RANGE] = 1;
        group.column[lane] = used && known ? column : ap_uint<FEATURE_COLUMN_BITS>(0);
        group.value[lane] = used && known ? Input<L>(value) : Input<L>(0);
    }
    return group;
}

/// Feature beats as groups: `nodes` rows; missing rows become empty, surplus beats are dropped.
template <class L>
void check_features(unsigned nodes, unsigned beats, hls::stream<Beat>& in, hls::stream<FeatureGroup<L> >& out,
                    Status& status) {
    Status problems = 0;
    unsigned node = 0, beat = 0;
    while (node < nodes || beat < beats) {
        HLS_PIPELINE
        HLS_TRIPS(DATASET_FEATURE_BEATS)
        Beat word = Beat(1) << FEATURE_TAIL_LAST_AT;  // an empty row that ends
        if (beat < beats) {
            word = in.read();
            ++beat;
        } else {
            problems[STREAM_TOO_SHORT] = 1;
        }
        if (node < nodes) {
            const FeatureGroup<L> group = unpack_group<L>(word, problems);
            out.write(group);
            if (group.last) ++node;
        }
    }
    status = problems;
}

/// Edge slot `slot` of a beat of the graph region.
inline Edge unpack_edge(const Beat& beat, int slot) {
    HLS_INLINE
    const Beat here = beat >> (EDGE_BITS * slot);
    Edge edge;
    edge.source = field<EDGE_SOURCE_BITS>(here, EDGE_SOURCE_AT);
    edge.coefficient = field<EDGE_COEFFICIENT_BITS>(here, EDGE_COEFFICIENT_AT);
    edge.last = here[EDGE_LAST_AT];
    return edge;
}

/// Graph beats as edges, one per cycle: `nodes` rows; missing rows become one empty message, surplus slots are dropped.
inline void check_edges(unsigned nodes, unsigned beats, hls::stream<Beat>& in, hls::stream<Edge>& out,
                        Status& status) {
    Status problems = 0;
    unsigned node = 0, beat = 0, degree = 0;
    int slot = 0;
    Beat word = 0;
    while (node < nodes || beat < beats) {
        HLS_PIPELINE
        HLS_TRIPS(DATASET_EDGES)
        const bool exhausted = slot == 0 && beat == beats;
        if (slot == 0 && !exhausted) {
            word = in.read();
            ++beat;
        }
        if (node < nodes) {
            Edge edge = unpack_edge(word, slot);
            if (exhausted) {
                problems[STREAM_TOO_SHORT] = 1;
                edge.last = true;
            }
            if (exhausted || edge.source >= nodes) {
                if (!exhausted) problems[SOURCE_OUT_OF_RANGE] = 1;
                edge.source = 0;
            }
            // Cut at the capacity, so that no later buffer overflows.
            if (++degree == unsigned(DEGREE_CAPACITY) && !edge.last) {
                problems[DEGREE_OVER_CAPACITY] = 1;
                edge.last = true;
            }
            out.write(edge);
            if (edge.last) {
                ++node;
                degree = 0;
            }
        }
        // After the last row, the rest of the region is read at one beat per cycle and dropped.
        slot = exhausted || slot == EDGES_PER_BEAT - 1 || node == nodes ? 0 : slot + 1;
    }
    status = problems;
}

/// Discards the edges that check_edges passes on, where only its verdict is needed.
inline void drop_edges(unsigned nodes, hls::stream<Edge>& edges) {
    unsigned node = 0;
    while (node < nodes) {
        HLS_PIPELINE
        HLS_TRIPS(DATASET_EDGES)
        if (edges.read().last) ++node;
    }
}
