"""The runner measures what is missing and writes the tables; the benches of both kinds keep what is current."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fgnas.hardware.devices import FAMILIES
from fgnas.laboratory import __main__ as command
from fgnas.laboratory import array, pipeline
from fgnas.laboratory.bench import Batch, Bench

DIGEST = {"one": "a", "two": "b"}


class Stand:
    """A bench of two modules with three points each, whose synthesis doubles a number."""

    def __init__(self, tables: Path) -> None:
        self.runs: list[Batch[int]] = []
        self.digests = dict(DIGEST)
        self.bench = Bench[int](
            "stand", "make stand", tables, lambda module: self.digests[module], lambda point: {"point": point},
            self.waiting, self.synthesised, self.fitted,
        )  # fmt: skip

    def waiting(self, family: str, folder: Path, most: int | None) -> Iterator[Batch[int]]:
        for module in DIGEST:
            known = [row["point"] for row in self.bench.measured(module, family, folder)]
            missing = [point for point in (1, 2, 3)[:most] if point not in known]
            if missing:
                yield Batch(module, tuple(missing))

    def synthesised(self, batch: Batch[int], family: str, scratch: Path) -> list[dict[str, Any]]:
        assert scratch.is_dir()
        self.runs.append(batch)
        return [{"lut": 2 * point} for point in batch.points]

    def fitted(self, family: str, folder: Path) -> dict[str, Any]:
        return {"modules": {module: self.bench.measured(module, family, folder) for module in DIGEST}}


def test_a_run_continues_and_a_changed_source_is_measured_again(tmp_path: Path) -> None:
    stand, folder = Stand(tmp_path / "tables"), tmp_path / "points"
    assert stand.bench.shipped("xc7") == {}
    progress: list[tuple[int, int]] = []
    place = stand.bench.characterise("xc7", folder, most=2, progress=lambda *done: progress.append(done))
    assert stand.runs == [Batch("one", (1, 2)), Batch("two", (1, 2))] and progress == [(1, 2), (2, 2)]
    table = json.loads(place.read_text())
    assert table == stand.bench.shipped("xc7") and list(table)[:4] == ["family", "tool", "date", "command"]
    assert (table["family"], table["command"]) == ("xc7", "make stand")
    assert table["modules"]["one"] == [{"point": 1, "lut": 2}, {"point": 2, "lut": 4}]
    stand.bench.characterise("xc7", folder)
    assert stand.runs[2:] == [Batch("one", (3,)), Batch("two", (3,))]
    stand.digests["two"] = "c"
    stand.bench.characterise("xc7", folder)
    assert stand.runs[4:] == [Batch("two", (1, 2, 3))]
    stand.bench.characterise("xcup", folder, most=1)
    assert stand.runs[5:] == [Batch("one", (1,)), Batch("two", (1,))], "a family has points of its own"


def test_an_error_ends_the_run_and_keeps_what_was_measured(tmp_path: Path) -> None:
    stand = Stand(tmp_path / "tables")
    whole = stand.synthesised

    def broken(batch: Batch[int], family: str, scratch: Path) -> list[dict[str, Any]]:
        if batch.module == "two":
            raise RuntimeError("no such cell")
        return whole(batch, family, scratch)

    object.__setattr__(stand.bench, "synthesised", broken)
    with pytest.raises(RuntimeError, match="no such cell"):
        stand.bench.characterise("xc7", tmp_path / "points")
    assert len(stand.bench.measured("one", "xc7", tmp_path / "points")) == 3
    assert stand.bench.shipped("xc7") == {}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("bench", [pipeline.BENCH, array.BENCH], ids=lambda bench: bench.name)
def test_without_new_points_a_table_stays_as_it_is(bench: Bench[Any], family: str, tmp_path: Path) -> None:
    """Every entry is current: an empty folder waits for nothing, and what is fitted is what is shipped."""
    shipped = bench.shipped(family)
    assert [one.module for one in bench.waiting(family, tmp_path, None) if one.module in shipped["sources"]] == []
    fitted = bench.fitted(family, tmp_path)
    assert fitted["modules"] == shipped["modules"] and {**shipped, **fitted} == shipped


def test_the_command_takes_both_kinds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any) -> None:
    assert [*command.BENCHES] == [*command.FOLDERS] == ["pipeline", "array"]
    stand = Stand(tmp_path / "tables")
    monkeypatch.setitem(command.BENCHES, "array", stand.bench)
    command.main(["array", "--families", "xc7", "--workers", "1", "--most", "1", "--folder", str(tmp_path / "points")])
    assert stand.runs == [Batch("one", (1,)), Batch("two", (1,))]
    assert "tables/xc7.json" in capsys.readouterr().out.replace("\n", "")
