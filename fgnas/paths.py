"""Paths of the package's files that are not Python: templates and the simulation bench."""

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


def _directory(name: str) -> Path:
    # An installed wheel carries the folder inside the package, a source checkout beside it.
    for place in (_PACKAGE / name, _PACKAGE.parent / name):
        if place.is_dir():
            return place
    raise UserError(f"this installation of fgnas lacks its folder {name}/; fix: install fgnas again")
