// The pragmas as marks in LLVM's representation, for the measurement of recurrences: a call of an undefined function in
// the body of a loop, or with the address of an array. The measurement takes them out before anything is optimised.
#pragma once

extern "C" {
void recurrence_pipeline();
void recurrence_unroll();
void recurrence_memory(const volatile void*);
void recurrence_distance_two(const volatile void*);
void recurrence_independent(const volatile void*);
void recurrence_apart();
}

// ---- Loops
#define HLS_PIPELINE recurrence_pipeline();
#define HLS_UNROLL recurrence_unroll();
#define HLS_ROLLED
#define HLS_SEQUENTIAL
#define HLS_TRIPS(count)

// ---- Arrays: one that is neither is registers
#define HLS_STORAGE(array, kind, style) recurrence_memory(&array);
#define HLS_RETURNS_AFTER_TWO(array) recurrence_distance_two(&array);
#define HLS_INDEPENDENT(array) recurrence_independent(&array);
#define HLS_REGISTERS(array)
#define HLS_BANKS(array)
#define HLS_WORD_BITS(bits) (bits)

// ---- Functions
#define HLS_APART recurrence_apart();

// ---- No part of a recurrence
#define HLS_INLINE
#define HLS_DATAFLOW
#define HLS_STREAM(stream, words, ...) Stream<__VA_ARGS__> stream(#stream);
#define HLS_STREAMS(streams, count, words, ...) Stream<__VA_ARGS__> streams[count];
#define HLS_PRODUCT(product, style)
#define HLS_READ_PORT(argument, beats, burst)
#define HLS_WRITE_PORT(argument, beats, burst)
#define HLS_REGISTER(argument)
