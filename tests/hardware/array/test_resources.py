"""Block RAMs and DSPs of an engine against those that Yosys maps, and against its written summary."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from arrays import random_source
from support import random_graph

from fgnas.backends.array import write_rtl
from fgnas.errors import UserError
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.engine import Softmax
from fgnas.hardware.array.lowering import ArrayAccelerator
from fgnas.hardware.array.placing import fit
from fgnas.hardware.array.programme import PORT_WIDTHS
from fgnas.hardware.array.resources import engine_block_rams, engine_resources
from fgnas.hardware.devices import FAMILIES
from fgnas.hardware.kinds import described_kind
from fgnas.paths import templates_directory
from fgnas.tools.synth import count_block_rams, count_cells, instance_totals, synthesise

DEPTHS = ((1536, 512), (4608, 64), (16384, 2048))
"""Words of the table and of the own rows."""
WIDE_DEPTHS = ((1024, 600), (5120, 64))
"""Those of engines whose numbers have 16 bits."""
EXPONENTIALS = (Softmax(3, 250, 12), Softmax(6, 1997, 12))
"""Softmax units of engines with attention: one with its table of exponentials in LUTs, one in block RAM."""
PARTIAL_SUMS = ((60, 20), (600, 26))
"""Words and bits of partial sums, in LUTs and in block RAM."""


def engines() -> dict[str, ArrayAccelerator]:
    """Arrays of one unit with memories of many depths and widths, behind each port."""
    rng = np.random.default_rng(1)
    found = {}
    for number, (table, own) in enumerate(DEPTHS):
        data = random_graph(rng, 20, 12, 4, 40)
        beat_bits = PORT_WIDTHS[number % len(PORT_WIDTHS)]
        array = fit(random_source(rng, 2, data), data, Arrangement(1, (1,), beat_bits=beat_bits))
        bits = max(array.engine.bits, 6 + 2 * number)
        table += -table % (512 * array.engine.banks)
        engine = replace(array.engine, table_words=table, own_words=own, bits=min(10, bits))
        found[f"{table}x{own}x{engine.bits}-{beat_bits}"] = replace(array, engine=engine)
    for softmax in EXPONENTIALS:
        array = fit(random_source(rng, 2, data), data, Arrangement(1, (1,)))
        engine = replace(array.engine, maximum=True, softmax=softmax)
        found[f"{softmax.words}-exponentials"] = replace(array, engine=engine)
    for table, own in WIDE_DEPTHS:
        engine = replace(array.engine, table_words=table, own_words=own, bits=16, partial_words=200, sum_bits=44)
        found[f"{table}x{own}x16"] = replace(array, engine=engine)
    for words, sum_bits in PARTIAL_SUMS:
        engine = replace(array.engine, partial_words=words, sum_bits=sum_bits)
        found[f"{words}-partial-sums"] = replace(array, engine=engine)
    return found


@pytest.mark.parametrize(
    ("family", "every"), [("xc7", 5), *(pytest.param(family, 1, marks=pytest.mark.slow) for family in FAMILIES)]
)
def test_block_rams_are_those_of_synthesis(family: str, every: int, tmp_path: Path) -> None:
    pytest.importorskip("pyosys")
    arrays = dict(list(engines().items())[::every])
    folders = {name: tmp_path / name for name in arrays}
    for name, array in arrays.items():
        write_rtl(array, folders[name])
    built = count_block_rams({name: folder / "rtl" for name, folder in folders.items()}, family, tmp_path / "log")
    for name, blocks in built.items():
        found = sum(count_cells(cells)["bram36"] for cells in blocks.values())
        assert found == engine_block_rams(arrays[name].engine, family), name


@pytest.mark.parametrize("family", FAMILIES)
def test_a_product_of_wide_numbers_takes_one_dsp(family: str, tmp_path: Path) -> None:
    """16 x 16 bits, in a slice of 25 x 18 or 27 x 18."""
    pytest.importorskip("pyosys")
    module = "fgnas_multiplier_dsp"
    source = (templates_directory() / "rtl" / f"{module}.sv").read_text()
    for name in ("LeftBits", "RightBits"):
        source = re.sub(rf"({name} += )8", r"\g<1>16", source)
    (tmp_path / "one.sv").write_text(source)
    modules = synthesise(["one.sv"], module, family, tmp_path, tmp_path / "log")["modules"]
    found = instance_totals(modules, module)[module]
    assert (found["dsp"], found["lut"]) == (1, 0)


def test_a_summary_describes_the_engine() -> None:
    """A project's report gives the same resources as the engine; other content is refused in one line."""
    array = next(iter(engines().values()))
    summary = json.loads(json.dumps(array.summary()))
    found = described_kind(summary).resources(summary, "xc7")
    assert found == engine_resources(array.engine)
    assert (found["dsp"], found["bram36"]) == (8.0, engine_block_rams(array.engine))
    with pytest.raises(UserError, match="made by another version"):
        described_kind(summary).resources({"engine": {"units": 3}}, "xc7")
