"""The list of memories is the list of the RTL: Yosys elaborates the top, and every memory in it is compared."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import random_design

from fgnas.backends.rtl import write_rtl
from fgnas.design import Design
from fgnas.hardware.pipeline.geometry import GraphShape, geometry
from fgnas.hardware.pipeline.memories import layer_memories, reader_buffer
from fgnas.space import columns_of
from fgnas.tools.characterise import random_accelerator
from fgnas.tools.synth import list_memories

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
    """{memory: its words, as often as there are copies} by the model; a memory of one word is a register."""
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
    """The same of the RTL, as Yosys reads it."""
    write_rtl(random_accelerator(design, SHAPE, 1), folder)
    found: dict[str, Counter[Words]] = {}
    for memory in list_memories(folder / "rtl", folder / "log"):
        name = place(memory["instance"], len(design.layers) - 1)
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
