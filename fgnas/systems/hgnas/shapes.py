"""Networks of operations whose weights do not matter: their steps on an array, for what depends on shapes alone; and
integers with random weights."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch

from fgnas.hardware import wire
from fgnas.hardware.array.points.fused import NO_CODES, Dense, Epilogue, Fused, Gathered, Joined, Made, Read
from fgnas.hardware.integer.gather import readout_fraction
from fgnas.hardware.integer.network import FEATURES, IntegerNetwork
from fgnas.hardware.integer.sample import Sample as IntegerSample
from fgnas.networks.points.model import GRAPH_SEED, PointModel, batch_of
from fgnas.networks.points.operations import (
    PARTS,
    Aggregate,
    Combine,
    Connect,
    EdgeConv,
    Join,
    Operation,
    PointNetwork,
    Sample,
    Tail,
)
from fgnas.networks.points.work import Cloud
from fgnas.systems.hgnas.integers import Given, built

POINTS = 4
"""Points of the clouds that a float network with random weights works on: fewer than any, so that it takes no time."""
USUAL_SHIFTS = 3
"""Products of trained networks are shifted by about as many bits as numbers have, most of them by one of so many."""


def shaped(network: PointNetwork, cloud: Cloud, bits: int) -> Fused:
    """The steps that `fused` finds in the integers of a network in formats of so many bits, whatever its weights;
    right shifts are usual ones."""
    shapes = _Shapes(cloud, bits)
    shapes.columns[FEATURES] = cloud.width
    for place, one in enumerate(network.operations):
        shapes.operation(str(place), one)
    shapes.tail(network.tail)
    widths = dict.fromkeys(shapes.columns, bits)
    return Fused(shapes.made, shapes.columns, widths, shapes.samples, bits)


@dataclass
class _Shapes:
    """Appends the steps of operations; see `integers` for what each of them is.

    Attributes:
        at, before: names of the current value, and of the value before the last change.
        sampled: the sample that aggregates read, made when the first of them asks.
        joined: values behind EdgeConvs.
    """

    cloud: Cloud
    bits: int
    made: dict[str, Made | IntegerSample] = field(default_factory=dict)
    columns: dict[str, int] = field(default_factory=dict)
    samples: dict[str, str] = field(default_factory=dict)
    at: str = FEATURES
    before: str = FEATURES
    sampled: tuple[str, str] | str = ""
    drawn: int = 0
    products: int = 0
    joined: list[str] = field(default_factory=list)

    def operation(self, name: str, one: Operation) -> None:
        """Append an operation of a canonical form."""
        match one:
            case Sample():
                self.sampled = (one.function, self.at)
                return
            case Combine():
                self._dense(name, self.at, one.features)
            case Connect():
                added = (self.before, 0, False)
                self._add(name, Gathered(self.at, None, 1, Epilogue(0, self.bits), added=added), self.columns[self.at])
            case Aggregate():
                self._aggregate(name, one)
            case EdgeConv():
                self._edgeconv(name, one.features)
            case Join():
                parts = tuple(f"{name}.{joined}" for joined in self.joined)
                for part, joined in zip(parts, self.joined, strict=True):
                    self._add(part, Gathered(joined, None, 1, Epilogue(0, self.bits)), self.columns[joined])
                self._join(name, parts)
        self.before, self.at = self.at, name

    def _add(self, name: str, made: Made, columns: int) -> None:
        self.made[name], self.columns[name] = made, columns

    def _dense(self, name: str, source: str, columns: int, bias: bool = True, relu: bool = True) -> None:
        shift, self.products = self.bits - 1 + self.products % USUAL_SHIFTS, self.products + 1
        epilogue = Epilogue(shift, self.bits, NO_CODES if bias else None, relu)
        self._add(name, Dense(source, None, epilogue), columns)

    def _join(self, name: str, parts: tuple[str, ...]) -> None:
        self._add(name, Joined(parts), sum(self.columns[one] for one in parts))

    def _neighbours(self) -> str:
        if isinstance(self.sampled, str):
            return self.sampled
        (function, at), name = self.sampled, f"neighbours{len(self.samples)}"
        nearest, k = function == "nearest", min(self.cloud.neighbours, self.cloud.points)
        self.made[name] = IntegerSample(
            "nearest" if nearest else "random", self.cloud.points, k, GRAPH_SEED, 0 if nearest else self.drawn
        )
        self.columns[name], self.samples[name], self.sampled = k, at, name
        self.drawn += not nearest
        return name

    def _aggregate(self, name: str, one: Aggregate) -> None:
        neighbours, parts = self._neighbours(), PARTS[one.message]
        names = tuple(f"{name}.{part}.rounded" for part in parts) if len(parts) > 1 else (name,)
        for part, whole in zip(parts, names, strict=True):
            columns = 1 if part == "distance" else self.columns[self.at]
            self._add(whole, self._reduced(one.reducer, part, neighbours), columns)
        if len(names) > 1:
            self._join(name, names)

    def _reduced(self, reducer: str, part: str, neighbours: str) -> Gathered:
        """The reduction of one part of the messages (source, target, relative or distance) over the neighbours."""
        k, plain = min(self.cloud.neighbours, self.cloud.points), Epilogue(0, self.bits)
        if part == "target":
            return Gathered(self.at, None, k if reducer == "sum" else 1, plain)
        own, distance = -k if part == "relative" and reducer == "sum" else 0, part == "distance"
        added = (self.at, 0, True) if part == "relative" and reducer != "sum" else None
        value, epilogue = {"sum": 1, "max": 1, "min": -1}.get(reducer), plain
        if value is None:
            fraction = readout_fraction(np.array([k]))
            value, epilogue = round(2**fraction / k), Epilogue(fraction, self.bits)
        extreme = reducer in ("max", "min")
        return Gathered(self.at, neighbours, value, epilogue, own, extreme, reducer == "min", added, distance)

    def _edgeconv(self, name: str, features: int) -> None:
        own, other = f"{name}.own", f"{name}.other"
        self._dense(own, self.at, features, relu=False)
        self._dense(other, self.at, features, bias=False, relu=False)
        epilogue = Epilogue(0, self.bits, behind=True)
        self._add(name, Gathered(other, self._neighbours(), 1, epilogue, largest=True, added=(own, 0, False)), features)
        self.joined.append(name)

    def tail(self, tail: Tail) -> None:
        """Append the tail."""
        self._dense("embedding", self.at, tail.embedding)
        for reducer, value in (("max", 1), ("mean", 0)):
            read = Read("embedding", value, reducer == "max", Epilogue(0, self.bits))
            self._add(f"readout.{reducer}", read, tail.embedding)
        self._join("readout", ("readout.max", "readout.mean"))
        at = "readout"
        for place, features in enumerate(tail.hidden):
            self._dense(f"hidden{place}", at, features)
            at = f"hidden{place}"
        classes, extra = self.cloud.classes, wire.logit_extra_bits(self.bits)
        self._dense("logits.product", at, classes, bias=False, relu=False)
        logits = Epilogue(-extra, wire.LOGIT_BITS, NO_CODES)
        self._add("logits", Gathered("logits.product", None, 1, logits), classes)


def unweighted(network: PointNetwork, cloud: Cloud, bits: int, seed: int = 0) -> IntegerNetwork:
    """The integers of a network with random weights, for clouds of these points, in formats of so many bits. Scales are
    those of random clouds."""
    # The state of torch's generator is the caller's: it is left as it was.
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        model = PointModel(network, cloud.width, cloud.classes).eval()
        for norm in (one for one in model.modules() if isinstance(one, torch.nn.BatchNorm1d)):
            norm.bias.normal_()  # a fresh norm has none, and an array loads no biases of zero
        clouds = torch.randn(2, POINTS, cloud.width)
        x, batch = batch_of(clouds, min(cloud.neighbours, POINTS))
        return built(model, cloud, Given(clouds.numpy().astype(np.float32), x, batch), bits, {})
