"""Input of a kernel for one step: parameters and a graph, as integers of the formats that it was built with.

Every step of a kernel shares its hardware, so the shifts between its formats are fixed. A step may still scale its
features by 2**s and its weights by 2**w, if the results of a layer are scaled by both, 2**(s + w): every code then
represents another number, and the hardware is the same.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware import wire
from fgnas.hardware.integer.network import IntegerNetwork
from fgnas.network import LayerParameters, Network
from fgnas.systems.magnas.build import Index, Loaded, Reals, graph_of
from fgnas.systems.magnas.calls import Call
from fgnas.systems.magnas.integers import codes_of, integer_bits, network_of
from fgnas.systems.magnas.kernels import Kernel
from fgnas.systems.magnas.parts import Map
from fgnas.tasks.nodes import GraphData

AROUND = (0, 1)
"""Scales that are tried: the largest with which nothing is clipped, and twice that; of equally good ones the first."""

@dataclass(frozen=True, eq=False)
class Programme:
    """A call on a kernel.

    Attributes:
        network: float parameters, and their scales.
        integers: the call's network in the kernel's formats, which defines its outputs.
    """

    kernel: Kernel
    call: Call
    network: Network
    integers: IntegerNetwork

    @functools.cached_property
    def loaded(self) -> Loaded:
        """The kernel's own hardware with the call's parameters."""
        return self.kernel.build.load(self.call, self.network, self.kernel.name)

    def graph(self, rows: Reals, index: Index | None, name: str = "") -> GraphData:
        """The call's input: rows [n, inputs], all of them sent, and the neighbours [n, K] of each, or None."""
        return graph_of(rows, index, self.kernel.build.shape(self.call), name)

    def outputs(self, rows: Reals, index: Index | None) -> Reals:
        """[n, outputs] the kernel's results for rows [n, inputs], by the interpreter of its integers."""
        return self.values(codes_of(self.integers, self.graph(rows, index)))

    def values(self, codes: Codes) -> Reals:
        """[n, outputs] the numbers that the kernel's codes [n, classes] represent."""
        used = codes[:, : self.call.widths[-1]]
        return self.integers.output.number.value(used).astype(np.float32)


def calibrated(kernel: Kernel, call: Call, maps: Sequence[Map], rows: Reals, index: Index | None) -> Programme:
    """The programme whose outputs for these rows [n, inputs] are nearest to those of the maps, in the mean square."""
    wanted = floats(call, maps, rows, index)[-1][1]
    best: tuple[float, Programme] | None = None
    for scales in _scales(kernel, call, maps, rows, index):
        one = programme(kernel, call, maps, scales)
        error = float(np.square(one.outputs(rows, index) - wanted).mean())
        if best is None or error < best[0]:
            best = error, one
    assert best is not None
    return best[1]


def programme(kernel: Kernel, call: Call, maps: Sequence[Map], scales: Sequence[int]) -> Programme:
    """A step with given scales: that of its features, and of each layer's weights."""
    features, *weights = scales
    totals = list(itertools.accumulate(weights, initial=features))[1:]
    products, inputs = kernel.build.products(call), kernel.build.shape(call).width_in
    widths = [inputs, *(one.outputs for one in products)]
    layers = [
        LayerParameters(
            weight=_padded(weight, widths[place], widths[place + 1])[:, None], bias=_padded(bias, widths[place + 1]),
            weight_scale=weights[place], value_scale=totals[place], output_scale=totals[place],
        )
        for place, (weight, bias) in enumerate(maps)
    ]  # fmt: skip
    network = Network(tuple(layers), features)
    return Programme(kernel, call, network, network_of(products, inputs, network))


def _padded(values: Reals, *shape: int) -> Reals:
    return np.pad(values, [(0, size - held) for size, held in zip(shape, values.shape, strict=True)])


def floats(call: Call, maps: Sequence[Map], rows: Reals, index: Index | None) -> list[tuple[Reals, Reals]]:
    """The product of each layer, [n, width], and the layer's result: combined, with bias and, but for the last, a ReLU.

    The first layer aggregates over the neighbours; further layers read only the row itself.
    """
    found: list[tuple[Reals, Reals]] = []
    for place, (weight, bias) in enumerate(maps):
        mapped = rows @ weight
        combined = mapped
        if index is not None and not found:
            gathered = mapped[index]
            combined = gathered.max(axis=1) if call.aggregation == "max" else gathered.sum(axis=1)
        rows = combined + bias
        rows = rows if place == len(maps) - 1 else np.maximum(rows, 0)
        found.append((mapped, rows))
    return found


def _logit_integers(value: FixedPoint) -> int:
    """Integer bits of logits, without the sign."""
    return wire.LOGIT_BITS - 1 - wire.logit_extra_bits(value.width) - value.fraction_bits


def _scales(
    kernel: Kernel, call: Call, maps: Sequence[Map], rows: Reals, index: Index | None
) -> Iterator[tuple[int, ...]]:
    """Scales of the features and of each layer's weights, around the largest without clipping."""
    products = kernel.build.products(call)
    results = floats(call, maps, rows, index)
    own = _largest_scale(rows, integer_bits(products[0].value))
    totals: list[int] = []
    for one, (mapped, result), (_, bias) in zip(products, results, maps, strict=True):
        held = integer_bits(one.value)
        # The last layer's result has bits of its own.
        bits = _logit_integers(one.value) if len(totals) == len(maps) - 1 else held
        totals.append(min(_largest_scale(mapped, held), _largest_scale(bias, held), _largest_scale(result, bits)))
    for steps in itertools.product(AROUND, repeat=1 + len(products)):
        features, *wanted = (base + step for base, step in zip((own, *totals), steps, strict=True))
        scales, total = [features], features
        for one, (weight, _), aim in zip(products, maps, wanted, strict=True):
            # Weights that do not fit would be clipped, so the layer's results are scaled less instead.
            scales.append(min(aim - total, _largest_scale(weight, integer_bits(one.weight))))
            total += scales[-1]
        yield tuple(scales)


def _largest_scale(values: Reals, integer_bits: int) -> int:
    """The largest s with which |values| * 2**s stay below 2**integer_bits."""
    largest = float(np.abs(values).max(initial=0.0))
    return integer_bits - math.ceil(math.log2(largest)) if largest > 0 else integer_bits
