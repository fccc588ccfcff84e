"""Node sampling: layers that keep a part of the edges, the same part on every machine.

The edge from j to i is kept in layer l where a hash of (seed, l, i, j) is below the layer's rate; repetitions of an
edge share its fate, and every node keeps itself. A layer sees the graph that is left and no other: its degrees, its
coefficients of gcn and its means are those of the sampled neighbours, as with GraphSAGE's samplers.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fgnas.tasks.nodes import GraphData

SEED = 0
EVERY = 1.0
"""The rate of a layer that keeps every edge."""


def layer_graphs(data: GraphData, rates: Sequence[float], seed: int = SEED) -> tuple[GraphData, ...]:
    """The graph of every layer; the data itself where its rate is 1."""
    return tuple(data if rate == EVERY else sampled(data, layer, rate, seed) for layer, rate in enumerate(rates))


@functools.lru_cache(maxsize=32)
def sampled(data: GraphData, layer: int, rate: float, seed: int) -> GraphData:
    """The data with the edges that a layer keeps at a rate from 0 to 1."""
    kept = (data.sources == data.targets) | (shares(seed, layer, data.targets, data.sources) < rate)
    degrees = np.bincount(data.targets[kept], minlength=data.nodes)
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    return replace(data, indptr=indptr, sources=data.sources[kept])


def shares(seed: int, layer: int, targets: NDArray[np.int64], sources: NDArray[np.int64]) -> NDArray[np.float64]:
    """[edges] numbers from 0 to 1, uniform over edges: a SHA-256 of seed and layer keys a hash of the two nodes."""
    digest = hashlib.sha256(f"{seed}/{layer}".encode()).digest()
    first, second = (np.uint64(int.from_bytes(digest[at : at + 8], "little")) for at in (0, 8))
    pair = (targets.astype(np.uint64) << np.uint64(32)) | sources.astype(np.uint64)
    with np.errstate(over="ignore"):
        mixed = _mixed(_mixed(pair ^ first) + second)
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The mixing of SplitMix64 (Steele, Lea and Flood, 2014), modulo 2**64."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
