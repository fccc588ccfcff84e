"""Imports go down the list of rooms in docs/architecture.md, and no module imports itself through others."""

import ast
import re
from pathlib import Path

import networkx as nx
import pytest
from module_imports import MODULES, PACKAGE, imported

PAGE = PACKAGE.parent / "docs" / "architecture.md"
TOP = ("fgnas", "fgnas.__main__")

MOST_LINES, MOST_PARAMETERS = 60, 8


def rooms() -> list[tuple[str, ...]]:
    """The rooms of the page's table, from the bottom to the top, each a tuple of module names."""
    table = PAGE.read_text(encoding="utf-8").split("## The rooms")[1].split("##")[0]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    return [tuple(re.findall(r"`([\w/]+?)/?`", row.split("|")[1])) for row in rows]


def room(name: str) -> int:
    """The place of a module's room in the list, 0 at the bottom."""
    path = name.removeprefix("fgnas.").replace(".", "/")
    places = [
        (len(one), place) for place, names in enumerate(rooms()) for one in names
        if path == one or path.startswith(f"{one}/")
    ]  # fmt: skip
    assert places, f"{name} is in no room of docs/architecture.md"
    return max(places)[1]


@pytest.mark.parametrize("name", [name for name in MODULES if name not in TOP])
def test_imports_go_down(name: str) -> None:
    above = {other: room(other) for other in imported(name) if other not in TOP and room(other) > room(name)}
    assert not above, f"{name} imports from above: {sorted(above)}"


def test_no_circle() -> None:
    arrows = nx.DiGraph((name, other) for name in MODULES if name not in TOP for other in imported(name) - set(TOP))
    circles = [part for part in nx.strongly_connected_components(arrows) if len(part) > 1]
    # A package that re-exports its parts imports them, and they import each other, never the package.
    assert not circles, circles


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith(("fgnas.engine", "fgnas.searchers"))])
def test_the_engine_and_the_searchers_import_no_system(name: str) -> None:
    foreign = ("fgnas.systems", "fgnas.hardware", "fgnas.networks", "fgnas.design", "fgnas.network", "fgnas.tasks")
    assert not [other for other in imported(name) if other.startswith(foreign)]


def test_no_module_asks_which_system_it_works_for() -> None:
    for name, path in MODULES.items():
        assert not re.search(r"system\w* (==|!=|in) ", path.read_text(encoding="utf-8")), name


def functions(path: Path) -> list[ast.FunctionDef]:
    """The functions of a file, methods and inner ones among them."""
    return [one for one in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(one, ast.FunctionDef)]


def too_large(function: ast.FunctionDef) -> bool:
    """Whether a function does not fit on a screen, or takes too much."""
    given, lines = function.args, (function.end_lineno or 0) - function.lineno + 1
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    return lines > MOST_LINES or len(every) > MOST_PARAMETERS


def test_what_is_too_large_by_hand() -> None:
    lines = [f"    x{number} = {number}" for number in range(MOST_LINES - 1)]
    fits, long, wide, starred = ("\n".join(text) for text in (
        ["def one():", *lines], ["def one():", *lines, "    pass"],
        [f"def one({', '.join(f'x{number}' for number in range(9))}): pass"],
        ["def one(a, b, /, c, d, *e, f, g, **h): pass"],
    ))  # fmt: skip
    found = [ast.parse(text).body[0] for text in (fits, long, wide, starred)]
    assert [too_large(one) for one in found if isinstance(one, ast.FunctionDef)] == [False, True, True, False]


def test_functions_of_the_hardware_fit_on_a_screen() -> None:
    """At most 60 lines and 8 parameters."""
    hardware = {name: path for name, path in MODULES.items() if name.startswith("fgnas.hardware")}
    found = {f"{name}.{one.name}" for name, path in hardware.items() for one in functions(path) if too_large(one)}
    assert not found
