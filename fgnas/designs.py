"""Designs by the ten thousand: lines of JSON straight into columns, without an object for each design.

A block of lines is parsed at once and checked column by column: by the bounds of the fields of `Layer` and `Array`, and
by the lists of rules of `fgnas.design`, which one design runs, too. A block that holds anything else than plain right
designs goes through `Design` line by line, which accepts it or names its fault.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, get_args

import numpy as np
import orjson
from numpy.typing import NDArray

from fgnas import design as one_design
from fgnas.activations import Activation
from fgnas.array_sizes import SINGLE
from fgnas.design import (
    GATHER_FIRST,
    MOST_LAYERS,
    SCHEMA,
    Aggregation,
    Array,
    Attention,
    Design,
    Layer,
    columns_of,
    design_choices,
    first_broken,
    first_broken_of_design,
)
from fgnas.errors import UserError
from fgnas.space import Columns

BLOCK = 4096
"""Lines that are parsed at once: enough to hide the cost of a block, and small beside the columns of a long file."""
NAMES = tuple(name for name in Layer.model_fields if name != "order")
"""Fields of a layer that multiplies first."""
TEXTS: dict[str, tuple[str, ...]] = {
    "attention": get_args(Attention), "aggregation": get_args(Aggregation), "activation": get_args(Activation),
}  # fmt: skip
BOUNDS: dict[str, tuple[int, int]] = {
    name: (
        next(one.ge for one in field.metadata if hasattr(one, "ge")),
        next(one.le for one in field.metadata if hasattr(one, "le")),
    )
    for name, field in Layer.model_fields.items() if name in NAMES and name not in TEXTS
}  # fmt: skip
"""Least and greatest value of each field that is a number."""
OPTIONAL = tuple(name for name, field in Layer.model_fields.items() if type(None) in get_args(field.annotation))
"""Fields that may be null."""
ARRAY_OPTIONS: dict[str, tuple[int, ...]] = {
    name: get_args(Array.model_fields[name].annotation) for name in ("beat_bits", *SINGLE)
}
UNITS = tuple(getattr(one, side) for one, side in zip(Array.model_fields["units"].metadata, ("ge", "le"), strict=True))


@dataclass(frozen=True, eq=False)
class ArrayColumns:
    """The multiplier arrays of n designs with the same number of layers, [n] each.

    Attributes:
        units, beat_bits, results, shared, products: as in `Array`.
        columns: those of each hidden layer.
    """

    units: NDArray[np.int64]
    beat_bits: NDArray[np.int64]
    results: NDArray[np.int64]
    shared: NDArray[np.int64]
    products: NDArray[np.int64]
    columns: tuple[NDArray[np.int64], ...]

    def part(self, chosen: Any) -> ArrayColumns:
        """The arrays that a mask, a slice or places choose."""
        columns = tuple(one[chosen] for one in self.columns)
        return ArrayColumns(**{name: getattr(self, name)[chosen] for name in SIZES}, columns=columns)

    def at(self, place: int) -> Array:
        """One of the arrays."""
        sizes = {name: int(getattr(self, name)[place]) for name in SIZES}
        return Array.model_validate({**sizes, "columns": [int(one[place]) for one in self.columns]})

    @classmethod
    def joined(cls, parts: Sequence[ArrayColumns]) -> ArrayColumns:
        """The arrays of several tables, one after the other."""
        sizes = {name: np.concatenate([getattr(one, name) for one in parts]) for name in SIZES}
        columns = zip(*(one.columns for one in parts), strict=True)
        return cls(**sizes, columns=tuple(np.concatenate(one) for one in columns))


SIZES = tuple(one.name for one in fields(ArrayColumns) if one.name != "columns")


@dataclass(frozen=True, eq=False)
class DesignTable:
    """Designs with the same number of layers, sampling and orders, all with an array or all without.

    Attributes:
        places: [n] their places among all designs of the file.
        codes: [layers, fields, n] values of NAMES: numbers (0: absent), or places of texts
            among their options (behind the last: absent).
        dsp: [n] their DSP budgets.
        array: their multiplier arrays; None for pipelines.
        sampling: share of the edges that each layer keeps; empty for all.
        gathered: whether each layer gathers first; empty where none does.
    """

    places: NDArray[np.int64]
    codes: NDArray[np.int16]
    dsp: NDArray[np.int64]
    array: ArrayColumns | None = None
    sampling: tuple[float, ...] = ()
    gathered: tuple[bool, ...] = ()

    def columns(self) -> Columns:
        """The columns of the designs, as `columns_of` returns them."""
        found: Columns = {}
        for place, name in enumerate(NAMES):
            codes = self.codes[:, place]
            options = np.array([*TEXTS.get(name, ()), ""])
            found[name] = [options[layer] if name in TEXTS else layer.astype(np.int64) for layer in codes]
        if self.gathered:
            found["order"] = [np.full(len(self.dsp), GATHER_FIRST if one else "") for one in self.gathered]
        return found

    def split(self, size: int) -> Iterator[DesignTable]:
        """The table in order, in parts of `size` designs; the last may be smaller."""
        for first in range(0, len(self.places), size):
            part = slice(first, first + size)
            array = None if self.array is None else self.array.part(part)
            yield replace(
                self, places=self.places[part], codes=self.codes[:, :, part], dsp=self.dsp[part], array=array
            )

    @classmethod
    def joined(cls, parts: Sequence[DesignTable]) -> DesignTable:
        """The tables of one kind and one number of layers, one after the other."""
        arrays = [one.array for one in parts if one.array is not None]
        return cls(
            np.concatenate([one.places for one in parts]), np.concatenate([one.codes for one in parts], axis=2),
            np.concatenate([one.dsp for one in parts]), ArrayColumns.joined(arrays) if arrays else None,
            parts[0].sampling, parts[0].gathered,
        )  # fmt: skip


def read_tables(path: Path, run: Callable[..., Iterable[Any]] = map) -> list[DesignTable]:
    """The designs of a .jsonl file, one a line, by their number of layers and kind; blank lines are skipped.

    `run` does what `map` does, perhaps in other processes. Raises UserError, with file and line, for a file that cannot
    be read and for the first line that holds no design.
    """
    found: dict[tuple[int, bool, tuple[float, ...], tuple[bool, ...]], list[DesignTable]] = {}
    count = 0
    for tables in run(partial(_tables_of, source=str(path)), _blocks(path)):
        for table in tables:
            moved = replace(table, places=table.places + count)
            kind = (len(table.codes), table.array is not None, table.sampling, table.gathered)
            found.setdefault(kind, []).append(moved)
        count += sum(len(table.places) for table in tables)
    return [DesignTable.joined(tables) for _, tables in sorted(found.items(), key=itemgetter(0))]


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
    return tables_of([Design.from_json(line, f"{source}:{number}") for number, line in block])


def tables_of(designs: Sequence[Design]) -> list[DesignTable]:
    """The tables of designs, by their number of layers and kind."""
    kinds = [
        (len(design.layers), design.array is not None, design.sampling or (), _gathered(design)) for design in designs
    ]
    tables = []
    for kind in sorted(set(kinds)):
        places = [place for place, one in enumerate(kinds) if one == kind]
        group = [designs[place] for place in places]
        arrays = [design.array.model_dump() for design in group if design.array is not None]
        tables.append(DesignTable(
            np.array(places), _codes_of(columns_of(group), kind[0]), np.array([design.dsp for design in group]),
            _array_columns(arrays) if arrays else None, *kind[2:],
        ))  # fmt: skip
    return tables


def _gathered(design: Design) -> tuple[bool, ...]:
    """Whether each layer gathers first; empty where none does."""
    found = tuple(layer.gathers_first for layer in design.layers)
    return found if any(found) else ()


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
        if set(map(type, rows)) != {dict}:
            return None
        sizes = np.array(list(map(len, rows)))
        tables = []
        for size in np.unique(sizes):  # three fields, or four with an array
            places = np.flatnonzero(sizes == size)
            tables += _parsed_group(rows if len(places) == len(rows) else [rows[place] for place in places], places)
    except (ValueError, KeyError, TypeError, OverflowError):
        return None  # orjson's error is a ValueError
    return tables


def _parsed_group(rows: Sequence[dict[str, Any]], numbers: NDArray[np.int64]) -> list[DesignTable]:
    """The tables of objects with as many fields, at these places. Raises ValueError for any but plain right designs."""
    fields = {3: ("schema", "layers", "dsp"), 4: ("schema", "layers", "dsp", "array")}[len(rows[0])]
    schemas, layers, budgets, *arrays = zip(*map(itemgetter(*fields), rows), strict=True)
    if set(schemas) != {SCHEMA} or set(map(type, schemas + budgets)) != {int} or set(map(type, layers)) != {list}:
        raise ValueError("schema, dsp or layers")
    dsp = np.array(budgets, np.int64)
    counts = np.array(list(map(len, layers)))
    if dsp.min() < 0 or counts.min() < 1 or counts.max() > MOST_LAYERS:
        raise ValueError("dsp or layers")
    tables = []
    for count in np.unique(counts):
        places = np.flatnonzero(counts == count)
        codes = np.empty((count, len(NAMES), len(places)), np.int16)
        group = layers if len(places) == len(layers) else [layers[place] for place in places]
        for layer, dicts in enumerate(zip(*group, strict=True)):
            _fill(codes[layer], dicts)
        array = _array_columns([arrays[0][place] for place in places]) if arrays else None
        tables.append(DesignTable(numbers[places], codes, dsp[places], array))
        _check(tables[-1])
    return tables


class _Choices:
    """The choices of one layer of n designs, [n] each, as rules read them: made when they are first asked for."""

    order = ""  # plain fields have none

    def __init__(self, codes: NDArray[np.int16], index: int, last: bool) -> None:
        self.index, self.last, self._codes = index, last, codes

    def __getattr__(self, name: str) -> NDArray[Any]:
        if name not in NAMES:
            raise AttributeError(name)
        codes = self._codes[NAMES.index(name)]
        found = np.array([*TEXTS[name], ""])[codes] if name in TEXTS else codes.astype(np.int64)
        setattr(self, name, found)
        return found


def _check(table: DesignTable) -> None:
    """Raise ValueError where a design breaks a rule."""
    last = len(table.codes) - 1
    layers = [_Choices(codes, index, index == last) for index, codes in enumerate(table.codes)]
    if any(first_broken(one_design.LAYER_RULES, layer) for layer in layers):
        raise ValueError("a rule of a layer is broken")
    if first_broken_of_design(design_choices(layers, table.dsp, table.array, table.sampling)):
        raise ValueError("a rule of a design is broken")


def _array_columns(arrays: Sequence[dict[str, Any]]) -> ArrayColumns:
    """The columns of arrays. Raises ValueError, TypeError or KeyError for anything but plain right ones."""
    if any(len(one) != 3 + sum(name in one for name in SINGLE) for one in arrays):
        raise ValueError("not an array")
    lists = [one["columns"] for one in arrays]
    if len(set(map(len, lists))) > 1 or not {type(n) for one in lists for n in one} <= {int}:
        raise ValueError("columns")
    sizes = {
        name: np.array(_whole([one.get(name, 1 if name in SINGLE else None) for one in arrays]), np.int64)
        for name in SIZES
    }
    right = all(np.isin(sizes[name], options).all() for name, options in ARRAY_OPTIONS.items())
    if not right or sizes["units"].min() < UNITS[0] or sizes["units"].max() > UNITS[1]:
        raise ValueError("a size of an array")
    columns = np.array(lists, np.int64).reshape(len(arrays), len(lists[0]))
    return ArrayColumns(**sizes, columns=tuple(columns.T))


def _whole(values: list[Any]) -> list[int]:
    if set(map(type, values)) != {int}:
        raise ValueError("no whole numbers")
    return values


def _fill(codes: NDArray[np.int16], layers: Sequence[dict[str, Any]]) -> None:
    """Write the [fields, n] codes of one layer of n designs.

    Raises ValueError, TypeError, KeyError or OverflowError for fields that are no layer's, or beyond their bounds.
    """
    if set(map(type, layers)) != {dict} or set(map(len, layers)) != {len(NAMES)}:
        raise ValueError("not a layer")
    values = zip(*map(itemgetter(*NAMES), layers), strict=True)
    for place, (name, column) in enumerate(zip(NAMES, values, strict=True)):
        if name in OPTIONAL and column[0] is None and set(column) == {None}:
            codes[place] = len(TEXTS.get(name, ()))
        elif name in TEXTS:
            options = (*TEXTS[name], None) if name in OPTIONAL else TEXTS[name]
            index = {text: code for code, text in enumerate(options)}
            codes[place] = list(map(index.__getitem__, column))
        else:
            codes[place] = _numbers(name, column)


def _numbers(name: str, column: Sequence[Any]) -> NDArray[Any]:
    """[n] checked numbers, 0 where one is None. Raises ValueError, TypeError or OverflowError for anything else."""
    least, most = BOUNDS[name]
    if name in OPTIONAL and None in column:
        if 0 in column:
            raise ValueError(name)
        column, least = [0 if value is None else value for value in column], 0
    # Both take whole numbers alone, several times as fast as NumPy.
    numbers = np.frombuffer(bytes(column) if most < 256 else array("H", column), np.uint8 if most < 256 else np.uint16)
    if numbers.min() < least or numbers.max() > most:
        raise ValueError(name)
    return numbers
