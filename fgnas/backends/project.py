"""Common parts of the project folders of all kinds of hardware, and the dispatch to the module that writes each."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fgnas.backends.render import render
from fgnas.design import Design
from fgnas.errors import UserError
from fgnas.hardware.devices import find_device
from fgnas.hardware.kind import Fitted
from fgnas.hardware.specification import Specification
from fgnas.paths import templates_directory
from fgnas.tasks.nodes import GraphData

MARK = "design.json"
"""A folder that holds this file is a project, and a new project may replace it."""
MAPPING = "mapping.json"
"""A project that holds this file is of a mapped network: the file lists its steps on accelerators, each a project."""
CALLS = "calls"
"""The folder of a project's calls, where a network is several of them: vectors and reports of each."""
CALL_LIST = Path("report") / "calls.json"
"""A project that holds this file runs a network in several calls, in this order."""
BUILT = "built.json"
"""A folder that holds this file has a network for the hardware of another project, which the file names by its path."""
VECTORS = Path("vectors") / "vectors.json"
XRT = "xrt.cpp"
"""The host program for acceleration platforms."""
SPECIFICATION = Path("report") / "specification.json"
DEFAULT_DEVICES = {"xc7": "zc706", "xcup": "zcu102"}
"""The device for the vendor's tool if none was named: one of the family that resources were counted for."""
DEFAULT_COMPILER = "vitis"


@dataclass(frozen=True)
class Request:
    """The target of a project.

    Attributes:
        specification: limits, clock and part.
        compiler: the HLS compiler whose pragmas the C++ has.
    """

    specification: Specification
    compiler: str = DEFAULT_COMPILER


def write(fitted: Fitted, data: GraphData, directory: Path, request: Request) -> list[Path]:
    """Write the project of a design on its hardware, whole or not at all; returns the files.

    The module that the kind of hardware names does it.
    """
    found: list[Path] = importlib.import_module(fitted.kind.backend).write(fitted, data, directory, request)
    return found


def built_project(directory: Path) -> Path | None:
    """The project whose hardware a folder's network is for; None if the folder has hardware of its own.

    Raises UserError where that project is gone, or has other hardware now: vectors might run there, and be wrong.
    """
    place = directory / BUILT
    if not place.is_file():
        return None
    home = (directory / str(_kept(place, "project"))).resolve()
    if not (home / MARK).is_file():
        raise UserError(f"{directory} is for the hardware of {home}, which is no project now: encode it on another one "
                        f"with `fgnas encode`")  # fmt: skip
    if _kept(directory / VECTORS, "engine") != _kept(home / VECTORS, "engine"):
        raise UserError(f"{directory} is not for the array of {home}, which is another one now: encode it again with "
                        f"`fgnas encode`")  # fmt: skip
    return home


def check_own(directory: Path) -> None:
    """Raise UserError where a folder has no hardware of its own: with the project that has it."""
    if (home := built_project(directory)) is not None:
        raise UserError(f"{directory} has no hardware of its own: name {home}")


def rows_of(directory: Path) -> str:
    """What the results of a project are rows of: nodes, or the graphs of an imported network."""
    try:
        return str(json.loads((directory / MARK).read_text(encoding="utf-8")).get("rows", "nodes"))
    except (OSError, ValueError, AttributeError):
        return "nodes"


def _kept(place: Path, name: str) -> Any:
    """The value of a key in a JSON file. Raises UserError if the file is missing or damaged."""
    try:
        return json.loads(place.read_text(encoding="utf-8"))[name]
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(f"{place} is missing or damaged: write it again with `fgnas encode` or `fgnas hls`") from None


def replace_project(directory: Path, fill: Callable[[Path], None]) -> list[Path]:
    """Let `fill` write a project into a new folder, and put it in the place of `directory`; returns the files.

    It is written whole or not at all. Raises UserError rather than replace a folder that is not a project.
    """
    directory = Path(directory).absolute()
    check_replaceable(directory)
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        # In the target's parent folder, so that the last step is a rename on one file system.
        with tempfile.TemporaryDirectory(prefix=f".{directory.name}.", dir=directory.parent) as scratch:
            built = Path(scratch) / "new"
            built.mkdir()
            fill(built)
            _swap(built, directory, Path(scratch) / "old")
    except OSError as error:
        raise UserError(f"cannot write the project {directory}: {error.strerror or error}") from None
    return sorted(path for path in directory.rglob("*") if path.is_file())


def write_driver(directory: Path, target: str, **values: Any) -> None:
    """Write a target's driver for boards with PYNQ, which has a template named after it, and the host program for
    acceleration platforms, which is the same for all."""
    (directory / "driver.py").write_text(render(f"driver/{target}.py.j2", **values), encoding="utf-8")
    (directory / XRT).write_text(render(f"driver/{XRT}.j2", **values), encoding="utf-8")


def compilers() -> tuple[str, ...]:
    """The HLS compilers whose pragmas the C++ can have: each has a header of its own among the templates."""
    return tuple(sorted(path.stem for path in (templates_directory() / "hls" / "pragmas").glob("*.h")))


def check_compiler(name: str) -> None:
    """Raise UserError for an unknown HLS compiler."""
    if name not in compilers():
        raise UserError(f"unknown HLS compiler {name!r}; known: {', '.join(compilers())}")


def held_by(directory: Path) -> str | None:
    """The design in a folder and its dataset, in words; None if there is none."""
    try:
        summary = json.loads((directory / "report" / "accelerator.json").read_text(encoding="utf-8"))
        design = Design.load(directory / MARK)
    except (OSError, ValueError, UserError):
        return None
    dataset = summary.get("dataset") if isinstance(summary, dict) else None
    return f"design {design.hash}" + (f" for {dataset}" if dataset else "")


def read_specification(directory: Path) -> Specification:
    """The specification that the project in `directory` was written for; without limits if it has none."""
    place = directory / SPECIFICATION
    if not place.is_file():
        return Specification()
    try:
        return Specification.of(json.loads(place.read_text(encoding="utf-8")), place)
    except ValueError as error:
        raise UserError(f"cannot read {place} ({error}): write the project again with `fgnas hls`") from None


def clock_and_part(specification: Specification) -> dict[str, str]:
    """The part and the clock (MHz, and ns as its period) for the scripts of the vendor's tool."""
    return {
        "part": part_of(specification),
        "clock_mhz": f"{specification.clock_mhz:g}",
        "clock_ns": f"{1000 / specification.clock_mhz:g}",
    }


def part_of(specification: Specification) -> str:
    """The part for the vendor's tool: the specification's, or the default of its family."""
    return specification.part or find_device(DEFAULT_DEVICES[specification.family]).part


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def check_replaceable(directory: Path) -> None:
    """Raise UserError rather than delete a folder that is not a project."""
    if directory.is_dir():
        if any(directory.iterdir()) and not (directory / MARK).is_file():
            raise UserError(f"{directory} is not empty and holds no {MARK}: it is not a project; name another folder")
    elif directory.exists() or directory.is_symlink():
        raise UserError(f"{directory} is not a folder; name another one")


def _swap(built: Path, directory: Path, old: Path) -> None:
    """Replace `directory` by `built`; if that fails, restore the old folder."""
    built.chmod(0o777 & ~_umask())
    if not directory.exists():
        os.replace(built, directory)
        return
    os.replace(directory, old)
    try:
        os.replace(built, directory)
    except OSError:
        os.replace(old, directory)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
