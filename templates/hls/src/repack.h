// Between two stages of different width: tiles of IN features become tiles of OUT features.
#pragma once

#include "types.h"

/// Rows of FEATURES features, `nodes` of them. Lanes beyond FEATURES in a row's last tile leave as zeros.
///
/// One flat loop over all rows: a row follows the row before it without a gap.
template <class T, int FEATURES, int IN, int OUT>
void repack(unsigned nodes, hls::stream<Lanes<T, IN> >& in, hls::stream<Lanes<T, OUT> >& out) {
    T held[IN + OUT];
#pragma HLS ARRAY_PARTITION variable=held type=complete
    int taken = 0, given = 0;  // features of this row that came in and went out
    unsigned node = 0;
    while (node < nodes) {
#pragma HLS PIPELINE II=1
        if (taken < FEATURES && taken - given < OUT) {
            const Lanes<T, IN> tile = in.read();
            for (int lane = 0; lane < IN; ++lane) {
#pragma HLS UNROLL
                held[taken - given + lane] = tile.lane[lane];
            }
            taken += IN;
        }
        if (taken >= FEATURES || taken - given >= OUT) {
            Lanes<T, OUT> tile;
            for (int lane = 0; lane < OUT; ++lane) {
#pragma HLS UNROLL
                tile.lane[lane] = given + lane < FEATURES ? held[lane] : T(0);
            }
            out.write(tile);
            for (int lane = 0; lane < IN; ++lane) {
#pragma HLS UNROLL
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
