"""The multiplications that a network needs on a graph: the same count for every target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fgnas.hardware.pipeline.geometry import ManyDesigns, OneDesign


def multiplications(layers: Sequence[ManyDesigns | OneDesign], non_zeros: int, nodes: int, edges: int) -> Any:
    """Multiplications of X W, Z W and A H, without padding: [n] for arrays, an integer for one design.

    Messages with the coefficient 1 need none. gat multiplies for its scores, too.
    """
    return sum(map(sum, by_phase(layers, non_zeros, nodes, edges)))


def by_phase(
    layers: Sequence[ManyDesigns | OneDesign], non_zeros: int, nodes: int, edges: int
) -> list[tuple[Any, Any]]:
    """For each layer the multiplications of X W or Z W, with gat's scores, and of A H."""
    found: list[tuple[Any, Any]] = []
    width: Any = 0
    for layer in layers:
        features = layer.k * layer.d
        combined = (non_zeros if layer.first else nodes * width) + 2 * nodes * layer.gat
        found.append((combined * features, (layer.gcn | layer.gat) * edges * features))
        width = features
    return found
