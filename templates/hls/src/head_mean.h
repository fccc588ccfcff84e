// The end of the last layer: the mean over heads, rounded, plus the bias, saturated to LOGIT_BITS, is a logit.
#pragma once

#include "carry.h"
#include "fixed.h"
#include "trace.h"
#include "types.h"

/// Without gat, the features of the last layer are ordered by class: a tile holds the heads of CLASS_LANES classes or,
/// if a class has more heads than a tile has lanes, HEAD_TILES consecutive tiles hold the heads of one class. With gat
/// they are ordered by head: CLASS_TILES tiles hold all classes of TILE_HEADS heads, and HEAD_TILES times as many all
/// heads.
template <class L>
void head_mean(unsigned nodes, const Packed<BiasWord<L> > bias[L::BIAS_BEATS], Stream<YTile<L> >& tiles,
               Stream<Lanes<Logit, L::CLASS_LANES> >& logits) {
    const int TO_HEAD = L::GAT ? L::CLASS_LANES : 1, TO_CLASS = L::GAT ? 1 : L::TILE_HEADS;  // lanes to the next one
    const bool IN_TURN = L::GAT && L::CLASS_TILES > 1;  // else the sums of the previous tile continue
    typedef ap_int<L::Y_BITS + L::LOG2_HEADS> Sum;
    typedef Lanes<Sum, L::CLASS_LANES> Sums;
    const int APART = IN_TURN ? L::CLASS_TILES : 1;  // tiles from one of a class to the next
    Packed<Sums> sums[APART];
    HLS_STORAGE(sums, ram_s2p, lutram)
    HLS_RETURNS_AFTER_TWO(sums)
    Carry<Sums, APART> carry;
    Turns<APART> turn;
    Turns<L::HEAD_TILES> head_tile;
    Turns<L::CLASS_TILES> class_tile;
    const unsigned count = nodes * (L::CLASS_TILES * L::HEAD_TILES);
    HLS_PRODUCT(count, fabric)
    for (unsigned tile = 0; tile < count; ++tile) {
        HLS_PIPELINE
        HLS_TRIPS(L::NORMALISE_TRIPS)
        const YTile<L> y = unpack<YTile<L> >(tiles.read());
        const BiasWord<L> b = unpack<BiasWord<L> >(bias[class_tile.at]);
        const Sums before = carry.before();
        Sums after;
        Lanes<Logit, L::CLASS_LANES> logit;
        for (int lane = 0; lane < L::CLASS_LANES; ++lane) {
            HLS_UNROLL
            Sum added[L::TILE_HEADS];
            HLS_REGISTERS(added)
            for (int head = 0; head < L::TILE_HEADS; ++head) {
                HLS_UNROLL
                added[head] = y.lane[lane * TO_CLASS + head * TO_HEAD];
            }
            Sum start = before.lane[lane];
            if (head_tile.first) start = 0;
            const Sum sum = start + Tree<L::TILE_HEADS>::sum(added);
            after.lane[lane] = sum;
            const ap_int<L::VALUE_BITS + LOGIT_EXTRA_BITS> offset =
                ap_int<L::VALUE_BITS + LOGIT_EXTRA_BITS>(b.lane[lane]) << LOGIT_EXTRA_BITS;
            logit.lane[lane] = saturate<LOGIT_BITS>(shift_right_even<L::LOG2_HEADS>(sum) + offset);
        }
        carry.keep(after, turn, sums);
        turn.next();
        if (head_tile.last) {
            TRACE_ROW(L, "head_mean", logit.lane, L::CLASSES);
            logits.write(pack(logit));
        }
        // The inner of the two counters advances with every tile.
        const bool classes_end = class_tile.last, heads_end = head_tile.last;
        class_tile.next(L::GAT || heads_end);
        head_tile.next(!L::GAT || classes_end);
    }
}
