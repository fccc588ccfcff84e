// Reads main memory: the programme first, then the beats of one descriptor after the other.
//
// A descriptor that this engine cannot run, or that names words beyond a memory, ends the programme before it begins.
#pragma once

#include "types.h"

/// Reads `beats` beats of a region from beat `from` on. It only bursts, so that the adapter keeps the bus busy.
inline void read_beats(const Beat* region, unsigned from, unsigned beats, Stream<Beat>& out) {
    for (unsigned beat = 0; beat < beats; ++beat) {
        HLS_PIPELINE
        HLS_TRIPS(MOST_BEATS)
        out.write(region[from + beat]);
    }
}

/// Reads the programme; the first beat of a descriptor is its low part.
inline void fetch(const Beat* programme, unsigned descriptors, Packed<Descriptor> steps[PROGRAMME]) {
    typedef ap_uint<DESCRIPTOR_BEATS * BEAT_BITS> Whole;
    Whole whole = 0;
    const unsigned beats = descriptors * DESCRIPTOR_BEATS;
    for (unsigned beat = 0; beat < beats; ++beat) {
        HLS_PIPELINE
        HLS_TRIPS(PROGRAMME * DESCRIPTOR_BEATS)
        whole = (whole >> BEAT_BITS) | (Whole(programme[beat]) << ((DESCRIPTOR_BEATS - 1) * BEAT_BITS));
        if (beat % DESCRIPTOR_BEATS == DESCRIPTOR_BEATS - 1) {
            steps[beat / DESCRIPTOR_BEATS] = Packed<Descriptor>(whole);
        }
    }
}

/// Whether the descriptor's results, or the words that it loads, have a place.
inline bool has_target(const Descriptor& d) {
    HLS_INLINE
    const int log_n = mode_of(d).log_n;
    if (d.operation == OPERATION_LOAD) {
        return d.target == TARGET_TABLE || d.target == TARGET_BIAS || (SOFTMAX && d.target == TARGET_OWN) ||
               (ACTIVATION_WORDS > 0 && d.target == TARGET_ACTIVATION);
    }
    if (d.target == TARGET_LOGITS) return log_n == 0 && streams(d) && d.result_beats != 0;
    if (d.target == TARGET_OWN) return d.target_tiles >= d.tiles;
    if (d.target == TARGET_PARTIAL) return PARTIAL_WORDS > 0 && d.operation != OPERATION_ATTEND;
    if (d.target != TARGET_TABLE || log_n > d.target_columns.to_int()) return false;
    // A unit that reads has place for all words that it gets of a row.
    return (d.tiles.to_int() - 1) >> (d.target_columns.to_int() - log_n) < d.target_tiles.to_int();
}

/// Whether a step of an attention is one.
inline bool is_attention(const Descriptor& d) {
    HLS_INLINE
    if (!SOFTMAX || d.head_tiles == 0 || (!SYMMETRIC && d.symmetric != 0) || (!DOT && d.dot != 0)) return false;
    if (d.attention == ATTENTION_QUERIES) return has_dots(d) && d.target == TARGET_OWN && d.reduce == 0;
    if (scores_edges(d)) {
        return d.target == TARGET_OWN && d.tiles == 1 && d.entries != 0 && d.entries <= TILES && d.reduce == 0;
    }
    if (d.attention == ATTENTION_SCORES) {
        return d.target == TARGET_TABLE && d.tiles == 1 && d.entries != 0 && (d.entries & 1) == 0 && d.reduce == 0;
    }
    if (d.attention == ATTENTION_MAXIMA) return d.target == TARGET_OWN && d.tiles == 1 && d.reduce != 0;
    return d.target != TARGET_TABLE;
}

/// Whether this engine can run the descriptor.
inline bool can_run(const Descriptor& d) {
    HLS_INLINE
    const bool known = (d.operation != OPERATION_ATTEND || is_attention(d)) && d.mode < MODES && d.region <= REGION_EDGES &&
                       d.activation <= ACTIVATION_TABLE && d.shift < SHIFTS;
    const bool offered = (MAXIMUM || d.reduce == 0) && (ACTIVATION_WORDS > 0 || d.activation != ACTIVATION_TABLE);
    const bool sized = d.count != 0 && d.tiles != 0 && d.tiles <= TILES && d.target_tiles != 0 && d.bits >= 2 &&
                       d.bits <= WORD_BITS && (1 << d.target_columns) <= SIDE_BY_SIDE &&
                       (d.operation != OPERATION_DENSE || d.entries != 0);
    // Nearest points are found by the RTL alone.
    const bool spare = d.spare_high != 0 || d.sample != 0 || d.minus != 0 || d.negate != 0;
    const bool pairs = d.pair == 0 || (PAIR && is_step(d, ATTENTION_QUERIES));
    const bool accumulates = d.accumulate == 0 || (PARTIAL_WORDS > 0 && (d.operation == OPERATION_SPARSE ||
                                                                         d.operation == OPERATION_DENSE));
    // A unit finishes the rows of a stream in the order in which it holds its own.
    const bool rows = d.operation == OPERATION_SPARSE && (d.target == TARGET_OWN || d.target == TARGET_LOGITS) &&
                      d.residual_shift < SHIFTS;
    const bool residual = RESIDUAL ? d.residual == 0 || rows : d.residual == 0 && d.residual_shift == 0;
    return known && offered && sized && !spare && pairs && accumulates && residual && has_target(d);
}

/// Whether every word that the descriptor reads is in its memory.
inline bool reads_inside(const Descriptor& d) {
    HLS_INLINE
    if (d.operation == OPERATION_LOAD) return true;
    const ap_uint<ENTRIES_BITS + TILES_BITS> met = d.entries * d.tiles;
    HLS_PRODUCT(met, fabric)
    const ap_uint<ENTRIES_BITS> depth = (d.entries + (LANES - 1)) / LANES;
    const ap_uint<COUNT_BITS + ENTRIES_BITS> held = d.count * depth;
    HLS_PRODUCT(held, fabric)
    const bool dense = d.operation == OPERATION_DENSE;
    const bool table = dense ? d.table_base + met <= TABLE_WORDS : d.table_base + d.limit <= TABLE_WORDS;
    const ap_uint<bits_of(UNITS)> groups = mode_of(d).m;
    const ap_uint<COUNT_BITS + bits_of(UNITS) + TARGET_TILES_BITS> scored = d.count * groups * d.target_tiles;
    HLS_PRODUCT(scored, fabric)
    const bool nodes = is_step(d, ATTENTION_SCORES) && !has_dots(d);
    const Tile second = has_pairs(d) ? Tile(d.tiles) : Tile(0);  // words of a second vector
    const bool kept = has_dots(d) && (is_step(d, ATTENTION_MAXIMA) || is_step(d, ATTENTION_MESSAGES));
    const bool vectors = (!nodes || (d.own_base + d.entries <= OWN_WORDS && scored <= d.limit + 1)) &&
                         (!kept || d.own_base + d.count <= OWN_WORDS) &&
                         (!is_step(d, ATTENTION_QUERIES) || d.own_base + d.tiles + second <= OWN_WORDS);
    const bool own = vectors && (!dense || d.own_base + held <= OWN_WORDS);
    const bool bias = d.bias == 0 || d.bias_base + d.tiles <= BIAS_WORDS;
    const int codes = ((1 << d.bits) + LANES - 1) / LANES;
    const bool codes_there = d.activation != ACTIVATION_TABLE || int(d.activation_base) + codes <= ACTIVATION_WORDS;
    return table && own && bias && codes_there;
}

/// The only process that reads main memory.
inline void read_memory(unsigned descriptors, const Beat* programme, const Beat* parameters, const Beat* features,
                        const Beat* edges, Stream<Step>& to_issue, Stream<Step>& to_units, Stream<Beat>& beats) {
    static Packed<Descriptor> steps[PROGRAMME];
    HLS_STORAGE(steps, ram_s2p, lutram)
    fetch(programme, descriptors, steps);
    Status problem = 0;
    for (unsigned place = 0; place < descriptors && problem == 0; ++place) {
        HLS_SEQUENTIAL
        HLS_TRIPS(PROGRAMME)
        const Descriptor d = unpack<Descriptor>(steps[place]);
        if (!can_run(d)) problem = Status(1) << BAD_DESCRIPTOR;
        else if (!reads_inside(d)) problem = Status(1) << MEMORY_OVER_CAPACITY;
        if (problem == 0) {
            const Step step = {d, true, 0};
            to_issue.write(pack(step));
            to_units.write(pack(step));
            const unsigned from = d.offset.to_uint(), count = d.operation == OPERATION_LOAD || streams(d) ? d.beats.to_uint() : 0u;
            if (d.region == REGION_PARAMETERS) read_beats(parameters, from, count, beats);
            else if (d.region == REGION_FEATURES) read_beats(features, from, count, beats);
            else read_beats(edges, from, count, beats);
        }
    }
    const Step end = {zeros<Descriptor>(), false, problem};
    to_issue.write(pack(end));
    to_units.write(pack(end));
}
