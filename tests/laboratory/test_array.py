"""Points of the array's modules: what a run of Yosys measures together is what it measures one by one."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from arrays import random_data, random_source

from fgnas.backends.array import AnyOnEngine, write_rtl
from fgnas.hardware.array.area import CHAIN, DISTANCE, NEAREST, ROOT, UNIT
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.placing import fit
from fgnas.laboratory import array as laboratory
from fgnas.laboratory.bench import Batch, named_of
from fgnas.tools.synth import count_cells, synthesise


def batch() -> Batch[AnyOnEngine]:
    """Units that finish whole words, parts of them, and ones that keep partial sums and add own rows."""
    rng = np.random.default_rng(5)
    data = random_data(rng)
    array = fit(random_source(rng, 2, data), data, Arrangement(2))
    plain = array.engine
    engines = (
        replace(plain, finished=8), replace(plain, finished=4),
        replace(plain, finished=8, partial_words=64, residual=True),
    )  # fmt: skip
    return Batch(UNIT, tuple(replace(array, engine=engine) for engine in engines))


def test_every_point_of_a_batch_has_its_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Projects leave out what their engines do not have; together, all that any of them has is read once."""
    given: list[list[str]] = []

    def stopped(files: list[str], *_: object) -> None:
        given.append(files)
        raise InterruptedError

    monkeypatch.setattr(laboratory, "synthesise", stopped)
    with pytest.raises(InterruptedError):
        laboratory._instances(batch(), "xc7", tmp_path)
    names = [Path(name).stem for name in given[0]]
    assert len(set(names)) == len(names) and names[:2] == ["fgnas_pkg", "array_pkg"]
    assert {"array_unit_parts", "array_unit_collect", "array_unit_partial", "array_unit_residual"} < set(names)
    assert all((tmp_path / name).is_file() for name in given[0])


@pytest.mark.slow
def test_units_of_all_kinds_are_measured_together(tmp_path: Path) -> None:
    whole = batch()
    together = laboratory._instances(whole, "xc7", tmp_path)
    alone = [laboratory._instances(Batch(UNIT, (one,)), "xc7", tmp_path)[0] for one in whole.points]
    assert [one["ff"] for one in together] == [one["ff"] for one in alone]
    assert len({one["ff"] for one in alone}) == 3 and min(one["lut"] for one in alone) > 0


@pytest.mark.slow
def test_modules_of_nearest_points_are_measured_as_a_unit_has_them(tmp_path: Path) -> None:
    """With the parameters that the unit's source gives them."""
    rng = np.random.default_rng(7)
    drawn = iter(lambda: laboratory.draw_finding(rng, [2]), None)
    array = next(one for one in drawn if one.engine.neighbours is not None and one.engine.neighbours.root)
    write_rtl(array, tmp_path / "whole")
    own = (UNIT, CHAIN, DISTANCE, ROOT, *laboratory.WITHIN[ROOT])
    folder = tmp_path / "whole" / "rtl"
    modules = synthesise(["-f", "files.f"], "fgnas_kernel", "xc7", folder, tmp_path / "log", list(own))["modules"]
    for entry, module in {CHAIN: CHAIN, DISTANCE: DISTANCE, ROOT: ROOT, NEAREST: UNIT}.items():
        (found,) = laboratory.BENCH.synthesised(Batch(entry, (array,)), "xc7", tmp_path / module)
        counted = (module, *laboratory.WITHIN.get(entry, ()))
        within = [count_cells(one["cells"]) for name, one in modules.items() if name.split("$")[0] in counted]
        assert found == {name: sum(size[name] for size in within) for name in ("lut", "ff")}, entry


PACKAGE = """package some_pkg;
  localparam int unsigned Bits = 8;  // Wide of a word
  localparam int unsigned Wide = 2 * Bits;
  localparam int unsigned Other = 3;
  typedef struct packed {
    logic [Bits-1:0] value;
  } word_t;
  function automatic int unsigned twice(input int unsigned value);
    twice = Other * value;
  endfunction
endpackage
"""


@pytest.mark.parametrize("code, names", [
    ("", []), ("logic [Wide-1:0] a;", ["Bits", "Wide"]), ("word_t a; // Other", ["Bits", "word_t"]),
    ("assign a = twice(2);", ["Other", "twice"]), ("Wider a;", []),
])  # fmt: skip
def test_a_module_depends_on_what_it_names_of_a_package(code: str, names: list[str]) -> None:
    found = named_of([PACKAGE], [code])
    assert len(found) == len(names) and all(name in one for name, one in zip(names, found, strict=True))
