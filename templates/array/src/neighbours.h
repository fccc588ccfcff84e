// Points and their distances: the chains of sorted places that find the nearest of every row, the memory of their
// indices, which a gather reads, and what the neighbours of a row send of their distances.
//
// A unit has a chain. Every row of the unit meets every point; the sum of the squares of their differences, with the
// point's index, is a key. No two keys of a row are equal, so that of equal distances the smaller index is nearer.
#pragma once

#include "sums.h"

/// The indices of nearest points that every unit holds, row by row.
typedef ap_uint<ENTRY_INDEX_BITS> Index;
typedef Packed<Index> NeighbourMemory[UNITS][NEIGHBOUR_WORDS];

/// A place in that memory, or behind its end.
typedef ap_uint<bits_of(NEIGHBOUR_WORDS)> IndexPlace;

/// A number of a point, or its difference from that of a row; and its products.
typedef Lanes<ap_int<NUMBER_BITS + 1>, LANES> Differences;
typedef Lanes<ap_int<NUMBER_BITS + 1 + ENTRY_VALUE_BITS>, LANES> Products;

/// A squared distance, and the key that an index makes of it.
constexpr int KEY_BITS = DISTANCE_BITS + ENTRY_INDEX_BITS;
typedef ap_uint<DISTANCE_BITS> Distance;
typedef ap_uint<KEY_BITS> Key;

/// Places of a chain, or indices that have still to leave.
typedef ap_uint<bits_of(PLACES)> PlaceCount;

/// The numbers of a word, less those of an own row where distances are measured; or those of the own row alone.
inline Differences met_by(const NumberWord& word, const NumberWord& row, bool measures, bool passes) {
    HLS_INLINE
    Differences found;
    for (int lane = 0; lane < LANES; ++lane) {
        HLS_UNROLL
        const Number first = passes ? row.lane[lane] : word.lane[lane];
        const Number less = measures ? row.lane[lane] : Number(0);
        found.lane[lane] = first - less;
    }
    return found;
}

/// What differences are multiplied by: themselves.
inline Values squaring(const Differences& given) {
    HLS_INLINE
    Values values;
    for (int lane = 0; lane < LANES; ++lane) {
        HLS_UNROLL
        values.lane[lane] = given.lane[lane];
    }
    return values;
}

/// The products of a word, on the multipliers that every word meets.
inline Products products_of(const Differences& word, const Values& values) {
    HLS_INLINE
    Products products;
    HLS_REGISTERS(products.lane)
    Multipliers<LANES, LANES>::run(word.lane, values.lane, products.lane);
    return products;
}

/// Products as sums.
inline Sums sums_of(const Products& products) {
    HLS_INLINE
    Sums sums;
    for (int lane = 0; lane < LANES; ++lane) {
        HLS_UNROLL
        sums.lane[lane] = products.lane[lane];
    }
    return sums;
}

/// The root of a squared distance, rounded to nearest, a digit in each step; none lies halfway.
inline ap_uint<ROOT_BITS + 1> root_of(const Distance& distance) {
    HLS_APART
    const ap_uint<2 * ROOT_BITS> square = distance;
    ap_uint<ROOT_BITS> root = 0;
    ap_uint<ROOT_BITS + 1> rest = 0;  // twice the root at most
    for (int digit = ROOT_BITS - 1; digit >= 0; --digit) {
        HLS_UNROLL
        const ap_uint<ROOT_BITS + 3> trial = ap_uint<ROOT_BITS + 3>(rest) << 2 | (square >> (2 * digit) & 3);
        const ap_uint<ROOT_BITS + 3> less = ap_uint<ROOT_BITS + 3>(root) << 2 | 1;
        const bool fits = trial >= less;
        rest = fits ? ap_uint<ROOT_BITS + 1>(trial - less) : ap_uint<ROOT_BITS + 1>(trial);
        root = root << 1 | ap_uint<ROOT_BITS>(fits);
    }
    return root + ap_uint<1>(rest > root);
}

/// The chain of a unit: sorted places for the keys of a row, and the indices that it found for the row before; and what
/// the distances of a row's neighbours come to.
struct Chain {
    Distance distance;      ///< of the row that is met, so far
    Key place[PLACES];      ///< the nearest first
    Index leaving[PLACES];  ///< the next one first
    Sum total;              ///< of messages, or the largest of them

    void clear() {
        HLS_INLINE
        distance = 0;
        total = 0;
        for (int at = 0; at < PLACES; ++at) {
            HLS_UNROLL
            place[at] = ~Key(0);
            leaving[at] = 0;
        }
    }
    /// A word is met.
    void meet(const Products& squares, bool first) {
        HLS_INLINE
        Distance further = 0;
        for (int lane = 0; lane < LANES; ++lane) {
            HLS_UNROLL
            further += Distance(squares.lane[lane]);
        }
        distance = further + (first ? Distance(0) : distance);
    }
    /// A point was met whole, or not: each place keeps its key, takes the point's, or that of the place before. A row's
    /// first point finds no other.
    void keep(bool whole, const Index& point) {
        HLS_INLINE
        if (!whole) return;
        const bool first = point == 0;
        const Key key = Key(distance) << ENTRY_INDEX_BITS | point;
        Key before[PLACES];
        bool nearer[PLACES];  // the point lies before the key of the place
        HLS_REGISTERS(before)
        HLS_REGISTERS(nearer)
        for (int at = 0; at < PLACES; ++at) {
            HLS_UNROLL
            before[at] = place[at];
            nearer[at] = first | (key < place[at]);
        }
        for (int at = 0; at < PLACES; ++at) {
            HLS_UNROLL
            const int last = at > 0 ? at - 1 : 0;
            const Key moved = first ? ~Key(0) : before[last];
            if (nearer[at]) place[at] = at > 0 && nearer[last] ? moved : key;
        }
    }
    /// A neighbour was met whole, or not: its distance times a value is a message.
    void add_up(bool whole, bool first, bool maximum, const ap_int<ENTRY_VALUE_BITS>& value) {
        HLS_INLINE
        if (!whole) return;
        const ap_int<ROOT_BITS + 2> root = root_of(distance);
        const ap_int<ROOT_BITS + 2 + ENTRY_VALUE_BITS> product = root * value;
        HLS_PRODUCT(product, fabric)
        const Sum message = product;
        const Sum more = maximum ? (message > total ? message : total) : Sum(total + message);
        total = first ? message : more;
    }
    /// The indices move up by one, or are those of a row that ends.
    void move_up(bool ends) {
        HLS_INLINE
        for (int at = 0; at < PLACES; ++at) {
            HLS_UNROLL
            leaving[at] = ends ? Index(place[at]) : leaving[at + 1 < PLACES ? at + 1 : at];
        }
    }
};

/// The order in which all chains work: which point a row meets, and which of the last row's indices leaves.
struct Search {
    Index point;      ///< that is met
    PlaceCount left;  ///< indices of the row before that have not left
    bool leaves;      ///< left != 0
    IndexPlace at;    ///< where the next index goes

    Search() : point(0), left(0), leaves(false), at(0) {}
    /// A point was met, or not; the row's last one `ends` it.
    void next(bool met, bool ends, const PlaceCount& places) {
        HLS_INLINE
        const bool more = left > 1;
        if (leaves) {
            ++at;
            --left;
            leaves = more;
        }
        if (met) point = ends ? Index(0) : Index(point + 1);
        if (met && ends) {
            left = places;
            leaves = true;
        }
    }
};

/// The first word of the row of the table that an index names, or the end of the table.
inline Place named(const Descriptor& d, const Index& index) {
    HLS_INLINE
    const ap_uint<ENTRY_INDEX_BITS + LIMIT_BITS> first = index * d.limit;
    HLS_PRODUCT(first, fabric)
    const ap_uint<ENTRY_INDEX_BITS + LIMIT_BITS + 1> place = d.table_base + first;
    const bool there = place < TABLE_WORDS;
    return there ? Place(place) : Place(TABLE_WORDS);
}

/// A row's distances as a word: they are in its first lane.
inline Sums distances_of(const Sum& total) {
    HLS_INLINE
    Sums sums = zeros<Sums>();
    sums.lane[0] = total;
    return sums;
}
