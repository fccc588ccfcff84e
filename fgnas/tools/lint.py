"""Lint RTL with two front ends, Verilator and slang: what only one of them accepts, another tool may refuse."""

from __future__ import annotations

import subprocess
from pathlib import Path

from fgnas.backends.rtl import TOP
from fgnas.errors import UserError
from fgnas.extras import require
from fgnas.tools.find import find_verilator
from fgnas.tools.verilator import read_sources

WARNINGS = (
    "extra", "pedantic", "unused",
    # Verilator checks these, and its pragmas name the places where they are meant.
    "no-unused-port", "no-unused-but-set-variable",
    # A cast states a width that another design may change, and `unique` forbids overlaps beside a default too.
    "no-useless-cast", "no-case-redundant-default",
)  # fmt: skip


def lint(folder: Path) -> str:
    """The messages of both linters for the RTL that files.f in `folder` lists; empty for clean RTL."""
    return lint_with_verilator(folder) + lint_with_slang(folder)


def lint_with_verilator(folder: Path) -> str:
    """Verilator's errors and warnings; .v files are read as Verilog-2001."""
    command = [str(find_verilator().path), "--lint-only", "-Wall", "+1364-2001ext+v", "--top-module", TOP]
    command += [path.name for path in read_sources(folder / "files.f") if path.suffix != ".dat"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stderr


def lint_with_slang(folder: Path) -> str:
    """The errors and warnings of slang. Raises UserError where a file is missing."""
    require("pyslang", "dev")
    import pyslang

    driver = pyslang.driver.Driver()
    driver.addStandardArgs()
    client = pyslang.TextDiagnosticClient()
    client.showColors(False)
    options = [*(f"-W{name}" for name in WARNINGS), "--top", TOP]
    options += [f'"{path}"' for path in read_sources(folder / "files.f") if path.suffix != ".dat"]
    if not driver.parseCommandLine(" ".join(["slang", *options])) or not driver.processOptions():
        raise UserError(f"slang cannot read the RTL in {folder}")
    driver.diagEngine.clearClients()
    driver.diagEngine.addClient(client)
    driver.parseAllSources()
    compilation = driver.createCompilation()
    driver.reportCompilation(compilation, True)
    driver.runAnalysis(compilation)
    return str(client.getString())
