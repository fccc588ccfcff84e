"""The modules of the package, and what each imports, read from their text."""

import ast
from collections.abc import Collection, Iterable
from pathlib import Path

import fgnas

PACKAGE = Path(fgnas.__file__).parent


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imported(name: str) -> set[str]:
    """The modules of the package that a module of it imports."""
    return imported_by(MODULES[name]) - {name}


def imported_by(path: Path) -> set[str]:
    """The modules of the package that a file imports anywhere but for type checking, lazily or not."""
    found: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return {other for other in found if other in MODULES}


def reached(starts: Iterable[str], leaves: Collection[str] = ()) -> set[str]:
    """Modules, what they import, what that imports, and so on; of `leaves` nothing is followed."""
    found: set[str] = set()
    open_ends = [*starts]
    while open_ends:
        name = open_ends.pop()
        if name not in found:
            found.add(name)
            open_ends += [] if name in leaves else imported(name)
    return found
