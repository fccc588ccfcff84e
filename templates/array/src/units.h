// The process that owns the memories of all units: it runs a programme's descriptors one after the other.
#pragma once

#include "compute.h"

/// Reads a descriptor's slot rows and drops them.
inline void drop(Stream<Slot>& slots, Stream<Entry> entries[UNITS]) {
    bool more = true;
    while (more) {
        HLS_PIPELINE
        HLS_TRIPS(MOST_STEPS)
        more = !unpack<Slot>(slots.read()).ends;
        for (int unit = 0; unit < UNITS; ++unit) {
            HLS_UNROLL
            entries[unit].read();
        }
    }
}

/// After a problem the rest of the programme is read and dropped. `counts` announces beats of logits, a 0 their end, and
/// the status follows.
inline void units(Stream<Step>& steps, Stream<Beat>& words, Stream<Slot>& slots, Stream<Entry> entries[UNITS],
                  Stream<Status>& verdicts, Stream<Beat>& logits, Stream<ap_uint<RESULT_BEATS_BITS> >& counts,
                  Stream<Status>& statuses) {
    static TableMemory table;
    static OwnMemory own;
    static PartialMemory partial;
    static BiasMemory bias;
    static ActivationMemory activation;
    HLS_BANKS(table)
    HLS_STORAGE(table, ram_s2p, bram)
    HLS_BANKS(own)
    HLS_STORAGE(own, ram_s2p, OWN_STORAGE)
    HLS_BANKS(partial)
    HLS_STORAGE(partial, ram_s2p, PARTIAL_STORAGE)
    HLS_BANKS(bias)
    HLS_STORAGE(bias, ram_s2p, lutram)
    HLS_BANKS(activation)
    HLS_STORAGE(activation, ram_s2p, lutram)
    Status found = 0;
    Step step = unpack<Step>(steps.read());
    while (step.more) {
        HLS_SEQUENTIAL
        HLS_TRIPS(PROGRAMME)
        const Descriptor d = step.d;
        Status problems = 0;
        if (d.operation == OPERATION_LOAD) {
            problems = load(d, words, table, own, bias, activation);
        } else if (found != 0) {
            drop(slots, entries);
        } else {
            if (d.target == TARGET_LOGITS) counts.write(d.result_beats);
            problems = compute(d, table, own, partial, bias, activation, slots, entries, logits);
        }
        // What was wrong with a stream comes first: it may be why its rows went wrong.
        const Status verdict = verdicts.read();
        if (found == 0) found = verdict != 0 ? verdict : problems;
        step = unpack<Step>(steps.read());
    }
    counts.write(0);
    statuses.write(found != 0 ? found : step.problem);
}
