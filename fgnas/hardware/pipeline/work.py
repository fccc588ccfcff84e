"""The multiplications that a network needs on a graph: the same count for every target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fgnas.hardware.pipeline.geometry import ManyDesigns, OneDesign


def multiplications(layers: Sequence[ManyDesigns | OneDesign], non_zeros: int, nodes: int, edges: int) -> Any:
    """Multiplications of X W, Z W and A H, without padding: [n] for arrays, an integer for one design.

    Messages with the coefficient 1 need none. gat multiplies for its scores, too.
    """
    total: Any = 0
    width: Any = 0
    for layer in layers:
        features = layer.k * layer.d
        combined = non_zeros if layer.first else nodes * width
        weighted = (layer.gcn | layer.gat) * edges
        total = total + (combined + weighted + 2 * nodes * layer.gat) * features
        width = features
    return total
