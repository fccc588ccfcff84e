"""The pages in docs/results: one Jinja template each, rendered from recorded numbers alone."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from textwrap import fill
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

RESULTS = Path(__file__).parent.parent / "docs" / "results"
TEMPLATES = Path(__file__).parent / "templates"
WIDTH = 120


def render(template: str, **values: Any) -> str:
    """The text of a page, from the template of that name.

    In templates `number | show(".1%")` formats a number and `{% filter wrapped %}` fills a paragraph to 120 columns.
    """
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"show": format, "wrapped": wrapped}
    return environment.get_template(f"{template}.j2").render(values)


def wrapped(text: str) -> str:
    """A paragraph filled to 120 columns; code stays in one line."""
    whole = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", "\0"), text.strip())
    return fill(whole, WIDTH, break_on_hyphens=False, break_long_words=False).replace("\0", " ") + "\n"


def read_record(name: str) -> dict[str, Any]:
    """The numbers in docs/results/NAME.json."""
    return dict(json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8")))


def write_record(name: str, record: dict[str, Any]) -> None:
    """Replace docs/results/NAME.json as a whole, so that an interrupted benchmark leaves a readable one.

    Each result is a line, so that a change of one is a change of one line.
    """
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in record.items())
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    scratch = RESULTS / f"{name}.part"
    scratch.write_text(text, encoding="utf-8")
    os.replace(scratch, RESULTS / f"{name}.json")


def write_page(name: str, text: str) -> None:
    """Write docs/results/NAME, and print where."""
    (RESULTS / name).write_text(text, encoding="utf-8")
    print(RESULTS / name)
