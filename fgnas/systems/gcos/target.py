"""The costs of networks on multiplier arrays on one graph: exact but for LUTs and flip-flops, which a model gives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fgnas.costs import Costs, Quantity
from fgnas.hardware.array.designs import ArrayDesignPricer
from fgnas.hardware.array.pricing import ArrayPrices
from fgnas.space import Rows
from fgnas.systems.gcos.space import ArraySpace
from fgnas.tasks.nodes import GraphData


class ArrayTarget:
    """Prices rows of a space of networks with arrays; the same numbers as the project's report/price.json."""

    def __init__(self, space: ArraySpace, data: GraphData, family: str, clock_mhz: float) -> None:
        self.space = space
        self.pricer = ArrayDesignPricer(data, family)
        self.costs = (
            Quantity("latency_cycles", "Latency", "cycles", scale=1 / (1000 * clock_mhz), shown_unit="ms"),
            Quantity("lut", "LUT"),
            Quantity("ff", "FF"),
            Quantity("dsp", "DSP"),
            Quantity("bram36", "Block RAM (36 Kb)"),
            Quantity("memory_bytes", "Main memory", "bytes"),
            Quantity("table_words", "Table of a unit", "words"),
            Quantity("tiles", "Longest row of a unit", "words"),
            Quantity("own_words", "Own rows of a unit", "words"),
            Quantity("descriptors", "Steps of the programme"),
        )

    def price(self, rows: Rows) -> Costs:
        """Every cost of n rows, [n] each."""
        columns, arrays = self.space.designs(rows)
        if "sampling" not in columns or not len(rows):
            return self._named(self.pricer.price(columns, arrays))
        rates = np.stack(columns["sampling"]) / 100
        found: dict[str, NDArray[np.float64]] = {}
        for own in np.unique(rates, axis=1).T:
            here = (rates == own[:, None]).all(axis=0)
            part = {name: [one[here] for one in values] for name, values in columns.items()}
            prices = self._named(self.pricer.price(part, arrays.part(here), tuple(own.tolist())))
            for name, values in prices.items():
                found.setdefault(name, np.zeros(len(rows)))[here] = values
        return found

    def _named(self, prices: ArrayPrices) -> Costs:
        found = {
            "latency_cycles": prices.cycles, "lut": prices.lut, "ff": prices.ff, "dsp": prices.dsp,
            "bram36": prices.bram36, "memory_bytes": prices.memory_bytes,
            "table_words": prices.table_words, "tiles": prices.tiles, "own_words": prices.own_words,
            "descriptors": prices.descriptors,
        }  # fmt: skip
        return {name: values.astype(np.float64) for name, values in found.items()}
