"""Multiplier arrays, solved for each architecture: the widest formats with which any array keeps the limits, and then
the array that is cheapest in one cost.

An array is chosen from all that are offered, by exact prices: cycles, DSPs and block RAMs are those of the project that
is written, LUTs and flip-flops a model's.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fgnas.costs import Costs, Quantity, feasible, plain, worst
from fgnas.design import GATHER_FIRST, MLP, VECTORS, Array, Design, Layer
from fgnas.designs import SIZES, ArrayColumns
from fgnas.errors import UserError
from fgnas.hardware.array.choosing import offered_units, powers
from fgnas.hardware.array.designs import HELD, NEEDED, RULES, ArrayDesignPricer, ArrayDesignPrices
from fgnas.hardware.array.engine import (
    HEADS,
    LANES,
    LARGEST_UNITS,
    MOST_COUNTED,
    MOST_TILES,
    SHARED,
    dsps_of,
    multipliers_within,
    table_banks,
)
from fgnas.hardware.array.lowering import row_words
from fgnas.hardware.array.programme import PORT_WIDTHS
from fgnas.hardware.numbers import Ints, ceil_div
from fgnas.hardware.specification import Specification
from fgnas.space import Columns, Rows
from fgnas.systems.fgnas.solved import (
    NARROWED,
    ArchitectureSpace,
    first_least,
    formats_of,
    formats_of_widths,
    in_formats,
    lifted,
)
from fgnas.systems.fgnas.space import DesignSpace
from fgnas.tasks.nodes import GraphData

TOGETHER = 256
"""Architectures solved together: their arrays are priced in one call and fit in memory."""
NO_LANES = {"t_in": 1, "t_out": 1, "t_aggr": 1}
"""Lanes of a pipeline, which a design has and an array ignores."""
REFUSED = float(1 << 40)
"""From here on, the words of a row are a code: REFUSED + i says that rule i excludes every array. No row is as long."""
RUN: tuple[str, ...] = (
    *(message for message, _ in RULES),
    f"with attention by scores an array divides by {MOST_COUNTED} messages at most; choose add or max",
)
"""Requirements of every array on a network, as messages for those that break them."""
Grid = NDArray[np.float64]
"""[arrays, n] costs of n networks on every array that is offered."""


def _row_told(words: float) -> str:
    """A row that no unit holds, in words."""
    told = next(limit.told for limit in HELD if limit.cost == "tiles")
    return RUN[int(words - REFUSED)] if words >= REFUSED else told(words)


LIMITS = tuple(replace(limit, told=_row_told) if limit.cost == "tiles" else limit for limit in HELD)
"""Capacity of the largest array. The limit of the longest row also reports networks that break a rule of RUN."""


def array_costs(clock_mhz: float) -> tuple[Quantity, ...]:
    """The costs of arrays; cycles are shown as milliseconds of the clock."""
    return (
        Quantity("latency_cycles", "Latency", "cycles", scale=1 / (1000 * clock_mhz), shown_unit="ms"),
        Quantity("lut", "LUT", exact=False),
        Quantity("ff", "FF", exact=False),
        Quantity("dsp", "DSP"),
        Quantity("bram36", "Block RAM (36 Kb)"),
        Quantity("tiles", "Longest row of a unit", "words"),
        Quantity("table_words", "Table of a unit", "words"),
        Quantity("own_words", "Own rows of a unit", "words"),
        Quantity("descriptors", "Programme", "descriptors"),
        Quantity("activation_words", "Activation tables of a unit", "words"),
        Quantity("bias_words", "Biases of a unit", "words"),
    )


def offered_arrays(space: DesignSpace, specification: Specification) -> ArrayColumns:
    """Every array that networks of a space are solved with.

    Units up to the DSP budget, and up to twice as many with two products in a slice where the space has them `paired`;
    all units side by side for each hidden layer, all words of H a cycle behind the port; and, where block RAMs are
    limited, tables that units share. Beyond the budget, as many units as the heads of the space need, so that what no
    smaller array runs says how many DSPs it takes.
    """
    budget = space.dsp if specification.dsp is None else min(space.dsp, specification.dsp)
    most = max(1, min(LARGEST_UNITS, multipliers_within(budget, space.paired) // LANES))
    heads = max(next(choice.options for choice in space.choices if choice.name == "k"))
    readers = SHARED if specification.bram36 is not None else SHARED[:1]
    found = []
    for units in sorted({*offered_units(most), *powers(heads // HEADS)}):
        products = 1 + (space.paired and units <= most and dsps_of(LANES * units) > budget)
        for columns in itertools.product(powers(units & -units), repeat=space.layers - 1):
            alike = units // max(columns, default=1)
            found += [
                (units, space.beat_bits, results, shared, products, *columns)
                for results in powers(table_banks(space.beat_bits)) for shared in readers if alike % shared == 0
            ]  # fmt: skip
    values = np.array(found, np.int64).T
    sizes = dict(zip(("units", "beat_bits", "results", "shared", "products"), values, strict=False))
    assert set(sizes) == set(SIZES)
    return ArrayColumns(**sizes, columns=tuple(values[len(SIZES) :]))


def offered_orders(layers: int) -> NDArray[np.bool_]:
    """[orders, layers] whether each layer gathers first: every choice of layers behind the first, the first choice
    none."""
    found = itertools.product((False,), *[(False, True)] * (layers - 1))
    return np.array(list(found), bool)


class ArrayPrices:
    """Prices the networks of full rows on every array that is offered, in every order of their layers."""

    def __init__(self, space: DesignSpace, data: GraphData, specification: Specification) -> None:
        _check_port(space.beat_bits, specification)
        self.space, self.pricer = space, ArrayDesignPricer(data, specification.family)
        arrays, orders = offered_arrays(space, specification), offered_orders(space.layers)
        self.arrays = ArrayColumns.joined([arrays] * len(orders))
        self.gathered = np.repeat(orders, len(arrays.units), axis=0)
        self.costs = array_costs(specification.clock_mhz)
        self.limits = (*specification.bounds(), *LIMITS)

    def grid(self, rows: Rows, wanted: NDArray[np.bool_] | None = None) -> tuple[dict[str, Grid], NDArray[np.bool_]]:
        """Each cost, [arrays, n], of the networks of n full rows, and which arrays run which of them; each array occurs
        once for every choice of orders, `gathered`.

        `wanted`, [arrays, n], leaves the others out.
        """
        offered, n = len(self.arrays.units), len(rows)
        columns = {name: values for name, values in self.space.columns(rows).items() if name in (*NEEDED, "d")}
        place, row = (one.ravel() for one in np.indices((offered, n)))
        runs = (self._may_pay(columns) if wanted is None else wanted & self._may_pay(columns)).ravel()
        here, arrays = self._ordered(_at(columns, row[runs]), place[runs]), self.arrays.part(place[runs])
        runs[runs] = ~self._broken(here, arrays).any(axis=0) & _filled(here, arrays)
        ordered = self._ordered(_at(columns, row[runs]), place[runs])
        prices = self._priced(ordered, self.arrays.part(place[runs]))
        found = {}
        for cost in self.costs:
            found[cost.name] = np.full(offered * n, np.inf)
            found[cost.name][runs] = prices[cost.name]
        return {name: values.reshape(offered, n) for name, values in found.items()}, runs.reshape(offered, n)

    def _ordered(self, columns: Columns, places: Ints) -> Columns:
        """The columns with the orders of the arrays at these places; without, where no layer gathers first."""
        gathered = self.gathered[places].T
        return columns | ({"order": [np.where(one, GATHER_FIRST, "") for one in gathered]} if gathered.any() else {})

    def _may_pay(self, columns: Columns) -> NDArray[np.bool_]:
        """[arrays, n] whether every layer that gathers first may, and has fewer words of X in a row than of H, all
        heads': else it takes no fewer cycles."""
        k, found = columns["k"], np.ones((len(self.gathered), len(columns["k"][0])), bool)
        for layer in range(1, self.space.layers):
            last = layer == self.space.layers - 1
            d = self.pricer.shape.classes if last else columns["d"][layer]
            words = k[layer] * ceil_div(d, LANES) if last else ceil_div(k[layer] * d, LANES)
            linear = ~np.isin(columns["attention"][layer], list(VECTORS))
            linear &= np.isin(columns["aggregation"][layer], ("add", "mean"))
            pays = linear & (ceil_div(k[layer - 1] * columns["d"][layer - 1], LANES) < words)
            found &= pays | ~self.gathered[:, layer, None]
        return found

    def refusal(self, rows: Rows) -> NDArray[np.float64]:
        """[n] the code that replaces the words of a row if no array runs a network; see `REFUSED`."""
        columns = self.space.columns(rows)
        last = self.arrays.part(np.full(len(rows), len(self.arrays.units) - 1))
        plain = replace(last, products=np.ones(len(rows), np.int64))
        return REFUSED + self._broken(columns, plain).argmax(axis=0)

    def _broken(self, columns: Columns, arrays: ArrayColumns) -> NDArray[np.bool_]:
        """[rules, n] whether a network on its array breaks a rule of `RUN`."""
        broken = [rule(columns, arrays) for _, rule in RULES]
        counted = [
            np.isin(attention, list(VECTORS)) & (aggregation == "mean")
            for attention, aggregation in zip(columns["attention"], columns["aggregation"], strict=True)
        ]
        many = self.pricer.shape.degree_capacity > MOST_COUNTED
        return np.stack([*broken, np.any(counted, axis=0) & many])

    def _priced(self, columns: Columns, arrays: ArrayColumns) -> Costs:
        """[n] each cost; of rows that are too long for any unit the cycles are not known, and 0."""
        if not len(arrays.units):
            return {cost.name: np.zeros(0) for cost in self.costs}
        found = ArrayDesignPrices(self.pricer.price(columns, arrays), arrays.beat_bits).named()
        costs = {cost.name: found[cost.name].astype(np.float64) for cost in self.costs}
        costs["latency_cycles"] = np.where(costs["tiles"] > MOST_TILES, 0, costs["latency_cycles"])
        return costs


def _check_port(beat_bits: int, specification: Specification) -> None:
    """Raise UserError for a port that no array has, or that the device's memory cannot keep busy."""
    if beat_bits not in PORT_WIDTHS:
        raise UserError(f"--beat-bits: an array's memory port has {', '.join(map(str, PORT_WIDTHS))} bits")
    slower = max(1.0, specification.clock_mhz / (specification.port_mhz or specification.clock_mhz))
    if specification.port_bits is not None and specification.port_bits < beat_bits * slower:
        carried = specification.port_bits / slower
        raise UserError(f"an array reads {beat_bits} bits a cycle, and the device's port carries {carried:g} at "
                        f"{specification.clock_mhz:g} MHz; choose a narrower --beat-bits, a lower --clock-mhz or "
                        f"--target solved-cycles")  # fmt: skip


def _at(columns: Columns, places: NDArray[np.int64]) -> Columns:
    return {name: [values[places] for values in layers] for name, layers in columns.items()}


def _filled(columns: Columns, arrays: ArrayColumns) -> NDArray[np.bool_]:
    """[n] whether every unit side by side has a word of each hidden row: more units only wait."""
    found = np.ones(len(arrays.units), bool)
    for layer, n in enumerate(arrays.columns):
        k, d = (columns[name][layer].astype(np.int64) for name in ("k", "d"))
        scored = np.isin(columns["attention"][layer], list(VECTORS)) & (columns["aggregation"][layer] != MLP)
        found &= n <= row_words(k * d, np.where(scored, k, 0), d)
    return found


@dataclass(frozen=True, eq=False)
class Solved:
    """The hardware of n architectures.

    Attributes:
        rows: [n, decisions of the full space] the networks in their formats; lanes mean nothing.
        places: [n] their arrays, with the orders of their layers, among those that are offered.
        costs: [n] each cost.
    """

    rows: Rows
    places: Ints
    costs: dict[str, NDArray[np.float64]]

    def at(self, chosen: NDArray[np.bool_]) -> Solved:
        """Those that a mask chooses."""
        costs = {name: values[chosen] for name, values in self.costs.items()}
        return Solved(self.rows[chosen], self.places[chosen], costs)


class ArraySolver:
    """The array of an architecture that is cheapest in one cost, in the widest formats with which one keeps the limits.

    An array that exceeds a limit in the narrowest formats also exceeds it in wider ones, so arrays are first priced in
    the narrowest alone.
    """

    def __init__(self, prices: ArrayPrices, cheapest: str) -> None:
        self.prices, self.space, self.limits = prices, prices.space, prices.limits
        self.order = (cheapest, *(name for name in ("latency_cycles", "lut") if name != cheapest))
        self.formats = formats_of(self.space)
        self.known: dict[bytes, tuple[NDArray[np.int16], int, list[float]]] = {}

    def solved(self, rows: Rows) -> Solved:
        """The hardware of n lifted rows. If no array keeps the limits for a row, it is the one that comes nearest."""
        names = [row.tobytes() for row in rows]
        missing = {name: place for place, name in enumerate(names) if name not in self.known}
        places = list(missing.values())
        for start in range(0, len(places), TOGETHER):
            some = places[start : start + TOGETHER]
            found = self._solve(rows[some])
            values = np.stack(list(found.costs.values()), axis=1).tolist()
            for place, row, array, costs in zip(some, found.rows, found.places.tolist(), values, strict=True):
                self.known[names[place]] = (row, array, costs)
        known = [self.known[name] for name in names]
        costs = np.array([one for _, _, one in known], np.float64).reshape(len(rows), len(self.prices.costs))
        return Solved(
            np.stack([row for row, _, _ in known]) if known else rows, np.array([one for _, one, _ in known], np.int64),
            {cost.name: costs[:, place] for place, cost in enumerate(self.prices.costs)},
        )  # fmt: skip

    def _solve(self, rows: Rows) -> Solved:
        """The hardware of distinct lifted rows."""
        grid, _ = self.prices.grid(rows)
        result = self._best(rows, grid)
        keeps = self._keeps(grid)
        left = np.flatnonzero(keeps.any(axis=0))
        for formats in self.formats[:-1]:
            if not len(left):
                break
            base = rows[left]
            base[:, list(formats)] = list(formats.values())
            found, ok = self.with_formats(base, keeps[:, left])
            result.rows[left[ok]], result.places[left[ok]] = found.rows[ok], found.places[ok]
            for name, values in found.costs.items():
                result.costs[name][left[ok]] = values[ok]
            left = left[~ok]
        return result

    def with_formats(
        self, rows: Rows, wanted: NDArray[np.bool_] | None = None
    ) -> tuple[Solved, NDArray[np.bool_]]:
        """Full rows with the cheapest of the `wanted` arrays for the formats that they have, and whether each keeps
        every limit."""
        grid, _ = self.prices.grid(rows, wanted)
        found = self._best(rows, grid)
        return found, feasible(found.costs, self.limits)

    def _keeps(self, grid: dict[str, Grid]) -> NDArray[np.bool_]:
        flat = {name: values.ravel() for name, values in grid.items()}
        return feasible(flat, self.limits).reshape(grid["lut"].shape)

    def _best(self, rows: Rows, grid: dict[str, Grid]) -> Solved:
        """The array of each row that comes nearest to the limits, and of those that keep them the cheapest."""
        excess = worst({name: values.ravel() for name, values in grid.items()}, self.limits)
        broken = np.where(self._keeps(grid), 0.0, excess.reshape(grid["lut"].shape))
        place, every = first_least([broken, *(grid[name] for name in self.order)]), np.arange(len(rows))
        costs = {name: values[place, every] for name, values in grid.items()}
        none = ~np.isfinite(costs["lut"])
        for name, values in costs.items():
            values[none] = self.prices.refusal(rows[none]) if name == "tiles" else 0
        return Solved(rows.copy(), place, costs)

    def design(self, architectures: ArchitectureSpace, row: NDArray[np.int16], dsp: int) -> Design:
        """The design with the solved array of a row of `architectures`; its DSPs are those of the array."""
        found = self.solved(lifted(self.space, architectures, row[None]))
        return self.designs(found)[0]

    def designs(self, found: Solved) -> list[Design]:
        """The designs with their arrays."""
        arrays, gathered = map(self.prices.arrays.at, found.places.tolist()), self.prices.gathered[found.places]
        return [
            _on_array(self.space.design(row, dsps_of(LANES * array.units, array.products > 1)), array, first)
            for row, array, first in zip(found.rows, arrays, gathered.tolist(), strict=True)
        ]


def _on_array(design: Design, array: Array, gathered: Sequence[bool]) -> Design:
    """A design with an array in place of its pipeline's lanes, and the orders of its layers."""
    layers = tuple(
        Layer(**layer.model_dump() | NO_LANES | {
            name: 1 for name in ("t_attn", "t_act") if getattr(layer, name) is not None
        } | ({"order": GATHER_FIRST} if first else {}))
        for layer, first in zip(design.layers, gathered, strict=True)
    )  # fmt: skip
    return Design(schema=1, layers=layers, dsp=design.dsp, array=array)


class NarrowedArrays:
    """Arrays for one architecture in every pair of widths, features and weights apart, each with the fewest LUTs, or
    DSPs, that keep the limits."""

    def __init__(self, architectures: ArchitectureSpace, solver: ArraySolver) -> None:
        self.architectures, self.solver, self.saved = architectures, solver, solver.order[0]
        self.formats = formats_of_widths(solver.space, itertools.product(NARROWED, NARROWED))

    def variants(self, row: NDArray[np.int16]) -> list[tuple[Design, dict[str, int | float]]]:
        """The designs of an architecture's arrays within the limits, with their costs."""
        space = self.solver.space
        bases = in_formats(lifted(space, self.architectures, row[None]), self.formats)
        found, ok = self.solver.with_formats(space.repaired(bases))
        kept = found.at(ok)
        return [(design, plain(kept.costs, place)) for place, design in enumerate(self.solver.designs(kept))]


class ArrayTarget:
    """A target whose rows are architectures; it prices each with its solved array."""

    survey_draws: int | None = 2_000

    def __init__(
        self, cheapest: str, space: DesignSpace, data: GraphData, specification: Specification
    ) -> None:
        prices = ArrayPrices(space, data, specification)
        self.solver, self.saved = ArraySolver(prices, cheapest), cheapest
        self.costs, self.limits = prices.costs, LIMITS
        self.space = ArchitectureSpace.of(space, self.solver)
        least = "lut" if cheapest == "latency_cycles" else cheapest
        self.smaller = NarrowedArrays(self.space, ArraySolver(prices, least))

    def price(self, rows: Rows) -> Costs:
        """Every cost of n architectures with their solved arrays, [n] each."""
        return self.solver.solved(lifted(self.solver.space, self.space, rows)).costs
