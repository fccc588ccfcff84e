"""The instances of a project's RTL with their parameters, as Verilator elaborates them."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fgnas.backends.rtl import TOP
from fgnas.tools.find import find_verilator

DEPTH = 20_000
"""Levels of recursion: a table of a function is a deep tree."""


def elaborated(folder: Path) -> list[tuple[str, dict[str, int]]]:
    """(module, all its parameters) of every instance below the top, as Verilator elaborates the RTL."""
    command = [
        str(find_verilator().path), "--json-only", "--top-module", TOP, "-Wno-fatal", "-f", "files.f",
        "--json-only-output", "tree.json", "--json-only-meta-output", "meta.json",
    ]  # fmt: skip
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    modules = {module["addr"]: module for module in _read_tree(folder / "tree.json")["modulesp"]}
    top = next(module for module in modules.values() if module["name"] == TOP)
    found: list[tuple[str, dict[str, int]]] = []
    waiting = [top]
    while waiting:
        for cell in _nodes(waiting.pop(), "CELL"):
            module = modules[cell["modp"]]
            parameters = [node for node in module["stmtsp"] if node["type"] == "VAR" and node["varType"] == "GPARAM"]
            values = {node["origName"]: _number(node["valuep"][0]["name"]) for node in parameters}
            found.append((module["origName"].removeprefix("fgnas_"), values))
            waiting.append(module)
    return found


def _nodes(tree: Any, kind: str) -> Iterator[dict[str, Any]]:
    """The nodes of a kind in a part of Verilator's syntax tree, in any order."""
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting.extend(part)
        elif isinstance(part, dict):
            if part.get("type") == kind:
                yield part
            waiting.extend(part.values())


def _number(text: str) -> int:
    """A Verilog constant, such as 32'h1f or 32'sh3."""
    bits, digits = re.fullmatch(r"(\d+)'s?h([0-9a-f]+)", text).groups()
    value = int(digits, 16)
    return value - (1 << int(bits)) if "s" in text and value >> (int(bits) - 1) else value


def _read_tree(path: Path) -> dict[str, Any]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(DEPTH)
    try:
        return json.loads(path.read_text())
    finally:
        sys.setrecursionlimit(before)
