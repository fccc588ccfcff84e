"""A multiplier array on the bus of sim/protocol.py, for tests of a bus and of a host that misbehave."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from bus import BusRun, placed, run_all
from support import plain_layer, random_graph, random_network

from fgnas.backends.array import write_rtl
from fgnas.design import Design
from fgnas.hardware.array import reference
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.encoded import EncodedArray
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.engine import table_banks
from fgnas.hardware.array.layers import array_network
from fgnas.hardware.array.lowering import lower
from fgnas.hardware.array.placing import fit
from fgnas.hardware.array.programme import (
    ARGUMENT_REGISTERS,
    Descriptor,
    check_of,
    descriptor_beats,
    programme_beats,
)
from fgnas.hardware.shape import GraphShape
from fgnas.network import Network
from fgnas.tasks.nodes import GraphData
from fgnas.tools.verilator import QUICK, build, read_sources


@dataclass(frozen=True, kw_only=True)
class Run(BusRun):
    """One start of the kernel.

    Attributes:
        descriptors: value of the register.
        engine: digest of the kernel's.
        beat_bytes: of the memory port.
        check: value of the register; None for the one that belongs to the programme.
    """

    REGISTERS = ARGUMENT_REGISTERS

    descriptors: int
    engine: int
    beat_bytes: int
    check: int | None = None

    def values(self) -> dict[str, int]:
        """Values of the registers, by name."""
        programme = np.frombuffer(self.regions["programme"], np.uint8).reshape(-1, self.beat_bytes)
        beats = self.descriptors * descriptor_beats(8 * self.beat_bytes)
        right = check_of(programme[:beats], self.engine)
        return super().values() | {"check": right if self.check is None else self.check}


def run_of(encoded: EncodedArray) -> Run:
    """The plain run of a graph."""
    regions = {name: beats.tobytes() for name, beats in encoded.regions.items()}
    expected = reference.run_region(encoded).tobytes()
    engine = encoded.engine
    return Run(
        regions=regions, expected=expected, places=placed(regions), descriptors=len(encoded.programme),
        engine=engine.digest, beat_bytes=engine.beat_bits // 8,
    )  # fmt: skip


def gcn_design() -> Design:
    formats = {"attention": "gcn", "aggregation": "add", "ai": 3, "af": 4, "wi": 1, "wf": 4}
    last = plain_layer(d=None, activation=None, t_act=None, **formats)
    return Design(schema=1, layers=(plain_layer(d=16, activation="tanh", **formats), last), dsp=0)


def scored_design(attention: str) -> Design:
    """Two heads of two words, and messages of which one layer takes the largest."""
    lanes = 1 if attention == "gat" else None
    formats = {"attention": attention, "t_attn": lanes, "ai": 3, "af": 4, "wi": 1, "wf": 4}
    hidden = plain_layer(d=16, k=2, activation="tanh", aggregation="max", **formats)
    last = plain_layer(d=None, activation=None, t_act=None, aggregation="add", **formats)
    return Design(schema=1, layers=(hidden, last), dsp=0)


class Bench:
    """A kernel that is built once, and its runs. With attention (`scored`) a layer has two phases more, or, where
    edges have scores of their own, three."""

    def __init__(self, folder: Path, beat_bits: int, scored: bool = False, attention: str = "gat") -> None:
        self.beat_bits, self.beat_bytes = beat_bits, beat_bits // 8
        rng = np.random.default_rng(7)
        self.scored = scored
        self.folder, self.design = folder, scored_design(attention) if scored else gcn_design()
        self.data = random_graph(rng, 90, 9, 11, 150)
        self.network = random_network(rng, self.design, self.data)
        self.shape = GraphShape.of(self.data)
        source = array_network(self.design, self.network, self.shape)
        self.array = fit(source, self.data, Arrangement(4, beat_bits=beat_bits, results=min(2, table_banks(beat_bits))))
        self.encoded = encode_array(self.array, self.data)
        self.plain = run_of(self.encoded)
        write_rtl(self.array, folder)
        parameters = {"BeatBytes": self.beat_bytes}
        build(read_sources(folder / "rtl" / "files.f"), folder / "build", parameters, "face", QUICK)

    def other(self, network: Network, data: GraphData) -> Run:
        """Other weights and another graph on the same engine."""
        source = array_network(self.design, network, self.shape)
        return run_of(encode_array(lower(source, self.array.engine), data))

    def changed(self, place: int, change: Callable[[Descriptor], Descriptor], run: Run | None = None) -> Run:
        """The run with a descriptor changed."""
        programme = list(self.encoded.programme)
        programme[place] = change(programme[place])
        run = run or self.plain
        return replace(run, regions=run.regions | {"programme": programme_beats(programme, self.beat_bits).tobytes()})

    def run(self, *runs: Run) -> list[dict[str, Any]]:
        """Run one after the other in one simulation; one result each."""
        return run_all(self.folder, runs)
