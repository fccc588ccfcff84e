"""Several charts side by side as one SVG file, for pages without scripts or style sheets."""

from __future__ import annotations

from collections.abc import Sequence

from fgnas.report.chart import Panel
from fgnas.report.page import environment

COLOURS = ("#0b62a4", "#c8541b", "#888888", "#3c8a4e")
LEGEND = 24
"""Height of the legend above the panels, in units of the drawing."""


def figure_svg(title: str, panels: Sequence[Panel], columns: int) -> str:
    """The SVG of panels of equal size, row by row, with one legend for all of them.

    Raises ValueError for more series names than colours.
    """
    names = list(dict.fromkeys(series.name for panel in panels for series in panel.series))
    if len(names) > len(COLOURS):
        raise ValueError(f"a figure shows up to {len(COLOURS)} series: {', '.join(names)}")
    width = max((panel.frame.width for panel in panels), default=0)
    height = max((panel.frame.height for panel in panels), default=0)
    placed = [
        (place % columns * width, LEGEND + place // columns * height, panel) for place, panel in enumerate(panels)
    ]
    return environment().get_template("figure.svg.j2").render(
        title=title,
        colours=dict(zip(names, COLOURS, strict=False)),
        placed=placed,
        width=width * min(columns, len(panels)),
        height=LEGEND + height * -(-len(panels) // columns),
    )  # fmt: skip
