"""The longest recurrence of each pipelined loop in emitted C++, from LLVM's representation and public delays.

The sources are compiled by clang against headers in which an integer of N bits has N bits and a pragma leaves a mark
(`shim/`). Functions that hold no pipelined loop are inlined, unrolled loops are unrolled, the rest is optimised. Then
each pipelined loop is a graph: values, and the conditions of accesses to streams and memories. A cycle of that graph
takes the sum of its delays, spread over the iterations that it spans; the worst cycle bounds the clock at which an
iteration can start every cycle.

It is an estimate. A vendor's scheduler has its own delays, packs logic into LUTs and rewrites expressions.
"""

from __future__ import annotations

import functools
import math
import operator
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import networkx as nx

HERE = Path(__file__).parent
SHIM, DELAYS = HERE / "shim", HERE / "delays.toml"
FLAGS = (
    "-std=c++17", "-O1", "-gline-tables-only", "-fno-discard-value-names", "-fno-sanitize=undefined",
    "-fno-elide-constructors",  # else what a function returns lies in its caller's memory
    "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm", "-w",
)  # fmt: skip
PIPELINE, UNROLL, APART = "recurrence_pipeline", "recurrence_unroll", "recurrence_apart"
MEMORY, DISTANCE, INDEPENDENT = "recurrence_memory", "recurrence_distance_two", "recurrence_independent"
FREE = {
    "zext", "sext", "trunc", "bitcast", "freeze", "getelementptr", "extractvalue", "insertvalue", "ptrtoint",
    "inttoptr", "br", "switch", "ret", "unreachable", "alloca",
}  # fmt: skip
OPERATORS = {
    "add": "add", "sub": "add", "icmp": "compare", "and": "logic", "or": "logic", "xor": "logic", "shl": "shift",
    "lshr": "shift", "ashr": "shift", "mul": "multiply",
}  # fmt: skip
INTRINSICS = {"smax": "maximum", "smin": "maximum", "umax": "maximum", "umin": "maximum", "abs": "add"}
BITWISE = {"and": 1, "or": 1, "xor": 1, "select": 2}
"""Inputs of a LUT that a bitwise operator takes beside the value on the path."""
SIGN_TEST = re.compile(r"icmp (samesign )?(slt i\d+ %[^ ,]+, 0|sgt i\d+ %[^ ,]+, -1)(,|$)")
LUT_INPUTS = 6
END = "the end of an iteration"
MOST_UNROLLED = 10**8
"""Instructions of a loop that is unrolled, at most."""
IGNORED = ("llvm.lifetime", "llvm.dbg", "llvm.assume", "llvm.experimental.noalias", "llvm.bitreverse")


Node = tuple[str, int]


class MeasurementError(Exception):
    """A loop that the measurement does not understand; it must not be left out in silence."""


@dataclass(frozen=True)
class Delays:
    """Delays of one family in ns: of operators by width in bits, and of accesses."""

    operators: dict[str, dict[int, float]]
    accesses: dict[str, float]

    @classmethod
    def of(cls, family: str) -> Delays:
        table = tomllib.loads(DELAYS.read_text(encoding="utf-8"))[family]
        return cls(
            {name: {int(width): ns for width, ns in row.items()} for name, row in table["operators"].items()},
            table["accesses"],
        )

    def operator(self, name: str, width: int) -> float:
        """Between two widths of the table linear; beyond the last, as much again with each doubling."""
        row = self.operators[name]
        widths = sorted(row)
        for low, high in zip(widths, widths[1:], strict=False):
            if width <= high:
                share = max(0, width - low) / (high - low)
                return row[low] + share * (row[high] - row[low])
        half, last = widths[-2:]
        return row[last] + math.log2(width / last) * (row[last] - row[half])


def sources() -> dict[str, str]:
    """Where the delays come from."""
    return dict(tomllib.loads(DELAYS.read_text(encoding="utf-8"))["sources"])


@dataclass(frozen=True)
class Recurrence:
    """The worst cycle of a loop: ns for each iteration that it spans, infinite where one cannot start every cycle."""

    function: str
    file: str
    line: int
    ns: float
    iterations: int
    path: tuple[str, ...]


# ---- Compiling


def compile_ir(source: Path, includes: Iterable[Path] = ()) -> str:
    """LLVM's representation of a C++ file before any optimisation, compiled against the shim."""
    with tempfile.TemporaryDirectory() as scratch:
        output = Path(scratch) / "unit.ll"
        folders = [option for folder in (*includes, SHIM) for option in ("-I", str(folder))]
        command = [sys.executable, "-m", "ziglang", "c++", *FLAGS, *folders, str(source), "-o", str(output)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode or not output.is_file():
            raise MeasurementError(f"clang does not compile {source}: {run.stderr.strip()}")
        return output.read_text(encoding="utf-8")


def measure_project(project: Path, delays: Delays) -> list[Recurrence]:
    """The worst recurrence of each pipelined loop of a generated project."""
    return measure(project_ir(project), delays)


def project_ir(project: Path) -> str:
    """The representation of a project's kernel, with the shim's pragmas in place of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for path in (*sorted((project / "src").iterdir()), SHIM / "pragmas.h"):
            (folder / path.name).write_bytes(path.read_bytes())
        return compile_ir(folder / "fgnas_top.cpp")


def measure(ir: str, delays: Delays) -> list[Recurrence]:
    """The worst recurrence of each pipelined loop of a module."""
    return [worst_recurrence(loop, delays) for loop in pipelined_loops(optimised(ir))]


@functools.cache
def target_machine() -> Any:
    # LLVM gives up on bodies that grow large, whatever a loop's metadata say; loops that construct arrays have none.
    for option in ("pragma-unroll-threshold", "unroll-threshold"):
        llvm.set_option("", f"-{option}={MOST_UNROLLED}")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine()


def operations(ir: str, apart: bool = True) -> dict[str, int]:
    """Instructions of each function of an optimised module: what a tool schedules at a time. Functions that are apart
    count once by themselves, or are inlined as others are."""
    return dict(Counter(function for function, _, _ in instruction_lines(str(optimised(ir, apart)))))


def optimised(ir: str, apart: bool = False) -> llvm.ModuleRef:
    """The module after inlining and unrolling, with each pipelined loop as one flat loop; every value has a name.
    Functions that are apart are inlined, too, unless they are to stay `apart`."""
    module = llvm.parse_assembly(without_marks(ir, apart))
    builder = llvm.create_pass_builder(target_machine(), llvm.create_pipeline_tuning_options(speed_level=1))
    manager = llvm.create_new_module_pass_manager()
    manager.add_always_inliner_pass()
    manager.add_global_dead_code_eliminate_pass()
    # Loops are unrolled while each still has a single way back, as its source has.
    manager.add_sroa_pass()
    manager.add_loop_unroll_pass()
    for _ in range(2):
        manager.add_sroa_pass()
        manager.add_sccp_pass()
        manager.add_instruction_combine_pass()
        manager.add_new_gvn_pass()
        manager.add_dead_store_elimination_pass()
        manager.add_aggressive_dce_pass()
        manager.add_simplify_cfg_pass()
        manager.add_instruction_combine_pass()
    manager.add_instruction_namer_pass()
    manager.run(module, builder)
    return llvm.parse_assembly(str(module))


def without_marks(ir: str, apart: bool = False) -> str:
    """The module with each mark turned into what it means: loop metadata, attributes of functions, names of arrays."""
    module = llvm.parse_assembly(ir)
    whole: dict[tuple[str, str], bool] = {}
    for function in module.functions:
        if function.is_declaration:
            continue
        graph, marks = Graph.of(function), list(marks_of(function))
        values = {each.name: each for block in function.blocks for each in block.instructions if each.name}
        arguments = {each.name: each for each in function.arguments}
        loops = graph.loops()
        for mark, block, array in marks:
            if mark in (PIPELINE, UNROLL):
                inside = [loop for loop in loops if block in loop.blocks]
                innermost = min(inside, key=lambda loop: len(loop.blocks))
                for latch in innermost.latches:
                    whole[function.name, latch] = mark == UNROLL
            elif mark == APART:
                continue
            elif (argument := array.removesuffix(".addr")) in arguments:
                arguments[argument].name = f"{mark}.{argument}"
            elif array in values:
                values[array].name = f"{mark}.{values[array].name.removeprefix(f'{MEMORY}.')}"
        kept = {PIPELINE, APART} if apart else {PIPELINE}
        attribute = "noinline" if any(mark in kept for mark, _, _ in marks) else "alwaysinline"
        function.add_function_attribute(attribute)
    return with_loop_metadata(str(module), whole)


def marks_of(function: llvm.ValueRef) -> Iterator[tuple[str, str, str]]:
    """The marks of a function: name, block, and the array's name or ""."""
    for block in function.blocks:
        for instruction in block.instructions:
            if instruction.opcode == "call":
                *arguments, called = instruction.operands
                if called.name in (PIPELINE, UNROLL, APART, MEMORY, DISTANCE, INDEPENDENT):
                    yield called.name, block.name, arguments[0].name if arguments else ""


def with_loop_metadata(text: str, whole: dict[tuple[str, str], bool]) -> str:
    """The text of a module without marks; `whole` says of each latch, (function, block), if its loop is unrolled."""
    hints = {True: "!999999998", False: "!999999999"}
    loops: dict[str, str] = {}
    for function, block, line in instruction_lines(text):
        if (found := re.search(r"!llvm\.loop (!\d+)", line)) and (function, block) in whole:
            loops[found[1]] = hints[whole[function, block]]
    missing = len(whole) - len(loops)
    if missing:
        raise MeasurementError(f"{missing} marked loops have no metadata")
    lines = [line for line in text.splitlines() if not re.match(r"\s*call void @recurrence_", line)]
    for number, line in enumerate(lines):
        if (found := re.match(r"(!\d+) = distinct !\{(.*)\}$", line)) and found[1] in loops:
            lines[number] = f"{found[1]} = distinct !{{{found[2]}, {loops[found[1]]}}}"
    lines += ['!999999998 = !{!"llvm.loop.unroll.full"}', '!999999999 = !{!"llvm.loop.unroll.disable"}']
    return "\n".join(lines) + "\n"


def instruction_lines(text: str) -> Iterator[tuple[str, str, str]]:
    """Function, block and text of every instruction of a module, in order; one of several lines is joined."""
    function = block = ""
    pending = ""
    for line in text.splitlines():
        if found := re.match(r"define .*?@(\"[^\"]+\"|[\w.$]+)\(", line):
            function, block = found[1].strip('"'), ""
        elif line == "}":
            function = ""
        elif function and (found := re.match(r'("[^"]+"|[\w.$-]+):', line)):
            block = found[1].strip('"')
        elif function and line.startswith("  ") and not line.lstrip().startswith("#dbg_"):
            pending += line.strip() + " "
            if pending.count("[") == pending.count("]"):
                yield function, block, pending.strip()
                pending = ""


# ---- Loops


@dataclass(frozen=True)
class NaturalLoop:
    """A loop of a control flow graph, by the names of its blocks."""

    header: str
    blocks: frozenset[str]
    latches: frozenset[str]


@dataclass(frozen=True)
class Graph:
    """The control flow graph of a function, by names of blocks."""

    entry: str
    edges: nx.DiGraph

    @classmethod
    def of(cls, function: llvm.ValueRef) -> Graph:
        edges = nx.DiGraph()
        for block in function.blocks:
            edges.add_node(block.name)
            *_, terminator = block.instructions
            edges.add_edges_from((block.name, to) for to in successors(terminator))
        return cls(next(iter(function.blocks)).name, edges)

    def loops(self) -> list[NaturalLoop]:
        """The natural loops; those with the same header are one."""
        parents = nx.immediate_dominators(self.edges, self.entry)
        found: dict[str, tuple[set[str], set[str]]] = {}
        for tail, head in self.edges.edges:
            if tail in parents and dominates(parents, head, tail):
                blocks, latches = found.setdefault(head, ({head}, set()))
                latches.add(tail)
                stack = [tail]
                while stack:
                    block = stack.pop()
                    if block not in blocks:
                        blocks.add(block)
                        stack += self.edges.predecessors(block)
        return [NaturalLoop(head, frozenset(blocks), frozenset(latches)) for head, (blocks, latches) in found.items()]


def successors(terminator: llvm.ValueRef) -> list[str]:
    """The names of the blocks to which a terminator can go."""
    return [one.name for one in terminator.operands if one.value_kind == llvm.ValueKind.basic_block]


def dominates(parents: dict[str, Any], above: str, block: str) -> bool:
    """If the block `above` is `block` or one of its dominators."""
    at: str | None = block
    while at is not None:
        if at == above:
            return True
        at = None if parents.get(at) in (at, None) else parents[at]
    return False


@dataclass(frozen=True)
class Operand:
    """An operand of an instruction: a named value, or a constant. The value of an integer constant is known."""

    name: str
    type: str
    constant: bool
    value: int | None = None


@dataclass(frozen=True)
class Instruction:
    """An instruction of an optimised function.

    Attributes:
        name: of its result, unique in the function; #PLACE where it has none.
        operands: values and constants; the conditions of branches, without the blocks.
        origins: of a phi, the blocks that its operands come from.
        place: its place in the order of the function.
    """

    name: str
    opcode: str
    type: str
    operands: tuple[Operand, ...]
    origins: tuple[str, ...]
    text: str
    block: str
    place: int

    @classmethod
    def of(cls, value: llvm.ValueRef, text: str, block: str, place: int) -> Instruction:
        kinds = llvm.ValueKind
        operands = tuple(
            Operand(
                one.name, str(one.type), bool(one.is_constant) and one.value_kind != kinds.global_variable,
                int(one.get_constant_value()) if one.value_kind == kinds.constant_int else None,
            )
            for one in value.operands
            if one.value_kind != kinds.basic_block
        )  # fmt: skip
        origins = tuple(one.name for one in value.incoming_blocks) if value.opcode == "phi" else ()
        opcode = value.opcode
        if opcode == "select" and operands[1].type == "i1" and (operands[1].constant or operands[2].constant):
            opcode = "and"  # a && b, a || b
        return cls(value.name or f"#{place}", opcode, str(value.type), operands, origins, text, block, place)

    @property
    def note(self) -> str:
        """The metadata of its position in the source."""
        found = re.search(r"!dbg (!\d+)", self.text)
        return found[1] if found else ""


@dataclass(frozen=True)
class Loop:
    """A loop of an optimised function, with all instructions of the function and the metadata of the module."""

    function: str
    natural: NaturalLoop
    control: Graph
    instructions: dict[str, Instruction]
    metadata: dict[str, str]

    @property
    def notes(self) -> list[str]:
        """The metadata of the loop's latches: positions in the source, and hints."""
        lines = [one.text for one in self.instructions.values() if one.block in self.natural.latches]
        names = [found[1] for line in lines if (found := re.search(r"!llvm\.loop (!\d+)", line))]
        return [
            self.metadata[note] for name in names for note in re.findall(r"!\d+", self.metadata[name]) if note != name
        ]

    @property
    def pipelined(self) -> bool:
        return any("llvm.loop.unroll.disable" in note for note in self.notes)

    def place(self) -> tuple[str, int]:
        """File and line at which the loop begins."""
        for note in self.notes:
            if found := re.match(r"!DILocation\(line: (\d+).*?scope: (!\d+)", note):
                return self.file_of(found[2]), int(found[1])
        return "", 0

    def file_of(self, scope: str) -> str:
        found = re.search(r"file: (!\d+)", self.metadata[scope])
        name = re.search(r'filename: "([^"]+)"', self.metadata[found[1]]) if found else None
        return Path(name[1]).name if name else ""

    def where(self, one: Instruction) -> str:
        """FILE:LINE of an instruction; of an operator of the shim, the place of its use."""
        note = one.note
        place = re.compile(r"!DILocation\(line: (\d+).*?scope: (!\d+)(?:, inlinedAt: (!\d+))?")
        while found := place.match(self.metadata.get(note, "")):
            file, note = self.file_of(found[2]), found[3] or ""
            if not note or not (SHIM / file).is_file():
                return f"{file}:{found[1]}"
        return ""

    def condition(self, block: str) -> str | None:
        """The value that selects a block's successor, if there are several."""
        return self.ends[block].operands[0].name if self.control.edges.out_degree(block) > 1 else None

    @functools.cached_property
    def ends(self) -> dict[str, Instruction]:
        """The last instruction of every block of the function."""
        return {one.block: one for one in self.instructions.values()}


def pipelined_loops(module: llvm.ModuleRef) -> list[Loop]:
    """The pipelined loops of an optimised module. Raises MeasurementError where a loop in a loop is left."""
    text = str(module)
    metadata = dict(re.findall(r"^(!\d+) = (?:distinct )?(.*)$", text, re.MULTILINE))
    names = {}
    for function, subprogram in re.findall(r'^define .*?@("[^"]+"|[\w.$]+)\(.*!dbg (!\d+)', text, re.MULTILINE):
        found = re.search(r'name: "([^"]+)"', metadata[subprogram])
        names[function.strip('"')] = found[1] if found else function
    lines = instruction_lines(text)
    loops: list[Loop] = []
    for function in module.functions:
        if function.is_declaration:
            continue
        values = [(block.name, value) for block in function.blocks for value in block.instructions]
        made = [Instruction.of(value, next(lines)[2], block, place) for place, (block, value) in enumerate(values)]
        graph, instructions = Graph.of(function), {one.name: one for one in made}
        found = [Loop(names[function.name], one, graph, instructions, metadata) for one in graph.loops()]
        pipelined = [loop for loop in found if loop.pipelined]
        if pipelined and len(found) > len(pipelined):
            raise MeasurementError(f"{names[function.name]}: not all of its other loops were unrolled")
        loops += pipelined
    return loops


def bits_of(kind: str) -> int:
    """Width of a type in bits; 64 for an address."""
    return int(kind[1:]) if re.fullmatch(r"i\d+", kind) else 64


def array_of(pointer: str, instructions: dict[str, Instruction]) -> str:
    """The array into which an address points: a local one is an instruction, any other has its name alone."""
    while (step := instructions.get(pointer)) and step.opcode in ("getelementptr", "bitcast", "freeze"):
        pointer = step.operands[0].name
    return pointer


def ones_of(instructions: dict[str, Instruction]) -> dict[str, int]:
    """For each value a mask of the bits that may be 1: clang keeps an integer of 11 bits in 16 of memory."""
    ones = dict.fromkeys(instructions, 0)
    stored: dict[str, list[Operand]] = {}
    for one in instructions.values():
        if one.opcode == "store":
            stored.setdefault(array_of(one.operands[1].name, instructions), []).append(one.operands[0])

    def mask(operand: Operand) -> int:
        every = (1 << bits_of(operand.type)) - 1
        return operand.value & every if operand.value is not None else ones.get(operand.name, every)

    def found(one: Instruction) -> int:
        every = (1 << bits_of(one.type)) - 1
        masks, last = [mask(operand) for operand in one.operands], one.operands[-1].value if one.operands else None
        if one.opcode == "load" and (array := array_of(one.operands[0].name, instructions)) in instructions:
            return functools.reduce(operator.or_, map(mask, stored.get(array, [])), 0) & every
        match one.opcode:
            case "phi" | "or" | "xor" | "select" | "zext" | "trunc" | "freeze":
                taken = masks[1:] if one.opcode == "select" else masks
                return functools.reduce(operator.or_, taken, 0) & every
            case "and" if len(masks) == 2:
                return masks[0] & masks[1]
            case "lshr" if last is not None:
                return masks[0] >> last
            case "shl" if last is not None:
                return masks[0] << last & every
            case "add" if all(operand.value is None or operand.value >= 0 for operand in one.operands):
                return (2 << max(each.bit_length() for each in masks)) - 1 & every
        return every

    # From below: a loop's values only gain bits.
    changed = True
    while changed:
        changed = False
        for name, one in instructions.items():
            if (mask_found := found(one) | ones[name]) != ones[name]:
                ones[name], changed = mask_found, True
    return ones


def widths_of(instructions: dict[str, Instruction], ones: dict[str, int]) -> dict[str, int]:
    """The bits of each value that carry information: those that may be 1, without copies of the sign."""
    widths = {name: max(1, mask.bit_count()) for name, mask in ones.items()}
    for name, one in instructions.items():
        if one.opcode == "sext":
            widths[name] = min(widths[name], bits_of(one.operands[0].type))
    return widths


# ---- The graph of a loop


class Dependences:
    """The dependences of a loop: nodes, and edges with a delay in ns and the iterations between both ends.

    A node is the name of an instruction, or the gate of a block (the logic that enables its accesses), and the inputs
    taken so far of the LUT that ends there, 0 where none does: bitwise operators in a row share LUTs.
    """

    def __init__(self, loop: Loop, delays: Delays) -> None:
        self.loop, self.delays = loop, delays
        self.inside = {name: one for name, one in loop.instructions.items() if one.block in loop.natural.blocks}
        self.conditions = controlling(loop)
        self.ones = ones_of(loop.instructions)
        self.widths = widths_of(loop.instructions, self.ones)
        self.edges: dict[tuple[str, str], int] = {}
        self.selecting: set[tuple[str, str]] = set()
        self.gates: dict[str, int] = {}
        accesses: dict[str, list[Instruction]] = {}
        for one in self.inside.values():
            self.add_data(one)
            if one.opcode in ("load", "store") and not is_stream(one):
                accesses.setdefault(self.array(one), []).append(one)
            if one.opcode == "store" or is_stream(one):
                self.add_conditions(one)
        for array, users in accesses.items():
            self.add_memory(array, users)
        self.graph = self.timed()

    def add_edge(self, tail: str, head: str, distance: int, selects: bool = False) -> None:
        """Add an edge; of several between two nodes the one with the least distance counts.

        `selects`: the tail decides which input a multiplexer passes on.
        """
        if selects:
            self.selecting.add((tail, head))
        self.edges[tail, head] = min(distance, self.edges.get((tail, head), distance))

    def add_data(self, one: Instruction) -> None:
        """Edges from what an instruction takes."""
        latches = self.loop.natural.latches
        for at, operand in enumerate(one.operands):
            if operand.name in self.inside and not operand.constant:
                if not self.is_register(one.name):
                    selects = one.opcode == "select" and at == 0
                    self.add_edge(operand.name, one.name, -self.latency(one), selects)
                elif one.origins[at] in latches:
                    self.add_edge(operand.name, one.name, 1)
        if one.opcode == "phi" and self.is_register(one.name):
            for condition in self.choosing([block for block in one.origins if block in latches], set()):
                if len(latches) > 1:
                    self.add_edge(condition, one.name, 1, selects=True)
        elif one.opcode == "phi":
            for condition in self.choosing(one.origins, self.conditions[one.block]):
                self.add_edge(condition, one.name, 0, selects=True)

    def choosing(self, origins: Iterable[str], settled: set[str]) -> list[str]:
        """The conditions that decide from which block a phi is reached, without those that are settled before."""
        found: set[str] = set()
        for block in origins:
            found |= self.conditions[block] - settled
            found |= {condition for condition in [self.loop.condition(block)] if condition}
        return sorted(found & self.inside.keys())

    def add_conditions(self, one: Instruction) -> None:
        """Edges from the conditions under which a stream or a memory is accessed."""
        conditions = sorted(self.conditions[one.block] & self.inside.keys())
        gate = f"gate of {one.block}"
        self.gates[gate] = len(conditions)
        for condition in conditions:
            self.add_edge(condition, gate, 0)
            self.add_edge(gate, one.name, 0)
        # The next iteration begins only if this one took no exit.
        for block in sorted(self.loop.natural.blocks):
            leaves = any(to not in self.loop.natural.blocks for to in self.loop.control.edges.successors(block))
            condition = self.loop.condition(block)
            if leaves and condition in self.inside:
                self.add_edge(condition, one.name, 1)

    def width(self, one: Instruction) -> int:
        """Width of the result in bits; of a comparison, of its operands."""
        if one.opcode != "icmp":
            return self.widths[one.name]
        return max(self.widths.get(operand.name, 1) for operand in one.operands)

    def is_register(self, name: str) -> bool:
        """If a node is a phi at the loop's head."""
        one = self.inside.get(name)
        return one is not None and one.opcode == "phi" and one.block == self.loop.natural.header

    def timed(self) -> nx.DiGraph:
        """The graph over (node, inputs of its LUT)."""
        after: dict[str, list[str]] = {}
        for tail, head in self.edges:
            after.setdefault(tail, []).append(head)
        graph = nx.DiGraph()
        stack = [(name, 0) for name in self.inside if not self.lut_inputs(name) and not self.is_wiring(name)]
        stack += [(name, 0) for name in self.inside if self.is_register(name)]
        seen = set(stack)
        while stack:
            tail, used = stack.pop()
            for head in after.get(tail, ()):
                taken, ns = self.entered(tail, head, used)
                graph.add_edge((tail, used), (head, taken), ns=ns, distance=self.edges[tail, head])
                if (head, taken) not in seen:
                    seen.add((head, taken))
                    stack.append((head, taken))
        return graph

    def entered(self, tail: str, head: str, used: int) -> tuple[int, float]:
        """Inputs of the LUT that ends behind a node, and its delay in ns, entered with `used` inputs of a LUT."""
        if self.is_wiring(head):
            return used, 0.0
        inputs = self.lut_inputs(head)
        if head in self.gates:
            ns = self.delays.operator("logic", 1)
        elif self.inside[head].opcode in ("phi", "select"):
            # A multiplexer has a LUT for each bit; only what selects has to reach all of them.
            wide = (tail, head) in self.selecting
            ns = self.delays.operator("select", self.width(self.inside[head]) if wide else 1)
        else:
            ns = self.delay(self.inside[head])
        if not inputs:
            return 0, ns
        shared = 0 < used <= LUT_INPUTS - inputs
        taken = used + inputs if shared else 1 + inputs
        return 0 if self.is_register(head) else taken, 0.0 if shared else ns

    def is_wiring(self, name: str) -> bool:
        """If a node takes no time and no LUT."""
        one = self.inside.get(name)
        return self.gates[name] < 2 if one is None else one.opcode in FREE or self.joins(one)

    def joins(self, one: Instruction) -> bool:
        """If an operator takes no logic: a shift or a mask by a constant, an inversion, a join, a test of one bit."""
        if one.opcode in ("shl", "lshr", "ashr"):
            return one.operands[1].constant
        if one.opcode == "icmp":
            tested = self.loop.instructions.get(one.operands[0].name)
            mask = tested.operands[1].value if tested and tested.opcode == "and" else None
            single = self.width(one) == 1 or mask is not None and mask.bit_count() == 1
            return single and one.operands[1].constant or bool(SIGN_TEST.search(one.text))
        if one.opcode == "or" and not any(operand.constant for operand in one.operands):
            first, second = (self.ones.get(operand.name, -1) for operand in one.operands)
            return first & second == 0
        if one.opcode in ("and", "or", "xor"):
            return len(one.operands) == 2 and any(operand.constant for operand in one.operands)
        return False

    def lut_inputs(self, name: str) -> int:
        """The inputs that a bitwise operator adds to a LUT, 0 for any other node."""
        one = self.inside.get(name)
        if one is None:
            return self.gates[name] - 1
        if one.opcode == "phi":
            return 2 * math.ceil(math.log2(max(2, len(one.operands))))
        return 0 if self.joins(one) else BITWISE.get(one.opcode, 0)

    def add_memory(self, array: str, users: list[Instruction]) -> None:
        """Edges from each store to each load of the same array; none where no load meets a store's element."""
        if array.startswith(INDEPENDENT):
            return
        distance = 2 if array.startswith(DISTANCE) else 1
        for store in (one for one in users if one.opcode == "store"):
            for load in (one for one in users if one.opcode == "load"):
                if self.is_memory(array):
                    self.add_edge(store.name, load.name, distance - 1)
                else:
                    self.add_edge(store.name, load.name, 0 if store.place < load.place else 1)

    def delay(self, one: Instruction) -> float:
        """ns from the inputs of an instruction to its result."""
        opcode, accesses = one.opcode, self.delays.accesses
        if is_stream(one):
            return accesses["stream_read"] if opcode == "load" else 0.0
        if opcode in ("load", "store"):
            if self.is_memory(self.array(one)):
                return accesses["memory_read" if opcode == "load" else "memory_write"]
            return self.register_access(one)
        if opcode == "call":
            return self.call(one)
        if opcode in FREE or self.joins(one):
            return 0.0
        if opcode not in OPERATORS:
            raise MeasurementError(f"{self.loop.function}: no delay for {one.text}")
        if opcode == "mul" and (factor := one.operands[1].value) is not None:
            return self.delays.operator("add", self.width(one)) * math.ceil(math.log2(max(2, abs(factor).bit_count())))
        return self.delays.operator(OPERATORS[opcode], self.width(one))

    def call(self, one: Instruction) -> float:
        """ns of an intrinsic function."""
        name = one.operands[-1].name
        if name.startswith(IGNORED):
            return 0.0
        if found := re.match(r"llvm\.(\w+)\.i\d+$", name):
            if found[1] in ("fshl", "fshr"):
                return 0.0 if one.operands[2].constant else self.delays.operator("shift", self.width(one))
            if found[1] in INTRINSICS:
                return self.delays.operator(INTRINSICS[found[1]], self.width(one))
        raise MeasurementError(f"{self.loop.function}: no delay for {one.text}")

    def register_access(self, one: Instruction) -> float:
        """ns to an array of registers: an index that is no constant takes a multiplexer, 4 to 1 in a level."""
        if all(index.constant for index in self.pointer(one)[1]):
            return 0.0
        found = re.search(r"alloca \[(\d+) x", self.loop.instructions[self.array(one)].text)
        length = max(2, int(found[1])) if found else 2
        if one.opcode == "load":
            return self.delays.operator("select", 8) * math.ceil(math.log2(length) / 2)
        bits = math.ceil(math.log2(length))
        return self.delays.operator("compare", bits) + self.delays.operator("select", 8)

    def pointer(self, one: Instruction) -> tuple[str, list[Operand]]:
        """The array that a load or store accesses, by name, and the indices of its address."""
        return self.element(one.operands[0 if one.opcode == "load" else 1].name)

    def element(self, pointer: str) -> tuple[str, list[Operand]]:
        """The array that a pointer points into, and the indices; of a choice of two elements those of both, and what
        chooses."""
        indices: list[Operand] = []
        while (step := self.loop.instructions.get(pointer)) and step.opcode != "alloca":
            if step.opcode == "select":
                chooses, *arms = step.operands
                (array, one), (other, further) = (self.element(arm.name) for arm in arms)
                if array == other:
                    return array, [*indices, chooses, *one, *further]
            if step.opcode not in ("getelementptr", "bitcast", "freeze"):
                raise MeasurementError(f"{self.loop.function}: an address comes from {step.text}")
            indices += step.operands[1:]
            pointer = step.operands[0].name
        return pointer, indices

    def array(self, one: Instruction) -> str:
        """The array that a load or store accesses, by name."""
        return self.pointer(one)[0]

    def is_memory(self, array: str) -> bool:
        """If an array is a memory with a clocked read: marked as one, or outside of the function."""
        return array not in self.loop.instructions or array.startswith((MEMORY, DISTANCE))

    def label(self, one: Instruction) -> str:
        """A short name of an instruction."""
        if is_stream(one):
            return "stream read"
        if one.opcode in ("load", "store"):
            return f"{'read' if one.opcode == 'load' else 'write'} of {self.array(one).split('.')[-1]}"
        register = self.is_register(one.name)
        return f"register {one.name.split('.')[0]}" if register else f"{one.opcode} of {self.width(one)} bits"

    def latency(self, one: Instruction) -> int:
        """Clocks from the inputs of an instruction to its result."""
        return int(one.opcode == "load" and not is_stream(one) and self.is_memory(self.array(one)))


def controlling(loop: Loop) -> dict[str, set[str]]:
    """For each block of a loop the conditions that decide if an iteration reaches it, nested ones included."""
    natural = loop.natural
    forward = nx.DiGraph()
    for block in natural.blocks:
        for to in loop.control.edges.successors(block):
            stays = to in natural.blocks and to != natural.header
            forward.add_edge(block, to if stays else END)
    parents = nx.immediate_dominators(forward.reverse(), END)
    direct: dict[str, set[str]] = {block: set() for block in natural.blocks}
    for tail, head in forward.edges:
        at = head
        while at not in (END, parents[tail]):
            direct[at].add(tail)
            at = parents[at]
    conditions = {}
    for block in natural.blocks:
        seen: set[str] = set()
        stack = [block]
        while stack:
            for above in direct[stack.pop()] - seen:
                seen.add(above)
                stack.append(above)
        conditions[block] = {condition for one in seen if (condition := loop.condition(one))}
    return conditions


def is_stream(one: Instruction) -> bool:
    """If an instruction reads or writes a stream: the shim's accesses are volatile."""
    return one.opcode in ("load", "store") and " volatile " in one.text


# ---- The worst cycle


def worst_recurrence(loop: Loop, delays: Delays) -> Recurrence:
    """The cycle of a loop's dependences with the most ns for each iteration that it spans."""
    dependences = Dependences(loop, delays)
    graph = dependences.graph
    best, worst = 0.0, []
    for component in nx.strongly_connected_components(graph):
        part = nx.DiGraph()
        for tail in sorted(component):  # each run takes the same steps
            part.add_edges_from((tail, head, edge) for head, edge in graph.adj[tail].items() if head in component)
        while best < math.inf and (cycle := longer_cycle(part, best)):
            best, worst = ratio(graph, cycle), cycle
    file, line = loop.place()
    spans = sum(graph.edges[edge]["distance"] for edge in around(worst))
    return Recurrence(loop.function, file, line, best, spans, tuple(steps(dependences, worst)))


def around(cycle: list[Node]) -> Iterator[tuple[Node, Node]]:
    """The edges of a cycle of nodes."""
    return zip(cycle, cycle[1:] + cycle[:1], strict=True)


def ratio(graph: nx.DiGraph, cycle: list[Node]) -> float:
    """ns of a cycle for each iteration that it spans; infinite where it spans none."""
    distance = sum(graph.edges[edge]["distance"] for edge in around(cycle))
    return sum(graph.edges[edge]["ns"] for edge in around(cycle)) / distance if distance > 0 else math.inf


def longer_cycle(part: nx.DiGraph, best: float) -> list[Node]:
    """A cycle with more than `best` ns an iteration in a strongly connected graph, or none."""
    weighted = nx.DiGraph()
    for tail, head, edge in part.edges(data=True):
        weighted.add_edge(tail, head, weight=(best + 1e-6) * edge["distance"] - edge["ns"])
    if not weighted:
        return []
    try:
        *cycle, _ = nx.find_negative_cycle(weighted, next(iter(weighted)))
    except nx.NetworkXError:
        return []
    return cycle


def steps(dependences: Dependences, cycle: list[Node]) -> Iterator[str]:
    """The operators on a cycle that take time, from a register on: what, how wide, ns, where."""
    start = next((at for at, (name, _) in enumerate(cycle) if dependences.is_register(name)), 0)
    for tail, head in around(cycle[start:] + cycle[:start]):
        one = dependences.inside.get(head[0])
        if ns := dependences.graph.edges[tail, head]["ns"]:
            where = dependences.loop.where(one) if one else ""
            yield f"{dependences.label(one) if one else 'enable'} {ns:.2f}{f' ({where})' if where else ''}"
