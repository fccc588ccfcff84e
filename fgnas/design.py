"""The choices of every layer of a network and its accelerator; JSON in and out, with a schema version and a hash."""

from __future__ import annotations

import functools
import hashlib
import json
import operator
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from operator import itemgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

import fgnas.array_sizes as array_sizes
from fgnas.activations import Activation
from fgnas.errors import UserError
from fgnas.files import canonical_json
from fgnas.fixedpoint import FixedPoint
from fgnas.space import Columns

SCHEMA = 1
MOST_LAYERS = 8
MOST_TOLD = 24
"""Limit of the faults of a design in one message: a file with more is not a design."""

Attention = Literal["constant", "gcn", "gat", "linear", "gat-sym", "cos", "gene-linear", "gatv2"]
Aggregation = Literal["add", "mean", "max", "mlp"]
Order = Literal["gather-first"]

ARCHITECTURE_FIELDS = ("d", "attention", "aggregation", "k", "activation")
FORMAT_FIELDS = ("ai", "af", "wi", "wf")

VECTORS = {"gat": 2, "linear": 1, "gat-sym": 2, "cos": 1, "gene-linear": 3, "gatv2": 3}
"""Attentions whose messages are weighted by a softmax over scores, and how many vectors of weights each has: that of
the sending node, that of the receiving one, then the factors of functions of both.

gat is PyG's GATConv, and gatv2 its GATv2Conv (Brody et al., 2022) whose two matrices are one but for a factor of each
feature, the vectors of the two nodes; with ones they are its share_weights. The others are GraphNAS's
(`GeoLayer.apply_attention` in its pyg_gnn_layer.py, as in G-CoS, Table II); both vectors of linear multiply the sending
node, so that they are one, their sum. Those of cos multiply the same products of two nodes' features, so that they are
one, their product. gene-linear's factors are GraphNAS's `general_att_layer`, which its heads share.
"""

DOT = "cos"
"""The attention whose scores are products of two nodes' features."""
PAIRS = ("gene-linear", "gatv2")
"""Attentions whose scores are sums of a function of two nodes' features, each with its own function."""
BOUNDED = ("gene-linear",)
"""Attentions of PAIRS whose function has values from -1 to 1; results of the others have their argument's format."""
GATV2_SLOPE = 0.25
"""Slope of gatv2's LeakyReLU below zero: a shift by two bits. GATv2Conv has 0.2 unless it is told another."""
OF_EDGES = (DOT, *PAIRS)
"""Attentions whose edges have scores of their own; those of the others are made of scores of nodes."""
OF_NODES = tuple(name for name in VECTORS if name not in OF_EDGES)

MLP = "mlp"
"""The aggregation whose sums pass a second product: act(relu(sum + b) W2 + b2). W before the sum, relu and W2 are the
MLP of two layers of GIN (Xu et al., 2019), the aggregation that G-CoS names, with its epsilon of 0.

GraphNAS's own `mlp` is another function: every message passes two products without an activation between them, which
are no more than one product.
"""

GATHER_FIRST = "gather-first"
"""The order (A X) W of a layer: P = RNE(A X) in a format of its own, then P W. Without it a layer is A (X W).

Heads that are averaged share P, so that such a layer has one: the mean of their weights, which is rounded once.
"""

NOT_LINEAR = ("max", MLP)
"""Aggregations that do not commute with the weights."""
LAST_ABSENT = ("d", "activation", "t_act")
"""Choices that are None in the last layer, and only there."""
TEXT_FIELDS = ("attention", "aggregation", "activation", "order")
"""Choices of a layer that are words; the others are numbers."""

MOST_BITS = array_sizes.MOST_BITS
"""Bits of the widest features and weights of an array."""
PIPELINE_BITS = 10
"""Bits of the widest features and weights of a pipeline."""
TABLE_BITS = 10
"""Bits of the widest number that looks up a table: the argument of an activation, or a score."""

Rule = tuple[str, Callable[[Any], Any]]
"""A message, and whether choices break the rule: true or false of one design, an array of them for columns of many.

Rules read choices as attributes: a number that is absent is 0, an absent word "". One design and a table of thousands
run the same lists, so that each rule is written once. A message may name choices in braces, since it is one design's.
"""


def any_of(found: Any) -> bool:
    """Whether a truth value is true, or one of a column of them."""
    return bool(found.any() if isinstance(found, np.ndarray) else found)


def is_one_of(choice: Any, words: Iterable[str]) -> Any:
    """Whether a word is one of these; of a column, which of its words are."""
    return functools.reduce(operator.or_, (choice == word for word in words))


def _too_wide_for_scores(layer: Any) -> Any:
    wide = layer.ai + layer.af >= TABLE_BITS
    return wide & is_one_of(layer.attention, VECTORS) if any_of(wide) else wide  # few layers are: words take long


def _gathers_what_does_not_commute(layer: Any) -> Any:
    first = layer.order != ""
    if not any_of(first):
        return first
    return first & (is_one_of(layer.attention, VECTORS) | is_one_of(layer.aggregation, NOT_LINEAR))


LAYER_RULES: tuple[Rule, ...] = (
    ("t_aggr must be 1, 2, 4 or 8", lambda layer: layer.t_aggr & (layer.t_aggr - 1)),
    ("k must be a power of two, so that the mean over heads is a shift", lambda layer: layer.k & (layer.k - 1)),
    (
        f"ai + af must be 1 to {MOST_BITS - 1}: an array carries features and weights in {MOST_BITS} bits",
        lambda layer: (layer.ai + layer.af < 1) | (layer.ai + layer.af >= MOST_BITS),
    ),
    (
        f"wi + wf must be 1 to {MOST_BITS - 1}: an array carries features and weights in {MOST_BITS} bits",
        lambda layer: (layer.wi + layer.wf < 1) | (layer.wi + layer.wf >= MOST_BITS),
    ),
    (
        "t_out * (wi + wf + 1) must be at most 64: two such words of weights share a beat",
        lambda layer: layer.t_out * (layer.wi + layer.wf + 1) > 64,
    ),
    (
        "t_attn is required with attention gat and not allowed otherwise",
        lambda layer: (layer.attention == "gat") != (layer.t_attn != 0),
    ),
    (
        f"ai + af must be 1 to {TABLE_BITS - 1} with attention {{attention}}: scores look up tables",
        _too_wide_for_scores,
    ),
    (
        "order gather-first is for attention constant or gcn with aggregation add or mean: only such sums commute with "
        "the weights",
        _gathers_what_does_not_commute,
    ),
)
"""Rules between the choices of a layer."""


def absent(name: str) -> Any:
    """The value that replaces None in rules and in columns: an empty text, or 0."""
    return "" if name in TEXT_FIELDS else 0


def _superfluous(name: str, layer: Any) -> Any:
    return layer.last & (getattr(layer, name) != absent(name))


def _missing(name: str, layer: Any) -> Any:
    return (not layer.last) & (getattr(layer, name) == absent(name))


PLACE_RULES: tuple[Rule, ...] = tuple(
    rule for name in LAST_ABSENT for rule in (
        (f"layer {{index}}: {name} has no effect in the last layer: leave it null", partial(_superfluous, name)),
        (f"layer {{index}}: {name} is missing", partial(_missing, name)),
    )
) + (
    (
        "layer 0: order gather-first is for further layers: X of the first is sparse and wide",
        lambda layer: layer.index == 0 and any_of(layer.order != ""),
    ),
)  # fmt: skip
"""Rules of a layer in its place: beside its choices it has its `index`, and whether it is the `last`."""

DESIGN_RULES: tuple[Rule, ...] = (
    (
        "array: columns needs {hidden} numbers, one for each hidden layer",
        lambda design: design.array is not None and len(design.array.columns) != design.hidden,
    ),
    (
        "sampling needs {depth} shares of the edges above 0 and up to 1, one a layer",
        lambda design: bool(design.sampling)
        and (len(design.sampling) != design.depth or not all(0 < rate <= 1 for rate in design.sampling)),
    ),
    (
        "sampling: every layer keeps every edge: leave it out",
        lambda design: set(design.sampling) == {1.0},
    ),
)
"""Rules of a design: `layers`, their number `depth`, the `hidden` ones among them, `dsp`, `array` or None, and
`sampling`, empty where every layer keeps all edges."""


def first_broken(rules: Iterable[Rule], choices: Any) -> str | None:
    """The message of the first rule that choices break, of one design or in columns of many; None if they keep all."""
    return next((message for message, broken in rules if any_of(broken(choices))), None)


def all_broken(rules: Iterable[Rule], choices: Any) -> list[str]:
    """The messages of every rule that choices of one design break; one that reads a choice that is absent is not
    judged, since that choice has a fault of its own."""
    found = []
    for message, broken in rules:
        with suppress(AttributeError):
            if broken(choices):
                found.append(message.format_map(vars(choices)))
    return found


def first_broken_of_design(choices: Any) -> tuple[str, Any] | None:
    """The message of the first rule beyond those of single layers that designs break, and the choices that break it."""
    for layer in choices.layers:
        if message := first_broken(PLACE_RULES, layer):
            return message, layer
    message = first_broken(DESIGN_RULES, choices)
    return (message, choices) if message else None


def design_choices(layers: Sequence[Any], dsp: Any, array: Any, sampling: Sequence[float]) -> SimpleNamespace:
    """The input of the rules for designs; each of `layers` also has its `index` and `last`."""
    return SimpleNamespace(
        layers=layers, depth=len(layers), hidden=len(layers) - 1, dsp=dsp, array=array, sampling=sampling
    )


class Layer(BaseModel):
    """One layer: structure, parallelism and fixed-point formats (FGNAS paper, Table II).

    A choice without effect is None: d, activation and t_act in the last layer (its d is the number of
    classes), t_attn unless the attention is gat: the pipeline runs no other scores, and the array has no such lanes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    d: int | None = Field(ge=1, le=1024, description="features of each head; None in the last layer")
    attention: Attention = Field(description="coefficient of each message")
    aggregation: Aggregation = Field(description="how a node's messages are combined")
    k: int = Field(ge=1, le=64, description="heads: concatenated in hidden layers, averaged in the last")
    activation: Activation | None = Field(description="None in the last layer")
    t_in: int = Field(ge=1, le=5, description="inputs per cycle of the linear stage")
    t_out: int = Field(ge=1, le=8, description="outputs per cycle of the linear stage")
    t_attn: int | None = Field(ge=1, le=8, description="lanes of the score stage; None unless attention is gat")
    t_aggr: int = Field(ge=1, le=8, description="lanes of the aggregation, a power of two")
    t_act: int | None = Field(ge=1, le=8, description="lanes of the activation; None in the last layer")
    ai: int = Field(ge=0, le=MOST_BITS - 1, description="integer bits of features, without the sign")
    af: int = Field(ge=0, le=MOST_BITS - 1, description="fraction bits of features")
    wi: int = Field(ge=0, le=MOST_BITS - 1, description="integer bits of weights, without the sign")
    wf: int = Field(ge=0, le=MOST_BITS - 1, description="fraction bits of weights")
    order: Order | None = Field(default=None, description="gather-first for (A X) W; None for A (X W)")

    @model_validator(mode="after")
    def _rules(self) -> Self:
        choices = self.choices()
        if message := first_broken(LAYER_RULES, choices):
            raise ValueError(message.format_map(vars(choices)))
        return self

    def choices(self, **place: Any) -> SimpleNamespace:
        """The input of the rules for layers; `place` adds the layer's `index` and `last`."""
        return SimpleNamespace(
            **{name: absent(name) if value is None else value for name, value in vars(self).items()}, **place
        )

    @property
    def attends(self) -> bool:
        """Whether messages are weighted by scores."""
        return self.attention in VECTORS

    @property
    def pipelined(self) -> bool:
        """Whether the pipeline runs the layer: its score stage is for gat alone, it has no second product, its numbers
        have PIPELINE_BITS, and it multiplies first."""
        return self.narrow and (not self.attends or self.t_attn is not None) and not self.mlp and not self.gathers_first

    @property
    def gathers_first(self) -> bool:
        """Whether messages are rows of X, and their sums are multiplied."""
        return self.order is not None

    @property
    def linear(self) -> bool:
        """Whether the aggregation commutes with the weights."""
        return not self.attends and self.aggregation not in NOT_LINEAR

    @property
    def narrow(self) -> bool:
        """Whether the pipeline has numbers of the layer's widths."""
        return max(self.ai + self.af, self.wi + self.wf) < PIPELINE_BITS

    @property
    def mlp(self) -> bool:
        """Whether the sums of messages pass a second product."""
        return self.aggregation == MLP

    @property
    def dot(self) -> bool:
        """Whether every edge has a score of its own, a sum over the features."""
        return self.attention in OF_EDGES

    @property
    def pair(self) -> bool:
        """Whether a score is a sum of functions of two nodes' features."""
        return self.attention in PAIRS

    def value_format(self, scale: int = 0) -> FixedPoint:
        """Format of the layer's features, stored as x * 2**scale."""
        return FixedPoint.of(self.ai, self.af, scale)

    def score_format(self, scale: int = 0) -> FixedPoint:
        """Format of the parts that an edge's score is made of, stored as x * 2**scale: that of the features, where
        edges have scores of their own another."""
        return score_format(self.attention, self.value_format(scale))

    def function_format(self, pair: FixedPoint) -> FixedPoint:
        """Format of the functions of two nodes' features, whose arguments have the format `pair`."""
        return FixedPoint(pair.width, pair.width - 1) if self.attention in BOUNDED else pair

    def weight_format(self, scale: int = 0) -> FixedPoint:
        """Format of the layer's weights, stored as w * 2**scale."""
        return FixedPoint.of(self.wi, self.wf, scale)


def score_format(attention: str, value: FixedPoint) -> FixedPoint:
    """Format of the parts that an edge's score is made of, by that of the features.

    They are products with features, but linear's are 1 + tanh of them, from 0 to 2; cos's and gene-linear's are whole
    scores.
    """
    return FixedPoint(value.width, value.width - 2) if attention == "linear" else value


class Array(BaseModel):
    """A multiplier array for a network: its size, how its units are arranged in each layer, and its memory port."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    units: int = Field(ge=1, le=array_sizes.LARGEST_UNITS, description="units of eight multipliers")
    columns: tuple[int, ...] = Field(strict=False, description="units side by side, for each hidden layer")
    beat_bits: array_sizes.BeatBits = Field(description="width of the memory port")
    results: array_sizes.Results = Field(default=1, description="words of H that go to the tables in a cycle")
    shared: array_sizes.Shared = Field(default=1, description="units that read one table")
    products: array_sizes.Products = Field(default=1, description="products that share a DSP slice")


class Design(BaseModel):
    """A graph neural network and the accelerator that runs it: the result of a search."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    schema_version: int = Field(default=SCHEMA, alias="schema", serialization_alias="schema")
    layers: tuple[Layer, ...] = Field(min_length=1, max_length=MOST_LAYERS, strict=False)
    dsp: int = Field(ge=0, description="DSP slices that the multipliers may use")
    array: Array | None = Field(default=None, description="the multiplier array; None for a pipeline")
    sampling: tuple[float, ...] | None = Field(
        default=None, strict=False, description="share of the edges that each layer keeps; None for all"
    )

    @model_validator(mode="after")
    def _rules(self) -> Self:
        last = len(self.layers) - 1
        layers = [layer.choices(index=index, last=index == last) for index, layer in enumerate(self.layers)]
        broken = first_broken_of_design(design_choices(layers, self.dsp, self.array, self.sampling or ()))
        if broken:
            message, choices = broken
            raise ValueError(message.format_map(vars(choices)))
        return self

    @property
    def rates(self) -> tuple[float, ...]:
        """The share of the edges that each layer keeps."""
        return self.sampling or (1.0,) * len(self.layers)

    def to_dict(self) -> dict[str, Any]:
        """The design as plain JSON values; `array`, `sampling` and the `order` of a layer only where there is one, an
        array's `SINGLE` sizes where they are not 1."""
        plain = {place: {"order"} for place, layer in enumerate(self.layers) if not layer.gathers_first}
        absent: dict[str, Any] = {"layers": plain} | ({"sampling": True} if self.sampling is None else {})
        if self.array is None:
            absent |= {"array": True}
        elif single := {name for name in array_sizes.SINGLE if getattr(self.array, name) == 1}:
            absent |= {"array": single}
        return self.model_dump(mode="json", by_alias=True, exclude=absent)

    def to_json(self) -> str:
        """One line of canonical JSON: sorted keys, no spaces."""
        return canonical_json(self.to_dict())

    @property
    def hash(self) -> str:
        """Twelve hexadecimal digits that name the design, equal on every machine."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:12]

    def architecture(self) -> list[dict[str, Any]]:
        """The choices that float training depends on, per layer, as plain JSON values; `sampling` where it is not 1."""
        return self._choices(ARCHITECTURE_FIELDS)

    def _choices(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """The named choices of every layer, and its sampling where it keeps less than every edge."""
        return [
            {name: getattr(layer, name) for name in names} | ({} if rate == 1 else {"sampling": rate})
            for layer, rate in zip(self.layers, self.rates, strict=True)
        ]

    @property
    def training_key(self) -> str:
        """Twelve hexadecimal digits that name the architecture alone."""
        return hashlib.sha256(canonical_json(self.architecture()).encode()).hexdigest()[:12]

    @property
    def score_key(self) -> str:
        """Twelve hexadecimal digits that name what quantised accuracy depends on: architecture, formats and orders."""
        numerics = self._choices((*ARCHITECTURE_FIELDS, *FORMAT_FIELDS))
        for choices, layer in zip(numerics, self.layers, strict=True):
            choices |= {"order": layer.order} if layer.gathers_first else {}
        return hashlib.sha256(canonical_json(numerics).encode()).hexdigest()[:12]

    @classmethod
    def from_dict(cls, data: Any, source: str = "design") -> Design:
        """A checked design from JSON values. Raises UserError with all errors."""
        if not isinstance(data, dict):
            raise UserError(f"{source}: a design is a JSON object with the fields layers and dsp")
        version = data.get("schema", SCHEMA)
        if isinstance(version, int) and version > SCHEMA:
            raise UserError(
                f"{source}: written in schema {version}, but this fgnas reads up to {SCHEMA}; upgrade fgnas"
            )
        if version != SCHEMA or isinstance(version, bool):
            raise UserError(f"{source}: schema must be the number {SCHEMA}, not {version!r}")
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            told = _faults(data, error)
            more = f"; and {len(told) - MOST_TOLD} more" if len(told) > MOST_TOLD else ""
            shown = "; ".join(told[:MOST_TOLD])
            raise UserError(f"{source}: {shown}{more}; see docs/design.md for the fields") from None

    @classmethod
    def from_json(cls, text: str, source: str = "design") -> Design:
        """A checked design from JSON text; accepts a bare design or an object that holds one under `design`."""
        # A right design is checked while it is parsed, several times as fast; only a wrong one needs its fault named.
        with suppress(ValidationError):
            design = cls.model_validate_json(text)
            if design.schema_version == SCHEMA:
                return design
        try:
            data = json.loads(text)
        except json.JSONDecodeError as error:
            raise UserError(f"{source}: not JSON ({error}); write a design with `fgnas sample`") from None
        if isinstance(data, dict) and "design" in data:
            data = data["design"]
        return cls.from_dict(data, source)

    @classmethod
    def load(cls, path: Path | str) -> Design:
        """A checked design from a file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"cannot read the design {path}: {error}") from None
        return cls.from_json(text, str(path))


def _faults(data: dict[str, Any], error: ValidationError) -> list[str]:
    """Everything that is wrong with a design's JSON values: its fields, then the rules between those that are right."""
    errors = [one for one in error.errors() if one["type"] != "value_error"]
    # A misspelt field is also a missing one: the misspelling says more.
    errors.sort(key=lambda one: one["type"] != "extra_forbidden")
    alike: dict[tuple[str, str], list[str]] = {}
    for one in errors:
        *parents, name = one["loc"] or ("design",)
        said = "unknown field" if one["type"] == "extra_forbidden" else one["msg"]
        alike.setdefault((".".join(map(str, parents)), said), []).append(str(name))
    fields = [f"{'.'.join(filter(None, (parent, _listed(names))))}: {said}" for (parent, said), names in alike.items()]
    return fields + _rules_broken(data, {one["loc"][:3] for one in errors})


def _listed(names: Sequence[str]) -> str:
    """Names of fields in one place."""
    return names[0] if len(names) == 1 else f"{{{', '.join(names)}}}"


def _rules_broken(data: dict[str, Any], faulty: set[tuple[int | str, ...]]) -> list[str]:
    """The messages of all rules that fields without a fault break."""
    given, found = data.get("layers"), []
    layers = list(given) if isinstance(given, list | tuple) else []
    for index, layer in enumerate(layers):
        if isinstance(layer, dict):
            right = {name: layer.get(name) for name in Layer.model_fields if ("layers", index, name) not in faulty}
            choices = {name: absent(name) if value is None else value for name, value in right.items()}
            place = SimpleNamespace(**choices, index=index, last=index == len(layers) - 1)
            found += [f"layers.{index}: {message}" for message in all_broken(LAYER_RULES, place)]
            found += all_broken(PLACE_RULES, place)
    whole = {name: data.get(name) for name in Design.model_fields if name not in {place[0] for place in faulty}}
    if array := whole.get("array"):
        whole["array"] = SimpleNamespace(**array)
    if "sampling" in whole:
        whole["sampling"] = whole["sampling"] or ()
    whole |= {"depth": len(layers), "hidden": len(layers) - 1}
    return found + (all_broken(DESIGN_RULES, SimpleNamespace(**whole)) if layers else [])


def columns_of(designs: Sequence[Design]) -> Columns:
    """The columns of designs with the same number of layers, as `Space.columns` returns them; with `order` only where
    some layer gathers first."""
    ordered = any(layer.gathers_first for design in designs for layer in design.layers)
    names = tuple(name for name in Layer.model_fields if ordered or name != "order")
    result: Columns = {name: [] for name in names}
    for layer in range(len(designs[0].layers)):
        values = zip(*map(itemgetter(*names), (vars(design.layers[layer]) for design in designs)), strict=True)
        for name, column in zip(names, values, strict=True):
            present = [absent(name) if value is None else value for value in column] if None in column else column
            result[name].append(np.array(present, np.str_ if name in TEXT_FIELDS else np.int64))
    return result
