// Reading the feature and graph regions, and refusing rows that the kernel cannot run.
//
// Whatever the memory holds, the checks pass on a well-formed stream: exactly `nodes` rows, with every column and every
// source in range. The later stages therefore need no checks, never wait for a missing row and never read out of
// bounds. A check sends two verdicts: before its first row what the earlier checks found, after its last row the same,
// or its own problems if they found none. The writer takes those of the last check: with a problem it writes nothing.
#pragma once

#include "parameters.h"
#include "rows.h"
#include "types.h"

/// Reads `beats` beats of a region from beat `from` on; TRIPS is the dataset's count. It only bursts, so that the adapter
/// keeps the bus busy.
template <int TRIPS>
void read_beats(const Beat* region, unsigned from, unsigned beats, Stream<Beat>& out) {
    for (unsigned beat = 0; beat < beats; ++beat) {
        HLS_PIPELINE
        HLS_TRIPS(TRIPS)
        out.write(region[from + beat]);
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
        if (used && !known) problems |= Status(1) << COLUMN_OUT_OF_RANGE;
        group.column.lane[lane] = used && known ? column : ap_uint<FEATURE_COLUMN_BITS>(0);
        group.value.lane[lane] = used && known ? Input<L>(value) : Input<L>(0);
    }
    return group;
}

/// Feature beats as groups: `nodes` rows; missing rows become empty, surplus beats are dropped.
template <class L>
void check_features(unsigned nodes, unsigned beats, Stream<Beat>& in, Stream<FeatureGroup<L> >& out,
                    Stream<Status>& verdicts) {
    verdicts.write(0);
    Status problems = 0;
    Rows rows(nodes);
    Countdown<32> left(beats);
    while (rows.more || left.more) {
        HLS_PIPELINE
        HLS_TRIPS(DATASET_FEATURE_BEATS)
        Beat word = 0;
        bool ends = true;  // a missing beat is an empty row that ends
        if (left.more) {
            word = in.read();
            ends = word[FEATURE_TAIL_LAST_AT];
        } else {
            problems |= Status(1) << STREAM_TOO_SHORT;
        }
        left.next();
        if (rows.more) {
            FeatureGroup<L> group = unpack_group<L>(word, problems);
            group.last = ends;
            out.write(pack(group));
        }
        rows.next(ends);
    }
    verdicts.write(problems);
}

/// The first edge slot of a beat of the graph region.
inline Edge unpack_edge(const Beat& beat) {
    HLS_INLINE
    Edge edge;
    edge.source = field<EDGE_SOURCE_BITS>(beat, EDGE_SOURCE_AT);
    edge.coefficient = field<EDGE_COEFFICIENT_BITS>(beat, EDGE_COEFFICIENT_AT);
    edge.last = beat[EDGE_LAST_AT];
    return edge;
}

/// Graph beats as edges, one per cycle: `nodes` rows; missing rows become one empty message, surplus slots are dropped.
inline void check_edges(unsigned nodes, unsigned beats, Stream<Beat>& in, Stream<Edge>& out,
                        Stream<Status>& before, Stream<Status>& after) {
    before.read();
    const Status earlier = before.read();
    after.write(earlier);
    Status problems = 0;
    Rows rows(nodes);
    Countdown<32> left(beats);
    ap_uint<bits_of(DEGREE_CAPACITY)> degree = 0;  // entries of the row before this one
    bool full = DEGREE_CAPACITY == 1;              // this entry is the last that fits
    Turns<EDGES_PER_BEAT> slot;
    Beat word = 0;            // the slots that are left, the next one first
    bool takes = beats != 0;  // this cycle needs a beat, and there is one
    // After the last row, the rest of the region is read at one beat per cycle and dropped.
    while (rows.more || left.more) {
        HLS_PIPELINE
        HLS_TRIPS(DATASET_EDGES)
        if (takes) word = in.read();
        const bool exhausted = slot.first && !takes;
        left.next(slot.first);
        const Edge read = unpack_edge(word);
        word >>= EDGE_BITS;
        // Cut at the capacity, so that no later buffer overflows.
        const bool ends = read.last || exhausted || full;
        if (rows.more) {
            const bool unknown = read.source >= nodes;
            if (exhausted) problems |= Status(1) << STREAM_TOO_SHORT;
            else if (unknown) problems |= Status(1) << SOURCE_OUT_OF_RANGE;
            if (full && !read.last && !exhausted) problems |= Status(1) << DEGREE_OVER_CAPACITY;
            Edge edge = read;
            if (exhausted || unknown) edge.source = 0;
            edge.last = ends;
            out.write(pack(edge));
            full = ends ? DEGREE_CAPACITY == 1 : degree == DEGREE_CAPACITY - 2;
            ++degree;
            if (ends) degree = 0;
        }
        if (exhausted || !rows.more) slot.restart();
        else slot.next();
        takes = slot.first && left.more;
        rows.next(ends);
    }
    after.write(earlier != 0 ? earlier : problems);
}

/// Discards the edges that check_edges passes on, where only its verdict is needed.
inline void drop_edges(unsigned nodes, Stream<Edge>& edges) {
    Rows rows(nodes);
    while (rows.more) {
        HLS_PIPELINE
        HLS_TRIPS(DATASET_EDGES)
        rows.next(unpack<Edge>(edges.read()).last);
    }
}
