"""The exact Pareto front of all mappings of a chain, by dynamic programming in integers.

Costs add up, so every prefix of an optimal mapping is optimal among the prefixes that end in the same state. A state
holds all that later costs depend on: the unit of the last step, the changes of unit so far where their number is
limited, and, while a shortcut is open, the units that hold its tensor.

A limit on power is a limit on E - W T. A prefix that is no worse in T and in E - W T is no worse in E, so these two
objectives lose no point of the limited front, whereas filtering the front of (T, E) would.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fgnas.mapping.chain import NO_SHORTCUT, Chain, Integers, transitions

State = tuple[int, int, int, int]
"""Unit of the last step, changes of unit (0 if unlimited), maker's and first reader's unit of the open shortcut."""
CLOSED = -1


@dataclass(frozen=True)
class Limits:
    """Upper bounds of a mapping; the bound itself is allowed, None is no limit.

    Attributes:
        time, energy: in the platform's integers.
        power: energy over time, in the platform's integers.
        transitions: changes of unit.
    """

    time: int | None = None
    energy: int | None = None
    power: Fraction | None = None
    transitions: int | None = None

    def kept(self, costs: Integers, changes: Integers) -> NDArray[np.bool_]:
        """[k] whether mappings with costs [k, 2] and changes of unit [k] keep every limit."""
        kept = np.ones(len(costs), bool)
        for value, bound in ((costs[:, 0], self.time), (costs[:, 1], self.energy), (changes, self.transitions)):
            if bound is not None:
                kept &= value <= bound
        if self.power is not None:
            kept &= costs[:, 1] * self.power.denominator <= costs[:, 0] * self.power.numerator
        return kept


@dataclass(frozen=True)
class Front:
    """Mappings that no other one dominates, by rising time: costs [k, 2] and mappings [k, n]."""

    costs: Integers
    mappings: NDArray[np.int8]


@dataclass(frozen=True)
class _Labels:
    """The labels after one step: the front of every state, concatenated in the order of `states`.

    Attributes:
        states: {state: slice of its labels}.
        values: [k, 2] objectives.
        unit: [k] of the step.
        parent: [k] index of the label after the step before; 0 after the first step.
    """

    states: dict[State, slice]
    values: Integers
    unit: NDArray[np.int8]
    parent: NDArray[np.intp]


def exact_front(chain: Chain, limits: Limits | None = None) -> Front:
    """The Pareto front of (time, energy) over all mappings within the limits; empty if there is none."""
    limits = limits or Limits()
    return within(chain, np.concatenate([_candidates(chain, limits), chain.as_one()]), limits)


def _candidates(chain: Chain, limits: Limits) -> NDArray[np.int8]:
    """[k, n] the mappings of single steps among which those of the front are."""
    if not chain.supported.any(axis=1).all():
        return np.zeros((0, len(chain.steps)), np.int8)
    tables = _objectives(chain, limits.power)
    steps = [_begin(chain, tables)]
    for step in range(1, len(chain.steps)):
        steps.append(_advance(chain, tables, steps[-1], step, limits.transitions))
    return _trace(steps, front_of(steps[-1].values))


def within(chain: Chain, mappings: NDArray[np.int8], limits: Limits) -> Front:
    """The front of those of the mappings [k, n] that keep the limits."""
    costs = chain.costs(mappings)
    kept = np.flatnonzero(limits.kept(costs, transitions(mappings)))
    chosen = kept[front_of(costs[kept])]
    return Front(costs[chosen], mappings[chosen])


def front_of(values: Integers) -> NDArray[np.intp]:
    """Indices of the rows of [k, 2] that no other row dominates, by rising first value; one of several equal rows."""
    order = np.argsort(values[:, 0], kind="stable")  # fast where the input is a few sorted runs
    first, second = values[order, 0], values[order, 1]
    lowest = np.minimum.accumulate(second)
    falls = np.ones(len(order), bool)
    falls[1:] = second[1:] < lowest[:-1]
    order, first = order[falls], first[falls]
    # Among equal first values, the last one kept has the least second value.
    distinct = np.ones(len(order), bool)
    distinct[:-1] = first[:-1] != first[1:]
    return np.asarray(order[distinct])


@dataclass(frozen=True)
class _Tables:
    """Costs of a chain in the two objectives that labels are compared by."""

    cost: Integers
    send: Integers
    receive: Integers


def _objectives(chain: Chain, power: Fraction | None) -> _Tables:
    """Time and energy, or time and energy less the energy that the power limit allows in that time."""
    tables = (chain.cost, chain.send, chain.receive)
    if power is None:
        return _Tables(*tables)
    matrix = np.array([[1, -power.numerator], [0, power.denominator]], np.int64)
    # The offset is added to every mapping alike, so it may be left out while prefixes are compared.
    return _Tables(*(table @ matrix for table in tables))


def _supported(chain: Chain, step: int) -> list[int]:
    return [int(unit) for unit in np.flatnonzero(chain.supported[step])]


def _begin(chain: Chain, tables: _Tables) -> _Labels:
    """A label for each unit of the first step."""
    units = _supported(chain, 0)
    states = {(unit, 0, CLOSED, CLOSED): slice(place, place + 1) for place, unit in enumerate(units)}
    return _Labels(states, tables.cost[0, units], np.array(units, np.int8), np.zeros(len(units), np.intp))


def _advance(chain: Chain, tables: _Tables, before: _Labels, step: int, most: int | None) -> _Labels:
    """The labels after a step, from those before it; `most` limits the changes of unit."""
    arrivals: dict[State, list[tuple[slice, Integers]]] = {}
    opens = bool((chain.shortcut[step + 1 :] == step - 1).any())
    stays = _is_open(chain, step)
    for state, labels in before.states.items():
        for unit in _supported(chain, step):
            used = state[1] + (unit != state[0] and most is not None)
            if most is not None and used > most:
                continue
            held = (state[0], unit) if opens else state[2:] if stays else (CLOSED, CLOSED)
            added = tables.cost[step, unit] + _crossing(chain, tables, state, step, unit)
            arrivals.setdefault((unit, used, *held), []).append((labels, added))
    return _merge(before, arrivals)


def _is_open(chain: Chain, step: int) -> bool:
    """Whether a step after `step` reads the output of one before `step - 1`."""
    later = chain.shortcut[step + 1 :]
    return bool(((later != NO_SHORTCUT) & (later < step - 1)).any())


def _crossing(chain: Chain, tables: _Tables, state: State, step: int, unit: int) -> Integers:
    """The cost [2] of bringing a step's inputs to its unit."""
    last, _, maker, reader = state
    total = np.zeros(2, np.int64)
    if unit != last:
        total = total + tables.send[step - 1, last] + tables.receive[step, unit]
    made = int(chain.shortcut[step])
    if made != NO_SHORTCUT and unit not in (maker, reader):
        total = total + tables.receive[made + 1, unit]
        if reader == maker:
            total = total + tables.send[made, maker]
    return total


def _merge(before: _Labels, arrivals: dict[State, list[tuple[slice, Integers]]]) -> _Labels:
    """The front of each state's arrivals: labels before the step, and the cost that is added to them."""
    states: dict[State, slice] = {}
    values: list[Integers] = []
    parents: list[NDArray[np.intp]] = []
    end = 0
    for state, found in arrivals.items():
        arrived = np.concatenate([before.values[labels] + added for labels, added in found])
        origin = np.concatenate([np.arange(labels.start, labels.stop) for labels, _ in found])
        kept = front_of(arrived)
        states[state] = slice(end, end := end + len(kept))
        values.append(arrived[kept])
        parents.append(origin[kept])
    units = [np.full(part.stop - part.start, state[0], np.int8) for state, part in states.items()]
    nothing = _Labels({}, np.empty((0, 2), np.int64), np.empty(0, np.int8), np.empty(0, np.intp))
    if not states:
        return nothing
    return _Labels(states, np.concatenate(values), np.concatenate(units), np.concatenate(parents))


def _trace(steps: list[_Labels], labels: NDArray[np.intp]) -> NDArray[np.int8]:
    """The mappings [k, n] of labels [k] after the last step."""
    mappings = np.empty((len(labels), len(steps)), np.int8)
    for step in range(len(steps) - 1, -1, -1):
        mappings[:, step] = steps[step].unit[labels]
        labels = steps[step].parent[labels]
    return mappings
