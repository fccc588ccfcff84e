"""Devices: the ones that ship, and the user's own."""

from pathlib import Path

import pytest

from fgnas.errors import UserError
from fgnas.hardware.devices import devices, find_device, limits_of

OWN = 'family = "xc7"\nlut = 1000\nff = 2000\ndsp = 10\nbram36 = 5\n'


def test_seven_devices_ship_with_their_sources() -> None:
    assert list(devices()) == ["pynq-z2", "zc706", "ultra96", "zcu102", "u50", "u280", "vcu128"]
    assert all(device.source and device.lut * 2 == device.ff for device in devices().values())


@pytest.mark.parametrize("name", ["pynq-z2", "PYNQ-Z2", "pynq z2", "xc7z020clg400-1"])
def test_a_device_is_found_by_board_and_by_part(name: str) -> None:
    found = find_device(name)
    assert found.available() == {"lut": 53200, "ff": 106400, "dsp": 220, "bram36": 140, "uram": 0}


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(OWN)
    assert find_device(str(tmp_path / "mine.toml")).available()["lut"] == 1000
    assert find_device(str(tmp_path / "mine.toml")).port_bits is None
    (tmp_path / "mine.toml").write_text(OWN + "port_bits = 32\nport_mhz = 133.5\n")
    assert limits_of(find_device(str(tmp_path / "mine.toml")), {})["port_mhz"] == 133.5
    (tmp_path / "table.toml").write_text("[small]\n" + OWN)
    assert find_device(str(tmp_path / "table.toml")).name == "small"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OWN.replace("lut = 1000\n", ""), "lacks 'lut'"),
        (OWN.replace("1000", '"many"'), "whole number"),
        (OWN.replace("xc7", "virtex"), "family must be"),
        (OWN + "gates = 3\n", "no 'gates'"),
        (OWN + "port_bits = 48\n", "port_bits must be one of 8, 16, 32, 64, 128, 256, 512, 1024, not 48"),
        (OWN + "port_bits = 64.5\n", "port_bits must be a whole number"),
        (OWN + "port_mhz = 0\n", "port_mhz must be a number above zero, not 0"),
        (OWN + 'port_mhz = "fast"\n', "port_mhz must be a number above zero"),
        ("lut =", "not TOML"),
    ],
)
def test_a_bad_file_is_named_with_its_fault(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(UserError, match=message):
        find_device(str(tmp_path / "mine.toml"))


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UserError, match="known: pynq-z2, zc706, ultra96"):
        find_device("de10")


def test_a_device_sets_what_is_not_given_and_bounds_what_is() -> None:
    board = find_device("pynq-z2")
    own = {"part": "xc7z020clg400-1", "family": "xc7", "port_bits": 64, "port_mhz": 150}
    assert limits_of(board, {}) == {**own, "lut": 53200, "ff": 106400, "dsp": 220, "bram36": 140}
    assert limits_of(board, {"lut": 10, "dsp": 0, "ff": None, "family": "xc7"}) == {
        **own, "lut": 10, "ff": 106400, "dsp": 0, "bram36": 140,
    }  # fmt: skip
    with pytest.raises(UserError, match="--lut 53201 is more than the 53200 of PYNQ-Z2"):
        limits_of(board, {"lut": 53201})
    with pytest.raises(UserError, match="--family xcup contradicts --fpga: PYNQ-Z2 is xc7"):
        limits_of(board, {"family": "xcup"})
