"""Small line charts side by side, as one SVG file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

Point = tuple[float, float]
Chart = Mapping[str, Sequence[Point]]
"""Name of a line -> its points, x ascending, y from 0 to 1."""

WIDTH, HEIGHT, LEFT, TOP, GAP = 220, 110, 34, 24, 30
COLUMNS = 3
COLOURS = ("#0b62a4", "#888888", "#c8541b")
GRID = (0.2, 0.4, 0.6, 0.8)


def svg(charts: Mapping[str, Chart], span: float) -> str:
    """Charts by title, all with x from 0 to `span` and y from 0 to 100 %; equal names have equal colours."""
    names = list(dict.fromkeys(name for chart in charts.values() for name in chart))
    colours = dict(zip(names, COLOURS, strict=False))
    rows = -(-len(charts) // COLUMNS)
    width, height = COLUMNS * (WIDTH + LEFT) + LEFT, rows * (HEIGHT + TOP + GAP) + TOP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="10" fill="#333"><rect width="{width}" height="{height}" fill="white"/>'
    ]
    for place, (name, colour) in enumerate(colours.items()):
        parts.append(f'<text x="{LEFT + 110 * place}" y="14" fill="{colour}" font-weight="bold">{escape(name)}</text>')
    for place, (title, chart) in enumerate(charts.items()):
        x = LEFT + place % COLUMNS * (WIDTH + LEFT)
        y = 2 * TOP + place // COLUMNS * (HEIGHT + TOP + GAP)
        parts.append(f'<g transform="translate({x} {y})">{_panel(title, chart, span, colours)}</g>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(title: str, chart: Chart, span: float, colours: Mapping[str, str]) -> str:
    """One chart: title, grid, ends of the x axis, and a line for each name."""
    parts = [f'<text x="0" y="-6">{escape(title)}</text>']
    for level in GRID:
        y = HEIGHT * (1 - level)
        parts.append(f'<path d="M0 {y:.1f}H{WIDTH}" stroke="#ddd"/>')
        parts.append(f'<text x="-4" y="{y + 3:.1f}" text-anchor="end">{level:.0%}</text>')
    parts.append(f'<path d="M0 0V{HEIGHT}H{WIDTH}" stroke="#333" fill="none"/>')
    parts.append(f'<text x="{WIDTH}" y="{HEIGHT + 12}" text-anchor="end">{span:.0f} children</text>')
    for name, points in chart.items():
        places = " ".join(f"{WIDTH * x / span:.1f},{HEIGHT * (1 - y):.1f}" for x, y in points)
        parts.append(f'<polyline points="{places}" fill="none" stroke="{colours[name]}" stroke-width="1.5"/>')
    return "".join(parts)
