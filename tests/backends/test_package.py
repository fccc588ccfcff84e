"""The script that packages the RTL: its commands have the documented forms, and the IP has the kernel's registers."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from block_design import PINS, Blocks
from support import random_accelerator, random_design, random_graph
from vivado import Thing, Vivado

from fgnas.backends.pipeline import write_project
from fgnas.hardware import ports, wire

tkinter = pytest.importorskip("tkinter", reason="needs Python's Tcl: sudo apt-get install python3-tk")
SCRIPT = "package_rtl.tcl"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(5)
    data = random_graph(rng, 12, 9, 5, 20)
    folder = tmp_path_factory.mktemp("package") / "p"
    write_project(random_accelerator(rng, random_design(rng, 2), data), data, folder)
    return folder


def packaged(project: Path, target: str = "ip", infers: bool = True, text: str | None = None) -> Vivado:
    vivado = Vivado(infers)
    vivado.run(project / SCRIPT, target, text=text)
    return vivado


def registers(core: Thing) -> dict[str, tuple[int, int, str, str]]:
    """{name: (offset, bits, access, manager)} of the core's register map."""
    (memory_map,) = core.find("map")
    (block,) = memory_map.find("block")
    assert (memory_map.name, block.properties["usage"]) == (ports.CONTROL, "register")
    assert int(block.properties["range"]) >= 2 ** wire.REGISTER_ADDRESS_BITS
    return {
        one.name: (
            int(one.properties["address_offset"], 16), int(one.properties["size"]), one.properties["access"],
            one.parameters().get("ASSOCIATED_BUSIF", ""),
        )
        for one in block.find("register")
    }  # fmt: skip


def check_ip(project: Path, vivado: Vivado) -> None:
    """The IP has the accelerator's registers, the kernel's ports and interfaces, and the project's files."""
    listed = json.loads((project / "report" / "accelerator.json").read_text())["registers"]
    control = {register.name: register.vendor_name for register in wire.CONTROL_REGISTERS}
    on_manager = {"parameters": ports.READ, "features": ports.READ, "edges": ports.READ, "logits": ports.WRITE}
    access = {"rw": "read-write", "w": "write-only", "r": "read-only"}
    assert registers(vivado.core) == {
        control.get(one["name"], one["name"]): (
            one["offset"], one["bits"], access[one["access"]], on_manager.get(one["name"], "")
        )
        for one in listed
    }  # fmt: skip
    assert [path.relative_to(project / "rtl").as_posix() for path in vivado.files] == (
        (project / "rtl" / "files.f").read_text().split()
    )
    assert vivado.ports == {port.name: (port.output, port.bits or 1) for port in ports.PORTS}
    buses = {bus.name: bus for bus in vivado.core.find("bus")}
    assert set(buses) == {ports.CLOCK, ports.RESET, ports.INTERRUPT, ports.CONTROL, ports.READ, ports.WRITE}
    for name in (ports.CONTROL, ports.READ, ports.WRITE):
        assert buses[name].properties["ports"].split() == [one.name for one in ports.PORTS if one.interface == name]
    for name, mode in ((ports.READ, "READ_ONLY"), (ports.WRITE, "WRITE_ONLY")):
        assert buses[name].parameters() == {
            "PROTOCOL": "AXI4", "READ_WRITE_MODE": mode, "ADDR_WIDTH": str(vivado.ports[f"{name}_ARADDR"][1]),
            "DATA_WIDTH": str(vivado.ports[f"{name}_WDATA"][1]), "HAS_BURST": "0", "SUPPORTS_NARROW_BURST": "0",
            "MAX_BURST_LENGTH": "256",
        }  # fmt: skip
    assert buses[ports.CONTROL].parameters() == {"PROTOCOL": "AXI4LITE", "ADDR_WIDTH": "7", "DATA_WIDTH": "32"}
    assert buses[ports.RESET].parameters() == {"POLARITY": "ACTIVE_LOW"}
    assert buses[ports.INTERRUPT].parameters() == {"SENSITIVITY": "LEVEL_HIGH"}
    assert vivado.clocked == dict.fromkeys((ports.CONTROL, ports.READ, ports.WRITE), ports.CLOCK)
    assert vivado.reset_of == {ports.CLOCK: ports.RESET}
    assert vivado.core.properties["name"] == "fgnas_top"
    finish = ["ipx::create_xgui_files", "ipx::update_checksums", "ipx::check_integrity", "ipx::save_core"]
    assert [name for name in vivado.calls if name in finish] == finish and vivado.calls[-1] == "close_project"


@pytest.mark.parametrize("infers", [True, False], ids=["the packager infers", "the script infers"])
@pytest.mark.parametrize("target", ["ip", "xo"])
def test_the_ip_has_the_registers_and_interfaces_of_the_kernel(project: Path, target: str, infers: bool) -> None:
    vivado = packaged(project, target, infers)
    check_ip(project, vivado)
    folder = project / "build" / "rtl"
    if target == "ip":
        assert vivado.archive == folder / "fgnas_top.zip" and not vivado.kernel_object
        return
    assert vivado.kernel_object == {
        "-force": "", "-xo_path": str(folder / "fgnas_top.xo"), "-kernel_name": "fgnas_top",
        "-ctrl_protocol": "ap_ctrl_hs", "-ip_directory": str(folder / "ip"),
    }  # fmt: skip
    assert vivado.core.properties["sdx_kernel"] == "true" and vivado.core.properties["sdx_kernel_type"] == "rtl"
    assert vivado.core.properties["vitis_drc"] == "ctrl_protocol ap_ctrl_hs"


FAULTS = {
    "an offset": (r"logits 0x04c", "logits 0x050"),
    "a size": (r"edges 0x040 64", "edges 0x040 32"),
    "an access": (r"status 0x058 32 read-only", "status 0x058 32 write-only"),
    "a manager": (rf"features 0x034 64 write-only {ports.READ}", f"features 0x034 64 write-only {ports.WRITE}"),
    "a missing register": (r"    nodes 0x010 .*\n", ""),
    "a missing interface": (rf"parameters \[interface {ports.WRITE} [^]]*\] \{{[^}}]*\}}\n", ""),
    "a wrong port": (rf"{ports.WRITE}_WLAST", f"{ports.WRITE}_LAST"),
    "a missing port": (rf"    {ports.READ}_RLAST\n", ""),
    "a mode": (r"READ_WRITE_MODE READ_ONLY", "READ_WRITE_MODE READ_WRITE"),
    "a protocol": (r"PROTOCOL AXI4 ", "PROTOCOL AXI3 "),
    "a reset's polarity": (r"ACTIVE_LOW", "ACTIVE_HIGH"),
    "an interface without clock": (rf"foreach bus \{{{ports.CONTROL} ", "foreach bus {"),
    "an option": (r"-import_files", "-import_sources"),
    "an unknown property": (r"set_property size ", "set_property bits "),
    "an argument too few": (r"ipx::add_register \$name \$block", "ipx::add_register $name"),
    "a file": (r"files\.f", "all.f"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_script_is_found(project: Path, fault: str) -> None:
    text = (project / SCRIPT).read_text()
    changed, count = re.subn(*FAULTS[fault], text)
    assert count, "the fault changes nothing"
    with pytest.raises((AssertionError, ValueError, tkinter.TclError)):
        check_ip(project, packaged(project, infers=False, text=changed))


def test_another_target_is_refused(project: Path) -> None:
    with pytest.raises(tkinter.TclError, match="usage: -tclargs"):
        packaged(project, "zip")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("an option", "ipx::package_project has no option -import_sources"),
        ("an unknown property", "a register has no property bits"),
        ("an argument too few", "ipx::add_register takes 2 to 2 arguments"),
        ("a wrong port", "not ports of the top: .*_LAST"),
        ("a missing interface", f"no interface {ports.WRITE}"),
    ],
)
def test_a_wrong_command_is_named(project: Path, fault: str, message: str) -> None:
    text = re.sub(*FAULTS[fault], (project / SCRIPT).read_text())
    with pytest.raises((AssertionError, ValueError), match=message):
        packaged(project, infers=False, text=text)


SYSTEMS = {
    "xc7z020clg400-1": ("M_AXI_GP0", "S_AXI_HP0", "FCLK_CLK0", "IRQ_F2P", {"M_AXI_GP0_ACLK", "S_AXI_HP0_ACLK"}),
    "xczu3eg-sbva484-1-e": (
        "M_AXI_HPM0_FPD", "S_AXI_HP0_FPD", "pl_clk0", "pl_ps_irq0", {"maxihpm0_fpd_aclk", "saxihp0_fpd_aclk"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("part", SYSTEMS)
def test_the_block_design_connects_everything_of_the_kernel(project: Path, part: str) -> None:
    manager, memory, clock, interrupt, clocks = SYSTEMS[part]
    blocks = Blocks(project)
    blocks.run(part)
    assert blocks.part == part and blocks.cells["fgnas_top_0"] == "fgnas_top"
    kernel = {f"fgnas_top_0/{name}" for some in PINS["fgnas_top"] for name in some}
    assert kernel <= blocks.nets.keys()
    assert blocks.nets[f"fgnas_top_0/{ports.CONTROL}"] == {"control_bus/M00_AXI"}
    assert blocks.nets[f"processor/{manager}"] == {"control_bus/S00_AXI"}
    assert blocks.nets[f"processor/{memory}"] == {"memory_bus/M00_AXI"}
    assert {next(iter(blocks.nets[f"fgnas_top_0/{one.name}"])) for one in ports.MANAGERS} == {
        f"memory_bus/S{number:02d}_AXI" for number in range(len(ports.MANAGERS))
    }
    assert blocks.nets[f"processor/{clock}"] == {
        *(f"processor/{name}" for name in clocks), "resets/slowest_sync_clk", "control_bus/aclk", "memory_bus/aclk",
        f"fgnas_top_0/{ports.CLOCK}",
    }  # fmt: skip
    assert blocks.nets[f"fgnas_top_0/{ports.RESET}"] == {"resets/peripheral_aresetn"}
    assert blocks.nets[f"fgnas_top_0/{ports.INTERRUPT}"] == {f"processor/{interrupt}"}
    assert blocks.settings["memory_bus", "CONFIG.NUM_SI"] == str(len(ports.MANAGERS))
    finish = ["assign_bd_address", "validate_bd_design", "save_bd_design", "make_wrapper", "launch_runs", "wait_on_run"]
    assert [name for name in blocks.calls if name in finish] == finish
    for name in ("fgnas.bit", "fgnas.hwh"):
        assert (project / "build" / "system" / name).is_file()


def test_what_the_block_design_refuses(project: Path) -> None:
    with pytest.raises(tkinter.TclError, match=r"xcu50-fsvh2104-2-e has no processor: give a Zynq's part"):
        Blocks(project).run("xcu50-fsvh2104-2-e")
    with pytest.raises(tkinter.TclError, match="the implementation failed"):
        Blocks(project, progress="60%").run("xc7z020clg400-1")
    text = (project / "block_design.tcl").read_text()
    for right, wrong in (
        (f"fgnas_top_0/{ports.CLOCK}", "fgnas_top_0/clk"), ("make_wrapper -files", "make_wrapper -file"),
        ("memory_bus/M00_AXI", "memory_bus/M01_AXI"),
    ):  # fmt: skip
        assert right in text
        with pytest.raises(ValueError):
            Blocks(project).run("xc7z020clg400-1", text=text.replace(right, wrong))
