"""Cycles of the array on a whole graph, from the accepted start write to the interrupt, phase by phase.

With the reference memory of the simulation (see `fgnas.hardware.pipeline.latency`) this is no estimate. A phase is
issued in lock step, so its length follows from the same schedule that the host sends: when each slot row has its beats,
and whether the queues of results have room. `_issue` steps through a phase cycle by cycle, as the hardware does; where
a phase repeats itself, it steps until a state returns, and counts the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from fgnas.design import PAIR, VECTORS
from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.array.dealing import Ints
from fgnas.hardware.array.encoding import Encoded, EncodedArray, block_rows
from fgnas.hardware.array.engine import Engine, Mode, load_steps
from fgnas.hardware.array.heads import adds_heads
from fgnas.hardware.array.programme import (
    Attention,
    Descriptor,
    Region,
    Target,
    beats_per_slot_row,
    descriptor_beats,
    slot_rows_per_beat,
)
from fgnas.hardware.pipeline import work
from fgnas.hardware.pipeline.accelerator import Accelerator, LayerAccelerator
from fgnas.hardware.pipeline.latency import FETCH_CYCLES, READ_LATENCY, START_CYCLES, WRITE_LATENCY

RESULT_CYCLES = 10
"""From the issue of a row's last entry to the cycle in which its result may leave the queue."""
COEFFICIENT_CYCLES = 3
"""What an engine with attention takes longer, in every phase: an entry's coefficient is worked out."""
QUOTIENT_CYCLES = 3
"""What a quotient takes beside a cycle for each of its bits."""
RESIDUAL_CYCLES = 1
"""What an engine that adds own rows takes longer, in every phase."""
PARTIAL_CYCLES = 1
"""What an engine that keeps partial sums takes longer, in every phase."""
DECODE_CYCLES = 3
"""From the end of a phase to the first cycle of the next."""
END_CYCLES = {Target.TABLE: 2, Target.OWN: 1, Target.LOGITS: WRITE_LATENCY + 3, Target.PARTIAL: 1}
"""From the cycle in which the last result leaves to the end of the phase."""
FINISH_CYCLES = 2
"""From the end of the last phase to the interrupt."""


@dataclass(frozen=True)
class Stream:
    """The facts of a compute phase that its cycles depend on, apart from the rows.

    Attributes:
        target: where its results go.
        tiles: T.
        limit: rows of a group between their issue and their end.
        parts: beats of a slot row; together: slot rows of a beat; both 0 where no beats are read.
        results: words of logits that leave together, those of neighbouring groups; or words that go to the tables in a
            cycle, each of a group that many apart.
        before: cycles of an entry before that of its first word of results: a word of scores is read, or the score of
            an edge is added up.
        latency: from the issue of a row's last entry to the cycle in which its result may leave.
        spacing: cycles from a word of results to the next of the same unit, at least.
    """

    target: Target
    tiles: int
    limit: int
    parts: int
    together: int
    results: int = 1
    before: int = 0
    latency: int = RESULT_CYCLES
    spacing: int = 1


def result_cycles(
    softmax: Any, messages: Any, bits: Any, residual: Any = 0, partial: Any = 0, parts: Any = 1
) -> Any:
    """The latency of a `Stream` on an engine with or without attention, residuals and partial sums, whose numbers have
    so many bits; messages that are weighted by scores are divided, and a word that is finished in several parts goes
    through a queue before. Integers, or arrays of them."""
    quotient = bits + wire.LOGIT_EXTRA_BITS + QUOTIENT_CYCLES
    further = softmax * COEFFICIENT_CYCLES + residual * RESIDUAL_CYCLES + partial * PARTIAL_CYCLES
    return RESULT_CYCLES + further + messages * quotient + parts * (parts > 1)


def stream_of(descriptor: Descriptor, engine: Engine) -> Stream:
    """The facts of a compute descriptor."""
    mode = engine.modes[descriptor.mode]
    takers, sparse = mode.takers, descriptor.streams
    messages = descriptor.is_step(Attention.MESSAGES)
    before = descriptor.entries - 1 if descriptor.scores_edges else int(messages)
    return Stream(
        Target(descriptor.target),
        descriptor.tiles,
        engine.queue_rows(descriptor.tiles),
        beats_per_slot_row(takers, engine.beat_bits, engine.bits) if sparse else 0,
        slot_rows_per_beat(takers, engine.beat_bits, engine.bits) if sparse else 0,
        engine.table_writes(mode, descriptor.target_tiles)
        if descriptor.target == Target.TABLE
        else engine.results_together(mode, descriptor.tiles),
        before,
        result_cycles(
            engine.softmax is not None, messages, engine.bits, engine.residual, engine.partial_words > 0, engine.parts
        ),
        engine.parts,
    )


def compute_cycles(
    stream: Stream, ends: NDArray[np.bool_], read_latency: int = READ_LATENCY, times: int = 1
) -> int:
    """Cycles of a compute phase from its first to the first of the next.

    `ends` [slot rows, m] says where rows end; the phase issues these slot rows so many times. Exact for any length.
    Raises UserError for a phase that never ends: results that leave in order wait for a group that gets no more rows.
    """
    last = _issue(
        ends, times, stream.tiles, stream.limit, stream.parts, max(1, stream.together), int(stream.target),
        stream.results, read_latency + FETCH_CYCLES, stream.before, stream.latency, stream.spacing,
    )  # fmt: skip
    if last == ENDLESS:
        raise UserError(
            f"a phase with results for {stream.target.name.lower()} never ends: results wait for each other; "
            f"schedule the rows of its groups in equal numbers"
        )
    return int(last) + END_CYCLES[stream.target] + DECODE_CYCLES


def load_cycles(
    count: int, places: int, engine: Engine, target: Target, read_latency: int = READ_LATENCY
) -> int:
    """Cycles of a load of so many words of each place."""
    banks = engine.banks if target == Target.TABLE else 1
    return read_latency + FETCH_CYCLES + int(load_steps(count, places, engine.loaded_together, banks)) + DECODE_CYCLES


def row_ends(entries: int, groups: int) -> NDArray[np.bool_]:
    """[entries, m] where a row of so many entries ends in every group: a phase of such rows repeats it."""
    return np.broadcast_to(np.arange(entries)[:, None] == entries - 1, (entries, groups))


PAIR_ENTRIES = 2
"""Entries of a row where queries are those of two nodes: two slot rows for each of an aggregation's."""


def phase_cycles(encoded: Encoded, read_latency: int = READ_LATENCY) -> list[int]:
    """Cycles of the fetch of the programme and of each descriptor; the first begins with the start write, the last ends
    with the interrupt."""
    engine, programme = encoded.engine, encoded.programme
    if not programme:
        return [START_CYCLES + FINISH_CYCLES]
    fetched = descriptor_beats(engine.beat_bits)
    found = [START_CYCLES + read_latency + FETCH_CYCLES + fetched * len(programme) + DECODE_CYCLES - 1]
    for number, descriptor in enumerate(programme):
        mode = engine.modes[descriptor.mode]
        if not descriptor.computes:
            found.append(load_cycles(descriptor.count, mode.places, engine, Target(descriptor.target), read_latency))
            continue
        ends, times = _ends(encoded, number, descriptor, mode)
        found.append(compute_cycles(stream_of(descriptor, engine), ends, read_latency, times))
    return [*found[:-1], found[-1] - DECODE_CYCLES + FINISH_CYCLES]


def phase_names(encoded: EncodedArray) -> list[str]:
    """The phases of `phase_cycles`, in words."""
    plans, names, source = encoded.accelerator.plans, ["fetch"], encoded.accelerator.source
    for d, layer, (kind, number) in zip(encoded.programme, encoded.layers, parts_of(encoded.programme), strict=True):
        which = f" {source.design_layer(layer)}" if layer >= 0 else ""
        if number and layer >= 0:
            which += f", {kind} {number}"
        work = _second(source, layer, _work(d)) if layer >= 0 and source.layers[layer].second else _work(d)
        names.append(f"load {Target(d.target).name.lower()}{which}" if not d.computes else f"{work}{which}")
    part = "head" if plans[-1].heads > 1 else "pass"  # the last layer has one pass, if it is the first, too
    several = [(name, names.count(name) > 1, names[:place].count(name) + 1) for place, name in enumerate(names)]
    last = f" {source.design_layer(len(plans) - 1)}"
    return [f"{name}, {part if name.endswith(last) else 'pass'} {number}" if more else name
            for name, more, number in several]  # fmt: skip


SLICE, BLOCK = "slice", "block"
"""Parts of sums: of a combination, and of an aggregation."""


def parts_of(programme: Sequence[Descriptor]) -> list[tuple[str, int]]:
    """Which part of its sums every descriptor makes, or makes H or loads words for: its kind, and its number from 1 on;
    0 where they have one part."""
    found, number = [], {SLICE: 0, BLOCK: 0}
    for d in programme:
        kind = BLOCK if d.computes and _aggregates(d) else SLICE
        if d.computes:
            number[kind] = number[kind] + 1 if d.accumulate else int(d.target == Target.PARTIAL)
        found.append((kind, number[kind] if d.computes else 0))
    for place in reversed(range(len(programme) - 1)):
        if not found[place][1] and not (programme[place].computes and _aggregates(programme[place])):
            found[place] = found[place + 1]
    return found


def _second(source: Accelerator, layer: int, work: str) -> str:
    """What a phase of a second product is called: its rows come back from the tables to their units."""
    return {"combine": product_name(source, source.layers[layer]), "aggregate": RETURN}[work]


RETURN = "return"
"""The phase in which the rows of a second product come back."""


def product_name(source: Accelerator, layer: LayerAccelerator) -> str:
    """What the product of a second product is called."""
    return "mean of heads" if adds_heads(source, layer) else "second product"


def _aggregates(descriptor: Descriptor) -> bool:
    return descriptor.streams and descriptor.region == Region.EDGES


def _work(descriptor: Descriptor) -> str:
    """What a compute descriptor does, in a word."""
    if descriptor.is_step(Attention.QUERIES):
        return "pair" if descriptor.pair else "query"
    if descriptor.is_step(Attention.SCORES):
        return "score"
    if descriptor.is_step(Attention.MAXIMA):
        return "maximum"
    return "aggregate" if _aggregates(descriptor) else "combine"


def _ends(encoded: Encoded, number: int, descriptor: Descriptor, mode: Mode) -> tuple[NDArray[np.bool_], int]:
    """[slot rows, m] where rows end, and how many times the phase issues these slot rows."""
    if not descriptor.streams:
        return row_ends(descriptor.entries, mode.m), descriptor.count
    if descriptor.scores_edges:
        return row_ends(1, mode.m), descriptor.count
    if descriptor.pair:
        return row_ends(PAIR_ENTRIES, mode.m), descriptor.count // PAIR_ENTRIES
    return encoded.schedules[number].last.astype(bool), 1


def total_cycles(encoded: Encoded, read_latency: int = READ_LATENCY) -> int:
    """Cycles from the accepted start write to the interrupt."""
    return sum(phase_cycles(encoded, read_latency))


def multiplications(encoded: EncodedArray) -> int:
    """Multiplications that the network needs on this graph, see `fgnas.hardware.pipeline.work`."""
    return int(sum(map(sum, _needed(encoded))))


def multiplications_by_phase(encoded: EncodedArray) -> list[int]:
    """Multiplications that the network needs in each phase of `phase_cycles`; none in the fetch and in a load.

    A pass and a head have their share of the layer's, a slice those of its columns of X, a block those of its rows.
    """
    needed, plans = _needed(encoded), encoded.accelerator.plans
    columns = np.bincount(encoded.graph.features.indices // plans[0].slice_inputs, minlength=plans[0].slices)
    found = [0]
    for one, layer, (kind, part) in zip(encoded.programme, encoded.layers, parts_of(encoded.programme), strict=True):
        if not one.computes:
            found.append(0)
            continue
        combined, gathered = needed[layer]
        geometry = encoded.accelerator.source.layers[layer].geometry
        numbers, edges = encoded.accelerator.source.layers[layer], len(encoded.graphs[layer].sources)
        scores = _score_multiplications(numbers, encoded.nodes, edges)
        queries = _query_multiplications(numbers, encoded.nodes)
        if kind == SLICE and plans[layer].slices > 1:
            combined = int(columns[part - 1]) * geometry.k * geometry.d + scores
        if kind == BLOCK and part and plans[layer].blocks > 1:
            combined, gathered = _of_block(encoded, layer, part - 1, combined, gathered)
        of_phase = {"query": queries, "pair": queries, "score": scores - queries, "combine": combined - scores,
                    "maximum": 0, "aggregate": gathered}[_work(one)]  # fmt: skip
        heads = plans[layer].heads if _work(one) == "combine" else 1
        found.append(int(of_phase) // plans[layer].passes // heads)
    return found


def _of_block(encoded: EncodedArray, layer: int, block: int, combined: int, gathered: int) -> tuple[int, int]:
    """The share of a layer's multiplications that a block has: of its rows, or their features, and of its edges."""
    plan, dealt = encoded.accelerator.plans[layer], encoded.dealt.combined(layer)
    of_node = dealt.ordinal // block_rows(plan, dealt)
    loads = np.diff(encoded.graph.features.indptr) if plan.first else np.ones(len(of_node), np.int64)
    sources = of_node[encoded.graphs[layer].sources]
    return (
        int(combined) * int(loads[of_node == block].sum()) // max(1, int(loads.sum())),
        int(gathered) * int((sources == block).sum()) // max(1, len(sources)),
    )


def _needed(encoded: EncodedArray) -> list[tuple[int, int]]:
    """For each layer the multiplications of its combination and of its aggregation."""
    layers = encoded.accelerator.source.layers
    geometries = [layer.geometry for layer in layers]
    rows = [encoded.nodes, *(graph.nodes for graph in encoded.graphs)]  # that a layer combines
    found = []
    for layer, graph in enumerate(encoded.graphs):
        needed = work.by_phase(geometries, encoded.graph.features.nnz, rows[layer], len(graph.sources))
        combined, gathered = (0, 0) if adds_heads(encoded.accelerator.source, layers[layer]) else needed[layer]
        scores = _score_multiplications(layers[layer], rows[layer], len(graph.sources))
        found.append((combined - work.of_scores(geometries[layer], rows[layer]) + scores, gathered))
    return found


def _score_multiplications(layer: LayerAccelerator, nodes: int, edges: int) -> int:
    """Multiplications that a layer's scores need: of every node's features with each vector of its attention, and where
    edges have scores of their own, of a query, or of functions with their factors, for each of them."""
    of_edges = edges * (layer.scores is not None and layer.scores.dot)
    return (of_nodes(layer.attention) * nodes + of_edges) * layer.geometry.k * layer.geometry.d


def _query_multiplications(layer: LayerAccelerator, nodes: int) -> int:
    """Those of the queries, which only edges with scores of their own need."""
    vectors = of_nodes(layer.attention) * (layer.scores is not None and layer.scores.dot)
    return nodes * vectors * layer.geometry.k * layer.geometry.d


def of_nodes(attention: str) -> int:
    """Vectors of an attention that meet the features of nodes; factors meet functions of edges."""
    return VECTORS.get(attention, 0) - (attention == PAIR)


def busy(encoded: EncodedArray, cycles: int) -> float:
    """The share of multiplier cycles that the network needs."""
    return multiplications(encoded) / (encoded.accelerator.engine.multipliers * cycles)


ENDLESS = -1
"""What `_issue` finds of a phase that never ends."""


@numba.njit(cache=True)
def _issue(
    ends: NDArray[np.bool_], times: int, tiles: int, limit: int, parts: int, together: int, target: int, results: int,
    first_beat: int, before: int, latency: int, spacing: int,
) -> int:  # pragma: no cover - compiled
    """The cycle in which the last result of a phase leaves its queue, counted from the phase's first; or ENDLESS.

    Without beats, all that the cycles after a turn through `ends` depend on is a state of few words. The states after
    1, 2, 4 ... turns are kept until one comes back: what lies between will happen again and again.
    """
    queues, pointers = np.zeros((4, ends.shape[1]), np.int64), np.zeros(results, np.int64)
    # A word is ready `latency` cycles after its issue, and `spacing` after the word before it.
    arriving = np.zeros((latency + spacing * (limit + 1) * tiles + 1, ends.shape[1]), np.int64)
    cycle, turn, skipped = 0, 0, 0
    kept, kept_turn, kept_cycle = np.zeros(0, np.int64), 0, 0
    while parts == 0 and turn < times - 1:
        cycle = _step(ends, 1, False, tiles, limit, 0, 1, target, 0, before, latency, spacing,
                      cycle, queues, arriving, pointers)  # fmt: skip
        if cycle == ENDLESS:
            return ENDLESS
        turn += 1
        state = _state(cycle, queues, arriving, pointers)
        if len(kept) and (state == kept).all():
            again = (times - turn) // (turn - kept_turn)
            skipped = again * (cycle - kept_cycle)
            turn += again * (turn - kept_turn)
            break
        if turn >= 2 * kept_turn:
            kept, kept_turn, kept_cycle = state, turn, cycle
    cycle = _step(ends, times - turn, True, tiles, limit, parts, together, target, first_beat, before, latency, spacing,
                  cycle, queues, arriving, pointers)  # fmt: skip
    return cycle if cycle == ENDLESS else cycle + skipped


@numba.njit(cache=True)
def _step(
    ends: NDArray[np.bool_], times: int, drain: bool, tiles: int, limit: int, parts: int, together: int, target: int,
    first_beat: int, before: int, latency: int, spacing: int, cycle: int, queues: Ints, arriving: Ints, pointers: Ints,
) -> int:  # pragma: no cover - compiled
    """The cycle in which so many turns through `ends` are issued, after `cycle`; if `drain`, their results left, too.

    The state of a cycle is that of the registers of array_issue and array_writeback in it. Of each group `queues` are:
    rows and words that wait, words of the first of these rows that left, and the cycle in which the last is ready.
    `arriving` are words that become ready, by cycle, and `pointers` the groups whose turn it is to write a result.
    """
    period, groups = ends.shape
    most, results, slots = len(arriving), len(pointers), period * times
    count, words, left, ready_at = queues[0], queues[1], queues[2], queues[3]
    slot = at = tile = part = place = popped = 0
    rows, moved = int(count.sum()), cycle
    while slot < slots or (drain and rows > 0):
        cycle += 1
        here = arriving[cycle % most]
        for g in range(groups):
            words[g] += here[g]
            here[g] = 0
        # Issue: what the registers show in this cycle decides.
        issued = False
        if slot < slots:
            full = False
            for g in range(groups):
                full = full or count[g] >= limit
            beat = parts == 0 or cycle - first_beat >= popped
            if parts > 1 and part < parts - 1:
                if beat:
                    part += 1
                    popped += 1
            elif beat and (tile > 0 or not full):
                issued = True
                moved = cycle
        # Results: to the tables a word of each share of the groups, in order to main memory, all that stay in a unit.
        if target == 1 or target == 5:
            for g in range(groups):
                if words[g] > 0:
                    rows -= _pop(words, left, count, g, tiles)
                    moved = cycle
        elif target == 2:
            turn = pointers[0]
            if words[turn : turn + results].min() > 0:
                ended = 0
                for g in range(turn, turn + results):
                    ended = _pop(words, left, count, g, tiles)
                    rows -= ended
                moved = cycle
                if ended:
                    pointers[0] = (turn + results) % groups
        else:
            for share in range(results):
                for step in range(groups):
                    g = (pointers[share] + step) % groups
                    if g % results == share and words[g] > 0:
                        rows -= _pop(words, left, count, g, tiles)
                        moved = cycle
                        # Behind the last group the search begins at the first again.
                        pointers[share] = g + 1 if g + 1 < groups else 0
                        break
        if issued:
            for g in range(groups):
                if ends[at, g] and tile >= before:
                    ready_at[g] = max(cycle + latency, ready_at[g] + spacing)
                    arriving[ready_at[g] % most, g] += 1
                    if tile == before + tiles - 1:
                        count[g] += 1
                        rows += 1
            tile += 1
            if tile == before + tiles:
                tile = part = 0
                slot += 1
                at = at + 1 if at + 1 < period else 0
                place += 1
                if parts > 0 and (place == together or slot == slots):
                    place = 0
                    popped += 1
        if cycle - moved > most + first_beat + parts:
            # No word and no beat is under way for longer: nothing will ever move again.
            return ENDLESS
    return cycle


@numba.njit(cache=True)
def _pop(words: Ints, left: Ints, count: Ints, g: int, tiles: int) -> int:  # pragma: no cover - compiled
    """Take a word from a group's queue; 1 where it ends a row."""
    words[g] -= 1
    left[g] += 1
    if left[g] < tiles:
        return 0
    left[g] = 0
    count[g] -= 1
    return 1


@numba.njit(cache=True)
def _state(cycle: int, queues: Ints, arriving: Ints, pointers: Ints) -> Ints:  # pragma: no cover - compiled
    """[words] all that the cycles after this one depend on, counted from it, where no beats are read."""
    most, (kinds, groups) = len(arriving), queues.shape
    found = np.empty((kinds + most) * groups + len(pointers), np.int64)
    found[: kinds * groups] = queues.ravel()
    found[(kinds - 1) * groups : kinds * groups] -= cycle  # when words are ready
    at = kinds * groups
    for step in range(1, most + 1):
        found[at : at + groups] = arriving[(cycle + step) % most]
        at += groups
    found[at:] = pointers
    return found
