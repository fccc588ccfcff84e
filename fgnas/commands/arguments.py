"""Options that several commands have, and the data that they name."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fgnas.options import Kind, add_arguments, chosen, parser_of
from fgnas.progress import step
from fgnas.systems.fgnas.options import Options

if TYPE_CHECKING:
    from fgnas.tasks.collection import Collection
    from fgnas.tasks.nodes import GraphData


class Command(NamedTuple):
    """A command: its name, what runs it, what adds its options, and what it does, in words."""

    name: str
    run: Callable[[argparse.Namespace], int]
    add_options: Callable[[argparse.ArgumentParser], None]
    about: str


WHOLE = ("dataset", "split", "normalise")
"""Options that name data."""
DATA = (*WHOLE, "graphs")
"""Those and how many graphs of it are in a start."""


def add_dataset(sub: argparse.ArgumentParser) -> None:
    """Add the options that name data."""
    add_arguments(sub, Options, DATA)


def add_number(sub: argparse.ArgumentParser, name: str, kind: Kind, text: str, default: Any = None) -> None:
    """Add a numeric option to a command whose options are not a dataclass."""
    shown = f"{text}; default: {default}" if default is not None else text
    sub.add_argument(name, type=parser_of(kind), metavar="N", default=default, help=shown)


def add_project(sub: argparse.ArgumentParser) -> None:
    """Add what every check of a project takes."""
    sub.add_argument("directory", type=Path, metavar="DIR", help="a project that `fgnas hls` wrote")
    add_json(sub)


def add_json(sub: argparse.ArgumentParser) -> None:
    """Add --json."""
    sub.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def reference_of(options: argparse.Namespace, own: str | None = None, names: Sequence[str] = DATA) -> str | None:
    """The data that the options name, or a design's own; None without either."""
    given = chosen(options, Options, names)
    if own is not None and list(given) == ["graphs"]:  # as many of its own
        given["dataset"] = own
    return Options.resolved(given).get("dataset") or own


def load_graph(reference: str | None) -> GraphData:
    """Load data; notes about it go to stderr, once for each graph."""
    from fgnas.tasks.notes import untold
    from fgnas.tasks.pooled import load

    data = load(reference or Options.dataset)
    for remark in untold(data):
        print(f"{data.label}: {remark}", file=sys.stderr)
    return data


def load_collection(reference: str | None) -> Collection:
    """Load data that a model is imported for; notes as `load_graph` has them."""
    from fgnas.tasks import sources
    from fgnas.tasks.notes import untold
    from fgnas.tasks.pooled import whole_name

    with step("load the data"):
        data = sources.load(whole_name(reference or Options.dataset))
    for remark in untold(data.nodes) if data.nodes is not None else ():
        print(f"{data.label}: {remark}", file=sys.stderr)
    return data
