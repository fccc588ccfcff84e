"""Designs by the ten thousand: lines of JSON straight into columns, without an object for each design.

A block of lines is parsed at once and checked column by column, by the same limits and rules as `Design`. A block that
holds anything else than plain right designs goes through `Design` line by line, which accepts it or names its fault.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import orjson
from numpy.typing import NDArray

from fgnas.design import (
    LAST_ABSENT,
    MOST_LAYERS,
    RULES,
    SCHEMA,
    Activation,
    Aggregation,
    Attention,
    Design,
    Layer,
    columns_of,
)
from fgnas.errors import UserError
from fgnas.space import Columns

BLOCK = 4096
"""Lines that are parsed at once: enough to hide the cost of a block, and small beside the columns of a long file."""
NAMES = tuple(Layer.model_fields)
TEXTS: dict[str, tuple[str, ...]] = {
    "attention": get_args(Attention), "aggregation": get_args(Aggregation), "activation": get_args(Activation),
}  # fmt: skip
BOUNDS: dict[str, tuple[int, int]] = {
    name: (
        next(one.ge for one in field.metadata if hasattr(one, "ge")),
        next(one.le for one in field.metadata if hasattr(one, "le")),
    )
    for name, field in Layer.model_fields.items() if name not in TEXTS
}  # fmt: skip
"""Least and greatest value of each field that is a number."""


@dataclass(frozen=True, eq=False)
class DesignTable:
    """Designs with the same number of layers.

    Attributes:
        places: [n] their places among all designs of the file.
        codes: [layers, fields, n] values of the fields of `Layer`, in order: numbers (0: absent), or places of texts
            among their options (behind the last: absent).
        dsp: [n] their DSP budgets.
    """

    places: NDArray[np.int64]
    codes: NDArray[np.int16]
    dsp: NDArray[np.int64]

    def columns(self) -> Columns:
        """The columns of the designs, as `columns_of` returns them."""
        found: Columns = {}
        for place, name in enumerate(NAMES):
            codes = self.codes[:, place]
            options = np.array([*TEXTS.get(name, ()), ""])
            found[name] = [options[layer] if name in TEXTS else layer.astype(np.int64) for layer in codes]
        return found

    def split(self, size: int) -> Iterator[DesignTable]:
        """The table in order, in parts of `size` designs; the last may be smaller."""
        for first in range(0, len(self.places), size):
            part = slice(first, first + size)
            yield DesignTable(self.places[part], self.codes[:, :, part], self.dsp[part])


def read_tables(path: Path, run: Callable[..., Iterable[Any]] = map) -> list[DesignTable]:
    """The designs of a .jsonl file, one a line, by their number of layers; blank lines are skipped.

    `run` does what `map` does, perhaps in other processes. Raises UserError, with file and line, for a file that cannot
    be read and for the first line that holds no design.
    """
    found: dict[int, list[DesignTable]] = {}
    count = 0
    for tables in run(partial(_tables_of, source=str(path)), _blocks(path)):
        for table in tables:
            places = table.places + count
            found.setdefault(len(table.codes), []).append(DesignTable(places, table.codes, table.dsp))
        count += sum(len(table.places) for table in tables)
    return [
        DesignTable(
            np.concatenate([one.places for one in tables]), np.concatenate([one.codes for one in tables], axis=2),
            np.concatenate([one.dsp for one in tables]),
        )
        for _, tables in sorted(found.items())
    ]  # fmt: skip


def _blocks(path: Path) -> Iterator[list[tuple[int, str]]]:
    """Blocks of the lines that are not blank, each with its number."""
    try:
        # Not by the file's own lines, which end at fewer characters than `splitlines` knows.
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read the designs {path}: {error}") from None
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    while block := list(itertools.islice(numbered, BLOCK)):
        yield block


def _tables_of(block: Sequence[tuple[int, str]], source: str) -> list[DesignTable]:
    """The tables of a block of lines, places counted from its own first."""
    found = _parsed([line for _, line in block])
    if found is not None:
        return found
    designs = [Design.from_json(line, f"{source}:{number}") for number, line in block]
    for (number, _), design in zip(block, designs, strict=True):
        check_pipeline(design, f"{source}:{number}")
    counts = np.array([len(design.layers) for design in designs])
    tables = []
    for count in np.unique(counts):
        places = np.flatnonzero(counts == count)
        group = [designs[place] for place in places]
        codes = _codes_of(columns_of(group), int(count))
        tables.append(DesignTable(places, codes, np.array([design.dsp for design in group])))
    return tables


def check_pipeline(design: Design, source: str) -> None:
    """Raise UserError for a design that is no pipeline."""
    if design.array is not None:
        raise UserError(f"{source} is a multiplier array, not a pipeline: `fgnas hls` writes it with its price")


def _codes_of(columns: Columns, layers: int) -> NDArray[np.int16]:
    """[layers, fields, n] codes of checked columns."""
    codes = np.empty((layers, len(NAMES), len(columns["k"][0])), np.int16)
    for place, name in enumerate(NAMES):
        index = {text: code for code, text in enumerate((*TEXTS.get(name, ()), ""))}
        for layer, column in enumerate(columns[name]):
            codes[layer, place] = [index[text] for text in column.tolist()] if name in TEXTS else column
    return codes


def _parsed(lines: Sequence[str]) -> list[DesignTable] | None:
    """The tables of lines that hold plain right designs, each of schema, layers and dsp; None for any other block."""
    # No right design has a truth value, and `bytes` takes one for a number.
    if any("true" in line or "false" in line for line in lines):
        return None
    try:
        rows = list(map(orjson.loads, lines))
        if set(map(type, rows)) != {dict} or set(map(len, rows)) != {3}:
            return None
        schemas, layers, budgets = zip(*map(itemgetter("schema", "layers", "dsp"), rows), strict=True)
        if set(schemas) != {SCHEMA} or set(map(type, schemas + budgets)) != {int} or set(map(type, layers)) != {list}:
            return None
        dsp = np.array(budgets, np.int64)
        counts = np.array(list(map(len, layers)))
        if dsp.min() < 0 or counts.min() < 1 or counts.max() > MOST_LAYERS:
            return None
        tables = []
        for count in np.unique(counts):
            places = np.flatnonzero(counts == count)
            codes = np.empty((count, len(NAMES), len(places)), np.int16)
            group = layers if len(places) == len(layers) else [layers[place] for place in places]
            for layer, dicts in enumerate(zip(*group, strict=True)):
                _fill(codes[layer], dicts, layer == count - 1)
            tables.append(DesignTable(places, codes, dsp[places]))
    except (ValueError, KeyError, TypeError, OverflowError):
        return None  # orjson's error is a ValueError
    return tables


def _fill(codes: NDArray[np.int16], layers: Sequence[dict[str, Any]], last: bool) -> None:
    """Write the [fields, n] codes of one layer of n designs. Raises ValueError for anything but a right layer."""
    if set(map(type, layers)) != {dict} or set(map(len, layers)) != {len(NAMES)}:
        raise ValueError("not a layer")
    values = zip(*map(itemgetter(*NAMES), layers), strict=True)
    for place, (name, column) in enumerate(zip(NAMES, values, strict=True)):
        if last and name in LAST_ABSENT:
            if set(column) != {None}:
                raise ValueError(name)
            codes[place] = len(TEXTS.get(name, ()))
        elif name in TEXTS:
            index = {text: code for code, text in enumerate(TEXTS[name])}
            codes[place] = list(map(index.__getitem__, column))
        else:
            codes[place] = _numbers(name, column)
    layer = SimpleNamespace(**{name: codes[place].astype(np.int64) for place, name in enumerate(NAMES)})
    attends = layer.attention == TEXTS["attention"].index("gat")
    if (attends != (layer.t_attn != 0)).any() or any(np.any(broken(layer)) for _, broken in RULES):
        raise ValueError("a rule is broken")


def _numbers(name: str, column: Sequence[Any]) -> NDArray[Any]:
    """[n] checked numbers, 0 where t_attn is None. Raises ValueError, TypeError or OverflowError for anything else."""
    least, most = BOUNDS[name]
    if name == "t_attn":
        if 0 in column:
            raise ValueError(name)
        column, least = [0 if value is None else value for value in column], 0
    # Both take whole numbers alone, several times as fast as NumPy.
    numbers = np.frombuffer(bytes(column) if most < 256 else array("H", column), np.uint8 if most < 256 else np.uint16)
    if numbers.min() < least or numbers.max() > most:
        raise ValueError(name)
    return numbers
