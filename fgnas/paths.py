"""Paths of the package's files that are not Python: templates and the simulation bench."""

import importlib.util
from pathlib import Path

from fgnas.errors import UserError

RUNS = Path("runs")
"""The folder of searches."""
PROJECTS = Path("hls")
"""The folder of generated projects."""

_PACKAGE = Path(__file__).resolve().parent


def templates_directory() -> Path:
    """The folder of the Jinja2 templates and of the hand-written files that they include."""
    return _directory("templates")


def sim_directory() -> Path:
    """The folder of the cocotb test bench."""
    return _directory("sim")


def open_headers() -> Path | None:
    """The folder of the open `ap_int.h`, `ap_fixed.h` and `hls_stream.h` of the package hls4ml; None without it."""
    # find_spec only locates the package: importing it would pull in dependencies that are not installed.
    spec = importlib.util.find_spec("hls4ml")
    for package in (spec.submodule_search_locations or []) if spec else []:
        place = Path(package) / "templates" / "vivado" / "ap_types"
        if place.is_dir():
            return place
    return None


def _directory(name: str) -> Path:
    # An installed wheel carries the folder inside the package, a source checkout beside it.
    for place in (_PACKAGE / name, _PACKAGE.parent / name):
        if place.is_dir():
            return place
    raise UserError(f"this installation of fgnas lacks its folder {name}/; fix: install fgnas again")
