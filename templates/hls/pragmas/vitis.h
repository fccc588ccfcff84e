// The pragmas of Vitis HLS, each behind a macro: the stages name them, and a header like this one for each compiler says
// what they are. The part behind _Pragma is what `#pragma` would take on a line of its own.
#pragma once

#define HLS_PRAGMA(...) _Pragma(#__VA_ARGS__)

// ---- Loops, at the head of their body
/// An iteration a cycle.
#define HLS_PIPELINE HLS_PRAGMA(HLS PIPELINE II=1)
/// One after the other: the pipelines are in the functions that its body calls.
#define HLS_SEQUENTIAL HLS_PRAGMA(HLS PIPELINE off)
/// The number of iterations on the dataset, for the report.
#define HLS_TRIPS(count) HLS_PRAGMA(HLS LOOP_TRIPCOUNT max=count)
/// Before a loop that takes a word of a stream in each of a constant number of iterations: one after the other.
#define HLS_ROLLED
/// All iterations in one cycle.
#define HLS_UNROLL HLS_PRAGMA(HLS UNROLL)

// ---- Functions
/// No control of its own.
#define HLS_INLINE HLS_PRAGMA(HLS INLINE)
/// A function without state that takes new arguments in each cycle, numbers and packed words: it is scheduled once,
/// however often a loop's body calls it.
#define HLS_APART HLS_PRAGMA(HLS INLINE off) HLS_PRAGMA(HLS PIPELINE II=1)
/// The functions that this one calls run concurrently.
#define HLS_DATAFLOW HLS_PRAGMA(HLS DATAFLOW)

// ---- Streams and arrays
/// The width of a word that holds so many bits.
#define HLS_WORD_BITS(bits) (bits)
/// Declares a stream that holds `words` values of a type.
#define HLS_STREAM(stream, words, ...)   \
    Stream<__VA_ARGS__> stream(#stream); \
    HLS_PRAGMA(HLS STREAM variable=stream depth=words)
/// Declares an array of `count` such streams.
#define HLS_STREAMS(streams, count, words, ...)                     \
    Stream<__VA_ARGS__> streams[count];                             \
    HLS_PRAGMA(HLS ARRAY_PARTITION variable=streams type=complete) \
    HLS_PRAGMA(HLS STREAM variable=streams depth=words)
/// A register for each element of an array.
#define HLS_REGISTERS(array) HLS_PRAGMA(HLS ARRAY_PARTITION variable=array type=complete dim=0)
/// A memory for each element of an array's first dimension.
#define HLS_BANKS(array) HLS_PRAGMA(HLS ARRAY_PARTITION variable=array type=complete dim=1)
/// A memory's kind (ram_s2p, ram_t2p, rom_np, fifo) and what it is built of (bram, lutram).
#define HLS_STORAGE(array, kind, style) HLS_PRAGMA(HLS BIND_STORAGE variable=array type=kind impl=style)
/// An element that was written is read again in the next iteration but one, never sooner.
#define HLS_RETURNS_AFTER_TWO(array) \
    HLS_PRAGMA(HLS DEPENDENCE variable=array type=inter direction=RAW distance=2 dependent=true)
/// No iteration reads an element that another one writes.
#define HLS_INDEPENDENT(array) HLS_PRAGMA(HLS DEPENDENCE variable=array type=inter dependent=false)

// ---- Products
/// The multiplication whose result is `product` takes a DSP slice (dsp) or LUTs (fabric).
#define HLS_PRODUCT(product, style) HLS_PRAGMA(HLS BIND_OP variable=product op=mul impl=style)

// ---- The kernel's arguments
/// An address whose reads share one channel, in bursts of 4 KiB, `burst` beats; a co-simulation copies `beats` of it. A
/// request is made 64 cycles before its data are wanted.
#define HLS_READ_PORT(argument, beats, burst) \
    HLS_PRAGMA(HLS INTERFACE m_axi port=argument bundle=gmem_read offset=slave depth=beats latency=64 max_read_burst_length=burst num_read_outstanding=4)
/// An address that is written.
#define HLS_WRITE_PORT(argument, beats, burst) \
    HLS_PRAGMA(HLS INTERFACE m_axi port=argument bundle=gmem_write offset=slave depth=beats latency=64 max_write_burst_length=burst num_write_outstanding=4)
/// A register of the control port.
#define HLS_REGISTER(argument) HLS_PRAGMA(HLS INTERFACE s_axilite port=argument bundle=control)
