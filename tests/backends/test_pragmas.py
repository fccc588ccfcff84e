"""The pragmas for Vitis HLS: loops, streams, memories and ports carry those that make the predicted hardware."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import cpp
import numpy as np
import pytest
from support import random_accelerator, random_design, random_graph

from fgnas.backends.pipeline import write_project
from fgnas.backends.project import DEFAULT_COMPILER, compilers
from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.memories import memories_of
from fgnas.tools.csim import run_csim

TOP = "fgnas_top.cpp"
PRAGMAS = cpp.PRAGMAS
PROCESSES = "processes.h"
MEMORIES = {
    "linear": {"weight": "weight"}, "activate": {"bias": "bias"}, "head_mean": {"bias": "bias"},
    "aggregate": {"h": "h"}, "score": {"attention": "attention"},
    "row_maximum": {"target_scores": "scores", "source_scores": "scores"},
}  # fmt: skip
"""The accelerator's memory of each array of a process, by the process's name without its layer."""
BURST_BYTES = 4096
"""The most that an AXI burst may read or write."""
Sources = dict[str, str]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> tuple[Sources, Accelerator]:
    """The sources of a design with every stage, two layers with gat and one without, and the lowered design."""
    rng = np.random.default_rng(5)
    data = random_graph(rng, 9, 8, 5, 12)
    gat = {"attention": "gat", "t_attn": 2, "d": 4, "k": 2}
    design = random_design(rng, 3, (gat, {"attention": "gcn", "t_attn": None}, gat | {"d": None}))
    accelerator = random_accelerator(rng, design, data)
    folder = tmp_path_factory.mktemp("pragmas") / "project"
    write_project(accelerator, data, folder)
    # Synthesis does not see the trace.
    texts = {path.name: path.read_text() for path in sorted((folder / "src").iterdir()) if path.name != "trace.h"}
    return texts, accelerator


def functions(sources: Sources) -> Iterator[tuple[str, cpp.Function]]:
    """Every function, with its file and name in words."""
    for file, source in sources.items():
        for name, function in cpp.functions(source).items():
            yield f"{file}: {name}", function


def options(function: cpp.Function, name: str) -> dict[str, dict[str, str]]:
    """The options of each pragma of that name anywhere in a function, by its variable or port."""
    found = (cpp.pragma_of(node) for node in cpp.walk(function.body) if node.type == "preproc_call")
    named = [pragma.options for pragma in found if pragma.name == name]
    return {given.get("variable") or given.get("port", ""): given for given in named}


def check_loops(sources: Sources, accelerator: Accelerator) -> None:
    """Every loop is a pipeline of one iteration a cycle, or is unrolled over a constant number of lanes.

    A function has one pipeline at most, with nothing but unrolled loops inside: rows then follow without a gap.
    """
    names = set().union(*map(cpp.constant_names, sources.values()))
    for where, function in functions(sources):
        if function.constant:
            continue  # runs in the compiler
        constants = cpp.Constants(function, names)
        pipelines = 0
        for loop in cpp.loops(function.body):
            pipeline, unrolled = loop.pragma("PIPELINE"), loop.pragma("UNROLL")
            assert (pipeline is None) != (unrolled is None), f"{where}: {loop.condition}"
            if unrolled:
                assert unrolled.options == {} and constants.bound(loop), f"{where}: {loop.condition} is not constant"
                continue
            pipelines += 1
            assert pipeline.options == {"II": "1"}, f"{where}: {loop.condition}"
            inside = cpp.loops(loop.node)
            assert all(one.pragma("UNROLL") for one in inside), f"{where}: {loop.condition} is no flat pipeline"
            trips = loop.pragma("LOOP_TRIPCOUNT")
            assert constants.bound(loop) or (trips and trips.options["max"]), f"{where}: {loop.condition} has no trips"
        assert pipelines <= 1, where


def check_streams(sources: Sources, accelerator: Accelerator) -> None:
    """A function with streams is a DATAFLOW region: each stream has a depth, and calls with plain arguments follow."""
    regions = 0
    for where, function in functions(sources):
        assert bool(function.streams) == any(pragma.name == "DATAFLOW" for pragma in function.pragmas), where
        if not function.streams:
            continue
        regions += 1
        depths = {name: given["depth"] for name, given in options(function, "STREAM").items()}
        assert list(depths) == function.streams and all(depths.values()), where
        kinds = {node.type for node in function.body.named_children}
        assert kinds <= {"comment", "preproc_call", "declaration", "expression_statement"}, f"{where}: {kinds}"
        statements = [node for node in function.body.named_children if node.type == "expression_statement"]
        assert len(function.calls) == len(statements) > 0, f"{where}: other statements than calls"
        plain = all(re.fullmatch(r"\w+", argument) for call in function.calls for argument in call.arguments)
        assert plain, f"{where}: a call that computes an argument"
    assert regions > 0


def check_inlining(sources: Sources, accelerator: Accelerator) -> None:
    """A function that a pipeline calls in every cycle is inlined: otherwise its own control would cost cycles."""
    known: dict[str, list[cpp.Function]] = {}
    for _, function in functions(sources):
        known.setdefault(re.sub("<.*>", "", function.name).rpartition("::")[2], []).append(function)
    waiting = [loop.node for _, function in functions(sources) for loop in cpp.loops(function.body)]
    seen: set[str] = set()
    while waiting:
        calls = [cpp.call_of(node) for node in cpp.walk(waiting.pop()) if node.type == "call_expression"]
        for method in {call.name.rpartition("::")[2] for call in calls} - seen:
            seen.add(method)
            owners = {call.name.rpartition("::")[0] for call in calls if call.name.endswith(method)}
            for function in known.get(method, []):
                owner = re.sub("<.*>", "", function.name).rpartition("::")[0]
                if method == "run" and owner not in {re.sub("<.*>", "", one) for one in owners}:
                    continue
                if not cpp.text(function.body.parent).startswith("constexpr"):
                    assert any(pragma.name == "INLINE" for pragma in function.pragmas), function.name
                    waiting.append(function.body)
    assert {"combine", "shift_right_even", "look_up", "run"} <= seen


def check_memories(sources: Sources, accelerator: Accelerator) -> None:
    """Each process owns the accelerator's memories: arrays of words, with their depth, copies and style."""
    values = cpp.constants(sources["parameters.h"])
    wanted, found = set(), set()
    for layer in accelerator.layers:
        own = {memory.name for memory in memories_of(layer.geometry, accelerator.shape)}
        end = {"activate"} if layer.geometry.last else {"head_mean"}
        wanted |= {
            (f"{process}_{layer.index}", array)
            for process, arrays in MEMORIES.items() for array, kind in arrays.items()
            if kind in own and process not in end
        }  # fmt: skip
    for name, function in cpp.functions(sources[PROCESSES]).items():
        process, _, index = name.rpartition("_")
        layer = accelerator.layers[int(index)]
        memories = {memory.name: memory for memory in memories_of(layer.geometry, accelerator.shape)}
        styles, banks = options(function, "BIND_STORAGE"), options(function, "ARRAY_PARTITION")
        for array, sizes in cpp.arrays(function.body).items():
            memory = memories[MEMORIES[process][array]]
            found.add((name, array))
            assert cpp.array_type(function.body, array).startswith("static Packed<"), name
            assert values[sizes[-1]] == memory.depth, name
            assert styles[array]["impl"] == memory.implementation, name
            dual_port = array == "weight" and memory.block
            assert styles[array]["type"] == ("ram_t2p" if dual_port else "ram_s2p"), name
            if array == "weight":
                assert values[sizes[0]] == memory.copies, name
                assert banks == {array: {"variable": array, "type": "complete", "dim": "1"}}, name
    assert found == wanted


def check_ports(sources: Sources, accelerator: Accelerator) -> None:
    """Every argument is a register; an address is also a port to main memory, with bursts of the greatest length."""
    top = cpp.functions(sources[TOP])["fgnas_top"]
    ports = [pragma for pragma in top.pragmas if pragma.name == "INTERFACE"]
    control = {one.options["port"]: one.options["bundle"] for one in ports if "s_axilite" in one.options}
    assert top.arguments == tuple(register.name for register in wire.ARGUMENT_REGISTERS)
    assert control == dict.fromkeys([*top.arguments, "return"], "control")
    memory = {one.options["port"]: one.options for one in ports if "m_axi" in one.options}
    assert set(memory) == {register.name for register in wire.ARGUMENT_REGISTERS if register.bits == 64}
    depths = cpp.constants(sources["parameters.h"])
    for name, depth in zip(
        ("parameters", "features", "edges", "logits"),
        ("PARAMETER_BEATS", "FEATURE_DEPTH", "EDGE_DEPTH", "LOGIT_DEPTH"),
        strict=True,
    ):
        side = "write" if name == "logits" else "read"
        port = memory[name]
        assert port["bundle"] == f"gmem_{side}" and port["offset"] == "slave", name
        assert int(port["depth"]) == depths[depth] > 0 and port["latency"] == "64", name
        assert int(port[f"max_{side}_burst_length"]) * wire.BEAT_BYTES == BURST_BYTES, name


def check_local_arrays(sources: Sources, accelerator: Accelerator) -> None:
    """An array of a stage is registers or a named memory: without a pragma it would be a memory with two ports.

    A two-port LUTRAM that a pipeline writes back to is a recurrence, so a pragma gives its distance. It holds words,
    because the pragma does not apply to members of structs.
    """
    for where, function in functions(sources):
        if where.startswith(PROCESSES):
            continue
        registers, styles = options(function, "ARRAY_PARTITION"), options(function, "BIND_STORAGE")
        for name in cpp.arrays(function.body):
            assert (registers.get(name, {}).get("type") == "complete") != (name in styles), f"{where}: {name}"
            # Every dimension: by default the tool divides the first alone, and the others stay a memory.
            assert name in styles or registers[name]["dim"] == "0", f"{where}: {name}"
        distances = options(function, "DEPENDENCE")
        assert all(cpp.array_type(function.body, name).startswith("Packed<") for name in distances), where
        assert {name for name, given in styles.items() if given["type"] == "ram_s2p"} == set(distances), where
        expected = {"type": "inter", "direction": "RAW", "distance": "2", "dependent": "true"}
        assert all(given == {"variable": name, **expected} for name, given in distances.items()), where


CHECKS: tuple[Callable[[Sources, Accelerator], None], ...] = (
    check_loops, check_streams, check_inlining, check_memories, check_ports, check_local_arrays,
)  # fmt: skip


@pytest.mark.parametrize("check", CHECKS)
def test_the_pragmas(check: Callable[[Sources, Accelerator], None], project: tuple[Sources, Accelerator]) -> None:
    sources, accelerator = project
    check(cpp.expanded(sources), accelerator)


@pytest.mark.parametrize(
    ("check", "file", "old", "new"),
    [
        (check_loops, "store.h", "HLS_PIPELINE\n", "\n"),
        (check_loops, PRAGMAS, "PIPELINE II=1", "PIPELINE II=2"),
        (check_loops, PRAGMAS, "(HLS UNROLL)", "(HLS UNROLL factor=2)"),
        (check_loops, "linear.h", "HLS_UNROLL\n", "\n"),
        (check_loops, "aggregate.h", "other < TILES; ++other", "other < tile; ++other"),
        (check_loops, "read.h", "HLS_TRIPS(TRIPS)\n", "\n"),
        (check_streams, TOP, "HLS_DATAFLOW\n", "\n"),
        (check_streams, TOP, "HLS_STREAM(ring_0, Layer0::RING_FIFO, ScoredEdge<Layer0>)", "Stream<Edge> ring_0;"),
        (check_streams, TOP, "feature_beats, rows, groups_0", "feature_beats + 1, rows, groups_0"),
        (check_inlining, "aggregate.h", "HLS_INLINE\n", "\n"),
        (check_inlining, "fixed.h", "HLS_INLINE\n", "\n"),
        (check_inlining, "activation_0.h", "HLS_INLINE\n", "\n"),
        (check_inlining, "multiply.h", "HLS_INLINE\n", "\n"),
        (check_memories, PROCESSES, "HLS_STORAGE(h, ram_s2p, bram)", "HLS_STORAGE(h, ram_s2p, lutram)"),
        (check_memories, PROCESSES, "static Packed<BiasWord<Layer2> > bias", "static BiasWord<Layer2> bias"),
        (check_memories, PROCESSES, "weight[Layer0::WEIGHT_COPIES]", "weight[Layer0::T_IN]"),
        (check_memories, PROCESSES, "h[Layer2::H_DEPTH]", "h[Layer2::WEIGHT_DEPTH]"),
        (check_memories, PROCESSES, "HLS_STORAGE(source_scores,", "HLS_STORAGE(target_scores,"),
        (check_memories, PROCESSES, "HLS_BANKS(weight)\n", "\n"),
        (check_ports, TOP, "HLS_REGISTER(status)\n", "\n"),
        (check_ports, PRAGMAS, "max_write_burst_length=burst", "max_write_burst_length=16"),
        (check_ports, TOP, "HLS_READ_PORT(edges,", "HLS_WRITE_PORT(edges,"),
        (check_ports, PRAGMAS, "bundle=gmem_read", "bundle=gmem_write"),
        (check_local_arrays, "linear.h", "HLS_REGISTERS(product)\n", "\n"),
        (check_local_arrays, "linear.h", "Packed<LinearSums<L> > sums[", "LinearSums<L> sums["),
        (check_local_arrays, PRAGMAS, "direction=RAW distance=2", "direction=RAW distance=1"),
        (check_local_arrays, "row_maximum.h", "HLS_STORAGE(largest, ram_s2p, lutram)\n", "\n"),
    ],
)
def test_a_missing_or_wrong_pragma_is_found(
    check: Callable[[Sources, Accelerator], None],
    file: str,
    old: str,
    new: str,
    project: tuple[Sources, Accelerator],
) -> None:
    sources, accelerator = project
    assert old in sources[file]
    with pytest.raises((AssertionError, KeyError)):
        check(cpp.expanded(sources | {file: sources[file].replace(old, new)}), accelerator)


def test_every_kind_is_explained(project: tuple[Sources, Accelerator]) -> None:
    """docs/accelerator.md has a row for each kind of pragma in use, and no other."""
    sources = cpp.expanded(project[0])
    nodes = (node for source in sources.values() for node in cpp.walk(cpp.parse(source)))
    found = (cpp.text(node) for node in nodes if node.type == "preproc_call")
    used = {line.split()[2] for line in found if line.startswith("#pragma HLS")}
    docs = (Path(__file__).parents[2] / "docs" / "accelerator.md").read_text()
    section = docs[docs.index("## Pragmas for Vitis") :]
    explained = {
        name
        for row in re.findall(r"^\| (`[A-Z].*?) \|", section, re.MULTILINE)
        for name in re.findall("`([A-Z_]+)`", row)
    }
    assert explained == used


@pytest.mark.parametrize("compiler", sorted(set(compilers()) - {DEFAULT_COMPILER}))
def test_another_compiler_changes_only_the_pragmas(
    compiler: str, project: tuple[Sources, Accelerator], tmp_path: Path
) -> None:
    """The other header defines every macro; with it the same stages still give the reference's logits."""
    sources, accelerator = project
    data = random_graph(np.random.default_rng(5), 9, 8, 5, 12)
    write_project(accelerator, data, tmp_path / "p", compiler=compiler)
    written = {path.name: path.read_text() for path in sorted((tmp_path / "p" / "src").iterdir())}
    changed = {name for name, source in sources.items() if source != written[name]}
    assert changed == {PRAGMAS, TOP, "fgnas_top.h"}
    vitis, other = (set(re.findall(r"^#define (HLS_\w+)", one[PRAGMAS], re.MULTILINE)) for one in (sources, written))
    assert vitis - {"HLS_PRAGMA"} == other
    assert "HLS_" not in "".join(cpp.expanded(written).values())
    assert run_csim(tmp_path / "p")["mismatches"] == 0


def test_an_unknown_compiler(project: tuple[Sources, Accelerator], tmp_path: Path) -> None:
    data = random_graph(np.random.default_rng(5), 9, 8, 5, 12)
    with pytest.raises(UserError, match=r"unknown HLS compiler 'gcc'; known: bambu, vitis"):
        write_project(project[1], data, tmp_path / "p", compiler="gcc")
