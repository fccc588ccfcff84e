"""Bytes that an inference moves to and from main memory, and the memory bandwidth that it needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fgnas.hardware import wire
from fgnas.hardware.pipeline.geometry import Ints, LayerGeometry, ceil_div
from fgnas.hardware.pipeline.latency import Workload
from fgnas.hardware.pipeline.stages import parameter_beats

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


def clock_mhz_of(bandwidth: Reals) -> Reals:
    """The clock, in MHz, above which a memory of `bandwidth` MB/s slows the kernel: it reads up to a beat a cycle."""
    return bandwidth / wire.BEAT_BYTES
