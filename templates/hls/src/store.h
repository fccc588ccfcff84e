// The end of a phase: words of H into the memory that the next phase gathers from, logits into main memory.
#pragma once

#include "parameters.h"
#include "types.h"

/// Row i of H is in words i * H_WORDS to (i + 1) * H_WORDS - 1.
template <class L>
void store(unsigned nodes, Stream<HWord<L> >& words, Packed<HWord<L> > h[L::H_DEPTH]) {
    const unsigned count = nodes * L::H_WORDS;
    HLS_PRODUCT(count, fabric)
    for (unsigned address = 0; address < count; ++address) {
        HLS_PIPELINE
        HLS_TRIPS(L::STORE_TRIPS)
        h[address] = words.read();
    }
}

/// A logit in each word of a beat, sign-extended.
inline Beat logit_beat(const LogitBeat& row) {
    HLS_INLINE
    Beat beat = 0;
    for (int lane = 0; lane < BEAT_WORDS; ++lane) {
        HLS_UNROLL
        beat |= Beat(ap_uint<WORD_BITS>(ap_int<WORD_BITS>(row.lane[lane]))) << (WORD_BITS * lane);
    }
    return beat;
}

/// Writes `beats` beats of logits; without a condition in the loop, so that they leave in bursts.
inline void write_beats(unsigned beats, Stream<LogitBeat>& rows, Beat* logits) {
    for (unsigned address = 0; address < beats; ++address) {
        HLS_PIPELINE
        HLS_TRIPS(LOGIT_DEPTH)
        logits[address] = logit_beat(unpack<LogitBeat>(rows.read()));
    }
}

inline void drop_beats(unsigned beats, Stream<LogitBeat>& rows) {
    for (unsigned beat = 0; beat < beats; ++beat) {
        HLS_PIPELINE
        HLS_TRIPS(LOGIT_DEPTH)
        rows.read();
    }
}

/// Logits into main memory, the row of every node padded to whole beats; none where an earlier check found a problem.
/// `status` is the last verdict.
template <class L>
void write_logits(unsigned nodes, Stream<LogitBeat>& rows, Stream<Status>& verdicts, Beat* logits, Status& status) {
    const unsigned count = nodes * L::LOGIT_BEATS;
    HLS_PRODUCT(count, fabric)
    const bool refused = verdicts.read() != 0;
    write_beats(refused ? 0u : count, rows, logits);
    drop_beats(refused ? count : 0u, rows);
    status = verdicts.read();
}
