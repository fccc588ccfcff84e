"""The layers after the points: readouts, products of their single row, logits. Units of a group split its words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.array.engine import LANES, MOST_POINT_TILES, Mode
from fgnas.hardware.array.points.fused import Dense, Epilogue, Gathered, Read
from fgnas.hardware.array.points.layouts import in_order, spread
from fgnas.hardware.array.points.memory import OWN, TABLE, PlacedValue, parts_of
from fgnas.hardware.array.points.products import product_words
from fgnas.hardware.array.points.streams import all_rows, one_row
from fgnas.hardware.array.programme import Operation, Region, Target
from fgnas.hardware.integer.gather import readout_fraction

if TYPE_CHECKING:
    from fgnas.hardware.array.points.lowering import Lowering


class Classifier:
    """Plans the steps behind the points, into a `Lowering`.

    Attributes:
        values: the rows that it made, by name.
    """

    def __init__(self, lowering: Lowering) -> None:
        self.lowering, self.values = lowering, dict[str, PlacedValue]()

    def readouts(self, name: str, parts: Sequence[str]) -> None:
        """Every part a stream of all rows for the first group; the others have one row of no meaning."""
        plan = self.lowering
        reads = [(part, one) for part in parts if isinstance(one := plan.made[part], Read)]
        sources = {one.source for _, one in reads}
        if len(reads) < len(parts) or len(sources) > 1:
            raise UserError(f"{name}: readouts of one value are joined with each other alone")
        source = plan.values[sources.pop()]
        value = PlacedValue(spread(source.layout, plan.wide, len(reads)), source.held * plan.wide * len(reads),
                            plan.wide)  # fmt: skip
        plan.room(name, value, {OWN}, 1)
        self.values[name] = value
        for first, tiles, base, pitch in plan.in_table_parts(reads[0][1].source):
            for number, (part, one) in enumerate(reads):
                place = value.base[OWN] + number * source.held + first
                self._read(part, one, (base, pitch, tiles), place, value.held)

    def _read(self, name: str, made: Read, source: tuple[int, int, int], place: int, target_tiles: int) -> None:
        """Words of all rows, {first word, words from a row to the next, words of a unit}, reduced to a place."""
        plan = self.lowering
        factor, fraction = made.value, 0
        if not factor:
            fraction = readout_fraction(np.array([plan.points]))
            factor = round(2**fraction / plan.points)
        base, pitch, tiles = source
        number = plan.stream(("readout", pitch, factor),
                             lambda: all_rows(plan.points, plan.spread.takers, pitch, factor))  # fmt: skip
        plan.plan(
            f"readout {name}", plan.spread,
            0 if factor == 1 else plan.points * tiles * plan.wide * LANES,
            operation=Operation.SPARSE, region=Region.EDGES, tiles=tiles, count=plan.points, table_base=base,
            limit=(plan.points - 1) * pitch + tiles, target=OWN, target_base=place, target_tiles=target_tiles,
            reduce=int(made.largest), stream=number,
            **plan.finish(made.epilogue._replace(shift=made.epilogue.shift + fraction)),
        )  # fmt: skip

    def product(self, name: str, made: Dense) -> None:
        """The row of a group's units times weights, into the tables; from there into the own rows, spread again."""
        plan, source = self.lowering, self.values[made.source]
        columns = plan.fused.columns[name]
        ordered = in_order(columns)
        words = ordered.words
        last = not any(isinstance(one, Dense) and one.source == name for one in plan.made.values())
        wide = 1 if last else plan.wide
        value = PlacedValue(spread(ordered, wide), words, wide)
        self.values[name] = value
        rows = {TABLE: plan.together.m} | ({} if last else {OWN: 1})
        for memory, count in rows.items():
            value.base[memory] = plan.rooms[memory].give(value.held * count)
        elements = source.layout.words * LANES
        for first, tiles in parts_of(words):
            held = partial(product_words, made.combine, source.layout.columns, first, tiles)
            with plan.weights(name, elements * tiles, held, source.wide) as weight:
                plan.plan(
                    name, plan.together, operation=Operation.DENSE, tiles=tiles, count=1, entries=elements,
                    table_base=weight, limit=elements * tiles, own_base=source.base[OWN], target=TABLE,
                    target_base=value.base[TABLE] + first // wide, target_tiles=value.held,
                    target_columns=(wide - 1).bit_length(),
                    multiplications=source.layout.numbers * min(columns - first * LANES, tiles * LANES),
                    **plan.finish(made.epilogue, ordered, first, tiles),
                )  # fmt: skip
        if last:
            return
        bits = made.epilogue.bits
        for first, tiles in parts_of(value.held):
            self._one_row(f"return {name}", plan.spread, value, (first, tiles), target=OWN,
                          target_base=value.base[OWN] + first, target_tiles=value.held,
                          **plan.finish(Epilogue(0, bits)))  # fmt: skip

    def _one_row(self, name: str, mode: Mode, value: PlacedValue, part: tuple[int, int], **fields: Any) -> None:
        """A stream of an entry: every group reads so many words of the first row, from a first on."""
        number = self.lowering.stream(("one row", mode.takers), partial(one_row, mode.takers))
        self.lowering.plan(
            name, mode, operation=Operation.SPARSE, region=Region.EDGES,
            tiles=part[1], count=1, table_base=value.base[TABLE] + part[0], limit=part[1], stream=number, **fields,
        )  # fmt: skip

    def logits(self, name: str, made: Gathered) -> None:
        """The classifier's row with its bias leaves."""
        value, epilogue = self.values[made.source], made.epilogue
        extra = -epilogue.shift
        bias = None if epilogue.bias is None else epilogue.bias >> extra
        if value.words > MOST_POINT_TILES:
            raise UserError(f"{name}: an array of points has {MOST_POINT_TILES * LANES} classes at most, not "
                            f"{self.lowering.fused.columns[name]}: choose fewer classes")  # fmt: skip
        finish = self.lowering.finish(epilogue._replace(bias=bias), value.layout, 0, value.words)
        finish["bits"] = wire.LOGIT_BITS
        self._one_row("logits", self.lowering.single, value, (0, value.words), target=Target.LOGITS,
                      bias_fine=int(extra > 0 and bias is not None), logits=value.words, target_tiles=value.words,
                      **finish)  # fmt: skip
