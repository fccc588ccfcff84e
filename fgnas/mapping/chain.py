"""A network as a chain of steps with integer costs on each unit, and the cost of given mappings.

The cost of a mapping is the sum of its steps plus, where consecutive steps run on different units, sending the
earlier output and receiving it (MaGNAS, eq. 6 and 7). The first input and the last output are free.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

NO_SHORTCUT = -1
WHOLE = "everything"
"""The name of all steps as one."""


@dataclass(frozen=True)
class Chain:
    """A network on a platform at one setting: n steps, M units; every cost is a pair (time, energy) of integers.

    Attributes:
        steps: their names, n.
        units: their names, M.
        cost: [n, M, 2]; a step's cost where it is supported, else 0. May be negative where a platform states costs
            relative to one unit's.
        supported: [n, M].
        send: [n, M, 2]; a step's output leaves the unit. Not negative.
        receive: [n, M, 2]; a step's input arrives on the unit. Not negative.
        shortcut: [n]; the earlier step whose output this step reads beside its predecessor's, or NO_SHORTCUT. Spans
            do not overlap.
        offset: [2]; added to every mapping.
        whole: by unit that runs no step alone and all of them as one, its cost (time, energy).
    """

    steps: tuple[str, ...]
    units: tuple[str, ...]
    cost: Integers
    supported: NDArray[np.bool_]
    send: Integers
    receive: Integers
    shortcut: Integers
    offset: Integers
    whole: dict[int, tuple[int, int]] = field(default_factory=dict)

    def without_shortcuts(self) -> Chain:
        """The chain as eq. 6 of the paper charges it: shortcuts cost nothing."""
        return replace(self, shortcut=np.full(len(self.steps), NO_SHORTCUT))

    def alone(self) -> dict[int, Integers]:
        """The cost [2] of running every step on one unit, for each unit that supports all of them."""
        units = [unit for unit in range(len(self.units)) if self.supported[:, unit].all() or unit in self.whole]
        return {unit: self.costs(np.full((1, len(self.steps)), unit))[0] for unit in units}

    def as_one(self) -> NDArray[np.int8]:
        """[k, n] the mappings that run everything as one."""
        return np.repeat(np.array([*self.whole], np.int8)[:, None], len(self.steps), axis=1)

    def spans(self, mapping: NDArray[np.integer]) -> list[tuple[str, int, int, int]]:
        """(step, unit, time, energy) of every step of a mapping [n]; of one that runs everything as one, of it all."""
        first = int(mapping[0])
        if first in self.whole:
            return [(WHOLE, first, *self.whole[first])]
        return [
            (step, unit, int(self.cost[place, unit, 0]), int(self.cost[place, unit, 1]))
            for place, (step, unit) in enumerate(zip(self.steps, mapping.tolist(), strict=True))
        ]

    def costs(self, mappings: NDArray[np.integer]) -> Integers:
        """Time and energy [k, 2] of k mappings [k, n] of supported units."""
        places = np.arange(len(self.steps))
        total = self.offset + self.cost[places, mappings].sum(axis=1)
        before, after = mappings[:, :-1], mappings[:, 1:]
        crossed = (before != after)[:, :, None]
        crossing = self.send[places[:-1], before] + self.receive[places[1:], after]
        total = total + (crossing * crossed).sum(axis=1)
        for reader in np.flatnonzero(self.shortcut != NO_SHORTCUT):
            total = total + self.shortcut_cost(int(reader), mappings)
        for unit, cost in self.whole.items():
            total[(mappings == unit).all(axis=1)] = self.offset + cost
        return np.asarray(total)

    def shortcut_cost(self, reader: int, mappings: NDArray[np.integer]) -> Integers:
        """Time and energy [k, 2] that a shortcut adds to k mappings [k, n].

        The tensor is on its maker's unit and on that of the step after it. On a third unit it must be received, and
        sent first unless the step after its maker had it sent already.
        """
        made = int(self.shortcut[reader])
        maker, first, unit = mappings[:, made], mappings[:, made + 1], mappings[:, reader]
        absent = (unit != maker) & (unit != first)
        unsent = absent & (first == maker)
        received = self.receive[made + 1, unit] * absent[:, None]
        return np.asarray(received + self.send[made, maker] * unsent[:, None])


def transitions(mappings: NDArray[np.integer]) -> Integers:
    """The number [k] of changes of unit in mappings [k, n]."""
    return np.asarray((mappings[:, :-1] != mappings[:, 1:]).sum(axis=1))


def shares(mappings: NDArray[np.integer], units: int) -> NDArray[np.float64]:
    """The share [k, M] of the steps that each unit runs."""
    return (mappings[:, :, None] == np.arange(units)).mean(axis=1)
