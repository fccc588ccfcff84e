"""Entries and descriptors: packing and reading back, and the tables of the documentation."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.array import programme
from fgnas.hardware.array.engine import MOST_PROGRAMME_OF_POINTS
from fgnas.hardware.array.programme import (
    Descriptor,
    PointDescriptor,
    check_of,
    check_step,
    entry_beats,
    programme_beats,
    read_entries,
    read_programme,
)


@pytest.mark.parametrize("beat_bits", programme.PORT_WIDTHS)
@pytest.mark.parametrize("takers", [1, 2, 4, 8, 16, 32, 128])
@pytest.mark.parametrize(("bits", "value_bits"), [(10, 10), (11, 16), (16, 16)])
def test_entries_come_back(takers: int, beat_bits: int, bits: int, value_bits: int) -> None:
    """Several slot rows in a beat, or several beats for a slot row; values at both ends of their range."""
    rng = np.random.default_rng(takers)
    shape, end = (23, takers), 1 << (value_bits - 1)
    index, value, last = rng.integers(0, 1 << 14, shape), rng.integers(-end, end, shape), rng.integers(0, 2, shape)
    value[0, 0], value[1, 0] = -end, end - 1
    beats = entry_beats(index, value, last, takers, beat_bits, bits)
    per_beat = programme.slot_rows_per_beat(takers, beat_bits, bits)
    parts = programme.beats_per_slot_row(takers, beat_bits, bits)
    assert len(beats) == -(-23 // per_beat) * parts
    for before, after in zip((index, value, last), read_entries(beats, takers, 23, bits), strict=True):
        assert np.array_equal(before, after)


def test_an_entry_by_hand() -> None:
    """The fourth taker's entry begins at bit 75: index 5 in 14 bits, -1 in ten, and the end of its row."""
    index, value, last = (np.array([[0, 0, 0, x]]) for x in (5, -1, 1))
    word = int.from_bytes(entry_beats(index, value, last, 4, 128).tobytes(), "little")
    assert word == (5 | 0x3FF << 14 | 1 << 24) << 75


def test_a_wide_entry_by_hand() -> None:
    """From 11 bits on, a beat contains fewer entries: the fourth begins at bit 93, and its value has 16 bits."""
    index, value, last = (np.array([[0, 0, 0, x]]) for x in (5, -1, 1))
    word = int.from_bytes(entry_beats(index, value, last, 4, 128, 11).tobytes(), "little")
    assert word == (5 | 0xFFFF << 14 | 1 << 30) << 93
    assert [programme.entries_per_beat(128, bits) for bits in (2, 10, 11, 16)] == [5, 5, 4, 4]
    assert [programme.entries_per_beat(bits, 16) for bits in programme.PORT_WIDTHS] == [4, 8, 16]


def test_descriptors_come_back() -> None:
    first = Descriptor(operation=1, mode=2, tiles=3, count=12345, offset=77, beats=99, limit=16384, bits=16)
    second = replace(first, operation=2, entries=4095, target=2, result_beats=(1 << 28) - 1, residual=1, spare_high=1)
    for beat_bits, beats in zip(programme.PORT_WIDTHS, (2, 1, 1), strict=True):
        assert read_programme(programme_beats([first, second], beat_bits)) == [first, second]
        assert len(programme_beats([first], beat_bits)) == programme.descriptor_beats(beat_bits) == beats


def test_descriptors_of_points_come_back() -> None:
    """Their fields are wider, and fill no more beats."""
    first = PointDescriptor(operation=1, mode=2, tiles=511, count=12345, table_base=32767, limit=65535, bias_base=1023)
    second = replace(first, operation=2, target_tiles=511, own_tiles=300, shift=31, result_beats=(1 << 20) - 1, place=1)
    for beat_bits in programme.PORT_WIDTHS:
        assert read_programme(programme_beats([first, second], beat_bits), neighbours=True) == [first, second]
    assert programme.POINT_DESCRIPTOR.bits <= 256
    for field in ("accumulate", "attention", "spare_high"):
        with pytest.raises(UserError, match=f"{field} of a step of the programme is 1, which 0 bits do not hold"):
            replace(first, **{field: 1})
    with pytest.raises(UserError, match="sample of a step of the programme is 1, which 0 bits do not hold"):
        Descriptor(operation=2, mode=0, tiles=1, count=1, sample=1)


def test_what_follows_a_load_of_points_runs_for_every_cloud() -> None:
    weights = PointDescriptor(operation=0, mode=0, tiles=1, count=1)
    points, work = replace(weights, region=1, entries=3), replace(weights, operation=1)
    assert list(programme.executed([weights, points, work])) == [(0, 0), *((c, p) for c in range(3) for p in (1, 2))]
    assert list(programme.executed([weights, work])) == [(0, 0), (0, 1)]
    plain = Descriptor(operation=0, mode=0, tiles=1, count=1, region=1, entries=3)
    assert list(programme.executed([plain])) == [(0, 0)]


def test_a_value_without_room_is_refused() -> None:
    with pytest.raises(UserError, match="tiles of a step of the programme is 16, which 4 bits do not hold; choose"):
        Descriptor(operation=1, mode=0, tiles=16, count=1)


def test_a_check_tells_one_flipped_bit_from_another() -> None:
    """What a flipped bit changes of the check depends on nothing else, and no two bits of the longest programme change
    the same: so one or two flipped bits are found."""
    for beat_bits in programme.PORT_WIDTHS:
        nothing = np.zeros((1, beat_bits // 8), np.uint8)
        found = np.array([
            check_of(np.packbits(np.arange(beat_bits) == bit, bitorder="little")[None], 0)
            for bit in range(min(programme.CHECK_WORDS * 32, beat_bits))
        ], np.uint64)  # fmt: skip
        assert check_of(nothing, 0) == 0
        seen = [found]
        for _ in range(programme.descriptor_beats(beat_bits) * MOST_PROGRAMME_OF_POINTS - 1):
            seen.append(check_step(seen[-1]))
        changes = np.concatenate(seen)
        assert 0 not in changes and len(np.unique(changes)) == len(changes)


def test_a_check_is_linear_and_seeded_with_the_engine() -> None:
    rng = np.random.default_rng(6)
    for beat_bits in programme.PORT_WIDTHS:
        one, two = rng.integers(0, 256, (2, 20, beat_bits // 8), np.uint8)
        zero = check_of(np.zeros_like(one), 0)
        assert check_of(one ^ two, 0) == check_of(one, 0) ^ check_of(two, 0) ^ zero
        assert check_of(one[:0], 77) == 77 and check_of(one, 77) != check_of(one, 78)


def test_every_status_has_a_bit_of_its_own() -> None:
    assert sorted(programme.STATUS_BITS.values()) == list(range(len(programme.STATUS_BITS)))


def test_offsets_are_those_that_vitis_assigns() -> None:
    assert [register.offset for register in programme.ARGUMENT_REGISTERS] == [
        0x10, 0x18, 0x24, 0x30, 0x3C, 0x48, 0x54, 0x5C,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        (("offset", "register", "access", "meaning"), programme.register_table()),
        (("bit", "bits", "field", "meaning"), programme.descriptor_table()),
        (("bit", "bits", "field", "meaning"), programme.descriptor_table(neighbours=True)),
        (("bit", "meaning"), programme.status_table()),
    ],
)
def test_the_docs_hold_the_tables(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    table = wire.markdown(header, rows)
    text = (Path(__file__).parents[3] / "docs" / "array-interface.md").read_text(encoding="utf-8")
    assert table in text, f"docs/array-interface.md must hold\n{table}"
