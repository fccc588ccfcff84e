"""A page model into one self-contained HTML file: styles and scripts inside, nothing fetched, everything escaped."""

from __future__ import annotations

import base64
import functools
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from fgnas.errors import UserError
from fgnas.files import replace_file
from fgnas.paths import templates_directory
from fgnas.report.design import DesignPage
from fgnas.report.run import RunPage

FOLDER = "report"
FIELDS = {
    "attention": "attention", "aggregation": "aggregation", "k": "heads k", "d": "features d",
    "activation": "activation", "t_in": "lanes in", "t_out": "lanes out", "t_attn": "attention lanes",
    "t_aggr": "aggregation lanes", "t_act": "activation lanes", "ai": "feature integer bits",
    "af": "feature fraction bits", "wi": "weight integer bits", "wf": "weight fraction bits",
}  # fmt: skip
"""What the page calls the fields of a layer."""


def run_html(page: RunPage) -> str:
    """The HTML of a run's page."""
    return _render("run.html.j2", script="run.js", page=page)


def design_html(page: DesignPage) -> str:
    """The HTML of a design's page, which needs no script."""
    return _render("design.html.j2", script=None, page=page)


def write_page(html: str, path: Path) -> None:
    """Put a page at `path`, whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, html)
    except OSError as error:
        raise UserError(f"cannot write the page {path}: {error.strerror or error}") from None


def _render(template: str, script: str | None, **values: Any) -> str:
    text = _source(script) if script else ""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return environment().get_template(template).render(
        style=Markup(_source("page.css")), script=Markup(text), script_hash=f"sha256-{digest}", fields=FIELDS, **values
    )  # fmt: skip


def _source(name: str) -> str:
    """A style or script of ours, as it stands between its tags."""
    return (templates_directory() / FOLDER / name).read_text(encoding="utf-8")


@functools.cache
def environment() -> Environment:
    """Templates of pages and figures; what they insert is escaped."""
    made = Environment(
        loader=FileSystemLoader(templates_directory() / FOLDER),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    made.filters |= {"percent": percent, "number": number, "digits": digits}
    return made


def percent(share: float | None, places: int = 1) -> str:
    """A share as per cent; a dash where there is none."""
    return "–" if share is None else f"{100 * share:.{places}f} %"


def number(value: float | None) -> str:
    """A count with thousands set apart; halves are kept."""
    return "–" if value is None else f"{value:,.6g}" if value != int(value) else f"{int(value):,}"


def digits(value: float, places: int) -> str:
    """A number with so many digits behind the point."""
    return f"{value:,.{places}f}"
