"""The operators that an accelerator is composed of: which of them a design uses, with what parameters, how often.

An operator is one module of the RTL without what it instantiates, so that operators add up. `uses` lists them over
arrays of designs, with the very parameters that the RTL's top gives its modules. `terms` says what an operator's
size depends on: a size is a sum of terms, each with a coefficient measured by synthesis (`characterisation/`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.hardware import wire
from fgnas.hardware.memories import BLOCK, DISTRIBUTED, build
from fgnas.hardware.pipeline.binding import Multipliers
from fgnas.hardware.pipeline.geometry import (
    GraphShape,
    Ints,
    LayerGeometry,
    ceil_div,
    ceil_log2,
    next_power_of_two,
)
from fgnas.hardware.pipeline.memories import (
    Memory,
    address_bits,
    coefficient_sum_bits,
    layer_memories,
    output_rows,
    ring_edges,
    source_bits,
)

Parameters = dict[str, Any]
"""Parameter of the SystemVerilog module -> [n] integers, or one integer for all."""
Terms = list[Any]
"""What a size is a weighted sum of; each [n] or one number."""


@dataclass(frozen=True)
class Lookup:
    """A term with a coefficient for each of `size` kinds: `scale` [n] times the one that `index` [n] names."""

    index: Ints
    size: int
    scale: Any = 1


FIXED = (
    "fgnas_control", "fgnas_reader", "fgnas_fifo", "fgnas_writer", "fgnas_sequencer", "fgnas_loader", "fgnas_top",
)  # fmt: skip
"""Modules that every accelerator has once; fgnas_fifo is the reader's."""
TYPICAL_INPUT_SCALE = 3
"""The exponent s of stored inputs x * 2**s: 3 on Cora. A dataset's own moves a rounding by a bit or two."""
FEW_BANKS = 32
"""Of a block RAM, up to which their multiplexer is looked up."""


@dataclass(frozen=True)
class Use:
    """`count` [n] equal operators of `module` in each of n designs; 0 where a design has none."""

    module: str
    count: Ints
    parameters: Parameters


def uses(layers: list[LayerGeometry], multipliers: list[Multipliers], shape: GraphShape) -> Iterator[Use]:
    """Every operator of n designs, but FIXED and the tables of activations and exponentials."""
    for group in multipliers:
        width = {"LeftBits": group.left_bits, "RightBits": group.right_bits + (group.stage == "aggregate")}
        yield Use("fgnas_multiplier_dsp", group.dsp, width)
        yield Use("fgnas_multiplier_fabric", group.lanes - group.dsp, width)
    for index, layer in enumerate(layers):
        for memory in layer_memories(layer, shape):
            yield from _memory(memory)
        yield from _linear(layer)
        yield from _store(layer, shape)
        if not layer.gat.all():
            yield from _aggregate(layer, shape)
        if layer.gat.any():
            yield from _scores(layer, shape)
            yield from _attention(layer, shape)
        yield from _divide(layer, shape)
        if layer.last:
            yield from _head_mean(layer, shape)
        else:
            yield from _activate(layer, layers[index + 1])


def _memory(memory: Memory) -> Iterator[Use]:
    """The operators of a memory that has an RTL module to itself, and of gat's ring."""
    size = {"Depth": memory.depth, "Width": memory.width}
    if memory.name == "ring":
        yield Use("fgnas_fifo", memory.copies, size)
    elif memory.alone and memory.reads > 1:
        yield Use("fgnas_dual_read_ram", memory.copies, size)
    elif memory.alone:
        yield Use("fgnas_distributed_ram", memory.copies * ~memory.block, size)
        yield Use("fgnas_block_ram", memory.copies * memory.block, size)


def _linear(layer: LayerGeometry) -> Iterator[Use]:
    one = np.ones_like(layer.k)
    if layer.first:
        yield Use("fgnas_linear_sparse", one, {
            "InputWidth": layer.input_width, "InLanes": layer.t_in, "OutLanes": layer.t_out,
            "Tiles": layer.out_tiles, "InBits": layer.input_bits, "WeightBits": layer.weight_bits,
        })  # fmt: skip
    else:
        yield Use("fgnas_linear_dense", one, {
            "Groups": layer.in_groups, "InLanes": layer.t_in, "OutLanes": layer.t_out,
            "Tiles": layer.out_tiles, "InBits": layer.input_bits, "WeightBits": layer.weight_bits,
        })  # fmt: skip
    yield Use("fgnas_linear_datapath", one, {
        "InLanes": layer.t_in, "OutLanes": layer.t_out, "Tiles": layer.out_tiles, "InBits": layer.input_bits,
        "WeightBits": layer.weight_bits, "SumBits": layer.linear_bits, "OutBits": layer.value_bits,
        "Packed": int(layer.first),
    })  # fmt: skip
    yield requantise(layer.t_out, layer.linear_bits, linear_shift(layer), layer.value_bits)


def _store(layer: LayerGeometry, shape: GraphShape) -> Iterator[Use]:
    one = np.ones_like(layer.k)
    width, words = layer.h_lanes * layer.value_bits, layer.h_words
    depth = words * shape.node_capacity
    yield row_buffer(one, layer.value_bits, layer.features, layer.t_out, layer.h_lanes, layer.store_rows)
    yield Use("fgnas_store", one, {"WordBits": width, "Words": words, "AddressBits": address_bits(depth)})


def _aggregate(layer: LayerGeometry, shape: GraphShape) -> Iterator[Use]:
    weighted = layer.gcn.astype(np.int64)
    shift = aggregate_shift(layer)
    yield Use("fgnas_aggregate", (~layer.gat).astype(np.int64), {
        "Lanes": layer.t_aggr, "Tiles": layer.aggr_tiles, "HLanes": layer.h_lanes,
        "HAddressBits": address_bits(layer.h_words * shape.node_capacity), "ValueBits": layer.value_bits,
        "Weighted": weighted, "Maximum": layer.maximum.astype(np.int64), "Mean": layer.mean.astype(np.int64),
        "SumBits": layer.aggregate_bits, "YBits": layer.y_bits, "DegreeCapacity": shape.degree_capacity,
    })  # fmt: skip
    shifts = np.where(layer.mean | layer.gat, 0, layer.t_aggr)
    yield requantise(shifts, layer.aggregate_bits, shift, layer.y_bits)


def _divide(layer: LayerGeometry, shape: GraphShape) -> Iterator[Use]:
    """What means and gat divide by, and the rows of Y behind either aggregation."""
    one = np.ones_like(layer.k)
    shift = aggregate_shift(layer)
    degree_bits = int(ceil_log2(shape.degree_capacity + 1)) + 1
    plain = degree_bits + np.maximum(shift, 0)
    attending = coefficient_sum_bits(shape) + np.where(layer.mean, degree_bits, 0)
    yield Use("fgnas_divider", np.where(layer.mean | layer.gat, layer.t_aggr, 0), {
        "NumeratorBits": layer.aggregate_bits + np.maximum(-shift, 0),
        "DenominatorBits": np.where(layer.gat, attending, plain), "QuotientBits": layer.y_bits,
    })  # fmt: skip
    lanes = layer.t_aggr if layer.last else layer.t_act
    yield row_buffer(one, layer.y_bits, layer.features, layer.t_aggr, lanes, layer.aggr_rows)


def masked_sums(layer: LayerGeometry) -> Ints:
    """[n] LUTs between a weighted tile's sum, which a row's first edge ignores, and the adder behind it.

    An aggregation that is synthesised alone, as its table is, takes none: the adder's LUTs absorb the mask. In a whole
    top the operands of that adder mostly change places, and then they do not.
    """
    masked = (layer.gcn | layer.gat) & ~layer.maximum & (layer.aggr_tiles > 1)
    return masked * layer.t_aggr * layer.aggregate_bits


def denominators(layer: LayerGeometry) -> Ints:
    """[n] products of a coefficient sum and a degree: gat's mean has one for each head of a tile, always in a DSP."""
    return np.where(layer.gat & layer.mean, layer.group_heads, 0)


def _scores(layer: LayerGeometry, shape: GraphShape) -> Iterator[Use]:
    """gat: the scores of every row."""
    gat = layer.gat.astype(np.int64)
    depth = layer.head_groups * shape.node_capacity
    skip = layer.d_padded - (layer.score_tiles - 1) * layer.t_attn
    yield row_buffer(gat, layer.value_bits, layer.features, layer.t_out, layer.t_attn, layer.score_rows, skip)
    yield Use("fgnas_score", gat, {
        "Heads": layer.k, "GroupHeads": layer.group_heads, "Tiles": layer.score_tiles, "Lanes": layer.t_attn,
        "ValueBits": layer.value_bits, "WeightBits": layer.weight_bits, "SumBits": layer.score_bits,
        "AddressBits": address_bits(depth),
    })  # fmt: skip
    yield requantise(gat, layer.score_bits, layer.weight_fraction, layer.value_bits)


def _attention(layer: LayerGeometry, shape: GraphShape) -> Iterator[Use]:
    """gat: the row's largest exponents, and the weighted sums."""
    gat = layer.gat.astype(np.int64)
    heads, groups = layer.group_heads, layer.head_groups
    source = source_bits(shape)
    yield Use("fgnas_row_maximum", gat, {
        "GroupHeads": heads, "HeadGroups": groups, "ValueBits": layer.value_bits, "ExponentBits": layer.exponent_bits,
        "AddressBits": address_bits(groups * shape.node_capacity), "SourceBits": source,
        "DegreeCapacity": shape.degree_capacity, "RingEdges": ring_edges(shape),
    })  # fmt: skip
    yield row_buffer(gat, layer.exponent_bits, layer.k, heads, heads, layer.maximum_rows, rewinds=1)
    yield Use("fgnas_aggregate_gat", gat, {
        "Lanes": layer.t_aggr, "HeadLanes": np.minimum(layer.t_aggr, layer.d_padded), "GroupHeads": heads,
        "HeadGroups": groups, "GroupTiles": layer.group_tiles, "HLanes": layer.h_lanes,
        "HAddressBits": address_bits(layer.h_words * shape.node_capacity), "SourceBits": source,
        "ValueBits": layer.value_bits, "ExponentBits": layer.exponent_bits,
        "Maximum": layer.maximum.astype(np.int64), "Mean": layer.mean.astype(np.int64),
        "SumBits": layer.aggregate_bits, "YBits": layer.y_bits, "DegreeCapacity": shape.degree_capacity,
    })  # fmt: skip


def _activate(layer: LayerGeometry, following: LayerGeometry) -> Iterator[Use]:
    one = np.ones_like(layer.k)
    yield Use("fgnas_activate", one, {
        "Lanes": layer.t_act, "Tiles": layer.act_tiles, "YBits": layer.y_bits, "ValueBits": layer.value_bits,
    })  # fmt: skip
    yield requantise(layer.t_act, np.maximum(layer.y_bits, layer.value_bits) + 1, 0 * one, layer.value_bits)
    yield row_buffer(one, layer.value_bits, layer.features, layer.t_act, following.t_in, layer.act_rows)


def _head_mean(layer: LayerGeometry, shape: GraphShape) -> Iterator[Use]:
    one = np.ones_like(layer.k)
    head_bits = ceil_log2(layer.k)
    common = {
        "Heads": layer.k, "Lanes": layer.t_aggr, "ClassLanes": layer.class_lanes, "ClassTiles": layer.class_tiles,
        "YBits": layer.y_bits, "ValueBits": layer.value_bits,
    }  # fmt: skip
    yield Use("fgnas_head_mean", (~layer.gat).astype(np.int64), {**common, "HeadTiles": layer.head_tiles})
    groups = {"GroupHeads": layer.group_heads, "HeadGroups": layer.head_groups}
    yield Use("fgnas_head_mean_gat", layer.gat.astype(np.int64), {**common, **groups})
    sum_bits = layer.y_bits + head_bits
    yield Use("fgnas_logit", layer.class_lanes, {
        "SumBits": sum_bits, "HeadBits": head_bits, "YBits": layer.y_bits, "ValueBits": layer.value_bits,
    })  # fmt: skip
    mean_bits = np.maximum(layer.y_bits, layer.value_bits + wire.LOGIT_EXTRA_BITS) + 1
    yield requantise(layer.class_lanes, sum_bits, head_bits, layer.y_bits)
    yield requantise(layer.class_lanes, mean_bits, 0 * one, wire.LOGIT_BITS * one)
    rows = output_rows(layer.logit_beats)
    yield row_buffer(one, wire.LOGIT_BITS * one, shape.classes * one, layer.class_lanes, 8 * one, rows)


def requantise(count: Ints, bits: Ints, shift: Ints, out_bits: Ints) -> Use:
    """Rounding and saturation."""
    return Use("fgnas_requantise", count, {"InBits": bits, "Shift": shift, "OutBits": out_bits})


def row_buffer(
    count: Ints, bits: Ints, features: Ints, write: Ints, read: Ints, rows: Ints, skip: Ints | None = None,
    rewinds: int = 0,
) -> Use:  # fmt: skip
    """A ring of rows."""
    return Use("fgnas_row_buffer", count, {
        "Bits": bits, "Features": features, "WriteLanes": write, "ReadLanes": read, "Rows": rows,
        "SkipLanes": read if skip is None else skip, "Rewinds": rewinds,
    })  # fmt: skip


def linear_shift(layer: LayerGeometry) -> Ints:
    """Right shift behind the linear stage, with the scale that row-normalised features usually get."""
    scale = TYPICAL_INPUT_SCALE if layer.first else 0
    return layer.input_fraction + layer.weight_fraction - layer.value_fraction + scale


def aggregate_shift(layer: LayerGeometry) -> Ints:
    """Right shift that takes an aggregate to Y's fraction bits; gat's division by its coefficients does the rest."""
    extra = wire.LOGIT_EXTRA_BITS if layer.last else 0
    return np.where(layer.gcn, wire.COEFFICIENT_FRACTION_BITS, 0) - extra


# --- what sizes depend on -------------------------------------------------------------------------------------


def terms(module: str, p: Parameters, family: str) -> Terms:
    """The terms of an operator's LUTs and FFs; the first is always 1."""
    return [1, *TERMS[module](p, family)]


def columns(terms: Terms) -> list[Any]:
    """Terms as columns of a linear system: a lookup is a column for each of its kinds."""
    result: list[Any] = []
    for term in terms:
        if isinstance(term, Lookup):
            result += [(term.index == kind) * term.scale for kind in range(term.size)]
        else:
            result.append(term)
    return result


def weighted_sum(terms: Terms, weights: NDArray[np.float64], room: NDArray[np.float64]) -> NDArray[np.float64]:
    """[resources, n]: the sums of terms with `weights` [resources, columns].

    `room` [columns, n] is written over: fresh memory for every operator would cost more than the sums.
    """
    looked_up: Any = 0.0
    plain: list[int] = []
    place = 0
    for term in terms:
        if isinstance(term, Lookup):
            looked_up = looked_up + weights[:, place : place + term.size][:, term.index] * term.scale
            place += term.size
        else:
            room[len(plain)] = term
            plain.append(place)
            place += 1
    return weights[:, plain] @ room[: len(plain)] + looked_up


def lutram(depth: Ints, width: Ints, family: str) -> Terms:
    """LUTs of a LUTRAM, bits behind its multiplexers, and what decodes its banks."""
    built = build(DISTRIBUTED[family], depth, width)
    beyond = np.maximum(0, built.banks - 4)
    return [built.units, (built.banks - 1) * width, width * (built.banks > 1), beyond * width, built.banks - 1]


def _is(values: Any, *options: int) -> Terms:
    return [np.equal(values, option).astype(np.int64) for option in options]


def _datapath(p: Parameters, family: str) -> Terms:
    i, o, s, product = p["InLanes"], p["OutLanes"], p["SumBits"], p["InBits"] + p["WeightBits"]
    one_tile = (p["Tiles"] == 1).astype(np.int64)
    memory = [(1 - one_tile) * term for term in lutram(p["Tiles"], o * s, family)]
    packed = p["Packed"]
    return [
        i * p["InBits"], i * o * p["WeightBits"], o, o * (product + ceil_log2(i)), o * s, o * p["OutBits"],
        ceil_log2(p["Tiles"]), one_tile, one_tile * o * s, *memory, *(o * product * t for t in _is(i, 2, 3, 4, 5)),
        *(o * t for t in _is(i, 2, 3, 4, 5)), packed, packed * o * s, *(packed * o * t for t in _is(i, 1, 2, 3, 4, 5)),
        *(packed * o * (product + ceil_log2(i)) * t for t in _is(i, 1, 2, 3, 4, 5)),
    ]  # fmt: skip


def _sparse(p: Parameters, family: str) -> Terms:
    i, address = p["InLanes"], address_bits(p["InputWidth"] * p["Tiles"])
    return [
        i, i * p["InBits"], address, i * address, ceil_div(i, 2) * address, ceil_log2(p["Tiles"]),
        (p["Tiles"] == 1).astype(np.int64), address * (p["Tiles"] == 1), i * (p["Tiles"] == 1),
    ]  # fmt: skip


def _dense(p: Parameters, family: str) -> Terms:
    i = p["InLanes"]
    return [
        i, i * p["InBits"], address_bits(p["Groups"] * p["Tiles"]), ceil_log2(p["Tiles"]), ceil_log2(p["Groups"]),
        ceil_log2(i), *_is(p["Tiles"], 1), *_is(p["Groups"], 1), *_is(i, 1),
    ]  # fmt: skip


def _buffer(p: Parameters, family: str) -> Terms:
    bits, write, read = p["Bits"], p["WriteLanes"], p["ReadLanes"]
    banks = next_power_of_two(np.maximum(write, read))
    words = ceil_div(p["Features"], banks)
    depth = p["Rows"] * words
    address, counts = address_bits(depth), ceil_log2(p["Rows"] + 1)
    # Places in a word where a tile can begin, one where tiles fill it; lanes & -lanes is the power of two in lanes.
    writes, reads = (banks // np.minimum(lanes & -lanes, banks) for lanes in (write, read | p["SkipLanes"]))
    memory = lutram(depth, bits, family)
    one_word = (words == 1).astype(np.int64)
    skips = (p["SkipLanes"] != read).astype(np.int64)
    moving = [*_is(writes, 2, 4, 8), *_is(reads, 2, 4, 8)]
    odd = [((write == lanes) & (banks == lanes_of)).astype(np.int64) for lanes, lanes_of in ((3, 4), (3, 8), (5, 8))]
    return [
        address, counts, one_word, one_word * address, banks, *(banks * term for term in memory),
        banks * address * (writes > 1), banks * address * (reads > 1), one_word * banks * address * (writes > 1),
        one_word * banks * address * (reads > 1), *moving, *(banks * t for t in moving),
        *(banks * bits * t for t in odd), *(banks * t for t in odd), *(read * bits * t for t in _is(reads, 2, 4, 8)),
        *(banks * bits * t for t in _is(reads, 2, 4, 8)), banks * bits, skips, skips * address, p["Rewinds"],
        p["Rewinds"] * address,
    ]  # fmt: skip


def _aggregation(p: Parameters, family: str) -> Terms:
    lanes, s, value, weighted = p["Lanes"], p["SumBits"], p["ValueBits"], p["Weighted"]
    parts = p["HLanes"] // lanes
    one_tile = (p["Tiles"] == 1).astype(np.int64)
    memory = [(1 - one_tile) * term for term in lutram(p["Tiles"], lanes * s, family)]
    return [
        lanes, lanes * value, *(lanes * value * t for t in _is(parts, 2, 4, 8)), *_is(parts, 1, 2, 4), lanes * s,
        lanes * s * p["Maximum"], p["Maximum"], lanes * p["Maximum"], weighted, lanes * value * weighted,
        # Plain messages of a word of one part pass three registers on their way: a shift register in LUTs.
        lanes * value * weighted * (parts == 1), p["Mean"],
        p["Mean"] * p["YBits"], p["Mean"] * lanes * s, p["HAddressBits"], p["HAddressBits"] * (p["Tiles"] <= parts),
        ceil_log2(p["Tiles"]), one_tile, one_tile * lanes * s, lanes * p["YBits"] * (1 - p["Mean"]), *memory,
        ceil_log2(p["DegreeCapacity"]),
    ]  # fmt: skip


def _divider(p: Parameters, family: str) -> Terms:
    n, d, q = p["NumeratorBits"], p["DenominatorBits"], p["QuotientBits"]
    used = np.minimum(n, q + d)
    return [n, d, q, q * d, q * q, used, (n < q).astype(np.int64), np.maximum(0, n - q), -(-q // 16), d * -(-q // 16)]


def _activation(p: Parameters, family: str) -> Terms:
    lanes, y, value = p["Lanes"], p["YBits"], p["ValueBits"]
    memory = lutram(p["Tiles"], lanes * value, family)
    one_tile = (p["Tiles"] == 1).astype(np.int64)
    return [
        lanes, lanes * y, lanes * value, lanes * np.maximum(y, value), ceil_log2(p["Tiles"]), one_tile,
        one_tile * lanes * value, *((1 - one_tile) * t for t in memory),
    ]  # fmt: skip


def _requantise(p: Parameters, family: str) -> Terms:
    bits, shift, out = p["InBits"], p["Shift"], p["OutBits"]
    right, rounds = np.maximum(shift, 0), (shift > 0).astype(np.int64)
    kept = np.maximum(bits - shift, 1)
    saturates = (kept + rounds > out).astype(np.int64)
    return [
        rounds, rounds * np.minimum(kept, out), rounds * kept, rounds * right, rounds * (shift == 1), saturates,
        saturates * out, saturates * (kept - out), saturates * rounds, saturates * rounds * out,
        saturates * rounds * (kept - out), rounds * (kept <= 2),
    ]  # fmt: skip


def _mean(p: Parameters, family: str) -> Terms:
    lanes, classes, y, value = p["Lanes"], p["ClassLanes"], p["YBits"], p["ValueBits"]
    sums = y + ceil_log2(p["Heads"])
    group = lanes // classes
    several = (p["HeadTiles"] > 1).astype(np.int64)
    one_tile = (p["ClassTiles"] == 1).astype(np.int64)
    memory = lutram(p["ClassTiles"], classes * value, family)
    return [
        lanes * y, classes, classes * y, classes * value, classes * sums, several, several * classes * sums,
        (lanes - classes) * sums, (lanes - classes), ceil_log2(p["HeadTiles"]),
        ceil_log2(p["ClassTiles"]), one_tile, one_tile * classes * value, *((1 - one_tile) * t for t in memory),
        *(classes * sums * t for t in _is(group, 2, 4, 8)),
    ]  # fmt: skip


def _mean_gat(p: Parameters, family: str) -> Terms:
    classes, y, value, heads = p["ClassLanes"], p["YBits"], p["ValueBits"], p["GroupHeads"]
    sums = y + ceil_log2(p["Heads"])
    one_tile = (p["ClassTiles"] == 1).astype(np.int64)
    memory = lutram(p["ClassTiles"], classes * value, family)
    stored = lutram(p["ClassTiles"], classes * sums, family)
    return [
        heads * classes * y, classes, classes * y, classes * value, classes * sums, (heads - 1) * classes * sums,
        (heads - 1) * classes, ceil_log2(p["HeadGroups"]), ceil_log2(p["ClassTiles"]), one_tile,
        one_tile * classes * value, one_tile * classes * sums, *((1 - one_tile) * t for t in (*memory, *stored)),
        *(classes * sums * t for t in _is(heads, 2, 4, 8)), (p["HeadGroups"] == 1) * classes * sums,
    ]  # fmt: skip


def _logit(p: Parameters, family: str) -> Terms:
    y, bias = p["YBits"], p["ValueBits"] + wire.LOGIT_EXTRA_BITS
    return [y, bias, np.maximum(y, bias), np.minimum(y, bias), p["SumBits"]]


def _scoring(p: Parameters, family: str) -> Terms:
    lanes, s = p["Lanes"], p["SumBits"]
    product = p["ValueBits"] + p["WeightBits"]
    return [
        lanes, lanes * p["ValueBits"], p["ValueBits"], s, lanes * product, *(product * t for t in _is(lanes, 2, 4, 8)),
        *_is(lanes, 2, 4, 8), p["GroupHeads"], p["AddressBits"], ceil_log2(p["Tiles"]), ceil_log2(p["Heads"]),
        ceil_log2(p["GroupHeads"]), *_is(p["GroupHeads"], 1), (p["GroupHeads"] == p["Heads"]) * p["AddressBits"],
        *_is(p["Tiles"], 1), *_is(p["Heads"], 1),
    ]  # fmt: skip


def _row_maximum(p: Parameters, family: str) -> Terms:
    heads, value, exponent = p["GroupHeads"], p["ValueBits"], p["ExponentBits"]
    one = (p["HeadGroups"] == 1).astype(np.int64)
    memory = lutram(p["HeadGroups"], heads * exponent, family)
    return [
        heads, heads * value, heads * exponent, p["AddressBits"], p["SourceBits"], ceil_log2(p["HeadGroups"]), one,
        one * p["AddressBits"], one * heads * exponent, *((1 - one) * t for t in memory),
        ceil_log2(p["DegreeCapacity"]),
    ]  # fmt: skip


def _aggregation_gat(p: Parameters, family: str) -> Terms:
    lanes, s, value, heads = p["Lanes"], p["SumBits"], p["ValueBits"], p["GroupHeads"]
    parts, tiles = p["HLanes"] // lanes, p["HeadGroups"] * p["GroupTiles"]
    coefficient = wire.COEFFICIENT_BITS + ceil_log2(p["DegreeCapacity"])
    one_tile, one_group = (tiles == 1).astype(np.int64), (p["HeadGroups"] == 1).astype(np.int64)
    memory = [(1 - one_tile) * term for term in lutram(tiles, lanes * s, family)]
    sums = [(1 - one_group) * term for term in lutram(p["HeadGroups"], heads * coefficient, family)]
    return [
        lanes, heads, lanes * value, *(lanes * value * t for t in _is(parts, 2, 4, 8)), *_is(parts, 1, 2, 4),
        lanes * s, lanes * s * p["Maximum"], p["Maximum"], lanes * p["Maximum"], heads * p["ExponentBits"],
        heads * coefficient, heads * coefficient * one_group, p["Mean"], heads * p["Mean"], lanes * s * p["Mean"],
        p["YBits"], p["HAddressBits"], p["SourceBits"], ceil_log2(p["HeadGroups"]), ceil_log2(p["GroupTiles"]),
        one_tile, one_group, one_tile * lanes * s, *memory, *sums, ceil_log2(p["DegreeCapacity"]),
        *_is(p["GroupTiles"], 1),
    ]  # fmt: skip


def _queue(p: Parameters, family: str) -> Terms:
    return [*_multiplexers(p, _banks(p, family)), ceil_log2(p["Depth"])]


def _storing(p: Parameters, family: str) -> Terms:
    one = (p["Words"] == 1).astype(np.int64)
    return [p["WordBits"], p["AddressBits"], ceil_log2(p["Words"]), one, p["AddressBits"] * one]


def _distributed(p: Parameters, family: str) -> Terms:
    return [p["Width"], *lutram(p["Depth"], p["Width"], family), (p["Depth"] == 1).astype(np.int64)]


def _banks(p: Parameters, family: str, reads: int = 1) -> Ints:
    return build(BLOCK[family, reads > 1], p["Depth"], p["Width"], reads).banks


def _multiplexers(p: Parameters, banks: Ints) -> Terms:
    steps = [ceil_log2(banks), (banks > 1).astype(np.int64), np.maximum(0, banks - 8), np.maximum(0, banks - 16)]
    pairs = [np.maximum(0, banks - knee) for knee in (1, 2, 4, 6, 8, 12, 16, 24, 32, 64, 128)]
    return [*steps, *(p["Width"] * t for t in pairs), p["Width"] * (banks > 1), p["Width"], banks]


def _block(p: Parameters, family: str) -> Terms:
    """Of few banks each number has a multiplexer of its own: that of 21 takes twice what lies between 16 and 24."""
    banks = _banks(p, family)
    few = banks <= FEW_BANKS
    index = np.where(few, banks, 0)
    kinds = FEW_BANKS + 1
    return [*_multiplexers(p, banks), Lookup(index, kinds, few * p["Width"]), Lookup(index, kinds, few)]


def _dual(p: Parameters, family: str) -> Terms:
    return _multiplexers(p, _banks(p, family, reads=2))


def _product(p: Parameters, family: str) -> Terms:
    return [Lookup(p["LeftBits"] * 11 + p["RightBits"], 121)]


TERMS = {
    "fgnas_linear_datapath": _datapath,
    "fgnas_linear_sparse": _sparse,
    "fgnas_linear_dense": _dense,
    "fgnas_row_buffer": _buffer,
    "fgnas_aggregate": _aggregation,
    "fgnas_divider": _divider,
    "fgnas_activate": _activation,
    "fgnas_requantise": _requantise,
    "fgnas_head_mean": _mean,
    "fgnas_head_mean_gat": _mean_gat,
    "fgnas_logit": _logit,
    "fgnas_score": _scoring,
    "fgnas_row_maximum": _row_maximum,
    "fgnas_aggregate_gat": _aggregation_gat,
    "fgnas_fifo": _queue,
    "fgnas_store": _storing,
    "fgnas_distributed_ram": _distributed,
    "fgnas_block_ram": _block,
    "fgnas_dual_read_ram": _dual,
    "fgnas_multiplier_fabric": _product,
    "fgnas_multiplier_dsp": _product,
}
