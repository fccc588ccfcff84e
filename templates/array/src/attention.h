// Attention with scores. A word of scores has those of a node's heads as a source, then as a target; a row's own word has
// the largest of its sources, and those of its node as a target. With z = s + r and e = 5 LeakyReLU(z), the coefficient
// of an entry is 256 exp(-D 2^-f / 5), D being e of the largest less that of the entry. Symmetric scores add e of both ways
// round: a row's own word then has both scores of the source with the largest sum, and those of the row's node are those of
// its first entry.
//
// Scores of edges are products of the row's query with the source's row of H, or of functions of both nodes' rows with
// factors. They are own words, one a slot row, and the largest of every row lie behind them. Then z is the score itself,
// and e = 5 z.
#pragma once

#include "exponentials.h"
#include "sums.h"

/// A row's sum of coefficients.
typedef ap_uint<DIVISOR_BITS> Divisor;

/// A head of a unit, and the lanes of a word of scores.
typedef ap_uint<bits_of(HEADS - 1)> Head;
typedef ap_uint<bits_of(LANES - 1)> Lane;

/// The head that each word of a row belongs to: heads have as many words each. Scores of nodes take the words of a row
/// twice, as sources and as targets.
struct Walk {
    Rounds<TILES_BITS> word, part;
    Head head;
    bool target;

    explicit Walk(const Descriptor& d)
        : word(!is_step(d, ATTENTION_SCORES) ? ap_uint<TILES_BITS>(d.tiles)
               : has_dots(d)                 ? ap_uint<TILES_BITS>(d.entries)
                                             : ap_uint<TILES_BITS>(d.entries >> 1)),
          part(d.head_tiles), head(0), target(false) {}
    Lane lane() const {
        HLS_INLINE
        return Lane(head) + (target ? HEADS : 0);
    }
    void next(bool counts, bool of_nodes) {
        HLS_INLINE
        if (counts) {
            const bool ends = word.last;
            head = ends ? Head(0) : part.last ? Head(head + 1) : head;
            if (ends && of_nodes) target = !target;
            if (ends) part.restart();
            else part.next();
            word.next();
        }
    }
};

/// 5 LeakyReLU(z).
inline ap_int<NUMBER_BITS + 4> fivefold(const ap_int<NUMBER_BITS + 1>& z) {
    HLS_INLINE
    const ap_int<NUMBER_BITS + 4> wide = z;
    return z < 0 ? wide : ap_int<NUMBER_BITS + 4>((wide << 2) + wide);
}

/// A lane of a word.
inline Number lane_of(const NumberWord& word, const Lane& lane) {
    HLS_INLINE
    Number found = word.lane[0];
    for (int other = 1; other < LANES; ++other) {
        HLS_UNROLL
        if (lane == other) found = word.lane[other];
    }
    return found;
}

/// Five times a score of an edge, less than 12 * 2^NUMBER_BITS apart from another.
constexpr int EXPONENT_BITS = NUMBER_BITS + (SYMMETRIC ? 5 : 4);
typedef ap_int<EXPONENT_BITS> Exponent;

/// Five times the score of a head's edge, from the word of scores of the row's node and that of the source.
inline Exponent symmetric_exponent(const NumberWord& row, const NumberWord& other, const Head& head) {
    HLS_INLINE
    const ap_int<NUMBER_BITS + 1> there = lane_of(row, Lane(head) + HEADS) + lane_of(other, head);
    const ap_int<NUMBER_BITS + 1> back = lane_of(other, Lane(head) + HEADS) + lane_of(row, head);
    return Exponent(fivefold(there)) + Exponent(fivefold(back));
}

/// The coefficient of an entry, from its scores, the own word of its row, and the scores of the row's node.
inline ap_uint<COEFFICIENT_BITS> coefficient(const Descriptor& d, const Packed<NumberWord>& scores_word,
                                             const Packed<NumberWord>& row_word, const Packed<NumberWord>& node_word,
                                             const Head& head) {
    HLS_APART
    const NumberWord scores = unpack<NumberWord>(scores_word), row = unpack<NumberWord>(row_word);
    const ap_int<NUMBER_BITS + 1> target = lane_of(row, Lane(head) + HEADS);
    const ap_int<NUMBER_BITS + 1> largest = target + lane_of(row, head), here = target + lane_of(scores, head);
    ap_uint<EXPONENT_BITS> difference = fivefold(largest) - fivefold(here);
    if (SYMMETRIC && d.symmetric != 0) {
        const NumberWord node = unpack<NumberWord>(node_word);
        difference = symmetric_exponent(node, row, head) - symmetric_exponent(node, scores, head);
    }
    if (has_dots(d)) {
        const ap_uint<NUMBER_BITS + 1> below = lane_of(row, head) - lane_of(scores, head);
        difference = (ap_uint<EXPONENT_BITS>(below) << 2) + below;
    }
    const ap_uint<EXPONENT_BITS + 15> index = ap_uint<EXPONENT_BITS + 15>(difference) << d.exponent_shift.to_int();
    return exponential(index);
}

/// What an entry adds to its row's sum of coefficients. Bit 0 of the value says whether it counts; where means are
/// taken, the others say how often more than once, as many times as the row has entries.
inline Divisor counted_as(const ap_uint<COEFFICIENT_BITS>& weight, const ap_uint<ENTRY_VALUE_BITS>& value) {
    HLS_INLINE
    const ap_uint<COEFFICIENT_BITS> counts = (value & 1) != 0 ? weight : ap_uint<COEFFICIENT_BITS>(0);
    if (!MEAN) return counts;
    const ap_uint<ENTRY_VALUE_BITS> times = (value >> 1) + 1;
    ap_uint<COEFFICIENT_BITS + ENTRY_VALUE_BITS> product;
    Multiplier<false>::run(counts, times, product);
    return product;
}

/// The largest symmetric scores of a row yet, and the heads whose source has just given one.
struct Best {
    Exponent largest[HEADS];

    Best() {
        for (int head = 0; head < HEADS; ++head) {
            HLS_UNROLL
            largest[head] = 0;
        }
    }
    ap_uint<HEADS> meet(const NumberWord& node, const NumberWord& source, bool first) {
        HLS_INLINE
        ap_uint<HEADS> found = 0;
        for (int head = 0; head < HEADS; ++head) {
            HLS_UNROLL
            const Exponent here = symmetric_exponent(node, source, head);
            if (first || here > largest[head]) {
                largest[head] = here;
                found[head] = true;
            }
        }
        return found;
    }
};

/// The score that the products of a word add, in its lane.
inline Sums score(const Sums& products, const Lane& lane) {
    HLS_INLINE
    Sum total = 0;
    for (int one = 0; one < LANES; ++one) {
        HLS_UNROLL
        total += products.lane[one];
    }
    Sums found;
    for (int one = 0; one < LANES; ++one) {
        HLS_UNROLL
        found.lane[one] = lane == one ? total : Sum(0);
    }
    return found;
}

/// The words of a vector as values.
inline Values values_of(const NumberWord& vector) {
    HLS_INLINE
    Values values;
    for (int lane = 0; lane < LANES; ++lane) {
        HLS_UNROLL
        values.lane[lane] = vector.lane[lane];
    }
    return values;
}
