"""The interpreter: an integer network on its graphs. Its numbers are the definition of right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fgnas.fixedpoint import Codes
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.network import FEATURES, IntegerNetwork
from fgnas.hardware.integer.operation import Given


def run(network: IntegerNetwork, graphs: Sequence[IntegerGraph]) -> Codes:
    """[rows, classes] logits as codes of the output's format.

    `graphs`: those that the steps name by their place; a single one serves all. The first has the features.
    """
    return values(network, graphs)[network.steps[-1].name]


def values(network: IntegerNetwork, graphs: Sequence[IntegerGraph]) -> dict[str, Codes]:
    """[rows, columns] every value but the features, by name, in the order of the steps."""
    found: dict[str, Given] = {FEATURES: graphs[0].features}
    for step in network.steps:
        graph = graphs[step.graph if len(graphs) > 1 else 0]
        found[step.name] = step.operation.run([found[name] for name in step.inputs], graph)
    del found[FEATURES]
    return {name: codes for name, codes in found.items() if isinstance(codes, np.ndarray)}


def predict(logits: Codes) -> Codes:
    """[rows] classes: the lowest index among equal logits."""
    return np.argmax(logits, axis=1)
