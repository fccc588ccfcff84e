"""Two products in a DSP slice: every pair of operands, and random networks in RTL and C++ on half the slices."""

import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from arrays import paired_array, random_source
from levels import quick
from support import random_graph

from fgnas.backends.array import write_project, write_rtl
from fgnas.errors import UserError
from fgnas.hardware.array.choosing import Room, fastest, fastest_calls
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.engine import Engine, Softmax, check_may_pair, dsps_of, joined
from fgnas.hardware.array.reference import run
from fgnas.hardware.devices import FAMILIES
from fgnas.hardware.kind import Wanted
from fgnas.hardware.kinds import PIPELINE
from fgnas.network import Network
from fgnas.paths import templates_directory
from fgnas.tools.csim import run_csim
from fgnas.tools.find import find_verilator
from fgnas.tools.lint import lint
from fgnas.tools.prove import PROOFS
from fgnas.tools.simulate import run_simulation
from fgnas.tools.synth import instance_totals, synthesise
from fgnas.tools.verilator import tools_on_path

MODULE = "array_multiplier_pair"
FEW = next(proof.parameters for proof in PROOFS if proof.module == MODULE)
"""The sizes of the proof, at which three bits of the products meet, as they do in a slice with numbers of 8 bits."""
BENCH = """
module bench #(parameter int unsigned LeftBits = 8, RightBits = 11, PortBits = 25);
  localparam int unsigned Bits = 2 * LeftBits + RightBits;
  logic clk = 0;
  logic signed [LeftBits-1:0] lower, upper;
  logic signed [RightBits-1:0] right;
  logic signed [LeftBits+RightBits-1:0] of_lower, of_upper;
  array_multiplier_pair #(.LeftBits(LeftBits), .RightBits(RightBits), .PortBits(PortBits)) u_pair (
    .clk_i(clk), .lower_i(lower), .upper_i(upper), .right_i(right), .lower_o(of_lower), .upper_o(of_upper)
  );
  initial begin
    int wrong = 0;
    for (int i = 0; i < 1 << Bits; i++) begin
      {lower, upper, right} = i[Bits-1:0];
      #1 clk = 1;
      #1 clk = 0;
      if (of_lower !== lower * right || of_upper !== upper * right) wrong++;
    end
    $display("%0d of %0d wrong", wrong, 1 << Bits);
    $finish;
  end
endmodule
"""


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [FEW, {}])
def test_every_pair_of_products(sizes: Mapping[str, int], tmp_path: Path) -> None:
    """All operands, at full size those of 8, 8 and 11 bits."""
    (tmp_path / "bench.sv").write_text(BENCH)
    source, verilator = templates_directory() / "rtl" / "array" / f"{MODULE}.sv", find_verilator()
    settings = [f"-G{name}={value}" for name, value in sizes.items()]
    with tools_on_path(verilator.path, ""):
        subprocess.run(["verilator", "--binary", "-O3", "-CFLAGS", "-O2", "-Wno-fatal", "-Wno-WIDTH", "--top", "bench",
                        *settings, "bench.sv", source], cwd=tmp_path, check=True, capture_output=True)  # fmt: skip
    shown = subprocess.run(tmp_path / "obj_dir" / "Vbench", check=True, capture_output=True, text=True).stdout
    bits = 2 * sizes.get("LeftBits", 8) + sizes.get("RightBits", 11)
    assert shown.startswith(f"0 of {1 << bits} wrong")


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 21))])
def test_random_networks_on_half_the_slices(seed: int, tmp_path: Path) -> None:
    """The array of a network with each product in a slice of its own has the same logits and cycles."""
    array, data = paired_array(np.random.default_rng(seed), 1 + seed % 3)
    assert array.engine.dsp == array.engine.multipliers // 2
    write_project(array, data, tmp_path / "p")
    report = run_simulation(tmp_path / "p", runs=2)
    assert (report["mismatches"], report["status"], report["protocol_errors"]) == (0, 0, 0), report
    assert (report["cycle_difference"], report["phase_differences"]) == (0, 0), report
    cpp = run_csim(tmp_path / "p", quick())
    assert (cpp["mismatches"], cpp["failed_checks"]) == (0, 0), cpp
    alone = array.on(replace(array.engine, paired=False))
    assert np.array_equal(run(encode_array(alone, data)), run(encode_array(array, data)))


def test_no_warning(tmp_path: Path) -> None:
    write_rtl(paired_array(np.random.default_rng(3), 1)[0], tmp_path)
    assert (tmp_path / "rtl" / f"{MODULE}.sv").is_file()
    found = [line for line in lint(tmp_path / "rtl").splitlines() if "warning:" in line or "%" in line]
    assert [line for line in found if "unused package" not in line] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_two_products_take_one_dsp(family: str, tmp_path: Path) -> None:
    pytest.importorskip("pyosys")
    source = templates_directory() / "rtl" / "array" / f"{MODULE}.sv"
    modules = synthesise([str(source)], MODULE, family, tmp_path, tmp_path / "log")["modules"]
    assert instance_totals(modules, MODULE)[MODULE]["dsp"] == dsps_of(2, True) == 1


@pytest.mark.parametrize("find", [fastest, fastest_calls])
def test_a_budget_of_dsps_holds_twice_the_multipliers(find) -> None:
    """Where each product in its own slice exceeds the budget, two share one; fewer units stay as they are."""
    rng = np.random.default_rng(5)
    data = random_graph(rng, 60, 40, 8, 400)
    source = random_source(rng, 2, data, ("add",))
    room = Room.within(16, None, 128, {}, paired=True)
    assert (room.multipliers, room.limits) == (32, {"dsp": 16.0})
    offered, alone = find(source, data, room).engine, find(source, data, Room(16)).engine
    assert (offered.multipliers, offered.dsp, offered.paired) == (32, 16, True)
    assert (alone.multipliers, alone.dsp, alone.paired) == (16, 16, False)
    assert not find(source, data, Room(16, limits={"dsp": 16.0}, paired=True)).engine.paired
    assert find(source, data, Room(32, limits={"dsp": 16.0})).engine == alone
    wanted = Room.within(100, 48, 128, {"lut": 50_000}, paired=True)
    assert (wanted.multipliers, wanted.limits) == (48, {"lut": 50_000, "dsp": 24.0})


def test_what_may_not_be_paired() -> None:
    """Numbers of nine bits and scores; a command that no array serves."""
    array, data = paired_array(np.random.default_rng(3), 1)
    engine = array.engine
    for changes in ({"bits": 9}, {"softmax": Softmax(3, 250, 12), "maximum": True}):
        with pytest.raises(UserError, match="^engine: products share DSP slices in pairs up to 8 bits"):
            replace(engine, **changes)
        alone = replace(engine, paired=False, **changes)
        assert not joined([engine, alone]).paired
        with pytest.raises(UserError, match="--paired is for numbers of 8 bits at most, without scores: this network"):
            check_may_pair(alone)
    assert joined([engine, replace(engine, paired=False)]).paired
    assert Engine.of(engine.summary()) == engine and "paired" not in replace(engine, paired=False).summary()
    with pytest.raises(UserError, match="--paired is for --target array"):
        PIPELINE.fit(array.source.design, Network(()), data, Wanted(paired=True))
