// The end of a phase: words of H into the memory that the next phase gathers from, logits into main memory.
#pragma once

#include "types.h"

/// Row i of H is in words i * H_WORDS to (i + 1) * H_WORDS - 1.
template <class L>
void store(unsigned nodes, hls::stream<HWord<L> >& words, HWord<L> h[L::H_DEPTH]) {
    const unsigned count = nodes * L::H_WORDS;
#pragma HLS BIND_OP variable=count op=mul impl=fabric
    for (unsigned address = 0; address < count; ++address) {
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT max=L::STORE_TRIPS
        h[address] = words.read();
    }
}

/// A logit in each word of a beat, the row of every node padded to whole beats.
template <class L>
void write_logits(unsigned nodes, hls::stream<LogitBeat>& rows, Beat* logits) {
    const unsigned count = nodes * L::LOGIT_BEATS;
#pragma HLS BIND_OP variable=count op=mul impl=fabric
    for (unsigned address = 0; address < count; ++address) {
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT max=L::LOGIT_TRIPS
        const LogitBeat row = rows.read();
        Beat beat = 0;
        for (int lane = 0; lane < BEAT_WORDS; ++lane) {
#pragma HLS UNROLL
            beat.range(WORD_BITS * lane + WORD_BITS - 1, WORD_BITS * lane) = ap_uint<WORD_BITS>(ap_int<WORD_BITS>(row.lane[lane]));
        }
        logits[address] = beat;
    }
}
