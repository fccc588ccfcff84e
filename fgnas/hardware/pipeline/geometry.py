"""Tile counts, widths and memory shapes of every layer: the arithmetic that lowering and pricing share.

A geometry holds arrays over designs while thousands of designs are priced, and integers once one design is lowered.
Nothing else in the package works these facts out again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from fgnas.activations import NAMES
from fgnas.design import PIPELINE_BITS
from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.numbers import Bools, Ints, ceil_div, ceil_log2, next_power_of_two
from fgnas.hardware.shape import GraphShape
from fgnas.space import Columns

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Record = TypeVar("Record", bound="DataclassInstance")
Number = TypeVar("Number")
Flag = TypeVar("Flag")

EXPONENT_EXTRA_BITS = 4
"""Bits that 5 LeakyReLU(s + r) has beyond a value: three for the factor, one for the sum."""
BUFFER_WORDS = 64
"""Words of LUTRAM that a row buffer fills before it holds fewer rows."""
BUFFER_ROWS = (32, 8)
MIN_BUFFER_ROWS = 2


def buffer_rows(words: Any) -> Ints:
    """Rows that a buffer of `words` words a row holds: 32, 8 or 2, the most that fit in 64 words of LUTRAM.

    Three sizes and no more, so that pricing finds many designs with equal buffers to work out side by side.
    """
    words = np.asarray(words)
    fits = [words * rows <= BUFFER_WORDS for rows in BUFFER_ROWS]
    return np.select(fits, BUFFER_ROWS, MIN_BUFFER_ROWS).astype(np.int64)


@dataclass(frozen=True)
class LayerGeometry(Generic[Number, Flag]):
    """A layer's hardware, of many designs ([n] arrays) or of one (integers). Widths in bits, lanes and tiles as counts.

    Attributes:
        first, last: position of the layer (plain booleans).
        gcn, gat, mean, maximum: the chosen attention (neither: constant) and aggregation (neither: sum). `gat` are all
            attentions with scores, but those of the multiplier array alone have no t_attn.
        k, d: heads and features a head (classes in the last layer).
        d_padded: d, rounded up under gat so that a tile of t_aggr lanes holds whole heads or a part of one.
        features: k * d_padded, the width of H.
        group_heads: heads that an issue of the gat aggregation works on; 1 without gat.
        head_groups: k / group_heads.
        group_tiles: tiles of a group of heads; aggr_tiles / head_groups.
        input_width: features that the linear stage reads.
        t_in, t_out, t_attn, t_aggr, t_act: lanes; t_act is 0 in the last layer, t_attn without gat.
        out_tiles: ceil(features / t_out), tiles of the linear stage.
        in_groups: ceil(input_width / t_in), groups of a dense input.
        score_tiles: ceil(d / t_attn), tiles of a head's score; 0 without gat.
        aggr_tiles: ceil(features / t_aggr).
        act_tiles: ceil(features / t_act), 0 in the last layer.
        h_lanes, h_words: features in a word of the H memory, and words in a row of it.
        aggr_buffer_lanes, act_buffer_lanes: features in a word of the row buffer behind that stage.
        store_rows, aggr_rows, act_rows: rows that the buffers behind linear, aggregate and activate hold.
        score_rows, maximum_rows: rows that the buffers before the scores and behind the row maximum hold (gat).
        input_bits, value_bits, weight_bits: widths of the linear stage's input, of H, of W.
        input_fraction, value_fraction, weight_fraction: their fraction bits, before any scale that training chose.
        activation: index in `fgnas.activations.NAMES`; -1 in the last layer.
        linear_bits, score_bits, aggregate_bits, y_bits: widths of the accumulators and of Y.
        exponent_bits: width of 5 LeakyReLU(s + r).
        class_lanes: classes that the head mean finishes in a cycle (last layer; else 0).
        class_tiles: tiles of `class_lanes` classes that hold all classes (last layer; else 0).
        head_tiles: tiles that add up to one tile of classes (last layer; else 0).
        logit_beats: 16-byte beats of a node's logits (last layer; else 0).
    """

    first: bool
    last: bool
    gcn: Flag
    gat: Flag
    mean: Flag
    maximum: Flag
    k: Number
    d: Number
    d_padded: Number
    features: Number
    group_heads: Number
    head_groups: Number
    group_tiles: Number
    input_width: Number
    t_in: Number
    t_out: Number
    t_attn: Number
    t_aggr: Number
    t_act: Number
    out_tiles: Number
    in_groups: Number
    score_tiles: Number
    aggr_tiles: Number
    act_tiles: Number
    h_lanes: Number
    h_words: Number
    aggr_buffer_lanes: Number
    act_buffer_lanes: Number
    store_rows: Number
    aggr_rows: Number
    act_rows: Number
    score_rows: Number
    maximum_rows: Number
    input_bits: Number
    value_bits: Number
    weight_bits: Number
    input_fraction: Number
    value_fraction: Number
    weight_fraction: Number
    activation: Number
    linear_bits: Number
    score_bits: Number
    exponent_bits: Number
    aggregate_bits: Number
    y_bits: Number
    class_lanes: Number
    class_tiles: Number
    head_tiles: Number
    logit_beats: Number


ManyDesigns = LayerGeometry[Ints, Bools]
OneDesign = LayerGeometry[int, bool]


def of_one_design(layer: ManyDesigns, index: int = 0) -> OneDesign:
    """The geometry of one of n designs, as integers."""
    return OneDesign(**{
        name: value[index].item() if isinstance(value, np.ndarray) else value for name, value in vars(layer).items()
    })


def over_designs(layer: LayerGeometry) -> ManyDesigns:
    """The geometry as arrays: arrays as they are, integers as arrays of length one."""
    arrays = {name: np.atleast_1d(value) for name, value in vars(layer).items() if name not in ("first", "last")}
    return ManyDesigns(first=layer.first, last=layer.last, **arrays)


def part(record: Record, place: slice | Bools) -> Record:
    """The chosen designs of a dataclass of arrays over designs."""
    arrays = {name: values[place] for name, values in vars(record).items() if isinstance(values, np.ndarray)}
    return replace(record, **arrays)


def geometry(columns: Columns, shape: GraphShape) -> list[LayerGeometry]:
    """The geometry of every layer of n designs."""
    layers = len(columns["t_in"])
    result: list[LayerGeometry] = []
    for index in range(layers):
        here = {name: values[index] for name, values in columns.items()}
        following_t_in = columns["t_in"][index + 1] if index + 1 < layers else None
        previous = result[-1] if result else None
        result.append(_layer(here, following_t_in, previous, index == layers - 1, shape))
    return result


def _layer(
    here: dict[str, NDArray[Any]],
    following_t_in: Ints | None,
    previous: LayerGeometry | None,
    last: bool,
    shape: GraphShape,
) -> LayerGeometry:
    sizes = _sizes(here, previous, last, shape)
    layer = SimpleNamespace(**sizes)
    tiles = _tile_counts(layer)
    return ManyDesigns(
        **sizes, **tiles, **_widths(here, layer, previous, shape), **_buffers(layer, following_t_in, tiles),
        activation=_activation(here["activation"]),
        head_tiles=np.where(layer.gat, tiles["head_groups"], np.maximum(1, layer.k // layer.t_aggr)) if last
        else np.zeros_like(layer.k),
    )  # fmt: skip


def _sizes(
    here: dict[str, NDArray[Any]], previous: LayerGeometry | None, last: bool, shape: GraphShape
) -> dict[str, Any]:
    """The fields that a layer's choices and its place give, lanes among them."""
    k, t_in, t_out, t_attn, t_aggr, t_act = (
        here[name].astype(np.int64) for name in ("k", "t_in", "t_out", "t_attn", "t_aggr", "t_act")
    )
    d = np.full_like(k, shape.classes) if last else here["d"].astype(np.int64)
    gcn, gat = here["attention"] == "gcn", here["attention"] != "constant"
    gat &= ~gcn
    d_padded = np.where(gat, _padded(d, t_aggr), d)
    # Class-major rows hold a class's heads side by side; gat rows hold a head's classes side by side.
    classes = np.where(gat, np.minimum(t_aggr, d_padded), np.maximum(1, t_aggr // k))
    return {
        "first": previous is None,
        "last": last,
        "gcn": gcn,
        "gat": gat,
        "mean": here["aggregation"] == "mean",
        "maximum": here["aggregation"] == "max",
        "k": k,
        "d": d,
        "d_padded": d_padded,
        "features": k * d_padded,
        "group_heads": np.where(gat, np.minimum(k, np.maximum(1, t_aggr // d_padded)), 1),
        "input_width": np.full_like(k, shape.width_in) if previous is None else previous.features,
        "t_in": t_in,
        "t_out": t_out,
        "t_attn": t_attn,
        "t_aggr": t_aggr,
        "t_act": t_act,
        "h_lanes": next_power_of_two(np.maximum(t_out, t_aggr)),
        "class_lanes": classes if last else np.zeros_like(k),
    }


def _widths(
    here: dict[str, NDArray[Any]], layer: Any, previous: LayerGeometry | None, shape: GraphShape
) -> dict[str, Any]:
    """The widths of a layer's numbers, whose sizes are known."""
    value_bits = (here["ai"] + here["af"] + 1).astype(np.int64)
    weight_bits = (here["wi"] + here["wf"] + 1).astype(np.int64)
    input_bits = value_bits if previous is None else previous.value_bits
    degree_bits = int(ceil_log2(shape.degree_capacity))
    product_bits = value_bits + np.where(layer.gcn | layer.gat, wire.COEFFICIENT_BITS, 0)
    extra = wire.LOGIT_EXTRA_BITS if layer.last else 0
    return {
        "input_bits": input_bits,
        "value_bits": value_bits,
        "weight_bits": weight_bits,
        "input_fraction": here["af"] if previous is None else previous.value_fraction,
        "value_fraction": here["af"],
        "weight_fraction": here["wf"],
        "linear_bits": input_bits + weight_bits + ceil_log2(layer.input_width) + 1,
        "score_bits": value_bits + weight_bits + ceil_log2(layer.d) + 1,
        "exponent_bits": value_bits + EXPONENT_EXTRA_BITS,
        "aggregate_bits": product_bits + np.where(layer.maximum, 0, degree_bits + 1),
        "y_bits": value_bits + extra + np.where(layer.mean | layer.maximum | layer.gat, 0, degree_bits),
    }


def _buffers(layer: Any, following_t_in: Ints | None, tiles: dict[str, Any]) -> dict[str, Any]:
    """The lanes and rows of a layer's row buffers, whose sizes and counts are known."""
    zero, features = np.zeros_like(layer.k), layer.features
    # The aggregation is followed by the head mean, with its lanes, in the last layer, else by the activation.
    aggr_lanes = layer.t_aggr if layer.last else next_power_of_two(np.maximum(layer.t_aggr, layer.t_act))
    act_lanes = zero if following_t_in is None else next_power_of_two(np.maximum(layer.t_act, following_t_in))
    act_words = ceil_div(features, np.maximum(act_lanes, 1))
    return {
        "aggr_buffer_lanes": aggr_lanes,
        "act_buffer_lanes": act_lanes,
        "store_rows": buffer_rows(tiles["h_words"]),
        "aggr_rows": buffer_rows(ceil_div(features, aggr_lanes)),
        "act_rows": zero if layer.last else buffer_rows(act_words),
        "score_rows": buffer_rows(ceil_div(features, next_power_of_two(np.maximum(layer.t_out, layer.t_attn)))),
        "maximum_rows": buffer_rows(tiles["head_groups"]),
    }


def _tile_counts(layer: Any) -> dict[str, Any]:
    """The counts of tiles, groups and words that follow from the fields of `_sizes`, of many designs or of one."""
    zero = np.zeros_like(layer.k)
    head_groups, aggr_tiles = layer.k // layer.group_heads, ceil_div(layer.features, layer.t_aggr)
    return {
        "head_groups": head_groups,
        "group_tiles": aggr_tiles // np.where(layer.gat, head_groups, 1),
        "out_tiles": ceil_div(layer.features, layer.t_out),
        "in_groups": ceil_div(layer.input_width, layer.t_in),
        "score_tiles": np.where(layer.gat, ceil_div(layer.d, np.maximum(layer.t_attn, 1)), 0),
        "aggr_tiles": aggr_tiles,
        "act_tiles": zero if layer.last else ceil_div(layer.features, np.maximum(layer.t_act, 1)),
        "h_words": ceil_div(layer.features, layer.h_lanes),
        "class_tiles": ceil_div(layer.d, np.maximum(layer.class_lanes, 1)) if layer.last else zero,
        "logit_beats": ceil_div(layer.d, wire.BEAT_WORDS) if layer.last else zero,
    }


def check(layer: OneDesign) -> None:
    """Raise ValueError where counts of tiles contradict shape and lanes, or where lanes or rows cannot be built."""
    for name, expected in _tile_counts(layer).items():
        if getattr(layer, name) != expected:
            raise ValueError(f"{name} is {getattr(layer, name)}, but the layer's shape and lanes make it {expected}")
    if layer.features != layer.k * layer.d_padded:
        raise ValueError(f"features is {layer.features}, but {layer.k} heads have {layer.d_padded} each")
    if layer.h_lanes % layer.t_aggr:
        raise ValueError(f"a word of H has {layer.h_lanes} lanes, which is no multiple of t_aggr = {layer.t_aggr}")
    for name in ("store_rows", "aggr_rows", "act_rows", "score_rows", "maximum_rows"):
        if getattr(layer, name) < (0 if layer.last and name == "act_rows" else 1):
            raise ValueError(f"{name} is {getattr(layer, name)}: a row buffer holds a row at least")


def reshaped(layer: OneDesign, **changes: Any) -> OneDesign:
    """A layer's geometry with other fields, its counts of tiles computed again."""
    changed = replace(layer, **changes)
    whole: dict[str, Any] = {name: int(count) for name, count in _tile_counts(changed).items()}
    return replace(changed, **whole)


NO_SCORES = (
    "the pipeline runs no scores but gat's; the multiplier array runs the others: give the design an array, or write "
    "it with --target array"
)


NO_MLP = (
    "the pipeline runs no second product, which aggregation mlp has; the multiplier array does: give the design an "
    "array, or write it with --target array"
)


GATHERS = (
    "the pipeline multiplies first, and a layer has order gather-first; the multiplier array gathers first, too: give "
    "the design an array, or write it with --target array"
)


TOO_WIDE = (
    f"the pipeline carries features and weights in {PIPELINE_BITS} bits; the multiplier array has wider numbers: give "
    f"the design an array, or write it with --target array"
)


def check_scores(layers: Sequence[LayerGeometry]) -> None:
    """Raise UserError for scores that the pipeline does not run."""
    if any(np.any(layer.gat & (layer.t_attn == 0)) for layer in layers):
        raise UserError(NO_SCORES)


def check_widths(layers: Sequence[LayerGeometry]) -> None:
    """Raise UserError for numbers that the pipeline does not carry."""
    if any(np.any(np.maximum(layer.value_bits, layer.weight_bits) > PIPELINE_BITS) for layer in layers):
        raise UserError(TOO_WIDE)


def weight_beats(layer: LayerGeometry) -> Any:
    """Beats of the parameter region that hold a layer's weights, by WEIGHT_WORDS memory words a beat."""
    if layer.first:
        return ceil_div(layer.input_width * layer.out_tiles, wire.WEIGHT_WORDS)
    return layer.in_groups * layer.out_tiles * ceil_div(layer.t_in, wire.WEIGHT_WORDS)


def score_beats(layer: LayerGeometry) -> Any:
    """Beats of the parameter region that hold a layer's attention vectors; 0 without gat."""
    return 2 * layer.k * layer.score_tiles


def bias_beats(layer: LayerGeometry) -> Any:
    """Beats of the parameter region that hold a layer's biases."""
    return layer.class_tiles if layer.last else layer.act_tiles


def _activation(names: NDArray[np.str_]) -> Ints:
    """Names as indices, "" as -1."""
    index = np.full(len(names), -1)
    for number, name in enumerate(NAMES):
        index[names == name] = number
    return index


def _padded(d: Ints, t_aggr: Ints) -> Ints:
    """d in whole tiles where a head fills one; else as much as leaves t_aggr a whole number of heads."""
    return np.where(d >= t_aggr, ceil_div(d, t_aggr) * t_aggr, next_power_of_two(d))


