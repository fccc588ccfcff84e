"""Designs with an array of their own, priced by the thousand on one graph, before any is trained or lowered.

A design that its array does not hold whole is divided, see `fgnas.hardware.array.dividing`: its price is that of the
divided network, and `array_of` makes the same.

Cycles, multipliers, block RAM and bytes are those of the array that is written, if calibration leaves relu its scale,
and linear, too; LUTs and flip-flops are a model's, for formats without a scale: calibration chooses scales after the
price is known. With attention the scale also decides whether exponentials take block RAM.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.activations import PLAIN
from fgnas.costs import Limit, feasible, violations, whole
from fgnas.design import (
    BOUNDED,
    DOT,
    GATHER_FIRST,
    MLP,
    MOST_BITS,
    OF_EDGES,
    PAIRS,
    TABLE_BITS,
    VECTORS,
    Design,
    score_format,
)
from fgnas.designs import ArrayColumns, tables_of
from fgnas.errors import UserError
from fgnas.fixedpoint import FixedPoint
from fgnas.hardware import wire
from fgnas.hardware.array.area import SOFTMAX, attention_columns
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.dividing import divided
from fgnas.hardware.array.engine import (
    HEADS,
    LANES,
    MOST_ACTIVATION_WORDS,
    MOST_BIASES,
    MOST_OWN_WORDS,
    MOST_PROGRAMME,
    MOST_TILES,
    PAIRED_BITS,
    Softmax,
    table_banks,
)
from fgnas.hardware.array.layers import DesignNetwork, FurtherBits, further_bits
from fgnas.hardware.array.lowering import MOST_AVERAGED, ArrayAccelerator, Scored, softmax_for, unfolded
from fgnas.hardware.array.placing import fit
from fgnas.hardware.array.pricing import ArrayPricer, ArrayPrices, Candidates
from fgnas.hardware.array.programme import LARGEST_INDEX, NARROW_BITS, PORT_WIDTHS
from fgnas.hardware.array.resources import exponential_halves
from fgnas.hardware.integer.tables import exponential_table, largest_difference
from fgnas.hardware.numbers import Ints, ceil_div, ceil_log2
from fgnas.hardware.prices import Priced
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.specification import DEFAULT_FAMILY, Specification
from fgnas.space import Columns
from fgnas.tasks.nodes import GraphData
from fgnas.tasks.sampling import EVERY, layer_graphs

NEEDED = ("attention", "aggregation", "k", "activation", "ai", "af", "wi", "wf")
"""Choices of a layer that an array's price depends on, beside d."""
BUILDABLE = (
    Limit("tiles", MOST_TILES, lambda value: f"a row takes {value:g} words of a unit, which holds {MOST_TILES}"),
    Limit("table_words", LARGEST_INDEX + 1, lambda value: f"weights and results take {value:,.0f} words of a unit, "
          f"which holds {LARGEST_INDEX + 1:,}, and no passes, slices or blocks fit"),
    Limit("own_words", MOST_OWN_WORDS, lambda value: f"own rows take {value:,.0f} words of a unit, which holds "
          f"{MOST_OWN_WORDS:,}: more units have fewer rows each"),
    Limit("descriptors", MOST_PROGRAMME, lambda value: f"the programme has {value:g} descriptors, an array holds "
          f"{MOST_PROGRAMME}"),
)  # fmt: skip
"""Capacity of the largest array, for a network with one activation table."""
HELD = (
    *BUILDABLE,
    Limit("activation_words", MOST_ACTIVATION_WORDS, lambda value: f"activation tables take {value:g} words of a unit, "
          f"which holds {MOST_ACTIVATION_WORDS}"),
    Limit("bias_words", MOST_BIASES, lambda value: f"biases take {value:g} words of a unit, which holds {MOST_BIASES}"),
)  # fmt: skip
"""Capacity of the largest array."""

RULES: tuple[tuple[str, Callable[[Columns, ArrayColumns], NDArray[np.bool_]]], ...] = (
    (
        f"array: with attention by scores a head stays in one unit, and a unit holds those of {HEADS} heads: "
        f"columns must be at most the heads, and at least a quarter of them",
        lambda columns, arrays: np.any([
            scored & ((n > k) | (k > HEADS * np.maximum(n, 1)))
            for scored, k, n in zip(
                attends(columns), columns["k"], [*arrays.columns, side_by_side(columns)], strict=True)
        ], axis=0),
    ),
    (
        f"an array averages {MOST_AVERAGED} heads at most",
        lambda columns, _: (
            (columns["k"][-1] > MOST_AVERAGED) & (columns["aggregation"][-1] != MLP) & ~gathering(columns)[-1]
        ),
    ),
    (
        f"array: a last layer of more than {HEADS} heads with scores has as many units side by side as hold them, "
        f"{HEADS} each, which must divide the units",
        lambda columns, arrays: arrays.units % side_by_side(columns) != 0,
    ),
    (
        "array: columns must be powers of two that divide the units",
        lambda _, arrays: functools.reduce(
            np.logical_or, [_not_dividing(n, arrays.units) for n in arrays.columns], np.zeros(len(arrays.units), bool)
        ),
    ),
    (
        "array: results must be at most 1, 2 or 4 behind a port of 128, 256 or 512 bits",
        lambda _, arrays: arrays.results > np.array([table_banks(bits) for bits in arrays.beat_bits.tolist()]),
    ),
    (
        "array: units that hold the same columns must be whole groups of those that share a table",
        lambda columns, arrays: (arrays.shared > 1) & (arrays.units % (arrays.shared * places(columns, arrays)) != 0),
    ),
    (
        "an array with attention by scores shares no tables",
        lambda columns, arrays: (arrays.shared > 1) & np.any(attends(columns), axis=0),
    ),
    (
        f"an array shares DSP slices between products of {PAIRED_BITS} bits at most, without attention by scores",
        lambda columns, arrays: (arrays.products > 1) & ~may_pair(columns),
    ),
)
"""Rules between a network and its array: a message, and where it is broken."""


def attends(columns: Columns) -> list[NDArray[np.bool_]]:
    """[n] whether the messages of each layer have scores."""
    return [np.isin(one, list(VECTORS)) for one in columns["attention"]]


def gathering(columns: Columns) -> list[NDArray[np.bool_]]:
    """[n] whether each layer gathers first; none does where there is no column for it."""
    none = np.zeros(len(columns["k"][0]), bool)
    return [one == GATHER_FIRST for one in columns["order"]] if "order" in columns else [none] * len(columns["k"])


def apart(columns: Columns) -> NDArray[np.bool_]:
    """[n] whether the heads of the last layer have a softmax or a maximum each, so that they cannot share a sum."""
    own = attends(columns)[-1] | (columns["aggregation"][-1] == "max")
    return own & (columns["k"][-1] > 1) & (columns["aggregation"][-1] != MLP)


def may_pair(columns: Columns) -> NDArray[np.bool_]:
    """[n] whether two products of a network may share a DSP slice."""
    return (_widest_of_all(columns) <= PAIRED_BITS) & ~np.any(attends(columns), axis=0)


def bits_apart(columns: Columns) -> FurtherBits:
    """[n] the further fraction bits of last layers whose heads are `apart`."""
    width = columns["ai"][-1].astype(np.int64) + columns["af"][-1] + 1
    exact = (columns["attention"][-1] == "constant") & (columns["aggregation"][-1] == "max")
    return further_bits(width, _logit_extra_bits(width), ceil_log2(columns["k"][-1].astype(np.int64)), exact)


def side_by_side(columns: Columns) -> Ints:
    """[n] units that share the heads of the last layer, see `last_columns`."""
    followed = apart(columns) | (columns["aggregation"][-1] == MLP)
    scored = followed & attends(columns)[-1]
    return np.maximum(1, np.where(scored, columns["k"][-1].astype(np.int64) // HEADS, 1))


def places(columns: Columns, arrays: ArrayColumns) -> Ints:
    """[n] units side by side whose tables differ in some layer, see `Engine`."""
    return functools.reduce(np.maximum, [np.maximum(one, 1) for one in arrays.columns], side_by_side(columns))


def _not_dividing(n: Ints, units: Ints) -> NDArray[np.bool_]:
    positive = np.maximum(n, 1)
    return (n < 1) | (positive & (positive - 1) != 0) | (units % positive != 0)


def check_arrays(columns: Columns, arrays: ArrayColumns, places: Ints) -> None:
    """Raise UserError for the first network that no array runs as it is arranged; `places` among all designs."""
    for message, broken in RULES:
        wrong = broken(columns, arrays)
        if wrong.any():
            raise UserError(f"design {int(places[wrong.argmax()]) + 1}: {message}")


def with_seconds(columns: Columns, mlp: Sequence[bool], classes: int, heads_apart: bool = False) -> Columns:
    """The columns of networks whose layers are of aggregation mlp or not: such a layer is two, as lowering has it; and
    so is a last one whose heads are `apart`, and one that gathers first, as `layers` has it."""
    gathered = [bool(one.any()) for one in gathering(columns)]
    found: Columns = {name: [] for name in (*NEEDED, "d")}
    for place, pair in enumerate(mlp):
        own = {name: columns[name][place] for name in NEEDED}
        k, last = own["k"], place == len(mlp) - 1
        d = np.full_like(k, classes) if last else columns["d"][place]
        halves = [own | {"d": d}]
        add, relu, linear, constant = (np.full(len(k), name) for name in ("add", "relu", "linear", "constant"))
        if pair:
            sums = own | {"d": d, "aggregation": add, "activation": relu}
            halves = [sums, own | {"d": d, "aggregation": add, "attention": constant, "k": k // k if last else k}]
        elif gathered[place]:
            x = {name: columns[name][place - 1].astype(np.int64) for name in ("k", "d", "ai", "af")}
            sums = {"k": k // k, "d": x["k"] * x["d"], "activation": linear, "wi": k // k, "wf": 0 * k}
            product = {"d": d, "aggregation": add, "attention": constant, "k": k // k if last else k}
            halves = [own | sums | {"ai": x["ai"], "af": x["af"]}, own | product]
        elif last and heads_apart:
            halvings = ceil_log2(k)  # a weight of 1 / k has two bits
            mean = {"k": k // k, "d": d, "aggregation": add, "attention": constant, "wi": 1 - halvings, "wf": halvings}
            finer = own["af"].astype(np.int64) + bits_apart(columns).mean
            halves = [own | {"d": d, "activation": linear}, own | mean | {"af": finer}]
        for half in halves:
            for name, values in half.items():
                found[name].append(values)
    return found


class _Numbers:
    """The numbers of the array's layers of n networks, [n] each.

    Attributes:
        columns: the layers' choices, as `with_seconds` has them. depth: how many they are.
        behind_sums: whether each layer multiplies sums that were gathered first.
        heads_apart: whether the last layer adds heads that are apart. further: their fraction bits.
    """

    def __init__(self, columns: Columns, behind_sums: list[bool], heads_apart: bool, further: FurtherBits) -> None:
        self.columns, self.depth, self.behind_sums = columns, len(columns["k"]), behind_sums
        self.heads_apart, self.further = heads_apart, further
        names = ("k", "ai", "af", "wi", "wf")
        self.k, ai, self.af, wi, self.wf = ([one.astype(np.int64) for one in columns[name]] for name in names)
        self.value = [i + f + 1 for i, f in zip(ai, self.af, strict=True)]
        self.weight = [i + f + 1 for i, f in zip(wi, self.wf, strict=True)]
        self.none = np.zeros_like(self.k[0])
        self.hidden = [k * d.astype(np.int64) for k, d in zip(self.k[:-1], columns["d"][:-1], strict=True)]
        self.scored, self.gcn = attends(columns), self._which("attention", "gcn")
        self.mean, self.most = self._which("aggregation", "mean"), self._which("aggregation", "max")
        self.dots, self.paired = self._which("attention", DOT), self._which("attention", *PAIRS)

    def _which(self, name: str, *options: str) -> list[NDArray[np.bool_]]:
        return [np.isin(one, options) for one in self.columns[name]]

    def before(self, layer: int) -> int:
        """The layer whose formats the rows have that a layer multiplies: X has those of the first layer's values, and
        sums that were gathered first those of their product's."""
        return layer if self.behind_sums[layer] else max(layer - 1, 0)

    def finer(self, layer: int) -> Any:
        """Fraction bits that these rows have more: those of heads that are apart."""
        return self.further.rows if self.heads_apart and layer == self.depth - 1 else 0

    def averaged(self, layer: int) -> Ints:
        """log2 of the heads whose sum is a row."""
        return ceil_log2(self.k[-1]) if layer == self.depth - 1 else self.none

    def sums(self, layer: int, width: Ints, degree_bits: Ints) -> list[Ints]:
        """Bits of the sums of a layer's products, messages and scores, of rows of so many columns."""
        value, weight = self.value[layer], self.weight[layer]
        factor = np.maximum(weight, np.where(self.dots[layer], value, 0))
        together = np.maximum(self.columns["d"][layer], 1 + self.paired[layer])
        combined = self.value[self.before(layer)] + self.finer(layer) + weight + ceil_log2(width)
        gathered = wire.COEFFICIENT_BITS + value + degree_bits + self.averaged(layer)
        return [combined, gathered, np.where(self.scored[layer], value + factor + ceil_log2(together), 0)]

    def shifts(self, layer: int) -> list[Ints]:
        """The right shifts of a layer's products, messages and scores."""
        af, wf, scored = self.af[layer], self.wf[layer], self.scored[layer]
        combined = self.af[self.before(layer)] + self.finer(layer) + wf - af
        rounds = self.gcn[layer] | (self.mean[layer] & ~scored)
        rounded = np.where(rounds, wire.COEFFICIENT_FRACTION_BITS, 0) + self.averaged(layer)
        # Scores shift by the weights' fraction bits, and the largest of them by none, products of features by one's
        # fraction bits, those of functions by what the scores lack; else a shift that is there.
        of_scores = [np.where(scored, one, combined) for one in (wf, self.none)]
        bounded = np.isin(self.columns["attention"][layer], BOUNDED)
        of_functions = np.where(bounded, self.value[layer] - 1, af) + wf - af
        of_scores += [np.select([self.dots[layer], self.paired[layer]], [af, of_functions], combined)]
        return [combined, rounded + self._rounded_off(layer) - self._extra(layer), *of_scores]

    def _rounded_off(self, layer: int) -> Ints:
        """Fraction bits that an argument lacks: one that looks up a table has TABLE_BITS at most."""
        if layer == self.depth - 1:
            return self.none
        plain = np.isin(self.columns["activation"][layer], PLAIN)
        return np.where(plain, 0, np.maximum(0, self.value[layer] - TABLE_BITS))

    def _extra(self, layer: int) -> Any:
        """Fraction bits that results have more than values: the rows of heads that are apart have their own, and their
        mean the rest."""
        last = self.depth - 1
        if layer < last and self.behind_sums[layer + 1]:
            return self.af[layer + 1] - self.af[layer]
        if not self.heads_apart:
            return self.further.logits if layer == last else 0
        both = {last: self.further.logits - self.further.mean, last - 1: self.further.rows}
        return both.get(layer, 0)

    def tables(self) -> Ints:
        """Words of all tables; on values and results of one format plain functions need none."""
        found = self.none
        for activation, bits in zip(self.columns["activation"][:-1], self.value[:-1], strict=True):
            words = ceil_div(1 << np.minimum(bits, TABLE_BITS), LANES)
            found = found + np.where(np.isin(activation, PLAIN), 0, words)
        for one, other, bits in zip(self._which("attention", "linear"), self.paired, self.value, strict=True):
            found = found + np.where(one | other, ceil_div(1 << bits, LANES), 0)
        return found


def candidates_of(
    columns: Columns, arrays: ArrayColumns, shape: GraphShape, family: str = DEFAULT_FAMILY
) -> Candidates:
    """Networks on their arrays, for formats without a scale; the same layers of all are of aggregation mlp, or gather
    first, and the heads of all last layers are `apart`, or of none."""
    mlp, heads_apart = [bool((one == MLP).any()) for one in columns["aggregation"]], bool(apart(columns).any())
    gathers = [bool(one.any()) for one in gathering(columns)]
    pairs = [one or other for one, other in zip([*mlp[:-1], mlp[-1] or heads_apart], gathers, strict=True)]
    behind_sums = [half and first for pair, first in zip(pairs, gathers, strict=True)
                   for half in ((False, True) if pair else (False,))]  # fmt: skip
    seconds = tuple(second for pair in pairs for second in ((False, True) if pair else (False,)))
    sums_of_last, further = side_by_side(columns), bits_apart(columns)
    numbers = _Numbers(with_seconds(columns, mlp, shape.classes, heads_apart), behind_sums, heads_apart, further)
    degree_bits = ceil_log2(np.array([shape.degree_capacity]))
    widths = [numbers.none + shape.width_in, *numbers.hidden]
    sums = [one for layer, width in enumerate(widths) for one in numbers.sums(layer, width, degree_bits)]
    scored = numbers.scored
    return Candidates(
        units=arrays.units, features=[*numbers.hidden, numbers.k[-1] * shape.classes],
        columns=[numbers.none + one for one in unfolded(seconds, arrays.columns, sums_of_last)[:-1]],
        weighted=[one | other for one, other in zip(numbers.gcn, scored, strict=True)],
        bits=_widest(numbers.columns), tables=numbers.tables(), passes=numbers.none + 1,
        results=arrays.results, maximum=np.any([*numbers.most, *scored], axis=0),
        sum_bits=functools.reduce(np.maximum, sums),
        shifts=[one for layer in range(numbers.depth) for one in numbers.shifts(layer)],
        averaged=numbers.k[-1], seconds=seconds, maxima=numbers.most, added=heads_apart, shared=arrays.shared,
        paired=arrays.products - 1,
        **(_attention(numbers.columns, scored, numbers.mean, degree_bits, family) if np.any(scored) else {}),
    )  # fmt: skip


def _attention(
    columns: Columns, scored: list[NDArray[np.bool_]], mean: list[NDArray[np.bool_]], degree_bits: Ints, family: str
) -> dict[str, Any]:
    """The fields of `Candidates` for attention by scores."""
    kinds = np.unique(np.concatenate(columns["attention"]))
    vectors = np.array([VECTORS.get(kind, 0) for kind in kinds.tolist()])
    places = np.stack([
        column for layer, one in enumerate(scored) for column in (
            np.searchsorted(kinds, columns["attention"][layer]), columns["ai"][layer], columns["af"][layer],
            one & mean[layer],
        )
    ])  # fmt: skip
    cases, place = np.unique(places, axis=1, return_inverse=True)
    found = [_softmax(case.reshape(-1, 4).tolist(), kinds.tolist(), int(degree_bits[0])) for case in cases.T]
    halves = np.array([exponential_halves(one, family) for one in found])
    own = attention_columns(found) | {"exponential_halves": halves}
    by_layer = {
        "heads": [np.where(one, k, 0).astype(np.int64) for one, k in zip(scored, columns["k"], strict=True)],
        "vectors": [vectors[np.searchsorted(kinds, one)] for one in columns["attention"]],
        "dots": [np.isin(one, OF_EDGES) for one in columns["attention"]],
        "pairs": [np.isin(one, PAIRS) for one in columns["attention"]],
    }
    return by_layer | {name: own[name][place.ravel()] for name in (*SOFTMAX, "exponential_halves")}


def _softmax(layers: list[list[int]], kinds: list[str], degree_bits: int) -> Softmax | None:
    """The softmax of a network's layers, each given by its kind of attention, its formats and whether it is a mean."""
    found = []
    for kind, integer, fraction, mean in layers:
        if (attention := kinds[kind]) in VECTORS:
            score = score_format(attention, FixedPoint.of(integer, fraction, 0))
            words = len(exponential_table(score, largest_difference(attention, score)))
            of_edges, pair = attention in OF_EDGES, attention in PAIRS
            found.append(Scored(score.fraction_bits, words, bool(mean), attention == "gat-sym", of_edges, pair))
    return softmax_for(found, degree_bits)


def _widest(columns: Columns) -> Ints:
    """[n] bits of the widest numbers of networks."""
    pairs = [*zip(columns["ai"], columns["af"], strict=True), *zip(columns["wi"], columns["wf"], strict=True)]
    return functools.reduce(np.maximum, [integer.astype(np.int64) + fraction + 1 for integer, fraction in pairs])


def _widest_of_all(columns: Columns) -> Ints:
    """[n] bits of the widest numbers of networks, those of the rows of heads that are apart counted."""
    of_mean = columns["ai"][-1].astype(np.int64) + columns["af"][-1] + 1 + bits_apart(columns).mean
    return np.maximum(_widest(columns), np.where(apart(columns), of_mean, 0))


def _wide(columns: Columns) -> NDArray[np.bool_]:
    """[n] whether networks have numbers with wide entries."""
    return _widest_of_all(columns) > NARROW_BITS


def _logit_extra_bits(widths: Ints) -> Ints:
    """[n] `wire.logit_extra_bits`."""
    return np.array([wire.logit_extra_bits(width) for width in range(MOST_BITS + 1)])[widths]


class ArrayDesignPricer:
    """Prices designs with their arrays, for one graph, on one family of devices."""

    def __init__(self, data: GraphData, family: str = DEFAULT_FAMILY) -> None:
        if not data.nodes:
            raise UserError(f"{data.name} has no node: an array has nothing to compute")
        self.data, self.family = data, family
        self.shape = GraphShape.of(data)
        self.pricer = functools.cache(self._pricer)

    def __reduce__(self) -> tuple[Any, ...]:
        """For another process, which finds the cycles of phases again."""
        return ArrayDesignPricer, (self.data, self.family)

    def _pricer(self, beat_bits: int, wide: bool, sampling: tuple[float, ...]) -> ArrayPricer:
        first, *further = layer_graphs(self.data, sampling or (EVERY,))
        return ArrayPricer(first, beat_bits=beat_bits, family=self.family, further=further, wide=wide, waits=True)

    def price(self, columns: Columns, arrays: ArrayColumns, sampling: tuple[float, ...] = ()) -> ArrayPrices:
        """Prices of n designs, divided as they need, for which `check_arrays` holds; `sampling` as of a
        `DesignTable`."""
        found: dict[str, NDArray[Any]] = {}
        mlp = [one == MLP for one in columns["aggregation"]]
        kinds = np.stack([_wide(columns), apart(columns), *mlp, *gathering(columns)])
        for beat_bits, kind in itertools.product(PORT_WIDTHS, np.unique(kinds, axis=1).T):
            here = (arrays.beat_bits == beat_bits) & (kinds == kind[:, None]).all(axis=0)
            if not here.any():
                continue
            own = {name: [values[here] for values in parts] for name, parts in columns.items()}
            pricer = self.pricer(beat_bits, bool(kind[0]), sampling)
            candidates = candidates_of(own, arrays.part(here), self.shape, self.family)
            prices = pricer.price(divided(pricer, candidates))
            for one in fields(prices):
                values = getattr(prices, one.name)
                found.setdefault(one.name, np.zeros(len(here), values.dtype))[here] = values
        return ArrayPrices(**found)


def array_of(source: DesignNetwork, data: GraphData, further: Sequence[GraphData] = ()) -> ArrayAccelerator:
    """A design on its own array, divided as its price says; `further` as in `encode_array`.

    Raises UserError where no engine holds it.
    """
    own = source.design.array
    assert own is not None, "a design with an array"
    passes, slices, blocks = _division(source.design, data, tuple(further))
    arrangement = Arrangement(
        own.units, own.columns, passes, own.results, slices=slices, blocks=blocks, shared=own.shared,
        beat_bits=own.beat_bits, paired=own.products > 1,
    )  # fmt: skip
    return fit(source, data, arrangement, further)


def _division(design: Design, data: GraphData, further: tuple[GraphData, ...]) -> tuple[int, int, int]:
    """Passes, slices and blocks of a design on its own array; all 1 where no engine holds it."""
    (table,) = tables_of([design])
    columns = table.columns()
    assert table.array is not None
    if not data.nodes or any(broken(columns, table.array).any() for _, broken in RULES):
        return 1, 1, 1  # no engine holds it, and `fit` says why
    pricer = _kept_pricer(data, further, int(table.array.beat_bits[0]), bool(_wide(columns)[0]))
    found = divided(pricer, candidates_of(columns, table.array, GraphShape.of(data)))
    slices, blocks = (1 if one is None else int(one[0]) for one in (found.slices, found.blocks))
    return int(found.passes[0]), slices, blocks


@functools.lru_cache(maxsize=2)
def _kept_pricer(data: GraphData, further: tuple[GraphData, ...], beat_bits: int, wide: bool) -> ArrayPricer:
    """The pricer of one graph, kept with the phases that it knows."""
    return ArrayPricer(data, beat_bits=beat_bits, further=further, wide=wide, waits=True)


@dataclass(frozen=True, eq=False)
class ArrayDesignPrices(Priced):
    """The prices of n designs with arrays behind ports of `beat_bits`, [n]."""

    prices: ArrayPrices
    beat_bits: Ints

    def named(self) -> dict[str, NDArray[Any]]:
        """The prices that a limit may bound, by name, [n] each."""
        kept, left = vars(self.prices), ("cycles", "paired")
        renamed = {"latency_cycles": self.prices.cycles, "dsp": self.prices.dsp}
        return renamed | {name: values for name, values in kept.items() if name not in left}

    def columns(self, specification: Specification) -> dict[str, list[Any]]:
        """The prices as plain JSON values, [n] each by name: those of a pipeline but for its peak rates."""
        found, limits = self.prices, (*specification.bounds(), *HELD)
        kept = feasible(self.named(), limits).tolist()
        none: list[str] = []
        return {
            "latency_cycles": found.cycles.tolist(),
            "latency_ms": (found.cycles / specification.clock_mhz / 1000.0).tolist(),
            "lut": found.lut.tolist(),
            "ff": found.ff.tolist(),
            "dsp": found.dsp.tolist(),
            "bram36": [whole(bram36) for bram36 in found.bram36.tolist()],
            "memory_bytes": found.memory_bytes.tolist(),
            "memory_mb_s": np.round(found.memory_bytes * specification.clock_mhz / found.cycles, 1).tolist(),
            "beat_bits": self.beat_bits.tolist(),
            "multipliers": found.multipliers.tolist(),
            "multiplications": found.multiplications.tolist(),
            "busy": np.round(found.multiplications / (found.multipliers * found.cycles), 4).tolist(),
            "feasible": kept,
            "violations": [none if ok else violations(self.named(), limits, i) for i, ok in enumerate(kept)],
        }
