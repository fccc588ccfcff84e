"""Cycles in closed form where nothing waits. The simulations of tests/backends/test_array.py compare every phase."""

import numpy as np
import pytest
from arrays import random_source
from support import random_graph

from fgnas.hardware.array import cycles
from fgnas.hardware.array.encoding import encode_array, fit
from fgnas.hardware.array.engine import table_writes
from fgnas.hardware.array.programme import Target
from fgnas.hardware.pipeline.latency import FETCH_CYCLES, READ_LATENCY

FIRST = READ_LATENCY + FETCH_CYCLES


def one_end(slots: int) -> np.ndarray:
    ends = np.zeros((slots, 1), bool)
    ends[-1] = True
    return ends


@pytest.mark.parametrize(
    ("tiles", "parts", "together", "slots", "issue"),
    [
        (1, 1, 1, 10, 10),  # a slot row a cycle, a beat each
        (3, 1, 1, 10, 30),  # three tiles each
        (1, 2, 1, 10, 20),  # two beats each
        (1, 1, 5, 10, 10),  # five slot rows in a beat
    ],
)
def test_one_row(tiles: int, parts: int, together: int, slots: int, issue: int) -> None:
    stream = cycles.Stream(Target.OWN, tiles, 16, parts, together)
    found = cycles.compute_cycles(stream, one_end(slots))
    after = cycles.RESULT_CYCLES + cycles.END_CYCLES[Target.OWN] + cycles.DECODE_CYCLES
    assert found == FIRST + issue - 1 + after


def test_own_rows_need_no_beats() -> None:
    stream = cycles.Stream(Target.TABLE, 1, 16, 0, 0)
    after = cycles.RESULT_CYCLES + cycles.END_CYCLES[Target.TABLE] + cycles.DECODE_CYCLES
    assert cycles.compute_cycles(stream, cycles.dense_ends(5, 8, 1)) == 5 * 8 + after


def test_results_for_the_tables_leave_one_row_a_cycle() -> None:
    """Eight groups that end a row in every slot: the queues fill, and then eight cycles pass for each slot row."""
    ends = np.ones((200, 8), bool)
    stream = cycles.Stream(Target.TABLE, 1, 16, 0, 0)
    assert 1600 <= cycles.compute_cycles(stream, ends) <= 1600 + 20


@pytest.mark.parametrize("together", [2, 4])
def test_several_results_leave_for_the_tables_in_a_cycle(together: int) -> None:
    """As many words a cycle as the groups have shares; a share alone gives one a cycle."""
    ends, stream = np.ones((200, 8), bool), cycles.Stream(Target.TABLE, 1, 16, 0, 0, together)
    assert 1600 // together <= cycles.compute_cycles(stream, ends) <= 1600 // together + 20
    ends[:, np.arange(8) % together != 0] = False
    assert 1600 // together <= cycles.compute_cycles(stream, ends) <= 1600 // together + 20


@pytest.mark.parametrize(("parts", "apart"), [(2, 1), (4, 4), (8, 5)])
def test_rows_that_end_faster_than_they_are_finished_wait(parts: int, apart: int) -> None:
    """A row every `apart` slots: the epilogue of four or eight parts sets the pace, that of two does not."""
    ends = np.zeros((100 * apart, 1), bool)
    ends[apart - 1 :: apart] = True
    latency = int(cycles.result_cycles(0, 0, 8, parts))
    assert latency == cycles.RESULT_CYCLES + parts
    found = cycles.compute_cycles(cycles.Stream(Target.OWN, 1, 16, 0, 0, 1, 0, latency, parts), ends)
    after = latency + cycles.END_CYCLES[Target.OWN] + cycles.DECODE_CYCLES
    assert found == apart + 99 * max(apart, parts) + after


def test_where_several_results_leave_in_a_cycle() -> None:
    """Rows of one word, and groups that come out even: then the words of a cycle are in different banks."""
    assert [int(table_writes(groups, 1, 4)) for groups in (2, 3, 4, 6, 8, 12)] == [1, 1, 4, 1, 4, 4]
    assert table_writes(np.array([8, 8, 7]), np.array([1, 2, 1]), 2).tolist() == [2, 1, 1]


def test_busy_counts_the_network_alone() -> None:
    rng = np.random.default_rng(3)
    data = random_graph(rng, 30, 12, 5, 80)
    source = random_source(rng, 2, data, ("add",))
    encoded = encode_array(fit(source, data, 4), data)
    hidden = source.layers[0].geometry.features
    # A message with the coefficient 1 needs no multiplication.
    first, second = (len(data.sources) * layer.geometry.gcn for layer in source.layers)
    needed = (data.features.nnz + first) * hidden + (data.nodes * hidden + second) * data.classes
    assert cycles.multiplications(encoded) == needed
    total = sum(cycles.phase_cycles(encoded))
    assert cycles.busy(encoded, total) == needed / (32 * total)
