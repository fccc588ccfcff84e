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
        combined = (non_zeros if layer.first else nodes * width) * features + of_scores(layer, nodes)
        found.append((combined, (layer.gcn | layer.gat) * edges * features))
        width = features
    return found


def of_scores(layer: ManyDesigns | OneDesign, nodes: int) -> Any:
    """Multiplications of a layer's scores: of every node as a source and as a target; 0 without gat."""
    return 2 * nodes * layer.gat * layer.k * layer.d
