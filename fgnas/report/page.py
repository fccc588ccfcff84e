"""Pages as self-contained HTML files: styles and scripts are embedded, nothing is fetched, all text is escaped."""

from __future__ import annotations

import base64
import functools
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from fgnas.costs import Quantity
from fgnas.errors import UserError
from fgnas.files import replace_file
from fgnas.paths import templates_directory
from fgnas.report.compare import ComparedPage
from fgnas.report.device import DevicePage
from fgnas.report.mapping import MappingPage
from fgnas.report.project import Page
from fgnas.report.run import RunPage, titled, worded

FOLDER = "report"


def run_html(page: RunPage) -> str:
    """The HTML of a run's page."""
    return _render("run.html.j2", script="run.js", page=page)


def compared_html(page: ComparedPage) -> str:
    """The HTML of the page of several runs, which needs no script."""
    return _render("compare.html.j2", script=None, page=page)


def project_html(page: Page) -> str:
    """The HTML of a project's page, which needs no script."""
    return _render(page.template, script=None, page=page)


def device_html(page: DevicePage) -> str:
    """The HTML of a measured device's page, which needs no script."""
    return _render("device.html.j2", script=None, page=page)


def mapping_html(page: MappingPage) -> str:
    """The HTML of the page of a mapped network's project, which needs no script."""
    return _render("mapping.html.j2", script=None, page=page)


def write_page(html: str, path: Path) -> None:
    """Write a page to `path` atomically."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, html)
    except OSError as error:
        raise UserError(f"cannot write the page {path}: {error.strerror or error}") from None


def _render(template: str, script: str | None, **values: Any) -> str:
    text = _source(script) if script else ""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return environment().get_template(template).render(
        style=Markup(_source("page.css")), script=Markup(text), script_hash=f"sha256-{digest}", **values
    )


def _source(name: str) -> str:
    """The text of a style sheet or script."""
    return (templates_directory() / FOLDER / name).read_text(encoding="utf-8")


@functools.cache
def environment() -> Environment:
    """The environment of pages and figures; inserted text is escaped."""
    made = Environment(
        loader=FileSystemLoader(templates_directory() / FOLDER),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    made.filters |= {"percent": percent, "number": number, "digits": digits, "amount": amount, "shown": shown}
    made.filters |= {"titled": titled, "worded": worded, "leaves": leaves, "counted": counted}
    return made


def percent(share: float | None, places: int = 1) -> str:
    """A share as per cent; a dash for None."""
    return "–" if share is None else f"{100 * share:.{places}f} %"


def number(value: float | None) -> str:
    """A count with thousands separators; of other numbers four digits. A dash for None."""
    return "–" if value is None else short(value) if value != int(value) else f"{int(value):,}"


def counted(count: int, noun: str) -> str:
    """A count with its noun: 1 design, 2,000 designs."""
    return f"{number(count)} {noun}{'' if count == 1 else 's'}"


def digits(value: float | None, places: int) -> str:
    """A number with a fixed number of decimals; a dash for None."""
    return "–" if value is None else f"{value:,.{places}f}"


def amount(value: float, unit: str = "") -> str:
    """An amount of a unit; a share as per cent."""
    return percent(value) if unit == "share" else number(value)


def short(value: float) -> str:
    """A number with four digits, or all those before the point and one behind it."""
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.1f}"


def shown(value: float | None, quantity: Quantity) -> str:
    """A cost or a score in its display unit; a dash for None."""
    if value is None:
        return "–"
    if quantity.unit == "share":
        return percent(value)
    return number(value * quantity.scale if quantity.shown_unit else value)


def leaves(value: Any) -> int:
    """How many plain values JSON values hold."""
    if isinstance(value, dict | list):
        return sum(map(leaves, value.values() if isinstance(value, dict) else value))
    return 1
