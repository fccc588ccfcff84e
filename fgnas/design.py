"""The choices of every layer of a network and its accelerator; JSON in and out, with a schema version and a hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from fgnas.activations import Activation
from fgnas.errors import UserError
from fgnas.files import canonical_json
from fgnas.fixedpoint import FixedPoint
from fgnas.space import Columns

SCHEMA = 1
MOST_LAYERS = 8

Attention = Literal["constant", "gcn", "gat", "linear", "gat-sym", "cos", "gene-linear"]
Aggregation = Literal["add", "mean", "max", "mlp"]
Order = Literal["gather-first"]

ARCHITECTURE_FIELDS = ("d", "attention", "aggregation", "k", "activation")
FORMAT_FIELDS = ("ai", "af", "wi", "wf")

VECTORS = {"gat": 2, "linear": 1, "gat-sym": 2, "cos": 1, "gene-linear": 3}
"""Attentions whose messages are weighted by a softmax over scores, and how many vectors of weights each has: that of
the sending node, that of the receiving one, then the factors of functions of both.

gat is PyG's GATConv. The others are GraphNAS's (`GeoLayer.apply_attention` in its pyg_gnn_layer.py, as in G-CoS, Table
II); both vectors of linear multiply the sending node, so that they are one, their sum. Those of cos multiply the same
products of two nodes' features, so that they are one, their product. gene-linear's factors are GraphNAS's
`general_att_layer`, which its heads share.
"""

DOT = "cos"
"""The attention whose scores are products of two nodes' features."""
PAIR = "gene-linear"
"""The attention whose scores are sums of functions of two nodes' features."""
OF_EDGES = (DOT, PAIR)
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

LAST_ABSENT = ("d", "activation", "t_act")
"""Choices that are None in the last layer, and only there."""

MOST_BITS = 16
"""Bits of the widest features and weights of an array."""
PIPELINE_BITS = 10
"""Bits of the widest features and weights of a pipeline."""
TABLE_BITS = 10
"""Bits of the widest number that looks up a table: the argument of an activation, or a score."""

RULES: tuple[tuple[str, Callable[[Any], Any]], ...] = (
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
)
"""Rules between the choices of a layer: a message, and whether it is broken, for one layer or for arrays of choices."""


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
    def _widths(self) -> Self:
        for message, broken in RULES:
            if broken(self):
                raise ValueError(message)
        if (self.attention == "gat") != (self.t_attn is not None):
            raise ValueError("t_attn is required with attention gat and not allowed otherwise")
        if self.attends and self.ai + self.af >= TABLE_BITS:
            most = TABLE_BITS - 1
            raise ValueError(f"ai + af must be 1 to {most} with attention {self.attention}: scores look up tables")
        if self.gathers_first and not self.linear:
            raise ValueError("order gather-first is for attention constant or gcn with aggregation add or mean: only "
                             "such sums commute with the weights")  # fmt: skip
        return self

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
        return not self.attends and self.aggregation in ("add", "mean")

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
        return self.attention == PAIR

    def value_format(self, scale: int = 0) -> FixedPoint:
        """Format of the layer's features, stored as x * 2**scale."""
        return FixedPoint.of(self.ai, self.af, scale)

    def score_format(self, scale: int = 0) -> FixedPoint:
        """Format of the parts that an edge's score is made of, stored as x * 2**scale: that of the features, where
        edges have scores of their own another."""
        return score_format(self.attention, self.value_format(scale))

    def tanh_format(self) -> FixedPoint:
        """Format of gene-linear's functions of two nodes' features, -1 to 1, in the width of features."""
        width = self.value_format().width
        return FixedPoint(width, width - 1)

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

    units: int = Field(ge=1, le=128, description="units of eight multipliers")
    columns: tuple[int, ...] = Field(strict=False, description="units side by side, for each hidden layer")
    beat_bits: Literal[128, 256, 512] = Field(description="width of the memory port")
    results: Literal[1, 2, 4] = Field(default=1, description="words of H that go to the tables in a cycle")
    shared: Literal[1, 2, 4, 8, 16] = Field(default=1, description="units that read one table")


class Design(BaseModel):
    """A graph neural network and the accelerator that runs it: what the search returns."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    schema_version: int = Field(default=SCHEMA, alias="schema", serialization_alias="schema")
    layers: tuple[Layer, ...] = Field(min_length=1, max_length=MOST_LAYERS, strict=False)
    dsp: int = Field(ge=0, description="DSP slices that the multipliers may use")
    array: Array | None = Field(default=None, description="the multiplier array; None for a pipeline")
    sampling: tuple[float, ...] | None = Field(
        default=None, strict=False, description="share of the edges that each layer keeps; None for all"
    )

    @model_validator(mode="after")
    def _last_layer(self) -> Self:
        for index, layer in enumerate(self.layers):
            last = index == len(self.layers) - 1
            for name in LAST_ABSENT:
                if (getattr(layer, name) is None) != last:
                    state = "has no effect in the last layer: leave it null" if last else "is missing"
                    raise ValueError(f"layer {index}: {name} {state}")
        if self.array is not None and len(self.array.columns) != len(self.layers) - 1:
            raise ValueError(f"array: columns needs {len(self.layers) - 1} numbers, one for each hidden layer")
        if self.layers[0].gathers_first:
            raise ValueError("layer 0: order gather-first is for further layers: X of the first is sparse and wide")
        self._check_sampling()
        return self

    def _check_sampling(self) -> None:
        if self.sampling is None:
            return
        if len(self.sampling) != len(self.layers) or not all(0 < rate <= 1 for rate in self.sampling):
            raise ValueError(f"sampling needs {len(self.layers)} shares of the edges above 0 and up to 1, one a layer")
        if set(self.sampling) == {1.0}:
            raise ValueError("sampling: every layer keeps every edge: leave it out")

    @property
    def rates(self) -> tuple[float, ...]:
        """The share of the edges that each layer keeps."""
        return self.sampling or (1.0,) * len(self.layers)

    def to_dict(self) -> dict[str, Any]:
        """The design as plain JSON values; `array`, `sampling` and the `order` of a layer only where there is one, an
        array's `results` and `shared` where there are several."""
        plain = {place: {"order"} for place, layer in enumerate(self.layers) if not layer.gathers_first}
        absent: dict[str, Any] = {"layers": plain} | ({"sampling": True} if self.sampling is None else {})
        if self.array is None:
            absent |= {"array": True}
        elif single := {name for name in ("results", "shared") if getattr(self.array, name) == 1}:
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
        """A checked design from JSON values. Raises UserError with the first error."""
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
            # A misspelt field is also a missing one: the misspelling says more.
            errors = error.errors()
            first = next((one for one in errors if one["type"] == "extra_forbidden"), errors[0])
            place = ".".join(str(part) for part in first["loc"]) or "design"
            message = first["msg"].removeprefix("Value error, ")
            message = "unknown field" if first["type"] == "extra_forbidden" else message
            raise UserError(f"{source}: {place}: {message}; see docs/design.md for the fields") from None

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


def columns_of(designs: Sequence[Design]) -> Columns:
    """The columns of designs with the same number of layers, as `Space.columns` returns them; with `order` only where
    some layer gathers first."""
    ordered = any(layer.gathers_first for design in designs for layer in design.layers)
    names = tuple(name for name in Layer.model_fields if ordered or name != "order")
    result: Columns = {name: [] for name in names}
    for layer in range(len(designs[0].layers)):
        values = zip(*map(itemgetter(*names), (vars(design.layers[layer]) for design in designs)), strict=True)
        for name, column in zip(names, values, strict=True):
            text = name in ("attention", "aggregation", "activation", "order")
            absent: Any = "" if text else 0
            present = [absent if value is None else value for value in column] if None in column else column
            result[name].append(np.array(present, np.str_ if text else np.int64))
    return result
