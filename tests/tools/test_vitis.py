"""Vitis reports in their documented format, and steps run by programs that stand in for either generation."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from support import random_accelerator, random_design, random_graph

from fgnas.backends.pipeline import write_project
from fgnas.cli import main
from fgnas.errors import UserError
from fgnas.tools.find import find_vitis
from fgnas.tools.vitis import read_cosim, read_csynth, read_implementation, run_vitis

CSYNTH = """<?xml version="1.0" encoding="UTF-8"?>
<profile>
  <ReportVersion><Version>2024.2</Version></ReportVersion>
  <UserAssignments>
    <unit>ns</unit><ProductFamily>zynquplus</ProductFamily><Part>xczu9eg-ffvb1156-2-e</Part>
    <TopModelName>fgnas_top</TopModelName><TargetClockPeriod>10.00</TargetClockPeriod>
    <ClockUncertainty>2.70</ClockUncertainty><FlowTarget>vivado</FlowTarget>
  </UserAssignments>
  <PerformanceEstimates>
    <PipelineType>no</PipelineType>
    <SummaryOfTimingAnalysis><unit>ns</unit><EstimatedClockPeriod>7.300</EstimatedClockPeriod></SummaryOfTimingAnalysis>
    <SummaryOfOverallLatency>
      <unit>clock cycles</unit><Best-caseLatency>12</Best-caseLatency><Average-caseLatency>undef</Average-caseLatency>
      <Worst-caseLatency>48211</Worst-caseLatency><Best-caseRealTimeLatency>0.120 us</Best-caseRealTimeLatency>
      <Interval-min>13</Interval-min><Interval-max>48212</Interval-max>
    </SummaryOfOverallLatency>
    <SummaryOfLoopLatency/>
  </PerformanceEstimates>
  <AreaEstimates>
    <Resources><BRAM_18K>33</BRAM_18K><DSP>21</DSP><FF>9744</FF><LUT>19834</LUT><URAM>0</URAM></Resources>
    <AvailableResources>
      <BRAM_18K>1824</BRAM_18K><DSP>2520</DSP><FF>548160</FF><LUT>274080</LUT><URAM>0</URAM>
    </AvailableResources>
  </AreaEstimates>
  <ModuleInformation>
    <Module>
      <Name>aggregate_Layer0_s</Name>
      <PerformanceEstimates>
        <SummaryOfTimingAnalysis>
          <TargetClockPeriod>10.00</TargetClockPeriod><ClockUncertainty>2.70</ClockUncertainty>
          <EstimatedClockPeriod>7.300</EstimatedClockPeriod>
        </SummaryOfTimingAnalysis>
        <SummaryOfLoopLatency>
          <EDGES>
            <Name>EDGES</Name><Slack>7.30</Slack>
            <TripCount><range><min>0</min><max>13264</max></range></TripCount>
            <Latency><range><min>0</min><max>13269</max></range></Latency>
            <PipelineII>2</PipelineII><PipelineDepth>7</PipelineDepth><PipelineType>yes</PipelineType>
          </EDGES>
        </SummaryOfLoopLatency>
      </PerformanceEstimates>
    </Module>
    <Module>
      <Name>load_first_Layer0_s</Name>
      <PerformanceEstimates>
        <SummaryOfLoopLatency>
          <OUTER>
            <Name>OUTER</Name><TripCount>4</TripCount><Latency>400</Latency><PipelineType>no</PipelineType>
            <INNER><Name>INNER</Name><TripCount>96</TripCount><Latency>98</Latency><PipelineII>1</PipelineII></INNER>
          </OUTER>
        </SummaryOfLoopLatency>
      </PerformanceEstimates>
    </Module>
  </ModuleInformation>
</profile>
"""

COSIM = """
Report time       : Tue Jan 14 09:31:12 CET 2025.
Solution          : hls.
Simulation tool   : xsim.

+----------+----------+-----------------------------+-----------------------------+----------------------+
|          |          |    Latency(Clock Cycles)    |    Interval(Clock Cycles)   | Total Execution Time |
+   RTL    +  Status  +-----------------------------+-----------------------------+    (Clock Cycles)    +
|          |          |   min   |   avg   |   max   |   min   |   avg   |   max   |                      |
+----------+----------+-----------------------------+-----------------------------+----------------------+
|      VHDL|        NA|       NA|       NA|       NA|       NA|       NA|       NA|                    NA|
|   Verilog|      Pass|       31|    20112|    45911|       32|    20113|    45912|                181007|
+----------+----------+-----------------------------+-----------------------------+----------------------+
"""

IMPLEMENTATION = """<profile>
  <RunData><RUN_TYPE>impl</RUN_TYPE><VIVADO_VERSION>v.2024.2</VIVADO_VERSION></RunData>
  <TimingReport>
    <TargetClockPeriod>10.000</TargetClockPeriod><AchievedClockPeriod>6.311</AchievedClockPeriod>
    <CP_FINAL>6.311</CP_FINAL><CP_TARGET>10.000</CP_TARGET><TIMING_MET>TRUE</TIMING_MET>
  </TimingReport>
  <AreaReport>
    <Resources><BRAM>30</BRAM><CLB>1204</CLB><DSP>20</DSP><FF>8001</FF><LUT>7455</LUT><SRL>60</SRL><URAM>0</URAM></Resources>
    <AvailableResources>
      <BRAM>1824</BRAM><CLB>34260</CLB><DSP>2520</DSP><FF>548160</FF><LUT>274080</LUT><URAM>0</URAM>
    </AvailableResources>
  </AreaReport>
</profile>
"""
CSIM = """\
INFO: [SIM 211-2] *************** CSIM start ***************
first run: 0 mismatches
second run: 0 mismatches
nodes 9 logits 45 mismatches 0 failed_checks 0
INFO: [SIM 211-1] CSim done with 0 errors.
"""
AVAILABLE = {"lut": 274080, "ff": 548160, "dsp": 2520, "bram36": 912, "uram": 0}
PLACES = {
    "csynth": "syn/report/csynth.xml", "cosim": "sim/report/fgnas_top_cosim.rpt",
    "impl": "impl/report/verilog/export_impl.xml",
}  # fmt: skip


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def loop(function: str, name: str, ii: int | None, clock: float | None, least: int | None, most: int | None) -> dict:
    trips = {"min": least, "max": most}
    return {"function": function, "loop": name, "ii": ii, "estimated_ns": clock, "trip_count": trips}


def test_the_report_of_the_synthesis(tmp_path: Path) -> None:
    assert read_csynth(written(tmp_path / "csynth.xml", CSYNTH)) == {
        "part": "xczu9eg-ffvb1156-2-e",
        "clock_ns": {"target": 10, "uncertainty": 2.7, "estimated": 7.3},
        "latency_cycles": {"min": 12, "max": 48211},
        "interval_cycles": {"min": 13, "max": 48212},
        "used": {"lut": 19834, "ff": 9744, "dsp": 21, "bram36": 16.5, "uram": 0},
        "available": AVAILABLE,
        "loops": [
            loop("aggregate_Layer0_s", "EDGES", 2, 7.3, 0, 13264),
            loop("load_first_Layer0_s", "OUTER", None, None, 4, 4),
            loop("load_first_Layer0_s", "INNER", 1, None, 96, 96),
        ],
    }


def test_what_the_synthesis_leaves_open(tmp_path: Path) -> None:
    """An undefined latency; and the names and the loops of a report without modules, as older releases write it."""
    old = CSYNTH.replace("48211", "undef").replace("DSP>", "DSP48E>").replace("<URAM>0</URAM>", "")
    old = re.sub("<ModuleInformation>.*</ModuleInformation>", "", old, flags=re.DOTALL)
    load = (
        "<SummaryOfLoopLatency><LOAD><TripCount>?</TripCount><PipelineII>1</PipelineII></LOAD></SummaryOfLoopLatency>"
    )
    found = read_csynth(written(tmp_path / "csynth.xml", old.replace("<SummaryOfLoopLatency/>", load)))
    assert found["latency_cycles"] == {"min": 12, "max": None}
    assert (found["used"]["dsp"], found["used"]["uram"]) == (21, 0)
    assert found["loops"] == [loop("fgnas_top", "LOAD", 1, 7.3, None, None)]


def test_the_report_of_the_implementation(tmp_path: Path) -> None:
    path = written(tmp_path / "export_impl.xml", IMPLEMENTATION)
    assert read_implementation(path) == {
        "clock_ns": {"target": 10, "achieved": 6.311},
        "timing_met": True,
        "used": {"lut": 7455, "ff": 8001, "dsp": 20, "bram36": 15, "uram": 0},
        "available": AVAILABLE,
    }
    path.write_text(IMPLEMENTATION.replace(">6.311</Ach", ">10.001</Ach"))
    assert read_implementation(path)["timing_met"] is False


def test_the_report_of_the_co_simulation(tmp_path: Path) -> None:
    path = written(tmp_path / "cosim.rpt", COSIM)
    assert read_cosim(path) == {"status": "Pass", "latency_cycles": {"min": 31, "avg": 20112, "max": 45911}}
    path.write_text(re.sub(r"\|   Verilog.*", "|   Verilog|      Fail|  NA|  NA|  NA|  NA|  NA|  NA|  NA|", COSIM))
    assert read_cosim(path) == {"status": "Fail", "latency_cycles": {"min": None, "avg": None, "max": None}}


@pytest.mark.parametrize("read, text, message", [
    (read_csynth, CSYNTH[:400], "damaged"),
    (read_csynth, re.sub("<AreaEst.*</AreaEstimates>", "", CSYNTH, flags=re.DOTALL), "contains no resources"),
    (read_csynth, CSYNTH.replace("LUT>", "LOT>"), "no number of LUT"),
    (read_implementation, "<profile/>", "contains no resources"),
    (read_cosim, COSIM.replace("Verilog", "SystemC"), "no line about Verilog"),
])  # fmt: skip
def test_a_report_that_is_not_whole(read, text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        read(written(tmp_path / "report", text))


class Stand:
    """A project, and programs on PATH in place of Vitis: they record their call and write the files of `leaves`."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.project, self.bin, self.fixed = folder / "project", folder / "bin", folder / "fixed"
        self.bin.mkdir()
        self.leaves(csim=CSIM, csynth=CSYNTH, cosim=COSIM, impl=IMPLEMENTATION)
        monkeypatch.setenv("PATH", f"{self.bin}{os.pathsep}/usr/bin{os.pathsep}/bin")
        monkeypatch.chdir(folder)
        rng = np.random.default_rng(3)
        data = random_graph(rng, 9, 8, 5, 12)
        write_project(random_accelerator(rng, random_design(rng, 2), data), data, self.project)

    def leaves(self, **reports: str | None) -> None:
        """The result of a step: a report, or for csim its output. None: nothing."""
        for step, text in reports.items():
            if text is None:
                (self.fixed / step).unlink()
            else:
                written(self.fixed / step, text)

    def program(self, name: str, step: str, solution: str, code: int = 0) -> None:
        """`step` is shell that sets $step."""
        cases = "\n".join(
            f"  {step}) place={solution}/{place}; mkdir -p $(dirname $place); cp {self.fixed}/{step} $place || true ;;"
            for step, place in PLACES.items()
        )
        path = written(self.bin / name, f"""#!/bin/sh
echo "$(basename $0) $FGNAS_STEP: $@" >> {self.fixed}/calls
echo "****** {name} v2024.2 (64-bit)"
{step}
case $step in
  csim) cat {self.fixed}/csim ;;
{cases}
esac
[ {code} = 0 ] || echo "ERROR: [HLS 207-3776] use of undeclared identifier"
exit {code}
""")  # fmt: skip
        path.chmod(0o755)

    def unified(self, **codes: int) -> None:
        self.program("v++", "step=csynth", "build/vitis/hls", codes.get("csynth", 0))
        choose = 'for word in "$@"; do case $word in --csim|--cosim|--impl) step=${word#--} ;; esac; done'
        self.program("vitis-run", choose, "build/vitis/hls", codes.get("run", 0))

    def classic(self, code: int = 0) -> None:
        self.program("vitis_hls", "step=$FGNAS_STEP", "build_vitis/solution", code)

    def calls(self) -> list[str]:
        return (self.fixed / "calls").read_text().splitlines()


@pytest.fixture
def stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stand:
    return Stand(tmp_path, monkeypatch)


OPTIONS = "--mode hls --config hls_config.cfg --work_dir build/vitis"


def test_the_newer_generation(stand: Stand, capsys: pytest.CaptureFixture[str]) -> None:
    stand.classic()
    stand.unified()
    seen: list[str] = []
    report = run_vitis(stand.project, "cosim", seen.append)
    assert stand.calls() == [f"v++ csynth: -c {OPTIONS}", f"vitis-run cosim: {OPTIONS} --cosim"]
    assert seen == ["****** v++ v2024.2 (64-bit)", "****** vitis-run v2024.2 (64-bit)"]
    assert report["tool"] == "v++ 2024.2"
    price = json.loads((stand.project / "report" / "price.json").read_text())
    assert report["predicted"]["latency_cycles"] == price["latency_cycles"]
    assert set(report["predicted"]) == {"lut", "ff", "dsp", "bram36", "uram", "latency_cycles"}
    assert report["steps"]["cosim"]["latency_cycles"]["max"] == 45911
    assert report["steps"]["csynth"]["loops"][0]["ii"] == 2
    assert json.loads((stand.project / "report" / "vitis.json").read_text()) == report

    # A finished synthesis is not repeated; earlier steps stay in the report.
    assert main(["vitis", str(stand.project), "--step", "impl", "--json"]) == 0
    assert stand.calls()[2:] == [f"vitis-run impl: {OPTIONS} --impl"]
    report = json.loads(capsys.readouterr().out)
    assert set(report["steps"]) == {"csynth", "cosim", "impl"}
    source = stand.project / "src" / "linear.h"
    os.utime(source, ns=(2**62, 2**62))
    run_vitis(stand.project, "impl")
    assert [call.split()[0] for call in stand.calls()[3:]] == ["v++", "vitis-run"]


def test_the_older_generation(stand: Stand) -> None:
    stand.classic()
    stand.program("v++", "step=csynth", "nowhere")  # of a release that has no vitis-run
    assert run_vitis(stand.project, "csim")["steps"]["csim"]["logits"] == 45
    report = run_vitis(stand.project, "impl")
    assert stand.calls() == [f"vitis_hls {step}: -f run_hls.tcl" for step in ("csim", "csynth", "impl")]
    assert report["tool"] == "vitis_hls 2024.2"
    assert report["steps"]["impl"]["used"]["bram36"] == 15
    assert report["steps"]["impl"]["log"] == "build/vitis-impl.log"


def test_the_script_of_the_older_generation_knows_every_step(stand: Stand) -> None:
    script = (stand.project / "run_hls.tcl").read_text()
    assert "::env(FGNAS_STEP)" in script
    commands = {"csim": "csim_design", "csynth": "csynth_design", "cosim": "cosim_design", "impl": "-flow impl"}
    for step, command in commands.items():
        assert step in script and command in script


def test_what_people_see(stand: Stand, capsys: pytest.CaptureFixture[str]) -> None:
    stand.unified()
    assert main(["vitis", str(stand.project), "--step", "csynth"]) == 1
    out, err = capsys.readouterr()
    assert re.search(r"lut +\| +19,834 \| +[\d,]+ \| +274,080 \| +7\.24%", out)
    assert "clock ns: target 10, uncertainty 2.7, estimated 7.3" in out
    assert "loop aggregate_Layer0_s.EDGES: II 2" in out
    assert "latency cycles: min 12, max 48211\n" in out
    assert err.splitlines() == [
        "****** v++ v2024.2 (64-bit)", "fgnas: csynth: loop aggregate_Layer0_s.EDGES has II 2, not 1"
    ]


PIPELINED = CSYNTH.replace("<PipelineII>2<", "<PipelineII>1<")


@pytest.mark.parametrize(
    ("report", "faults"),
    [
        (PIPELINED, []),
        (CSYNTH, ["loop aggregate_Layer0_s.EDGES has II 2, not 1"]),
        (PIPELINED.replace(">7.300<", ">7.301<"),
         ["the estimated clock of 7.301 ns is over 7.3 ns, in the function of loop aggregate_Layer0_s.EDGES"]),
        (PIPELINED.replace(">7.300<", ">7.301<", 1), ["the estimated clock of 7.301 ns is over 7.3 ns"]),
        (PIPELINED.replace("<ClockUncertainty>2.70</ClockUncertainty>", "").replace(">7.300<", ">9.9<"), []),
        (CSYNTH.replace(">7.300<", ">12<"),
         ["loop aggregate_Layer0_s.EDGES has II 2, not 1",
          "the estimated clock of 12 ns is over 7.3 ns, in the function of loop aggregate_Layer0_s.EDGES"]),
    ],
)  # fmt: skip
def test_a_synthesis_with_ii_over_one_or_a_missed_clock_fails(
    stand: Stand, report: str, faults: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Its exit code is 1, and every reason names the loop."""
    stand.leaves(csynth=report)
    stand.unified()
    assert main(["vitis", str(stand.project), "--step", "csynth", "--quiet"]) == (1 if faults else 0)
    assert capsys.readouterr().err.splitlines() == [f"fgnas: csynth: {fault}" for fault in faults]


def test_an_implementation_that_misses_its_clock_fails(stand: Stand, capsys: pytest.CaptureFixture[str]) -> None:
    stand.leaves(impl=IMPLEMENTATION.replace(">6.311</Ach", ">10.001</Ach"))
    stand.unified()
    assert main(["vitis", str(stand.project), "--step", "impl", "--quiet"]) == 1
    assert capsys.readouterr().err == "fgnas: impl: the clock of 10.001 ns is over 10 ns\n"


def test_a_mismatch_is_a_result(stand: Stand) -> None:
    stand.leaves(csim=CSIM.replace("mismatches 0", "mismatches 7"))
    stand.unified(run=1)
    assert main(["vitis", str(stand.project), "--step", "csim"]) == 1
    report = json.loads((stand.project / "report" / "vitis.json").read_text())
    assert report["steps"]["csim"]["mismatches"] == 7


def test_a_co_simulation_that_fails_is_a_result(stand: Stand) -> None:
    stand.leaves(cosim=COSIM.replace("Pass", "Fail"))
    stand.unified(run=1)
    assert main(["vitis", str(stand.project), "--step", "cosim"]) == 1


@pytest.mark.parametrize("step", ["csim", "csynth", "cosim", "impl"])
@pytest.mark.parametrize("generation", ["unified", "classic"])
def test_a_step_that_fails_names_the_log(stand: Stand, step: str, generation: str, capsys) -> None:
    stand.leaves(csim="INFO: [SIM 211-100] 'csim_design' failed: compilation error(s).\n")
    if generation == "unified":
        stand.unified(csynth=int(step == "csynth"), run=1)
    else:
        stand.classic()
        run_vitis(stand.project, "csynth")
        stand.classic(1)
    assert main(["vitis", str(stand.project), "--step", step]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "undeclared identifier; see " in last and last.endswith(f"build/vitis-{step}.log")
    assert "undeclared identifier" in (stand.project / "build" / f"vitis-{step}.log").read_text()


@pytest.mark.parametrize("step", ["csynth", "cosim", "impl"])
def test_a_step_that_leaves_no_report(stand: Stand, step: str) -> None:
    """The report of an earlier run does not count."""
    stand.unified()
    run_vitis(stand.project, step)
    stand.leaves(**{step: None})
    with pytest.raises(UserError, match=rf"{step} succeeded but wrote no .*{PLACES[step]}; see .*vitis-{step}\.log"):
        run_vitis(stand.project, step)


def test_no_vitis(stand: Stand, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vitis", str(stand.project)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    for part in ("Vitis is not on PATH", "v++ with vitis-run", "vitis_hls", "fgnas csim", "fgnas sim", "fgnas synth"):
        assert part in err
    stand.program("v++", "step=csynth", "nowhere")
    with pytest.raises(UserError, match="not on PATH"):
        find_vitis()


def test_no_project(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="hls_config.cfg is missing; write the project"):
        run_vitis(tmp_path, "csynth")
