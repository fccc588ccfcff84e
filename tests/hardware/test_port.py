"""A memory port that takes several cycles for a beat: its pace, and its recurrence compared with a definition."""

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import random_design, random_graph

from fgnas.design import columns_of
from fgnas.hardware.pipeline.geometry import geometry
from fgnas.hardware.pipeline.latency import Workload, latency_cycles, timeline
from fgnas.hardware.port import Port, beat_cycles, port_cycles, port_finishes
from fgnas.hardware.recurrence import recurrence_cycles, row_finishes
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.stage import Buffer, Services, Stage, StageGraph

Numbers = tuple[int, int, int, int, int]
"""(per_item, per_row, depth, rows, feeder) of a stage."""


@pytest.mark.parametrize(
    ("bits", "mhz", "clock_mhz", "cycles"),
    [
        (None, None, 300, 1), (128, 333, 100, 1), (512, 300, 100, 1), (64, 150, 100, 2), (64, 150, 150, 2),
        (32, 150, 100, 4), (64, 150, 300, 4), (256, 100, 150, 1), (256, 100, 300, 1.5), (128, 100, 125, 1.25),
        (64, 150, 200, 2731 / 1024), (128, 33.3, 99.9, 3), (None, 50, 200, 1),
    ],
)  # fmt: skip
def test_the_pace_of_a_port(bits: int | None, mhz: float | None, clock_mhz: float, cycles: float) -> None:
    """The kernel's clock or the port's, whichever is lower; parts of a cycle are rounded up to 1/1024."""
    assert beat_cycles(bits, mhz, clock_mhz) == cycles


class Reader:
    """Arrivals of the beats of one region: a burst is served when the queue had room for it, in order."""

    def __init__(self, port: Port) -> None:
        self.port, self.pace, self.arrivals, self.taken = port, Fraction(port.beat_cycles), [], []
        self.free = Fraction(0)

    def arrival(self, beat: int) -> int:
        """The cycle from which the stage may take a beat."""
        while len(self.arrivals) <= beat:
            number = len(self.arrivals) // self.port.burst
            before = number - self.port.queue // self.port.burst
            if len(self.arrivals) % self.port.burst == 0 and before >= 0:
                self.free = max(self.free, self.taken[(before + 1) * self.port.burst - 1] + self.port.latency)
            self.free += self.pace
            self.arrivals.append(ceil(self.free) - 1)
        return self.arrivals[beat]


def defined(
    stages: list[Numbers], items: list[int], release: list[int], items_reader: int, taken: int, sender: int, port: Port
) -> tuple[list[list[int]], int]:
    """Finishes [stages][rows] and the end: every item takes its beat, every beat that is sent occupies the port."""
    finish: list[list[int]] = [[] for _ in stages]
    reader, place, free = Reader(port), 0, [0] * len(stages)
    for i, count in enumerate(items):
        for s, (per_item, per_row, _, _, feeder) in enumerate(stages):
            now = free[s]
            if feeder >= 0:
                now = max(now, finish[feeder][i] + stages[feeder][2])
            if s == 0 and release[i] >= 0:
                now = max(now, finish[items_reader][release[i]])
            for q, (_, _, _, rows, feeds) in enumerate(stages):
                if feeds == s and i >= rows:
                    now = max(now, finish[q][i - rows])
            if s == sender:
                for _ in range(per_row):
                    issued, now = now, now + ceil(port.beat_cycles)
                finish[s].append(issued + 1)
            else:
                for _ in range(count):
                    if s == 0 and taken:
                        now = max(now, reader.arrival(place // taken))
                    now += per_item
                    if s == 0 and taken:
                        place += 1
                        if place % taken == 0:
                            reader.taken.append(now)
                now += per_row
                finish[s].append(now)
            free[s] = now
    return finish, max(free)


def services_of(stages: list[Numbers], items_reader: int | None, taken: int, sender: int) -> Services:
    """A graph with these numbers; its only layer is the stages themselves."""
    named = [
        Stage(
            str(s), per_item=lambda layer, s=s: layer[s][0], per_row=lambda layer, s=s: layer[s][1],
            depth=lambda layer, s=s: layer[s][2], items_per_beat=taken if s == 0 else 0, sends_beats=s == sender,
        )
        for s in range(len(stages))
    ]  # fmt: skip
    buffers = {
        (str(feeder), str(s)): Buffer("", lambda layer, s=s: layer[s][3], holds_items=s == items_reader)
        for s, (*_, feeder) in enumerate(stages) if feeder >= 0
    }  # fmt: skip
    return StageGraph(named, buffers).services([stages])


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_against_the_definition(data: st.DataObject) -> None:
    """Trees of stages whose first takes beats and whose last may send some; bursts of a few beats, any pace."""
    count = data.draw(st.integers(1, 5))
    small = [st.integers(0, 9), st.integers(0, 12), st.integers(1, 4)]
    numbers = [(data.draw(st.integers(0, 4)), *(data.draw(kind) for kind in small)) for _ in range(count)]
    numbers[0] = (data.draw(st.integers(1, 6)), 0, *numbers[0][2:])
    sender = data.draw(st.sampled_from([-1, count - 1])) if count > 1 else -1
    if sender > 0:
        numbers[sender] = (0, data.draw(st.integers(1, 3)), *numbers[sender][2:])
    feeders = sorted(data.draw(st.integers(0, s - 1)) for s in range(1, count))
    stages = [(*own, feeder) for own, feeder in zip(numbers, [-1, *feeders], strict=True)]
    items = data.draw(st.lists(st.integers(1, 30), min_size=1, max_size=25))
    release = [-1] * len(items)
    reader = data.draw(st.sampled_from([None, *(s for s in range(1, count) if stages[s][4] == 0 and s != sender)]))
    if reader is not None:
        release = [data.draw(st.integers(-1, i - 1)) for i in range(len(items))]
    taken = data.draw(st.sampled_from([1, 4]))
    pace = data.draw(st.sampled_from([1 + 1 / 1024, 1.25, 2, 2731 / 1024, 4, 16]))
    burst = data.draw(st.integers(4, 16))
    # The reader's latency is shorter than a burst, as in the kernel.
    port = Port(pace, data.draw(st.integers(0, burst - 1)), burst, 2 * burst)
    services = services_of(stages, reader, taken, sender)
    finish, end = defined(stages, items, release, reader or 0, taken, sender, port)
    released = None if reader is None else np.array(release)
    rows, last = port_finishes(services, np.array(items), port, released)
    assert rows.tolist() == finish and last == end
    assert port_cycles(services, np.array(items), port, None, released).tolist() == [end]


def test_a_port_of_a_beat_a_cycle_is_none() -> None:
    """Both recurrences agree where the port takes a beat a cycle."""
    stages = [(1, 0, 9, 0, -1), (0, 3, 0, 2, 0), (0, 1, 0, 2, 1)]
    items, port = np.array([3, 1, 5, 2, 9]), Port(1.0, 2, 4, 8)
    services = services_of(stages, None, 1, 2)
    rows, end = port_finishes(services, items, port)
    assert rows.tolist() == row_finishes(services, items).tolist()
    assert recurrence_cycles(services, items).tolist() == port_cycles(services, items, port).tolist() == [end]


@pytest.mark.parametrize("pace", [1.25, 2.0, 8.0])
def test_many_designs_at_once_cost_what_each_costs_alone(pace: float) -> None:
    """Two layers on a random graph of several bursts; the time line ends in the same cycle."""
    rng = np.random.default_rng(int(pace))
    data = random_graph(rng, 250, 40, 9, 1500)
    designs = [random_design(rng, 2) for _ in range(12)]
    shape, workload = GraphShape.of(data), Workload.of(data)
    together = latency_cycles(geometry(columns_of(designs), shape), workload, beat_cycles=pace)
    ideal = latency_cycles(geometry(columns_of(designs), shape), workload)
    assert (together > ideal).all()
    for cycles, design in zip(together.tolist(), designs, strict=True):
        layers = geometry(columns_of([design]), shape)
        assert latency_cycles(layers, workload, beat_cycles=pace).tolist() == [cycles]
        assert timeline(layers, workload, beat_cycles=pace).cycles == cycles


def test_only_one_stage_sends_and_only_the_first_takes() -> None:
    first, second = Stage("a"), Stage("b", items_per_beat=1)
    with pytest.raises(ValueError, match="only the first stage may take beats"):
        StageGraph([first, second], {("a", "b"): Buffer("", lambda layer: 2)})
    with pytest.raises(ValueError, match="only one stage may send"):
        StageGraph(
            [Stage("a", sends_beats=True), Stage("b", sends_beats=True)], {("a", "b"): Buffer("", lambda layer: 2)}
        )
