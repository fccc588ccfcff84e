// The end of a phase: words of H into the memory that the next phase gathers from, logits into main memory.
#pragma once

#include "types.h"

/// Row i of H is in words i * H_WORDS to (i + 1) * H_WORDS - 1.
template <class L>
void store(unsigned nodes, hls::stream<HWord<L> >& words, HWord<L> h[L::H_DEPTH]) {
    const unsigned count = nodes * L::H_WORDS;
    HLS_PRODUCT(count, fabric)
    for (unsigned address = 0; address < count; ++address) {
        HLS_PIPELINE
        HLS_TRIPS(L::STORE_TRIPS)
        h[address] = words.read();
    }
}

/// A logit in each word of a beat, the row of every node padded to whole beats.
template <class L>
void write_logits(unsigned nodes, hls::stream<LogitBeat>& rows, Beat* logits) {
    const unsigned count = nodes * L::LOGIT_BEATS;
    HLS_PRODUCT(count, fabric)
    for (unsigned address = 0; address < count; ++address) {
        HLS_PIPELINE
        HLS_TRIPS(L::LOGIT_TRIPS)
        const LogitBeat row = rows.read();
        Beat beat = 0;
        for (int lane = 0; lane < BEAT_WORDS; ++lane) {
            HLS_UNROLL
            beat.range(WORD_BITS * lane + WORD_BITS - 1, WORD_BITS * lane) = ap_uint<WORD_BITS>(ap_int<WORD_BITS>(row.lane[lane]));
        }
        logits[address] = beat;
    }
}
