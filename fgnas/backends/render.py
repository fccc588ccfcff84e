"""Rendering of templates: one Jinja2 environment for all generated text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from fgnas.hardware import ports, wire
from fgnas.paths import templates_directory

SUFFIX = ".j2"


def environment() -> Environment:
    """The environment: an unknown name is an error, a line with only a tag produces no line.

    Every template may read `wire` and `ports`, the facts of the kernel's interface, and `camel`, which turns a_name
    into AName.
    """
    found = Environment(
        loader=FileSystemLoader(templates_directory()),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    found.globals |= {"wire": wire, "ports": ports}
    found.filters["camel"] = lambda name: "".join(part.capitalize() for part in name.split("_"))
    return found


def render(template: str, **values: Any) -> str:
    """The text of a template, given its path below templates/."""
    return environment().get_template(template).render(**values)


def render_folder(folder: str, target: Path, skip: tuple[str, ...] = (), **values: Any) -> list[Path]:
    """Write every file below templates/`folder` to `target`: .j2 rendered and renamed, others copied.

    `skip` names files, relative to the folder, that the caller renders itself.
    """
    root = templates_directory() / folder
    written: list[Path] = []
    for source in sorted(path for path in root.rglob("*") if path.is_file()):
        name = source.relative_to(root)
        if name.as_posix() in skip:
            continue
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == SUFFIX:
            place = place.with_suffix("")
            text = render(source.relative_to(templates_directory()).as_posix(), **values)
            place.write_text(text, encoding="utf-8")
        else:
            place.write_bytes(source.read_bytes())
        written.append(place)
    return written
