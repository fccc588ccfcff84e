"""A stand-in for Vivado's block designs: it runs a Tcl script, checks the form of every command, and keeps all nets.

Commands and options are those of UG835; the pins of the processors are those of PG082 (processing_system7) and PG201
(zynq_ultra_ps_e), of the buses those of PG247 (smartconnect), of the resets those of PG164 (proc_sys_reset).
"""

from __future__ import annotations

from pathlib import Path

from fgnas.hardware import ports

PINS = {
    "processing_system7": ({"M_AXI_GP0", "S_AXI_HP0"},
                           {"M_AXI_GP0_ACLK", "S_AXI_HP0_ACLK", "FCLK_CLK0", "FCLK_RESET0_N", "IRQ_F2P"}),
    "zynq_ultra_ps_e": ({"M_AXI_HPM0_FPD", "S_AXI_HP0_FPD"},
                        {"maxihpm0_fpd_aclk", "saxihp0_fpd_aclk", "pl_clk0", "pl_resetn0", "pl_ps_irq0"}),
    "proc_sys_reset": (set(), {"slowest_sync_clk", "ext_reset_in", "interconnect_aresetn", "peripheral_aresetn"}),
    "smartconnect": ({"S00_AXI", "S01_AXI", "M00_AXI"}, {"aclk", "aresetn"}),
    "fgnas_top": ({ports.CONTROL, *(one.name for one in ports.MANAGERS)},
                  {ports.CLOCK, ports.RESET, ports.INTERRUPT}),
}  # fmt: skip
"""IP -> its buses and its other pins that a design may connect."""
FORMS = {
    "create_project": ("-part", "-force", 2), "set_property": ("", "", 3), "current_project": ("", "", 0),
    "update_ip_catalog": ("", "-rebuild", 0), "create_bd_design": ("", "", 1), "create_bd_cell": ("-type -vlnv", "", 1),
    "get_bd_cells": ("", "", 1), "apply_bd_automation": ("-rule -config", "", 1), "get_bd_pins": ("", "", 1),
    "get_bd_intf_pins": ("", "", 1), "connect_bd_net": ("", "", 2), "connect_bd_intf_net": ("", "", 2),
    "assign_bd_address": ("", "", 0), "validate_bd_design": ("", "", 0), "save_bd_design": ("", "", 0),
    "get_files": ("", "", 1), "make_wrapper": ("-files", "-top", 0), "add_files": ("", "-norecurse", 1),
    "get_filesets": ("", "", 1), "update_compile_order": ("-fileset", "", 0), "get_runs": ("", "", 1),
    "launch_runs": ("-to_step -jobs", "", 1), "wait_on_run": ("", "", 1), "get_property": ("", "", 2),
    "close_project": ("", "", 0),
}  # fmt: skip
"""Command -> options with a value, options without one, and the number of other arguments."""


class Blocks:
    """Vivado's commands as a script sees them.

    Attributes:
        part: that of the project.
        cells: {name: IP} and `settings`, {(cell, property): value}.
        nets: {pin or bus: what it is connected with}.
        calls: the names of the commands, in order.
    """

    def __init__(self, project: Path, progress: str = "100%") -> None:
        self.project, self.progress = project, progress
        self.part = ""
        self.cells: dict[str, str] = {}
        self.settings: dict[tuple[str, str], str] = {}
        self.nets: dict[str, set[str]] = {}
        self.calls: list[str] = []
        self.fault: Exception | None = None

    def run(self, *arguments: str, text: str | None = None) -> None:
        """Run the project's script, or `text` in its place, with the arguments behind -tclargs."""
        import tkinter

        script = self.project / "block_design.tcl"
        tcl = tkinter.Tcl()
        for name in FORMS:
            tcl.createcommand(name, lambda *words, name=name: self._called(name, list(words)))
        tcl.setvar("argv", " ".join(arguments))
        tcl.eval(f"proc info_script {{}} {{ return {{{script}}} }}")
        tcl.eval("rename info _info")
        tcl.eval("proc info {what args} { if {$what eq {script}} { return [info_script] }; "
                 "uplevel 1 [list _info $what {*}$args] }")  # fmt: skip
        try:
            tcl.eval(script.read_text(encoding="utf-8") if text is None else text)
        except tkinter.TclError:
            if self.fault is not None:  # Tcl knows only that a command failed
                raise self.fault from None
            raise

    def _called(self, name: str, words: list[str]) -> str:
        try:
            with_value, without, wanted = FORMS[name]
            options, others = {}, []
            while words:
                word = words.pop(0)
                if word in with_value.split():
                    options[word] = words.pop(0)
                elif word in without.split():
                    options[word] = ""
                elif word.startswith("-"):
                    raise ValueError(f"{name} has no option {word}")
                else:
                    others.append(word)
            if len(others) != wanted:
                raise ValueError(f"{name} takes {wanted} arguments, not {others}")
            self.calls.append(name)
            own = getattr(self, f"_{name}", lambda options, *others: others[0] if others else "")
            return str(own(options, *others))
        except Exception as error:
            self.fault = error
            raise

    def _create_project(self, options: dict[str, str], name: str, folder: str) -> str:
        self.part = options["-part"]
        made = Path(folder)
        for path in (made / f"{name}.runs/impl_1/fgnas_wrapper.bit",
                     made / f"{name}.gen/sources_1/bd/fgnas/hw_handoff/fgnas.hwh"):  # fmt: skip
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("made by the stand-in")
        return ""

    def _set_property(self, options: dict[str, str], name: str, value: str, thing: str) -> str:
        if not thing and name not in ("ip_repo_paths", "board_part"):
            raise ValueError(f"set_property {name}: no object")
        self.settings[thing, name] = value
        return ""

    def _current_project(self, options: dict[str, str]) -> str:
        return "project"

    def _create_bd_cell(self, options: dict[str, str], name: str) -> str:
        vlnv = options["-vlnv"].split(":")
        assert options["-type"] == "ip" and vlnv[0] in ("xilinx.com", "fgnas") and name not in self.cells
        self.cells[name] = vlnv[2]
        return name

    def _get_bd_cells(self, options: dict[str, str], name: str) -> str:
        if name not in self.cells:
            raise ValueError(f"there is no cell {name}")
        return name

    def _pin(self, place: int, name: str) -> str:
        cell, pin = name.split("/")
        if pin not in PINS[self.cells[cell]][place]:
            raise ValueError(f"{self.cells[cell]} has no {('bus', 'pin')[place]} {pin}")
        return name

    def _get_bd_intf_pins(self, options: dict[str, str], name: str) -> str:
        return self._pin(0, name)

    def _get_bd_pins(self, options: dict[str, str], name: str) -> str:
        return self._pin(1, name)

    def _connect_bd_net(self, options: dict[str, str], one: str, other: str) -> str:
        for pin, end in ((one, other), (other, one)):
            self.nets.setdefault(pin, set()).add(end)
        return ""

    def _connect_bd_intf_net(self, options: dict[str, str], one: str, other: str) -> str:
        for bus in (one, other):
            if bus in self.nets:
                raise ValueError(f"the bus {bus} is connected already")
        return self._connect_bd_net(options, one, other)

    def _make_wrapper(self, options: dict[str, str]) -> str:
        assert options["-files"] == "fgnas.bd" and "-top" in options
        return str(self.project / "build" / "system" / "project" / "fgnas_wrapper.v")

    def _get_property(self, options: dict[str, str], name: str, thing: str) -> str:
        assert (name, thing) == ("PROGRESS", "impl_1")
        return self.progress
