"""Random input for `array_random`: graphs, options of an engine, and networks with weights that use some of these.

An engine is plain, or it has any attentions, tables that units share, an epilogue that finishes lanes in parts, rows
that add own rows, and partial sums, as far as these can be combined. Operators that need no hardware of their own occur
in all networks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from multiplier_array import random_network

from fgnas.activations import NAMES
from fgnas.design import MLP, PAIRS, PIPELINE_BITS, VECTORS, Design, Layer
from fgnas.hardware import wire
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.choosing import powers
from fgnas.hardware.array.encoded import EncodedArray
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.engine import FINISHED, HEADS, LANES, RESULTS, SHARED, table_banks
from fgnas.hardware.array.entries import readout_fraction
from fgnas.hardware.array.geometry import memories
from fgnas.hardware.array.layers import ArrayNetwork, array_network
from fgnas.hardware.array.lowering import (
    ArrayAccelerator,
    default_columns,
    has_blocks,
    own_depth,
    plan_layers,
    programme_depth,
)
from fgnas.hardware.array.packing import Schedule
from fgnas.hardware.array.placing import fit, placed, readout
from fgnas.hardware.array.programme import (
    NARROW_BITS,
    PORT_WIDTHS,
    Attention,
    Descriptor,
    Operation,
    Region,
    Target,
    entry_beats,
    programme_beats,
)
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.wire import Beats
from fgnas.network import ATTENTION_VECTORS, LayerParameters, Network, SecondProduct
from fgnas.networks.calibration import tied
from fgnas.systems.fgnas.space import find_space
from fgnas.tasks.nodes import GraphData, build
from fgnas.tasks.sampling import layer_graphs

UNITS = (4, 1, 8, 3, 12, 2, 6, 16, 5, 7)
"""Units of the engines, one after the other; so do the widths of the port, and those of the numbers."""
PLAIN_ENGINES = len(UNITS)
"""The first engines, whose networks are of four operators."""
BITS = (8, 6, 10)
"""Bits of the numbers of plain engines; those of other engines may also be wider."""
ANY_BITS = (8, 10, 6, 16)
HUB = 1000
"""Neighbours of a graph's hub."""
WITHOUT_SCORES = ("constant", "gcn")
AGGREGATIONS = ("add", "mean", "max", MLP)
RATES = (1.0, 0.6, 0.25)
"""Shares of the edges that a layer of a network with node sampling keeps."""
MOST_GRAPHS = 12
"""Upper limit of the graphs of a readout."""
FILLING = 256
"""Bound of the values of entries that fill own words."""
MOST_BITS = dict.fromkeys(PAIRS, 8)
"""Bits of features, at most, for attentions with a table over the sums of features: a table holds 2,048 codes."""


@dataclass(frozen=True)
class Size:
    """The random parameters of an engine. Its memories, modes and shifts follow from the networks that it runs.

    Attributes:
        units, beat_bits, bits, results, finished, shared: see `Engine`.
        scores: the attentions with scores that layers may have.
        residual: whether networks may add own rows.
        partial: whether networks may come in slices or blocks.
        plain: whether networks have none of what follows `results`, nor of what takes no hardware.
    """

    units: int
    beat_bits: int
    bits: int
    results: int
    finished: int = LANES
    shared: int = 1
    scores: tuple[str, ...] = ()
    residual: bool = False
    partial: bool = False
    plain: bool = True

    @property
    def side(self) -> int:
        """Units side by side at most: as many tables differ, and each has its readers."""
        return self.units // self.shared


@dataclass(frozen=True)
class Case:
    """A network with its weights, its place on an engine, and a graph.

    Attributes:
        further: the graphs of the layers behind the first, see `encode_array`.
        adds: seed of the own rows that rows add; None where none do.
    """

    array: ArrayAccelerator
    network: Network
    data: GraphData
    further: tuple[GraphData, ...] = ()
    adds: int | None = None

    def encoded(self) -> EncodedArray:
        """The programme and the regions that the host sends."""
        found = encode_array(self.array, self.data, self.further)
        return found if self.adds is None else with_residuals(found, np.random.default_rng(self.adds))


def sparse(rng: np.random.Generator, units: int) -> GraphData:
    """Rows of few features out of many."""
    nodes, width = int(rng.integers(50, 800)), int(rng.integers(60, 300))
    return graph("sparse", rng, nodes, width, 6 / width, 2 * nodes)


def dense(rng: np.random.Generator, units: int) -> GraphData:
    """Rows with all of their features, and more neighbours."""
    nodes, width = int(rng.integers(50, 200)), int(rng.integers(3, 24))
    return graph("dense", rng, nodes, width, 1.0, 6 * nodes)


def hub(rng: np.random.Generator, units: int) -> GraphData:
    """A node of a thousand neighbours."""
    nodes, width = int(rng.integers(HUB + 1, HUB + 200)), int(rng.integers(20, 80))
    spokes = np.stack([np.arange(1, HUB + 1), np.zeros(HUB, np.int64)])
    return graph("hub", rng, nodes, width, 2 / width, nodes // 2, spokes)


def few(rng: np.random.Generator, units: int) -> GraphData:
    """Fewer rows than units; of a single unit one row."""
    nodes = int(rng.integers(1, max(2, units)))
    return graph("few rows", rng, nodes, int(rng.integers(3, 60)), 0.5, 3 * nodes)


def single(rng: np.random.Generator, units: int) -> GraphData:
    """One node."""
    return graph("one node", rng, 1, int(rng.integers(3, 60)), 0.7, 0)


KINDS = (sparse, dense, hub, few, single)
"""The graphs of a build, one of each kind."""


def graph(
    name: str, rng: np.random.Generator, nodes: int, width: int, density: float, edges: int,
    further: np.ndarray | None = None,
) -> GraphData:  # fmt: skip
    """A random graph, repeated edges among its own; a tenth of its nodes have no feature, a quarter no neighbour."""
    present = (rng.random((nodes, width)) < density) & (rng.random((nodes, 1)) < 0.9)
    ends = rng.integers(0, max(1, 3 * nodes // 4), (2, edges))
    if further is not None:
        ends = np.concatenate([ends, further], axis=1)
    classes = int(rng.integers(2, 20))
    everyone = np.ones(nodes, bool)
    labels = rng.integers(0, classes, nodes)
    return build(name, rng.random((nodes, width)) * present, ends, labels, everyone, everyone, everyone, classes)


def size_of(number: int, rng: np.random.Generator) -> Size:
    """The size of engine `number`, and what it offers."""
    units, beat_bits = UNITS[number % len(UNITS)], PORT_WIDTHS[number % len(PORT_WIDTHS)]
    results = int(rng.choice([one for one in RESULTS if one <= table_banks(beat_bits)]))
    if number < PLAIN_ENGINES:
        return Size(units, beat_bits, BITS[number // len(PORT_WIDTHS) % len(BITS)], results)
    size = Size(units, beat_bits, ANY_BITS[number % len(ANY_BITS)], results, plain=False)
    shared, turn = [one for one in SHARED[1:] if units % one == 0], number // len(UNITS)
    if shared and (number + turn) % 2 == 0:  # units that share tables have no scores
        size = replace(size, shared=shared[turn % len(shared)])
    else:
        scores = [one for one in VECTORS if rng.random() < 0.5] or [str(rng.choice(list(VECTORS)))]
        size = replace(size, scores=tuple(scores))
    if rng.random() < 0.4:  # whole words are finished where rows are added or sums kept
        return replace(size, finished=int(rng.choice(FINISHED[1:])))
    return replace(size, residual=bool(rng.random() < 0.6), partial=bool(rng.random() < 0.6))


def plain_design(rng: np.random.Generator, bits: int) -> Design:
    """One to three layers of four operators, in numbers of `bits` or up to two less."""
    space = find_space("fgnas", int(rng.integers(1, 4))).restrict(attention=WITHOUT_SCORES, k=(1, 2, 4))
    layers = []
    for layer in space.design(space.draw(1, rng)[0], 0).layers:
        ai, wi, narrower, lighter = (int(one) for one in rng.integers((1, 1, 0, 0), (4, 3, 3, 3)))
        formats = {"ai": ai, "af": bits - narrower - 1 - ai, "wi": wi, "wf": bits - lighter - 1 - wi}
        own = {"k": 1} if layer.d is None else {}
        layers.append(Layer(**layer.model_dump() | {name: max(0, one) for name, one in formats.items()} | own))
    return Design(schema=1, layers=tuple(layers), dsp=0)


def any_design(rng: np.random.Generator, size: Size, reads_out: bool) -> Design:
    """One to three layers of everything that an engine offers, or of what may come in blocks; a readout is the last of
    several, without scores."""
    count = int(rng.integers(2 if reads_out else 1, 4))
    in_blocks = size.partial and rng.random() < 0.4
    layers = [
        any_layer(rng, size, place == count - 1, reads_out and place == count - 1, in_blocks) for place in range(count)
    ]
    rates = tuple(float(one) for one in rng.choice(RATES, count)) if rng.random() < 0.3 else ()
    return Design(schema=1, layers=tuple(layers), dsp=0, sampling=rates if set(rates) - {1.0} else None)


def any_layer(rng: np.random.Generator, size: Size, last: bool, reads_out: bool, in_blocks: bool) -> Layer:
    """A layer of everything that an engine offers."""
    scores = size.scores if rng.random() < 0.7 and not in_blocks else ()
    attention = "constant" if reads_out else str(rng.choice(scores or WITHOUT_SCORES))
    left = [MLP] * reads_out + ["max"] * in_blocks
    aggregation = str(rng.choice([one for one in AGGREGATIONS if one not in left]))
    heads = 1 if last and in_blocks else int(rng.choice([1, 1, 2, 4, 8, 16] if last else [1, 1, 2, 4, 8]))
    apart = last and heads > 1 and (attention in VECTORS or aggregation == "max")
    most = min(MOST_BITS.get(attention, size.bits), size.bits)
    if apart and aggregation != MLP:
        most = NARROW_BITS - wire.LOGIT_EXTRA_BITS  # the heads' rows have further fraction bits
    elif attention in VECTORS or rng.random() < 0.3:
        most = min(most, PIPELINE_BITS)
    return Layer(
        d=None if last else int(rng.choice([1, 3, 4, 8, 12, 16, 20, 32])), attention=attention, aggregation=aggregation,
        k=heads, activation=None if last else str(rng.choice(NAMES)), t_in=1, t_out=1,
        t_attn=1 if attention == "gat" else None, t_aggr=1, t_act=None if last else 1,
        **formats("a", rng, min(most, size.bits)), **formats("w", rng, size.bits),
    )  # fmt: skip


def formats(kind: str, rng: np.random.Generator, most: int) -> dict[str, int]:
    """Integer and fraction bits of numbers of `most` bits or up to two less."""
    bits = most - int(rng.integers(0, 3))
    whole = int(rng.integers(0, min(4, bits - 1)))
    return {f"{kind}i": whole, f"{kind}f": bits - 1 - whole}


def any_network(rng: np.random.Generator, design: Design, data: GraphData) -> Network:
    """Random weights of every kind; half of the networks need no tables for activations that can do without."""
    plain = random_network(design, data, rng)
    layers, width = [], data.width_in
    for layer, parameters in zip(design.layers, plain.layers, strict=True):
        layers.append(completed(rng, layer, parameters, data.classes))
        width = layer.k * (layer.d or data.classes)
        if layer.mlp:
            second = random_second(rng, width, width if layer.d else data.classes)
            bias = rng.normal(size=width).astype(np.float32)
            layers[-1] = replace(layers[-1], bias=bias, mlp=second)
    network = Network(tuple(layers), plain.input_scale)
    return tied(design, network) if rng.random() < 0.5 else network


def completed(rng: np.random.Generator, layer: Layer, parameters: LayerParameters, classes: int) -> LayerParameters:
    """The layer with the vectors of its attention, and the scales of scores of edges."""
    vectors: dict[str, Any] = {
        name: rng.normal(size=(layer.k, layer.d or classes)).astype(np.float32)
        for name in ATTENTION_VECTORS[: VECTORS.get(layer.attention, 0)]
    }
    return replace(
        parameters, **vectors, score_scale=int(rng.integers(-3, 1)) if layer.dot else None,
        pair_scale=int(rng.integers(-2, 4)) if layer.pair else None,
    )  # fmt: skip


def random_second(rng: np.random.Generator, inner: int, outer: int) -> SecondProduct:
    """A second product with normal weights and random scales."""
    weight, bias = (rng.normal(size=shape).astype(np.float32) for shape in ((inner, outer), outer))
    return SecondProduct(weight, bias, *rng.integers(-2, 4, 2).tolist())


def plain_case(size: Size, data: GraphData, rng: np.random.Generator) -> Case:
    """A random network on units of this size: any columns side by side, any split of the last layer, any passes."""
    design = plain_design(rng, size.bits)
    network = random_network(design, data, rng)
    source = array_network(design, network, GraphShape.of(data), data.name)
    columns = [int(rng.choice(powers(default_columns(layer, size.units)))) for layer in source.layers[:-1]]
    whole = source.layers[-1].maximum
    split = 1 if whole else int(rng.choice([one for one in powers(4) if size.units % one == 0]))
    words = math.ceil(source.layers[0].features / LANES / columns[0]) if columns else 1
    passes = int(rng.choice([one for one in range(1, words + 1) if words % one == 0]))
    array = fit(
        source,
        data,
        Arrangement(size.units, columns, split=split, beat_bits=size.beat_bits, passes=passes, results=size.results),
    )
    return Case(array, network, data)


def random_case(size: Size, data: GraphData, rng: np.random.Generator) -> Case:
    """A random network of what an engine offers, arranged in any way. Raises UserError where no engine runs it."""
    if size.plain:
        return plain_case(size, data, rng)
    reads_out = bool(rng.random() < 0.2)
    design = any_design(rng, size, reads_out)
    network = any_network(rng, design, data)
    first, *further = layer_graphs(data, design.rates)
    if reads_out:
        further[-1] = readout(data, random_batch(rng, data.nodes))
    largest = max(int(one.degrees.max()) for one in (data, *further))
    shape = replace(GraphShape.of(data), degree_capacity=max(GraphShape.of(data).degree_capacity, largest))
    source = array_network(design, network, shape, data.name)
    array = arranged(size, source, first, further, rng)
    if reads_out:
        array = with_shift_of_mean(array, further[-1])
    case = Case(array, network, first, tuple(further))
    if not size.residual or rng.random() < 0.3:
        return case
    return replace(case, array=with_room_for_residuals(case), adds=int(rng.integers(1 << 30)))


def random_batch(rng: np.random.Generator, nodes: int) -> np.ndarray:
    """[nodes] the graph of each node of a batch; every graph has one."""
    graphs = int(rng.integers(1, min(nodes, MOST_GRAPHS) + 1))
    return rng.permutation(np.concatenate([np.arange(graphs), rng.integers(0, graphs, nodes - graphs)]))


def with_shift_of_mean(array: ArrayAccelerator, rows: GraphData) -> ArrayAccelerator:
    """The network on an engine with the shift that the mean of a readout needs."""
    plan = array.plans[-1]
    if not plan.layer.mean:
        return array
    shift = plan.aggregate_shift + readout_fraction(rows) - wire.COEFFICIENT_FRACTION_BITS
    return array.on(replace(array.engine, shifts=tuple(sorted({*array.engine.shifts, shift}))))


def arranged(
    size: Size, source: ArrayNetwork, data: GraphData, further: Sequence[GraphData], rng: np.random.Generator
) -> ArrayAccelerator:
    """Any columns side by side, any split of the last layer, any passes, slices or blocks."""
    columns = []
    for layer in [one for one in source.layers if not one.second][:-1]:
        g = layer
        offered = powers(min(default_columns(layer, size.units), size.side & -size.side))
        columns.append(int(rng.choice([one for one in offered if one * HEADS >= g.k * g.attends] or offered)))
    last = source.layers[-1]
    offered = [one for one in powers(4) if size.side % one == 0]
    split = 1 if last.maximum or last.attends else int(rng.choice(offered))
    first = plan_layers(source, Arrangement(size.units, columns, split=split))[0]
    words = 1 if first.last else first.tiles // (first.head_tiles if first.attends else 1)
    passes = int(rng.choice([one for one in range(1, words + 1) if words % one == 0]))
    slices = blocks = 1
    if size.partial and has_blocks(source) and rng.random() < 0.7:
        blocks = int(rng.integers(1, 5))
    elif size.partial and first.layer.averaged == 1:
        slices = int(rng.integers(1, min(first.layer.input_width, 6)))
    return fit(
        source,
        data,
        Arrangement(
            size.units,
            columns,
            split=split,
            beat_bits=size.beat_bits,
            passes=passes,
            results=size.results,
            slices=slices,
            finished=size.finished,
            blocks=blocks,
            shared=size.shared,
        ),
        further,
    )


def area_of_residuals(encoded: EncodedArray) -> tuple[int, int]:
    """The first word of a second area for rows, behind all own words, and its end."""
    plans, dealt = encoded.accelerator.plans, encoded.dealt
    area = max(one.depth * plan.row_tiles for plan, one in zip(plans, dealt.layers, strict=True))
    begin = max(area, int(memories(placed(plans, dealt)).own_words))
    return begin, begin + area


def with_room_for_residuals(case: Case) -> ArrayAccelerator:
    """The network on an engine that adds own rows, with a second area for them and one descriptor more."""
    engine, encoded = case.array.engine, case.encoded()
    _, words = area_of_residuals(encoded)
    steps = int(programme_depth(len(encoded.programme) + 1))
    room = {"own_words": int(own_depth(words)), "programme": max(engine.programme, steps)}
    return case.array.on(replace(engine, residual=True, **room))


def with_residuals(encoded: EncodedArray, rng: np.random.Generator) -> EncodedArray:
    """Most aggregations without scores add own rows: those of the layer before, or others, aligned by any shift.

    Layers write their rows to two areas in turn, so that none reads what it writes. Both are filled at first, as soon
    as there are weights.
    """
    plans, dealt, engine = encoded.accelerator.plans, encoded.dealt, encoded.accelerator.engine
    second, words = area_of_residuals(encoded)
    filling, schedule, beats = filled(encoded, rng, words)
    programme: list[Descriptor] = []
    for d, layer in zip(encoded.programme, encoded.layers, strict=True):
        before, here = (place % 2 * second for place in (layer - 1, layer))
        if d.operation == Operation.DENSE:
            programme.append(replace(d, own_base=d.own_base + before))
        elif finishes(d):
            # Behind the rows of the first area are scores, of which a unit may have some that mean nothing.
            many = dealt.layers[layer].depth * plans[layer].row_tiles > memories(placed(plans, dealt)).own
            added = second if many and d.target == Target.LOGITS else before
            programme.append(adding(d, here, added, rng, len(engine.shifts)))
        else:
            programme.append(d)
    programme.insert(1, filling)
    features = np.concatenate([encoded.regions["features"], beats])
    regions = {"features": features, "programme": programme_beats(programme, engine.beat_bits)}
    return replace(
        encoded, programme=tuple(programme), layers=(-1, 0, *encoded.layers[1:]), regions=encoded.regions | regions,
        schedules={1: schedule} | {number + 1: one for number, one in encoded.schedules.items()},
    )  # fmt: skip


def finishes(d: Descriptor) -> bool:
    """Whether a descriptor finishes the rows of a layer."""
    weighted = d.operation == Operation.SPARSE or d.is_step(Attention.MESSAGES)
    return weighted and d.target in (Target.OWN, Target.LOGITS)


def adding(d: Descriptor, here: int, added: int, rng: np.random.Generator, shifts: int) -> Descriptor:
    """A descriptor whose own rows begin at `here`, and which often adds those that begin at `added`."""
    part = d.target_base if d.target == Target.OWN else 0
    placed = replace(d, target_base=here + part) if d.target == Target.OWN else d
    if d.operation != Operation.SPARSE or rng.random() < 0.2:
        return placed
    return replace(placed, residual=1, own_base=added + part, residual_shift=int(rng.integers(shifts)))


def filled(encoded: EncodedArray, rng: np.random.Generator, words: int) -> tuple[Descriptor, Schedule, Beats]:
    """A stream that gives all units random own words: rows of one entry each, which name words of W."""
    engine, named = encoded.accelerator.engine, encoded.accelerator.results_base
    mode = next(one for one in engine.modes if one.k == 1)
    ends = np.ones((words, mode.m), np.int64)
    # Units that share a table may read one word of it.
    index = np.broadcast_to(rng.integers(0, named, (words, 1)), ends.shape)
    value = rng.integers(-FILLING, FILLING, ends.shape)
    beats = entry_beats(index, value, ends, mode.takers, engine.beat_bits, engine.bits)
    shift = min(engine.shifts, key=lambda one: abs(one - FILLING.bit_length()))
    descriptor = Descriptor(
        operation=Operation.SPARSE, mode=engine.mode_number(mode), tiles=1, count=words, limit=named, target=Target.OWN,
        region=Region.FEATURES, offset=len(encoded.regions["features"]), beats=len(beats), bits=engine.bits,
        shift=engine.shift_number(shift),
    )  # fmt: skip
    return descriptor, Schedule(np.zeros_like(ends), np.zeros_like(ends), ends), beats
