// What a loop takes back after COUNT iterations: the sums of a tile, the maxima of a group of heads.
#pragma once

#include "count.h"
#include "packing.h"

/// The value that was kept COUNT iterations ago: one or two are in registers, more in a memory, whose word is read an
/// iteration before it is wanted, so that neither its read nor its write shares a cycle with the arithmetic.
template <class T, int COUNT>
struct Carry {
    static constexpr bool IN_MEMORY = COUNT > 2;
    Packed<T> recent, older, ahead;

    Carry() : recent(0), older(0), ahead(0) {}
    T before() const {
        HLS_INLINE
        return unpack<T>(COUNT == 1 ? recent : COUNT == 2 ? older : ahead);
    }
    /// `after` is kept in element `turn` of `words`.
    void keep(const T& after, const Turns<COUNT>& turn, Packed<T> words[COUNT]) {
        HLS_INLINE
        if (IN_MEMORY) {
            ahead = words[turn.following()];
            words[turn.at] = pack(after);
        }
        older = recent;
        recent = pack(after);
    }
};

/// The sum of N values of a type that holds it, as a balanced tree of adders.
template <int N, int FROM = 0>
struct Tree {
    template <class T>
    static T sum(const T value[]) {
        HLS_INLINE
        return Tree<N / 2, FROM>::sum(value) + Tree<N - N / 2, FROM + N / 2>::sum(value);
    }
};

template <int FROM>
struct Tree<1, FROM> {
    template <class T>
    static T sum(const T value[]) {
        HLS_INLINE
        return value[FROM];
    }
};
