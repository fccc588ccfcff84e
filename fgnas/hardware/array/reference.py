"""The integer reference: executes a programme on the regions that the kernel reads, in NumPy, exactly.

It decodes the same beats as the kernel, and knows nothing of networks: units, memories, descriptors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fgnas.fixedpoint import Codes, shift_right_even
from fgnas.hardware import wire
from fgnas.hardware.array.encoding import EncodedArray, read_image
from fgnas.hardware.array.engine import LANES, Engine, Mode
from fgnas.hardware.array.programme import (
    Activation,
    Beats,
    Descriptor,
    Operation,
    Region,
    Target,
    read_entries,
)


@dataclass
class Machine:
    """The memories of all units, as codes.

    Attributes:
        engine: the array.
        table, own: [S, words, LANES].
        bias, activation: [S, words, LANES].
        logits: [words, LANES] in the order in which they leave.
    """

    engine: Engine
    table: Codes = field(init=False)
    own: Codes = field(init=False)
    bias: Codes = field(init=False)
    activation: Codes = field(init=False)
    logits: Codes = field(init=False)

    def __post_init__(self) -> None:
        for name in ("table", "own", "bias", "activation"):
            depth = getattr(self.engine, f"{name}_words")
            setattr(self, name, np.zeros((self.engine.units, depth, LANES), np.int64))
        self.logits = np.zeros((0, LANES), np.int64)

    def execute(self, programme: Sequence[Descriptor], regions: dict[str, Beats]) -> Codes:
        """Run a programme; returns the words of logits, [words, LANES]."""
        for descriptor in programme:
            region = regions[Region(descriptor.region).name.lower()]
            beats = region[descriptor.offset : descriptor.offset + descriptor.beats]
            mode = self.engine.modes[descriptor.mode]
            if descriptor.operation == Operation.LOAD:
                self._load(descriptor, mode, beats)
            elif descriptor.operation == Operation.SPARSE:
                self._sparse(descriptor, mode, beats)
            else:
                self._dense(descriptor, mode)
        return self.logits

    def _load(self, d: Descriptor, mode: Mode, beats: Beats) -> None:
        image = read_image(beats, self.engine, mode.places, d.count)
        memory = {Target.TABLE: self.table, Target.BIAS: self.bias, Target.ACTIVATION: self.activation}[
            Target(d.target)
        ]
        places = np.arange(self.engine.units) % mode.places
        memory[:, d.target_base : d.target_base + d.count] = image[places]

    def _sparse(self, d: Descriptor, mode: Mode, beats: Beats) -> None:
        index, value, last = read_entries(beats, mode.takers, d.count)
        tile = np.arange(d.tiles)
        sums: list[Codes] = []
        for unit in range(self.engine.units):
            taker = unit // mode.n
            ends = np.flatnonzero(last[:, taker])
            if not len(ends):
                sums.append(np.zeros((0, d.tiles, LANES), np.int64))
                continue
            # Entries behind the last row's end belong to no row.
            entries = slice(0, ends[-1] + 1)
            words = self.table[unit][d.table_base + index[entries, taker][:, None] + tile]
            products = value[entries, taker][:, None, None] * words
            starts = np.concatenate([[0], ends[:-1] + 1])
            reduce = np.maximum if d.reduce else np.add
            sums.append(reduce.reduceat(products, starts, axis=0))
        self._finish(d, mode, sums)

    def _dense(self, d: Descriptor, mode: Mode) -> None:
        element = np.arange(d.entries)
        depth = -(-d.entries // LANES)
        sums: list[Codes] = []
        for unit in range(self.engine.units):
            own = self.own[unit, d.own_base : d.own_base + d.count * depth].reshape(d.count, depth * LANES)
            words = self.table[unit, d.table_base : d.table_base + d.entries * d.tiles]
            weight = words.reshape(d.entries, d.tiles * LANES)
            sums.append((own[:, element] @ weight).reshape(d.count, d.tiles, LANES))
        self._finish(d, mode, sums)

    def _finish(self, d: Descriptor, mode: Mode, sums: list[Codes]) -> None:
        """Add the k units of a group, run the epilogue, and write the results."""
        rows: dict[tuple[int, int], Codes] = {}
        for group in range(mode.m):
            for column in range(mode.n):
                first = group * mode.places + column
                total = sum(sums[first + part * mode.n] for part in range(mode.k))
                rows[group, column] = self._epilogue(d, first, np.asarray(total))
        if d.target == Target.LOGITS:
            counts = {len(part) for part in rows.values()}
            assert len(counts) == 1 and mode.n == 1, "every group sends as many rows of logits"
            together = np.stack([rows[group, 0] for group in range(mode.m)], axis=1)
            self.logits = together.reshape(-1, LANES)
            return
        for (group, column), part in rows.items():
            if d.target == Target.OWN:
                place = d.target_base + np.arange(len(part)) * d.target_tiles
                self.own[group * mode.places + column, place[:, None] + np.arange(d.tiles)] = part
            else:
                self._scatter(d, mode, group, column, part)

    def _scatter(self, d: Descriptor, mode: Mode, group: int, column: int, part: Codes) -> None:
        """Write [rows, tiles, LANES] to the tables of all units that hold these columns."""
        units, wide = np.arange(self.engine.units), 1 << d.target_columns
        first = d.target_base + (np.arange(len(part)) * mode.m + group) * d.target_tiles
        for tile in range(d.tiles):
            whole = tile * mode.n + column
            readers = units[units % wide == whole % wide]
            self.table[readers[:, None], first + whole // wide] = part[:, tile]

    def _epilogue(self, d: Descriptor, unit: int, total: Codes) -> Codes:
        """[rows, tiles, LANES] results: shift, bias, saturation, activation."""
        y = shift_right_even(total, self.engine.shifts[d.shift])
        if d.bias:
            bias = self.bias[unit, d.bias_base : d.bias_base + d.tiles]
            y = y + (bias << (wire.LOGIT_EXTRA_BITS if d.bias_fine else 0))
        largest = (1 << (d.bits - 1)) - 1
        u = np.clip(y, -largest - 1, largest)
        if d.activation == Activation.RELU:
            return np.maximum(u, 0)
        if d.activation == Activation.TABLE:
            table = self.activation[unit, d.activation_base :].ravel()
            return table[u & ((1 << d.bits) - 1)]
        return u


def run(encoded: EncodedArray) -> Codes:
    """[N, classes] logits as integers."""
    return encoded.read_logits(run_region(encoded))


def run_region(encoded: EncodedArray) -> Beats:
    """The logit region that the kernel writes, as beats."""
    logits = Machine(encoded.accelerator.engine).execute(encoded.programme, encoded.regions)
    return encoded.logit_region(logits)
