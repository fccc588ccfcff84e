"""Synthesis by Yosys in a process of its own: `python -m fgnas.tools.yosys JOB.json RESULT.json`.

A Yosys error ends the process in which it happens, so nothing else may run here. The hierarchy is kept: every
module is mapped by itself, and the counts of a design are the sums over its instances. Two measures make that
fast and change nothing else: equal modules are mapped once, and technology mapping sees a few modules at a time,
because its cost for one module grows with the number of other modules in the design.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from pyosys import libyosys as ys

FABRIC_MODULE = "fgnas_multiplier_fabric"
GROUP_SIZE = 4000
"""Cells and wires that are mapped together, about."""
UNROLLED = "--unroll-limit 1000000"
"""Steps of loops in a process: a word of every unit meets every other's in the array's writing of results."""
PART = re.compile("array_unit_")
"""Begin of the names of modules that are parts of one: they divide its source by subject, and are mapped in it."""
PRIMITIVES = re.compile(r"LUT\d|SRL|RAM|URAM|FD[RSCP]E|LD[CP]E|MUXF|CARRY|INV$|DSP48E|BUFG|IBUF|OBUF|\$")
"""Library cells that can occur; the others only make every pass slower."""


def synthesise(job: dict[str, Any]) -> dict[str, Any]:
    """Map a design onto a family's primitives.

    `job` has `files` (SystemVerilog, in compile order), `top` and `family` (xc7 or xcup), and may have `only`, the
    modules to map; others but the top stay empty. With `apart` the parts of a module (`PART`) are mapped by themselves.
    The result has `version`, and for every module that is left its primitive `cells` by type and its `instances`, name
    to module.
    """
    design, names = read(job)
    emptied: set[str] = set()
    if "only" in job:
        wanted = {*job["only"], job["top"]}
        emptied = empty_modules(design, lambda name: name.split("$")[0] in wanted)
    merge_equal_modules(design)
    ys.run_pass(f"{flow_of(job)} -run begin:map_dsp", design)
    map_coarsely(design, job, emptied, "map_luts")
    modules: dict[str, Any] = {}
    for group in groups(design):
        ys.run_pass(f"{flow_of(job)} -run map_luts:check", group)
        for module in own_modules(group):
            modules[name_of(module)] = contents(module)
    known = {name_of(module) for module in own_modules(design)} | emptied
    for module in modules.values():
        split_instances(module, known)
    modules |= {name: {"cells": {}, "instances": {}} for name in emptied}
    del names
    return {"version": version(), "modules": modules}


def count_block_rams(job: dict[str, Any]) -> dict[str, Any]:
    """Map the memories of several designs, as `synthesise` does, and count their block RAMs.

    `job` has `designs`, {name: folder with files.f}, `top` and `family`. Modules without a memory that may become
    block RAM stay empty, and the run stops after memory mapping. All designs are mapped together, because reading the
    family's library takes most of the time. The result has `version` and `blocks`, {name: {instance path: {primitive:
    count}}}.
    """
    together = ys.Design()
    above = together.addModule(ys.IdString("\\designs"))
    kept_alive, emptied = [], set()
    for number, (name, folder) in enumerate(job["designs"].items()):
        os.chdir(folder)
        design, names = read({"files": ["-f", "files.f"], "top": job["top"]})
        ys.run_pass("proc", design)
        unused = empty_modules(design, modules_above(design, may_be_block_ram).__contains__)
        emptied |= {f"{number}${own}" for own in unused}
        merge_equal_modules(design)
        add_renamed(together, design, f"\\{number}$")
        instance = above.addCell(ys.IdString(f"\\{name}"), ys.IdString(f"\\{number}${job['top']}"))
        instance.set_bool_attribute(ys.IdString("\\keep"), True)
        kept_alive.append(names)
    job = job | {"top": "designs"}
    ys.run_pass(f"{flow_of(job)} -run begin:map_dsp", together)
    map_coarsely(together, job, emptied, "map_ffram")
    blocks: dict[str, dict[str, dict[str, int]]] = {name: {} for name in job["designs"]}
    for path, module in instances(together, "designs"):
        kinds = Counter(cell.type.str().removeprefix("\\") for cell in module.cells_.values())
        name, _, place = path.partition(".")
        if found := {kind: count for kind, count in kinds.items() if kind.startswith(("RAMB", "URAM"))}:
            blocks[name][place] = found
    return {"version": version(), "blocks": blocks}


def list_memories(job: dict[str, Any]) -> dict[str, Any]:
    """Elaborate a design and list its memories; nothing is mapped.

    The result has `version` and `memories`: the `instance` path and the name of each memory, its `depth`, `width`,
    `reads` and `writes` (ports), and its `style` ("" where the source names none).
    """
    design, names = read(job)
    ys.run_pass(f"hierarchy -top {job['top']}; proc; opt_expr; opt_clean; memory_collect", design)
    found: list[dict[str, Any]] = []
    for path, module in instances(design, job["top"]):
        for cell in module.cells_.values():
            if cell.type.str() == "$mem_v2":
                ports = {"depth": "SIZE", "width": "WIDTH", "reads": "RD_PORTS", "writes": "WR_PORTS"}
                numbers = {key: cell.getParam(ys.IdString(f"\\{name}")).as_int() for key, name in ports.items()}
                name = cell.name.str().removeprefix("\\")
                found.append({"instance": path, "name": name, "style": style_of(cell), **numbers})
    del names
    return {"version": version(), "memories": found}


def read(job: dict[str, Any]) -> tuple[Any, list[Any]]:
    """The elaborated design of a job, and names that the caller keeps alive (see `settle_names`)."""
    design = ys.Design()
    names = settle_names(design, job["files"])
    ys.run_pass(f"read_slang {UNROLLED} --keep-hierarchy --top {job['top']} {' '.join(job['files'])}", design)
    if not job.get("apart"):
        join_parts(design)
    return design, names


def join_parts(design: Any) -> None:
    """Replace every instance of a part by its contents, whose names lose its own where they stay different."""
    parts = {name_of(module) for module in own_modules(design) if PART.match(name_of(module))}
    if not parts:
        return
    whole = [module for module in own_modules(design) if name_of(module) not in parts]
    places = {
        cell.name.str().rsplit(".", 1)[-1].removeprefix("\\")
        for module in own_modules(design)
        for cell in module.cells_.values()
        if cell.type.str().removeprefix("\\") in parts
    }
    for module in whole:
        module.set_bool_attribute(ys.IdString("\\keep_hierarchy"), True)
    ys.run_pass("flatten -noscopeinfo", design)
    for module in whole:
        module.set_bool_attribute(ys.IdString("\\keep_hierarchy"), False)
    within = re.compile(rf"(?<=[\\.])(?:{'|'.join(sorted(map(re.escape, places)))})\.")
    for module in whole:
        for thing in [*module.wires_.values(), *module.cells_.values()]:
            name = thing.name.str()
            shorter = within.sub("", name).replace("$flatten\\$", "$")
            if shorter != name and not (module.wire(ys.IdString(shorter)) or module.cell(ys.IdString(shorter))):
                module.rename(thing, ys.IdString(shorter))


def flow_of(job: dict[str, Any]) -> str:
    """The synthesis command of a job, without the steps that it runs."""
    return f"synth_xilinx -family {job['family']} -noiopad -noclkbuf -top {job['top']}"


def map_coarsely(design: Any, job: dict[str, Any], emptied: Collection[str], end: str) -> None:
    """Run the flow from DSP mapping to before the step `end`, with products where the RTL wants them."""
    remove_library(design, PRIMITIVES, emptied)
    # A module of this name is a product in LUTs: the attribute use_dsp = "no" alone would not keep it there.
    ys.run_pass(f"chtype -set $__soft_mul {FABRIC_MODULE}*/t:$mul", design)
    ys.run_pass(f"{flow_of(job)} -run map_dsp:{end}", design)


def style_of(thing: Any) -> str:
    """The ram_style of a memory or of a cell; "" where it has none."""
    name = ys.IdString("\\ram_style")
    return str(thing.get_string_attribute(name)) if thing.has_attribute(name) else ""


def may_be_block_ram(module: Any) -> bool:
    """Whether a module contains a table, or a memory whose source does not ask for LUTRAM."""
    tables = any(cell.type.str().startswith("$mem") for cell in module.cells_.values()) and not module.memories
    return tables or any(style_of(memory) != "distributed" for memory in module.memories.values())


def modules_above(design: Any, wanted: Callable[[Any], bool]) -> set[str]:
    """The names of the wanted modules, and of all that instantiate one of them."""
    found = {name_of(module) for module in own_modules(design) if wanted(module)}
    while True:
        above = {
            name_of(module)
            for module in own_modules(design)
            if any(cell.type.str().removeprefix("\\") in found for cell in module.cells_.values())
        }
        if above <= found:
            return found
        found |= above


def add_renamed(target: Any, design: Any, prefix: str) -> None:
    """Add copies of all modules of a design to another, with a prefix before each name."""
    names = {module.name.str(): f"{prefix}{name_of(module)}" for module in design.modules_.values()}
    for module in list(design.modules_.values()):
        copy = module.clone()
        copy.name = ys.IdString(names[module.name.str()])
        for cell in copy.cells_.values():
            if cell.type.str() in names:
                cell.type = ys.IdString(names[cell.type.str()])
        target.add(copy)


def instances(design: Any, top: str, path: str = "") -> Iterator[tuple[str, Any]]:
    """(path, module) of every instance below and including the top, whose own path is empty."""
    module = design.module(ys.IdString(top if top.startswith("\\") else f"\\{top}"))
    if module is None or module.get_blackbox_attribute():
        return
    yield path, module
    for cell in module.cells_.values():
        if cell.type.str().startswith("\\"):
            name = cell.name.str().removeprefix("\\")
            yield from instances(design, cell.type.str(), f"{path}.{name}" if path else name)


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
    """Map `files` onto an ECP5, flattened, and write the netlist for nextpnr to the path `netlist`.

    `verilog`, if the job has it, lists files with cells of the part, which only Yosys knows.
    """
    design = ys.Design()
    if "verilog" in job:
        ys.run_pass("read_verilog -lib -specify +/ecp5/cells_sim.v +/ecp5/cells_bb.v", design)
        ys.run_pass(f"read_verilog {' '.join(job['verilog'])}", design)
    ys.run_pass(f"read_slang {UNROLLED} --top {job['top']} {' '.join(job['files'])}", design)
    ys.run_pass(f"synth_ecp5 -top {job['top']} -json {job['netlist']}", design)
    return {"version": version()}


def write_cells(job: dict[str, Any]) -> dict[str, Any]:
    """Write a netlist for nextpnr, `netlist`, as Verilog to the path `verilog`: cells of the part, and nothing else.

    The result has `kinds`, {type of cell: names of its settings}.
    """
    design = ys.Design()
    ys.run_pass(f"read_json {job['netlist']}", design)
    kinds: dict[str, set[str]] = {}
    for module in own_modules(design):
        for cell in module.cells_.values():
            names = {name.str().removeprefix("\\") for name in cell.parameters}
            kinds.setdefault(cell.type.str().removeprefix("\\"), set()).update(names)
    ys.run_pass(f"write_verilog -noattr {job['verilog']}", design)
    return {"version": version(), "kinds": {kind: sorted(names) for kind, names in sorted(kinds.items())}}


def write_graphs(job: dict[str, Any]) -> dict[str, Any]:
    """Write a module and its assertions as and-inverter graphs, one for each kind of assertion.

    `job` has `files`, `top`, `parameters`, `defines` and `outputs`: {kind: path} of the kinds `rules` and `reach`, the
    latter for assertions whose label begins with reach_. The result has `names`, {kind: path and label of every
    assertion, in the order of the graph's outputs}. Registers begin with any value, and so does what nobody drives.
    """
    design = with_checks(job)
    names = {}
    for kind, others in (("rules", "*/*reach_*"), ("reach", "t:$assert */*reach_* %d")):
        ys.run_pass("design -save all", design)
        ys.run_pass(f"chformal -assert -remove {others}; opt_clean; techmap; opt -fast; dffunmap; aigmap", design)
        path = Path(job["outputs"][kind])
        ys.run_pass(f"setundef -anyseq; opt_clean; write_aiger -zinit -ywmap {path}.json {path}", design)
        written = json.loads(Path(f"{path}.json").read_text())["asserts"]
        names[kind] = [".".join(parts).replace("\\", "") for parts in written]
        ys.run_pass("design -load all", design)
    return {"version": version(), "names": names}


def is_inductive(job: dict[str, Any]) -> dict[str, Any]:
    """Whether the rules of a module imply themselves in the next cycle, or after a few cycles.

    `job` is that of `write_graphs`, with `cycles` and `seconds` in place of `outputs`. The result has `inductive`; the
    base, from the reset, is part of it.
    """
    design = with_checks(job)
    ys.run_pass("chformal -assert -remove */*reach_*; opt_clean; techmap; opt -fast; dffunmap", design)
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "sat.log"
        limits = f"-maxsteps {job['cycles']} -timeout {job['seconds']}"
        ys.run_pass(f"tee -o {log} sat -tempinduct -prove-asserts -set-assumes {limits}", design)
        return {"version": version(), "inductive": "Induction step proven: SUCCESS!" in log.read_text(encoding="utf-8")}


def with_checks(job: dict[str, Any]) -> ys.Design:
    """A module of `files`, `top`, `parameters` and `defines`, flat, without outputs, with its assertions as cells."""
    design = ys.Design()
    options = [f"-G {name}={value}" for name, value in job["parameters"].items()]
    options += [f"-D {name}" for name in job["defines"]]
    ys.run_pass(f"read_slang --top {job['top']} {' '.join(options)} {' '.join(job['files'])}", design)
    ys.run_pass(f"prep -flatten -top {job['top']}", design)
    for module in own_modules(design):
        untime_checks(module)
    # The outputs of the module are no assertions. Undefined values become free before any pass may simplify them.
    ys.run_pass(
        "delete -output *; opt_clean -purge; memory_map; setundef -undriven -anyseq; setundef -anyseq; opt -full",
        design,
    )
    return design


def untime_checks(module: Any) -> None:
    """Turn the clocked assertions of a module into conditions on the registers and inputs of a cycle.

    Yosys would otherwise delay each by a register, which takes the hypothesis of an induction a cycle away.
    """
    checks = [cell for cell in module.cells_.values() if cell.type.str() == "$check"]
    for check in checks:
        kind = check.getParam(ys.IdString("\\FLAVOR")).decode_string()
        name, condition = check.name.str(), check.getPort(ys.IdString("\\A"))
        enable = check.getPort(ys.IdString("\\EN"))
        module.remove(check)
        cell = module.addCell(ys.IdString(name), ys.IdString(f"${kind}"))
        cell.setPort(ys.IdString("\\A"), condition)
        cell.setPort(ys.IdString("\\EN"), enable)


def version() -> str:
    """Name and version of the Yosys in use."""
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


def empty_modules(design: Any, wanted: Callable[[str], bool]) -> set[str]:
    """Turn every module whose name is not wanted into a black box; returns their names."""
    scratch = ys.Design()
    for module in own_modules(design):
        if not wanted(name_of(module)):
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
        body = re.sub(r"\$\d+(?=_|\b)", lambda match, seen=numbers: f"${seen.setdefault(match[0], len(seen))}", body)
        result[head.split()[1]] = body
    return result


JOBS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "synthesise": synthesise,
    "block rams": count_block_rams,
    "memories": list_memories,
    "netlist": write_netlist,
    "cells": write_cells,
    "graphs": write_graphs,
    "induction": is_inductive,
}
"""By the `kind` of a job."""


def main() -> None:
    """Read the job, write the result; Yosys writes its log to the standard output."""
    job = json.loads(Path(sys.argv[1]).read_text())
    result = JOBS[job.get("kind", "synthesise")](job)
    Path(sys.argv[2]).write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
