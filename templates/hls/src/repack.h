// Width conversion between two stages: tiles of IN features become tiles of OUT features.
#pragma once

#include "fixed.h"
#include "parameters.h"
#include "types.h"

constexpr int tiles_of(int features, int lanes) { return (features + lanes - 1) / lanes; }

/// `nodes` rows of FEATURES features. Lanes beyond FEATURES in a row's last tile leave as zeros.
///
/// One flat loop over all rows, so that rows follow each other without a gap. TRIPS is for the tool's report.
template <class T, int FEATURES, int IN, int OUT,
          int TRIPS = DATASET_NODES * larger(tiles_of(FEATURES, IN), tiles_of(FEATURES, OUT))>
void repack(unsigned nodes, Stream<Lanes<T, IN> >& in, Stream<Lanes<T, OUT> >& out) {
    // Registers, because every lane moves in every cycle.
    T held[IN + OUT];
    HLS_REGISTERS(held)
    int taken = 0, given = 0;  // features of this row that came in and went out
    unsigned node = 0;
    while (node < nodes) {
        HLS_PIPELINE
        HLS_TRIPS(TRIPS)
        if (taken < FEATURES && taken - given < OUT) {
            const Lanes<T, IN> tile = unpack<Lanes<T, IN> >(in.read());
            for (int lane = 0; lane < IN; ++lane) {
                HLS_UNROLL
                held[taken - given + lane] = tile.lane[lane];
            }
            taken += IN;
        }
        if (taken >= FEATURES || taken - given >= OUT) {
            Lanes<T, OUT> tile;
            for (int lane = 0; lane < OUT; ++lane) {
                HLS_UNROLL
                tile.lane[lane] = given + lane < FEATURES ? held[lane] : T(0);
            }
            out.write(pack(tile));
            for (int lane = 0; lane < IN; ++lane) {
                HLS_UNROLL
                held[lane] = held[lane + OUT];
            }
            given += OUT;
        }
        if (given >= FEATURES) {
            taken = given = 0;
            ++node;
        }
    }
}

/// Rows of HEADS heads of PADDED features each, in tiles of IN features that may cross from one head to the next,
/// become tiles of OUT features of one head. Only the first FEATURES of a head leave, in whole tiles; the padding is
/// dropped.
///
/// The lanes beyond FEATURES in a head's last tile are undefined: their weights are zeros.
template <class T, int HEADS, int FEATURES, int PADDED, int IN, int OUT,
          int TRIPS = DATASET_NODES * larger(tiles_of(HEADS * PADDED, IN), HEADS * tiles_of(FEATURES, OUT))>
void split_heads(unsigned nodes, Stream<Lanes<T, IN> >& in, Stream<Lanes<T, OUT> >& out) {
    const int TILES = tiles_of(FEATURES, OUT);
    const int REST = PADDED - (TILES - 1) * OUT;  // features that leave the window with a head's last tile
    const int MOST = larger(REST, OUT);
    T held[IN + MOST];
    HLS_REGISTERS(held)
    for (int lane = 0; lane < IN + MOST; ++lane) {
        HLS_UNROLL
        held[lane] = 0;
    }
    int taken = 0, count = 0;  // features of this row that came in, and features held
    int head = 0, tile = 0;
    unsigned node = 0;
    while (node < nodes) {
        HLS_PIPELINE
        HLS_TRIPS(TRIPS)
        const bool last = tile == TILES - 1;
        const int wanted = last ? REST : OUT;
        if (taken < HEADS * PADDED && count < wanted) {
            const Lanes<T, IN> here = unpack<Lanes<T, IN> >(in.read());
            for (int lane = 0; lane < IN; ++lane) {
                HLS_UNROLL
                held[count + lane] = here.lane[lane];
            }
            taken += IN;
            count += IN;
        }
        if (count >= wanted) {
            Lanes<T, OUT> there;
            for (int lane = 0; lane < OUT; ++lane) {
                HLS_UNROLL
                there.lane[lane] = held[lane];
            }
            out.write(pack(there));
            // Two fixed distances, so this is a multiplexer, not a barrel shifter.
            for (int lane = 0; lane < IN; ++lane) {
                HLS_UNROLL
                held[lane] = last ? held[lane + REST] : held[lane + OUT];
            }
            count -= wanted;
            tile = last ? 0 : tile + 1;
            if (last && ++head == HEADS) {
                head = taken = count = 0;
                ++node;
            }
        }
    }
}

/// Copies every tile, TILES per row, to two readers.
template <int TILES, class T, int TRIPS = DATASET_NODES * TILES>
void duplicate(unsigned nodes, Stream<T>& in, Stream<T>& first, Stream<T>& second) {
    const unsigned count = nodes * TILES;
    HLS_PRODUCT(count, fabric)
    for (unsigned tile = 0; tile < count; ++tile) {
        HLS_PIPELINE
        HLS_TRIPS(TRIPS)
        const Packed<T> here = in.read();
        first.write(here);
        second.write(here);
    }
}
