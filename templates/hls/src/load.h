// Weights, attention vectors and biases: beats of the parameter region become words of the memories of their layer.
#pragma once

#include "types.h"

/// The words of a beat as N codes of a layer; the words hold them sign-extended.
template <class T, int N>
Lanes<T, N> unpack_words(const Beat& beat) {
    HLS_INLINE
    Lanes<T, N> word;
    for (int lane = 0; lane < N; ++lane) {
        HLS_UNROLL
        word.lane[lane] = T(beat.range(WORD_BITS * lane + WORD_BITS - 1, WORD_BITS * lane).to_int());
    }
    return word;
}

/// Memory word `place`, 0 or 1, of a beat of weights, as it is stored in its memory.
template <class L>
WeightWord<L> unpack_weights(const Beat& beat, int place) {
    HLS_INLINE
    WeightWord<L> word;
    for (int lane = 0; lane < L::T_OUT; ++lane) {
        HLS_UNROLL
        const int first = MEMORY_WORD_BITS * place + L::WEIGHT_BITS * lane;
        word.lane[lane] = Weight<L>(beat.range(first + L::WEIGHT_BITS - 1, first));
    }
    return word;
}

template <class L>
void load_bias(Stream<Beat>& beats, Packed<BiasWord<L> > bias[L::BIAS_BEATS]) {
    HLS_ROLLED
    for (int word = 0; word < L::BIAS_BEATS; ++word) {
        HLS_PIPELINE
        bias[word] = pack(unpack_words<Value<L>, L::BIAS_LANES>(beats.read()));
    }
}

/// The attention vectors of gat, ordered by head, then tile, then target word before source word.
template <class L>
void load_attention(Stream<Beat>& beats, Packed<AttentionWord<L> > attention[L::ATTENTION_BEATS]) {
    HLS_ROLLED
    for (int word = 0; word < L::ATTENTION_BEATS; ++word) {
        HLS_PIPELINE
        attention[word] = pack(unpack_words<Weight<L>, L::T_ATTN>(beats.read()));
    }
}

/// Weights of the first layer, ordered by tile, then input column. Every copy holds all of them and takes two words per
/// cycle through its two ports, which later read.
template <class L>
void load_first(Stream<Beat>& beats, Packed<WeightWord<L> > weight[L::WEIGHT_COPIES][L::WEIGHT_DEPTH]) {
    HLS_ROLLED
    for (int pair = 0; pair < (L::WEIGHT_DEPTH + 1) / 2; ++pair) {
        HLS_PIPELINE
        const Beat beat = beats.read();
        for (int copy = 0; copy < L::WEIGHT_COPIES; ++copy) {
            HLS_UNROLL
            weight[copy][2 * pair] = pack(unpack_weights<L>(beat, 0));
            if (2 * pair + 1 < L::WEIGHT_DEPTH) weight[copy][2 * pair + 1] = pack(unpack_weights<L>(beat, 1));
        }
    }
}

/// Weights of a later layer, by group, tile, lane. Lane i of a group reads only its own memory; a beat fills two.
template <class L>
void load_later(Stream<Beat>& beats, Packed<WeightWord<L> > weight[L::T_IN][L::WEIGHT_DEPTH]) {
    const int PAIRS = (L::T_IN + 1) / 2;
    int word = 0, pair = 0;
    HLS_ROLLED
    for (int place = 0; place < L::WEIGHT_DEPTH * PAIRS; ++place) {
        HLS_PIPELINE
        const Beat beat = beats.read();
        for (int lane = 0; lane < L::T_IN; ++lane) {
            HLS_UNROLL
            if (lane / 2 == pair) weight[lane][word] = pack(unpack_weights<L>(beat, lane % 2));
        }
        if (++pair == PAIRS) {
            pair = 0;
            ++word;
        }
    }
}
