"""Lowering: the array's layers become plans: modes, places in the memories, and words to load."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from fgnas.design import DOT, Design
from fgnas.errors import UserError
from fgnas.fixedpoint import Codes
from fgnas.hardware import wire
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.engine import HEADS, LANES, MOST_COUNTED, Engine, Mode, Softmax, built_rows, copy_banks
from fgnas.hardware.array.geometry import LayerWords, loaded_words
from fgnas.hardware.array.layers import ArrayLayer, ArrayNetwork
from fgnas.hardware.array.programme import DESCRIPTOR, LARGEST_INDEX, Activation
from fgnas.hardware.integer.scores.pair import PairScores
from fgnas.hardware.numbers import Ints, ceil_div, ceil_log2, next_power_of_two

LOADS = 3
"""Descriptors that load a network: weights, biases, activation tables; vectors of attention are one more."""
ABSENT = -1
"""A place of a row that holds none of the network's features."""
MOST_ROW_WORDS = (1 << DESCRIPTOR.place("target_tiles")[1]) - 1
"""Words of a row that a unit holds: what a descriptor can name."""
LEAST_PROGRAMME = 16
MOST_AVERAGED = 32
"""Heads of the last layer: each has a descriptor, and a programme has 64."""
BLOCK_WORDS = 512
"""Words of a block RAM at its widest."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LayerPlan(LayerWords):
    """One layer on an array; of its words see `LayerWords`, which are integers here.

    Attributes:
        layer: its numbers: formats, shifts, codes of W and of the bias, activation table.
        combine: mode of X W. The first layer reads a stream; a further one reads rows of its own units, and its k is
            the n of the aggregation before it.
        aggregate: mode of A H.
        table_base, bias_base, activation_base: first words of W, of the bias and of the activation table.
        activation: the function behind the bias.
        aggregate_shift: right shift that takes an aggregate to Y's fraction bits.
        inputs: [elements] of a row of the combination's input: the layer's input at each place, or ABSENT.
        columns: [elements] of a row of H, of one of several products: the layer's feature at each place, or
            ABSENT. Words are dealt to the n units in turn, the words of a head to one unit.
        vectors_base: first word of the attention's vectors, counted from the first of all layers.
    """

    layer: ArrayLayer
    combine: Mode
    aggregate: Mode
    table_base: int
    bias_base: int
    activation_base: int
    activation: Activation
    aggregate_shift: int
    inputs: Ints
    columns: Ints
    vectors_base: int = 0

    @property
    def head_tiles(self) -> int:
        """Words of a head with attention."""
        return ceil_div(self.layer.d, LANES)

    @property
    def factors_base(self) -> int:
        """First word of the factors in the table."""
        return self.table_base + self.products * self.head_weight_words

    @property
    def own_elements(self) -> int:
        """Elements of a row of Z that the fullest unit holds."""
        g = self.layer
        return int(own_elements(g.features // self.products, g.k * g.attends, g.d, self.aggregate.n))

    @property
    def scores_base(self) -> int:
        """First word of the table that scores pass, behind the activation's."""
        return self.activation_base + self.activation_words

    @property
    def score_words(self) -> int:
        """Words of the table that scores pass; 0 without one."""
        return ceil_div(len(self.score_table), LANES)

    @property
    def score_table(self) -> Codes:
        table = self.layer.score_table
        return np.zeros(0, np.int64) if table is None else table

    @property
    def activation_words(self) -> int:
        """Words of the activation table."""
        table = self.layer.apply.table
        return 0 if self.activation is not Activation.TABLE or table is None else ceil_div(len(table), LANES)

    def weight_image(self, place: int, part: int = 0, piece: int = 0) -> Codes:
        """[weight_words, LANES] W as the unit at a place of its group holds it in a pass and a slice; head after
        head, and the factors of the pass behind them."""
        n = self.combine.n
        tile = part * self.write_tiles + np.arange(self.write_tiles)
        if self.first:
            rows = piece * self.slice_inputs + np.arange(self.slice_inputs)
            column = (tile * n + place % n) * LANES
        else:
            element, k = np.arange(self.elements), self.combine.k
            rows = (element // LANES * k + place % k) * LANES + element % LANES
            column = tile * LANES
        lanes = column[:, None] + np.arange(LANES)
        padded = np.pad(self.layer.combine.weight, ((0, 1), (0, 1)))  # ABSENT names the zeros at the end
        inputs, held = _held(self.inputs, rows)[:, None, None], _held(self.columns, lanes)
        # The products of a column, such as the heads of a class, are adjacent in the layer's features.
        features = [np.where(held == ABSENT, ABSENT, held * self.products + one) for one in range(self.products)]
        words = [padded[inputs, of_head].reshape(-1, LANES) for of_head in features]
        scoring = self.layer.scoring
        factors = [self._vector_words(place, scoring.factor)[part]] if isinstance(scoring, PairScores) else []
        return np.concatenate(words + factors)

    def bias_image(self, place: int) -> Codes:
        """[row_tiles, LANES] biases of the unit at a place of its group."""
        features = self._features(place)
        return np.append(self.layer.apply.bias, 0)[features]  # ABSENT names the zero at the end

    def vector_image(self, place: int) -> Codes:
        """[vector_words * passes, LANES] vectors of the attention, of the unit at a place of its group.

        Each pass has those of the source, then, where nodes have scores or pairs of them functions, those of the
        target, a word for each of its tiles; zeros for a vector that the attention does not have.
        """
        if not self.attends:
            return np.zeros((0, LANES), np.int64)
        given = (*self.layer.vectors, None)
        parts = [self._vector_words(place, one) for one in given[: self.vector_words // self.tiles]]
        return np.concatenate(parts, axis=1).reshape(-1, LANES)

    def _vector_words(self, place: int, vectors: Codes | None) -> Codes:
        """[passes, tiles, LANES] vectors [k, d] of the unit at a place of its group; zeros without any."""
        g, features = self.layer, self._features(place).reshape(self.passes, self.tiles, LANES)
        held = np.zeros((g.k, g.d), np.int64) if vectors is None else vectors
        return np.append(held.ravel(), 0)[features]

    def _features(self, place: int) -> Ints:
        """[row_tiles, LANES] the layer's features in a row of the unit at a place of its group."""
        n = self.aggregate.n
        word = np.arange(self.row_tiles) * n + place % n
        return _held(self.columns, word[:, None] * LANES + np.arange(LANES))

    def activation_image(self) -> Codes:
        """[activation_words + score_words, LANES] codes of Z by the unsigned bits of U, side by side; then those of
        scores."""
        table = self.layer.apply.table
        tables = [table] if self.activation_words and table is not None else []
        return np.concatenate([
            np.pad(one, (0, -len(one) % LANES)).reshape(-1, LANES) for one in (*tables, self.score_table)
        ])  # fmt: skip


def _held(features: Ints, places: Ints) -> Ints:
    """The features at places of a row; ABSENT beyond its end."""
    return np.where(places < len(features), features[np.minimum(places, len(features) - 1)], ABSENT)


@dataclass(frozen=True, eq=False)
class ArrayAccelerator:
    """A network on an engine, ready for every reader but for the graph.

    Attributes:
        source: the quantised network and the shape of the graphs that it serves.
        engine: the array.
        plans: the layers.
    """

    source: ArrayNetwork
    engine: Engine
    plans: tuple[LayerPlan, ...]

    def __post_init__(self) -> None:
        needed = {
            "table_words": (self.results_base + 1, self.engine.table_words),
            "bias_words": (sum(plan.row_tiles for plan in self.plans), self.engine.bias_words),
            "activation_words": (table_words(self.plans), self.engine.activation_words),
            "tiles": (max(max(plan.tiles, plan.write_tiles) for plan in self.plans), self.engine.tiles),
            "bits": (widest(self.source), self.engine.bits),
            "sum_bits": (sum_bits(self.source), self.engine.sum_bits),
        }
        for name, (wanted, found) in needed.items():
            if wanted > found:
                raise UserError(f"the network needs {name} of {wanted} at least, the engine has {found}")
        if any(plan.layer.maximum for plan in self.plans) and not self.engine.maximum:
            raise UserError("the network reduces by the maximum, which the engine does not offer")
        if any(plan.slices > 1 or plan.blocks > 1 for plan in self.plans) and not self.engine.partial_words:
            raise UserError("the network comes in slices or blocks, for which the engine keeps no partial sums")
        _check_softmax(self.source, self.plans, self.engine)

    def on(self, engine: Engine) -> ArrayAccelerator:
        """The same network, arranged in the same way, on another engine. Raises UserError where it does not fit."""
        first = self.plans[0]
        columns = tuple(plan.aggregate.n for plan in self.plans if not plan.layer.second)[:-1]
        blocks = max(plan.blocks for plan in self.plans)
        return lower(self.source, engine, Arrangement(
            engine.units, columns, first.passes, slices=first.slices, blocks=blocks, split=self.plans[-1].aggregate.k
        ))  # fmt: skip

    @property
    def places(self) -> int:
        """Units side by side whose memories differ."""
        return max(max(plan.combine.places, plan.aggregate.n) for plan in self.plans)

    @functools.cached_property
    def results_base(self) -> int:
        """First word of H in the table, behind what is loaded; every layer's H overwrites the one before it."""
        return int(loaded_words(self.plans))

    @functools.cached_property
    def least_base(self) -> int:
        """First word of the least row, in front of H."""
        return self.results_base - least_words(self.plans)

    def image(self, name: str) -> Codes:
        """[places, words, LANES] what is loaded into the tables ("weight"), the biases ("bias"), the activation tables
        ("activation"), or the own rows ("vector").

        The weights are those of the first pass and slice of every layer, and the least row right in front of H.
        """
        if name == "activation":
            parts = [np.concatenate([plan.activation_image() for plan in self.plans])] * self.places
        else:
            behind = [self._up_to_results()] if name == "weight" else []
            parts = [
                np.concatenate([getattr(plan, f"{name}_image")(place) for plan in self.plans] + behind)
                for place in range(self.places)
            ]
        return np.stack(parts)

    def _up_to_results(self) -> Codes:
        """[words, LANES] what lies between the weights and H: nothing, then the least row, which is the least number of
        any layer with a maximum in blocks."""
        widths = [plan.layer.value_format.width for plan in self.plans if plan.least_words]
        found = np.zeros((self.results_base - sum(plan.weight_words for plan in self.plans), LANES), np.int64)
        found[len(found) - least_words(self.plans) :] = -(1 << max(widths, default=1) - 1)
        return found

    def part_image(self, plan: LayerPlan, part: int, piece: int) -> Codes:
        """[places, weight_words, LANES] what is loaded into the tables for a pass and a slice."""
        return np.stack([plan.weight_image(place, part, piece) for place in range(self.places)])

    def summary(self) -> dict[str, Any]:
        """The accelerator as plain JSON values, without its weights."""
        return {
            **network_summary(self.source, self.engine),
            "layers": [
                {"combine": vars(plan.combine), "aggregate": vars(plan.aggregate), "tiles": plan.tiles,
                 "write_tiles": plan.write_tiles, "passes": plan.passes, "activation": plan.activation.name.lower(),
                 "aggregate_shift": plan.aggregate_shift, "weight": vars(plan.layer.weight_format),
                 "value": vars(plan.layer.value_format), **({"slices": plan.slices} if plan.slices > 1 else {}),
                 **({"blocks": plan.blocks} if plan.blocks > 1 else {})}
                for plan in self.plans
            ],
        }  # fmt: skip


def network_summary(source: Any, engine: Engine) -> dict[str, Any]:
    """A network and the engine that runs it as plain JSON values, without its layers."""
    return {
        "name": source.name,
        "dataset": source.dataset,
        "target": "array",
        "design": source.design.to_dict(),
        "design_hash": source.design.hash,
        "shape": vars(source.shape),
        "input_scale": source.input_scale,
        "engine": engine.summary(),
        **({"runs": source.runs} if source.runs else {}),
    }


def check_network(source: ArrayNetwork) -> None:
    """Raise UserError where a network has an operator that one programme of the array does not run."""
    check_counts(source)
    for layer in source.layers:
        if layer.averaged > MOST_AVERAGED:
            raise UserError(f"layer {layer.index}: an array averages {MOST_AVERAGED} heads at most, not "
                            f"{layer.averaged}: choose fewer (k)")  # fmt: skip


def check_counts(source: ArrayNetwork) -> None:
    """Raise UserError where a network has an operator that the array does not run."""
    for layer in source.layers:
        if layer.attends and layer.mean and source.shape.degree_capacity > MOST_COUNTED:
            raise UserError(f"layer {layer.index}: a mean with scores has {MOST_COUNTED} messages at most, and a node "
                            f"of the graph has more: choose add or max")  # fmt: skip


def widest(source: ArrayNetwork) -> int:
    """Bits of the widest value or weight."""
    formats = ((one.number, one.value_format, one.weight_format, *(() if one.last else (one.apply.output,)))
               for one in source.layers)  # fmt: skip
    return max(number.width for each in formats for number in each)


def sum_bits(source: ArrayNetwork) -> int:
    """Bits of a lane's sum that no row of any graph of this shape overflows."""
    found = 0
    for layer in source.layers:
        longest = layer.input_width
        combined = layer.number.width + layer.weight_format.width + int(ceil_log2(longest))
        messages = source.shape.degree_capacity * layer.averaged
        gathered = wire.COEFFICIENT_BITS + layer.value_format.width + int(ceil_log2(messages))
        of_dot = layer.dot and not layer.pair
        factor = max(layer.weight_format.width, layer.value_format.width * of_dot)
        together = max(layer.d, 1 + layer.pair)
        scores = layer.value_format.width + factor + int(ceil_log2(together))
        found = max(found, combined, gathered, scores * layer.attends)
    return found


def softmax_of(source: ArrayNetwork) -> Softmax | None:
    """The smallest softmax that runs a network's attentions: the table of the layer with the finest scores, as long as
    that of any layer in its steps; None where no layer has scores."""
    layers = [
        Scored(layer.score_format.fraction_bits, len(layer.exponential_table), layer.mean, layer.symmetric, layer.dot,
               layer.pair)
        for layer in source.layers if layer.attends
    ]  # fmt: skip
    return softmax_for(layers, int(ceil_log2(source.shape.degree_capacity)))


class Scored(NamedTuple):
    """Properties of a layer that size the softmax unit: fraction bits of its scores, words of its table of
    exponentials, whether its aggregation is a mean, and whether its scores are symmetric, belong to edges (`dot`), or
    are made of functions of two nodes' features (`pair`)."""

    fraction_bits: int
    words: int
    mean: bool
    symmetric: bool
    dot: bool
    pair: bool = False


def softmax_for(layers: Sequence[Scored], degree_bits: int) -> Softmax | None:
    """As `softmax_of`, for rows of up to 2**degree_bits entries."""
    if not layers:
        return None
    finest = max(0, *(layer.fraction_bits for layer in layers))
    words = max(((layer.words - 1) << (finest - layer.fraction_bits)) + 1 for layer in layers)
    mean = any(layer.mean for layer in layers)
    sum_bits = wire.COEFFICIENT_BITS + (1 + mean) * degree_bits
    symmetric, dot = any(layer.symmetric for layer in layers), any(layer.dot for layer in layers)
    return Softmax(finest, words, sum_bits, mean, symmetric, dot, any(layer.pair for layer in layers))


def least_words(plans: Sequence[LayerPlan]) -> int:
    """Words of the least row, which all layers with a maximum in blocks share; 0 without one."""
    return max(plan.least_words for plan in plans)


def table_words(plans: Sequence[LayerPlan]) -> int:
    """Words of all tables that activations and scores pass."""
    return sum(plan.activation_words + plan.score_words for plan in plans)


def _check_softmax(source: ArrayNetwork, plans: Sequence[LayerPlan], engine: Engine) -> None:
    """Raise UserError where an engine does not run the attentions of a network."""
    needed = softmax_of(source)
    if needed is None:
        return
    if engine.softmax is None:
        raise UserError("the network has attention with scores, which the engine does not offer")
    if needed.mean and not engine.softmax.mean:
        raise UserError("the network takes a mean with scores, which the engine does not offer")
    named = source.design.layers if isinstance(source.design, Design) else ()
    pair = next((named[layer.place].attention for layer in source.layers if layer.pair and named), "of pairs")
    for offer, attention in (("symmetric", "gat-sym"), ("pair", pair), ("dot", DOT)):
        if getattr(needed, offer) and not getattr(engine.softmax, offer):
            raise UserError(f"the network has attention {attention}, which the engine does not offer")
    for name in ("fraction_bits", "sum_bits"):
        wanted, found = getattr(needed, name), getattr(engine.softmax, name)
        if wanted > found:
            raise UserError(f"the network needs softmax {name} of {wanted} at least, the engine has {found}")
    reach = ((needed.words - 1) << (engine.softmax.fraction_bits - needed.fraction_bits)) + 1
    if reach > engine.softmax.words:
        raise UserError(f"the network needs {reach} exponentials, the engine has {engine.softmax.words}")
    most = (1 << DESCRIPTOR.place("exponent_shift")[1]) - 1
    for plan in plans:
        shift = engine.softmax.fraction_bits - plan.layer.score_format.fraction_bits if plan.attends else 0
        if shift > most:
            raise UserError(f"layer {plan.layer.index}: its scores have {shift} fraction bits fewer than the engine's "
                            f"exponentials, {most} at most")  # fmt: skip


def lower(source: ArrayNetwork, engine: Engine, arrangement: Arrangement | None = None) -> ArrayAccelerator:
    """Place a network on an engine, by default with the most columns side by side. Raises UserError where it does not
    fit."""
    arranged = replace(arrangement or Arrangement(engine.units), units=engine.units)
    return ArrayAccelerator(source, engine, plan_layers(source, arranged))


def plan_layers(source: ArrayNetwork, one: Arrangement) -> tuple[LayerPlan, ...]:
    """The plans of all layers in an arrangement. Raises UserError where it is none of the network."""
    check_network(source)
    _check_parts(source, one)
    chosen = _side_by_side(source, one)
    plans: list[LayerPlan] = []
    for layer, n in zip(source.layers, chosen, strict=True):
        _check_heads(layer, n, one.split if layer.last else 1)
        plans.append(_planned(layer, n, plans[-1] if plans else None, one))
    loaded = plans[-1].table_base + plans[-1].weight_words
    if loaded > LARGEST_INDEX:
        raise UserError(f"the weights take {loaded} words of a unit, a table has {LARGEST_INDEX + 1} at most: use more "
                        f"--multipliers, or narrower layers")  # fmt: skip
    return tuple(plans)


def _planned(layer: ArrayLayer, n: int, before: LayerPlan | None, one: Arrangement) -> LayerPlan:
    """The plan of a layer with n units side by side, behind the layer before it."""
    if one.units % n:
        raise UserError(f"layer {layer.index}: {one.units} units are not whole groups of {n} side by side")
    passes = one.passes if before is None else 1
    words = int(row_words(layer.features // layer.products, layer.k * layer.attends, layer.d))
    held = ceil_div(words, n)
    whole = ceil_div(layer.d, LANES) if layer.attends else 1
    if held % (passes * whole) or (layer.last and passes > 1):
        raise UserError(f"layer {layer.index}: a unit holds {held} words of a row, not in {passes} passes")
    if held > MOST_ROW_WORDS:
        raise UserError(f"layer {layer.index}: a row takes {held} words of a unit, {MOST_ROW_WORDS} at most: use more "
                        f"units side by side")  # fmt: skip
    aggregate = Mode(one.units // one.split, one.split, 1) if layer.last else Mode(one.units // n, 1, n)
    return LayerPlan(
        first=layer.first,
        last=layer.last,
        width=layer.input_width,
        attends=int(layer.attends),
        dot=int(layer.dot),
        pair=int(layer.pair),
        maximum=int(layer.maximum),
        layer=layer,
        combine=Mode(one.units // n, 1, n) if before is None else Mode(before.aggregate.m, before.aggregate.n, 1),
        aggregate=aggregate,
        write_tiles=held // passes if before is None else words,
        tiles=held // passes,
        elements=0 if before is None else before.own_elements,
        table_base=0 if before is None else before.table_base + before.weight_words,
        bias_base=0 if before is None else before.bias_base + before.row_tiles,
        activation_base=0 if before is None else before.scores_base + before.score_words,
        activation=layer.activation,
        aggregate_shift=layer.aggregate_shift,
        inputs=np.arange(layer.input_width) if before is None else before.columns,
        columns=_columns(layer, n),
        vectors_base=0 if before is None else before.vectors_base + before.vector_words * before.passes,
        passes=passes,
        products=layer.products,
        averaged=layer.averaged,
        slices=one.slices if before is None else 1,
        blocks=one.blocks,
    )


def _side_by_side(source: ArrayNetwork, one: Arrangement) -> list[int]:
    """The n of every layer's aggregation, see `unfolded`."""
    hidden = [layer for layer in source.layers if not layer.second][:-1]
    given = one.columns or [default_columns(layer, one.units) for layer in hidden]
    if len(given) != len(hidden):
        raise UserError(f"columns are given for {len(given)} layers; the network has {len(hidden)} hidden ones")
    return unfolded([layer.second for layer in source.layers], given, last_columns(source))


def _check_parts(source: ArrayNetwork, one: Arrangement) -> None:
    """Raise UserError where W, H or a sum do not come in such parts."""
    first, last = source.layers[0], source.layers[-1]
    if not 1 <= one.slices <= first.input_width:
        raise UserError(f"layer 0: {first.input_width} columns of X are not {one.slices} slices")
    if one.slices > 1 and first.products > 1:
        raise UserError("layer 0: heads that are averaged, or several products, are not combined in slices")
    _check_blocks(source, one.slices, one.blocks)
    if one.split > 1 and last.maximum:
        raise UserError("units of a group add their sums: a maximum cannot be split among them")


def unfolded(seconds: Sequence[bool], columns: Sequence[Any], sums: Any = 1) -> list[Any]:
    """The n of every layer of an accelerator, from those of a design's hidden layers: a second product has that of its
    sums, but in the design's last layer the sums have `sums` and the second product has one.

    Integers, or arrays of them.
    """
    none = 0 * columns[0] if len(columns) else 0
    given, found = iter([*columns, none + sums]), list[Any]()
    for second in seconds:
        found.append(found[-1] if second else next(given))
    return [*found[:-1], none + 1]


def last_columns(source: ArrayNetwork) -> int:
    """The n of the sums of a last layer that a product follows: as many units as hold the scores of its heads."""
    g = source.layers[-2] if source.layers[-1].second else source.layers[-1]
    return max(1, g.k * g.attends // HEADS)


def has_blocks(source: ArrayNetwork) -> bool:
    """Whether the rows of H can come in blocks."""
    return not any(one.products > 1 or one.attends for one in source.layers)


def _check_blocks(source: ArrayNetwork, slices: int, blocks: int) -> None:
    """Raise UserError where the rows of H cannot come in blocks."""
    if blocks == 1:
        return
    if blocks < 1 or slices > 1:
        raise UserError(f"H comes in 1 block or more, and in one where W comes in slices: not {blocks} with {slices}")
    if has_blocks(source):
        return
    for layer in source.layers:
        if layer.products > 1:
            raise UserError(f"layer {layer.index}: heads that are averaged, or several products, have their rows of H "
                            f"in one block")  # fmt: skip
        if layer.attends:
            raise UserError(f"layer {layer.index}: messages with scores have their rows of H in one block: a softmax "
                            f"needs all of a row's scores at once")  # fmt: skip


def _check_heads(layer: ArrayLayer, n: int, split: int) -> None:
    """Raise UserError where the heads of an attention do not come out whole in n units side by side."""
    g = layer
    if not g.attends:
        return
    if split > 1:
        raise UserError("units of a group add their sums: the largest score cannot be split among them")
    if n > g.k:
        raise UserError(f"layer {layer.index}: a head stays in one unit, {g.k} heads not in {n} units side by side")
    if g.k // n > HEADS:
        raise UserError(f"layer {layer.index}: a unit holds the scores of {HEADS} heads, not of {g.k // n}: "
                        f"use more units side by side")  # fmt: skip


def row_words(features: Any, heads: Any, d: Any) -> Any:
    """Words of a row of H; where heads of d features have scores (else `heads` is 0), those of whole heads.

    Integers, or arrays of them.
    """
    return np.where(heads > 0, heads * ceil_div(d, LANES), ceil_div(features, LANES))


def _columns(layer: ArrayLayer, n: int) -> Ints:
    """The features of a row of H at their places; see `LayerPlan`."""
    g = layer
    if not g.attends:
        return np.arange(g.features // layer.products)
    words = ceil_div(g.d, LANES)  # of a head; heads are dealt to the units in turn
    word, lane = np.arange(g.k * words)[:, None], np.arange(LANES)
    tile, unit = word // n, word % n
    head, place = tile // words * n + unit, tile % words * LANES + lane
    return np.where(place < g.d, head * g.d + place, ABSENT).ravel()


def default_columns(layer: ArrayLayer, units: int) -> int:
    """The largest power of two of units side by side, of which groups can be made, with columns for every unit; with
    attention, with a head for every unit."""
    parts = layer.k if layer.attends else ceil_div(layer.features // layer.products, LANES)
    return min(units & -units, 1 << (parts.bit_length() - 1))


def dense_elements(width: Any, n: Any) -> Any:
    """Elements of a row of `width` that a unit multiplies, words being dealt to n units in turn; the most of any.

    Integers, or arrays of them.
    """
    words = ceil_div(width, LANES)
    last = (words - 1) // n  # the last word of the fullest unit
    return last * LANES + np.where(words > last * n + 1, LANES, width - (words - 1) * LANES)


def own_elements(features: Any, heads: Any, d: Any, n: Any) -> Any:
    """Elements of a row that the fullest of n units side by side holds; lanes behind the last of them hold no feature.

    If the heads of d features have scores (else `heads` is 0), a unit holds whole heads. Integers, or arrays of them.
    """
    words = row_words(features, heads, d) // n
    whole = (words - ceil_div(d, LANES)) * LANES + d
    return np.where(heads > 0, whole, dense_elements(features, n))


class Words(NamedTuple):
    """Words of a unit that a graph takes: of H, of Z with everything in the same memory, and of partial sums."""

    results: int
    own: int
    partial: int = 0


def smallest_engine(
    source: ArrayNetwork, plans: tuple[LayerPlan, ...], words: Words, arrangement: Arrangement
) -> Engine:
    """The smallest engine that runs plans on a graph that takes so many words.

    Depths are rounded up where that costs no further block RAM; with `whole`, to powers of two.
    """
    modes = tuple(dict.fromkeys(mode for plan in plans for mode in (plan.combine, plan.aggregate)))
    shifts = {shift for plan in plans for shift in layer_shifts(plan.layer)}
    whole, shared, beat_bits = arrangement.whole, arrangement.shared, arrangement.beat_bits
    return Engine(
        units=modes[0].units,
        bits=widest(source),
        modes=modes,
        tiles=max(max(plan.tiles, plan.write_tiles) for plan in plans),
        table_words=int(table_depth(loaded_words(plans) + words.results, beat_bits, whole, shared)),
        own_words=int(own_depth(words.own, whole)),
        bias_words=sum(plan.row_tiles for plan in plans),
        activation_words=table_words(plans),
        shifts=tuple(sorted(shifts)),
        maximum=any(plan.layer.maximum or plan.attends for plan in plans),
        sum_bits=sum_bits(source),
        programme=int(programme_depth(most_descriptors(plans))),
        beat_bits=beat_bits,
        results=arrangement.results,
        softmax=softmax_of(source),
        partial_words=int(partial_depth(words.partial)),
        shared=shared,
        finished=arrangement.finished,
        paired=arrangement.paired,
    )


def layer_shifts(layer: ArrayLayer) -> tuple[int, ...]:
    """The right shifts of a layer: of its combination and aggregation, and of scores and of the largest of them."""
    attention = (layer.query_shift, 0) if layer.attends else ()
    dot = (layer.dot_shift,) if layer.dot else ()
    return (*layer.linear_shifts, layer.aggregate_shift, *attention, *dot)


def most_descriptors(plans: Sequence[LayerPlan]) -> int:
    """Descriptors of a programme at most: an activation table may be missing."""
    vectors = any(plan.attends for plan in plans)
    return LOADS + vectors + sum(
        int(descriptors(plan.passes, score_steps(plan.layer), plan.slices, plan.products, plan.blocks))
        for plan in plans
    )


def score_steps(layer: ArrayLayer) -> int:
    """Descriptors between a combination and its aggregation: the scores and the largest of them, where nodes have none
    also the queries."""
    return 0 if layer.scoring is None else 2 + layer.dot


def descriptors(passes: Any, steps: Any = 0, slices: Any = 1, products: Any = 1, blocks: Any = 1) -> Any:
    """Descriptors of a layer: of every pass a combination for each slice, one more, and `score_steps`; a load before
    every slice but the first; for every further block a combination and an aggregation; and a combination more for each
    further product.

    Integers, or arrays of them.
    """
    return (2 * slices + 2 * blocks - 2 + steps + products) * passes - 1


def programme_depth(steps: Any) -> Any:
    """Descriptors that a kernel holds for so many. Integers, or arrays of them."""
    return np.maximum(LEAST_PROGRAMME, next_power_of_two(steps))


def table_depth(words: Any, beat_bits: int, whole: Any = False, shared: Any = 1) -> Any:
    """Words of a table that holds so many for `shared` units, in whole block RAMs; `whole`, as many as a power of two.

    A memory of 2^b words is built from narrow, deep block RAMs side by side. Any other has a multiplexer of LUTs behind
    the block RAMs, whose depths add up. Integers, or arrays of them.
    """
    step = copy_banks(beat_bits, shared) * BLOCK_WORDS
    steps = ceil_div(words, step)
    return np.where(whole, next_power_of_two(steps), steps) * step


def own_depth(words: Any, whole: Any = False) -> Any:
    """Words of a unit's own rows: LUTRAM, or whole block RAMs, `whole` as of `table_depth`. Integers, or arrays of
    them."""
    steps = ceil_div(words, BLOCK_WORDS)
    blocks = np.where(whole, next_power_of_two(steps), steps) * BLOCK_WORDS
    return built_rows(words, blocks)


def partial_depth(words: Any) -> Any:
    """Words of a unit's partial sums: none, LUTRAM, or whole block RAMs. Integers, or arrays of them."""
    return np.where(np.asarray(words) > 0, own_depth(words), 0)
