"""LUTs and flip-flops of engines: modes and shifts as the columns give them, the tables, and a small engine built."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fgnas.backends.array import write_rtl
from fgnas.backends.rtl import KERNEL
from fgnas.errors import UserError
from fgnas.hardware.array import area
from fgnas.hardware.array.area import (
    ATTENTION,
    CHAIN,
    DISTANCE,
    DOT,
    INDICES,
    ISSUED,
    MEASURED,
    NEAREST,
    NEAREST_ISSUE,
    NEAREST_KERNEL,
    NEAREST_SEQUENCER,
    NEAREST_WRITEBACK,
    OWN_TABLE,
    PARTIAL,
    RESIDUAL,
    ROOT,
    SEQUENCED,
    SHARED_ISSUE,
    SHARED_KERNEL,
    TABLE,
    TERMS,
    WIDE,
    engine_columns,
    lut_ff,
    measured,
    mode_columns,
    shift_columns,
    sizes_of,
    terms,
)
from fgnas.hardware.array.engine import BANK_WORDS, LANES, SHARED, Engine, Mode, Neighbours, Softmax
from fgnas.hardware.array.resources import engine_resources
from fgnas.hardware.devices import FAMILIES
from fgnas.hardware.pipeline.resources import UNITS
from fgnas.laboratory.array import draw_array, draw_finding, draw_sharing, draw_table, sharing, source_digest
from fgnas.tools.synth import instance_totals, synthesise

ENGINE = Engine(
    units=4, bits=8, modes=(Mode(2, 1, 2), Mode(2, 2, 1), Mode(4, 1, 1)), tiles=1, table_words=2048, own_words=512,
    bias_words=2, activation_words=0, shifts=(-1, 6, 8), maximum=False, sum_bits=26,
)  # fmt: skip
FINDING = replace(ENGINE, maximum=True, residual=True, neighbours=Neighbours(places=20, words=512))
OF_NEAREST = (CHAIN, DISTANCE, ROOT, INDICES, NEAREST, NEAREST_ISSUE, NEAREST_WRITEBACK, NEAREST_SEQUENCER,
              NEAREST_KERNEL)  # fmt: skip
BEFORE = {
    "xc7": ([82_850, 172_729, 12_994, 253_181, 15_649, 25_904, 886_945, 31_172, 240_034, 333_563, 229_047, 82_545],
            [70_664, 177_556, 12_797, 221_046, 15_924, 20_395, 828_108, 22_406, 201_219, 214_229, 149_938, 40_108]),
    "xcup": ([81_999, 190_503, 12_375, 248_127, 17_184, 26_823, 875_147, 29_690, 249_857, 326_496, 224_383, 89_368],
             [73_149, 220_115, 13_448, 227_009, 19_479, 25_447, 841_915, 23_649, 236_060, 233_759, 159_359, 50_632]),
}  # fmt: skip
"""LUTs and flip-flops of random engines without nearest points, as they are without what nearest points added."""


def test_equal_modes_and_shifts_count_once() -> None:
    """Two engines: n = 2 in the first layer, and n = 1 everywhere."""
    n = np.array([2, 1])
    one = np.ones(2, np.int64)
    modes = mode_columns([(one, n), (one, one), (n, one)])
    assert [mode.used.tolist() for mode in modes] == [[1, 1], [1, 0], [1, 0]]
    found = shift_columns([np.array([6, 4]), np.array([8, 4]), np.array([-2, 4])])
    assert {name: values.tolist() for name, values in found.items()} == {
        "shifts": [3, 1], "right_shifts": [2, 1], "shifted_out": [5 + 7, 3], "most_left": [2, 0],
    }  # fmt: skip


def test_columns_of_engines_are_theirs() -> None:
    """Engines with fewer modes and shifts than others have no more of them for that."""
    few = replace(ENGINE, modes=(Mode(4, 1, 1),), shifts=(3,), beat_bits=512, maximum=True)
    found = engine_columns([ENGINE, few])
    assert [sum(mode.used[place] for mode in found.modes) for place in (0, 1)] == [3, 1]
    assert (found.right_shifts.tolist(), found.most_left.tolist()) == ([2, 1], [1, 0])
    assert found.shifted_out.tolist() == [12, 2]
    assert (found.banks.tolist(), found.entries.tolist(), found.maximum.tolist()) == ([1, 4], [5, 20], [0, 1])
    assert found.together.tolist() == [few.loaded_together // 4, few.loaded_together]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_table_was_measured_on_the_rtl_of_today(family: str) -> None:
    table = json.loads((MEASURED / f"{family}.json").read_text())
    assert set(table["sources"]) == set(table["modules"]) == set(TERMS)
    stale = [module for module, digest in table["sources"].items() if digest != source_digest(module)]
    assert not stale, f"{family}: measured on other RTL, run `make characterise-array`: {', '.join(stale)}"


@pytest.mark.parametrize("family", FAMILIES)
def test_many_engines_at_once_have_the_sizes_of_each(family: str) -> None:
    rng = np.random.default_rng(5)
    engines = [draw_array(rng, attending=number % 3 == 0).engine for number in range(20)]
    engines += [draw_sharing(rng, shared).engine for shared in (*SHARED[1:], 2)]
    assert {engine.softmax is None for engine in engines} == {False, True}
    lut, ff = lut_ff(engine_columns(engines), family)
    for place, engine in enumerate(engines):
        alone = engine_resources(engine, family)
        assert (alone["lut"], alone["ff"]) == (lut[place], ff[place])
        assert alone["lut"] > 1000 * engine.units and alone["ff"] > 500 * engine.units


@pytest.mark.parametrize("family", FAMILIES)
def test_every_option_takes_luts_and_flip_flops(family: str) -> None:
    """The LUTs and flip-flops that each option adds to four units of 8 bits. By hand: the registers of the RTL are a
    lower bound of the flip-flops."""
    softmax = Softmax(fraction_bits=4, words=200, sum_bits=18)
    plain = replace(ENGINE, maximum=True)
    attending, wide = replace(plain, softmax=softmax), replace(plain, bits=12, sum_bits=34)
    pairs = {
        "residual": (plain, replace(plain, residual=True), LANES * (26 + 1 + 1 + 16)),  # the row, and the sum
        "partial sums": (plain, replace(plain, partial_words=64), LANES * 26),  # the total
        "both": (attending, replace(attending, partial_words=64, residual=True), LANES * (26 + 28 + 16) + 18),
        "cos": (attending, replace(attending, softmax=replace(softmax, dot=True)), 1),
        "wide": (plain, wide, LANES * (34 - 26)),
        "wide attention": (wide, replace(wide, softmax=softmax), 12 * LANES),
    }
    for name, (without, has, flip_flops) in pairs.items():
        before, after = (engine_resources(engine, family) for engine in (without, has))
        assert after["lut"] - before["lut"] > 4 * 100, name
        assert after["ff"] - before["ff"] > 0.95 * 4 * (flip_flops - 1), name


def test_an_engine_without_options_has_none_of_theirs() -> None:
    """Its sizes do not depend on what entries of options say."""
    options = (ATTENTION, DOT, RESIDUAL, PARTIAL, ISSUED, SEQUENCED, WIDE)
    options += (TABLE, OWN_TABLE, SHARED_ISSUE, SHARED_KERNEL, *OF_NEAREST)
    own = [name for name in TERMS if name not in options]
    assert len(own) == len(TERMS) - len(options)
    columns = engine_columns([ENGINE, replace(ENGINE, maximum=True)])
    weights = {name: measured("xc7")[name] for name in own}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(area, "measured", lambda family: weights)
        kept = lut_ff(columns)
    assert all(np.array_equal(one, other) for one, other in zip(kept, lut_ff(columns), strict=True))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("shared", SHARED[1:])
def test_a_shared_table_by_hand(shared: int, family: str) -> None:
    """Flip-flops are the register behind each block RAM, the numbers of the bank and of the block RAM in it that are
    read, for two cycles, and whether a bank was asked twice. A reader's word is chosen among the banks, three more with
    each LUT of a bit; each bank's address among those of the readers."""
    modes = (Mode(32, 1, 1), Mode(16, 1, 2))
    for bits, beat_bits in ((8, 128), (6, 256), (16, 512)):
        alone = replace(ENGINE, units=32, modes=modes, bits=bits, sum_bits=2 * bits + 12, beat_bits=beat_bits,
                        table_words=16_384)  # fmt: skip
        engine = sharing(alone, shared)
        banks, copies = engine.copy_banks, 32 // shared
        before, after = (engine_resources(one, family) for one in (alone, engine))
        of_units = 32 * (alone.banks.bit_length() - 1)  # the number of the bank that a unit reads
        flip_flops = copies * (table_registers(engine, shared) + 1) - 32 * table_registers(alone, 1)
        assert abs(after["ff"] - before["ff"] - flip_flops) <= 0.05 * (copies * shared + of_units) + 1
        crossbar = shared * engine.word_bits * -(-(banks - 1) // 3)
        own = 32 * 2 * alone.banks * alone.word_bits  # a unit's own table chooses among banks, and among block RAMs
        assert after["lut"] - before["lut"] > copies * crossbar - own
        addresses = banks * (16_384 // banks).bit_length() - banks  # an address is chosen for each bank
        assert addresses < table_luts(engine, family) - crossbar < 2.5 * crossbar + 2_000


def table_registers(engine: Engine, readers: int) -> int:
    """Flip-flops of a table that so many units read; the banks of a unit's own are read at one place."""
    slices = -(-engine.table_words // (engine.copy_banks * BANK_WORDS))
    places = engine.copy_banks if readers > 1 else 1
    numbers = readers * (engine.copy_banks.bit_length() - 1) + places * (slices - 1).bit_length()
    return engine.copy_banks * slices * engine.word_bits + 2 * numbers


def table_luts(engine: Engine, family: str) -> float:
    """LUTs of one table that units share."""
    columns = engine_columns([engine])
    return float(sizes_of(terms(TABLE, columns, family), measured(family)[TABLE], 1)[0, 0]) / UNITS


@pytest.mark.parametrize("family", FAMILIES)
def test_engines_without_nearest_points_keep_their_sizes(family: str) -> None:
    """To the cell: with and without attention, wide numbers and shared tables."""
    rng = np.random.default_rng(41)
    engines = [draw_array(rng, attending=place % 3 == 0, wide=place % 4 == 1).engine for place in range(8)]
    engines += [draw_sharing(rng, shared).engine for shared in SHARED[1:]]
    lut, ff = lut_ff(engine_columns(engines), family)
    assert (lut.tolist(), ff.tolist()) == BEFORE[family]


@pytest.mark.parametrize("family", FAMILIES)
def test_engines_with_nearest_points_have_the_sizes_of_each(family: str) -> None:
    """Beside each other and beside engines without, whatever of the entries each has."""
    rng = np.random.default_rng(6)
    engines = [draw_finding(rng, range(1, 17)).engine for _ in range(6)] + [ENGINE]
    lut, ff = lut_ff(engine_columns(engines), family)
    for place, engine in enumerate(engines):
        alone = engine_resources(engine, family)
        assert (alone["lut"], alone["ff"]) == (lut[place], ff[place])


@pytest.mark.parametrize("family", FAMILIES)
def test_nearest_points_by_hand(family: str) -> None:
    """A place has a register of its key, whether there is one, what the comparison found, whether its key moved, and an
    index that leaves; a comparator and a multiplexer of a LUT for each bit at most, beside the index's. A root has a
    register of its rest in each stage."""
    assert FINDING.neighbours is not None
    key = FINDING.neighbours.distance_bits(FINDING.bits) + 14
    assert key == 2 * 8 + 3 + 14

    def of(places: int, root: bool = False) -> dict[str, float]:
        own = Neighbours(places, 512, root=root)
        return engine_resources(replace(FINDING, neighbours=own), family)

    few, many, roots = of(10), of(30), of(10, root=True)
    flip_flops = 4 * 20 * (key + 3 + 14)
    assert abs(many["ff"] - few["ff"] - flip_flops) < 0.01 * flip_flops
    assert 4 * 20 * (1.5 * key + 14) < many["lut"] - few["lut"] < 4 * 20 * (2.5 * key + 14)
    assert roots["ff"] - few["ff"] > 4 * 10 * 11 / 2 and roots["lut"] - few["lut"] > 4 * 10 * 11 / 2
    chain = sizes_of(terms(CHAIN, engine_columns([FINDING]), family), measured(family)[CHAIN], 1)[0, 0] / UNITS
    assert 1_000 < chain < 2_000  # of 20 places


def test_tables_are_measured_for_all_numbers_of_readers() -> None:
    """2, 4, 8 and twice 16 in turn, with one, two and four words of H a cycle where the port has banks for them."""
    rng = np.random.default_rng(3)
    engines = [draw_table(rng, number).engine for number in range(11)]
    assert [engine.shared for engine in engines] == [2, 4, 8, 16, 2, 4, 8, 16, 2, 4, 8]
    turns = [1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4]
    assert [engine.results for engine in engines] == [
        min(turn, engine.banks) for turn, engine in zip(turns, engines, strict=True)
    ]
    assert all(engine.table_words % (512 * engine.copy_banks) == 0 for engine in engines)


def test_a_family_without_a_table_is_refused() -> None:
    with pytest.raises(UserError, match="family 'virtex'"):
        lut_ff(engine_columns([ENGINE]), "virtex")


@pytest.mark.slow
def test_a_built_engine_has_nearly_as_many(tmp_path: Path) -> None:
    """One unit behind the narrowest port; DSPs and block RAMs are exact."""
    pytest.importorskip("pyosys")
    rng = np.random.default_rng(11)
    array = next(one for one in iter(lambda: draw_array(rng), None) if one.engine.units == 1)
    write_rtl(array, tmp_path)
    modules = synthesise(["-f", "files.f"], KERNEL, "xc7", tmp_path / "rtl", tmp_path / "log")["modules"]
    built, model = instance_totals(modules, KERNEL)[KERNEL], engine_resources(array.engine)
    assert (built["dsp"], built["bram36"]) == (model["dsp"], model["bram36"])
    assert abs(built["lut"] - model["lut"]) < 0.15 * built["lut"]
    assert abs(built["ff"] - model["ff"]) < 0.05 * built["ff"]
