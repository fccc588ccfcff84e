"""Bytes that an inference moves to and from main memory, and the memory bandwidth that it needs: mean and peak."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.hardware import wire
from fgnas.hardware.numbers import Ints, ceil_div
from fgnas.hardware.pipeline.geometry import LayerGeometry
from fgnas.hardware.pipeline.latency import Workload
from fgnas.hardware.pipeline.stages import first_layer, parameter_beats, phase_graph
from fgnas.hardware.stage import StageGraph

Reals = NDArray[np.float64]


def memory_bytes(layers: list[LayerGeometry], workload: Workload) -> Ints:
    """[n] bytes of n designs: parameters and features once, the edges once a layer, the logits written once.

    Rows of features share beats, see `fgnas.hardware.pipeline.packing`.
    """
    if workload.nodes == 0:
        return np.zeros_like(layers[0].k)
    first, last = layers[0], layers[-1]
    lanes, inverse = np.unique(first.t_in, return_inverse=True)
    beats = np.array([workload.row_beats(int(lane)).sum() for lane in lanes])
    edges = len(layers) * ceil_div(int(workload.degrees.sum()), wire.EDGES_PER_BEAT)
    logits = workload.nodes * last.logit_beats
    return wire.BEAT_BYTES * (parameter_beats(layers) + beats[inverse] + edges + logits)


def peak_beats(layers: list[LayerGeometry]) -> dict[str, Reals]:
    """[n] beats a cycle that each phase reads at most, and the beats of logits that the last one writes at most.

    Load reads a beat a cycle. A later phase reads as fast as its first stage works while no other stage is in its way.
    The logits leave as fast as the head mean completes their rows, a beat a cycle at most.
    """
    count, last = np.size(layers[0].k), len(layers)
    found = {"load": np.ones(count)}
    for phase in range(last + 1):
        layer = layers[first_layer(phase)]
        cycles = [_cycles_a_beat(phase_graph(phase, last, attends, False), layer) for attends in (False, True)]
        name = "output" if phase == last else f"phase {phase}"
        found[name] = 1 / np.broadcast_to(np.where(layer.gat, cycles[1], cycles[0]), count)
    graph = phase_graph(last, last, False, False)
    assert graph.sender is not None
    beats, row = (graph.stages[place].per_row(layers[-1]) for place in (graph.sender, graph.feeders[graph.sender]))
    found["logits"] = np.broadcast_to(beats / np.maximum(beats, row), count)
    return found


def _cycles_a_beat(graph: StageGraph, layer: LayerGeometry) -> Ints:
    """[n] cycles in which a phase's first stage takes the items of a beat."""
    return np.asarray(graph.stages[0].per_item(layer) * graph.items_per_beat)


def peak_rows(price: dict[str, Any], port_bits: int | None) -> list[tuple[str, float, float]]:
    """(label, beats a cycle, MB/s) of each rate in a design's price, and of the device's port where there is one."""
    labels = {"output": "output, edges read", "logits": "output, logits written"}
    found = [
        (labels.get(name, name), beats, price["peak_mb_s"][name]) for name, beats in price["peak_beats"].items()
    ]
    if port_bits is not None:
        # Load reads a beat a cycle: its bandwidth is that of a port without a device.
        rate = 1 / price["beat_cycles"]
        found.append((f"port of {port_bits} bits", round(rate, 4), round(rate * price["peak_mb_s"]["load"], 4)))
    return found


def clock_mhz_of(bandwidth: Reals) -> Reals:
    """The clock, in MHz, above which a memory of `bandwidth` MB/s slows the kernel: it reads up to a beat a cycle."""
    return bandwidth / wire.BEAT_BYTES


def mb_s_of(beats: Reals, clock_mhz: float) -> Reals:
    """MB/s of a rate in beats a cycle."""
    return beats * (wire.BEAT_BYTES * clock_mhz)
