"""C++ through bambu: its Verilog against the reference, with bambu itself or a program that stands in for it."""

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from support import random_accelerator, random_design, random_graph

from fgnas.backends.pipeline import write_project
from fgnas.cli import main
from fgnas.errors import UserError
from fgnas.tools import bambu
from fgnas.tools.bambu import deepened, run_bambu, stream_depth

STAND_IN = '''#!{python}
"""Stands in for bambu: a kernel with its ports that reads every region once and writes the golden logits."""
import sys
from pathlib import Path

project = Path(sys.argv[1]).parents[1]
assert "--top-fname=fgnas_top" in sys.argv and "--generate-interface=INFER" in sys.argv
logits = bytearray((project / "vectors" / "logits.bin").read_bytes())
logits[6] ^= {flip}
beats = [logits[i : i + 16][::-1].hex() for i in range(0, len(logits), 16)]
Path("logits.hex").write_text("\\n".join(beats))
regions = (project / "vectors" / f"{{name}}.bin" for name in ("parameters", "features", "edges"))
wanted = [region.stat().st_size // 16 for region in regions]
Path("fgnas_top.v").write_text(f"""
module fgnas_top(clock, reset, start_port, nodes, feature_beats, edge_beats,
  parameters_dout, parameters_empty_n, parameters_read, features_dout, features_empty_n, features_read,
  edges_dout, edges_empty_n, edges_read, logits_din, logits_full_n, logits_write,
  status_din, status_full_n, status_write, done_port);
  input clock, reset, start_port, parameters_empty_n, features_empty_n, edges_empty_n, logits_full_n, status_full_n;
  input [31:0] nodes, feature_beats, edge_beats;
  input [127:0] parameters_dout, features_dout, edges_dout;
  output parameters_read, features_read, edges_read, logits_write, status_write, done_port;
  output [127:0] logits_din;
  output [31:0] status_din;
  reg running;
  reg [31:0] taken [0:2], given;
  reg [127:0] memory [0:{{len(beats) - 1}}];
  initial $readmemh("{{Path('logits.hex').absolute()}}", memory);
  assign parameters_read = running && parameters_empty_n && taken[0] < {{wanted[0]}};
  assign features_read = running && features_empty_n && taken[1] < {{wanted[1]}};
  assign edges_read = running && edges_empty_n && taken[2] < {{wanted[2]}};
  wire all_read = taken[0] == {{wanted[0]}} && taken[1] == {{wanted[1]}} && taken[2] == {{wanted[2]}};
  assign logits_write = all_read && given < {{len(beats)}};
  assign logits_din = memory[given];
  assign status_write = {ends} && all_read && given == {{len(beats)}};
  assign status_din = 0;
  assign done_port = 0;
  always @(posedge clock)
    if (!reset) begin
      running <= 0; given <= 0; taken[0] <= 0; taken[1] <= 0; taken[2] <= 0;
    end else begin
      if (start_port) running <= nodes != 0;
      taken[0] <= taken[0] + {{{{31'b0, parameters_read}}}};
      taken[1] <= taken[1] + {{{{31'b0, features_read}}}};
      taken[2] <= taken[2] + {{{{31'b0, edges_read}}}};
      given <= given + {{{{31'b0, logits_write}}}};
    end
{instance}
endmodule
""")
'''


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project for bambu of a small random design."""
    rng = np.random.default_rng(3)
    data = random_graph(rng, 9, 8, 5, 12)
    gat = {"attention": "gat", "t_attn": 2, "d": 4, "k": 2}
    accelerator = random_accelerator(rng, random_design(rng, 2, (gat, {"attention": "gcn", "t_attn": None})), data)
    folder = tmp_path_factory.mktemp("bambu") / "project"
    write_project(accelerator, data, folder, compiler="bambu")
    return folder


@pytest.fixture
def project(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "project"))


def stand_in(
    folder: Path, monkeypatch: pytest.MonkeyPatch, flip: int = 0, ends: int = 1, instance: str = ""
) -> None:
    """Put a stand-in first on PATH."""
    folder.mkdir()
    program = folder / "bambu"
    program.write_text(STAND_IN.format(python=sys.executable, flip=flip, ends=ends, instance=instance))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_every_logit_is_compared(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path / "bin", monkeypatch)
    report = run_bambu(project)
    assert (report["nodes"], report["logits"], report["mismatches"], report["status"]) == (9, 45, 0, 0)
    assert report["cycles"] > 0 and (project / "report" / "sim_bambu.json").is_file()
    stand_in(tmp_path / "wrong", monkeypatch, flip=1)
    report = run_bambu(project)
    assert report["mismatches"] == 1
    assert (report["first_mismatch"]["node"], report["first_mismatch"]["class"]) == (0, 3)


@pytest.mark.slow
def test_a_kernel_that_never_ends(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path / "bin", monkeypatch, ends=0)
    monkeypatch.setattr(bambu, "QUIET_CYCLES", 1000)
    with pytest.raises(UserError, match="did not end: quiet after cycle"):
        run_bambu(project)


def test_a_memory_that_processes_share(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path / "bin", monkeypatch, instance="  BMEMORY_CTRLN #(.BITSIZE_in1(32)) shared();")
    with pytest.raises(UserError, match="by a memory bus without an arbiter; see .*fgnas_top.v"):
        run_bambu(project)


def test_without_bambu(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", str(project))
    assert main(["sim", str(project), "--bambu"]) == 2
    error = capsys.readouterr().err
    assert "bambu is not on PATH; fix: build PandA-bambu" in error and error.count("\n") == 1


def test_a_project_for_another_compiler(project: Path) -> None:
    top = project / "src" / "fgnas_top.cpp"
    top.write_text(top.read_text().replace("__BAMBU__", "OTHER"))
    with pytest.raises(UserError, match="is not for bambu; fix: `fgnas hls DESIGN --compiler bambu`"):
        run_bambu(project)


def test_fifos_are_as_deep_as_the_streams(project: Path) -> None:
    module = "module dataflow_fifo(a);\n  parameter BITSIZE_din=1, QUEUESIZE_LOG={};\nendmodule\nx y;\n"
    deep = module + "dataflow_fifo #(.QUEUESIZE_LOG({}), .BITSIZE_din(8)) f;\n"
    plain = deep.format(2, 2)
    assert deepened(plain, 63) == deep.format(6, 6)
    assert deepened(plain, 64) == deep.format(7, 7)
    parameters = project / "src" / "parameters.h"
    parameters.write_text(parameters.read_text() + "\nstatic constexpr int RING_FIFO = 77777;\n")
    assert stream_depth(project) == 77777


@pytest.mark.skipif(shutil.which("bambu") is None, reason="bambu is not on PATH")
def test_bambu_itself(project: Path) -> None:
    report = run_bambu(project)
    assert (report["mismatches"], report["status"]) == (0, 0)
