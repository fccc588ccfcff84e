// Width conversion between two stages: tiles of IN features become tiles of OUT features.
#pragma once

#include "fixed.h"
#include "parameters.h"
#include "pragmas.h"
#include "rows.h"
#include "types.h"

constexpr int tiles_of(int features, int lanes) { return (features + lanes - 1) / lanes; }

/// The steps of a row of `repack`, all known when it is compiled.
///
/// A step is a word of bits: GIVES if a tile leaves, CLOSES if that is a head's last and differs from the others, TAKES
/// if a tile comes in first, and from AT on the number of features in front of it.
template <int HEADS, int FEATURES, int PADDED, int IN, int OUT>
struct Repacking {
    static constexpr int GIVES = 1, CLOSES = 2, TAKES = 4, AT = 3;
    static constexpr int TILES = tiles_of(FEATURES, OUT);
    static constexpr int USED = FEATURES - (TILES - 1) * OUT;  // features of a head's last tile that leave
    static constexpr int REST = PADDED - (TILES - 1) * OUT;    // and those that it takes off the window
    static constexpr int WINDOW = IN + larger(REST, OUT) - 1;
    static constexpr int MOST = tiles_of(HEADS * PADDED, IN) + HEADS * TILES;
    static_assert(WINDOW <= 64, "`places` has 64 bits");

    int steps = 0;                  ///< of a row
    int period = 0;                 ///< after so many they repeat
    unsigned long long places = 0;  ///< bit i: a tile comes in behind i features
    unsigned short step[MOST] = {};

    constexpr Repacking() {
        int taken = 0, held = 0, head = 0, tile = 0;
        while (head < HEADS) {
            const bool last = tile == TILES - 1, takes = held < (last ? REST : OUT) && taken < HEADS * PADDED;
            step[steps] = takes ? TAKES | held << AT : 0;
            if (takes) {
                places |= 1ull << held;
                taken += IN;
                held += IN;
            }
            if (held >= (last ? REST : OUT)) {
                step[steps] |= GIVES | (last && (USED != OUT || REST != OUT) ? CLOSES : 0);
                held -= last ? REST : OUT;
                tile = last ? 0 : tile + 1;
                head += last;
            }
            ++steps;
        }
        while (!repeats_after(++period)) {
        }
    }
    constexpr bool repeats_after(int distance) const {
        if (steps % distance != 0) return false;
        for (int at = distance; at < steps; ++at) {
            if (step[at] != step[at - distance]) return false;
        }
        return true;
    }
};

/// `nodes` rows of HEADS heads of PADDED features each, in tiles of IN features that may cross from one head to the
/// next, become tiles of OUT features of one head. Only the first FEATURES of a head leave, in whole tiles that end in
/// zeros; the padding is dropped.
///
/// One flat loop over all rows, so that rows follow each other without a gap, and a counter of steps: no step waits for
/// sums or comparisons of the one before. TRIPS is for the tool's report.
template <class T, int FEATURES, int IN, int OUT, int HEADS = 1, int PADDED = FEATURES,
          int TRIPS = DATASET_NODES * larger(tiles_of(HEADS * PADDED, IN), HEADS * tiles_of(FEATURES, OUT)),
          class Plan = Repacking<HEADS, FEATURES, PADDED, IN, OUT> >
void repack(unsigned nodes, Stream<Lanes<T, IN> >& in, Stream<Lanes<T, OUT> >& out) {
    static constexpr Plan PLAN;
    const int WINDOW = Plan::WINDOW;
    // Registers, because every lane moves in every cycle.
    T held[WINDOW];
    HLS_REGISTERS(held)
    for (int slot = 0; slot < WINDOW; ++slot) {
        HLS_UNROLL
        held[slot] = 0;
    }
    Rows rows(nodes);
    Turns<PLAN.period> step;
    Turns<PLAN.steps / PLAN.period> round;
    while (rows.more) {
        HLS_PIPELINE
        HLS_TRIPS(TRIPS)
        const ap_uint<16> now = PLAN.step[step.at];
        const bool gives = (now & Plan::GIVES) != 0, closes = (now & Plan::CLOSES) != 0, takes = (now & Plan::TAKES) != 0;
        const ap_uint<16 - Plan::AT> at = now >> Plan::AT;
        Lanes<T, IN> tile = zeros<Lanes<T, IN> >();
        if (takes) tile = unpack<Lanes<T, IN> >(in.read());
        T window[WINDOW + larger(Plan::REST, OUT)];
        HLS_REGISTERS(window)
        for (int slot = 0; slot < WINDOW + larger(Plan::REST, OUT); ++slot) {
            HLS_UNROLL
            T comes = 0;
            bool covers = false;
            for (int lane = 0; lane < IN; ++lane) {
                HLS_UNROLL
                if (slot >= lane && slot < WINDOW && (PLAN.places >> (slot - lane) & 1) != 0 && at == slot - lane) {
                    comes = tile.lane[lane];
                    covers = takes;
                }
            }
            window[slot] = comes;
            if (slot < WINDOW && !covers) window[slot] = held[slot];
        }
        if (gives) {
            Lanes<T, OUT> leaves;
            for (int lane = 0; lane < OUT; ++lane) {
                HLS_UNROLL
                leaves.lane[lane] = window[lane];
                if (closes && lane >= Plan::USED) leaves.lane[lane] = 0;
            }
            out.write(pack(leaves));
        }
        for (int slot = 0; slot < WINDOW; ++slot) {
            HLS_UNROLL
            held[slot] = window[slot];
            if (gives) held[slot] = window[slot + OUT];
            if (closes) held[slot] = window[slot + Plan::REST];
        }
        rows.next(step.last && round.last);
        round.next(step.last);
        step.next();
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
