"""The integer network's values by the names of the pipeline's stages: what every level of the hardware must give."""

from __future__ import annotations

from collections.abc import Sequence

from fgnas.fixedpoint import Codes
from fgnas.hardware.integer import interpreter
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.scores.nodes import NodeScores
from fgnas.hardware.pipeline.accelerator import Accelerator

STAGES = {"linear": "linear", "aggregate": "aggregate", "activate": "activate", "logits": "head_mean"}
"""The stage whose rows are a value of a layer, by the value's name in the integer network."""


def run(accelerator: Accelerator, graph: IntegerGraph, further: Sequence[IntegerGraph] = ()) -> Codes:
    """[N, classes] logits as integers; `further` are the graphs of the design's layers behind the first, where they
    have their own."""
    return interpreter.run(accelerator.integers, (graph, *further))


def stages(accelerator: Accelerator, graph: IntegerGraph) -> dict[str, Codes]:
    """[N, columns] the rows of every stage, to name the first mismatch between two levels: heads side by side, without
    the padding of lanes.

    "0.linear", "0.aggregate", "0.activate", "1.linear", …; the last is "head_mean". Between "linear" and "aggregate"
    gat has "target_scores", "source_scores" and "row_maximum", [N, k].
    """
    values = interpreter.values(accelerator.integers, (graph,))
    found: dict[str, Codes] = {}
    for step in accelerator.integers.steps:
        layer, _, name = step.name.partition(".")
        if isinstance(step.operation, NodeScores):
            target, source = step.operation.of_nodes(values[step.inputs[0]])
            found |= {f"{layer}.target_scores": target, f"{layer}.source_scores": source,
                      f"{layer}.row_maximum": graph.maxima(values[step.name])}  # fmt: skip
        elif name in STAGES:
            found[f"{layer}.{STAGES[name]}"] = values[step.name]
    return found
