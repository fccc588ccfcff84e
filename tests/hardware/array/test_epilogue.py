"""Additions to finished rows (own rows, partial sums), by hand: one unit or two, one descriptor or two."""

from dataclasses import replace

import numpy as np
import pytest

from fgnas.errors import UserError
from fgnas.hardware.array.cycles import PARTIAL_CYCLES, RESIDUAL_CYCLES, stream_of
from fgnas.hardware.array.engine import Engine, Mode, joined
from fgnas.hardware.array.programme import Activation, Descriptor, Operation, Region, Target, entry_beats
from fgnas.hardware.array.reference import Machine
from fgnas.hardware.array.resources import engine_resources
from fgnas.hardware.wire import Beats

ENGINE = Engine(
    units=1, bits=8, modes=(Mode(1, 1, 1),), tiles=2, table_words=512, own_words=64, bias_words=2, activation_words=0,
    shifts=(-2, 0, 1), maximum=True, sum_bits=24, residual=True, partial_words=600,
)  # fmt: skip
LEFT, PLAIN, HALF = range(3)
"""Numbers of its shifts."""


def regions_of(index: list[int], value: list[int], last: list[int]) -> dict[str, Beats]:
    """The entries of one taker."""
    entries = (np.array(one)[:, None] for one in (index, value, last))
    beats = entry_beats(*entries, 1, ENGINE.beat_bits)
    return {region.name.lower(): beats for region in Region}


def rows_of(count: int, **fields: int) -> Descriptor:
    """A descriptor of so many slot rows."""
    return Descriptor(**{"operation": Operation.SPARSE, "mode": 0, "tiles": 1, "count": count, "region": Region.EDGES,
                         "beats": 1, "limit": 8, "target": Target.OWN, "shift": PLAIN, **fields})  # fmt: skip


def machine() -> Machine:
    """Word w of the table holds w in every lane."""
    found = Machine(ENGINE)
    found.table[0] = np.arange(512)[:, None]
    return found


def test_a_row_adds_the_own_one_behind_its_activation() -> None:
    """-9 becomes 0, and 0 - 7/2 is rounded to -4; 6 + 5/2 to 8: ties go to even numbers."""
    run = machine()
    run.own[0, 20], run.own[0, 22] = -7, 5
    run.execute([rows_of(2, residual=1, own_base=20, target_tiles=2, residual_shift=HALF,
                         activation=Activation.RELU)], regions_of([3, 2], [-3, 3], [1, 1]))  # fmt: skip
    assert run.own[0, [0, 2], 0].tolist() == [-4, 8]


def test_the_sum_saturates_once_more() -> None:
    """127, which 7 * 100 saturates to, less 40 four times is -33; and 7 * 18 + 4 * 30 is too large again."""
    run = machine()
    run.own[0, 20], run.own[0, 21] = -40, 30
    run.execute([rows_of(2, residual=1, own_base=20, residual_shift=LEFT)], regions_of([7, 7], [100, 18], [1, 1]))
    assert run.own[0, :2, 3].tolist() == [-33, 127]


def test_words_of_a_row_keep_their_places() -> None:
    """Two rows of two words, of places for three: a row begins three words behind the one before."""
    run = machine()
    run.own[0, 20:26] = np.array([10, 20, 99, 30, 40, 99])[:, None]
    run.execute([rows_of(2, tiles=2, residual=1, own_base=20, target_tiles=3, residual_shift=PLAIN)],
                regions_of([1, 4], [1, 1], [1, 1]))  # fmt: skip
    assert run.own[0, :6, 7].tolist() == [11, 22, 0, 34, 45, 0]


def test_sums_go_on_from_partial_ones() -> None:
    """Rows of two words: 300 * 7 does not fit 8 bits, but 300 * 7 - 2000 = 100 does; 1 - 8 = -7."""
    run = machine()
    first = rows_of(2, tiles=2, target=Target.PARTIAL, target_tiles=2)
    last = rows_of(2, tiles=2, accumulate=1, target_tiles=2, offset=1)
    beats = [regions_of(*one)["edges"] for one in (([6, 0], [300, 1], [1, 1]), ([4, 7], [-400, -1], [1, 1]))]
    run.execute([first, last], {region.name.lower(): np.concatenate(beats) for region in Region})
    assert run.partial[0, :4, 0].tolist() == [1800, 2100, 0, 1]
    assert run.own[0, :4, 5].tolist() == [127, 100, -7, -7]


def test_the_largest_goes_on_and_is_kept() -> None:
    """max(2, 5), then 3, in place: the middle part keeps the maximum that it continues from."""
    run = machine()
    parts = [([2, 5], [1, 1], [0, 1]), ([3], [1], [1]), ([4], [-1], [1])]
    beats = [regions_of(*one)["edges"] for one in parts]
    steps = [rows_of(len(parts[place][0]), offset=place, accumulate=int(place > 0), reduce=1,
                     target=Target.PARTIAL if place < 2 else Target.OWN) for place in range(3)]  # fmt: skip
    run.execute(steps, {region.name.lower(): np.concatenate(beats) for region in Region})
    assert (run.partial[0, 0, 0], run.own[0, 0, 0]) == (5, 5)


def test_the_first_of_units_that_share_a_row_keeps_its_sums() -> None:
    """Two units take an entry each: 2 * 3 + 5 * 4."""
    engine = replace(ENGINE, units=2, modes=(Mode(1, 2, 1),))
    run = Machine(engine)
    run.table[:] = np.arange(512)[:, None]
    entries = (np.array([[2, 5]]), np.array([[3, 4]]), np.array([[1, 1]]))
    beats = entry_beats(*entries, 2, engine.beat_bits)
    run.execute([rows_of(1, target=Target.PARTIAL)], {region.name.lower(): beats for region in Region})
    assert run.partial[:, 0, 0].tolist() == [26, 0]


def test_an_engine_pays_for_what_it_is_built_with() -> None:
    """A cycle of every phase each; no DSP, and block RAM for partial sums, whose LUTs and flip-flops are modelled, too.

    600 words of 192 bits are five block RAMs of 36 bits side by side, and a half of 18 for the other 12.
    """
    plain = replace(ENGINE, residual=False, partial_words=0)
    latency = {engine: stream_of(rows_of(1), engine).latency for engine in (plain, ENGINE)}
    assert latency[ENGINE] - latency[plain] == RESIDUAL_CYCLES + PARTIAL_CYCLES
    with_them, without = engine_resources(ENGINE), engine_resources(plain)
    assert (with_them["dsp"], with_them["bram36"]) == (without["dsp"], without["bram36"] + 5.5)
    assert with_them["lut"] > without["lut"] and with_them["ff"] > without["ff"]
    adding = engine_resources(replace(plain, residual=True))
    assert (adding["dsp"], adding["bram36"]) == (without["dsp"], without["bram36"]) and adding["lut"] > without["lut"]
    few = engine_resources(replace(plain, partial_words=64))
    assert few["bram36"] == without["bram36"], "few of them are built from LUTs"


def test_a_summary_tells_of_what_an_engine_has() -> None:
    plain = replace(ENGINE, residual=False, partial_words=0)
    assert {"residual", "partial_words"}.isdisjoint(plain.summary()) and Engine.of(plain.summary()) == plain
    assert Engine.of(ENGINE.summary()) == ENGINE and joined([plain, ENGINE]) == ENGINE
    with pytest.raises(UserError, match="made by another version"):
        Engine.of({name: value for name, value in ENGINE.summary().items() if name != "tiles"})
