// Counters whose conditions are registers: a loop that decides with them waits for no comparison.
#pragma once

#include <ap_int.h>

#include "pragmas.h"

/// The bits of a number from 0 to `most`.
constexpr int bits_of(int most) { return most < 2 ? 1 : 1 + bits_of(most / 2); }

/// Counts down to 0, where it stays. What the next cycle asks is worked out from this one's count.
template <int BITS>
struct Countdown {
    ap_uint<BITS> left;
    bool more, last;  ///< left > 0, left == 1; `left` itself is void after the end

    explicit Countdown(ap_uint<BITS> count) : left(count), more(count != 0), last(count == 1) {}
    void next(bool counts = true) {
        HLS_INLINE
        more = more && !(counts && last);
        if (counts) {
            last = left == 2;
            left -= 1;
        }
    }
};

/// Counts from 0 to COUNT - 1, over and over.
template <int COUNT>
struct Turns {
    ap_uint<bits_of(COUNT - 1)> at;
    bool first, last;  ///< at == 0, at == COUNT - 1

    ap_uint<bits_of(COUNT - 1)> following() const {
        HLS_INLINE
        return last ? ap_uint<bits_of(COUNT - 1)>(0) : ap_uint<bits_of(COUNT - 1)>(at + 1);
    }
    Turns() : at(0), first(true), last(COUNT == 1) {}
    void restart() {
        HLS_INLINE
        at = 0;
        first = true;
        last = COUNT == 1;
    }
    void next(bool counts = true) {
        HLS_INLINE
        if (counts && COUNT > 1) {
            const bool before_last = at == COUNT - 2;
            at = following();
            first = last;
            last = before_last;
        }
    }
};
