"""The data that a host sends to run a programme, and the reading of the results that come back."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from fgnas.fixedpoint import Codes
from fgnas.hardware.array.bits import packed, signed, unpacked
from fgnas.hardware.array.dealing import Deal
from fgnas.hardware.array.engine import LANES, RESULT_BITS, Engine, Mode
from fgnas.hardware.array.lowering import ArrayAccelerator
from fgnas.hardware.array.packing import Schedule
from fgnas.hardware.array.placing import Dealt
from fgnas.hardware.array.programme import Descriptor, Target, check_of, descriptor_beats
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.wire import Beats


class Leaving(NamedTuple):
    """How a programme's results leave, as logits do.

    Attributes:
        deal: the dealing of their rows.
        mode: of the descriptor that they leave from.
        tiles: words of a row.
        width: numbers of a row that mean something.
    """

    deal: Deal
    mode: Mode
    tiles: int
    width: int


class Encoded(ABC):
    """A programme with everything that the host sends for it.

    Attributes:
        schedules: {descriptor number: slot rows} of the sparse descriptors.
        programme: the descriptors.
        regions: bytes of the regions that the kernel reads, as beats.
    """

    schedules: dict[int, Schedule]
    programme: tuple[Descriptor, ...]
    regions: dict[str, Beats]

    @property
    @abstractmethod
    def engine(self) -> Engine:
        """The array that runs it."""

    @property
    @abstractmethod
    def leaving(self) -> Leaving:
        """How its results leave."""

    @property
    @abstractmethod
    def edges(self) -> int:
        """Edges of the first layer's graph."""

    @property
    def loads(self) -> int:
        """The descriptors in front that a further start leaves out, since what they load is still there; 0 where what
        they load is overwritten."""
        return 0

    @property
    def outputs(self) -> int:
        """Rows of logits that mean something: nodes, or graphs behind a `readout`."""
        return len(self.leaving.deal.group)

    @functools.cached_property
    def logit_rows(self) -> int:
        """Rows of the logit region: as many for every group as the fullest has."""
        return self.leaving.deal.groups * self.leaving.deal.depth

    @property
    def words_together(self) -> int:
        """Words of logits in a beat."""
        return self.engine.results_together(self.leaving.mode, self.leaving.tiles)

    @property
    def bytes_read(self) -> int:
        """Bytes that the kernel reads: the programme, and the beats of every descriptor."""
        beats = descriptor_beats(self.engine.beat_bits) * len(self.programme) + sum(one.beats for one in self.programme)
        return beats * self.engine.beat_bits // 8

    @property
    def bytes_written(self) -> int:
        """Bytes of the results; of several blocks the last one's leave."""
        beats = sum(one.result_beats for one in self.programme if one.target == Target.LOGITS)
        return beats * self.engine.beat_bits // 8

    @functools.cached_property
    def check(self) -> int:
        """The check of its programme on its engine: see `check_of`."""
        return check_of(self.regions["programme"], self.engine.digest)

    @property
    def again(self) -> dict[str, int]:
        """What a further start must know: `loads`, and the check of the programme without them."""
        check = check_of(self.programme_again, self.engine.digest) if self.loads else self.check
        return {"loads": self.loads, "check_again": check}

    @property
    def programme_again(self) -> Beats:
        """The beats of the programme without the loads."""
        return self.regions["programme"][self.loads * descriptor_beats(self.engine.beat_bits) :]

    def arguments(self) -> dict[str, Any]:
        """The arguments of `Kernel.run` of the board's driver; what it reads from a folder of vectors, too."""
        regions = {name: self.regions[name] for name in ("programme", "parameters", "features", "edges")}
        return {
            "descriptors": len(self.programme), "classes": self.leaving.width, "row_words": self.leaving.tiles,
            "beat_words": self.words_together,
            "logits_beats": self.logit_rows * self.leaving.tiles // self.words_together,
            "engine": self.engine.digest, "check": self.check, **self.again,
            "order": self.leaving.deal.position, **regions,
        }  # fmt: skip

    def logit_words(self, region: Beats) -> Codes:
        """[words, LANES] the words of logits in a region, in the order in which they leave."""
        return logit_words(region, self.engine, self.words_together)

    def logit_region(self, words: Codes) -> Beats:
        """The region of [words, LANES] words of logits."""
        together, room = self.words_together, self.engine.beat_bits // RESULT_BITS
        beats = words.astype("<i2").reshape(-1, together, LANES)
        padded = np.pad(beats, ((0, 0), (0, room - together), (0, 0)))
        return padded.reshape(-1, room * LANES).view(np.uint8)

    def read_logits(self, region: Beats) -> Codes:
        """[outputs, width] logits out of a logit region, in the order of the nodes or graphs."""
        rows = self.logit_words(region).reshape(self.logit_rows, self.leaving.tiles * LANES)
        return rows[self.leaving.deal.position, : self.leaving.width].astype(np.int64)


@dataclass(frozen=True, eq=False)
class EncodedArray(Encoded):
    """Everything that the host sends to run a network on a graph; see `Encoded`.

    Attributes:
        accelerator: the network on its engine.
        graphs: the graph of every layer in the network's integers; the first has the features.
        dealt: the dealing of its rows.
        layers: the layer of each descriptor; -1 of the loads before the first.
    """

    accelerator: ArrayAccelerator
    graphs: tuple[IntegerGraph, ...]
    dealt: Dealt
    schedules: dict[int, Schedule]
    programme: tuple[Descriptor, ...]
    layers: tuple[int, ...]
    regions: dict[str, Beats]

    @property
    def loads(self) -> int:
        """Those before the first layer, unless a later one loads other weights into the same words."""
        first = next((place for place, one in enumerate(self.programme) if one.computes), 0)
        return first if all(one.computes for one in self.programme[first:]) else 0

    def without_loads(self) -> EncodedArray:
        """What a further start runs: see `loads`."""
        count = self.loads
        schedules = {place - count: one for place, one in self.schedules.items()}
        return replace(self, programme=self.programme[count:], layers=self.layers[count:], schedules=schedules,
                       regions=self.regions | {"programme": self.programme_again})  # fmt: skip

    @property
    def graph(self) -> IntegerGraph:
        """That of the first layer."""
        return self.graphs[0]

    @property
    def nodes(self) -> int:
        """N."""
        return self.graph.nodes

    @property
    def engine(self) -> Engine:
        """The array."""
        return self.accelerator.engine

    @property
    def leaving(self) -> Leaving:
        """How the logits leave."""
        last = self.accelerator.plans[-1]
        return Leaving(self.dealt.layers[-1], last.aggregate, last.tiles, self.accelerator.source.shape.classes)

    @property
    def edges(self) -> int:
        """Edges of the first layer's graph."""
        return len(self.graph.sources)


def logit_words(region: Beats, engine: Engine, together: int) -> Codes:
    """[words, LANES] the words of logits in a region whose beats hold `together` of them."""
    words = region.view("<i2").reshape(-1, engine.beat_bits // RESULT_BITS, LANES)
    return words[:, :together].reshape(-1, LANES)


def no_beats(engine: Engine) -> Beats:
    """A region of nothing."""
    return np.zeros((0, engine.beat_bits // 8), np.uint8)


def image_beats(image: Codes, engine: Engine) -> Beats:
    """[places, words, LANES] codes as beats: word by word, the places of a word side by side."""
    words = image.transpose(1, 0, 2).reshape(-1, LANES)
    together, beat_bits = engine.loaded_together, engine.beat_bits
    words = np.pad(words, ((0, -len(words) % together), (0, 0)))
    if engine.bits == 8:  # a number is a byte: hosts that wait for a cloud need not look at its bits
        return words.astype(np.int8).view(np.uint8).reshape(-1, beat_bits // 8)
    return packed(words, engine.bits, beat_bits // together // 8).reshape(-1, beat_bits // 8)


def read_image(beats: Beats, engine: Engine, places: int, words: int) -> Codes:
    """The codes in beats of parameters, as `image_beats` lays them out."""
    word_bytes = engine.beat_bits // engine.loaded_together // 8
    codes = signed(unpacked(beats.reshape(-1, word_bytes), engine.bits, LANES), engine.bits)
    return codes[: words * places].reshape(words, places, LANES).transpose(1, 0, 2)
