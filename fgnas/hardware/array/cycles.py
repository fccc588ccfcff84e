"""Cycles of the array on a whole graph, from the accepted start write to the interrupt, phase by phase.

With the reference memory of the simulation (see `fgnas.hardware.pipeline.latency`) this is no estimate. A phase is
issued in lock step, so its length follows from the same schedule that the host sends: when each slot row has its beats,
and whether the queues of results have room; `issue` steps through it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.array.encoded import Encoded, EncodedArray
from fgnas.hardware.array.engine import Engine, Mode, load_steps
from fgnas.hardware.array.issue import ENDLESS, Facts, last_result
from fgnas.hardware.array.layers import ArrayLayer
from fgnas.hardware.array.placing import placed
from fgnas.hardware.array.programme import (
    Attention,
    Descriptor,
    Region,
    Target,
    beats_per_slot_row,
    descriptor_beats,
    executed,
    slot_rows_per_beat,
)
from fgnas.hardware.pipeline.latency import FETCH_CYCLES, READ_LATENCY, START_CYCLES, WRITE_LATENCY

RESULT_CYCLES = 12
"""From the issue of a row's last entry to the cycle in which its result may leave the queue."""
COEFFICIENT_CYCLES = 6
"""Extra cycles of every phase of an engine with attention, which computes each entry's coefficient, and chooses between
products and scores."""
QUOTIENT_CYCLES = 3
"""Cycles of a quotient beyond one for each of its bits."""
CHOICE_CYCLES = 1
"""Extra cycles of every phase of an engine with attention, where quotients meet numbers that are not divided."""
GATHER_CYCLES = 4
"""Extra cycles of a nearest point's address, compared with that of an entry of a stream."""
SAMPLE_CYCLES = 11
"""From the issue of a row's last word of differences to the first of its indices."""
ROOT_CYCLES = 5
"""Cycles of a distance beyond one for each bit of its root."""
RESIDUAL_CYCLES = 1
"""Extra cycles of every phase of an engine that adds own rows."""
PARTIAL_CYCLES = 1
"""Extra cycles of every phase of an engine that keeps partial sums."""
DECODE_CYCLES = 3
"""From the end of a phase to the first cycle of the next."""
END_CYCLES = {Target.TABLE: 3, Target.OWN: 1, Target.LOGITS: WRITE_LATENCY + 4, Target.PARTIAL: 1}
"""From the cycle in which the last result leaves to the end of the phase."""
FINISH_CYCLES = 2
"""From the end of the last phase to the interrupt."""
LAST_CYCLES = FINISH_CYCLES - DECODE_CYCLES
"""Cycles of the last phase beyond those it would take before another phase."""


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
    further = softmax * (COEFFICIENT_CYCLES + CHOICE_CYCLES) + residual * RESIDUAL_CYCLES + partial * PARTIAL_CYCLES
    return RESULT_CYCLES + further + messages * quotient + (parts + 1) * (parts > 1)


def stream_of(descriptor: Descriptor, engine: Engine) -> Stream:
    """The facts of a compute descriptor."""
    mode = engine.modes[descriptor.mode]
    takers, sparse = mode.takers, descriptor.streams
    messages = descriptor.is_step(Attention.MESSAGES)
    before = descriptor.entries - 1 if descriptor.scores_edges else int(messages)
    further = GATHER_CYCLES if descriptor.gathers else 0
    tiles = descriptor.tiles
    if engine.neighbours is not None and descriptor.sample:  # a row of distances is a word
        further, before, tiles = further + engine.neighbours.root_bits(engine.bits) + ROOT_CYCLES, tiles - 1, 1
    return Stream(
        Target(descriptor.target),
        tiles,
        engine.queue_rows(tiles),
        beats_per_slot_row(takers, engine.beat_bits, engine.bits) if sparse else 0,
        slot_rows_per_beat(takers, engine.beat_bits, engine.bits) if sparse else 0,
        engine.table_writes(mode, descriptor.target_tiles, descriptor.target_base)
        if descriptor.target == Target.TABLE
        else engine.results_together(mode, tiles),
        before,
        result_cycles(
            engine.softmax is not None, messages, engine.bits, engine.residual, engine.partial_words > 0, engine.parts
        ) + further,
        engine.parts,
    )


def compute_cycles(
    stream: Stream, ends: NDArray[np.bool_], read_latency: int = READ_LATENCY, times: int = 1
) -> int:
    """Cycles of a compute phase from its first to the first of the next.

    `ends` [slot rows, m] says where rows end; the phase issues these slot rows so many times. Exact for any length.
    Raises UserError for a phase that never ends: results that leave in order wait for a group that gets no more rows.
    """
    facts = Facts(
        int(stream.target), stream.tiles, stream.limit, stream.parts, max(1, stream.together), stream.before,
        stream.latency, stream.spacing, read_latency + FETCH_CYCLES,
    )  # fmt: skip
    last = last_result(ends, times, facts, stream.results)
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


def sample_cycles(descriptor: Descriptor) -> int:
    """Cycles of a search for nearest points: every row meets every point, and the last row's indices leave behind."""
    met = descriptor.count * descriptor.entries * descriptor.tiles
    return met + SAMPLE_CYCLES + descriptor.bias_base + DECODE_CYCLES


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
    taken = [
        descriptor_cycles(one, engine, encoded.schedules[number].last if number in encoded.schedules else None,
                          read_latency)
        for number, one in enumerate(programme)
    ]  # fmt: skip
    found = [fetch_cycles(len(programme), engine.beat_bits, read_latency)]
    found += [taken[place] for _, place in executed(programme)]
    return [*found[:-1], found[-1] + LAST_CYCLES]


def fetch_cycles(descriptors: int, beat_bits: int, read_latency: int = READ_LATENCY) -> int:
    """Cycles from the start write to the first of the first descriptor."""
    fetched = descriptor_beats(beat_bits) * descriptors
    return START_CYCLES + read_latency + FETCH_CYCLES + fetched + DECODE_CYCLES - 1


def descriptor_cycles(
    descriptor: Descriptor, engine: Engine, ends: NDArray[Any] | None, read_latency: int = READ_LATENCY
) -> int:
    """Cycles of a descriptor, from its first to the first of the next; `ends` [slot rows, m] says where the rows of its
    stream end."""
    mode = engine.modes[descriptor.mode]
    if not descriptor.computes:
        return load_cycles(descriptor.count, mode.places, engine, Target(descriptor.target), read_latency)
    if descriptor.target == Target.NEIGHBOURS:
        return sample_cycles(descriptor)
    where, times = _ends(descriptor, mode, ends)
    return compute_cycles(stream_of(descriptor, engine), where, read_latency, times)


def phase_names(encoded: EncodedArray) -> list[str]:
    """The phases of `phase_cycles`, in words."""
    names, layers, source = ["fetch"], [-1, *encoded.layers], encoded.accelerator.source
    for d, layer, (kind, number) in zip(encoded.programme, encoded.layers, parts_of(encoded.programme), strict=True):
        which = f" {source.called(source.layers[layer])}" if layer >= 0 else ""
        if number and layer >= 0:
            which += f", {kind} {number}"
        work = _second(source.layers[layer], _work(d)) if layer >= 0 and source.layers[layer].second else _work(d)
        names.append(f"load {Target(d.target).name.lower()}{which}" if not d.computes else f"{work}{which}")
    parts = ["pass" if one.products == 1 else "term" if one.shifts else "head" for one in source.layers]
    several = [(name, names.count(name) > 1, names[:place].count(name) + 1) for place, name in enumerate(names)]
    return [f"{name}, {parts[layer]} {number}" if more else name
            for (name, more, number), layer in zip(several, layers, strict=True)]  # fmt: skip


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


RETURN = "return"
"""The phase in which rows that are alone come back to their units."""


def _second(layer: ArrayLayer, work: str) -> str:
    """The name of a phase of a layer whose rows are alone."""
    return {"combine": product_name(layer), "aggregate": RETURN}[work]


def product_name(layer: ArrayLayer) -> str:
    """The name of the combination of such a layer."""
    return "mean of heads" if layer.adds_heads else "second product"


def _aggregates(descriptor: Descriptor) -> bool:
    return descriptor.streams and descriptor.region == Region.EDGES


def _work(descriptor: Descriptor) -> str:
    """The work of a compute descriptor, in a word."""
    if descriptor.is_step(Attention.QUERIES):
        return "pair" if descriptor.pair else "query"
    if descriptor.is_step(Attention.SCORES):
        return "score"
    if descriptor.is_step(Attention.MAXIMA):
        return "maximum"
    return "aggregate" if _aggregates(descriptor) else "combine"


def _ends(descriptor: Descriptor, mode: Mode, ends: NDArray[Any] | None) -> tuple[NDArray[np.bool_], int]:
    """[slot rows, m] where rows end, and how many times the phase issues these slot rows; of a stream as it says."""
    if not descriptor.streams:  # dense rows, or gathers
        return row_ends(descriptor.entries, mode.m), descriptor.count
    if descriptor.scores_edges:
        return row_ends(1, mode.m), descriptor.count
    if descriptor.pair:
        return row_ends(PAIR_ENTRIES, mode.m), descriptor.count // PAIR_ENTRIES
    assert ends is not None, "a stream has a schedule"
    return ends.astype(bool), 1


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
        numbers, edges = encoded.accelerator.source.layers[layer], len(encoded.graphs[layer].sources)
        scores = _score_multiplications(numbers, encoded.nodes, edges)
        queries = _query_multiplications(numbers, encoded.nodes)
        if kind == SLICE and plans[layer].slices > 1:
            combined = int(columns[part - 1]) * numbers.features + scores
        if kind == BLOCK and part and plans[layer].blocks > 1:
            combined, gathered = _of_block(encoded, layer, part - 1, combined, gathered)
        of_phase = {"query": queries, "pair": queries, "score": scores - queries, "combine": combined - scores,
                    "maximum": 0, "aggregate": gathered}[_work(one)]  # fmt: skip
        products = plans[layer].products if _work(one) == "combine" else 1
        found.append(int(of_phase) // plans[layer].passes // products)
    return found


def _of_block(encoded: EncodedArray, layer: int, block: int, combined: int, gathered: int) -> tuple[int, int]:
    """The share of a layer's multiplications that a block has: of its rows, or their features, and of its edges."""
    plan, dealt = encoded.accelerator.plans[layer], encoded.dealt.combined(layer)
    of_node = dealt.ordinal // placed(encoded.accelerator.plans, encoded.dealt)[layer].block_rows
    loads = np.diff(encoded.graph.features.indptr) if plan.first else np.ones(len(of_node), np.int64)
    sources = of_node[encoded.graphs[layer].sources]
    return (
        int(combined) * int(loads[of_node == block].sum()) // max(1, int(loads.sum())),
        int(gathered) * int((sources == block).sum()) // max(1, len(sources)),
    )


def _needed(encoded: EncodedArray) -> list[tuple[int, int]]:
    """For each layer the multiplications of its combination, with those of its scores, and of its aggregation, without
    padding; messages with the coefficient 1 need none."""
    rows = [encoded.nodes, *(graph.nodes for graph in encoded.graphs)]  # that a layer combines
    found = []
    for layer, graph, combined in zip(encoded.accelerator.source.layers, encoded.graphs, rows, strict=False):
        edges = len(graph.sources)
        elements = encoded.graph.features.nnz if layer.first else combined * layer.input_width
        products = 0 if layer.adds_heads else int(elements) * layer.features
        gathered = edges * (layer.features // max(1, len(layer.shifts))) * (layer.gcn or layer.attends)
        found.append((products + _score_multiplications(layer, combined, edges), gathered))
    return found


def _score_multiplications(layer: ArrayLayer, nodes: int, edges: int) -> int:
    """Multiplications that a layer's scores need: of every node's features with each vector of its attention, and where
    edges have scores of their own, of a query, or of functions with their factors, for each of them."""
    return (len(layer.vectors) * nodes + edges * layer.dot) * layer.features


def _query_multiplications(layer: ArrayLayer, nodes: int) -> int:
    """Those of the queries, which only edges with scores of their own need."""
    return nodes * len(layer.vectors) * layer.dot * layer.features


def busy(encoded: EncodedArray, cycles: int) -> float:
    """The share of multiplier cycles that the network needs."""
    return multiplications(encoded) / (encoded.accelerator.engine.multipliers * cycles)
