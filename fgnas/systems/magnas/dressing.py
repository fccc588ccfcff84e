"""A call dressed as a design, with lanes that no array has: what the array's lowering still takes.

This module goes, and nothing else changes, once the array's compiler takes an integer network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fgnas.design import Array, Design, Layer
from fgnas.hardware.array.engine import LANES, dsps_of
from fgnas.hardware.array.layers import ArrayNetwork, array_network
from fgnas.hardware.shape import GraphShape
from fgnas.network import Network
from fgnas.systems.magnas.integers import Product, integer_bits


def dressed(products: Sequence[Product], array: Array, network: Network, shape: GraphShape, name: str) -> ArrayNetwork:
    """The quantised network of a call for an array, as the array's lowering takes it."""
    *hidden, last = products
    layers = (*(_layer(one, last=False) for one in hidden), _layer(last, last=True))
    design = Design(layers=layers, dsp=dsps_of(LANES * array.units), array=array)
    return array_network(design, network, shape, name=name)


def _layer(one: Product, last: bool) -> Layer:
    lanes: dict[str, Any] = {"t_in": 1, "t_out": 1, "t_attn": None, "t_aggr": 1, "t_act": None if last else 1}
    return Layer(
        d=None if last else one.outputs, attention="constant", aggregation=one.reduce, k=1,
        activation=None if last else "relu", ai=integer_bits(one.value), af=one.value.fraction_bits,
        wi=integer_bits(one.weight), wf=one.weight.fraction_bits, **lanes,
    )  # fmt: skip
