"""A network for point clouds as a list of operations: records, widths and a name by content (HGNAS, Table 2)."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

from fgnas.errors import UserError
from fgnas.files import canonical_json

LARGEST_WIDTH = 512
"""Features of a point at most, messages included."""


class MessageWidth(NamedTuple):
    """Features of a message of points with C features: `whole` times C, and `more`."""

    whole: int
    more: int


PARTS = {
    "source": ("source",),
    "target": ("target",),
    "relative": ("relative",),
    "distance": ("distance",),
    "source-relative": ("source", "relative"),
    "target-relative": ("target", "relative"),
    "full": ("target", "source", "relative", "distance"),
}
"""Parts of the message from a neighbour j to a point i: source x_j, target x_i, relative x_j - x_i, distance
|x_j - x_i|. Several parts are concatenated."""
MESSAGES = {
    name: MessageWidth(sum(part != "distance" for part in parts), int("distance" in parts))
    for name, parts in PARTS.items()
}
"""Widths of the messages, by name."""
REDUCERS = ("sum", "min", "max", "mean")
WIDTHS = (8, 16, 32, 64, 128, 256)
SAMPLES = ("nearest", "random")
CONNECTS = ("skip", "identity")


@dataclass(frozen=True)
class Connect:
    """The features as they are, or with those before the last change added where both have the same width."""

    KIND: ClassVar[str] = "connect"
    function: str

    def __post_init__(self) -> None:
        _check(self.KIND, self.function, CONNECTS)

    def width(self, given: int) -> int:
        """Features of a point behind it."""
        return given


@dataclass(frozen=True)
class Aggregate:
    """Messages of the neighbours, reduced; without a graph the features as they are."""

    KIND: ClassVar[str] = "aggregate"
    reducer: str
    message: str

    def __post_init__(self) -> None:
        _check("reducer", self.reducer, REDUCERS)
        _check("message", self.message, tuple(MESSAGES))

    def width(self, given: int) -> int:
        """Features of a point behind it."""
        whole, more = MESSAGES[self.message]
        return whole * given + more

    @property
    def changes_nothing(self) -> bool:
        """Whether every point keeps its features whatever the graph: those of i, reduced over its neighbours."""
        return self.message == "target" and self.reducer != "sum"


@dataclass(frozen=True)
class Combine:
    """A linear map, batch norm and relu."""

    KIND: ClassVar[str] = "combine"
    features: int

    def __post_init__(self) -> None:
        if self.features < 1:
            raise UserError(f"a combine makes 1 feature or more, not {self.features}")

    def width(self, given: int) -> int:
        """Features of a point behind it."""
        return self.features


@dataclass(frozen=True)
class Sample:
    """The graph that later aggregates read: k nearest neighbours by today's features, or k random points."""

    KIND: ClassVar[str] = "sample"
    function: str

    def __post_init__(self) -> None:
        _check(self.KIND, self.function, SAMPLES)

    def width(self, given: int) -> int:
        """Features of a point behind it."""
        return given


@dataclass(frozen=True)
class EdgeConv:
    """max over j of relu(norm(W (x_i | x_j - x_i))) (DGCNN, equation 8); `fused`, as the maximum of products of points:
    (W1 - W2) x_i + max over j of W2 x_j, norms folded into W before. No operation of the space: a baseline's."""

    KIND: ClassVar[str] = "edgeconv"
    features: int
    fused: bool = False

    def width(self, given: int) -> int:
        """Features of a point behind it."""
        return self.features


@dataclass(frozen=True)
class Join:
    """The features behind every EdgeConv so far, side by side; a baseline's."""

    KIND: ClassVar[str] = "join"

    def width(self, given: int) -> int:
        """Unknown without the operations before it: `widths` asks those."""
        raise NotImplementedError


Operation = Connect | Aggregate | Combine | Sample | EdgeConv | Join
KINDS: dict[str, type[Any]] = {one.KIND: one for one in (Connect, Aggregate, Combine, Sample, EdgeConv, Join)}


@dataclass(frozen=True)
class Tail:
    """The layers after the operations: a dense layer of `embedding` features, their maximum and mean over the points
    concatenated, dense layers of `hidden` features, and one of the classes."""

    embedding: int
    hidden: tuple[int, ...]

    def __post_init__(self) -> None:
        if min(self.embedding, *self.hidden, 1) < 1:
            raise UserError(f"a tail has layers of 1 feature or more, not {self.embedding} and {self.hidden}")

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Tail:
        """The tail of plain values."""
        return cls(content["embedding"], tuple(content["hidden"]))


TAILS = {"small": Tail(64, (64,)), "middle": Tail(256, (128,)), "paper": Tail(1024, (512, 256))}
"""Tails by name: of digit-points, of other data, and DGCNN's."""


@dataclass(frozen=True)
class PointNetwork:
    """A network: its operations in order, and its tail."""

    operations: tuple[Operation, ...]
    tail: Tail

    @functools.cached_property
    def hash(self) -> str:
        """Shortened SHA-256 of the record."""
        return hashlib.sha256(canonical_json(self.to_dict()).encode()).hexdigest()[:12]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "operations": [{"operation": one.KIND, **asdict(one)} for one in self.operations],
            "tail": {"embedding": self.tail.embedding, "hidden": list(self.tail.hidden)},
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> PointNetwork:
        """The record of plain values. Raises UserError for a wrong one."""
        try:
            tail = Tail.from_dict(content["tail"])
            return cls(tuple(_operation(dict(one)) for one in content["operations"]), tail)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"not a network of operations: {error!r}") from None


def widths(operations: Sequence[Operation], width_in: int) -> list[int]:
    """Features of a point behind each operation, with a graph before the first aggregate."""
    found, joined, at = list[int](), 0, width_in
    for one in operations:
        at = joined if isinstance(one, Join) else one.width(at)
        joined += at if isinstance(one, EdgeConv) else 0
        found.append(at)
    return found


def _operation(content: dict[str, Any]) -> Operation:
    kind = content.pop("operation")
    if kind not in KINDS:
        raise UserError(f"unknown operation {kind!r}; known: {', '.join(KINDS)}")
    made: Operation = KINDS[kind](**content)
    return made


def _check(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise UserError(f"unknown {what} {name!r}; known: {', '.join(known)}")
