// The end of a row: its sums are shifted, the bias is added, and the result saturates and passes the activation. The row
// may then add a row of the unit's own, and saturates again.
#pragma once

#include "attention.h"
#include "fixed.h"

/// A total behind its right shift, and with the bias.
typedef ap_int<SUM_BITS + MOST_LEFT + 1> Shifted;
typedef ap_int<larger(SUM_BITS + MOST_LEFT + 1, NUMBER_BITS + LOGIT_EXTRA_BITS) + 1> Biased;

/// A total shifted by the shift with a number: each is a constant, and the number selects one.
template <int NUMBER>
struct Shifts {
    static Shifted of(const Sum& total, const ap_uint<SHIFT_BITS>& number) {
        HLS_INLINE
        Shifted found = Shifts<NUMBER - 1>::of(total, number);
        if (number == NUMBER) found = shift_right_even<SHIFT[NUMBER]>(total);
        return found;
    }
};

template <>
struct Shifts<-1> {
    static Shifted of(const Sum&, const ap_uint<SHIFT_BITS>&) {
        HLS_INLINE
        return 0;
    }
};

/// The results of a tile of totals; messages of an attention are divided by the sum of their coefficients. `own` is the
/// word that is added.
inline ResultWord finish(const Descriptor& d, int unit, const Tile& tile, const Sums& totals, const Divisor& divisor,
                         const NumberWord& own, const BiasMemory bias, const ActivationMemory activation) {
    HLS_INLINE
    const ap_int<WORD_BITS + 1> largest = (ap_int<WORD_BITS + 1>(1) << (d.bits - 1).to_int()) - 1;
    NumberWord biases = zeros<NumberWord>();
    if (d.bias != 0) biases = unpack<NumberWord>(bias[unit][d.bias_base + tile]);
    ResultWord results;
    for (int lane = 0; lane < LANES; ++lane) {
        HLS_UNROLL
        ap_int<NUMBER_BITS + LOGIT_EXTRA_BITS> bias_here = biases.lane[lane];
        if (d.bias_fine != 0) bias_here <<= LOGIT_EXTRA_BITS;
        const Shifted shifted = Shifts<SHIFTS - 1>::of(totals.lane[lane], d.shift);
        Biased y = shifted;
        if (is_step(d, ATTENTION_MESSAGES)) y = divide_even<NUMBER_BITS + LOGIT_EXTRA_BITS>(shifted, divisor);
        const Biased sum = y + bias_here;
        Result u = sum;
        if (sum > largest) u = largest;
        if (sum < ~largest) u = ~largest;
        Result z = u;
        if (d.activation == ACTIVATION_RELU && u < 0) z = 0;
        if (ACTIVATION_WORDS > 0 && d.activation == ACTIVATION_TABLE) {
            // The table holds the codes of Z by the bits of U, LANES in a word.
            const ap_uint<WORD_BITS> code = ap_uint<WORD_BITS>(u) & ap_uint<WORD_BITS>(largest << 1 | 1);
            const NumberWord codes = unpack<NumberWord>(activation[unit * LANES + lane][d.activation_base + code / LANES]);
            for (int place = 0; place < LANES; ++place) {
                HLS_UNROLL
                if (code % LANES == place) z = codes.lane[place];
            }
        }
        if (adds_own(d)) {
            const Biased both = Shifts<SHIFTS - 1>::of(own.lane[lane], d.residual_shift) + z;
            z = both;
            if (both > largest) z = largest;
            if (both < ~largest) z = ~largest;
        }
        results.lane[lane] = z;
    }
    return results;
}
