// The words of the units' memories, and the words that a descriptor loads into them.
#pragma once

#include "types.h"

/// A memory of each kind for every unit, but units may share tables; each bank of a table and each lane's copy of the
/// activation table has its own.
typedef Packed<NumberWord> TableMemory[TABLES * TABLE_BANKS][TABLE_WORDS / TABLE_BANKS];
typedef Packed<NumberWord> OwnMemory[UNITS][OWN_WORDS];
constexpr int PARTIAL_DEPTH = PARTIAL_WORDS > 0 ? PARTIAL_WORDS : 1;
typedef Packed<Sums> PartialMemory[UNITS][PARTIAL_DEPTH];
typedef Packed<NumberWord> BiasMemory[UNITS][BIAS_WORDS];
constexpr int ACTIVATION_DEPTH = ACTIVATION_WORDS > 0 ? ACTIVATION_WORDS : 1;
typedef Packed<NumberWord> ActivationMemory[UNITS * LANES][ACTIVATION_DEPTH];

/// Word `number` of a beat of parameters.
inline Packed<NumberWord> word_of(const Beat& beat, int number) {
    HLS_INLINE
    return Packed<NumberWord>(beat >> (number * (BEAT_BITS / LOADED_TOGETHER)));
}

/// The word that a beat has for a unit; where it has several for a place, number `number` of them.
inline Packed<NumberWord> loaded_word(const Descriptor& d, int unit, const Beat& beat, int number) {
    HLS_INLINE
    int at = 0;
    for (int mode = 0; mode < MODES; ++mode) {
        HLS_UNROLL
        const int places = MODE[mode].places(), place = unit % places;
        if (d.mode == mode) at = number * places + place;
    }
    return word_of(beat, at & (LOADED_TOGETHER - 1));
}

/// Loads `count` words of each place, as many in a cycle as a beat and the banks allow. A word beyond the memory is not
/// written, and reported.
inline Status load(const Descriptor& d, Stream<Beat>& words, TableMemory table, OwnMemory own, BiasMemory bias,
                   ActivationMemory activation) {
    const int places = mode_of(d).places();
    const bool to_table = d.target == TARGET_TABLE;
    const int in_beat = places < LOADED_TOGETHER ? LOADED_TOGETHER / places : 1;  // words of a place
    const int in_step = !to_table ? 1 : in_beat < BANKS ? in_beat : BANKS;
    Rounds<8> part(places > LOADED_TOGETHER ? places / LOADED_TOGETHER : 1), turn(in_beat / in_step);
    Beat beat = 0;
    ap_uint<ADDRESS_BITS + 1> at = d.target_base;
    ap_uint<COUNT_BITS> left = d.count;
    bool more = true, beyond = false;
    while (more) {
        HLS_PIPELINE
        HLS_TRIPS(MOST_STEPS)
        if (turn.first) beat = words.read();
        const bool ends = left <= unsigned(in_step);
        const int step = ends ? left.to_int() : in_step;
        const bool to_own = SOFTMAX && d.target == TARGET_OWN;
        const int depth = to_table ? TABLE_WORDS : to_own ? OWN_WORDS
                          : d.target == TARGET_BIAS ? BIAS_WORDS : ACTIVATION_WORDS;
        const bool over = at + step > depth;
        const int first = turn.at.to_int() * in_step;  // word of the beat
        beyond = beyond || over;
        for (int unit = 0; unit < UNITS; ++unit) {
            HLS_UNROLL
            bool here = !over;
            for (int mode = 0; mode < MODES; ++mode) {
                HLS_UNROLL
                const int group = unit % MODE[mode].places() / LOADED_TOGETHER;
                if (d.mode == mode && MODE[mode].places() >= LOADED_TOGETHER && part.at != group) here = false;
            }
            const int written = table_of(unit);
            for (int bank = 0; bank < TABLE_BANKS; ++bank) {
                HLS_UNROLL
                // The word for this bank, counted from the first of the step.
                const int number = (bank - at.to_int()) & (TABLE_BANKS - 1);
                if (unit == first_reader(written) && here && to_table && number < step) {
                    table[written * TABLE_BANKS + bank][(at + number) / TABLE_BANKS] =
                        loaded_word(d, unit, beat, first + number);
                }
            }
            const Packed<NumberWord> only = loaded_word(d, unit, beat, first);
            if (here && d.target == TARGET_BIAS) bias[unit][at] = only;
            if (here && to_own) own[unit][at] = only;
            for (int lane = 0; lane < LANES; ++lane) {
                HLS_UNROLL
                const bool codes = ACTIVATION_WORDS > 0 && d.target == TARGET_ACTIVATION;
                if (here && codes) activation[unit * LANES + lane][at] = only;
            }
        }
        if (part.last) {
            at += in_step;
            left -= in_step;
            more = !ends;
        }
        part.next();
        turn.next();
    }
    return status_if(beyond, MEMORY_OVER_CAPACITY);
}
