"""The size of an operator: a sum of named terms, each with a coefficient measured by synthesis (`characterisation/`).

A term is an expression of the operator's parameters, one number for each design. Its name is the expression, and the
tables store coefficients by these names. `luts` of a memory and `banks` follow Yosys's rule (`hardware/memories.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.hardware import wire
from fgnas.hardware.memories import BLOCK, DISTRIBUTED, build
from fgnas.hardware.numbers import Ints, ceil_div, ceil_log2, next_power_of_two
from fgnas.hardware.pipeline.memories import address_bits
from fgnas.hardware.pipeline.uses import Parameters

Terms = dict[str, Any]
"""Name of a term -> [n] numbers, one number for all, or a `Lookup`."""

FEW_BANKS = 32
"""Banks of a block RAM up to which their multiplexer has a coefficient of its own."""
KNEES = (1, 2, 4, 6, 8, 12, 16, 24, 32, 64, 128)
"""Numbers of banks at which the cost of one more bank changes."""


@dataclass(frozen=True)
class Lookup:
    """A term with a coefficient for each of `size` kinds: `scale` [n] times the one that `index` [n] names."""

    index: Ints
    size: int
    scale: Any = 1


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The coefficients of one operator, of LUT and FF along the first axis.

    Attributes:
        by_name: {name of a term: [2], or [2, size] of a lookup}.
    """

    by_name: Mapping[str, NDArray[np.float64]]
    _stacked: dict[tuple[str, ...], NDArray[np.float64]] = field(init=False, default_factory=dict)

    def stacked(self, names: tuple[str, ...]) -> NDArray[np.float64]:
        """[2, names] the coefficients of terms that are no lookups, in the order of their names."""
        if names not in self._stacked:
            self._stacked[names] = np.stack([self.by_name[name] for name in names], axis=1)
        return self._stacked[names]


def terms(module: str, p: Parameters, family: str) -> Terms:
    """The terms of an operator's LUTs and FFs; the first is always 1."""
    return {"1": 1, **TERMS[module](p, family)}


def columns(terms: Terms) -> list[Any]:
    """Terms as columns of a linear system: a lookup is a column for each of its kinds."""
    result: list[Any] = []
    for term in terms.values():
        if isinstance(term, Lookup):
            result += [(term.index == kind) * term.scale for kind in range(term.size)]
        else:
            result.append(term)
    return result


def weighted_sum(terms: Terms, weights: Coefficients, room: NDArray[np.float64]) -> NDArray[np.float64]:
    """[2, n]: the sums of terms with their coefficients, of LUT and FF.

    `room` [columns, n] is written over: fresh memory for every operator would cost more than the sums.
    """
    looked_up: Any = 0.0
    plain: list[str] = []
    for name, term in terms.items():
        if isinstance(term, Lookup):
            looked_up = looked_up + weights.by_name[name][:, term.index] * term.scale
        else:
            room[len(plain)] = term
            plain.append(name)
    return weights.stacked(tuple(plain)) @ room[: len(plain)] + looked_up


def lutram(depth: Ints, width: Ints, family: str, name: str) -> Terms:
    """LUTs of a LUTRAM, bits behind its multiplexers, and what decodes its banks."""
    built = build(DISTRIBUTED[family], depth, width)
    beyond = np.maximum(0, built.banks - 4)
    return {
        f"{name}.luts": built.units,
        f"{name}.width * (banks - 1)": (built.banks - 1) * width,
        f"{name}.width * (banks > 1)": width * (built.banks > 1),
        f"{name}.width * max(0, banks - 4)": beyond * width,
        f"{name}.banks - 1": built.banks - 1,
    }


def is_one_of(name: str, values: Any, *options: int) -> Terms:
    """A term for each option: 1 where the values equal it."""
    return {f"({name} = {option})": np.equal(values, option).astype(np.int64) for option in options}


def times(name: str, factor: Any, terms: Terms) -> Terms:
    """Terms multiplied by a factor."""
    return {f"{name} * {term}": factor * value for term, value in terms.items()}


def _datapath(p: Parameters, family: str) -> Terms:
    i, o, s, product = p["InLanes"], p["OutLanes"], p["SumBits"], p["InBits"] + p["WeightBits"]
    group = product + ceil_log2(i)
    one_tile = (p["Tiles"] == 1).astype(np.int64)
    packed = p["Packed"]
    return {
        "in * input bits": i * p["InBits"],
        "in * out * weight bits": i * o * p["WeightBits"],
        "out": o,
        "out * group bits": o * group,
        "out * sum bits": o * s,
        "out * out bits": o * p["OutBits"],
        "log2 tiles": ceil_log2(p["Tiles"]),
        "(one tile)": one_tile,
        "(one tile) * out * sum bits": one_tile * o * s,
        **times("(several tiles)", 1 - one_tile, lutram(p["Tiles"], o * s, family, "sums")),
        **times("out * product bits", o * product, is_one_of("in", i, 2, 3, 4, 5)),
        **times("out", o, is_one_of("in", i, 2, 3, 4, 5)),
        "(packed)": packed,
        "(packed) * out * sum bits": packed * o * s,
        **times("(packed) * out", packed * o, is_one_of("in", i, 1, 2, 3, 4, 5)),
        **times("(packed) * out * group bits", packed * o * group, is_one_of("in", i, 1, 2, 3, 4, 5)),
    }


def _sparse(p: Parameters, family: str) -> Terms:
    i, address = p["InLanes"], address_bits(p["InputWidth"] * p["Tiles"])
    one_tile = p["Tiles"] == 1
    return {
        "in": i,
        "in * input bits": i * p["InBits"],
        "address bits": address,
        "in * address bits": i * address,
        "copies * address bits": ceil_div(i, 2) * address,
        "log2 tiles": ceil_log2(p["Tiles"]),
        "(one tile)": one_tile.astype(np.int64),
        "(one tile) * address bits": address * one_tile,
        "(one tile) * in": i * one_tile,
    }


def _dense(p: Parameters, family: str) -> Terms:
    i = p["InLanes"]
    return {
        "in": i,
        "in * input bits": i * p["InBits"],
        "address bits": address_bits(p["Groups"] * p["Tiles"]),
        "log2 tiles": ceil_log2(p["Tiles"]),
        "log2 groups": ceil_log2(p["Groups"]),
        "log2 in": ceil_log2(i),
        **is_one_of("tiles", p["Tiles"], 1),
        **is_one_of("groups", p["Groups"], 1),
        **is_one_of("in", i, 1),
    }


def _buffer(p: Parameters, family: str) -> Terms:
    bits, write, read = p["Bits"], p["WriteLanes"], p["ReadLanes"]
    banks = next_power_of_two(np.maximum(write, read))
    words = ceil_div(p["Features"], banks)
    depth = p["Rows"] * words
    address = address_bits(depth)
    # Places in a word where a tile can begin, one where tiles fill it; lanes & -lanes is the power of two in lanes.
    writes, reads = (banks // np.minimum(lanes & -lanes, banks) for lanes in (write, read | p["SkipLanes"]))
    one_word = (words == 1).astype(np.int64)
    skips = (p["SkipLanes"] != read).astype(np.int64)
    read_places = is_one_of("read places", reads, 2, 4, 8)
    moving = {**is_one_of("write places", writes, 2, 4, 8), **read_places}
    odd = {
        f"({lanes} lanes into {into})": ((write == lanes) & (banks == into)).astype(np.int64)
        for lanes, into in ((3, 4), (3, 8), (5, 8))
    }
    return {
        "address bits": address,
        "log2 (rows + 1)": ceil_log2(p["Rows"] + 1),
        "(one word)": one_word,
        "(one word) * address bits": one_word * address,
        "banks": banks,
        **times("banks", banks, lutram(depth, bits, family, "bank")),
        "banks * address bits * (writes move)": banks * address * (writes > 1),
        "banks * address bits * (reads move)": banks * address * (reads > 1),
        "(one word) * banks * address bits * (writes move)": one_word * banks * address * (writes > 1),
        "(one word) * banks * address bits * (reads move)": one_word * banks * address * (reads > 1),
        **moving,
        **times("banks", banks, moving),
        **times("banks * bits", banks * bits, odd),
        **times("banks", banks, odd),
        **times("read lanes * bits", read * bits, read_places),
        **times("banks * bits", banks * bits, read_places),
        "banks * bits": banks * bits,
        "(skips)": skips,
        "(skips) * address bits": skips * address,
        "(rewinds)": p["Rewinds"],
        "(rewinds) * address bits": p["Rewinds"] * address,
    }


def _aggregation(p: Parameters, family: str) -> Terms:
    lanes, s, value, weighted = p["Lanes"], p["SumBits"], p["ValueBits"], p["Weighted"]
    parts = p["HLanes"] // lanes
    one_tile = (p["Tiles"] == 1).astype(np.int64)
    return {
        "lanes": lanes,
        "lanes * value bits": lanes * value,
        **times("lanes * value bits", lanes * value, is_one_of("parts", parts, 2, 4, 8)),
        **is_one_of("parts", parts, 1, 2, 4),
        "lanes * sum bits": lanes * s,
        "(maximum) * lanes * sum bits": lanes * s * p["Maximum"],
        "(maximum)": p["Maximum"],
        "(maximum) * lanes": lanes * p["Maximum"],
        "(weighted)": weighted,
        "(weighted) * lanes * value bits": lanes * value * weighted,
        # Plain messages of a word of one part pass three registers on their way: a shift register in LUTs.
        "(weighted) * lanes * value bits * (parts = 1)": lanes * value * weighted * (parts == 1),
        "(mean)": p["Mean"],
        "(mean) * y bits": p["Mean"] * p["YBits"],
        "(mean) * lanes * sum bits": p["Mean"] * lanes * s,
        "address bits": p["HAddressBits"],
        "address bits * (tiles <= parts)": p["HAddressBits"] * (p["Tiles"] <= parts),
        "log2 tiles": ceil_log2(p["Tiles"]),
        "(one tile)": one_tile,
        "(one tile) * lanes * sum bits": one_tile * lanes * s,
        "(no mean) * lanes * y bits": lanes * p["YBits"] * (1 - p["Mean"]),
        **times("(several tiles)", 1 - one_tile, lutram(p["Tiles"], lanes * s, family, "sums")),
        "log2 degree capacity": ceil_log2(p["DegreeCapacity"]),
    }


def _divider(p: Parameters, family: str) -> Terms:
    n, d, q = p["NumeratorBits"], p["DenominatorBits"], p["QuotientBits"]
    shift_registers = -(-q // 16)
    return {
        "numerator bits": n,
        "denominator bits": d,
        "quotient bits": q,
        "quotient bits * denominator bits": q * d,
        "quotient bits squared": q * q,
        "used numerator bits": np.minimum(n, q + d),
        "(numerator < quotient)": (n < q).astype(np.int64),
        "numerator bits beyond quotient bits": np.maximum(0, n - q),
        "shift registers": shift_registers,
        "denominator bits * shift registers": d * shift_registers,
    }


def _activation(p: Parameters, family: str) -> Terms:
    lanes, y, value = p["Lanes"], p["YBits"], p["ValueBits"]
    one_tile = (p["Tiles"] == 1).astype(np.int64)
    return {
        "lanes": lanes,
        "lanes * y bits": lanes * y,
        "lanes * value bits": lanes * value,
        "lanes * max(y bits, value bits)": lanes * np.maximum(y, value),
        "log2 tiles": ceil_log2(p["Tiles"]),
        "(one tile)": one_tile,
        "(one tile) * lanes * value bits": one_tile * lanes * value,
        **times("(several tiles)", 1 - one_tile, lutram(p["Tiles"], lanes * value, family, "biases")),
    }


def _requantise(p: Parameters, family: str) -> Terms:
    bits, shift, out = p["InBits"], p["Shift"], p["OutBits"]
    right, rounds = np.maximum(shift, 0), (shift > 0).astype(np.int64)
    kept = np.maximum(bits - shift, 1)
    saturates = (kept + rounds > out).astype(np.int64)
    return {
        "(rounds)": rounds,
        "(rounds) * min(kept, out)": rounds * np.minimum(kept, out),
        "(rounds) * kept": rounds * kept,
        "(rounds) * shift": rounds * right,
        "(rounds) * (shift = 1)": rounds * (shift == 1),
        "(saturates)": saturates,
        "(saturates) * out": saturates * out,
        "(saturates) * (kept - out)": saturates * (kept - out),
        "(saturates) * (rounds)": saturates * rounds,
        "(saturates) * (rounds) * out": saturates * rounds * out,
        "(saturates) * (rounds) * (kept - out)": saturates * rounds * (kept - out),
        "(rounds) * (kept <= 2)": rounds * (kept <= 2),
    }


def _mean(p: Parameters, family: str) -> Terms:
    lanes, classes, y, value = p["Lanes"], p["ClassLanes"], p["YBits"], p["ValueBits"]
    sums = y + ceil_log2(p["Heads"])
    group = lanes // classes
    several = (p["HeadTiles"] > 1).astype(np.int64)
    one_tile = (p["ClassTiles"] == 1).astype(np.int64)
    return {
        "lanes * y bits": lanes * y,
        "classes": classes,
        "classes * y bits": classes * y,
        "classes * value bits": classes * value,
        "classes * sum bits": classes * sums,
        "(several head tiles)": several,
        "(several head tiles) * classes * sum bits": several * classes * sums,
        "(lanes - classes) * sum bits": (lanes - classes) * sums,
        "lanes - classes": lanes - classes,
        "log2 head tiles": ceil_log2(p["HeadTiles"]),
        "log2 class tiles": ceil_log2(p["ClassTiles"]),
        "(one tile)": one_tile,
        "(one tile) * classes * value bits": one_tile * classes * value,
        **times("(several tiles)", 1 - one_tile, lutram(p["ClassTiles"], classes * value, family, "biases")),
        **times("classes * sum bits", classes * sums, is_one_of("lanes / classes", group, 2, 4, 8)),
    }


def _mean_gat(p: Parameters, family: str) -> Terms:
    classes, y, value, heads = p["ClassLanes"], p["YBits"], p["ValueBits"], p["GroupHeads"]
    sums = y + ceil_log2(p["Heads"])
    one_tile = (p["ClassTiles"] == 1).astype(np.int64)
    memories = {
        **lutram(p["ClassTiles"], classes * value, family, "biases"),
        **lutram(p["ClassTiles"], classes * sums, family, "sums"),
    }
    return {
        "heads * classes * y bits": heads * classes * y,
        "classes": classes,
        "classes * y bits": classes * y,
        "classes * value bits": classes * value,
        "classes * sum bits": classes * sums,
        "(heads - 1) * classes * sum bits": (heads - 1) * classes * sums,
        "(heads - 1) * classes": (heads - 1) * classes,
        "log2 head groups": ceil_log2(p["HeadGroups"]),
        "log2 class tiles": ceil_log2(p["ClassTiles"]),
        "(one tile)": one_tile,
        "(one tile) * classes * value bits": one_tile * classes * value,
        "(one tile) * classes * sum bits": one_tile * classes * sums,
        **times("(several tiles)", 1 - one_tile, memories),
        **times("classes * sum bits", classes * sums, is_one_of("heads", heads, 2, 4, 8)),
        "classes * sum bits * (one head group)": (p["HeadGroups"] == 1) * classes * sums,
    }


def _logit(p: Parameters, family: str) -> Terms:
    y, bias = p["YBits"], p["ValueBits"] + wire.LOGIT_EXTRA_BITS
    return {
        "y bits": y,
        "bias bits": bias,
        "max(y bits, bias bits)": np.maximum(y, bias),
        "min(y bits, bias bits)": np.minimum(y, bias),
        "sum bits": p["SumBits"],
    }


def _scoring(p: Parameters, family: str) -> Terms:
    lanes, s = p["Lanes"], p["SumBits"]
    product = p["ValueBits"] + p["WeightBits"]
    some_lanes = is_one_of("lanes", lanes, 2, 4, 8)
    return {
        "lanes": lanes,
        "lanes * value bits": lanes * p["ValueBits"],
        "value bits": p["ValueBits"],
        "sum bits": s,
        "lanes * product bits": lanes * product,
        **times("product bits", product, some_lanes),
        **some_lanes,
        "group heads": p["GroupHeads"],
        "address bits": p["AddressBits"],
        "log2 tiles": ceil_log2(p["Tiles"]),
        "log2 heads": ceil_log2(p["Heads"]),
        "log2 group heads": ceil_log2(p["GroupHeads"]),
        **is_one_of("group heads", p["GroupHeads"], 1),
        "address bits * (one group)": (p["GroupHeads"] == p["Heads"]) * p["AddressBits"],
        **is_one_of("tiles", p["Tiles"], 1),
        **is_one_of("heads", p["Heads"], 1),
    }


def _row_maximum(p: Parameters, family: str) -> Terms:
    heads, value, exponent = p["GroupHeads"], p["ValueBits"], p["ExponentBits"]
    one = (p["HeadGroups"] == 1).astype(np.int64)
    return {
        "heads": heads,
        "heads * value bits": heads * value,
        "heads * exponent bits": heads * exponent,
        "address bits": p["AddressBits"],
        "source bits": p["SourceBits"],
        "log2 head groups": ceil_log2(p["HeadGroups"]),
        "(one group)": one,
        "(one group) * address bits": one * p["AddressBits"],
        "(one group) * heads * exponent bits": one * heads * exponent,
        **times("(several groups)", 1 - one, lutram(p["HeadGroups"], heads * exponent, family, "maxima")),
        "log2 degree capacity": ceil_log2(p["DegreeCapacity"]),
    }


def _aggregation_gat(p: Parameters, family: str) -> Terms:
    lanes, s, value, heads = p["Lanes"], p["SumBits"], p["ValueBits"], p["GroupHeads"]
    parts, tiles = p["HLanes"] // lanes, p["HeadGroups"] * p["GroupTiles"]
    coefficient = wire.COEFFICIENT_BITS + ceil_log2(p["DegreeCapacity"])
    one_tile, one_group = (tiles == 1).astype(np.int64), (p["HeadGroups"] == 1).astype(np.int64)
    weights = lutram(p["HeadGroups"], heads * coefficient, family, "coefficient sums")
    return {
        "lanes": lanes,
        "heads": heads,
        "lanes * value bits": lanes * value,
        **times("lanes * value bits", lanes * value, is_one_of("parts", parts, 2, 4, 8)),
        **is_one_of("parts", parts, 1, 2, 4),
        "lanes * sum bits": lanes * s,
        "(maximum) * lanes * sum bits": lanes * s * p["Maximum"],
        "(maximum)": p["Maximum"],
        "(maximum) * lanes": lanes * p["Maximum"],
        "heads * exponent bits": heads * p["ExponentBits"],
        "heads * coefficient sum bits": heads * coefficient,
        "(one group) * heads * coefficient sum bits": heads * coefficient * one_group,
        "(mean)": p["Mean"],
        "(mean) * heads": heads * p["Mean"],
        "(mean) * lanes * sum bits": lanes * s * p["Mean"],
        "y bits": p["YBits"],
        "address bits": p["HAddressBits"],
        "source bits": p["SourceBits"],
        "log2 head groups": ceil_log2(p["HeadGroups"]),
        "log2 group tiles": ceil_log2(p["GroupTiles"]),
        "(one tile)": one_tile,
        "(one group)": one_group,
        "(one tile) * lanes * sum bits": one_tile * lanes * s,
        **times("(several tiles)", 1 - one_tile, lutram(tiles, lanes * s, family, "sums")),
        **times("(several groups)", 1 - one_group, weights),
        "log2 degree capacity": ceil_log2(p["DegreeCapacity"]),
        **is_one_of("group tiles", p["GroupTiles"], 1),
    }


def _queue(p: Parameters, family: str) -> Terms:
    return {**_multiplexers(p, _banks(p, family)), "log2 depth": ceil_log2(p["Depth"])}


def _storing(p: Parameters, family: str) -> Terms:
    one = (p["Words"] == 1).astype(np.int64)
    return {
        "word bits": p["WordBits"],
        "address bits": p["AddressBits"],
        "log2 words": ceil_log2(p["Words"]),
        "(one word)": one,
        "(one word) * address bits": p["AddressBits"] * one,
    }


def _distributed(p: Parameters, family: str) -> Terms:
    return {
        "width": p["Width"],
        **lutram(p["Depth"], p["Width"], family, "memory"),
        "(one word)": (p["Depth"] == 1).astype(np.int64),
    }


def _banks(p: Parameters, family: str, ports: int = 1) -> Ints:
    return build(BLOCK[family, ports > 1], p["Depth"], p["Width"], ports).banks


def _multiplexers(p: Parameters, banks: Ints) -> Terms:
    beyond = {f"max(0, banks - {knee})": np.maximum(0, banks - knee) for knee in KNEES}
    return {
        "log2 banks": ceil_log2(banks),
        "(banks > 1)": (banks > 1).astype(np.int64),
        "max(0, banks - 8)": beyond["max(0, banks - 8)"],
        "max(0, banks - 16)": beyond["max(0, banks - 16)"],
        **times("width", p["Width"], beyond),
        "width * (banks > 1)": p["Width"] * (banks > 1),
        "width": p["Width"],
        "banks": banks,
    }


def _block(p: Parameters, family: str) -> Terms:
    """Each number of banks up to FEW_BANKS has a multiplexer of its own kind: its size does not grow steadily."""
    banks = _banks(p, family)
    few = banks <= FEW_BANKS
    index = np.where(few, banks, 0)
    kinds = FEW_BANKS + 1
    return {
        **_multiplexers(p, banks),
        "width by banks": Lookup(index, kinds, few * p["Width"]),
        "by banks": Lookup(index, kinds, few),
    }


def _dual(p: Parameters, family: str) -> Terms:
    return _multiplexers(p, _banks(p, family, ports=2))


def _product(p: Parameters, family: str) -> Terms:
    return {"by 11 * left bits + right bits": Lookup(p["LeftBits"] * 11 + p["RightBits"], 121)}


TERMS: dict[str, Callable[[Parameters, str], Terms]] = {
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
