"""The DATAFLOW region of the C++ against the stage graphs: the same stages, joined by the same buffers.

The region holds every phase, and also processes outside the model: they read, check, repack, copy and normalise as fast
as their neighbours. Contracting them must leave the graph of each phase.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cpp
import networkx as nx
import numpy as np
import pytest
from support import random_accelerator, random_design, random_graph

from fgnas.backends.pipeline import write_project
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.memories import ring_edges
from fgnas.hardware.pipeline.stages import first_layer, phase_graph

STAGE_OF = {
    "linear_sparse": "linear", "linear_dense": "linear", "store": "store", "score": "score",
    "row_maximum": "row maximum", "aggregate": "aggregate", "aggregate_gat": "aggregate", "activate": "activate",
    "head_mean": "head mean", "write_logits": "write",
}  # fmt: skip
"""The stage of each C++ function; other functions have none."""
PHASE_OF_LAYER = {"linear": 0, "store": 0, "score": 0}
"""The phase of a stage of layer l is l plus this; 1 for others, which read what the phase before stored."""
ROW_WORDS = {
    "store": lambda writer, reader: reader.h_words,
    "score": lambda writer, reader: writer.out_tiles,
    "aggregate": lambda writer, reader: writer.head_groups,
    "activate": lambda writer, reader: writer.aggr_tiles,
    "linear": lambda writer, reader: writer.act_tiles,
    "head mean": lambda writer, reader: writer.aggr_tiles,
    "write": lambda writer, reader: writer.logit_beats,
}
"""Words of a row in the stream of a buffer, by the stage that reads it."""


@dataclass(frozen=True)
class Process:
    """A call: its place, the function, its layer if it has one, and the streams that it takes, each with its depth."""

    place: int
    function: str
    layer: int | None
    streams: tuple[tuple[str, int], ...]

    @property
    def stage(self) -> str | None:
        """The stage that the function is; None for one outside of the model."""
        return STAGE_OF.get(self.function)

    @property
    def phase(self) -> int:
        """The phase of a stage."""
        return self.layer + PHASE_OF_LAYER.get(self.stage, 1)


class Region:
    """The region of all phases, with the functions that own a memory in their places."""

    def __init__(self, sources: dict[str, str]) -> None:
        self.functions = cpp.functions(sources["processes.h"]) | cpp.functions(sources["fgnas_top.cpp"])
        self.constants = cpp.constants(sources["parameters.h"])
        self.processes: list[Process] = []
        self.enter("run_phases", {})

    def enter(self, name: str, streams: dict[str, tuple[str, int]]) -> None:
        """Add the processes of a function; `streams` are the name and depth of each stream that it takes."""
        function = self.functions[name]
        depths = {p.options["variable"]: p.options["depth"] for p in function.pragmas if p.name == "STREAM"}
        inside = streams | {name: (name, self._number(depths[name])) for name in function.streams}
        for call in function.calls:
            if call.name in self.functions:
                names = self.functions[call.name].arguments
                outer = zip(names, call.arguments, strict=True)
                self.enter(call.name, {inner: inside[given] for inner, given in outer if given in inside})
                continue
            layers = [int(one.removeprefix("Layer")) for one in call.parameters if re.fullmatch(r"Layer\d+", one)]
            taken = tuple(inside[one] for one in call.arguments if one in inside)
            self.processes.append(Process(len(self.processes), call.name, layers[0] if layers else None, taken))

    def _number(self, depth: str) -> int:
        return int(depth) if depth.isdigit() else self.constants[depth]


def stages_between(processes: list[Process]) -> Iterator[tuple[str, str, list[int]]]:
    """(writer, reader, depths) of each path from one stage to the next; depths of 2 only join."""
    users: dict[str, list[Process]] = {}
    graph = nx.MultiDiGraph()
    for process in processes:
        graph.add_node(process.place)
        for name, depth in process.streams:
            users.setdefault(name, []).append(process)
            if len(users[name]) == 2:
                graph.add_edge(users[name][0].place, process.place, depth=depth)
    assert {name: len(found) for name, found in users.items()} == dict.fromkeys(users, 2), "one writer, one reader"
    for writer in (process.place for process in processes if process.stage):
        seen: dict[int, list[int]] = {}
        paths = [(reader, [depth]) for _, reader, depth in graph.out_edges(writer, data="depth")]
        while paths:
            place, depths = paths.pop()
            if processes[place].stage:
                seen.setdefault(place, []).extend(depths)
            else:
                paths += [(reader, [*depths, depth]) for _, reader, depth in graph.out_edges(place, data="depth")]
        for reader, depths in seen.items():
            yield processes[writer], processes[reader], sorted(depth for depth in depths if depth != 2)


def check_regions(sources: dict[str, str], accelerator: Accelerator) -> None:
    """Raise AssertionError where the regions are not those of the stage graphs."""
    sources = cpp.expanded(sources)
    layers = [layer.geometry for layer in accelerator.layers]
    processes = Region(sources).processes
    stages = [process for process in processes if process.stage]
    paths = list(stages_between(processes))
    assert all(writer.phase == reader.phase for writer, reader, _ in paths), "a stream from one phase to another"
    assert {process.phase for process in stages} == set(range(len(layers) + 1))
    for phase in range(len(layers) + 1):
        first, second = first_layer(phase), min(phase, len(layers) - 1)
        graph = phase_graph(phase, len(layers), layers[first].gat, layers[second].gat)
        called = sorted(process.stage for process in stages if process.phase == phase)
        assert called == sorted(graph.order), f"phase {phase}"
        here = layers[first : second + 1]
        services, expected = graph.services(here), {}
        for place, (reader, feeder, buffer) in enumerate(zip(graph.stages, graph.feeders, graph.buffers, strict=True)):
            if buffer is None:
                continue
            writer = graph.stages[feeder]
            words = ROW_WORDS[reader.name](here[writer.layer], here[reader.layer])
            depths = [int(services.rows[place, 0]) * words]
            if buffer.holds_items:
                depths.append(ring_edges(accelerator.shape) * here[writer.layer].head_groups)
            expected[writer.name, reader.name] = sorted(depth for depth in depths if depth != 2)
        found = {(p.stage, q.stage): depths for p, q, depths in paths if p.phase == phase}
        assert found == expected, f"phase {phase}"


def project(folder: Path, seed: int, attention: tuple[str, ...]) -> tuple[dict[str, str], Accelerator]:
    """The C++ of a random design with these attentions, and its lowered accelerator."""
    rng = np.random.default_rng(seed)
    data = random_graph(rng, 9, 8, int(rng.integers(2, 30)), 12)
    choices = tuple({"attention": name, "t_attn": 2 if name == "gat" else None} for name in attention)
    accelerator = random_accelerator(rng, random_design(rng, len(attention), choices), data)
    write_project(accelerator, data, folder)
    names = ("processes.h", "parameters.h", "fgnas_top.cpp", cpp.PRAGMAS)
    return {name: (folder / "src" / name).read_text(encoding="utf-8") for name in names}, accelerator


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("attention", [("gat", "gcn", "gat"), ("constant", "gat"), ("gat",), ("gcn", "constant")])
def test_regions_are_the_stage_graphs(seed: int, attention: tuple[str, ...], tmp_path: Path) -> None:
    check_regions(*project(tmp_path / "p", seed, attention))


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("fgnas_top.cpp", "z_0, Layer0::ACT_FIFO", "z_0, 3"),
        ("fgnas_top.cpp", "tiles_to_score_0, Layer0::SCORE_FIFO", "tiles_to_score_0, 2"),
        ("fgnas_top.cpp", "ring_2, Layer2::RING_FIFO", "ring_2, Layer2::MAXIMUM_FIFO"),
        ("fgnas_top.cpp", "logit_beats, Layer2::OUTPUT_FIFO", "logit_beats, 480"),
        ("fgnas_top.cpp", "nodes, tiles_to_score_0, heads_0", "nodes, tiles_to_store_0, heads_0"),
        ("fgnas_top.cpp", "    linear_1(nodes, weights_1, groups_1, tiles_1);\n", ""),
        ("fgnas_top.cpp", "aggregate_1(nodes, words_1,", "aggregate_1(nodes, words_0,"),
        ("processes.h", "linear_sparse<Layer0>", "linear<Layer0>"),
        ("processes.h", "store<Layer1>(nodes, words, h);\n", "\n"),
        ("processes.h", "row_maximum<Layer0>", "row_maximum<Layer1>"),
        ("parameters.h", "STORE_FIFO = ", "STORE_FIFO = 2 * "),
        ("fgnas_top.cpp", "write_logits<Layer2>", "write_logits<Layer1>"),
    ],
)
def test_other_regions_are_not(file: str, old: str, new: str, tmp_path: Path) -> None:
    """Faults: another stream depth, a moved or missing stage, a phase of another layer."""
    sources, accelerator = project(tmp_path / "p", 1, ("gat", "gcn", "gat"))
    check_regions(sources, accelerator)
    assert old in sources[file]
    with pytest.raises((AssertionError, KeyError, ValueError)):
        check_regions(sources | {file: sources[file].replace(old, new)}, accelerator)
