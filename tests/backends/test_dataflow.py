"""The DATAFLOW regions of the C++ against the stage graphs: the same stages, in the same order, with the same buffers.

The regions also hold processes outside the model: they read, check, repack, copy and normalise as fast as
their neighbours. Contracting them must leave the phase's graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cpp
import networkx as nx
import numpy as np
import pytest
from support import random_accelerator, random_design, random_graph

from fgnas.backends.project import write_project
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.geometry import OneDesign
from fgnas.hardware.pipeline.memories import ring_edges
from fgnas.hardware.pipeline.stages import first_layer, phase_graph

STAGE_OF = {
    "linear_sparse": "linear", "linear_dense": "linear", "store": "store", "score": "score",
    "row_maximum": "row maximum", "aggregate": "aggregate", "aggregate_gat": "aggregate", "activate": "activate",
    "head_mean": "head mean", "write_logits": "write",
}  # fmt: skip
"""The stage of each C++ function; other functions have none."""
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
    """A call in a region: its position, the function, and its stream arguments with their depths."""

    place: int
    function: str
    streams: tuple[tuple[str, int], ...]


class Region:
    """A phase's region, with nested regions expanded in place."""

    def __init__(self, sources: dict[str, str], layers: list[OneDesign]) -> None:
        self.functions = cpp.functions(sources["phases.h"])
        self.constants = cpp.constants(sources["parameters.h"])
        self.layers = layers
        self.processes: list[Process] = []

    def enter(self, call: cpp.Call, prefix: str, streams: dict[str, tuple[str, int]], names: dict[str, str]) -> None:
        """Add the processes of a function; `streams` and `names` are the caller's streams and template arguments."""
        given = [names.get(one, one) for one in call.parameters]
        taken = tuple(streams[one] for one in call.arguments if one in streams)
        function = self._function(call.name, given)
        if function is None:
            self.processes.append(Process(len(self.processes), call.name, taken))
            return
        names = dict(zip(function.parameters, given, strict=False))
        inside = {
            inner: streams[outer]
            for inner, outer in zip(function.arguments, call.arguments, strict=True) if outer in streams
        }  # fmt: skip
        depths = {p.options["variable"]: p.options["depth"] for p in function.pragmas if p.name == "STREAM"}
        for name in function.streams:
            inside[name] = (f"{prefix}{name}", self._number(depths[name], names))
        for inner_call in function.calls:
            self.enter(inner_call, f"{prefix}{function.name}/", inside, names)

    def _function(self, name: str, given: list[str]) -> cpp.Function | None:
        """The function of phases.h; for a class, its gat specialisation where the layer has attention."""
        if "::" not in name:
            return self.functions.get(name)
        owner, method = name.split("::")
        gat = self.layers[int(given[0].removeprefix("Layer"))].gat
        special = [one for one in self.functions if one.startswith(f"{owner}<") and one.endswith(f"true>::{method}")]
        return self.functions[special[0] if gat else name]

    def _number(self, depth: str, names: dict[str, str]) -> int:
        scope, _, constant = depth.rpartition("::")
        return int(depth) if depth.isdigit() else self.constants[f"{names[scope]}::{constant}"]


def phases_of(sources: dict[str, str], layers: list[OneDesign]) -> list[list[Process]]:
    """The processes of each phase that the top calls, from phase 0 on, in the order of the calls."""
    found = []
    body = cpp.functions(sources["fgnas_top.cpp"])["fgnas_top"].body
    for node in cpp.walk(body):
        call = cpp.call_of(node) if node.type == "call_expression" else None
        if call and call.name in ("first_phase", "hidden_phase", "output_phase"):
            region = Region(sources, layers)
            region.enter(call, "", {}, {})
            found.append(region.processes)
    return found


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
    stage = {process.place: STAGE_OF.get(process.function) for process in processes}
    for writer in (place for place, name in stage.items() if name):
        seen: dict[int, list[int]] = {}
        paths = [(reader, [depth]) for _, reader, depth in graph.out_edges(writer, data="depth")]
        while paths:
            place, depths = paths.pop()
            if stage[place]:
                seen.setdefault(place, []).extend(depths)
            else:
                paths += [(reader, [*depths, depth]) for _, reader, depth in graph.out_edges(place, data="depth")]
        for reader, depths in seen.items():
            yield stage[writer], stage[reader], sorted(depth for depth in depths if depth != 2)


def check_regions(sources: dict[str, str], accelerator: Accelerator) -> None:
    """Raise AssertionError where the regions are not those of the stage graphs."""
    sources = cpp.expanded(sources)
    layers = [layer.geometry for layer in accelerator.layers]
    phases = phases_of(sources, layers)
    assert len(phases) == len(layers) + 1
    for phase, processes in enumerate(phases):
        first, second = first_layer(phase), min(phase, len(layers) - 1)
        graph = phase_graph(phase, len(layers), layers[first].gat, layers[second].gat)
        called = [STAGE_OF[process.function] for process in processes if process.function in STAGE_OF]
        assert called == list(graph.order), f"phase {phase}"
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
        assert {(p, q): depths for p, q, depths in stages_between(processes)} == expected, f"phase {phase}"


def project(folder: Path, seed: int, attention: tuple[str, ...]) -> tuple[dict[str, str], Accelerator]:
    """The C++ of a random design with these attentions, and its lowered accelerator."""
    rng = np.random.default_rng(seed)
    data = random_graph(rng, 9, 8, int(rng.integers(2, 30)), 12)
    choices = tuple({"attention": name, "t_attn": 2 if name == "gat" else None} for name in attention)
    accelerator = random_accelerator(rng, random_design(rng, len(attention), choices), data)
    write_project(accelerator, data, folder)
    names = ("phases.h", "parameters.h", "fgnas_top.cpp", cpp.PRAGMAS)
    return {name: (folder / "src" / name).read_text(encoding="utf-8") for name in names}, accelerator


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("attention", [("gat", "gcn", "gat"), ("constant", "gat"), ("gat",), ("gcn", "constant")])
def test_regions_are_the_stage_graphs(seed: int, attention: tuple[str, ...], tmp_path: Path) -> None:
    check_regions(*project(tmp_path / "p", seed, attention))


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("phases.h", "z, L::ACT_FIFO", "z, 3"),
        ("phases.h", "for_scores, L::SCORE_FIFO", "for_scores, 2"),
        ("phases.h", "ring, L::RING_FIFO", "ring, L::MAXIMUM_FIFO"),
        ("phases.h", "rows, L::OUTPUT_FIFO", "rows, 48"),
        ("phases.h", "(nodes, for_scores,", "(nodes, for_h,"),
        ("phases.h", "linear_dense<N>(nodes, weight, groups, tiles);", ""),
        ("phases.h", "linear_sparse<L>", "linear<L>"),
        ("phases.h", "store<L>(nodes, words, h);\n        split", "split"),
        ("phases.h", "Keep<N>::run", "Keep<L>::run"),
        ("parameters.h", "STORE_FIFO = ", "STORE_FIFO = 2 * "),
        ("fgnas_top.cpp", "output_phase<Layer2", "output_phase<Layer1"),
    ],
)
def test_other_regions_are_not(file: str, old: str, new: str, tmp_path: Path) -> None:
    """Faults: another stream depth, a moved or missing stage, a phase of another layer."""
    sources, accelerator = project(tmp_path / "p", 1, ("gat", "gcn", "gat"))
    check_regions(sources, accelerator)
    assert old in sources[file]
    with pytest.raises((AssertionError, KeyError, ValueError)):
        check_regions(sources | {file: sources[file].replace(old, new)}, accelerator)
