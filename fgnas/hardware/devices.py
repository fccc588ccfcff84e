"""Devices as data: the resources of a part, by the name of a board or from the user's own file."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass, fields, replace
from math import inf
from pathlib import Path
from typing import Any

from fgnas.errors import UserError
from fgnas.hardware.specification import Specification

DEVICES = Path(__file__).with_name("devices.toml")
FAMILIES = ("xc7", "xcup")
PORT_WIDTHS = tuple(8 << i for i in range(8))
"""Data widths of AXI."""


@dataclass(frozen=True)
class Device:
    """One part: its name and its resources.

    Attributes:
        name: what `--fpga` takes.
        board, part, source: for people and for the vendor's tool.
        family: xc7 or xcup, which the resource model and synthesis know.
        lut, ff, dsp, bram36, uram: what there is; bram36 in blocks of 36 Kbit, uram in blocks of 288 Kbit.
        port_bits: width of a memory port, one of `PORT_WIDTHS`.
        port_mhz: highest clock of that port. Without either the port never slows a kernel down.
    """

    name: str
    board: str
    part: str
    family: str
    lut: int
    ff: int
    dsp: int
    bram36: int
    uram: int
    port_bits: int | None
    port_mhz: float | None
    source: str

    def available(self) -> dict[str, int]:
        """Limits by resource."""
        return {name: getattr(self, name) for name in ("lut", "ff", "dsp", "bram36", "uram")}


@functools.cache
def devices() -> dict[str, Device]:
    """The devices that the package knows, by name."""
    tables = tomllib.loads(DEVICES.read_text(encoding="utf-8"))
    return {name: _device(name, table, str(DEVICES)) for name, table in tables.items()}


def find_device(name: str) -> Device:
    """A known device by name, board or part, or the one that a .toml file describes."""
    if name.endswith(".toml"):
        return _own_device(Path(name))
    wanted = _plain(name)
    for device in devices().values():
        names = (device.name, device.board, device.part, device.part.split("-")[0])
        if wanted in map(_plain, names):
            return device
    known = ", ".join(devices())
    raise UserError(f"unknown device {name!r}; known: {known}; or name a .toml file with a device of your own")


def limits_of(device: Device, given: dict[str, Any]) -> dict[str, Any]:
    """The part, family, memory port and limits that a device sets, by name, checked against the user's values.

    A given limit (None: no limit) may be lower than the device's. Raises UserError for a higher one or another family.
    """
    if given.get("family") not in (None, device.family):
        raise UserError(f"--family {given['family']} contradicts --fpga: {device.board} is {device.family}")
    found: dict[str, Any] = {name: getattr(device, name) for name in ("part", "family", "port_bits", "port_mhz")}
    for name in ("lut", "ff", "dsp", "bram36"):
        own, there = given.get(name), getattr(device, name)
        if own is not None and own > there:
            raise UserError(f"--{name} {own} is more than the {there} of {device.board}")
        found[name] = there if own is None else own
    return found


def specified(wanted: Specification, fpga: str | None, clock_mhz: float | None) -> Specification:
    """A specification with the limits of a device, by name or file, and the clock, where they are given."""
    if fpga is not None:
        wanted = replace(wanted, **limits_of(find_device(fpga), {}))
    return wanted if clock_mhz is None else replace(wanted, clock_mhz=clock_mhz)


def without_part(options: dict[str, Any]) -> dict[str, Any]:
    """Options with a known device's part replaced by `fpga`. Part and port of a user's own device are omitted."""
    found = dict(options)
    part, _, _ = (found.pop(name, None) for name in ("part", "port_bits", "port_mhz"))
    if part in {device.part for device in devices().values()}:
        found["fpga"] = part
    return found


def _plain(name: str) -> str:
    return name.lower().replace(" ", "").replace("-", "").replace("_", "").removeprefix("alveo")


def _own_device(path: Path) -> Device:
    """The one device of a user's file: its values at the top level or in one table."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read the device {path}: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: not TOML ({error})") from None
    name = path.stem
    if len(table) == 1 and isinstance(inner := next(iter(table.values())), dict):
        name, table = next(iter(table)), inner
    return _device(name, table, str(path))


def _device(name: str, table: dict[str, Any], source: str) -> Device:
    """A checked device: counts are needed, names have defaults."""
    values = {"board": name, "part": "", "uram": 0, "port_bits": None, "port_mhz": None, "source": source, **table}
    known = {field.name: field.type for field in fields(Device) if field.name != "name"}
    if unknown := sorted(set(values) - set(known)):
        raise UserError(f"{source}: a device has no {unknown[0]!r}; it has {', '.join(known)}")
    for key, kind in known.items():
        value = values.get(key)
        if value is None and kind.endswith("None"):
            continue
        if value is None:
            raise UserError(f"{source}: the device lacks {key!r}")
        if kind.startswith("int") and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
            raise UserError(f"{source}: {key} must be a whole number that is not negative, not {value!r}")
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if kind.startswith("float") and not (number and 0 < value < inf):
            raise UserError(f"{source}: {key} must be a number above zero, not {value!r}")
        if kind == "str" and not isinstance(value, str):
            raise UserError(f"{source}: {key} must be text, not {value!r}")
    if values["family"] not in FAMILIES:
        raise UserError(f"{source}: family must be one of {', '.join(FAMILIES)}, not {values['family']!r}")
    if values["port_bits"] not in (None, *PORT_WIDTHS):
        widths = ", ".join(map(str, PORT_WIDTHS))
        raise UserError(f"{source}: port_bits must be one of {widths}, not {values['port_bits']}")
    return Device(name=name, **values)
