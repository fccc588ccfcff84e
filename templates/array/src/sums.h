// Multiplying a word of the table, and the sums of a row.
#pragma once

#include "memories.h"
#include "multiply.h"

/// What a unit takes back after T cycles of issue: the sums of the same tile. Those of one or two tiles ago are in
/// registers; others in a memory, whose word is read one cycle of issue before it is wanted.
struct Kept {
    static constexpr bool IN_MEMORY = TILES > 2;
    Packed<Sums> recent, older, ahead;

    Sums before(const Tile& tiles) const {
        HLS_INLINE
        Packed<Sums> found = recent;
        if (TILES > 1 && tiles == 2) found = older;
        if (IN_MEMORY && tiles > 2) found = ahead;
        return unpack<Sums>(found);
    }
    void keep(const Sums& after, const Rounds<TILES_BITS>& tile, Packed<Sums> words[TILES]) {
        HLS_INLINE
        if (IN_MEMORY) {
            ahead = words[tile.following()];
            words[tile.at] = pack(after);
        }
        older = recent;
        recent = pack(after);
    }
};

/// The sums of a row with one more entry, which multiplies every number of a word.
inline Sums accumulate(const NumberWord& word, const ap_int<ENTRY_VALUE_BITS>& value, const Sums& before, bool first,
                       bool maximum) {
    HLS_INLINE
    ap_int<ENTRY_VALUE_BITS> values[LANES];
    HLS_REGISTERS(values)
    for (int lane = 0; lane < LANES; ++lane) {
        HLS_UNROLL
        values[lane] = value;
    }
    ap_int<NUMBER_BITS + ENTRY_VALUE_BITS> product[LANES];
    HLS_REGISTERS(product)
    Multipliers<LANES, LANES>::run(word.lane, values, product);
    Sums after;
    for (int lane = 0; lane < LANES; ++lane) {
        HLS_UNROLL
        const Sum there = before.lane[lane], here = product[lane];
        after.lane[lane] = there + here;
        if (MAXIMUM && maximum) after.lane[lane] = there > here ? there : here;
        if (first) after.lane[lane] = here;
    }
    return after;
}

/// The word at an address of a unit's table.
inline NumberWord table_word(const TableMemory table, int unit, const Address& address) {
    HLS_INLINE
    Packed<NumberWord> word = 0;
    for (int bank = 0; bank < BANKS; ++bank) {
        HLS_UNROLL
        if (address % BANKS == bank) word = table[unit * BANKS + bank][address / BANKS];
    }
    return unpack<NumberWord>(word);
}

/// The total of the k units of a group that hold a unit's columns; void for all but the first of them.
inline Sums gather(const Descriptor& d, int unit, const Sums sums[UNITS]) {
    HLS_INLINE
    Sums total = sums[unit];
    for (int mode = 0; mode < MODES; ++mode) {
        HLS_UNROLL
        for (int part = 1; part < DEEPEST; ++part) {
            HLS_UNROLL
            const int other = unit + (part << MODE[mode].log_n);
            const bool belongs = part < 1 << MODE[mode].log_k && other < UNITS;
            for (int lane = 0; lane < LANES; ++lane) {
                HLS_UNROLL
                if (belongs && d.mode == mode) total.lane[lane] += sums[other].lane[lane];
            }
        }
    }
    return total;
}
