"""A product and its sum in a DSP slice: against a sum in Python, what synthesis makes of it, and files of projects."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from arrays import random_array, random_data, random_source

from fgnas.backends.array import MULTIPLIERS, write_rtl
from fgnas.hardware.devices import FAMILIES
from fgnas.paths import templates_directory
from fgnas.tools.find import find_verilator
from fgnas.tools.synth import instance_totals, synthesise
from fgnas.tools.verilator import tools_on_path

MODULE = "array_multiplier_sum"
SOURCE = templates_directory() / "rtl" / "array" / f"{MODULE}.sv"
BITS, STEPS = (8, 11), 4000
"""Bits of the operands, and cycles."""
BENCH = """
module bench;
  logic clk = 0, valid, first;
  logic signed [7:0] left;
  logic signed [10:0] right;
  logic signed [26:0] sum;
  int file, left_in, right_in, valid_in, first_in;
  array_multiplier_sum #(.LeftBits(8), .RightBits(11), .SumBits(27)) u_sum (
    .clk_i(clk), .left_i(left), .right_i(right), .valid_i(valid), .first_i(first), .sum_o(sum)
  );
  initial begin
    file = $fopen("steps.txt", "r");
    while ($fscanf(file, "%d %d %d %d", left_in, right_in, valid_in, first_in) == 4) begin
      left = left_in[7:0];
      right = right_in[10:0];
      valid = valid_in[0];
      first = first_in[0];
      #1 clk = 1;
      #1 clk = 0;
      $display("%0d", sum);
    end
    $finish;
  end
endmodule
"""


def test_sums_of_random_rows(tmp_path: Path) -> None:
    """valid and first belong to the operands of the cycle before; the largest operands are among the first."""
    rng = np.random.default_rng(17)
    left, right = (rng.integers(-(1 << bits - 1), 1 << bits - 1, STEPS) for bits in BITS)
    left[:100], right[:100] = -128, -1024
    valid, first = rng.random(STEPS) < 0.8, rng.random(STEPS) < 0.1
    valid[1], first[1] = True, True
    np.savetxt(tmp_path / "steps.txt", np.stack([left, right, valid, first], axis=1), fmt="%d")
    (tmp_path / "bench.sv").write_text(BENCH, encoding="utf-8")
    with tools_on_path(find_verilator().path, ""):
        subprocess.run(["verilator", "--binary", "-Wno-fatal", "--top", "bench", "bench.sv", str(SOURCE)],
                       cwd=tmp_path, check=True, capture_output=True)  # fmt: skip
    out = subprocess.run([tmp_path / "obj_dir" / "Vbench"], cwd=tmp_path, check=True, capture_output=True, text=True)
    found = [int(line) for line in out.stdout.splitlines() if line.lstrip("-").isdigit()]
    wanted, total = [], 0
    for step in range(1, STEPS):
        if valid[step]:
            total = int(left[step - 1]) * int(right[step - 1]) + (0 if first[step] else total)
        wanted.append(total)
    assert found[1:] == wanted and len(found) == STEPS


@pytest.mark.parametrize("family", FAMILIES)
def test_a_sum_takes_one_dsp(family: str, tmp_path: Path) -> None:
    """On xc7 nothing stands beside the slice."""
    pytest.importorskip("pyosys")
    modules = synthesise([str(SOURCE)], MODULE, family, tmp_path, tmp_path / "log")["modules"]
    total = instance_totals(modules, MODULE)[MODULE]
    assert total["dsp"] == 1
    if family == "xc7":
        assert (total["lut"], total["ff"]) == (0, 0)


@pytest.mark.parametrize("seed", range(6))
def test_an_engine_has_the_modules_of_its_sums(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    array = random_array(rng, random_source(rng, 1 + seed % 3, data), data)
    names = {path.stem for path in write_rtl(array, tmp_path)}
    assert (MODULE in names) == array.engine.sliced
    assert names.isdisjoint(MULTIPLIERS) == array.engine.sliced
