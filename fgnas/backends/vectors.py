"""Golden vectors: the host's input for a graph, and the logits of the integer reference."""

from __future__ import annotations

import json
from pathlib import Path

from fgnas.hardware.pipeline import reference
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.encoding import (
    check_capacity,
    edge_beats,
    encode,
    feature_beats,
    logit_rows,
    parameter_region,
)
from fgnas.tasks.nodes import GraphData


def write_vectors(accelerator: Accelerator, data: GraphData, folder: Path) -> dict[str, int]:
    """Write the four regions and vectors.json into `folder`; returns the sizes that vectors.json holds."""
    check_capacity(accelerator, data)
    graph = encode(accelerator, data)
    regions = {
        "parameters": parameter_region(accelerator),
        "features": feature_beats(accelerator, graph),
        "edges": edge_beats(graph),
        "logits": logit_rows(accelerator, reference.run(accelerator, graph)),
    }
    sizes = {
        "nodes": graph.nodes,
        "edges": len(graph.sources),
        "classes": accelerator.shape.classes,
        "logit_beats": accelerator.logit_beats,
        "parameter_beats": len(regions["parameters"]),
        "feature_beats": len(regions["features"]),
        "edge_beats": len(regions["edges"]),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, region in regions.items():
        (folder / f"{name}.bin").write_bytes(region.tobytes())
    (folder / "vectors.json").write_text(json.dumps(sizes, indent=2) + "\n", encoding="utf-8")
    return sizes
