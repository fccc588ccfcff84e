"""The generated RTL is clean: neither Verilator nor slang reports anything, and no module is missing or unused."""

import re
from pathlib import Path

import numpy as np
import pytest
from elaboration import elaborated
from support import random_accelerator, random_design, random_graph

from fgnas.backends.rtl import KERNEL, PACKAGE, TOP, write_rtl
from fgnas.hardware import ports
from fgnas.tools.lint import lint, lint_with_verilator


@pytest.mark.parametrize("seed", range(10))
def test_no_warning(seed: int, tmp_path: Path) -> None:
    """Designs of one to three layers, with each number of input lanes in each layer."""
    rng = np.random.default_rng(seed)
    lanes = ({"t_in": seed % 5 + 1}, {"t_in": 2 * seed % 5 + 1})
    design = random_design(rng, 1 + seed % 3, lanes[: 1 + seed % 3])
    accelerator = random_accelerator(rng, design, random_graph(rng, 20, int(rng.integers(1, 60)), 5, 40))
    write_rtl(accelerator, tmp_path)
    long = [f"{path.name}: {line}" for path in (tmp_path / "rtl").iterdir() for line in path.read_text().splitlines()
            if len(line) > 120]  # fmt: skip
    assert not long
    assert lint(tmp_path / "rtl") == ""
    listed = {Path(name).stem for name in (tmp_path / "rtl" / "files.f").read_text().split()}
    modules = {f"fgnas_{module}" for module, _ in elaborated(tmp_path / "rtl")}
    assert listed == modules | {PACKAGE, TOP}


def test_the_top_is_verilog_2001_around_the_kernel_and_nothing_else(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    accelerator = random_accelerator(rng, random_design(rng, 1), random_graph(rng, 20, 9, 5, 40))
    write_rtl(accelerator, tmp_path)
    top = tmp_path / "rtl" / f"{TOP}.v"
    text = re.sub(r"//.*|/\*.*?\*/", "", top.read_text())
    header, body = text.split(");", 1)
    assert re.findall(r"^  (input|output) +wire +(\[\d+:0\])? *(\w+),?\s*$", header, re.M) == [
        ("output" if port.output else "input", port.range(named=False), port.name) for port in ports.PORTS
    ]
    connections = "".join(f".{port.name}({port.name})," for port in ports.PORTS).removesuffix(",")
    assert "".join(body.split()) == f"{KERNEL}u_kernel({connections});endmodule`default_nettypewire"
    top.write_text(top.read_text().replace("output wire", "output logic"))
    assert "Can't find typedef" in lint_with_verilator(tmp_path / "rtl"), "the linter reads the top as SystemVerilog"
