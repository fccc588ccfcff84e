"""The record of a measurement, also of one that was killed while it wrote."""

from pathlib import Path

import pytest

from fgnas.errors import UserError
from fgnas.hardware.measured.record import Line, gathered, read_lines
from fgnas.networks.points.operations import TAILS, Combine, PointNetwork

NETWORKS = [PointNetwork((Combine(width),), TAILS["small"]) for width in (8, 16)]
LINES = [Line(1, 0, 0.5, 0.1), Line(0, 0, 0.25, 0.05), Line(0, 1, 0.35, 0.06), Line(0, memory=4096)]


def written(path: Path, tail: str = "") -> Path:
    """A file of the lines, and of something behind them."""
    path.write_text("".join(line.to_json() + "\n" for line in LINES) + tail)
    return path


def test_lines_come_back(tmp_path: Path) -> None:
    assert read_lines(written(tmp_path / "record"), 2) == LINES
    assert read_lines(tmp_path / "none", 2) == []


def test_a_half_written_line_is_cut_off(tmp_path: Path) -> None:
    path = written(tmp_path / "record", '{"place":1,"rati')
    assert read_lines(path, 2) == LINES
    assert path.read_bytes() == written(tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("line", [
    "no json", "[]", '{"place": 1, "other": 2}', '{"place": 1}', '{"place": -1, "memory": 4096}',
    '{"place": "1", "memory": 4096}', '{"place": 2, "memory": 4096}', '{"place": 1, "memory": 4096, "ratio": 0.5}',
    '{"place": 1, "round": 0, "ratio": 0.5}', '{"place": 1, "round": 0, "ratio": 0, "milliseconds": 0.1}',
    '{"place": 1, "round": 0, "ratio": 0.5, "milliseconds": NaN}',
    '{"place": 1, "round": 0, "ratio": 0.5, "milliseconds": 0.1, "memory": 4096}',
])  # fmt: skip
def test_a_wrong_line_is_named(line: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="record is damaged .* measure again"):
        read_lines(written(tmp_path / "record", f"{line}\n"), 2)


def test_gathered_by_hand() -> None:
    first, second = gathered(NETWORKS, LINES)
    assert first.network == NETWORKS[0] and first.ratios == (0.25, 0.35) and first.memory == 4096
    assert first.ratio == 0.25 and first.milliseconds == 0.05
    assert second.ratios == (0.5,) and second.memory is None
