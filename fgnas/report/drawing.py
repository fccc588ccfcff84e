"""The drawing of a multiplier array: its memories and units in the order in which data pass them."""

from __future__ import annotations

from dataclasses import dataclass

from fgnas.hardware.array.engine import Engine

UNITS_OF_ROW = 16
"""Most units beside each other."""


@dataclass(frozen=True)
class Part:
    """A part of the array: its title, and a line for each fact."""

    title: str
    lines: list[str]


@dataclass(frozen=True)
class ArrayDrawing:
    """Columns of parts from the port to the port; `grid` are the units of each row of squares, in the middle column.

    `text` says in a sentence what the squares show.
    """

    port: str
    before: list[Part]
    grid: list[int]
    lanes: int
    units: Part
    behind: list[Part]
    text: str


def array_drawing(engine: Engine) -> ArrayDrawing:
    """The drawing of an engine."""
    rows, last = divmod(engine.units, UNITS_OF_ROW)
    return ArrayDrawing(
        port=f"main memory, {engine.beat_bits} bits a cycle",
        before=sources(engine),
        grid=[UNITS_OF_ROW] * rows + ([last] if last else []),
        lanes=engine.lanes,
        units=Part("units", unit_lines(engine)),
        behind=results(engine),
        text=f"{'1 unit' if engine.units == 1 else f'{engine.units} units'} of {engine.lanes} lanes: "
        f"{engine.multipliers} multipliers, {engine.dsp} DSP slices",
    )


def sources(engine: Engine) -> list[Part]:
    """Memories that the units read: tables of weights and rows, their own rows, and indices of nearest points."""
    copies = "one for each unit" if engine.shared == 1 else f"one for {engine.shared} units, {engine.copies} in all"
    found = [
        Part("table", [f"{engine.table_words:,} words of {engine.word_bits} bits", "weights, and rows to gather",
                       copies]),
        Part("own rows", [f"{engine.own_words:,} words of {engine.word_bits} bits", "rows to multiply",
                          "one for each unit"]),
    ]  # fmt: skip
    if (chain := engine.neighbours) is not None:
        found.append(Part("nearest points", [f"{chain.places} sorted place{'' if chain.places == 1 else 's'}",
                                             f"{chain.words:,} indices",
                                             "one for each unit"]))  # fmt: skip
    return found


def unit_lines(engine: Engine) -> list[str]:
    """The sizes of a unit."""
    found = [f"{engine.bits}-bit numbers, sums of {engine.sum_bits} bits", f"rows of up to {engine.tiles} words"]
    found += ["sums or maxima of rows"] if engine.maximum else ["sums of rows"]
    if engine.partial_words:
        found.append(f"{engine.partial_words:,} words of partial sums")
    return found


def results(engine: Engine) -> list[Part]:
    """The parts that finish the sums."""
    lines = [f"{engine.bias_words:,} words of biases", f"{engine.finished} lanes a cycle in each unit"]
    if engine.activation_words:
        lines.append(f"tables of functions, {engine.activation_words:,} words")
    if engine.residual:
        lines.append("adds own rows")
    found = [Part("epilogue", lines)]
    if (softmax := engine.softmax) is not None:
        found.append(Part("softmax", [f"{softmax.words:,} exponentials in each unit", "a divider for each lane"]))
    queue = [f"{engine.queue_words} words in each unit", f"{engine.results} a cycle to the tables"]
    return [*found, Part("queue of results", queue)]
