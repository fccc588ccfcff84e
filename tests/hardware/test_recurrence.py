"""The recurrence: the compiled one and the plain one against its definition, on trees of stages that know no graph."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fgnas.hardware.recurrence import recurrence_cycles, row_finishes
from fgnas.hardware.stage import Buffer, Services, Stage, StageGraph

Numbers = tuple[int, int, int, int, int]
"""(per_item, per_row, depth, rows, feeder) of a stage."""


def defined(stages: list[Numbers], items: list[int], release: list[int], items_reader: int = 1) -> dict:
    """The finishes by (stage, row): the recurrence of the module's docstring, word for word."""
    finish: dict[tuple[int, int], int] = {}
    for i, count in enumerate(items):
        for s, (per_item, per_row, _, _, feeder) in enumerate(stages):
            earlier = [0]
            if i > 0:
                earlier.append(finish[s, i - 1])
            if feeder >= 0:
                earlier.append(finish[feeder, i] + stages[feeder][2])
            if s == 0 and release[i] >= 0:
                earlier.append(finish[items_reader, release[i]])
            for q, (_, _, _, rows, feeds) in enumerate(stages):
                if feeds == s and i >= rows:
                    earlier.append(finish[q, i - rows])
            finish[s, i] = max(earlier) + per_item * count + per_row
    return finish


def services_of(stages: list[Numbers], items_reader: int | None = None) -> Services:
    """A graph with these numbers; its only layer is the stages themselves."""
    named = [
        Stage(
            str(s), per_item=lambda layer, s=s: layer[s][0], per_row=lambda layer, s=s: layer[s][1],
            depth=lambda layer, s=s: layer[s][2],
        )
        for s in range(len(stages))
    ]  # fmt: skip
    buffers = {
        (str(feeder), str(s)): Buffer("", lambda layer, s=s: layer[s][3], holds_items=s == items_reader)
        for s, (*_, feeder) in enumerate(stages) if feeder >= 0
    }  # fmt: skip
    return StageGraph(named, buffers).services([stages])


def test_one_stage_is_a_sum() -> None:
    assert recurrence_cycles(services_of([(2, 2, 2, 1, -1)]), np.array([3, 1, 5])).tolist() == [2 * 9 + 2 * 3]


def test_a_short_buffer_holds_a_fast_stage_back() -> None:
    """One row of buffer: the first stage may start row i only when the second has finished row i - 1."""
    items = np.ones(3, np.int64)
    deep, short = (
        recurrence_cycles(services_of([(0, 1, 2, 1, -1), (0, 10, 0, rows, 0)]), items)[0] for rows in (32, 1)
    )
    assert deep == 1 + 2 + 3 * 10
    assert short == 3 * (1 + 2 + 10)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_both_against_the_definition(data: st.DataObject) -> None:
    """Trees of up to seven stages, with up to six readers of one of them."""
    count = data.draw(st.integers(1, 7))
    small = [st.integers(0, 5), st.integers(0, 9), st.integers(0, 12), st.integers(1, 4)]
    numbers = [tuple(data.draw(kind) for kind in small) for _ in range(count)]
    # In topological order, as the graph sorts its stages: feeders never decrease.
    feeders = sorted(data.draw(st.integers(0, s - 1)) for s in range(1, count))
    stages = [(*own, feeder) for own, feeder in zip(numbers, [-1, *feeders], strict=True)]
    items = data.draw(st.lists(st.integers(1, 30), min_size=1, max_size=25))
    release = [-1] * len(items)
    reader = data.draw(st.sampled_from([None, *(s for s in range(1, count) if stages[s][4] == 0)]))
    if reader is not None:
        release = [data.draw(st.integers(-1, i - 1)) for i in range(len(items))]
    services = services_of(stages, reader)
    assert [int(name) for name in services.graph.order] == list(range(count))
    finish = defined(stages, items, release, reader or 0)
    released = None if reader is None else np.array(release)
    rows = row_finishes(services, np.array(items), released)
    assert rows.tolist() == [[finish[s, i] for i in range(len(items))] for s in range(count)]
    last = max(finish[s, len(items) - 1] for s in range(count))
    assert recurrence_cycles(services, np.array(items), None, released).tolist() == [last]


def test_counts_that_float32_does_not_hold_are_exact() -> None:
    """Odd counts above 2**24, in one array with small ones."""
    items = np.array([3, 1, 7, 2, 5])
    tables = []
    for scale in (1, 1_000_004):
        stages = [(scale, 1, 4, 1, -1), (0, 2 * scale, 1, 2, 0), (0, 3 * scale + 1, 0, 2, 1)]
        expected = max(defined(stages, items.tolist(), [-1] * 5).values())
        tables.append(services_of(stages))
    both = Services(tables[0].graph, np.concatenate([services.table for services in tables], axis=2))
    assert recurrence_cycles(both, items)[1] == expected
    assert expected > 1 << 24 and expected % 2 == 1


def test_chosen_designs() -> None:
    first, second = (services_of([(per_item, 1, 2, 1, -1), (0, 9, 0, 2, 0)]) for per_item in (1, 4))
    both = Services(first.graph, np.concatenate([first.table, second.table], axis=2))
    items = np.array([3, 1, 5])
    assert recurrence_cycles(both, items, np.array([False, True])).tolist() == recurrence_cycles(second, items).tolist()
