"""The kernel's interface as data: packing by hand, registers as Vitis HLS assigns them, and the tables of the docs."""

from pathlib import Path

import numpy as np
import pytest

from fgnas.hardware import wire


def test_fields_by_hand() -> None:
    layout = wire.Layout((wire.Field("low", 3, ""), wire.Field("high", 2, "")), at=8)
    assert (layout.bits, layout.place("low"), layout.place("high")) == (5, (0, 3), (3, 2))
    # -1 in the field's three bits.
    assert layout.pack(low=np.array([5, -1]), high=np.array([2, 0])).tolist() == [0b10_101, 0b00_111]
    with pytest.raises(KeyError):
        layout.pack(low=np.array([5]))


def test_beats_have_room_for_their_fields() -> None:
    assert wire.EDGES_PER_BEAT * wire.EDGE.bits <= wire.BEAT_BITS
    assert 5 * wire.FEATURE.bits <= wire.FEATURE_TAIL.at, "t_in is 5 at most"
    assert wire.FEATURE_TAIL.at + wire.FEATURE_TAIL.bits <= wire.BEAT_BITS
    assert wire.LOGIT_BITS <= wire.WORD_BITS


def test_logits_of_wide_values_have_their_fraction_bits() -> None:
    """Four more as long as the word of a logit holds them: of 12 bits it does, of 13 it does not."""
    assert [wire.logit_extra_bits(width) for width in (2, 10, 12, 13, 16)] == [4, 4, 4, 0, 0]


def test_offsets_are_those_that_vitis_assigns() -> None:
    """Registers of a kernel with three scalars, four pointers and an output, as Vitis HLS 2023.2 documents them."""
    offsets = [register.offset for register in wire.ARGUMENT_REGISTERS]
    assert offsets == [0x10, 0x18, 0x20, 0x28, 0x34, 0x40, 0x4C, 0x58]


def test_every_status_has_a_bit_of_its_own() -> None:
    assert sorted(wire.STATUS_BITS.values()) == list(range(len(wire.STATUS_BITS)))
    assert set(wire.RTL_STATUS) < set(wire.STATUS_BITS)


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        (("offset", "register", "access", "meaning"), wire.register_table()),
        (("region", "layout"), wire.region_table()),
        (("bit", "meaning"), wire.status_table()),
    ],
)
def test_the_docs_hold_the_tables(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    table = wire.markdown(header, rows)
    text = (Path(__file__).parents[2] / "docs" / "accelerator.md").read_text(encoding="utf-8")
    assert table in text, f"docs/accelerator.md must hold\n{table}"
