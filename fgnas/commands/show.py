"""What commands print: JSON, tables, prices, and the reports of checks."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fgnas.costs import whole

if TYPE_CHECKING:
    from fgnas.hardware.specification import Specification


def as_here(text: str) -> str:
    """Text whose commands can be pasted: with full paths if this environment's commands are not on PATH."""
    program = Path(sys.argv[0])
    if program.name != "fgnas" or not program.is_file() or shutil.which("fgnas") == str(program.absolute()):
        return text
    text = re.sub(r"(`|: )fgnas (?=[a-z])", rf"\1{program} ", text)
    return re.sub(r"\bpip install", f"{program.with_name('pip')} install", text)


def json_object(content: Any) -> None:
    """Print JSON in one line."""
    print(json.dumps(content, sort_keys=True, allow_nan=False))


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], wrapped: str = "") -> None:
    """Print a table; of a narrow terminal the `wrapped` column takes several lines."""
    from rich.box import ASCII
    from rich.console import Console
    from rich.table import Table

    found = Table(title=title, title_justify="left", title_style="bold", box=ASCII)
    for place, name in enumerate(header):
        found.add_column(name, justify="left" if place == 0 or name == wrapped else "right",
                         no_wrap=name != wrapped)  # fmt: skip
    for row in rows:
        found.add_row(*row)
    Console().print(found)


def costs(quantities: Sequence[dict[str, Any]], limits: dict[str, float], used: dict[str, float]) -> None:
    """Used, available and per cent, as in a Vivado utilisation report."""
    rows = []
    for cost in quantities:
        value, limit = used[cost["name"]], limits.get(cost["name"])
        share = f"{value / limit:.2%}" if limit else "-"
        unit = f" ({cost['unit']})" if cost["unit"] else ""
        rows.append((f"{cost['label']}{unit}", amount(value, cost), "-" if limit is None else figure(limit), share))
        if cost["shown_unit"]:
            shown = [f"{number * cost['scale']:.4f}" for number in (value, limit) if number is not None]
            label = f"{cost['label']} ({cost['shown_unit']})"
            rows.append((label, shown[0], shown[1] if len(shown) > 1 else "-", share))
    table("Utilisation", ("", "Used", "Available", "Util%"), rows)


def amount(value: float, cost: dict[str, Any]) -> str:
    """A cost as it is; of one that is predicted, no more digits of a fraction than it has a meaning."""
    return figure(value, 6 if cost["exact"] else 4)


def figure(value: float, digits: int = 6) -> str:
    """A whole number with all its digits, any other with so many, and at least those before the point."""
    if value == int(value):
        return f"{whole(value):,}"
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:,.{digits}g}"


def price(prices: dict[str, Any], specification: Specification) -> None:
    """The price of a design against the limits that a user names."""
    from fgnas.hardware.pipeline.traffic import peak_rows
    from fgnas.systems.fgnas.target import pipeline_costs

    quantities = [cost.to_dict() for cost in pipeline_costs(specification.clock_mhz)]
    costs(quantities, specification.limits() | specification.resources(), prices)
    rows = [
        (label, figure(prices[name], 4)) for label, name in (
            ("Main memory, bytes an inference", "memory_bytes"), ("Main memory, mean MB/s", "memory_mb_s"),
            ("Clock of a 128-bit port for that (MHz)", "memory_clock_mhz"), ("Multipliers", "multipliers"),
            ("Multiplications that the network needs", "multiplications"), ("Share of multiplier cycles", "busy"),
            ("Calls", "calls"),
            ("Cycles of a further start", "cycles_again"),
        ) if name in prices
    ]  # fmt: skip
    table("Traffic", ("", "Used"), rows)
    if "peak_beats" not in prices:
        return
    peaks = peak_rows(prices, specification.port_bits)
    rates = [(label, figure(beats, 4), figure(mb_s, 4)) for label, beats, mb_s in peaks]
    table("Peak traffic", ("", "Beats a cycle", "MB/s"), rates)


def metrics(kind: str, label: str, accuracy: dict[str, dict[str, float]]) -> None:
    """What networks are worth on the parts of data, by the measure of its kind of targets."""
    from fgnas.tasks.collection import METRICS

    form = "{:.2%}" if kind == "classes" else "{:.4f}"
    splits = [name for name in ("val", "test") if name in accuracy["float"]]
    shown = [(name, *(form.format(values[split]) for split in splits)) for name, values in accuracy.items()]
    title = METRICS[kind]
    table(f"{title[0].upper()}{title[1:]} on {label}", ("", *splits), shown)


def check(result: dict[str, Any], as_json: bool, directory: Path | None = None) -> int:
    """Exit code 1 if anything is wrong; of a project whose rows are graphs the nodes are called so."""
    from fgnas.backends.project import rows_of

    if as_json:
        json_object(result)
    else:
        for name, value in result.items():
            if name == "phases":
                for phase in value:
                    print(f"{phase['name']}: {phase['cycles']:,} cycles, {phase['predicted_cycles']:,} predicted")
            elif name == "again":
                print(f"a further start: {value['cycles']:,} cycles, {value['predicted_cycles']:,} predicted, "
                      f"{value['mismatches']} mismatches")  # fmt: skip
            elif name == "phase_cycles" and "phases" in result:
                continue  # an array asks for beats in some phases only
            elif name == "phase_cycles" and value:
                names = ("load", *(f"phase {number}" for number in range(len(value) - 2)), "output")
                # Other RTL may request data in fewer phases than the project's own.
                begins = (f"{phase} {cycle:,}" for phase, cycle in zip(names, value, strict=False))
                print(f"phases ask for their first beat in cycle: {', '.join(begins)}")
            elif value is not None:
                label = rows_of(directory) if name == "nodes" and directory is not None else name.replace("_", " ")
                print(f"{label}: {value}")
    from fgnas.api import passed

    return 0 if passed(result) else 1
