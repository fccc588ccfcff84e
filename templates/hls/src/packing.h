// Words for streams and memories: values side by side in one ap_uint, the first in the least significant bits.
#pragma once

#include <ap_int.h>
#include <hls_stream.h>

#include "pragmas.h"

/// N values that move together in one cycle.
template <class T, int N>
struct Lanes {
    T lane[N];
};

/// A word that holds so many bits, from bit 0 on.
template <int BITS> using Word = ap_uint<HLS_WORD_BITS(BITS)>;

/// The width of a type, and its conversion to and from a word of that width.
template <class T>
struct Packing;

template <int WIDTH>
struct Packing<ap_uint<WIDTH> > {
    static constexpr int BITS = WIDTH;
    static ap_uint<WIDTH> pack(const ap_uint<WIDTH>& value) {
        HLS_INLINE
        return value;
    }
    static ap_uint<WIDTH> unpack(const ap_uint<WIDTH>& word) {
        HLS_INLINE
        return word;
    }
};

template <int WIDTH>
struct Packing<ap_int<WIDTH> > {
    static constexpr int BITS = WIDTH;
    static ap_uint<WIDTH> pack(const ap_int<WIDTH>& value) {
        HLS_INLINE
        return ap_uint<WIDTH>(value);
    }
    static ap_int<WIDTH> unpack(const ap_uint<WIDTH>& word) {
        HLS_INLINE
        return ap_int<WIDTH>(word);
    }
};

template <>
struct Packing<bool> {
    static constexpr int BITS = 1;
    static ap_uint<1> pack(bool value) {
        HLS_INLINE
        return ap_uint<1>(value);
    }
    static bool unpack(const ap_uint<1>& word) {
        HLS_INLINE
        return word != 0;
    }
};

template <class T, int N>
struct Packing<Lanes<T, N> > {
    static constexpr int LANE_BITS = Packing<T>::BITS;
    static constexpr int BITS = N * LANE_BITS;
    static Word<BITS> pack(const Lanes<T, N>& lanes) {
        HLS_INLINE
        Word<BITS> word = 0;
        for (int lane = 0; lane < N; ++lane) {
            HLS_UNROLL
            word |= Word<BITS>(Packing<T>::pack(lanes.lane[lane])) << (LANE_BITS * lane);
        }
        return word;
    }
    static Lanes<T, N> unpack(const Word<BITS>& word) {
        HLS_INLINE
        Lanes<T, N> lanes;
        for (int lane = 0; lane < N; ++lane) {
            HLS_UNROLL
            lanes.lane[lane] = Packing<T>::unpack(Word<LANE_BITS>(word >> (LANE_BITS * lane)));
        }
        return lanes;
    }
};

/// A value as a word, in a memory or a stream.
template <class T> using Packed = Word<Packing<T>::BITS>;
template <class T> using Stream = hls::stream<Packed<T> >;

template <class T>
Packed<T> pack(const T& value) {
    HLS_INLINE
    return Packing<T>::pack(value);
}

template <class T>
T unpack(const Packed<T>& word) {
    HLS_INLINE
    return Packing<T>::unpack(word);
}

/// A value whose numbers are all 0.
template <class T>
T zeros() {
    HLS_INLINE
    return unpack<T>(Packed<T>(0));
}

/// The members of a struct, which its Packing lists in the same order for both directions.
template <class A>
constexpr int bits_together() { return Packing<A>::BITS; }
template <class A, class B, class... Rest>
constexpr int bits_together() { return Packing<A>::BITS + bits_together<B, Rest...>(); }

template <class A>
Packed<A> join(const A& only) {
    HLS_INLINE
    return pack(only);
}
template <class A, class B, class... Rest>
Word<bits_together<A, B, Rest...>()> join(const A& first, const B& second, const Rest&... rest) {
    HLS_INLINE
    typedef Word<bits_together<A, B, Rest...>()> All;
    return All(pack(first)) | (All(join(second, rest...)) << Packing<A>::BITS);
}

/// The member that begins at bit AT of a word.
template <class T, int AT, int WIDTH>
T member(const ap_uint<WIDTH>& word) {
    HLS_INLINE
    return unpack<T>(Packed<T>(word >> AT));
}
