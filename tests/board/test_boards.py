"""Boards as files, and the tables of the documentation."""

from pathlib import Path

import pytest

from fgnas.board import bitstream, protocol
from fgnas.board.assembly import PLACE, OnChip, System
from fgnas.board.boards import SDRAM_SIGNALS, SIGNALS, find_board, known
from fgnas.errors import UserError
from fgnas.hardware.wire import markdown

PAGE = Path(__file__).parents[2] / "docs" / "board.md"
HEADERS = {
    "request": ("field", "bytes", "meaning"), "answer": ("field", "bytes", "meaning"),
    "operations": ("number", "operation", "meaning"), "statuses": ("number", "status", "meaning"),
    "registers": ("offset", "register", "meaning"),
}  # fmt: skip


@pytest.mark.parametrize("name", HEADERS)
def test_the_page_has_the_tables_of_the_protocol(name: str) -> None:
    assert markdown(HEADERS[name], protocol.tables()[name]) in PAGE.read_text(encoding="utf-8")


def test_a_build_that_fails_leaves_no_older_bitstream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = find_board("ulx3s-85f")
    folder = tmp_path / PLACE / board.name
    folder.mkdir(parents=True)
    for name in (bitstream.BITSTREAM, bitstream.REPORT):
        (folder / name).write_text("old")
    monkeypatch.setattr(bitstream, "write_system", lambda *given: [])
    monkeypatch.setattr(bitstream, "find_nextpnr", lambda: None)

    def fails(*given: object) -> Path:
        raise UserError("the tool fails")

    monkeypatch.setattr(bitstream, "synthesise", fails)
    with pytest.raises(UserError, match="the tool fails"):
        bitstream.build_bitstream(tmp_path, board, System(48_000_000, 3_000_000, OnChip(1, 16)))
    assert [path.name for path in folder.iterdir()] == ["build"]


@pytest.mark.parametrize("name", known())
def test_every_known_board_is_whole(name: str) -> None:
    """No pin has two uses."""
    board = find_board(name)
    sites = board.sites(with_sdram=True)
    assert len(set(sites.values())) == len(sites) and set(SIGNALS) <= set(sites)
    assert board.kernel_mhz * 1e6 >= 4 * board.baud
    assert board.sdram is None or set(board.sdram.pins) == set(SDRAM_SIGNALS)


def test_boards_that_cannot_be_read(tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    with pytest.raises(UserError, match="unknown board 'x'; known: .*ulx3s-85f"):
        find_board("x")
    with pytest.raises(UserError, match="cannot read the board"):
        find_board(str(own))
    text = (Path(protocol.__file__).parent / "known" / "ulx3s-85f.toml").read_text()
    for change, message in (
        (("part = ", "prat = "), "unknown prat"), (("baud = 3_000_000", ""), "lacks baud"),
        (('clock = "G2"', ""), "no pin for clock"), (("[pins]", "[pins"), "no TOML"),
        (('ba = ["P19", "N20"]', ""), "an sdram has chip and pins"),
        (("baud = 3_000_000", 'baud = "fast"'), "baud is 'fast'"),
        (("clock_mhz = 25.0", "clock_mhz = nan"), "clock_mhz is nan, not a number above"),
        (("kernel_mhz = 50.0", "kernel_mhz = 0"), "kernel_mhz is 0.0, not a number above"),
        (("baud = 3_000_000", "baud = -1"), "baud is -1, not a number above"),
        (('clock = "G2"', "clock = 5"), "pins.clock is 5"), (("[held]", "[sdram.held]"), "an sdram has chip and pins"),
        (('nextpnr = ["--85k", "--package", "CABGA381", "--speed", "6"]', "nextpnr = 5"), "nextpnr is 5"),
        (('dq = ["J16",', 'dq = [5, "J16",'), "sdram.pins.dq.0 is 5"),
    ):  # fmt: skip
        assert change[0] in text
        own.write_text(text.replace(*change))
        with pytest.raises(UserError, match=message):
            find_board(str(own))
    own.write_text(text)
    assert find_board(str(own)).pins == find_board("ulx3s-85f").pins
