"""Counting cells, adding up a hierarchy, and a small design through Yosys."""

from pathlib import Path

import pytest

from fgnas.errors import UserError
from fgnas.paths import templates_directory
from fgnas.tools.synth import count_cells, instance_totals, synthesise, utilisation_table

RTL = templates_directory() / "rtl"


def test_luts_are_logic_shift_registers_and_memories_without_inverters() -> None:
    cells = {"LUT2": 3, "LUT6": 2, "SRL16E": 5, "RAM32M": 2, "RAM64M": 1, "INV": 9, "CARRY4": 4, "MUXF7": 1}
    assert count_cells(cells) == {"lut": 3 + 2 + 5 + 8 + 4, "ff": 0, "dsp": 0, "bram36": 0, "uram": 0}


def test_a_half_block_ram_is_a_half() -> None:
    found = count_cells({"RAMB36E2": 2, "RAMB18E2": 3, "DSP48E2": 4, "FDRE": 7, "FDSE": 1})
    assert found == {"lut": 0, "ff": 8, "dsp": 4, "bram36": 3.5, "uram": 0}


def test_an_unknown_cell_is_an_error() -> None:
    with pytest.raises(UserError, match="NOVEL"):
        count_cells({"NOVEL": 1})


def test_instances_add_up() -> None:
    modules = {
        "top": {"cells": {"LUT1": 1}, "instances": {"a": "part$1", "b": "part$1"}},
        "part$1": {"cells": {"FDRE": 2, "LUT3": 3}, "instances": {}},
    }
    totals = instance_totals(modules, "top")
    assert totals["top"] == {"module": "top", "lut": 7, "ff": 4, "dsp": 0, "bram36": 0, "uram": 0}
    assert totals["top.b"] == {"module": "part", "lut": 3, "ff": 2, "dsp": 0, "bram36": 0, "uram": 0}


def test_the_table_shows_what_is_used_beside_what_was_predicted() -> None:
    total = {"lut": 50, "ff": 20, "dsp": 1, "bram36": 1.5, "uram": 0}
    report = {"family": "xc7", "tool": "Yosys", "total": total, "predicted": {**total, "lut": 55}}
    lines = utilisation_table(report | {"against": "device mine", "available": {"lut": 200, "uram": 0}}).splitlines()
    assert "device mine, family xc7" in lines[0]
    assert [cell.strip() for cell in lines[9].split("|")[1:-1]] == ["URAM", "0", "0", "0", "-"]
    assert [cell.strip() for cell in lines[5].split("|")[1:-1]] == ["Slice LUTs", "50", "55", "200", "25.00"]
    assert len({len(line) for line in lines[2:] if line}) == 1


def test_an_unknown_family_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="known: xc7, xcup"):
        synthesise([], "top", "virtex", tmp_path, tmp_path / "log")


def test_a_failure_names_its_cause_and_the_log(tmp_path: Path) -> None:
    pytest.importorskip("pyosys")
    (tmp_path / "broken.sv").write_text("module top(; endmodule\n")
    with pytest.raises(UserError, match=r"Yosys failed: .*; see .*synth\.log"):
        synthesise(["broken.sv"], "top", "xc7", tmp_path, tmp_path / "synth.log")


def test_products_go_where_they_are_sent(tmp_path: Path) -> None:
    """Two equal products in LUTs and one in a DSP slice: the equal ones are mapped once and counted twice."""
    pytest.importorskip("pyosys")
    top = tmp_path / "top.sv"
    ports = ".clk_i(clk_i), .left_i(left_i), .right_i(right_i)"
    top.write_text(f"""
module top(input wire clk_i, input wire signed [7:0] left_i, right_i, output logic signed [2:0][15:0] product_o);
  fgnas_multiplier #(.UseDsp(1'b0)) u_a ({ports}, .product_o(product_o[0]));
  fgnas_multiplier #(.UseDsp(1'b0)) u_b ({ports}, .product_o(product_o[1]));
  fgnas_multiplier #(.UseDsp(1'b1)) u_c ({ports}, .product_o(product_o[2]));
endmodule
""")
    files = [*(str(RTL / f"fgnas_multiplier{kind}.sv") for kind in ("", "_fabric", "_dsp")), str(top)]
    result = synthesise(files, "top", "xc7", tmp_path, tmp_path / "synth.log")
    totals = instance_totals(result["modules"], "top")
    assert len(result["modules"]) == 5
    assert totals["top.u_a"] == totals["top.u_b"]
    assert totals["top.u_a"]["dsp"] == 0
    assert totals["top.u_a"]["lut"] > 50
    assert (totals["top.u_c"]["lut"], totals["top.u_c"]["dsp"]) == (0, 1)
    assert totals["top"]["lut"] == 2 * totals["top.u_a"]["lut"]


def test_equal_memories_are_mapped_once(tmp_path: Path) -> None:
    """Names that the elaboration numbers do not tell modules apart."""
    pytest.importorskip("pyosys")
    top = tmp_path / "top.sv"
    ports = ".clk_i(clk_i), .write_i(write_i), .write_address_i(at_i), .read_address_i(at_i), .write_data_i(data_i)"
    memory = "fgnas_distributed_ram #(.Depth(32), .Width(8))"
    top.write_text(f"""
module top(input wire clk_i, write_i, input wire [4:0] at_i, input wire [7:0] data_i, output logic [1:0][7:0] data_o);
  {memory} u_a ({ports}, .read_data_o(data_o[0]));
  {memory} u_b ({ports}, .read_data_o(data_o[1]));
endmodule
""")
    files = [str(RTL / "fgnas_distributed_ram.sv"), str(top)]
    result = synthesise(files, "top", "xc7", tmp_path, tmp_path / "synth.log")
    assert len(result["modules"]) == 2
    totals = instance_totals(result["modules"], "top")
    assert totals["top"]["lut"] == 2 * totals["top.u_a"]["lut"] > 0


WHOLE = """
module top(input wire clk_i, input wire [7:0] left_i, input wire [7:0] right_i, output logic [7:0] sum_o);
  logic [7:0] sum;
  assign sum = left_i + (right_i & 8'h3f);
  always_ff @(posedge clk_i) sum_o <= sum ^ left_i;
endmodule
"""
PARTED = """
module array_unit_mask(input wire [7:0] value_i, output logic [7:0] value_o);
  assign value_o = value_i & 8'h3f;
endmodule
module array_unit_add(input wire [7:0] left_i, input wire [7:0] right_i, output logic [7:0] sum_o);
  logic [7:0] masked;
  array_unit_mask u_mask (.value_i(right_i), .value_o(masked));
  assign sum_o = left_i + masked;
endmodule
module top(input wire clk_i, input wire [7:0] left_i, input wire [7:0] right_i, output logic [7:0] sum_o);
  logic [7:0] sum;
  if (1) begin : gen_add
    array_unit_add u_add (.left_i(left_i), .right_i(right_i), .sum_o(sum));
  end
  always_ff @(posedge clk_i) sum_o <= sum ^ left_i;
endmodule
"""


@pytest.mark.slow
def test_parts_of_a_unit_are_mapped_with_it(tmp_path: Path) -> None:
    """Parts within parts leave no module behind, and their module has the cells that it has in one piece; apart they
    are mapped as modules of other names are."""
    found = []
    for name, text in (("whole", WHOLE), ("parted", PARTED), ("kept", PARTED.replace("array_unit_", "other_"))):
        (tmp_path / f"{name}.sv").write_text(text)
        found.append(synthesise([f"{name}.sv"], "top", "xc7", tmp_path, tmp_path / "log")["modules"])
    whole, parted, kept = found
    apart = synthesise(["parted.sv"], "top", "xc7", tmp_path, tmp_path / "log", apart=True)["modules"]
    names = {name: name.replace("array_unit_", "other_") for name in apart}
    assert {names[name]: module["cells"] for name, module in apart.items()} == {
        name: module["cells"] for name, module in kept.items()
    }  # fmt: skip
    assert parted == whole and [*whole] == ["top"]
    assert len(kept) == 3 and sum(map(len, (module["instances"] for module in kept.values()))) == 2
