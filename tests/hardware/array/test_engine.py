"""The sizes of an engine: what its descriptors have room for, and one line for everything else."""

import dataclasses
import importlib.util
import sys
from types import ModuleType
from typing import Any

import pytest
from pydantic import ValidationError

from fgnas import array_sizes
from fgnas.design import Array
from fgnas.errors import UserError
from fgnas.hardware.array import engine, programme
from fgnas.hardware.array.area import engine_columns
from fgnas.hardware.array.engine import Engine, Mode
from fgnas.hardware.array.programme import DESCRIPTOR, Descriptor, values_of
from fgnas.hardware.wire import Layout

SIZES: dict[str, Any] = {
    "units": 2, "bits": 8, "modes": (Mode(2, 1, 1),), "tiles": 1, "table_words": 512, "own_words": 8, "bias_words": 1,
    "activation_words": 0, "shifts": (0,), "maximum": False, "sum_bits": 20,
}  # fmt: skip
BOUNDED = {
    "bias_base": ("bias_words", engine.MOST_BIASES, "biases take 1 to 64 words"),
    "activation_base": ("activation_words", engine.MOST_ACTIVATION_WORDS, "activation tables take 0 to 256 words"),
    "own_base": ("own_words", engine.MOST_OWN_WORDS, "own rows take 2 to 16,384 words"),
    "table_base": ("table_words", engine.MOST_TABLE_WORDS, "a table has 2 to 16,384 words"),
}
"""Fields that name a word of a memory, the size that they bound, and what is said beyond it."""


def made(room: ModuleType = engine, **changes: Any) -> Engine:
    found: Engine = room.Engine(**(SIZES | changes))
    return found


@pytest.mark.parametrize("field", BOUNDED)
def test_descriptors_name_every_word_of_the_largest_memory_and_no_further_one(field: str) -> None:
    name, most, message = BOUNDED[field]
    assert getattr(made(**{name: most}), name) == most
    plain = {"operation": 1, "mode": 0, "tiles": 1, "count": 1}
    assert getattr(Descriptor(**plain | {field: most - 1}), field) == most - 1
    with pytest.raises(UserError, match=f"^engine: {message}"):
        made(**{name: 2 * most})
    with pytest.raises(UserError, match=f"^{field} of a step of the programme is {most}"):
        Descriptor(**plain | {field: most})


@pytest.mark.parametrize(("name", "most", "one"), [
    ("modes", engine.MOST_MODES, Mode(2, 1, 1)), ("shifts", engine.MOST_SHIFTS, 0)
])  # fmt: skip
def test_descriptors_name_every_mode_and_shift(name: str, most: int, one: Any) -> None:
    field = name.removesuffix("s")
    assert len(getattr(made(**{name: (one,) * most}), name)) == most == values_of(field)
    with pytest.raises(UserError, match=f"^engine: an engine offers 1 to {most} {name}$"):
        made(**{name: (one,) * (most + 1)})


def test_units_side_by_side_have_a_number_in_a_descriptor() -> None:
    """All units of the largest array may split one row; twice as many are refused wherever they are named."""
    most = engine.LARGEST_UNITS
    wide = made(units=most, modes=(Mode(1, 1, most),))
    side_by_side = wide.modes[0].n.bit_length() - 1
    assert Descriptor(operation=1, mode=0, tiles=1, count=1, target_columns=side_by_side).target_columns == 7
    with pytest.raises(UserError, match=r"^engine: units must be 1 to 128$"):
        made(units=2 * most, modes=(Mode(2 * most, 1, 1),))
    assert Array(units=most, columns=(), beat_bits=128).units == most
    with pytest.raises(ValidationError, match="less than or equal to 128"):
        Array(units=2 * most, columns=(), beat_bits=128)


def narrower(field: str) -> Layout:
    """The descriptor with three bits for a field, or two where it has three."""
    bits = 2 if values_of(field) == 8 else 3
    return Layout(tuple(
        dataclasses.replace(one, bits=bits) if one.name == field else one for one in DESCRIPTOR.fields
    ))  # fmt: skip


@pytest.mark.parametrize(("field", "size", "given"), [
    ("bias_base", "bias_words", 9), ("activation_base", "activation_words", 9), ("own_base", "own_words", 9),
    ("target_base", "own_words", 9), ("tiles", "tiles", 5), ("mode", "modes", (Mode(2, 1, 1),) * 5),
    ("shift", "shifts", (0,) * 9), ("residual_shift", "shifts", (0,) * 9),
])  # fmt: skip
def test_rules_follow_the_fields(field: str, size: str, given: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a narrower field of the descriptor, a size that does not fit the field breaks a rule of the engine."""
    assert made(**{size: given})
    monkeypatch.setattr(programme, "DESCRIPTOR", narrower(field))
    place = importlib.util.spec_from_file_location("engine_of_a_narrow_field", engine.__file__)
    assert place is not None and place.loader is not None
    changed = importlib.util.module_from_spec(place)
    monkeypatch.setitem(sys.modules, place.name, changed)
    place.loader.exec_module(changed)
    assert made(changed)
    with pytest.raises(UserError, match=r"^engine: "):
        made(changed, **{size: given})


def test_a_design_names_the_sizes_of_an_engine() -> None:
    fields = Array.model_json_schema()["properties"]
    assert fields["units"]["maximum"] == engine.LARGEST_UNITS == array_sizes.LARGEST_UNITS
    offered = {"beat_bits": programme.PORT_WIDTHS, "results": engine.RESULTS, "shared": engine.SHARED}
    assert {name: tuple(fields[name]["enum"]) for name in offered} == offered


def test_a_sum_is_in_its_slice_where_products_alone_meet_it() -> None:
    """One tile, no maximum, no second product in the slice; columns of engines say the same."""
    engines = [made(), made(tiles=2), made(maximum=True), made(paired=True)]
    assert [one.sliced for one in engines] == engine_columns(engines).sliced.tolist() == [True, False, False, False]
