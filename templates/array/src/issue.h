// Makes slot rows: an entry for every unit, from the beats of a stream or, for dense work, by counting.
//
// Whatever the memory holds, as many slot rows, or beats to load, leave as the descriptor names: missing ones hold zeros
// that end no row, entries beyond the limit name the first word, surplus beats are dropped. The units therefore need no
// checks, and never wait for a missing entry. After each descriptor a verdict says what was wrong.
#pragma once

#include "types.h"

/// The beats of words that a descriptor loads.
inline Status issue_load(const Descriptor& d, Stream<Beat>& beats, Stream<Beat>& words) {
    const int places = mode_of(d).places();
    // A beat holds words of every place, or a word takes several beats.
    const int words_of_beat = places < LOADED_TOGETHER ? LOADED_TOGETHER / places : 1;
    Rounds<8> part(places > LOADED_TOGETHER ? places / LOADED_TOGETHER : 1);
    ap_uint<COUNT_BITS> wanted = d.count;
    Countdown<BEATS_BITS> left(d.beats);
    bool more = true, short_of = false;
    while (more || left.more) {
        HLS_PIPELINE
        HLS_TRIPS(MOST_BEATS)
        Beat beat = 0;
        if (left.more) beat = beats.read();
        else short_of = true;
        left.next();
        if (more) {
            words.write(beat);
            if (part.last) {
                more = wanted > unsigned(words_of_beat);
                wanted -= words_of_beat;
            }
        }
        part.next();
    }
    return status_if(short_of, STREAM_TOO_SHORT);
}

/// The bits of a unit's entry in slot row `slot` of a beat, `word`; a long slot row has the beats `before` in front of it.
inline ap_uint<ENTRY_BITS> entry_bits(const Descriptor& d, int unit, int slot, const Beat& word, const Beat before[PARTS]) {
    HLS_INLINE
    ap_uint<ENTRY_BITS> found = 0;
    for (int mode = 0; mode < MODES; ++mode) {
        HLS_UNROLL
        const int takers = MODE[mode].takers(), taker = unit >> MODE[mode].log_n, part = taker / ENTRIES_PER_BEAT;
        const bool last = part == (takers - 1) / ENTRIES_PER_BEAT;
        for (int other = 0; other < ENTRIES_PER_BEAT; ++other) {
            HLS_UNROLL
            const int first = (other * takers + taker) % ENTRIES_PER_BEAT * ENTRY_BITS;
            const bool there = other == 0 || (other + 1) * takers <= ENTRIES_PER_BEAT;
            const bool here = there && d.mode == mode && slot == other;
            if (here) found = (last ? word : before[part]).range(first + ENTRY_BITS - 1, first);
        }
    }
    return found;
}

/// Whether a bank of a shared table is asked for two words; an entry of the value 0 asks for none.
inline bool clashes(const Entry entry[UNITS]) {
    HLS_INLINE
    bool found = false;
    for (int unit = 0; unit < UNITS; ++unit) {
        HLS_UNROLL
        for (int reader = 1; reader < SHARED; ++reader) {
            HLS_UNROLL
            const int other = unit + reader * SIDE_BY_SIDE;
            const bool both = other < UNITS && table_of(other) == table_of(unit);
            if (both) {
                const Entry& one = entry[unit];
                const Entry& two = entry[other];
                found = found || (one.value != 0 && two.value != 0 && one.address != two.address &&
                                  one.address % TABLE_BANKS == two.address % TABLE_BANKS);
            }
        }
    }
    return found;
}

/// The slot rows of a stream, one a cycle or, where a slot row takes several beats, one in as many cycles.
inline Status issue_sparse(const Descriptor& d, Stream<Beat>& beats, Stream<Slot>& slots,
                           Stream<Entry> entries[UNITS]) {
    int parts = 1, together = 1;  // beats of a slot row, slot rows of a beat
    for (int mode = 0; mode < MODES; ++mode) {
        HLS_UNROLL
        const int here = MODE[mode].takers();
        if (d.mode == mode) parts = (here + ENTRIES_PER_BEAT - 1) / ENTRIES_PER_BEAT;
        if (d.mode == mode && here < ENTRIES_PER_BEAT) together = ENTRIES_PER_BEAT / here;
    }
    Beat before[PARTS];
    HLS_REGISTERS(before)
    for (int part = 0; part < PARTS; ++part) {
        HLS_UNROLL
        before[part] = 0;
    }
    Beat word = 0;
    Rounds<8> part(parts), slot(together);
    Countdown<COUNT_BITS> rows(d.count);
    Countdown<BEATS_BITS> left(d.beats);
    // The index that an entry may have: behind it are words of the row, and in front of these one of scores.
    const Tile met = scores_edges(d) ? Tile(d.entries) : Tile(d.tiles);
    const ap_int<LIMIT_BITS + 1> largest =
        ap_int<LIMIT_BITS + 1>(d.limit) - met - ap_int<2>(is_step(d, ATTENTION_MESSAGES));
    bool short_of = false, unknown = false, clash = false;
    // After the last slot row, the rest of the beats are dropped.
    while (rows.more || left.more) {
        HLS_PIPELINE
        HLS_TRIPS(MOST_STEPS)
        const bool wants = slot.first || !rows.more;
        if (wants) word = 0;
        if (wants && left.more) word = beats.read();
        if (wants && !left.more) short_of = true;
        left.next(wants);
        if (rows.more && part.last) {
            Slot row;
            row.ends = rows.last;
            row.last = 0;
            Entry made[UNITS];
            HLS_REGISTERS(made)
            for (int unit = 0; unit < UNITS; ++unit) {
                HLS_UNROLL
                const ap_uint<ENTRY_BITS> bits = entry_bits(d, unit, slot.at.to_int(), word, before);
                const ap_uint<ENTRY_INDEX_BITS> index = member<ap_uint<ENTRY_INDEX_BITS>, ENTRY_INDEX_AT>(bits);
                const bool within = index <= largest;
                unknown = unknown || !within;
                row.last[unit] = member<bool, ENTRY_LAST_AT>(bits);
                Entry entry;
                entry.address = d.table_base;
                if (within) entry.address = d.table_base + index;
                entry.value = member<ap_int<ENTRY_VALUE_BITS>, ENTRY_VALUE_AT>(bits);
                made[unit] = entry;
                entries[unit].write(pack(entry));
            }
            clash = clash || clashes(made);
            slots.write(pack(row));
        }
        for (int one = 0; one < PARTS; ++one) {
            HLS_UNROLL
            if (part.at == one) before[one] = word;
        }
        rows.next(part.last);
        slot.next(part.last);
        part.next();
    }
    return status_if(short_of, STREAM_TOO_SHORT) | status_if(unknown, INDEX_OUT_OF_RANGE) |
           status_if(clash, SCHEDULE_BROKEN);
}

/// The slot rows of dense work: every unit multiplies the elements of its own rows, one after the other.
inline void issue_dense(const Descriptor& d, Stream<Slot>& slots, Stream<Entry> entries[UNITS]) {
    Countdown<COUNT_BITS> rows(d.count);
    Rounds<ENTRIES_BITS> element(d.entries);
    Address address = d.table_base;
    while (rows.more) {
        HLS_PIPELINE
        HLS_TRIPS(MOST_STEPS)
        const Slot row = {element.last ? ~UnitMask(0) : UnitMask(0), element.last && rows.last};
        slots.write(pack(row));
        for (int unit = 0; unit < UNITS; ++unit) {
            HLS_UNROLL
            const Entry entry = {address, 0};
            entries[unit].write(pack(entry));
        }
        address = element.last ? Address(d.table_base) : Address(address + d.tiles);
        rows.next(element.last);
        element.next();
    }
}

/// The slot rows of scores: the groups' rows of H take turns in the tables, and the words of a row meet the vectors of
/// the sources, then those of the targets.
inline void issue_scores(const Descriptor& d, Stream<Slot>& slots, Stream<Entry> entries[UNITS]) {
    Countdown<COUNT_BITS> rows(d.count);
    Rounds<ENTRIES_BITS> element(d.entries), word(d.entries >> 1);
    Address row = d.table_base;
    const Mode mode = mode_of(d);
    while (rows.more) {
        HLS_PIPELINE
        HLS_TRIPS(MOST_STEPS)
        const Slot slot = {element.last ? ~UnitMask(0) : UnitMask(0), element.last && rows.last};
        slots.write(pack(slot));
        for (int unit = 0; unit < UNITS; ++unit) {
            HLS_UNROLL
            const int group = unit >> (mode.log_k + mode.log_n);
            const Address first = group * d.target_tiles.to_int();
            const Entry entry = {Address(row + first + word.at), 0};
            entries[unit].write(pack(entry));
        }
        if (element.last) row += mode.m * d.target_tiles.to_int();
        rows.next(element.last);
        element.next();
        word.next();
    }
}

/// The process between main memory and the units.
inline void issue(Stream<Step>& steps, Stream<Beat>& beats, Stream<Beat>& words, Stream<Slot>& slots,
                  Stream<Entry> entries[UNITS], Stream<Status>& verdicts) {
    Step step = unpack<Step>(steps.read());
    while (step.more) {
        HLS_SEQUENTIAL
        HLS_TRIPS(PROGRAMME)
        Status problems = 0;
        if (step.d.operation == OPERATION_LOAD) problems = issue_load(step.d, beats, words);
        else if (streams(step.d)) problems = issue_sparse(step.d, beats, slots, entries);
        else if (is_step(step.d, ATTENTION_SCORES)) issue_scores(step.d, slots, entries);
        else issue_dense(step.d, slots, entries);
        verdicts.write(problems);
        step = unpack<Step>(steps.read());
    }
}
