"""Hardware of kernels: the protocol that the pipeline and the multiplier array implement.

A build is hardware with its sizes, and runs some calls. A loaded build has the parameters of one call.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from fgnas.errors import UserError
from fgnas.fixedpoint import Codes
from fgnas.hardware.numbers import ceil_div
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.specification import Specification
from fgnas.hardware.wire import Beats
from fgnas.network import Network
from fgnas.systems.magnas.calls import Call
from fgnas.systems.magnas.integers import Product
from fgnas.tasks.nodes import GraphData

Reals = NDArray[np.float32]
Index = NDArray[np.int64]


@dataclass(frozen=True)
class Sizes:
    """The largest call that a build holds.

    Attributes:
        inputs, outputs: features of a node that a call reads, and that one of its layers gives.
        nodes, neighbours: the most that a graph may have, and a node in it.
    """

    inputs: int
    outputs: int
    nodes: int
    neighbours: int

    def shape(self, inputs: int, outputs: int) -> GraphShape:
        """The facts of graphs with these features; capacities are rounded up as `GraphShape.of` rounds them."""
        degrees = 1 << max(1, (self.neighbours - 1).bit_length())
        return GraphShape(inputs, outputs, max(1, ceil_div(self.nodes, 1024)) * 1024, degrees)


class Regions(Protocol):
    """Memory regions that the processor writes before a call and reads after it. Every input of the call has the same
    layout.

    Attributes:
        answer: a region as the kernel writes it, in place of one.
    """

    @property
    def answer(self) -> bytes: ...

    def features(self, codes: Codes) -> Beats:
        """The feature region of codes [n * inputs], row by row."""

    def edges(self, index: NDArray[np.int64]) -> Beats:
        """The graph region of neighbours [n * K], row by row."""

    def read(self, answer: bytes) -> Codes:
        """[n, classes] the codes in a region that the kernel wrote."""


class Filled(Protocol):
    """A region whose places of one kind are filled again for every call."""

    def fill(self, values: Codes) -> Beats:
        """The region with these values."""


@dataclass(frozen=True, eq=False)
class FilledRegions:
    """The part of `Regions` that every build shares: the places of features and of neighbours."""

    sent: Filled
    received: Filled
    answer: bytes

    def features(self, codes: Codes) -> Beats:
        """The codes in their places."""
        return self.sent.fill(codes)

    def edges(self, index: Index) -> Beats:
        """The neighbours in theirs."""
        return self.received.fill(index)


class Loaded(Protocol):
    """A build with the parameters of one call."""

    def regions(self, rows: Reals, index: Index | None) -> Regions:
        """The regions of a call with such rows and neighbours."""

    def write(self, data: GraphData, directory: Path, specification: Specification) -> None:
        """Write the kernel's project, with this call as its test vectors."""

    def write_step(self, data: GraphData, folder: Path, specification: Specification) -> None:
        """Write this call below a project of the same build: as test vectors alone."""


Facts = TypeVar("Facts", bound=BaseModel)


def facts_of(model: type[Facts], content: object, field: str, source: str) -> Facts:
    """The description of a kernel's hardware, from the content of `field` in its file or from JSON text.

    Raises UserError if the content does not fit the model.
    """
    with told_in_one_line(field, source):
        return model.model_validate(json.loads(content) if isinstance(content, str) else content)


@contextmanager
def told_in_one_line(field: str, source: str) -> Iterator[None]:
    """Turn a ValidationError into a UserError that names the first wrong value of a field."""
    try:
        yield
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in (field, *first["loc"]))
        raise UserError(f"{source}: {place}: {first['msg'].removeprefix('Value error, ')}") from None


class Build(Protocol):
    """Hardware with its sizes; equal ones are the same hardware, whatever they are called.

    Attributes:
        FIELD: of a kernel's file, whose content the build is made from.
    """

    FIELD: ClassVar[str]

    @property
    def sizes(self) -> Sizes: ...

    @classmethod
    def of(cls, content: object, sizes: Sizes, source: str) -> Self:
        """The build of a field's content, or of its text. Raises UserError that begins with the source."""

    def to_json(self) -> str:
        """The field's content as one line of JSON."""

    def refusal(self, call: Call) -> str | None:
        """Why the build cannot run a call; None if it can."""

    def cycles(self, call: Call) -> int:
        """From the accepted start write to the interrupt, with the reference memory: exact."""

    def products(self, call: Call) -> tuple[Product, ...]:
        """The layers that a call runs as: their formats and widths."""

    def shape(self, call: Call) -> GraphShape:
        """The facts of a call's graphs."""

    def load(self, call: Call, network: Network, name: str) -> Loaded:
        """The build with the parameters of a call's network."""


def graph_of(rows: Reals, index: Index | None, shape: GraphShape, name: str = "") -> GraphData:
    """Rows [n, inputs], zeros stored too, and the neighbours [n, K] of each; None for the row itself alone."""
    count, width = rows.shape
    sources = np.arange(count)[:, None] if index is None else index
    columns = np.tile(np.arange(width, dtype=np.int32), count)
    begins = np.arange(0, count * width + 1, width)
    features = sp.csr_matrix((rows.ravel(), columns, begins), shape=(count, shape.width_in))
    degree = sources.shape[1]
    nobody = np.zeros(count, bool)
    return GraphData(
        name=name, features=features, indptr=np.arange(0, count * degree + 1, degree),
        sources=sources.ravel().astype(np.int64), labels=np.zeros(count, np.int64), classes=shape.classes,
        train=nobody, val=nobody, test=nobody,
    )  # fmt: skip
