"""The search spaces of G-CoS, by name: a network of its Table II and the multiplier array that runs it.

Table II is offered as far as the array runs it; an operator that the array learns is one more option here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.activations import NAMES
from fgnas.design import MLP, Design, Layer
from fgnas.designs import ArrayColumns
from fgnas.errors import UserError
from fgnas.hardware.array.choosing import offered_units
from fgnas.hardware.array.designs import may_pair
from fgnas.hardware.array.engine import HEADS, LANES, LARGEST_UNITS, RESULTS, SHARED, dsps_of, table_banks
from fgnas.hardware.array.programme import PORT_WIDTHS
from fgnas.hardware.numbers import ceil_div
from fgnas.space import Choice, Columns, Rows, Space
from fgnas.tasks.sampling import EVERY

LAYERS = 2
"""As in the paper."""
FORMATS = {6: (1, 4), 8: (1, 6), 10: (3, 6)}
"""Integer and fraction bits, without the sign, of numbers of so many bits; calibration gives every tensor a scale."""
PIPELINE: dict[str, Any] = {"t_in": 1, "t_out": 1, "t_aggr": 1}
"""Lanes of a pipeline, which a design has and an array ignores."""

TABLE_II = (
    Choice("attention", ("constant", "gcn"), "architecture"),
    Choice("aggregation", ("add", "mean", "max"), "architecture"),
    Choice("d", (4, 8, 16, 32, 64, 128, 256), "architecture", where="hidden", label="features"),
    Choice("activation", ("relu", "sigmoid", "tanh", "elu"), "architecture", where="hidden"),
)
"""Without attention that scores messages, heads are only more features."""
ATTENTIONS = Choice("attention", ("constant", "gcn", "gat"), "architecture")
ACTIVATIONS = Choice("activation", NAMES, "architecture", where="hidden")
HEADS_OF_GAT = Choice("k", (1, 2, 4, 8), "architecture", where="hidden", only_if=("attention", "gat"), label="heads")
LEAST_FEATURES = 4
"""Fewest features of a head."""
SAMPLING = Choice("sampling", (100, 50, 10), "architecture", label="per cent of the edges")
AGGREGATIONS = Choice("aggregation", ("add", "mean", "max", MLP), "architecture")
ADDED = {one.name: one for one in (ATTENTIONS, ACTIVATIONS, AGGREGATIONS)}
WIDER = (*(ADDED.get(one.name, one) for one in TABLE_II), HEADS_OF_GAT, SAMPLING)
"""Operators that were added to the array later have a space of their own, so that searches of the first stay as they
are."""
ENGINE = (
    Choice("units", tuple(offered_units(LARGEST_UNITS)), "hardware", where="design", fastest="most"),
    Choice("beat_bits", PORT_WIDTHS, "hardware", where="design", fastest="most", label="port bits"),
    Choice("columns", (1, 2, 4, 8, 16, 32), "hardware", where="hidden", label="columns of units"),
    Choice("bits", tuple(FORMATS), "precision", where="design"),
)


READERS = Choice("shared", SHARED, "hardware", where="design", label="units that read a table")
"""More of them take fewer block RAMs and more LUTs: a controller that bounds costs knows it before the units."""


@dataclass(frozen=True)
class ArraySpace(Space):
    """Networks with the array that runs each.

    The units that split a row are at most its words, and they divide the number of units; an option with more is
    reduced to that. Likewise, at most as many units share a table as hold the same columns. The features of a layer
    with attention are those of all heads together. The number of heads is reduced until each has `LEAST_FEATURES` and
    units hold them as the array requires.

    Attributes:
        results: words of H that an array writes into its tables in a cycle, or as many as a port has banks for.
        paired_beyond: units beyond which an array has two products in a DSP slice where its numbers are narrow enough
            and no message has scores; None where none has.
    """

    results: int = 1
    paired_beyond: int | None = None

    def written(self, beat_bits: int) -> int:
        """Words of H a cycle of an array behind such a port."""
        return min(self.results, table_banks(beat_bits))

    def draw(self, count: int, rng: np.random.Generator) -> Rows:
        """[count, decisions] uniform rows, repaired."""
        return self.repaired(super().draw(count, rng))

    def repaired(self, rows: Rows) -> Rows:
        """Rows in which columns of units are as many as the row means."""
        changed = super().repaired(rows)
        values = self.columns(changed)
        places = {(one.choice, one.position): place for place, one in enumerate(self.decisions)}
        for layer in range(self.layers - 1):
            d, units = values["d"][layer], values["units"][0]
            heads = np.zeros_like(d)
            if (place := places.get(("k", layer))) is not None:
                most = np.minimum(d // LEAST_FEATURES, HEADS * (units & -units))
                _clip(changed, place, self.decisions[place].options, np.ones_like(d), most)
                heads = self.columns(changed)["k"][layer]
            most = np.where(heads > 0, np.minimum(units & -units, heads), most_columns(units, d))
            place = places["columns", layer]
            _clip(changed, place, self.decisions[place].options, ceil_div(heads, HEADS), most)
        if (place := places.get(("shared", None))) is not None:
            values = self.columns(changed)
            units, side = values["units"][0], functools.reduce(np.maximum, values["columns"][: self.layers - 1])
            alike = ((units & -units) // side).astype(np.int64)
            _clip(changed, place, self.decisions[place].options, np.ones_like(alike), alike)
        return changed

    def designs(self, rows: Rows) -> tuple[Columns, ArrayColumns]:
        """The networks of n rows as the columns of designs, as far as an array's price depends on them; the arrays."""
        values = self.columns(self.repaired(rows))
        bits, beat_bits = values["bits"][0], values["beat_bits"][0]
        formats = np.array([FORMATS[one] for one in FORMATS]).T[:, np.searchsorted(list(FORMATS), bits)]
        heads = values.pop("k", [np.zeros_like(bits)] * self.layers)
        numbers = {"ai": formats[0], "af": formats[1], "wi": formats[0], "wf": formats[1]}
        written = np.array([self.written(one) for one in PORT_WIDTHS])[np.searchsorted(PORT_WIDTHS, beat_bits)]
        shared = values.get("shared", [np.ones_like(bits)])[0]
        several = {"k": [np.maximum(one, 1) for one in heads]}
        several["d"] = [d // k for d, k in zip(values["d"], several["k"], strict=True)]
        found = values | several | {name: [one] * self.layers for name, one in numbers.items()}
        units, columns = values["units"][0], tuple(values["columns"][: self.layers - 1])
        return found, ArrayColumns(units, beat_bits, written, shared, self.products(found, units), columns)

    def products(self, columns: Columns, units: NDArray[np.int64]) -> NDArray[np.int64]:
        """[n] products that share a DSP slice in networks on so many units."""
        if self.paired_beyond is None:
            return np.ones_like(units)
        return 1 + (may_pair(columns) & (units > self.paired_beyond)).astype(np.int64)

    def candidate(self, row: NDArray[np.int16]) -> Design:
        """The design of one row."""
        values = self.columns(self.repaired(row[None]))
        integer, fraction = FORMATS[int(values["bits"][0][0])]
        formats: dict[str, Any] = {"ai": integer, "af": fraction, "wi": integer, "wf": fraction}
        hidden = range(self.layers - 1)
        heads = [max(1, int(one[0])) for one in values.get("k", [np.zeros(1)] * self.layers)]
        attentions = [one[0].item() for one in values["attention"]]
        layers = [
            Layer(
                d=int(values["d"][place][0]) // heads[place] if place in hidden else None, k=heads[place],
                attention=attentions[place], aggregation=values["aggregation"][place][0].item(),
                activation=values["activation"][place][0].item() if place in hidden else None,
                t_attn=1 if attentions[place] == "gat" else None, t_act=1 if place in hidden else None,
                **PIPELINE, **formats,
            )
            for place in range(self.layers)
        ]  # fmt: skip
        array = self.designs(row[None])[1].at(0)
        dsp = dsps_of(LANES * array.units, array.products > 1)
        return Design(schema=1, layers=tuple(layers), dsp=dsp, array=array, sampling=self._sampling(values))

    def _sampling(self, values: Columns) -> tuple[float, ...] | None:
        """The shares of the edges that the layers of one row keep; None for all."""
        rates = tuple(int(one[0]) / 100 for one in values.get("sampling", []))
        return rates if set(rates) - {EVERY} else None


def _clip(rows: Rows, place: int, options: tuple[int, ...], least: NDArray[np.int64], most: NDArray[np.int64]) -> None:
    """Make every choice of a column one from `least` to `most`, [n] each: itself, or the largest; -1 stays."""
    offered, chosen = np.array(options), rows[:, place]
    values = offered[chosen]
    fits = np.where(offered[None] <= most[:, None], offered[None], -1).argmax(axis=1)
    right = (chosen < 0) | ((values >= least) & (values <= most))
    rows[:, place] = np.where(right, chosen, fits)


def most_columns(units: NDArray[np.int64], features: NDArray[np.int64]) -> NDArray[np.int64]:
    """[n] the largest power of two that divides the units and leaves none without a word of the row."""
    words = ceil_div(features, LANES)
    return np.minimum(units & -units, 1 << np.floor(np.log2(words)).astype(np.int64))


def joint(units: int, beat_bits: int) -> ArraySpace:
    """Every network with every array of up to so many units behind a port of up to so many bits."""
    return _with_arrays("g-cos", TABLE_II, units, beat_bits)


def table_ii(units: int, beat_bits: int) -> ArraySpace:
    """As `joint`, with every activation, aggregation and sampling rate of the paper's Table II."""
    return _with_arrays("table-ii", WIDER, units, beat_bits)


def sharing(units: int, beat_bits: int) -> ArraySpace:
    """As `joint`, with arrays whose units share tables."""
    return _with_arrays("shared-tables", TABLE_II, units, beat_bits, (READERS, *ENGINE))


def _with_arrays(
    name: str, network: tuple[Choice, ...], units: int, beat_bits: int, engine: tuple[Choice, ...] = ENGINE
) -> ArraySpace:
    return ArraySpace(name, LAYERS, (*network, *engine)).restrict(
        units=tuple(offered_units(units)), beat_bits=tuple(bits for bits in PORT_WIDTHS if bits <= beat_bits)
    )


def gcn_16(units: int, beat_bits: int) -> ArraySpace:
    """The baseline's network, two layers of gcn with 16 features, with every array."""
    return joint(units, beat_bits).restrict(attention=("gcn",), aggregation=("add",), d=(16,), activation=("relu",))


def one_engine(units: int, beat_bits: int) -> ArraySpace:
    """Every network on one array: the largest, of 8 bits, with all units on different rows."""
    space = joint(units, beat_bits)
    largest = {choice.name: choice.options[-1:] for choice in space.choices if choice.name in ("units", "beat_bits")}
    return space.restrict(**largest, columns=(1,), bits=(8,))


SPACES: dict[str, Callable[[int, int], ArraySpace]] = {
    "g-cos": joint, "table-ii": table_ii, "shared-tables": sharing, "gcn-16": gcn_16, "one-engine": one_engine
}  # fmt: skip
"""Name -> function of the most units and the widest port."""


def find_space(
    name: str, units: int, beat_bits: int, results: int = 1, paired_beyond: int | None = None
) -> ArraySpace:
    """A space by name. Raises UserError for an unknown one, and where there is no such array."""
    if name not in SPACES:
        raise UserError(f"unknown space {name!r}; known: {', '.join(SPACES)}")
    if units < 1:
        raise UserError(f"--dsp: an array has {LANES} multipliers at least")
    if beat_bits not in PORT_WIDTHS:
        raise UserError(f"--beat-bits: an array's memory port has {', '.join(map(str, PORT_WIDTHS))} bits")
    if results not in RESULTS:
        raise UserError(f"--results: an array writes {', '.join(map(str, RESULTS))} words of H a cycle")
    return replace(SPACES[name](units, beat_bits), results=results, paired_beyond=paired_beyond)
