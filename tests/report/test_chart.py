"""Paths and places of charts, on a frame that is easy to count in."""

from fgnas.report import axis, chart
from fgnas.report.chart import Frame

TEN = axis.Axis("ten", 0, 10, float, ())
FRAME = Frame(TEN, TEN, width=120, height=110, left=10, right=10, top=0, bottom=10)


def test_values_stand_where_they_belong() -> None:
    assert FRAME.at(0, 0) == (10, 100)
    assert FRAME.at(10, 10) == (110, 0)
    assert FRAME.at(5, 1) == (60, 90)


def test_what_lies_beyond_stands_at_the_end() -> None:
    assert FRAME.at(99, -5) == (110, 100)


def test_lines_and_steps() -> None:
    assert chart.line(FRAME, [0, 5, 10], [0, 1, 1]) == "M10 100L60 90L110 90"
    assert chart.line(FRAME, [0, 5, 10], [0, 1, 1], steps=True) == "M10 100H60V90H110"
    assert chart.dots(FRAME, [0, 10], [0, 10]) == "M10 100h0M110 0h0"


def test_a_silhouette_is_as_high_as_its_shares() -> None:
    assert chart.silhouette([1.0, 1.0, 0.25, 0.0]) == "M0 1V0H2V0.75H3V1H4V1Z"
