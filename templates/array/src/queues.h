// The results that wait in the units, and the order in which they leave.
//
// Results of a combination go to the tables of all units that hold their columns, a row's word a cycle. RESULTS words
// leave together where a row is one word in a unit that reads it and the groups come out even: word r is then of a group
// with number r modulo RESULTS, so that they are for different banks. Results of a hidden aggregation stay with their
// unit; logits leave row by row across the groups. The first unit of a group stands for it.
#pragma once

#include "memories.h"

/// The facts of a mode for each unit, which a descriptor's mode selects.
struct Groups {
    UnitMask leads;            ///< the first unit of a group
    UnitMask writes;           ///< the units that make results: of the k with the same columns, the first
    UnitMask shares[RESULTS];  ///< to the tables: the groups that each of the words of a cycle may be of
    int places, log_n;         ///< units of a group; log2 of those with different columns
    ap_uint<bits_of(UNITS - 1) + 1> sizes;  ///< bit b: a group has 2^b units

    explicit Groups(const Descriptor& d)
        : leads(0), writes(0), places(mode_of(d).places()), log_n(mode_of(d).log_n), sizes(places) {
        HLS_INLINE
        for (int mode = 0; mode < MODES; ++mode) {
            HLS_UNROLL
            for (int unit = 0; unit < UNITS; ++unit) {
                HLS_UNROLL
                const int place = unit % MODE[mode].places();
                if (d.mode == mode) leads[unit] = place == 0;
                if (d.mode == mode) writes[unit] = place < 1 << MODE[mode].log_n;
            }
        }
        for (int word = 0; word < RESULTS; ++word) {
            HLS_UNROLL
            shares[word] = 0;
            for (int mode = 0; mode < MODES; ++mode) {
                HLS_UNROLL
                const bool apart = d.target_tiles == 1 && MODE[mode].m % RESULTS == 0;
                for (int unit = 0; unit < UNITS; ++unit) {
                    HLS_UNROLL
                    const int share = apart ? unit / MODE[mode].places() % RESULTS : 0;
                    if (d.mode == mode) shares[word][unit] = share == word;
                }
            }
        }
    }
    /// The units that make results, of the groups whose first units are given.
    UnitMask members(const UnitMask& groups) const {
        HLS_INLINE
        UnitMask found = 0;
        for (int unit = 0; unit < UNITS; ++unit) {
            HLS_UNROLL
            bool belongs = false;
            for (int log = 0; 1 << log <= UNITS; ++log) {
                HLS_UNROLL
                belongs |= bool(sizes[log]) & bool(groups[unit & ~((1 << log) - 1)]);
            }
            found[unit] = belongs & bool(writes[unit]);
        }
        return found;
    }
};

/// Counters of up to MOST for every unit. Whether one counts is worked out from the counts before, not behind them.
template <int MOST>
struct Levels {
    ap_uint<bits_of(MOST)> count[UNITS];
    UnitMask some;  ///< count > 0

    Levels() : some(0) {
        HLS_INLINE
        for (int unit = 0; unit < UNITS; ++unit) {
            HLS_UNROLL
            count[unit] = 0;
        }
    }
    void next(const UnitMask& more, const UnitMask& less) {
        HLS_INLINE
        for (int unit = 0; unit < UNITS; ++unit) {
            HLS_UNROLL
            const ap_uint<bits_of(MOST)> now = count[unit];
            const bool any = now != 0, many = now > 1;
            some[unit] = bool(more[unit]) || (any && (many || !less[unit]));
            if (more[unit] && !less[unit]) count[unit] = now + 1;
            if (less[unit] && !more[unit]) count[unit] = now - 1;
        }
    }
    /// The counters that have reached a limit.
    UnitMask full(int limit) const {
        HLS_INLINE
        UnitMask found = 0;
        for (int unit = 0; unit < UNITS; ++unit) {
            HLS_UNROLL
            found[unit] = count[unit] >= limit;
        }
        return found;
    }
};

/// The lowest bit of a mask, and all below it.
inline UnitMask up_to_lowest(const UnitMask& mask) {
    HLS_INLINE
    return mask ^ UnitMask(mask - 1);
}

/// A mask turned by a number of units, which wrap around.
inline UnitMask turned(const UnitMask& mask, int by) {
    HLS_INLINE
    return by >= UNITS ? mask : UnitMask((mask << by) | (mask >> (UNITS - by)));
}
