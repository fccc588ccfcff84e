"""Cycles in closed form where nothing waits. The simulations of tests/backends/test_array.py compare every phase."""

import numpy as np
import pytest
from arrays import random_source
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support import random_graph

from fgnas.errors import UserError
from fgnas.hardware.array import cycles
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.engine import QUEUE_WORDS, rows_held, table_writes
from fgnas.hardware.array.placing import fit
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
    assert cycles.compute_cycles(stream, cycles.row_ends(8, 1), times=5) == 5 * 8 + after


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
    encoded = encode_array(fit(source, data, Arrangement(4)), data)
    hidden = source.layers[0].features
    # A message with the coefficient 1 needs no multiplication.
    first, second = (len(data.sources) * layer.gcn for layer in source.layers)
    needed = (data.features.nnz + first) * hidden + (data.nodes * hidden + second) * data.classes
    assert cycles.multiplications(encoded) == needed
    total = sum(cycles.phase_cycles(encoded))
    assert cycles.busy(encoded, total) == needed / (32 * total)


LONG = 100_000_000
"""More cycles than can be stepped in a test."""


@pytest.mark.parametrize("entries", [1, 3, 8])
def test_a_phase_of_any_length(entries: int) -> None:
    """A slot a cycle, and the last row's result: the phase never waits."""
    stream = cycles.Stream(Target.OWN, 2, 16, 0, 0)
    after = cycles.RESULT_CYCLES + cycles.END_CYCLES[Target.OWN] + cycles.DECODE_CYCLES
    found = cycles.compute_cycles(stream, cycles.row_ends(entries, 4), times=LONG)
    assert found == 2 * entries * LONG + after


def test_a_phase_of_any_length_that_waits_for_the_tables() -> None:
    """Eight groups whose words go to the tables two a cycle: the 24 of a row take 12 cycles, its entries 9."""
    stream = cycles.Stream(Target.TABLE, 3, 8, 0, 0, 2)
    short, more = (
        cycles.compute_cycles(stream, cycles.row_ends(3, 8), times=times) for times in (1_000, 1_000 + LONG)
    )
    assert more == short + 3 * 8 // 2 * LONG


@given(st.data())
def test_rows_are_counted_as_they_are_stepped(data: st.DataObject) -> None:
    """Repeated slot rows, and the same slot rows written out: those are stepped to the end."""
    groups, tiles = data.draw(st.sampled_from((1, 2, 3, 4, 8))), data.draw(st.integers(1, 8))
    results = data.draw(st.sampled_from([one for one in (1, 2, 4) if groups % one == 0]))
    parts = data.draw(st.integers(0, 2))
    stream = cycles.Stream(
        data.draw(st.sampled_from((Target.TABLE, Target.OWN, Target.LOGITS, Target.PARTIAL))), tiles,
        rows_held(QUEUE_WORDS, tiles), parts, min(parts, 1), results, data.draw(st.integers(0, 3)),
        data.draw(st.integers(10, 30)), data.draw(st.sampled_from((1, 2, 8))),
    )  # fmt: skip
    times = data.draw(st.integers(0, 100))
    if stream.target != Target.LOGITS and data.draw(st.booleans()):
        ends = data.draw(arrays(np.bool_, (data.draw(st.integers(1, 5)), groups)))
    else:
        ends = cycles.row_ends(data.draw(st.integers(1, 9)), groups)
    stepped = cycles.compute_cycles(stream, np.tile(ends, (times, 1)))
    assert cycles.compute_cycles(stream, ends, times=times) == stepped


@pytest.mark.parametrize("parts", [0, 1])
def test_results_that_wait_for_each_other_are_refused(parts: int) -> None:
    """Logits leave row by row across the groups, and one group has no rows."""
    ends = np.array([[True, False]])
    with pytest.raises(UserError, match="a phase with results for logits never ends"):
        cycles.compute_cycles(cycles.Stream(Target.LOGITS, 1, 16, parts, parts), ends, times=5)
