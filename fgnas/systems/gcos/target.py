"""The costs of networks on multiplier arrays on one graph: exact but for LUTs and flip-flops, which a model gives."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from fgnas.costs import Costs, Limit, Quantity
from fgnas.hardware import wire
from fgnas.hardware.array.engine import LANES
from fgnas.hardware.array.pricing import ArrayPricer, Candidates
from fgnas.hardware.array.programme import BEAT_BITS, LARGEST_INDEX
from fgnas.hardware.pipeline.geometry import GraphShape, Ints, ceil_div, ceil_log2
from fgnas.space import Columns, Rows
from fgnas.systems.gcos.space import FORMATS, ArraySpace
from fgnas.tasks.nodes import GraphData

BUILDABLE = (
    Limit("tiles", 8, lambda value: f"a row takes {value:g} words of a unit, which holds 8"),
    Limit("table_words", LARGEST_INDEX + 1, lambda value: f"weights and results take {value:,.0f} words of a unit, "
          f"which holds {LARGEST_INDEX + 1:,}"),
)  # fmt: skip
"""What any array holds."""


class ArrayTarget:
    """Prices rows of a space of networks with arrays; the same numbers as the project's report/price.json."""

    def __init__(self, space: ArraySpace, data: GraphData, family: str, clock_mhz: float) -> None:
        self.space, self.data = space, data
        self.pricers = {bits: ArrayPricer(data, beat_bits=bits, family=family) for bits in BEAT_BITS}
        self.costs = (
            Quantity("latency_cycles", "Latency", "cycles", scale=1 / (1000 * clock_mhz), shown_unit="ms"),
            Quantity("lut", "LUT"),
            Quantity("ff", "FF"),
            Quantity("dsp", "DSP"),
            Quantity("bram36", "Block RAM (36 Kb)"),
            Quantity("memory_bytes", "Main memory", "bytes"),
            Quantity("table_words", "Table of a unit", "words"),
            Quantity("tiles", "Longest row of a unit", "words"),
        )

    def _sum_bits(self, features: list[Ints], bits: Ints) -> Ints:
        """[n] bits of a sum that no row overflows; see `lowering.sum_bits`."""
        longest: Ints = np.maximum(self.data.width_in, functools.reduce(np.maximum, [0 * bits, *features[:-1]]))
        degree = ceil_log2(np.array([GraphShape.of(self.data).degree_capacity]))
        return np.maximum(2 * bits + ceil_log2(longest), wire.COEFFICIENT_BITS + bits + degree)

    def _shifts(self, own: Columns) -> list[Ints]:
        """The shifts of formats without a scale: calibration chooses scales after the price is known."""
        bits = own["bits"][0]
        fraction = np.select([bits == one for one in FORMATS], [formats[1] for formats in FORMATS.values()])
        found = [fraction]
        for layer, (attention, aggregation) in enumerate(zip(own["attention"], own["aggregation"], strict=True)):
            rounded = (attention == "gcn") | (aggregation == "mean")
            last = wire.LOGIT_EXTRA_BITS if layer == len(own["attention"]) - 1 else 0
            found.append(np.where(rounded, wire.COEFFICIENT_FRACTION_BITS, 0) - last)
        return found

    def price(self, rows: Rows) -> Costs:
        """Every cost of n rows, [n] each."""
        columns = self.space.columns(self.space.repaired(rows))
        found = {cost.name: np.zeros(len(rows)) for cost in self.costs}
        for beat_bits, pricer in self.pricers.items():
            here = columns["beat_bits"][0] == beat_bits
            if here.any():
                for name, values in self._priced(columns, here, pricer).items():
                    found[name][here] = values
        return found

    def _priced(
        self, columns: Columns, here: NDArray[np.bool_], pricer: ArrayPricer
    ) -> dict[str, NDArray[np.float64]]:
        """The costs of the rows `here`, which have one port."""
        own = {name: [values[here] for values in parts] for name, parts in columns.items()}
        units, bits = own["units"][0], own["bits"][0]
        classes = np.full(len(units), self.data.classes)
        # Relu needs no table: calibration gives its results the scale of its arguments (see `tied`).
        tabled = [activation != "relu" for activation in own["activation"][:-1]]
        tables = sum((ceil_div(1 << bits, LANES) * one for one in tabled), np.zeros_like(bits))
        weighted = [attention == "gcn" for attention in own["attention"]]
        features = [*own["d"][:-1], classes]
        passes, results = np.ones_like(units), np.full_like(units, self.space.written(pricer.beat_bits))
        maximum = np.any([aggregation == "max" for aggregation in own["aggregation"]], axis=0)
        prices = pricer.price(Candidates(
            units, features, own["columns"][:-1], weighted, bits, tables, passes, results, maximum,
            self._sum_bits(features, bits), self._shifts(own),
        ))  # fmt: skip
        found = {
            "latency_cycles": prices.cycles, "lut": prices.lut, "ff": prices.ff, "dsp": prices.multipliers,
            "bram36": prices.bram36, "memory_bytes": prices.memory_bytes,
            "table_words": prices.table_words, "tiles": prices.tiles,
        }  # fmt: skip
        return {name: values.astype(np.float64) for name, values in found.items()}
