// The pragmas of PandA-bambu, behind the macros that the stages name. It has fewer than Vitis HLS: an empty macro is a
// matter that it decides itself.
#pragma once

#define HLS_PRAGMA(...) _Pragma(#__VA_ARGS__)

// ---- Loops: bambu pipelines functions only, and unrolls loops with a constant number of iterations on its own
#define HLS_PIPELINE
#define HLS_TRIPS(count)
#define HLS_UNROLL

// ---- Functions
#define HLS_INLINE HLS_PRAGMA(HLS inline)
#define HLS_DATAFLOW HLS_PRAGMA(HLS dataflow)

// ---- Streams and arrays
#define HLS_STREAM(stream, words, ...) Stream<__VA_ARGS__> stream;
#define HLS_REGISTERS(array)
#define HLS_BANKS(array)
#define HLS_STORAGE(array, kind, style)
#define HLS_RETURNS_AFTER_TWO(array)

// ---- Products
#define HLS_PRODUCT(product, style)

// ---- The kernel's arguments: addresses are arguments, and so are the registers
#define HLS_READ_PORT(argument, beats) HLS_PRAGMA(HLS interface port=argument mode=m_axi offset=direct bundle=gmem_read)
#define HLS_WRITE_PORT(argument, beats) HLS_PRAGMA(HLS interface port=argument mode=m_axi offset=direct bundle=gmem_write)
#define HLS_REGISTER(argument)
