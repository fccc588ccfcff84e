// Multipliers with a fixed binding: the first DSP lanes of a stage take a DSP slice each, the others are built in LUTs.
#pragma once

#include <ap_int.h>

#include "pragmas.h"

/// A product in a DSP slice or in fabric. BIND_OP takes a literal, so each binding has its own body.
template <bool IN_DSP>
struct Multiplier {
    template <class A, class B, class P>
    static void run(const A& a, const B& b, P& result) {
        HLS_INLINE
        const auto product = a * b;  // of exactly the product's type: the binding is for no wider one
        HLS_PRODUCT(product, dsp)
        result = product;
    }
};

template <>
struct Multiplier<false> {
    template <class A, class B, class P>
    static void run(const A& a, const B& b, P& result) {
        HLS_INLINE
        const auto product = a * b;  // of exactly the product's type: the binding is for no wider one
        HLS_PRODUCT(product, fabric)
        result = product;
    }
};

/// LANES products in one cycle. The recursion makes every lane number a constant, so that it can select the binding.
template <int LANES, int DSP, int LANE = 0>
struct Multipliers {
    template <class A, class B, class P>
    static void run(const A a[LANES], const B b[LANES], P product[LANES]) {
        HLS_INLINE
        Multiplier<(LANE < DSP)>::run(a[LANE], b[LANE], product[LANE]);
        Multipliers<LANES, DSP, LANE + 1>::run(a, b, product);
    }
};

template <int LANES, int DSP>
struct Multipliers<LANES, DSP, LANES> {
    template <class A, class B, class P>
    static void run(const A*, const B*, P*) {
        HLS_INLINE
    }
};
