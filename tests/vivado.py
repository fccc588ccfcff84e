"""A stand-in for Vivado's packager: it runs a Tcl script, checks the form of every command, and keeps what was set.

Options and arguments are those of UG835 (projects, files, properties), UG1118 and AMD's packaging scripts (ipx::) and
UG1393 (package_xo). Like the packager it infers interfaces from the ports of the top; `infers=False` leaves all of
that to the script.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Thing:
    """An object of the packager: a core, a bus interface, a register, …"""

    kind: str
    name: str
    owner: Thing | None = None
    properties: dict[str, str] = field(default_factory=dict)
    parts: list[Thing] = field(default_factory=list)

    def add(self, kind: str, name: str) -> Thing:
        """A new part; a second one of the same kind and name is an error, as in the packager."""
        if self.find(kind, name):
            raise ValueError(f"{self.name} has two {kind}s {name}")
        self.parts.append(Thing(kind, name, self))
        return self.parts[-1]

    def find(self, kind: str, name: str | None = None) -> list[Thing]:
        """The parts of a kind, or the one with a name."""
        return [part for part in self.parts if part.kind == kind and name in (None, part.name)]

    def parameters(self) -> dict[str, str]:
        """The values of a bus interface's or a register's parameters."""
        return {part.name: part.properties["value"] for part in self.find("parameter")}


FORMS: dict[str, tuple[str, str, int, int]] = {
    "create_project": ("-part", "-force -in_memory -ip -rtl_kernel", 0, 2),
    "close_project": ("", "-delete", 0, 0),
    "add_files": ("-fileset -of_objects -copy_to", "-norecurse -force -scan_for_includes", 1, 1),
    "get_filesets": ("-of_objects -filter", "-regexp -nocase", 0, 1),
    "update_compile_order": ("-fileset", "-force_gui", 0, 0),
    "set_property": ("-dict", "", 3, 3),
    "ipx::package_project": (
        "-root_dir -vendor -library -taxonomy -set_current -module -generated_files", "-import_files -force", 0, 1
    ),
    "ipx::current_core": ("", "", 0, 0),
    "ipx::infer_bus_interface": ("", "", 3, 3),
    "ipx::get_bus_interfaces": ("-of_objects -filter", "", 0, 1),
    "ipx::add_bus_parameter": ("", "", 2, 2),
    "ipx::get_bus_parameters": ("-of_objects -filter", "", 0, 1),
    "ipx::associate_bus_interfaces": ("-busif -clock -reset", "-remove", 1, 1),
    "ipx::add_memory_map": ("", "", 2, 2),
    "ipx::get_memory_maps": ("-of_objects -filter", "", 0, 1),
    "ipx::add_address_block": ("", "", 2, 2),
    "ipx::get_address_blocks": ("-of_objects -filter", "", 0, 1),
    "ipx::add_register": ("", "", 2, 2),
    "ipx::add_register_parameter": ("", "", 2, 2),
    "ipx::create_xgui_files": ("", "", 1, 1),
    "ipx::update_checksums": ("", "", 1, 1),
    "ipx::check_integrity": ("", "-kernel -xrt", 1, 1),
    "ipx::save_core": ("", "", 1, 1),
    "ipx::archive_core": ("", "", 2, 2),
    "package_xo": (
        "-kernel_name -kernel_xml -output_kernel_xml -design_xml -ip_directory -parent_ip_directory -kernel_files "
        "-kernel_xml_args -kernel_xml_pipes -kernel_xml_connections -ctrl_protocol -xo_path", "-force", 0, 0
    ),
}  # fmt: skip
"""Command -> options with a value, options without one, and the fewest and most other arguments."""
EVERYWHERE = ("-quiet", "-verbose")
KNOWN_PROPERTIES = {
    "fileset": "top",
    "core": "name version display_name description supported_families auto_family_support_level ipi_drc core_revision "
            "sdx_kernel sdx_kernel_type vitis_drc",
    "bus": "slave_memory_map_ref",
    "parameter": "value",
    "block": "usage access width range base_address",
    "register": "address_offset size access description",
}  # fmt: skip
KINDS = {"bus_interfaces": "bus", "bus_parameters": "parameter", "memory_maps": "map", "address_blocks": "block"}
SIGNALS = {"clock_rtl": "clock", "reset_rtl": "reset", "interrupt_rtl": "interrupt"}


class Vivado:
    """Vivado's commands as a script sees them.

    Attributes:
        core: the packaged core, with its bus interfaces, memory maps and properties.
        files: the files that were added, in order.
        calls: the names of the commands, in order.
        archive, kernel_object: the path of the IP's archive, and the options of package_xo.
    """

    def __init__(self, infers: bool = True) -> None:
        self.infers = infers
        self.things: dict[str, Thing] = {}
        self.core = Thing("core", "")
        self.fileset = Thing("fileset", "sources_1")
        self.files: list[Path] = []
        self.calls: list[str] = []
        self.ports: dict[str, tuple[bool, int]] = {}
        self.clocked: dict[str, str] = {}
        self.reset_of: dict[str, str] = {}
        self.archive: Path | None = None
        self.kernel_object: dict[str, str] = {}
        self.saved = False
        self.fault: Exception | None = None

    def run(self, script: Path, *arguments: str, text: str | None = None) -> None:
        """Run a script, or `text` in its place, with the arguments behind -tclargs.

        Raises ValueError or AssertionError where a command is wrong, and TclError where the script stops by itself.
        """
        import tkinter

        self.tcl = tkinter.Tcl()
        self.tcl.eval("namespace eval ipx {}")
        for name in FORMS:
            self.tcl.createcommand(name, self._command(name))
        self.tcl.setvar("argv", arguments)
        self.tcl.setvar("script_path", str(script))
        self.tcl.eval("rename info real_info")
        self.tcl.eval('proc info args { if {$args eq "script"} { return $::script_path }; uplevel real_info $args }')
        try:
            self.tcl.eval(script.read_text(encoding="utf-8") if text is None else text)
        except tkinter.TclError:
            # Tcl knows only that a command failed.
            if self.fault is not None:
                raise self.fault from None
            raise

    def _command(self, name: str) -> Callable[..., str]:
        def call(*words: str) -> str:
            try:
                options, others = self._parsed(name, words)
                self.calls.append(name)
                found = getattr(self, "_" + name.removeprefix("ipx::"), self._accepted)(options, *others)
            except Exception as error:
                self.fault = error
                raise
            return " ".join(self._handle(one) for one in found) if isinstance(found, list) else found or ""

        return call

    @staticmethod
    def _parsed(name: str, words: tuple[str, ...]) -> tuple[dict[str, str], list[str]]:
        """The options and the other arguments of a command. Raises ValueError where its form is not documented."""
        with_value, without, fewest, most = FORMS[name]
        options: dict[str, str] = {}
        others: list[str] = []
        waiting = list(words)
        while waiting:
            word = waiting.pop(0)
            if word in with_value.split():
                options[word] = waiting.pop(0)
            elif word in without.split() or word in EVERYWHERE:
                options[word] = ""
            elif re.match(r"-[a-z]", word):
                raise ValueError(f"{name} has no option {word}")
            else:
                others.append(word)
        if not fewest <= len(others) <= most:
            raise ValueError(f"{name} takes {fewest} to {most} arguments, not {others}")
        return options, others

    def _handle(self, thing: Thing) -> str:
        handle = f"{thing.kind}#{id(thing)}"
        self.things[handle] = thing
        return handle

    def _accepted(self, options: dict[str, str], *others: str) -> None:
        """A command that changes nothing here."""

    def _add_files(self, options: dict[str, str], files: str) -> None:
        for name in self.tcl.splitlist(files):
            assert Path(name).is_file(), f"{name} is not a file"
            self.files.append(Path(name))

    def _get_filesets(self, options: dict[str, str], name: str) -> list[Thing]:
        assert name == self.fileset.name
        return [self.fileset]

    def _set_property(self, options: dict[str, str], name: str, value: str, objects: str) -> None:
        handles = objects.split()
        if not handles:
            raise ValueError(f"set_property {name} {value}: no object")
        for handle in handles:
            thing = self.things[handle]
            if name not in KNOWN_PROPERTIES[thing.kind].split():
                raise ValueError(f"a {thing.kind} has no property {name}")
            thing.properties[name] = value

    def _package_project(self, options: dict[str, str]) -> list[Thing]:
        for needed in ("-root_dir", "-vendor", "-library", "-taxonomy"):
            assert options[needed]
        assert "-import_files" in options and options["-set_current"] == "true"
        top = self.fileset.properties["top"]
        (source,) = (path for path in self.files if path.stem == top)
        assert source.suffix == ".v", "the packager wants a top in Verilog"
        self.ports = ports_of(source)
        self.core = Thing("core", top)
        if self.infers:
            self._infer_everything()
        return [self.core]

    def _infer_everything(self) -> None:
        for prefix in dict.fromkeys(m[1] for name in self.ports if (m := re.match(r"([sm]_axi_\w+)_[A-Z]+$", name))):
            self.core.add("bus", prefix).properties["ports"] = " ".join(n for n in self.ports if n.startswith(prefix))
        self.core.find("bus", "s_axi_control")[0].add("parameter", "DATA_WIDTH").properties["value"] = "32"
        for name in ("ap_clk", "ap_rst_n", "interrupt"):
            self.core.add("bus", name)
        self.core.add("map", "s_axi_control").add("block", "reg0")

    def _current_core(self, options: dict[str, str]) -> list[Thing]:
        return [self.core]

    def _infer_bus_interface(self, options: dict[str, str], ports: str, vlnv: str, core: str) -> None:
        names = self.tcl.splitlist(ports)
        unknown = [name for name in names if name not in self.ports]
        assert not unknown, f"not ports of the top: {unknown}"
        vendor, kind, name, version = vlnv.split(":")
        assert (vendor, version) == ("xilinx.com", "1.0") and self.things[core] is self.core
        if kind == "signal":
            assert name in SIGNALS and len(names) == 1
            self.core.add("bus", names[0])
        else:
            assert (kind, name) == ("interface", "aximm_rtl")
            (prefix,) = {re.sub("_[A-Z]+$", "", port) for port in names}
            self.core.add("bus", prefix).properties["ports"] = " ".join(names)

    def _get(self, kind: str, options: dict[str, str], name: str | None) -> list[Thing]:
        owner = self.things[options["-of_objects"]]
        found = owner.find(kind, name)
        if not found and "-quiet" not in options:
            raise ValueError(f"{owner.name} has no {kind} {name}")
        return found

    def _get_bus_interfaces(self, options: dict[str, str], name: str | None = None) -> list[Thing]:
        return self._get("bus", options, name)

    def _get_bus_parameters(self, options: dict[str, str], name: str | None = None) -> list[Thing]:
        return self._get("parameter", options, name)

    def _get_memory_maps(self, options: dict[str, str], name: str | None = None) -> list[Thing]:
        return self._get("map", options, name)

    def _get_address_blocks(self, options: dict[str, str], name: str | None = None) -> list[Thing]:
        return self._get("block", options, name)

    def _add(self, owner: str, owner_kind: str, kind: str, name: str) -> list[Thing]:
        assert self.things[owner].kind == owner_kind, f"{name} is added to a {self.things[owner].kind}"
        return [self.things[owner].add(kind, name)]

    def _add_bus_parameter(self, options: dict[str, str], name: str, bus: str) -> list[Thing]:
        return self._add(bus, "bus", "parameter", name)

    def _add_memory_map(self, options: dict[str, str], name: str, core: str) -> list[Thing]:
        return self._add(core, "core", "map", name)

    def _add_address_block(self, options: dict[str, str], name: str, memory_map: str) -> list[Thing]:
        return self._add(memory_map, "map", "block", name)

    def _add_register(self, options: dict[str, str], name: str, block: str) -> list[Thing]:
        return self._add(block, "block", "register", name)

    def _add_register_parameter(self, options: dict[str, str], name: str, register: str) -> list[Thing]:
        return self._add(register, "register", "parameter", name)

    def _associate_bus_interfaces(self, options: dict[str, str], core: str) -> None:
        assert self.things[core] is self.core
        for option in ("-busif", "-clock", "-reset"):
            assert option not in options or self.core.find("bus", options[option]), f"no interface {options[option]}"
        if "-busif" in options:
            self.clocked[options["-busif"]] = options["-clock"]
        else:
            self.reset_of[options["-clock"]] = options["-reset"]

    def _save_core(self, options: dict[str, str], core: str) -> None:
        self.saved = True

    def _archive_core(self, options: dict[str, str], path: str, core: str) -> None:
        assert self.saved and self.things[core] is self.core
        self.archive = Path(path)

    def _package_xo(self, options: dict[str, str]) -> None:
        assert self.saved and options["-kernel_name"] and options["-xo_path"]
        self.kernel_object = options


def ports_of(source: Path) -> dict[str, tuple[bool, int]]:
    """{port: (whether it is an output, its bits)} of a Verilog module with one port a line."""
    lines = re.findall(r"^ *(input|output) +wire *(?:\[(\d+):0\])? *(\w+),?$", source.read_text(), re.MULTILINE)
    return {name: (direction == "output", int(high or 0) + 1) for direction, high, name in lines}
