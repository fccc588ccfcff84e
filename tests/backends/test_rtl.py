"""The generated RTL is clean: Verilator's linter reports nothing."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from support import random_accelerator, random_design, random_graph

from fgnas.backends.rtl import TOP, write_rtl
from fgnas.tools.find import find_verilator


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
    command = [str(find_verilator().path), "--lint-only", "-Wall", "--top-module", TOP, "-f", "files.f"]
    run = subprocess.run(command, cwd=tmp_path / "rtl", capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
