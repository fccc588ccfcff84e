// The end of a phase: words of H into the memory that the next phase gathers from, logits into main memory.
#pragma once

#include "types.h"

/// Row i of H lies at words i * H_WORDS to (i + 1) * H_WORDS - 1.
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

/// Eight logits a beat, every node's row padded to whole beats.
template <class L>
void write_logits(unsigned nodes, hls::stream<Lanes<ap_int<16>, 8> >& rows, Beat* logits) {
    const unsigned count = nodes * L::LOGIT_BEATS;
#pragma HLS BIND_OP variable=count op=mul impl=fabric
    for (unsigned address = 0; address < count; ++address) {
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT max=L::LOGIT_TRIPS
        const Lanes<ap_int<16>, 8> row = rows.read();
        Beat beat = 0;
        for (int lane = 0; lane < 8; ++lane) {
#pragma HLS UNROLL
            beat.range(16 * lane + 15, 16 * lane) = ap_uint<16>(row.lane[lane]);
        }
        logits[address] = beat;
    }
}
