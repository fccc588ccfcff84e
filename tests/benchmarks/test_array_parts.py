"""The page of an array's modules: what counts as whose, and the engines that the model is compared on."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("array_parts")


def test_parts_are_own_cells_of_all_instances(module: ModuleType) -> None:
    """A top with a memory and two units, which have one each; what has no cells is not listed."""
    modules = {
        "top": {"cells": {"LUT2": 1}, "instances": {
            "u_memory": "memory$a", "u_wires": "wires", "gen_unit[0].u_unit": "unit", "gen_unit[1].u_unit": "unit",
        }},
        "unit": {"cells": {"LUT6": 5, "FDRE": 2}, "instances": {"u_own": "memory$b"}},
        "memory$a": {"cells": {"RAMB18E1": 1}, "instances": {}},
        "memory$b": {"cells": {"RAMB36E1": 2, "LUT3": 1}, "instances": {}},
        "wires": {"cells": {}, "instances": {}},
    }  # fmt: skip
    found = module.parts_of(modules, "top")
    assert [tuple(one[name] for name in ("module", "of_unit", "instances", *module.NAMES)) for one in found] == [
        ("unit", True, 2, 10, 4, 0, 0), ("memory", True, 2, 2, 0, 0, 4), ("top", False, 1, 1, 0, 0, 0),
        ("memory", False, 1, 0, 0, 0, 0.5),
    ]  # fmt: skip


def test_held_out_engines_are_drawn_as_no_point_is(module: ModuleType) -> None:
    from fgnas.laboratory.array import NEAREST_SEED

    engines = [array.engine for array in module.held_out()]
    assert module.SEED != NEAREST_SEED and len(engines) == module.ENGINES
    assert [engine.units for engine in engines] == sorted(engine.units for engine in engines)
    assert len({engine.digest for engine in engines}) == len(engines)
