// The macros of the stages for PandA-bambu. It decides by itself what most pragmas of Vitis HLS ask for, and it takes no
// pragma out of a macro: those of the region and of the kernel's ports are in fgnas_top.cpp and fgnas_top.h.
#pragma once

// ---- Loops: bambu pipelines functions only, and unrolls loops with a constant number of iterations on its own
#define HLS_PIPELINE
#define HLS_SEQUENTIAL
#define HLS_TRIPS(count)
#define HLS_UNROLL
/// Where such a loop is unrolled, bambu 2024.10 may take two words of a stream in the wrong order.
#ifdef __BAMBU__
#define HLS_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define HLS_ROLLED
#endif

// ---- Functions
#define HLS_INLINE
#define HLS_APART
#define HLS_DATAFLOW

// ---- Streams and arrays
/// The width of a word that holds so many bits. Above 32 bits it is a power of two: of other widths bambu 2024.10 may
/// lose the bits above the largest power of two (38 bits lose 6; of 72 bits that a wider word is cut to, 8 are lost).
constexpr int power_of_two(int bits, int power = 64) { return bits <= power ? power : power_of_two(bits, 2 * power); }
#define HLS_WORD_BITS(bits) ((bits) > 32 ? power_of_two(bits) : (bits))
/// Outside of functions: in a region, a stream's constructor would be a process. Depths are set in the Verilog.
#define HLS_STREAM(stream, words, ...) static Stream<__VA_ARGS__> stream;
#define HLS_STREAMS(streams, count, words, ...) static Stream<__VA_ARGS__> streams[count];
#define HLS_REGISTERS(array)
#define HLS_BANKS(array)
#define HLS_STORAGE(array, kind, style)
#define HLS_RETURNS_AFTER_TWO(array)
#define HLS_INDEPENDENT(array)

// ---- Products
#define HLS_PRODUCT(product, style)

// ---- The kernel's arguments
#define HLS_READ_PORT(argument, beats, burst)
#define HLS_WRITE_PORT(argument, beats, burst)
#define HLS_REGISTER(argument)
