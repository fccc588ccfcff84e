"""Reads of the steps of a network of points: the values, their memories, and the last step that reads each."""

from __future__ import annotations

from collections.abc import Iterator

from fgnas.errors import UserError
from fgnas.hardware.array.engine import MOST_ROW
from fgnas.hardware.array.points.fused import Dense, Fused, Gathered, Held, Joined, Made, Read
from fgnas.hardware.array.points.layouts import Layout, in_order, side_by_side
from fgnas.hardware.array.points.memory import OWN, TABLE, Paging
from fgnas.hardware.array.programme import Target
from fgnas.hardware.integer.network import FEATURES
from fgnas.hardware.integer.sample import Sample


class Uses:
    """Layouts of rows, the memories in which values are needed, and the steps that read them last.

    Attributes:
        layouts: {value: layout} of its rows.
        needs: {value: memories} in which it is made.
        late: values that are made part by part when they are read, and need no memory before.
        last: {(value, memory): place} of the step that reads it last.
    """

    def __init__(self, fused: Fused, paging: Paging) -> None:
        self.fused, self.made, self.paging = fused, fused.made, paging
        made = self.made
        self.at = {name: place for place, name in enumerate(made)}
        self.part_of = {part: name for name, one in made.items() if isinstance(one, Joined) for part in one.parts}
        for part, name in self.part_of.items():  # parts are written where they are joined
            self.at[part] = self.at[name]
        self.layouts = self._layouts()
        self.readers = self._readers()
        self.late = {name for name in made if self._is_late(name)}
        self.needs, self.last = dict[str, set[Target]](), dict[tuple[str, Target], int]()
        self._follow()

    def reads(self, name: str, made: Made | Sample) -> Iterator[tuple[str, Target]]:
        """Yield the values that a step reads, each with its memory."""
        match made:
            case Sample():
                if made.function == "nearest":
                    source = self.fused.sampled[name]
                    yield source, TABLE
                    yield source, OWN
            case Dense():
                yield made.source, OWN
            case Gathered() if made.copies:
                yield made.source, OWN
            case Gathered():
                yield made.source, TABLE
                if made.distance:
                    yield made.source, OWN
                if made.added is not None:
                    yield made.added[0], OWN
            case Read():
                yield made.source, TABLE

    def words(self, name: str) -> int:
        """Words of a row of a value of points."""
        return self.layouts[name].words

    def held(self, name: str) -> bool:
        """Whether rows that are read in the tables are there from when they are made."""
        return self.words(name) <= self.paging.held

    def is_read_out(self, name: str) -> bool:
        """Whether readouts reduce a value to a row."""
        return any(isinstance(self.made[reader], Read) for reader, _ in self.readers.get(name, ()))

    def _layouts(self) -> dict[str, Layout]:
        """Rows of products are in order; those that are gathered are laid out as their source's."""
        columns = self.fused.columns
        found = {FEATURES: in_order(columns[FEATURES])}
        for name, made in self.made.items():
            match made:
                case Dense() | Held():
                    found[name] = in_order(columns[name])
                case Gathered():
                    found[name] = in_order(1) if made.distance else found[made.source]
                case Joined() if all(isinstance(self.made[part], Gathered) for part in made.parts):
                    parts = made.parts
                    found[name] = side_by_side(tuple(found[one] for one in parts), tuple(columns[one] for one in parts))
            if name in found and found[name].words > MOST_ROW:
                raise UserError(f"{name}: a row takes {found[name].words:,} words of a unit, which names "
                                f"{MOST_ROW:,}: choose narrower layers or fewer messages side by side")  # fmt: skip
        return found

    def _readers(self) -> dict[str, list[tuple[str, Target]]]:
        """{value: [(step, memory)]} that read it."""
        found = dict[str, list[tuple[str, Target]]]()
        for name, made in self.made.items():
            for source, memory in self.reads(name, made):
                found.setdefault(source, []).append((name, memory))
        return found

    def _is_late(self, name: str) -> bool:
        """Whether a product that is read in the tables alone, word by word and in one place, is made there."""
        readers = self.readers.get(name, [])
        whole = any(isinstance(one := self.made[reader], Sample) or (isinstance(one, Gathered) and one.distance)
                    for reader, _ in readers)  # fmt: skip
        return (
            isinstance(self.made[name], Dense) and name in self.layouts and bool(readers) and not self.held(name)
            and not whole and all(memory is TABLE for _, memory in readers)
            and len({self.at[reader] for reader, _ in readers}) == 1
        )  # fmt: skip

    def _follow(self) -> None:
        """Fill `needs` and `last`."""
        self.needs = {name: set() for name in (FEATURES, *self.made)}
        for name, made in reversed(list(self.made.items())):
            for source, memory in self.reads(name, made):
                if source in self.late:
                    continue
                there = memory if source not in self.layouts or self.held(source) else OWN
                self.needs[source].add(there)
                place = max(self.last.get((source, there), 0), self._place(name))
                self.last[source, there] = place
        for part, name in self.part_of.items():
            self.needs[part] = self.needs[name]

    def _place(self, name: str) -> int:
        """Where a step happens: of what is made late, where it is read."""
        if name in self.late:
            return max(self.at[reader] for reader, _ in self.readers[name])
        return self.at[name]
