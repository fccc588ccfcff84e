// The types that pass between the processes, all derived from the engine's numbers in parameters.h.
#pragma once

#include <ap_int.h>

#include "count.h"
#include "packing.h"
#include "parameters.h"

/// One transfer on the memory bus, the least significant byte at the lowest address.
typedef ap_uint<BEAT_BITS> Beat;

/// One bit for each reason to refuse; the bits have names in wire.h.
typedef ap_uint<32> Status;

/// The status with a bit that is set if `found`.
inline Status status_if(bool found, int bit) {
    HLS_INLINE
    return found ? Status(1) << bit : Status(0);
}

/// A bit for each unit; of a group, its first unit's.
typedef ap_uint<UNITS> UnitMask;

/// The table that a unit reads, and the first of the units that read a table: those that follow each other in steps of
/// SIDE_BY_SIDE share one.
constexpr int table_of(int unit) { return unit / SIDE_BY_SIDE / SHARED * SIDE_BY_SIDE + unit % SIDE_BY_SIDE; }
constexpr int first_reader(int table) {
    return table / SIDE_BY_SIDE * SIDE_BY_SIDE * SHARED + table % SIDE_BY_SIDE;
}

/// A word of a unit's memories.
typedef ap_int<NUMBER_BITS> Number;
typedef Lanes<Number, LANES> NumberWord;

/// The exact sums of a tile, and the results that they become.
typedef ap_int<SUM_BITS> Sum;
typedef Lanes<Sum, LANES> Sums;
typedef ap_int<WORD_BITS> Result;
typedef Lanes<Result, LANES> ResultWord;

/// What a descriptor counts with.
typedef ap_uint<ADDRESS_BITS> Address;
typedef ap_uint<ADDRESS_BITS + 1> Place;  // of a word that may lie behind the end of the largest memory
typedef ap_uint<TILES_BITS> Tile;

/// A step of a programme, or its end.
struct Step {
    Descriptor d;
    bool more;       ///< else this is the end
    Status problem;  ///< at the end: why the programme ends before its last descriptor; else 0
};

template <>
struct Packing<Step> {
    static constexpr int MORE = Packing<Descriptor>::BITS, PROBLEM = MORE + 1;
    static constexpr int BITS = PROBLEM + Packing<Status>::BITS;
    static Word<BITS> pack(const Step& step) {
        HLS_INLINE
        return join(step.d, step.more, step.problem);
    }
    static Step unpack(const Word<BITS>& word) {
        HLS_INLINE
        Step step;
        step.d = member<Descriptor, 0>(word);
        step.more = member<bool, MORE>(word);
        step.problem = member<Status, PROBLEM>(word);
        return step;
    }
};

/// What all units share of a slot row.
struct Slot {
    UnitMask last;  ///< the unit's row ends here
    bool ends;      ///< the descriptor's last slot row
};

template <>
struct Packing<Slot> {
    static constexpr int BITS = UNITS + 1;
    static Word<BITS> pack(const Slot& slot) {
        HLS_INLINE
        return join(slot.last, slot.ends);
    }
    static Slot unpack(const Word<BITS>& word) {
        HLS_INLINE
        Slot slot;
        slot.last = member<UnitMask, 0>(word);
        slot.ends = member<bool, UNITS>(word);
        return slot;
    }
};

/// A unit's entry of a slot row.
struct Entry {
    Address address;                  ///< first word of the table that it meets
    ap_int<ENTRY_VALUE_BITS> value;   ///< the factor; void where it is an element of the unit's own rows
};

template <>
struct Packing<Entry> {
    static constexpr int BITS = ADDRESS_BITS + ENTRY_VALUE_BITS;
    static Word<BITS> pack(const Entry& entry) {
        HLS_INLINE
        return join(entry.address, entry.value);
    }
    static Entry unpack(const Word<BITS>& word) {
        HLS_INLINE
        Entry entry;
        entry.address = member<Address, 0>(word);
        entry.value = member<ap_int<ENTRY_VALUE_BITS>, ADDRESS_BITS>(word);
        return entry;
    }
};

/// Counts from 0 to `count` - 1, over and over; the count is known when a step begins.
template <int BITS>
struct Rounds {
    ap_uint<BITS> count, at;
    bool first, last;  ///< at == 0, at == count - 1

    explicit Rounds(ap_uint<BITS> count) : count(count), at(0), first(true), last(count == 1) {}
    void restart() {
        HLS_INLINE
        at = 0;
        first = true;
        last = count == 1;
    }
    ap_uint<BITS> following() const {
        HLS_INLINE
        return last ? ap_uint<BITS>(0) : ap_uint<BITS>(at + 1);
    }
    void next(bool counts = true) {
        HLS_INLINE
        if (counts) {
            const bool before_last = at + 2 == count;
            at = following();
            first = last;
            last = before_last || count == 1;
        }
    }
};

/// Whether a descriptor is a certain step of an attention.
inline bool is_step(const Descriptor& d, int step) {
    HLS_INLINE
    return SOFTMAX && d.operation == OPERATION_ATTEND && d.attention == step;
}

/// Whether a step of an attention works with scores of edges.
inline bool has_dots(const Descriptor& d) {
    HLS_INLINE
    return DOT && d.dot != 0;
}

/// Whether the two entries of a row have a vector each.
inline bool has_pairs(const Descriptor& d) {
    HLS_INLINE
    return PAIR && d.pair != 0;
}

/// Whether every entry of a stream gets a score of its own.
inline bool scores_edges(const Descriptor& d) {
    HLS_INLINE
    return is_step(d, ATTENTION_SCORES) && has_dots(d);
}

/// Whether the entries are those of a stream.
inline bool streams(const Descriptor& d) {
    HLS_INLINE
    return d.operation == OPERATION_SPARSE || is_step(d, ATTENTION_MAXIMA) || is_step(d, ATTENTION_MESSAGES) ||
           is_step(d, ATTENTION_QUERIES) || scores_edges(d);
}

/// Whether finished rows add the unit's own.
inline bool adds_own(const Descriptor& d) {
    HLS_INLINE
    return RESIDUAL && d.residual != 0;
}

/// The mode that a descriptor names.
inline Mode mode_of(const Descriptor& d) {
    HLS_INLINE
    Mode mode = MODE[0];
    for (int other = 1; other < MODES; ++other) {
        HLS_UNROLL
        if (d.mode == other) mode = MODE[other];
    }
    return mode;
}
