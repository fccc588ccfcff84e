"""Reading nextpnr's report: the clock, and a critical path that names instances and signals."""

from pathlib import Path

import pytest

from fgnas.errors import UserError
from fgnas.tools.timing import read_report, run_timing, signal_of, timing_text

STEPS = [
    {"type": "clk-to-q", "delay": 0.5, "from": {"cell": "a"}, "to": {"cell": "u_linear_0.u_datapath.sum_q_TRELLIS_FF"}},
    {"type": "routing", "delay": 1.0, "from": {"cell": "a"}, "to": {"cell": "u_linear_0.u_datapath.total_d_LUT4_Z_1"}},
    {"type": "logic", "delay": 0.25, "from": {"cell": "b"}, "to": {"cell": "u_linear_0.u_datapath.total_d_CCU2C_S0_3"}},
    {"type": "setup", "delay": 0.1, "from": {"cell": "c"}, "to": {"cell": "state_q_TRELLIS_FF_Q_DI_LUT4_Z"}},
]
REPORT = {
    "fmax": {"$glbnet$ap_clk": {"achieved": 123.456, "constraint": 100.0}},
    "critical_paths": [
        {"from": "<async>", "to": "posedge $glbnet$ap_clk", "path": []},
        {"from": "posedge $glbnet$ap_clk", "to": "posedge $glbnet$ap_clk", "path": STEPS},
    ],
    "utilization": {"TRELLIS_FF": {"used": 10, "available": 100}, "DP16KD": {"used": 0, "available": 9}},
}


@pytest.mark.parametrize(
    ("cell", "signal"),
    [
        ("u_linear_0.u_datapath.sum_q_TRELLIS_FF_Q_3", "u_linear_0.u_datapath.sum_q"),
        ("u_h_1.mem.0.0_DP16KD_1", "u_h_1.mem"),
        ("u_reader.u_buffer.mem.0.0_DOB11_LUT4_A", "u_reader.u_buffer.mem"),
        ("state_q$1234", "state_q"),
    ],
)
def test_what_the_mapper_appended_is_cut(cell: str, signal: str) -> None:
    assert signal_of(cell) == signal


def test_the_path_within_the_clock_is_merged_by_signal() -> None:
    found = read_report(REPORT)
    assert found["fmax_mhz"] == 123.4 and found["utilisation"] == {"TRELLIS_FF": 10}
    assert found["critical_path"] == [
        {"instance": "u_linear_0.u_datapath", "signal": "sum_q", "logic_ns": 0.5, "routing_ns": 0.0},
        {"instance": "u_linear_0.u_datapath", "signal": "total_d", "logic_ns": 0.25, "routing_ns": 1.0},
        {"instance": "", "signal": "state_q", "logic_ns": 0.1, "routing_ns": 0.0},
    ]


def test_the_text_names_the_clock_and_every_step() -> None:
    lines = timing_text({**read_report(REPORT), "device": "a part", "fmax_of_seeds": [90.1, 123.5]}).splitlines()
    assert lines[0] == "123.4 MHz on a part, placed and routed (target: 100 MHz; by seed: 90.1, 123.5)"
    assert lines[1] == "critical path: 1.85 ns, 0.85 of logic and 1.00 of routing, through"
    assert [line.split()[-2:] for line in lines[2:]] == [
        ["u_linear_0.u_datapath", "sum_q"], ["u_linear_0.u_datapath", "total_d"], ["fgnas_kernel", "state_q"],
    ]  # fmt: skip


def test_a_folder_without_a_project_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="write a project"):
        run_timing(tmp_path)
