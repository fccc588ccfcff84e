// The load phase: weights, attention vectors and biases from the parameter region into the memories of their layer.
#pragma once

#include "types.h"

/// The 16-bit words of a beat as N codes of a layer; the words hold them sign-extended.
template <class T, int N>
Lanes<T, N> unpack_words(const Beat& beat) {
#pragma HLS INLINE
    Lanes<T, N> word;
    for (int lane = 0; lane < N; ++lane) {
#pragma HLS UNROLL
        word.lane[lane] = T(beat.range(16 * lane + 15, 16 * lane).to_int());
    }
    return word;
}

template <class L>
void load_bias(const Beat* parameters, BiasWord<L> bias[L::BIAS_BEATS]) {
    for (int word = 0; word < L::BIAS_BEATS; ++word) {
#pragma HLS PIPELINE II=1
        bias[word] = unpack_words<Value<L>, L::BIAS_LANES>(parameters[L::BIAS_OFFSET + word]);
    }
}

/// The attention vectors of gat: head, then tile, then the word for the target and the one for the source.
template <class L>
void load_attention(const Beat* parameters, AttentionWord<L> attention[L::ATTENTION_BEATS]) {
    for (int word = 0; word < L::ATTENTION_BEATS; ++word) {
#pragma HLS PIPELINE II=1
        attention[word] = unpack_words<Weight<L>, L::T_ATTN>(parameters[L::ATTENTION_OFFSET + word]);
    }
}

/// Weights of the first layer, tile outside, input column inside. Every copy holds all of them.
template <class L>
void load_first(const Beat* parameters, WeightWord<L> weight[L::WEIGHT_COPIES][L::WEIGHT_DEPTH],
                BiasWord<L> bias[L::BIAS_BEATS]) {
    for (int word = 0; word < L::WEIGHT_DEPTH; ++word) {
#pragma HLS PIPELINE II=1
        const WeightWord<L> loaded = unpack_words<Weight<L>, L::T_OUT>(parameters[L::WEIGHT_OFFSET + word]);
        for (int copy = 0; copy < L::WEIGHT_COPIES; ++copy) {
#pragma HLS UNROLL
            weight[copy][word] = loaded;
        }
    }
    load_bias<L>(parameters, bias);
}

/// Weights of a later layer: group, tile, lane. Lane i of a group reads only its own memory.
template <class L>
void load_later(const Beat* parameters, WeightWord<L> weight[L::T_IN][L::WEIGHT_DEPTH],
                BiasWord<L> bias[L::BIAS_BEATS]) {
    int word = 0, lane = 0;
    for (int beat = 0; beat < L::WEIGHT_DEPTH * L::T_IN; ++beat) {
#pragma HLS PIPELINE II=1
        weight[lane][word] = unpack_words<Weight<L>, L::T_OUT>(parameters[L::WEIGHT_OFFSET + beat]);
        if (++lane == L::T_IN) {
            lane = 0;
            ++word;
        }
    }
    load_bias<L>(parameters, bias);
}
