"""Symbols for tensors of a running model that are no sums of terms, such as the steps of a softmax over neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fgnas.errors import UserError
from fgnas.networks.imported.expressions import Affine, Workshop
from fgnas.networks.imported.inputs import Inputs
from fgnas.networks.imported.nodes import Ints, Reals

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Peak:
    """The maximum over every neighbourhood, with `picked` copied to each edge. With scores it starts a softmax."""

    of: Affine
    index: Ints
    rows: int
    picked: bool = False


@dataclass(frozen=True, eq=False)
class Lowered:
    """Scores below the largest of their neighbourhood; `raised`: their exponentials."""

    peak: Peak
    raised: bool = False


@dataclass(frozen=True, eq=False)
class Total:
    """The sum of a neighbourhood's exponentials; `picked`: that of each edge's."""

    peak: Peak
    picked: bool = False


@dataclass(frozen=True, eq=False)
class Weights:
    """The softmax of scores over each neighbourhood."""

    peak: Peak
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Weighted:
    """Rows of edges times the softmax of their scores."""

    weights: Weights
    value: Affine


@dataclass(frozen=True, eq=False)
class Product:
    """The product of two tensors, number by number."""

    a: Affine
    b: Affine


@dataclass(frozen=True, eq=False)
class Mask:
    """Where a comparison of a tensor's numbers holds."""

    of: Affine
    holds: Callable[[Reals], Bools]


@dataclass(frozen=True, eq=False)
class Pile:
    """Tensors side by side in a new last dimension."""

    each: tuple[Affine, ...]


@dataclass(frozen=True, eq=False)
class Final:
    """A softmax of classes, or its logarithm: it ends a model, and changes no order of classes."""

    of: Affine


Symbol = Affine | Peak | Lowered | Total | Weights | Weighted | Product | Mask | Pile | Final


@dataclass(frozen=True, eq=False)
class Call:
    """An operation of a running model.

    Attributes:
        name: of torch's operation.
        given: its arguments: a symbol for each tensor that depends on features.
        named: those by name.
        result: what it returned.
        place: the module that runs.
        workshop: makes nodes.
        inputs: of the model.
    """

    name: str
    given: Sequence[Any]
    named: dict[str, Any]
    result: Any
    place: str
    workshop: Workshop
    inputs: Inputs

    def refused(self, why: str) -> UserError:
        """The error that ends the import, with the name of the module."""
        return UserError(f"{self.place}: {why}")

    def argument(self, place: int, name: str, default: Any = None) -> Any:
        """An argument by place or by name."""
        return self.given[place] if len(self.given) > place else self.named.get(name, default)

    @property
    def shape(self) -> tuple[int, ...]:
        """Dimensions of the result behind its rows."""
        assert isinstance(self.result, Tensor)
        return tuple(self.result.shape[1:])


Handler = Callable[[Call], Any]
TABLE: dict[str, Handler] = {}
"""Handlers of torch's operations by name; the modules of `operations` register them."""


def operation(*names: str) -> Callable[[Handler], Handler]:
    """Register a handler of operations."""

    def registered(handler: Handler) -> Handler:
        TABLE.update(dict.fromkeys(names, handler))
        return handler

    return registered
