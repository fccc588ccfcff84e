// Reading the feature and graph regions, and refusing rows that the kernel cannot run.
//
// The checks make a stream that is well formed whatever the memory holds: exactly `nodes` rows, every column and every
// source within its range. So the stages behind them need no check of their own, never wait for a row that does not
// come and never read out of bounds; what was wrong ends up in the status, and then no later phase runs.
#pragma once

#include "parameters.h"
#include "types.h"

/// A region in order, of the dataset's BEATS. Nothing but the burst happens here, so that the adapter keeps the bus busy.
template <int BEATS>
void read_beats(const Beat* region, unsigned beats, hls::stream<Beat>& out) {
    for (unsigned beat = 0; beat < beats; ++beat) {
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT max=BEATS
        out.write(region[beat]);
    }
}

/// A beat of the feature region as a group; lanes that are empty or name no column become zeros.
template <class L>
FeatureGroup<L> unpack_group(const Beat& beat, Status& problems) {
#pragma HLS INLINE
    const int COLUMN = 14, FIELD = 24, COUNT_AT = 120, LAST_AT = 123, SPLIT_AT = 124;
    FeatureGroup<L> group;
    const int count = ap_uint<3>(beat.range(COUNT_AT + 2, COUNT_AT)).to_int();
    group.last = beat[LAST_AT];
    group.split = beat.range(SPLIT_AT + 2, SPLIT_AT);
    for (int lane = 0; lane < L::T_IN; ++lane) {
#pragma HLS UNROLL
        const ap_uint<COLUMN> column = beat.range(FIELD * lane + COLUMN - 1, FIELD * lane);
        const ap_int<FIELD - COLUMN> value = beat.range(FIELD * lane + FIELD - 1, FIELD * lane + COLUMN);
        const bool used = lane < count, known = column < L::INPUT_WIDTH;
        if (used && !known) problems[COLUMN_OUT_OF_RANGE] = 1;
        group.column[lane] = used && known ? column : ap_uint<COLUMN>(0);
        group.value[lane] = used && known ? Input<L>(value) : Input<L>(0);
    }
    return group;
}

/// Feature beats as groups: `nodes` rows, missing ones empty, surplus beats dropped.
template <class L>
void check_features(unsigned nodes, unsigned beats, hls::stream<Beat>& in, hls::stream<FeatureGroup<L> >& out,
                    Status& status) {
    Status problems = 0;
    unsigned node = 0, beat = 0;
    while (node < nodes || beat < beats) {
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT max=DATASET_FEATURE_BEATS
        Beat word = Beat(1) << 123;  // a row that ends and holds nothing
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
#pragma HLS INLINE
    const ap_uint<30> field = beat >> (30 * slot);
    Edge edge;
    edge.source = field.range(19, 0);
    edge.coefficient = field.range(28, 20);
    edge.last = field[29];
    return edge;
}

/// Graph beats as edges, one a cycle: `nodes` rows, missing ones one empty message, surplus slots dropped.
inline void check_edges(unsigned nodes, unsigned beats, hls::stream<Beat>& in, hls::stream<Edge>& out,
                        Status& status) {
    Status problems = 0;
    unsigned node = 0, beat = 0, degree = 0;
    int slot = 0;
    Beat word = 0;
    while (node < nodes || beat < beats) {
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT max=DATASET_EDGES
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
            // Cut where the capacity ends: nothing behind this needs more room than it has.
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
        // Once all rows are there, what is left of the region is read a beat a cycle and dropped.
        slot = exhausted || slot == 3 || node == nodes ? 0 : slot + 1;
    }
    status = problems;
}

/// Takes what check_edges passes on where only its verdict is wanted.
inline void drop_edges(unsigned nodes, hls::stream<Edge>& edges) {
    unsigned node = 0;
    while (node < nodes) {
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT max=DATASET_EDGES
        if (edges.read().last) ++node;
    }
}
