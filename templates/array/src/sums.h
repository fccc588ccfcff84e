// Multiplying a word of the table, and the sums of a row.
#pragma once

#include "memories.h"
#include "multiply.h"

/// What a unit takes back after T cycles of issue: the sums of the same tile. Those of one or two tiles ago are in
/// registers; others in a memory, whose word is read one cycle of issue before it is wanted.
template <class Kind>
struct Kept {
    static constexpr bool IN_MEMORY = TILES > 2;
    Packed<Kind> recent, older, ahead;

    Kept() : recent(0), older(0), ahead(0) {}
    Kind before(const Tile& tiles) const {
        HLS_INLINE
        Packed<Kind> found = recent;
        if (TILES > 1 && tiles == 2) found = older;
        if (IN_MEMORY && tiles > 2) found = ahead;
        return unpack<Kind>(found);
    }
    /// Those of a tile, if there are any; the tile that follows comes next.
    void keep(bool any, const Kind& after, const Tile& tile, const Tile& following, Packed<Kind> words[TILES]) {
        HLS_INLINE
        if (!any) return;
        if (IN_MEMORY) {
            ahead = words[following];
            words[tile] = pack(after);
        }
        older = recent;
        recent = pack(after);
    }
};

/// What the numbers of a word are multiplied by.
typedef Lanes<ap_int<ENTRY_VALUE_BITS>, LANES> Values;

/// The value of an entry, which multiplies every number of a word.
inline Values same(const ap_int<ENTRY_VALUE_BITS>& value) {
    HLS_INLINE
    Values values;
    for (int lane = 0; lane < LANES; ++lane) {
        HLS_UNROLL
        values.lane[lane] = value;
    }
    return values;
}

/// The products of a word's numbers.
inline Sums multiply(const NumberWord& word, const Values& values) {
    HLS_INLINE
    ap_int<NUMBER_BITS + ENTRY_VALUE_BITS> product[LANES];
    HLS_REGISTERS(product)
    Multipliers<LANES, LANES>::run(word.lane, values.lane, product);
    Sums here;
    for (int lane = 0; lane < LANES; ++lane) {
        HLS_UNROLL
        here.lane[lane] = product[lane];
    }
    return here;
}

/// What becomes of a row's sums with one more entry. It is decided beside the sums, not behind them: between the sums of
/// two entries lie an addition or a comparison, and one choice.
struct Reduction {
    bool adds;             ///< else the lanes that stay keep what is there, and the others get the entry's product
    bool compares;         ///< ... but where what is there is larger
    ap_uint<LANES> stays;

    Reduction(bool first, bool maximum) : adds(!first && !maximum), compares(!first && maximum), stays(0) {}
    /// The lanes behind those of the heads stay the first entry's.
    void keep_targets(bool first) {
        HLS_INLINE
        for (int lane = HEADS; lane < LANES; ++lane) {
            HLS_UNROLL
            stays[lane] = !first;
        }
    }
    /// Only the heads that an entry is the best source of yet get its scores.
    void choose(const ap_uint<HEADS>& best) {
        HLS_INLINE
        compares = false;
        for (int lane = 0; lane < LANES; ++lane) {
            HLS_UNROLL
            stays[lane] = !best[lane % HEADS];
        }
    }
};

/// The sums of a row with one more entry.
inline Sums accumulate(const Sums& products, const Sums& before, const Reduction& rule) {
    HLS_INLINE
    Sums after;
    for (int lane = 0; lane < LANES; ++lane) {
        HLS_UNROLL
        const Sum there = before.lane[lane], here = products.lane[lane];
        const bool larger = MAXIMUM && rule.compares && there > here, stays = SOFTMAX && rule.stays[lane];
        const Sum chosen = larger || stays ? there : here;
        after.lane[lane] = rule.adds ? Sum(there + here) : chosen;
    }
    return after;
}

/// Sums that go on from partial ones.
inline Sums onwards(const Sums& sums, const Sums& partial, bool maximum) {
    HLS_INLINE
    return accumulate(sums, partial, Reduction(false, maximum));
}

/// The word at an address of a unit's table that no other unit reads.
inline NumberWord table_word(const TableMemory table, int unit, const Address& address) {
    HLS_INLINE
    Packed<NumberWord> word = 0;
    for (int bank = 0; bank < TABLE_BANKS; ++bank) {
        HLS_UNROLL
        if (address % TABLE_BANKS == bank) word = table[unit * TABLE_BANKS + bank][address / TABLE_BANKS];
    }
    return unpack<NumberWord>(word);
}

/// The words at the addresses of all units whose tables are shared; those that are absent read none. A bank gives one
/// word, to all that ask for it.
inline void shared_words(const TableMemory table, const Address address[UNITS], const UnitMask& absent,
                         Packed<NumberWord> words[UNITS]) {
    HLS_INLINE
    Packed<NumberWord> read[TABLES * TABLE_BANKS];
    HLS_REGISTERS(read)
    for (int one = 0; one < TABLES * TABLE_BANKS; ++one) {
        HLS_UNROLL
        Address asked = 0;
        for (int reader = 0; reader < SHARED; ++reader) {
            HLS_UNROLL
            const int unit = first_reader(one / TABLE_BANKS) + reader * SIDE_BY_SIDE;
            // Values, not branches: what follows in an iteration does not wait for an address.
            const bool asks = !bool(absent[unit]) & (address[unit] % TABLE_BANKS == one % TABLE_BANKS);
            asked |= asks ? address[unit] : Address(0);
        }
        read[one] = table[one][asked / TABLE_BANKS];
    }
    for (int unit = 0; unit < UNITS; ++unit) {
        HLS_UNROLL
        words[unit] = 0;
        for (int bank = 0; bank < TABLE_BANKS; ++bank) {
            HLS_UNROLL
            const Packed<NumberWord> there = read[table_of(unit) * TABLE_BANKS + bank];
            words[unit] |= address[unit] % TABLE_BANKS == bank ? there : Packed<NumberWord>(0);
        }
    }
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
