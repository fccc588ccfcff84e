"""The integer reference: executes a programme on the regions that the kernel reads, in NumPy, exactly.

It decodes the same beats as the kernel, and knows nothing of networks: units, memories, descriptors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fgnas.fixedpoint import Codes, divide_even, shift_right_even
from fgnas.hardware import wire
from fgnas.hardware.array.dealing import Ints
from fgnas.hardware.array.encoded import Encoded, read_image
from fgnas.hardware.array.engine import HEADS, LANES, Engine, Mode
from fgnas.hardware.array.programme import (
    NARROW_BITS,
    Activation,
    Attention,
    Descriptor,
    Operation,
    Region,
    Target,
    executed,
    read_entries,
)
from fgnas.hardware.array.sharing import clashes
from fgnas.hardware.integer.neighbourhood import root
from fgnas.hardware.wire import Beats


@dataclass
class Machine:
    """The memories of all units, as codes.

    Attributes:
        engine: the array.
        table, own: [S, words, LANES].
        bias, activation: [S, words, LANES].
        neighbours: [S, words] indices of nearest points.
        partial: [S, words, LANES] sums of rows that are not finished.
        logits: [words, LANES] in the order in which they leave.
    """

    engine: Engine
    table: Codes = field(init=False)
    own: Codes = field(init=False)
    bias: Codes = field(init=False)
    activation: Codes = field(init=False)
    partial: Codes = field(init=False)
    neighbours: Codes = field(init=False)
    logits: Codes = field(init=False)

    def __post_init__(self) -> None:
        for name in ("table", "own", "bias", "activation", "partial"):
            depth = getattr(self.engine, f"{name}_words")
            setattr(self, name, np.zeros((self.engine.units, depth, LANES), np.int64))
        chain = self.engine.neighbours
        self.neighbours = np.zeros((self.engine.units, chain.words if chain else 0), np.int64)
        self.logits = np.zeros((0, LANES), np.int64)

    def execute(self, programme: Sequence[Descriptor], regions: dict[str, Beats]) -> Codes:
        """Run a programme; returns the words of logits, [words, LANES]."""
        logits = [self.logits]
        for cloud, place in executed(programme):
            descriptor = programme[place]
            beats = _beats(descriptor, regions, cloud)
            mode = self.engine.modes[descriptor.mode]
            if descriptor.operation == Operation.LOAD:
                self._load(descriptor, mode, beats)
            elif descriptor.gathers:
                self._gather(descriptor, mode)
            elif descriptor.sample and descriptor.operation == Operation.DENSE:
                self._sample(descriptor)
            elif descriptor.place:
                self._pass(descriptor, mode)
            elif descriptor.operation == Operation.SPARSE:
                self._sparse(descriptor, mode, beats)
            elif descriptor.operation == Operation.DENSE:
                self._dense(descriptor, mode)
            else:
                steps = {
                    Attention.SCORES: self._scores_of_edges if descriptor.dot else self._scores,
                    Attention.MAXIMA: self._maxima, Attention.MESSAGES: self._messages,
                    Attention.QUERIES: self._queries,
                }  # fmt: skip
                steps[Attention(descriptor.attention)](descriptor, mode, beats)
            if descriptor.target == Target.LOGITS:
                logits.append(self.logits)
        return np.concatenate(logits)

    def _load(self, d: Descriptor, mode: Mode, beats: Beats) -> None:
        image = read_image(beats, self.engine, mode.places, d.count)
        memory = {Target.TABLE: self.table, Target.BIAS: self.bias, Target.ACTIVATION: self.activation,
                  Target.OWN: self.own}[Target(d.target)]  # fmt: skip
        places = np.arange(self.engine.units) % mode.places
        memory[:, d.target_base : d.target_base + d.count] = image[places]

    def _sparse(self, d: Descriptor, mode: Mode, beats: Beats) -> None:
        index, value, last = read_entries(beats, mode.takers, d.count, self.engine.bits)
        shared = self.engine.shared > 1
        if shared:
            assert not clashes(self.engine, mode, index, value), "no bank is asked for two words"
        tile = np.arange(d.tiles)
        sums: list[Codes] = []
        for unit in range(self.engine.units):
            taker = unit // mode.n
            goes = (value[:, taker] != 0) | (last[:, taker] != 0) if shared else slice(None)
            entries, starts = _rows(last[goes, taker])
            if not len(starts):
                sums.append(np.zeros((0, d.tiles, LANES), np.int64))
                continue
            words = self.table[unit][d.table_base + index[goes, taker][entries][:, None] + tile]
            if d.sample:
                row = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(words)))
                words = _distances(words, self._measured(d, unit, len(starts))[row])
            products = value[goes, taker][entries][:, None, None] * words
            reduce = np.maximum if d.reduce else np.add
            sums.append(reduce.reduceat(products, starts, axis=0))
        self._finish(d, mode, sums)

    def _sample(self, d: Descriptor) -> None:
        """The nearest points of every row of a unit: those with the smallest keys {squared distance, index}."""
        word, point = np.arange(d.tiles), np.arange(d.entries)
        for unit in range(self.engine.units):
            rows = self.own[unit][d.own_base + np.arange(d.count)[:, None] * d.tiles + word].reshape(d.count, -1)
            points = self.table[unit][d.table_base + point[:, None] * d.tiles + word].reshape(d.entries, -1)
            keys = ((rows[:, None] - points) ** 2).sum(axis=2) * len(point) + point
            found = np.sort(keys, axis=1)[:, : d.bias_base] % len(point)
            self.neighbours[unit, : found.size] = found.ravel()

    def _gather(self, d: Descriptor, mode: Mode) -> None:
        """Rows of the table that the nearest points name, and behind them the row itself where it has a value."""
        value, own = _signed(d.offset), _signed(d.beats)
        named = d.entries - (own != 0)
        sums: list[Codes] = []
        for unit in range(self.engine.units):
            index = self.neighbours[unit][: d.count * named].reshape(d.count, named)
            itself = np.arange(d.count)[:, None] * mode.m + unit
            index = np.concatenate([index, itself[:, : d.entries - named]], axis=1)
            words = self.table[unit][d.table_base + index[:, :, None] * d.limit + np.arange(d.tiles)]
            if d.sample:
                words = _distances(words, self._measured(d, unit, d.count)[:, None])
            values = np.where(np.arange(d.entries) < named, value, own)
            messages = values[:, None, None] * words
            sums.append(messages.max(axis=1) if d.reduce else messages.sum(axis=1))
        self._finish(d, mode, sums)

    def _measured(self, d: Descriptor, unit: int, rows: int) -> Codes:
        """[rows, tiles, LANES] the own rows whose distances are taken."""
        return self.own[unit][d.own_base + np.arange(rows)[:, None] * d.own_tiles + np.arange(d.tiles)]

    def _pass(self, d: Descriptor, mode: Mode) -> None:
        """Own words, each times the value."""
        self._finish(d, mode, [_signed(d.offset) * self._measured(d, unit, d.count) for unit in range(mode.units)])

    def _scores(self, d: Descriptor, mode: Mode, beats: Beats) -> None:
        """A word for each row of H: lane h has the score of the unit's head h as a source, lane HEADS + h as a target.

        The rows of the groups take turns. A word of H meets a word of a vector, lane by lane.
        """
        tiles = d.entries // 2
        lane = np.arange(tiles) // d.head_tiles
        sums = np.zeros((self.engine.units, d.count, 1, LANES), np.int64)
        for unit in range(self.engine.units):
            row = np.arange(d.count) * mode.m + unit // mode.places
            words = self.table[unit][d.table_base + row[:, None] * d.target_tiles + np.arange(tiles)]
            vectors = self.own[unit][d.own_base : d.own_base + d.entries].reshape(2, tiles, LANES)
            for side, vector in enumerate(vectors):
                np.add.at(sums[unit, :, 0].T, side * HEADS + lane, (words * vector).sum(axis=2).T)
        self._finish(d, mode, list(sums))

    def _queries(self, d: Descriptor, mode: Mode, beats: Beats) -> None:
        """Rows of H that a stream names, an entry a row, times the vector, lane by lane; or pairs of them, of which the
        second has a vector of its own."""
        index, _, last = read_entries(beats, mode.takers, d.count, self.engine.bits)
        sums: list[Codes] = []
        for unit in range(self.engine.units):
            taker = unit // mode.n
            entries, starts = _rows(last[:, taker])
            words = self.table[unit][d.table_base + index[entries, taker][:, None] + np.arange(d.tiles)]
            follows = np.ones(len(words), np.int64) * d.pair
            follows[starts] = 0
            place = d.own_base + follows * d.tiles
            products = words * self.own[unit][place[:, None] + np.arange(d.tiles)]
            sums.append(np.add.reduceat(products, starts, axis=0) if len(starts) else products)
        self._finish(d, mode, sums)

    def _scores_of_edges(self, d: Descriptor, mode: Mode, beats: Beats) -> None:
        """A word for each slot row: lane h has the score of the unit's head h, the product of the row's own words with
        those that the entry names. Behind a group's last row it is void."""
        index, _, last = read_entries(beats, mode.takers, d.count, self.engine.bits)
        word = np.arange(d.entries)
        sums = np.zeros((self.engine.units, d.count, 1, LANES), np.int64)
        for unit in range(self.engine.units):
            taker = unit // mode.n
            row = np.cumsum(last[:, taker]) - last[:, taker]
            place = np.minimum(d.own_base + row[:, None] * d.entries + word, self.engine.own_words - 1)
            words = self.table[unit][d.table_base + index[:, taker][:, None] + word]
            np.add.at(sums[unit, :, 0].T, word // d.head_tiles, (words * self.own[unit][place]).sum(axis=2).T)
        self._finish(d, mode, list(sums))

    def _maxima(self, d: Descriptor, mode: Mode, beats: Beats) -> None:
        """A word for each row: the largest scores of its sources, and the target's scores of its first entry.

        With symmetric scores it has both scores of the source with the largest sum, the first of equal ones. Scores of
        edges are own words, one for each slot row.
        """
        index, _, last = read_entries(beats, mode.takers, d.count, self.engine.bits)
        sums: list[Codes] = []
        for unit in range(self.engine.units):
            taker = unit // mode.n
            entries, starts = _rows(last[:, taker])
            scores = self.table[unit][d.table_base + index[entries, taker]]
            if d.dot:
                scores = self.own[unit][d.own_base : d.own_base + d.count][entries]
            found = np.zeros((len(starts), 1, LANES), np.int64)
            if len(starts) and d.symmetric:
                row = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(scores)))
                best = _first_largest(_exponents(scores[starts][row], scores), starts, row)
                for side in (slice(HEADS), slice(HEADS, LANES)):
                    found[:, 0, side] = np.take_along_axis(scores[:, side], best, axis=0)
            elif len(starts):
                found[:, 0, :HEADS] = np.maximum.reduceat(scores[:, :HEADS], starts, axis=0)
                found[:, 0, HEADS:] = scores[starts, HEADS:]
            sums.append(found)
        self._finish(d, mode, sums)

    def _messages(self, d: Descriptor, mode: Mode, beats: Beats) -> None:
        """Rows of H weighted by coefficients, and divided by the sum of these."""
        index, value, last = read_entries(beats, mode.takers, d.count, self.engine.bits)
        head = np.arange(d.tiles) // d.head_tiles
        sums: list[Codes] = []
        totals: list[Codes] = []
        for unit in range(self.engine.units):
            taker = unit // mode.n
            entries, starts = _rows(last[:, taker])
            place = d.table_base + index[entries, taker]
            row = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(place)))
            maxima, scores = self.own[unit][d.own_base + d.count * d.dot + row], self.table[unit][place]
            if d.dot:
                scores = self.own[unit][d.own_base : d.own_base + d.count][entries]
                difference = 5 * (maxima - scores)[:, head]
            elif d.symmetric:  # the row's own scores are those of its first entry
                own = scores[starts][row]
                difference = (_exponents(own, maxima) - _exponents(own, scores))[:, head]
            else:
                target = maxima[:, HEADS + head]
                difference = _fivefold(target + maxima[:, head]) - _fivefold(target + scores[:, head])
            c = self._coefficients(d, difference)
            assert self.engine.softmax is not None
            present, counted = value[entries, taker] != 0, self.engine.softmax.counted(value[entries, taker])
            messages = (c * present[:, None])[:, :, None] * self.table[unit][place[:, None] + 1 + np.arange(d.tiles)]
            if len(starts):
                reduce = np.maximum if d.reduce else np.add
                messages = reduce.reduceat(messages, starts, axis=0)
                c = np.add.reduceat(c * counted[:, None], starts, axis=0)
            sums.append(messages)
            totals.append(c)
        self._finish(d, mode, sums, totals)

    def _coefficients(self, d: Descriptor, difference: Codes) -> Codes:
        """256 exp of scores less their largest, from five times the differences."""
        assert self.engine.softmax is not None
        table = self.engine.softmax.coefficients()
        difference = difference << d.exponent_shift
        return np.where(difference < len(table), table[np.minimum(difference, len(table) - 1)], 0)

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

    def _finish(self, d: Descriptor, mode: Mode, sums: list[Codes], divisors: list[Codes] | None = None) -> None:
        """Add the k units of a group and their partial sums, run the epilogue, and write the results.

        `divisors`: [rows, tiles] of each unit, by which sums are divided.
        """
        rows: dict[tuple[int, int], Codes] = {}
        for group in range(mode.m):
            for column in range(mode.n):
                first = group * mode.places + column
                total = np.asarray(sum(sums[first + part * mode.n] for part in range(mode.k)))
                kept = slice(0, total.shape[0] * d.tiles)
                if d.accumulate:
                    partial = self.partial[first, kept].reshape(total.shape)
                    total = np.maximum(total, partial) if d.reduce else total + partial
                if d.target == Target.PARTIAL:
                    self.partial[first, kept] = total.reshape(-1, LANES)
                    continue
                divisor = None if divisors is None else divisors[first]
                rows[group, column] = self._epilogue(d, first, total, divisor)
        if d.target == Target.LOGITS:
            counts = {len(part) for part in rows.values()}
            assert len(counts) == 1 and mode.n == 1, "every group sends as many rows of logits"
            together = np.stack([rows[group, 0] for group in range(mode.m)], axis=1)
            self.logits = together.reshape(-1, LANES)
            return
        for (group, column), part in rows.items():
            if d.target == Target.OWN:
                place = d.target_base + np.arange(len(part)) * d.target_tiles
                self.own[group * mode.places + column, place[:, None] + np.arange(part.shape[1])] = part
            else:
                self._scatter(d, mode, group, column, part)

    def _scatter(self, d: Descriptor, mode: Mode, group: int, column: int, part: Codes) -> None:
        """Write [rows, tiles, LANES] to the tables of all units that hold these columns."""
        units, wide = np.arange(self.engine.units), 1 << d.target_columns
        first = d.target_base + (np.arange(len(part)) * mode.m + group) * d.target_tiles
        for tile in range(part.shape[1]):
            whole = tile * mode.n + column
            readers = units[units % wide == whole % wide]
            self.table[readers[:, None], first + whole // wide] = part[:, tile]

    def _epilogue(self, d: Descriptor, unit: int, total: Codes, divisor: Codes | None) -> Codes:
        """[rows, tiles, LANES] results: shift, quotient, bias, saturation, activation, and the unit's own rows."""
        y = shift_right_even(total, self.engine.shifts[d.shift])
        y = -y if d.negate else y
        if divisor is not None:
            y = divide_even(y, divisor[:, :, None])
        if d.bias:
            bias = self.bias[unit, d.bias_base : d.bias_base + y.shape[1]]
            y = y + (bias << (wire.LOGIT_EXTRA_BITS if d.bias_fine else 0))
        largest = (1 << (d.bits - 1)) - 1
        u = np.clip(y, -largest - 1, largest)
        if d.activation == Activation.RELU:
            u = np.maximum(u, 0)
        elif d.activation == Activation.TABLE:
            table = self.activation[unit, d.activation_base :].ravel()
            u = table[u & ((1 << d.bits) - 1)]
        if not d.residual:
            return u
        own = shift_right_even(self._own_rows(d, unit, len(u)), self.engine.shifts[d.residual_shift])
        least = 0 if d.activation == Activation.RELU_BEHIND else -largest - 1
        return np.clip(u - own if d.minus else u + own, least, largest)

    def _own_rows(self, d: Descriptor, unit: int, rows: int) -> Codes:
        """[rows, tiles, LANES] the unit's own rows that are added to as many finished ones, in their order."""
        words = d.own_tiles if d.NEIGHBOURS else d.target_tiles
        place = d.own_base + np.arange(rows)[:, None] * words + np.arange(d.tiles)
        return self.own[unit, place]


def _beats(d: Descriptor, regions: dict[str, Beats], cloud: int) -> Beats:
    """The beats that a descriptor reads, of a load of points those of a cloud; none of nearest points."""
    if d.region == Region.NEIGHBOURS:
        return next(iter(regions.values()))[:0]
    first = d.offset + (cloud * d.beats if d.brings_clouds else 0)
    return regions[Region(d.region).name.lower()][first : first + d.beats]


def _distances(words: Codes, own: Codes) -> Codes:
    """[..., 1, LANES] of words and own words [..., tiles, LANES] their distance, in the first lane."""
    squares = ((words - own) ** 2).sum(axis=(-2, -1))
    return np.pad(root(squares)[..., None, None], [(0, 0)] * (squares.ndim + 1) + [(0, LANES - 1)])


def _signed(code: int) -> int:
    """The value of an entry that a descriptor holds."""
    sign = 1 << (NARROW_BITS - 1)
    return (code ^ sign) - sign


def _fivefold(z: Codes) -> Codes:
    """5 LeakyReLU(z)."""
    return np.where(z >= 0, 5 * z, z)


def _exponents(own: Codes, other: Codes) -> Codes:
    """[n, HEADS] five times the symmetric scores, from words of scores [n, LANES] of a row's node and of the others."""
    there = _fivefold(own[:, HEADS:] + other[:, :HEADS])
    return there + _fivefold(other[:, HEADS:] + own[:, :HEADS])


def _first_largest(values: Codes, starts: Ints, row: Ints) -> Ints:
    """[rows, HEADS] place of the first of the largest [n, HEADS] values of each row."""
    largest = np.maximum.reduceat(values, starts, axis=0)[row]
    place = np.where(values == largest, np.arange(len(values))[:, None], len(values))
    return np.minimum.reduceat(place, starts, axis=0)


def _rows(last: Codes) -> tuple[slice, Ints]:
    """The entries of a taker that belong to a row, and where rows begin, from where they end."""
    ends = np.flatnonzero(last)
    if not len(ends):
        return slice(0, 0), np.zeros(0, np.int64)
    return slice(0, int(ends[-1]) + 1), np.concatenate([[0], ends[:-1] + 1])


def run(encoded: Encoded) -> Codes:
    """[N, classes] logits as integers."""
    return encoded.read_logits(run_region(encoded))


def run_region(encoded: Encoded) -> Beats:
    """The logit region that the kernel writes, as beats."""
    logits = Machine(encoded.engine).execute(encoded.programme, encoded.regions)
    return encoded.logit_region(logits)
