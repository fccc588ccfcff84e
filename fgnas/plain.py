"""Networks that a name and their widths describe, as designs: the same lanes and formats in every layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fgnas.activations import NAMES
from fgnas.design import PIPELINE_BITS, VECTORS, Design
from fgnas.errors import UserError

NETWORKS = {
    "gcn": ("gcn", "add"), "sage": ("constant", "mean"), "gin": ("constant", "mlp"),
    **{name: (name, "add") for name in VECTORS},
}  # fmt: skip
"""Attention and aggregation of every layer, by the name of a network; sage has no root weight, gin an ε of 0."""
PARALLELISM = {"t_in": 5, "t_out": 4, "t_aggr": 8}
"""Lanes of every layer; `t_attn` and `t_act` are 4 where they exist."""
BITS = range(2, PIPELINE_BITS + 1)
"""Widths of every number."""
IMPORTED_BITS = range(4, PIPELINE_BITS + 1)
"""Widths of the numbers of an imported model, which may become a design or a network of operations."""

LARGEST = "largest"
"""The graph with most nodes, of those that an imported model may hold."""


def check_bits(bits: int, allowed: range = BITS) -> None:
    """Raise UserError where numbers cannot be as wide."""
    if bits not in allowed:
        raise UserError(f"--bits is {bits}: give {allowed.start} to {allowed.stop - 1}")


def design_of(architecture: Sequence[dict[str, Any]], widths: Sequence[int], dsp: int, source: str) -> Design:
    """The design of layers without lanes and formats; every number of a layer has its width of bits, of which six are
    behind the point where there are as many. Raises UserError, which names the source, with all that is wrong."""
    layers = []
    for layer, bits in zip(architecture, widths, strict=True):
        check_bits(bits)
        fraction = min(6, bits - 2)
        formats = {"ai": bits - 1 - fraction, "af": fraction, "wi": bits - 1 - fraction, "wf": fraction}
        t_attn, t_act = 4 if layer["attention"] == "gat" else None, 4 if layer["activation"] else None
        layers.append({**layer, **PARALLELISM, **formats, "t_attn": t_attn, "t_act": t_act})
    return Design.from_dict({"schema": 1, "layers": layers, "dsp": dsp}, source)


def plain_design(
    name: str, hidden: Sequence[int], heads: int = 1, activation: str = "relu", bits: int = 8, dsp: int = 100
) -> Design:  # fmt: skip
    """A network by its name and the features of each head of its hidden layers; the last layer gives the classes.

    Raises UserError for unknown names, and for heads without attention scores.
    """
    if name not in NETWORKS:
        raise UserError(f"unknown network {name!r}; known: {', '.join(NETWORKS)}")
    if activation not in NAMES:
        raise UserError(f"unknown activation {activation!r}; known: {', '.join(NAMES)}")
    if heads > 1 and name not in VECTORS:
        raise UserError(f"--heads is for networks whose messages have scores ({', '.join(VECTORS)}), not for {name}")
    attention, aggregation = NETWORKS[name]
    layer = {"attention": attention, "aggregation": aggregation, "k": heads}
    inner = [{**layer, "d": width, "activation": activation} for width in hidden]
    return design_of([*inner, {**layer, "d": None, "activation": None}], [bits] * (1 + len(inner)), dsp, name)
