"""Files of kernels and platforms for tests: pipelines of a sum, a maximum and two layers, and a multiplier array."""

import json
from pathlib import Path
from typing import Any

LAYER: dict[str, Any] = {
    "d": None, "attention": "constant", "aggregation": "add", "k": 1, "activation": None, "t_in": 5, "t_out": 6,
    "t_attn": None, "t_aggr": 8, "t_act": None, "ai": 3, "af": 6, "wi": 1, "wf": 8,
}  # fmt: skip
HIDDEN = {**LAYER, "d": 64, "activation": "relu", "t_act": 8}
LAYERS = {"dense": [LAYER], "graph": [{**LAYER, "aggregation": "max"}], "ffn": [HIDDEN, LAYER]}

PLATFORM_HEAD = """
about = "a processor and a kernel, with invented costs"
units = ["cpu", "kernel"]
[time]
unit = "us"
times = "1000"
[energy]
unit = "uJ"
times = "1000000"
[sources.invented]
kind = "assumed"
about = "invented"
[transition]
send = {source = "invented", cost = [3, 2]}
receive = {source = "invented", cost = [1, 1]}
"""
"""Head of a platform's file, before its steps: a processor and a kernel, with invented costs."""
ARRAY = {"units": 8, "beat_bits": 256, "ai": 3, "af": 6, "wi": 1, "wf": 8}


def kernel_file(folder: Path, name: str, layers: list[dict[str, Any]] | None = None, **facts: Any) -> Path:
    """Write folder/name.json: the array of that name, or else a pipeline."""
    path = folder / f"{name}.json"
    design = {"schema": 1, "layers": LAYERS.get(name) if layers is None else layers, "dsp": 40}
    build = {"array": ARRAY} if name == "array" else {"design": design}
    path.write_text(json.dumps({**build, **facts}), encoding="utf-8")
    return path
