"""The list of memories is the list of the RTL: Yosys elaborates the top, and every memory in it is compared."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import random_accelerator as lowered
from support import random_design, random_graph

from fgnas.backends.pipeline import write_project
from fgnas.backends.rtl import write_rtl
from fgnas.design import Design, columns_of
from fgnas.hardware.pipeline import memories
from fgnas.hardware.pipeline.geometry import geometry
from fgnas.hardware.pipeline.memories import layer_memories, reader_buffer
from fgnas.hardware.pipeline.pricing import design_resources
from fgnas.hardware.shape import GraphShape
from fgnas.laboratory.networks import random_accelerator
from fgnas.tools.simulate import run_simulation
from fgnas.tools.synth import count_block_rams, count_cells, list_memories

SHAPE = GraphShape(50, 7, 1024, 16)
REGISTERS = ("u_control", "u_divider")
"""Instances whose arrays are registers: they have several write ports, or fixed addresses."""
FRAMES = re.compile(r"gen_|u_layer_|u_output$")
"""Parts of a path that only hold instances together."""
TABLE = "u_table"
"""Instances that are a table of a function: read-only, and without a name for the array."""

Words = tuple[int, int, int, str]
"""Depth, width, read ports, and style."""


def listed(design: Design) -> dict[str, Counter[Words]]:
    """{memory: its words, once per copy} by the model; a memory of one word is a register."""
    found: dict[str, Counter[Words]] = {}
    everyone = [(reader_buffer(), "")]
    for index, layer in enumerate(geometry(columns_of([design]), SHAPE)):
        everyone += [(memory, f" {index}") for memory in layer_memories(layer, SHAPE)]
    for kind, layer_name in everyone:
        memory = kind.of(0)
        if memory.copies and memory.depth > 1:
            words = (memory.depth, memory.width, memory.reads, memory.style)
            found.setdefault(f"{memory.instance}{layer_name}", Counter())[words] += memory.copies
    return found


def place(path: str, last: int) -> str:
    """An instance path without frames, and its layer, the last by default: "u_linear.u_weights 0"."""
    layer = re.search(r"_(\d+)", path)
    parts = [re.sub(r"_\d+$", "", part) for part in path.split(".") if not FRAMES.match(part)]
    name = re.sub("^u_(target|source)$", "u_scores", ".".join(parts))
    if name == "u_reader.u_buffer":
        return name
    return f"{name} {layer[1] if layer else last}"


def elaborated(design: Design, folder: Path) -> dict[str, Counter[Words]]:
    """The same for the RTL, as Yosys elaborates it."""
    write_rtl(random_accelerator(design, SHAPE, 1), folder)
    return read_back(folder, len(design.layers) - 1)


def read_back(folder: Path, last: int) -> dict[str, Counter[Words]]:
    """The memories of the RTL in a folder."""
    found: dict[str, Counter[Words]] = {}
    for memory in list_memories(folder / "rtl", folder / "log"):
        name = place(memory["instance"], last)
        if memory["depth"] > 1 and name.split()[0].split(".")[-1] not in (*REGISTERS, TABLE):
            words = (memory["depth"], memory["width"], memory["reads"], memory["style"])
            found.setdefault(name, Counter())[words] += 1
    return found


def differences(model: dict[str, Counter[Words]], built: dict[str, Counter[Words]]) -> list[str]:
    """A line for each memory in which the two differ."""
    return [
        f"{name}: listed {dict(model.get(name, {}))}, built {dict(built.get(name, {}))}"
        for name in sorted(model.keys() | built.keys())
        if model.get(name) != built.get(name)
    ]


CHOICES: list[tuple[int, dict[str, Any]]] = [
    (2, {"attention": "gcn"}),
    (2, {"attention": "gat"}),
    (2, {"attention": "constant", "aggregation": "mean"}),
    (2, {"attention": "gat", "aggregation": "max"}),
    (3, {"attention": "constant", "aggregation": "max"}),
    (3, {"attention": "gat", "aggregation": "mean"}),
    (3, {}),
]


@pytest.mark.parametrize(("layers", "choices"), CHOICES)
@pytest.mark.parametrize("seed", [1, 2])
def test_every_memory_of_the_rtl_is_listed(layers: int, choices: dict[str, Any], seed: int, tmp_path: Path) -> None:
    pytest.importorskip("pyosys")
    rng = np.random.default_rng([seed, layers])
    lanes = {"t_attn": int(rng.choice([1, 2, 4, 8])) if choices.get("attention") == "gat" else None}
    overrides = tuple({**choices, **(lanes if "attention" in choices else {})} for _ in range(layers))
    design = random_design(rng, layers, overrides)
    assert differences(listed(design), elaborated(design, tmp_path)) == []


def attending() -> Design:
    """A design in which every fact below matters: gat twice, and small weight memories behind the first layer."""
    choices = {"attention": "gat", "t_attn": 2, "aggregation": "add", "k": 2, "t_aggr": 4}
    return random_design(np.random.default_rng(5), 2, ({**choices, "d": 8, "t_in": 3}, {**choices, "t_in": 4}))


FACTS = [("LUTRAM_WORDS", 16), ("RING_ROWS", 4), ("READER_BEATS", 1024)]
"""Facts of the list, and another value for each."""


@pytest.mark.parametrize(
    ("fact", "value"), [FACTS[0], *(pytest.param(*fact, marks=pytest.mark.slow) for fact in FACTS[1:])]
)
def test_rtl_model_and_readme_follow_a_changed_fact(
    fact: str, value: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list changes, the RTL has the memories of the list, and the block RAM built is the block RAM predicted."""
    pytest.importorskip("pyosys")
    design, before = attending(), listed(attending())
    monkeypatch.setattr(memories, fact, value)
    assert listed(design) != before
    assert differences(listed(design), elaborated(design, tmp_path)) == []
    (blocks,) = count_block_rams({"design": tmp_path / "rtl"}, "xc7", tmp_path / "log").values()
    built = sum(count_cells(cells)["bram36"] for cells in blocks.values())
    assert built == design_resources(design, SHAPE)["bram36"]


@pytest.mark.parametrize(("fact", "value"), [FACTS[0], FACTS[1]])
def test_the_cpp_follows_a_changed_fact(fact: str, value: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Storage of weights and vectors, and the depth of the ring; the reader's buffer is the vendor tool's own."""
    rng = np.random.default_rng(0)
    data = random_graph(rng, 20, 30, 5, 40)
    monkeypatch.setattr(memories, fact, value)
    accelerator = lowered(rng, attending(), data)
    write_project(accelerator, data, tmp_path / "p")
    stages, numbers = ((tmp_path / "p" / "src" / name).read_text() for name in ("processes.h", "parameters.h"))
    processes = re.split(r"\n(?=inline void )", stages)
    for layer in accelerator.layers:
        own = {memory.name: memory for memory in memories.memories_of(layer.geometry, accelerator.shape)}
        ends = "head_mean" if layer.geometry.last else "activate"
        owners = {"weight": "linear", "attention": "score", "bias": ends, "h": "aggregate"}
        for name, process in owners.items():
            (text,) = (part for part in processes if part.startswith(f"inline void {process}_{layer.index}("))
            assert re.search(rf"HLS_STORAGE\({name}, \w+, {own[name].implementation}\)\n", text), name
        assert f"RING_FIFO = {own['ring'].depth};" in numbers
        assert f"| {own['ring'].depth} | {own['ring'].width} |" in (tmp_path / "p" / "README.md").read_text()


def test_cycles_follow_a_longer_ring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulated RTL takes the predicted cycles, which differ from those with the shorter ring."""
    rng = np.random.default_rng(1)
    data = random_graph(rng, 60, 20, 5, 400)
    monkeypatch.setattr(memories, "RING_ROWS", 4)
    accelerator = lowered(rng, attending(), data)
    write_project(accelerator, data, tmp_path / "p")
    report = run_simulation(tmp_path / "p")
    assert (report["mismatches"], report["cycles"]) == (0, report["predicted_cycles"])


def test_another_memory_in_the_rtl_is_named(tmp_path: Path) -> None:
    pytest.importorskip("pyosys")
    design = attending()
    write_rtl(random_accelerator(design, SHAPE, 1), tmp_path)
    top = tmp_path / "rtl" / "fgnas_kernel.sv"
    text = top.read_text()
    assert text.count("BufferBeats(512)") == 1
    top.write_text(text.replace("BufferBeats(512)", "BufferBeats(1024)"))
    (line,) = differences(listed(design), read_back(tmp_path, 1))
    assert line.startswith("u_reader.u_buffer: listed ")
