"""Arrays that run networks of points as a kind of hardware that projects describe."""

from fgnas.hardware.array.written import WrittenArrays


class PointArrays(WrittenArrays):
    """An array that finds nearest points."""

    name = "points"
    page = "fgnas.report.points"
