"""Tile counts, widths and memory shapes of every layer: the arithmetic that lowering and pricing share.

Each field is an int64 array over designs; a single design is an array of length one. Nothing else in the
package works these facts out again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from fgnas.design import Activation
from fgnas.space import Columns
from fgnas.tasks.nodes import GraphData

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Record = TypeVar("Record", bound="DataclassInstance")

COEFFICIENT_FRACTION_BITS = 8
"""A coefficient is an integer of 0 to 256 that stands for 0 to 1."""
COEFFICIENT_BITS = 9
LOGIT_EXTRA_BITS = 4
"""Fraction bits that logits have beyond their layer's, so that they do not tie."""
LOGIT_BITS = 16
BUFFER_WORDS = 64
"""Words of LUTRAM that a row buffer fills before it holds fewer rows."""
BUFFER_ROWS = (32, 8)
MAX_BUFFER_ROWS = 32
MIN_BUFFER_ROWS = 2
ACTIVATION_NAMES: tuple[str, ...] = get_args(Activation)


@dataclass(frozen=True)
class GraphShape:
    """What of a dataset is built into hardware: exact widths, and capacities of what may vary at run time."""

    width_in: int
    classes: int
    node_capacity: int
    degree_capacity: int

    @classmethod
    def of(cls, data: GraphData) -> GraphShape:
        """Capacity of nodes: rounded up to 1,024; of |S(i)|: to the next power of two."""
        largest = int(data.degrees.max()) if data.nodes else 1
        return cls(
            width_in=data.width_in,
            classes=data.classes,
            node_capacity=max(1, ceil_div(data.nodes, 1024)) * 1024,
            degree_capacity=1 << max(1, (largest - 1).bit_length()),
        )


def ceil_div(numerator: Any, denominator: Any) -> Any:
    """Ceiling of a quotient of integers or integer arrays."""
    return -(-numerator // denominator)


def ceil_log2(values: Any) -> Ints:
    """ceil(log2(v)) for integers v >= 1, exact; 0 for 1."""
    _, exponent = np.frexp(np.asarray(values, np.int64) - 1)
    return np.where(np.asarray(values) <= 1, 0, exponent).astype(np.int64)


def buffer_rows(words: Any) -> Ints:
    """Rows that a buffer of `words` words a row holds: 32, 8 or 2, the most that fit in 64 words of LUTRAM.

    Three sizes and no more, so that pricing finds many designs with equal buffers to work out side by side.
    """
    words = np.asarray(words)
    fits = [words * rows <= BUFFER_WORDS for rows in BUFFER_ROWS]
    return np.select(fits, BUFFER_ROWS, MIN_BUFFER_ROWS).astype(np.int64)


@dataclass(frozen=True)
class LayerGeometry:
    """One layer's hardware, over designs. Widths in bits, lanes and tiles as counts.

    Attributes:
        first, last: position of the layer (plain booleans).
        gcn, gat, mean, maximum: what attention and aggregation were chosen.
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
        activation: index in ACTIVATION_NAMES; -1 in the last layer.
        linear_bits, score_bits, aggregate_bits, y_bits: widths of the accumulators and of Y.
        exponent_bits: width of 5 LeakyReLU(s + r).
        class_lanes: classes that the head mean finishes in a cycle (last layer; else 0).
        class_tiles: tiles of `class_lanes` classes that hold all classes (last layer; else 0).
        head_tiles: tiles that add up to one tile of classes (last layer; else 0).
        logit_beats: 16-byte beats of a node's logits (last layer; else 0).
    """

    first: bool
    last: bool
    gcn: Bools
    gat: Bools
    mean: Bools
    maximum: Bools
    k: Ints
    d: Ints
    d_padded: Ints
    features: Ints
    group_heads: Ints
    head_groups: Ints
    group_tiles: Ints
    input_width: Ints
    t_in: Ints
    t_out: Ints
    t_attn: Ints
    t_aggr: Ints
    t_act: Ints
    out_tiles: Ints
    in_groups: Ints
    score_tiles: Ints
    aggr_tiles: Ints
    act_tiles: Ints
    h_lanes: Ints
    h_words: Ints
    aggr_buffer_lanes: Ints
    act_buffer_lanes: Ints
    store_rows: Ints
    aggr_rows: Ints
    act_rows: Ints
    score_rows: Ints
    maximum_rows: Ints
    input_bits: Ints
    value_bits: Ints
    weight_bits: Ints
    input_fraction: Ints
    value_fraction: Ints
    weight_fraction: Ints
    activation: Ints
    linear_bits: Ints
    score_bits: Ints
    exponent_bits: Ints
    aggregate_bits: Ints
    y_bits: Ints
    class_lanes: Ints
    class_tiles: Ints
    head_tiles: Ints
    logit_beats: Ints


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
    k, t_in, t_out, t_attn, t_aggr, t_act = (
        here[name].astype(np.int64) for name in ("k", "t_in", "t_out", "t_attn", "t_aggr", "t_act")
    )
    zero = np.zeros_like(k)
    d = np.full_like(k, shape.classes) if last else here["d"].astype(np.int64)
    gcn, gat = here["attention"] == "gcn", here["attention"] == "gat"
    d_padded = np.where(gat, _padded(d, t_aggr), d)
    features = k * d_padded
    group_heads = np.where(gat, np.minimum(k, np.maximum(1, t_aggr // d_padded)), 1)
    head_groups = k // group_heads
    aggr_tiles = ceil_div(features, t_aggr)
    mean, maximum = here["aggregation"] == "mean", here["aggregation"] == "max"
    value_bits = (here["ai"] + here["af"] + 1).astype(np.int64)
    weight_bits = (here["wi"] + here["wf"] + 1).astype(np.int64)
    input_width = np.full_like(k, shape.width_in) if previous is None else previous.features
    input_bits = value_bits if previous is None else previous.value_bits

    h_lanes = next_power_of_two(np.maximum(t_out, t_aggr))
    h_words = ceil_div(features, h_lanes)
    act_tiles = zero if last else ceil_div(features, np.maximum(t_act, 1))
    # Behind the aggregation stands the head mean, with its lanes, in the last layer, else the activation.
    aggr_buffer_lanes = t_aggr if last else next_power_of_two(np.maximum(t_aggr, t_act))
    act_buffer_lanes = zero if following_t_in is None else next_power_of_two(np.maximum(t_act, following_t_in))
    act_words = ceil_div(features, np.maximum(act_buffer_lanes, 1))

    degree_bits = int(ceil_log2(shape.degree_capacity))
    product_bits = value_bits + np.where(gcn | gat, COEFFICIENT_BITS, 0)
    extra = LOGIT_EXTRA_BITS if last else 0
    # Class-major rows hold a class's heads side by side; gat rows hold a head's classes side by side.
    class_lanes = np.where(gat, np.minimum(t_aggr, d_padded), np.maximum(1, t_aggr // k)) if last else zero
    return LayerGeometry(
        first=previous is None,
        last=last,
        gcn=gcn,
        gat=gat,
        mean=mean,
        maximum=maximum,
        k=k,
        d=d,
        d_padded=d_padded,
        features=features,
        group_heads=group_heads,
        head_groups=head_groups,
        group_tiles=aggr_tiles // np.where(gat, head_groups, 1),
        input_width=input_width,
        t_in=t_in,
        t_out=t_out,
        t_attn=t_attn,
        t_aggr=t_aggr,
        t_act=t_act,
        out_tiles=ceil_div(features, t_out),
        in_groups=ceil_div(input_width, t_in),
        score_tiles=np.where(gat, ceil_div(d, np.maximum(t_attn, 1)), 0),
        aggr_tiles=aggr_tiles,
        act_tiles=act_tiles,
        h_lanes=h_lanes,
        h_words=h_words,
        aggr_buffer_lanes=aggr_buffer_lanes,
        act_buffer_lanes=act_buffer_lanes,
        store_rows=buffer_rows(h_words),
        aggr_rows=buffer_rows(ceil_div(features, aggr_buffer_lanes)),
        act_rows=zero if last else buffer_rows(act_words),
        score_rows=buffer_rows(ceil_div(features, next_power_of_two(np.maximum(t_out, t_attn)))),
        maximum_rows=buffer_rows(head_groups),
        input_bits=input_bits,
        value_bits=value_bits,
        weight_bits=weight_bits,
        input_fraction=here["af"] if previous is None else previous.value_fraction,
        value_fraction=here["af"],
        weight_fraction=here["wf"],
        activation=_activation(here["activation"]),
        linear_bits=input_bits + weight_bits + ceil_log2(input_width) + 1,
        score_bits=value_bits + weight_bits + ceil_log2(d) + 1,
        exponent_bits=value_bits + 4,
        aggregate_bits=product_bits + np.where(maximum, 0, degree_bits + 1),
        y_bits=value_bits + extra + np.where(mean | maximum | gat, 0, degree_bits),
        class_lanes=class_lanes,
        class_tiles=ceil_div(np.full_like(k, shape.classes), np.maximum(class_lanes, 1)) if last else zero,
        head_tiles=np.where(gat, head_groups, np.maximum(1, k // t_aggr)) if last else zero,
        logit_beats=np.full_like(k, ceil_div(shape.classes, 8)) if last else zero,
    )


def _activation(names: NDArray[np.str_]) -> Ints:
    """Names as indices, "" as -1."""
    index = np.full(len(names), -1)
    for number, name in enumerate(ACTIVATION_NAMES):
        index[names == name] = number
    return index


def _padded(d: Ints, t_aggr: Ints) -> Ints:
    """d in whole tiles where a head fills one; else as much as leaves t_aggr a whole number of heads."""
    return np.where(d >= t_aggr, ceil_div(d, t_aggr) * t_aggr, next_power_of_two(d))


def next_power_of_two(values: Ints) -> Ints:
    """The smallest power of two that is at least v, for v >= 1."""
    return np.left_shift(1, ceil_log2(values))
