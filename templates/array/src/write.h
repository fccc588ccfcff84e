// Logits into main memory.
#pragma once

#include "types.h"

/// Writes `beats` beats; without a condition in the loop, so that they leave in bursts.
inline void write_beats(unsigned beats, Stream<Beat>& rows, Beat* logits) {
    for (unsigned beat = 0; beat < beats; ++beat) {
        HLS_PIPELINE
        HLS_TRIPS(LOGITS_DEPTH)
        logits[beat] = rows.read();
    }
}

/// The only process that writes main memory.
inline void write_logits(Stream<Beat>& rows, Stream<ap_uint<RESULT_BEATS_BITS> >& counts, Stream<Status>& statuses,
                         Beat* logits, Status& status) {
    unsigned beats = counts.read().to_uint();
    while (beats != 0) {
        HLS_SEQUENTIAL
        HLS_TRIPS(PROGRAMME)
        write_beats(beats, rows, logits);
        beats = counts.read().to_uint();
    }
    status = statuses.read();
}
