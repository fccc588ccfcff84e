"""The engines on which the array's resource model is compared, and the text of its page about shared tables."""

import hashlib
import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PLAIN = "d904737a0eb8b01e506c52d9dc52b279bd039b75813a9f592bc68e96d4f84278"
"""SHA-256 of the engines without shared tables, which were measured before others were appended."""


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("array_area")


def test_engines_that_share_tables_come_last(module: ModuleType) -> None:
    engines = [array.engine for array in module.held_out()]
    plain, sharing = engines[: module.ENGINES], engines[module.ENGINES :]
    text = json.dumps([engine.summary() for engine in plain])
    assert hashlib.sha256(text.encode()).hexdigest() == PLAIN
    assert tuple(engine.shared for engine in sharing) == module.SHARING == (2, 4, 8, 4, 2, 16)
    assert all(engine.units <= max(module.FEW_UNITS, engine.shared) for engine in sharing)


def test_the_page_tells_how_many_share_a_table(module: ModuleType) -> None:
    """Only where some engine's units do."""
    record = json.loads((BENCHMARKS.parent / "docs" / "results" / f"{module.NAME}.json").read_text(encoding="utf-8"))
    record["designs"] = [one for one in record["designs"] if "shared" not in one["engine"]]
    assert "share a table" not in module.page(record)
    first = record["designs"][0]
    record["designs"] = [first, first | {"engine": first["engine"] | {"shared": 4}}]
    lines = module.page(record).splitlines()
    units = first["engine"]["units"]
    assert [f"| {units} | {shared} | " in line for line, shared in zip(lines[-2:], (1, 4), strict=True)] == [True, True]
    assert any("6 random engines (seed 4243)" in " ".join(lines[at : at + 2]) for at in range(len(lines)))
