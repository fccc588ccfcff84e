"""Synthesis by Yosys in a process of its own: `python -m fgnas.tools.yosys JOB.json RESULT.json`.

A Yosys error ends the process that it happens in, so nothing else may live here. The hierarchy is kept: every
module is mapped for itself, and the counts of a design are the sums over its instances. Two things make that
quick, and change nothing else: equal modules are mapped once, and technology mapping sees a few modules at a time
(its cost for one module grows with all the others that lie beside it).
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from pyosys import libyosys as ys

FABRIC_MODULE = "fgnas_multiplier_fabric"
GROUP_SIZE = 4000
"""Cells and wires that are mapped together, about."""
PRIMITIVES = re.compile(r"LUT\d|SRL|RAM|URAM|FD[RSCP]E|LD[CP]E|MUXF|CARRY|INV$|DSP48E|BUFG|IBUF|OBUF|\$")
"""Library cells that can occur; the others only make every pass slower."""


def synthesise(job: dict[str, Any]) -> dict[str, Any]:
    """Run one job.

    `job` has `files` (SystemVerilog, in compile order), `top` and `family` (xc7 or xcup), and may have `only`, the
    modules to map; others but the top stay empty. The result has `version`, and for every module that is left its
    primitive `cells` by type and its `instances`, name to module.
    """
    design = ys.Design()
    names = settle_names(design, job["files"])
    ys.run_pass(f"read_slang --keep-hierarchy --top {job['top']} {' '.join(job['files'])}", design)
    emptied = empty_other_modules(design, {*job["only"], job["top"]}) if "only" in job else set()
    merge_equal_modules(design)
    flow = f"synth_xilinx -family {job['family']} -noiopad -noclkbuf"
    ys.run_pass(f"{flow} -top {job['top']} -run begin:map_dsp", design)
    remove_library(design, PRIMITIVES, emptied)
    # A module of this name is a product in LUTs: the attribute use_dsp = "no" alone would not keep it there.
    ys.run_pass(f"chtype -set $__soft_mul {FABRIC_MODULE}*/t:$mul", design)
    ys.run_pass(f"{flow} -top {job['top']} -run map_dsp:map_luts", design)
    modules: dict[str, Any] = {}
    for group in groups(design):
        ys.run_pass(f"{flow} -run map_luts:check", group)
        for module in own_modules(group):
            modules[name_of(module)] = contents(module)
    known = {name_of(module) for module in own_modules(design)} | emptied
    for module in modules.values():
        split_instances(module, known)
    modules |= {name: {"cells": {}, "instances": {}} for name in emptied}
    del names
    return {"version": version(), "modules": modules}


def settle_names(design: Any, files: list[str]) -> list[Any]:
    """Make names compare alike whatever else a design holds: the mapping of a module depends on their order.

    Internal names count from a number so large that all have as many digits, and the identifiers of the sources are
    known to Yosys in alphabetical order, before it meets them; the caller keeps them alive.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".il") as file:
        file.write("autoidx 100000000\n")
        file.flush()
        ys.run_pass(f"read_rtlil {file.name}", design)
    listed = Path(files[1]).read_text().split() if files[0] == "-f" else files
    text = "".join(Path(name).read_text() for name in listed)
    return [ys.IdString(f"\\{name}") for name in sorted(set(re.findall(r"[A-Za-z_]\w*", text)))]


def write_netlist(job: dict[str, Any]) -> dict[str, Any]:
    """Map `files` onto an ECP5, flattened, and write the netlist for nextpnr to the path `netlist`."""
    design = ys.Design()
    ys.run_pass(f"read_slang --top {job['top']} {' '.join(job['files'])}", design)
    ys.run_pass(f"synth_ecp5 -top {job['top']} -json {job['netlist']}", design)
    return {"version": version()}


def version() -> str:
    """What calls itself Yosys here."""
    import importlib.metadata

    return f"Yosys (pyosys {importlib.metadata.version('pyosys')})"


def name_of(module: Any) -> str:
    """A module's name without the backslash of public names."""
    return str(module.name.str()).removeprefix("\\")


def own_modules(design: Any) -> list[Any]:
    """Modules with contents."""
    return [module for module in design.modules_.values() if not module.get_blackbox_attribute()]


def contents(module: Any) -> dict[str, Any]:
    """{cell name: type} of everything in a module."""
    return {cell.name.str().removeprefix("\\"): cell.type.str().removeprefix("\\") for cell in module.cells_.values()}


def split_instances(module: dict[str, Any], known: set[str]) -> None:
    """Turn {cell: type} into primitive counts and instances, in place."""
    cells: dict[str, int] = {}
    instances: dict[str, str] = {}
    for name, kind in module.items():
        if kind in known:
            instances[name] = kind
        else:
            cells[kind] = cells.get(kind, 0) + 1
    module.clear()
    module.update(cells=dict(sorted(cells.items())), instances=instances)


def remove_library(design: Any, keep: re.Pattern[str], emptied: Collection[str] = ()) -> None:
    """Drop the library cells whose names do not begin with `keep`, but no module of the design's own."""
    for module in list(design.modules_.values()):
        name = name_of(module)
        if module.get_blackbox_attribute() and name not in emptied and not keep.match(name):
            design.remove(module)


def groups(design: Any) -> Iterator[Any]:
    """The modules of a design as several designs of about GROUP_SIZE, with what they instantiate as black boxes."""
    used = {cell.type.str().removeprefix("\\") for module in own_modules(design) for cell in module.cells_.values()}
    remove_library(design, re.compile("|".join([*(f"{re.escape(name)}$" for name in used), r"LUT\d", "MUXF", "INV$"])))
    library = [module for module in design.modules_.values() if module.get_blackbox_attribute()]
    waiting = sorted(own_modules(design), key=size_of)
    while waiting:
        group = [waiting.pop()]
        size = size_of(group[0])
        while waiting and size + size_of(waiting[-1]) <= GROUP_SIZE:
            size += size_of(waiting[-1])
            group.append(waiting.pop())
        yield separate(design, group, library)


def size_of(module: Any) -> int:
    """Cells and wires."""
    return len(module.cells_) + len(module.wires_)


def separate(design: Any, group: list[Any], library: list[Any]) -> Any:
    """A new design that holds copies of a group of modules, of the library, and shells of what they instantiate."""
    result = ys.Design()
    for module in [*library, *group]:
        result.add(module.clone())
    for kind in {cell.type.str() for module in group for cell in module.cells_.values()}:
        if result.module(ys.IdString(kind)) is None and design.module(ys.IdString(kind)) is not None:
            add_shell(result, design.module(ys.IdString(kind)))
    return result


def add_shell(design: Any, module: Any) -> None:
    """Add a black box with the ports of a module."""
    shell = design.addModule(module.name)
    shell.set_bool_attribute(ys.IdString("\\blackbox"), True)
    for wire in module.wires_.values():
        if wire.port_id:
            port = shell.addWire(wire.name, wire.width)
            port.port_input, port.port_output, port.port_id = wire.port_input, wire.port_output, wire.port_id
    shell.fixup_ports()


def empty_other_modules(design: Any, wanted: set[str]) -> set[str]:
    """Turn every module that is not wanted into a black box; returns their names."""
    scratch = ys.Design()
    for module in own_modules(design):
        if name_of(module).split("$")[0] not in wanted:
            add_shell(scratch, module)
            design.remove(module)
    for module in scratch.modules_.values():
        design.add(module.clone())
    return {name_of(module) for module in scratch.modules_.values()}


def merge_equal_modules(design: Any) -> None:
    """Keep one of each set of modules with the same contents: every instance is read as a module of its own."""
    while True:
        first: dict[tuple[str, str], str] = {}
        same: dict[str, str] = {}
        for name, text in sorted(module_texts(design).items()):
            key = (name.split("$")[0], text)
            if key in first:
                same[name] = first[key]
            else:
                first[key] = name
        if not same:
            return
        for module in design.modules_.values():
            for cell in module.cells_.values():
                if cell.type.str() in same:
                    cell.type = ys.IdString(same[cell.type.str()])
        for name in same:
            design.remove(design.module(ys.IdString(name)))


def module_texts(design: Any) -> dict[str, str]:
    """{module: its text}, without source places and with internal names numbered from zero."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "design.il"
        ys.run_pass(f"write_rtlil {place}", design)
        text = re.sub(r"^\s*attribute .*\n", "", place.read_text(), flags=re.M)
    result: dict[str, str] = {}
    for part in re.split(r"^(?=module )", text, flags=re.M)[1:]:
        head, body = part.split("\n", 1)
        numbers: dict[str, int] = {}
        body = re.sub(r"\$\d+\b", lambda match, seen=numbers: f"${seen.setdefault(match[0], len(seen))}", body)
        result[head.split()[1]] = body
    return result


def main() -> None:
    """Read the job, write the result; Yosys writes its log to the standard output."""
    job = json.loads(Path(sys.argv[1]).read_text())
    result = write_netlist(job) if "netlist" in job else synthesise(job)
    Path(sys.argv[2]).write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
