"""Integer networks with their graphs in a file: names and numbers as JSON, arrays beside it, nothing that executes."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from fgnas.errors import UserError
from fgnas.files import replace_file
from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.integer.apply import Apply
from fgnas.hardware.integer.attend import Attend
from fgnas.hardware.integer.edges import EdgeProducts, Fivefold
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.merge import Merge
from fgnas.hardware.integer.network import IntegerNetwork, Step
from fgnas.hardware.integer.rules import Rules
from fgnas.hardware.integer.spread import Spread

KINDS = {kind.__name__: kind for kind in (Apply, Attend, EdgeProducts, Fivefold, Merge, Spread)}
"""The operations that files hold."""
CONTENT = "content"


def save(path: Path, network: IntegerNetwork, graphs: Sequence[IntegerGraph], rules: Rules | None = None) -> str:
    """Write a file; returns its SHA-256. `rules` are those of the graphs' matrices, where there are some."""
    arrays: list[np.ndarray[Any, Any]] = []
    content = {
        "width_in": network.width_in, "number": _plain(network.number, arrays),
        "steps": [
            {"name": step.name, "kind": type(step.operation).__name__, "inputs": step.inputs, "layer": step.layer,
             "graph": step.graph, "fields": {
                 name: _plain(getattr(step.operation, name), arrays) for name in _fields(step.operation)}}
            for step in network.steps
        ],
        "graphs": [_graph(graph, arrays) for graph in graphs],
        "rules": None if rules is None else [_plain(one, arrays) for one in rules],
    }  # fmt: skip
    buffer = io.BytesIO()
    text = np.frombuffer(json.dumps(content).encode(), np.uint8)
    named: dict[str, Any] = {CONTENT: text} | {f"a{place}": one for place, one in enumerate(arrays)}
    np.savez_compressed(buffer, **named)
    replace_file(path, buffer.getvalue())
    return hashlib.sha256(buffer.getvalue()).hexdigest()


def load(path: Path, sha256: str | None = None) -> tuple[IntegerNetwork, tuple[IntegerGraph, ...], Rules | None]:
    """The network, the graphs and the rules of a file. Raises UserError where it is damaged, or another one than
    `sha256` says."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    if sha256 is not None and hashlib.sha256(raw).hexdigest() != sha256:
        raise UserError(f"{path} is not the file that was written with the network (SHA-256 differs): import it again")
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as archive:
            arrays = [archive[f"a{place}"] for place in range(len(archive.files) - 1)]
            content = json.loads(archive[CONTENT].tobytes())
        steps = tuple(_step(one, arrays) for one in content["steps"])
        network = IntegerNetwork(content["width_in"], _made(content["number"], arrays), steps)
        stored = content.get("rules")
        rules = None if stored is None else Rules(*(arrays[one["array"]] for one in stored))
        return network, tuple(_graph_of(one, arrays) for one in content["graphs"]), rules
    except (ValueError, KeyError, TypeError, EOFError, OSError, IndexError, zipfile.BadZipFile) as error:
        why = type(error).__name__
        raise UserError(f"{path} is damaged, or of another version ({why}): import the model again") from None


def _fields(operation: Any) -> list[str]:
    """The names of an operation's fields."""
    return [one.name for one in dataclasses.fields(operation) if one.init]


def _step(content: dict[str, Any], arrays: Sequence[Any]) -> Step:
    given = {name: _made(value, arrays) for name, value in content["fields"].items()}
    operation = KINDS[content["kind"]](**given)
    return Step(content["name"], operation, tuple(content["inputs"]), content["layer"], content["graph"])


def _plain(value: Any, arrays: list[Any]) -> Any:
    """A field as JSON; an array is put beside it and named by its place."""
    if isinstance(value, FixedPoint):
        return {"format": [value.width, value.fraction_bits]}
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, tuple):
        return {"several": [_plain(one, arrays) for one in value]}
    return value


def _made(value: Any, arrays: Sequence[Any]) -> Any:
    if not isinstance(value, dict):
        return value
    if "format" in value:
        return FixedPoint(*value["format"])
    if "array" in value:
        return arrays[value["array"]].astype(np.int64)
    return tuple(_made(one, arrays) for one in value["several"])


def _graph(graph: IntegerGraph, arrays: list[Any]) -> dict[str, Any]:
    x = graph.features
    parts = (graph.indptr, graph.sources, graph.gcn, x.indptr, x.indices, x.data)
    return {"shape": list(x.shape), "parts": [_plain(np.asarray(one), arrays) for one in parts]}


def _graph_of(content: dict[str, Any], arrays: Sequence[Any]) -> IntegerGraph:
    indptr, sources, gcn, starts, columns, data = (_made(one, arrays) for one in content["parts"])
    features = sp.csr_matrix((data, columns, starts), tuple(content["shape"]))
    return IntegerGraph(features, indptr, sources, gcn)
