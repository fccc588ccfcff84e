"""A graph of which nothing is known but its sizes: how much each node has, not which; a pipeline's price needs no more.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.errors import UserError
from fgnas.tasks import files

FIELDS = ("degrees", "features", "classes", "non_zeros")
"""Fields of a file, of which the last may be left out."""


@dataclass(frozen=True, eq=False)
class Degrees:
    """A graph by its sizes.

    Attributes:
        name: where they are from.
        degrees: [N] |S(i)|, the self-loop included, as in `GraphData`.
        non_zeros: [N] stored features of each node.
        width_in: features of a node.
        classes: classes of nodes.
    """

    name: str
    degrees: NDArray[np.int64]
    non_zeros: NDArray[np.int64]
    width_in: int
    classes: int

    @property
    def largest_neighbourhood(self) -> int:
        """The largest |S(i)| that hardware is built for, 1 at least."""
        return int(self.degrees.max(initial=1))

    @property
    def nodes(self) -> int:
        """N."""
        return len(self.degrees)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Degrees:
        """Those of an .npz file: `degrees` [N], the edges into each node without its own loop; `features` and
        `classes`, a number each; and, where not every node has every feature, `non_zeros` [N].

        Raises UserError with the first fault.
        """
        fields = files.fields_of(Path(path))
        try:
            return _checked(os.fspath(path), fields)
        except UserError as error:
            raise UserError(f"{path}: {error}") from None


def _checked(name: str, fields: dict[str, Any]) -> Degrees:
    if missing := [one for one in FIELDS[:-1] if one not in fields]:
        raise UserError(f"the sizes of a graph have {', '.join(FIELDS[:-1])}, and there is no {missing[0]}")
    width, classes = (_one(one, fields[one], least) for one, least in (("features", 1), ("classes", 2)))
    if width > files.MOST_COLUMNS:
        raise UserError(f"features is {width}; the kernel takes up to {files.MOST_COLUMNS}")
    degrees = _counts("degrees", fields["degrees"], 2**31)
    if not 0 < len(degrees) <= files.MOST_NODES:
        raise UserError(f"degrees has {len(degrees)} nodes; the kernel takes 1 to {files.MOST_NODES}")
    given = fields.get("non_zeros")
    non_zeros = np.full(len(degrees), width, np.int64) if given is None else _counts("non_zeros", given, width)
    if len(non_zeros) != len(degrees):
        raise UserError(f"non_zeros has {len(non_zeros)} nodes, and degrees {len(degrees)}")
    return Degrees(name, degrees + 1, non_zeros, width, classes)


def _one(name: str, value: Any, least: int) -> int:
    """A whole number. Raises UserError for anything else."""
    if np.ndim(value) or np.asarray(value).dtype.kind not in "iu" or int(value) < least:
        raise UserError(f"{name} is not a whole number from {least} on")
    return int(value)


def _counts(name: str, value: Any, most: int) -> NDArray[np.int64]:
    """[N] counts of 0 to `most`. Raises UserError for anything else."""
    found = np.asarray(value)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise UserError(f"{name} is {found.dtype} of the shape {list(found.shape)}, not one whole number for each node")
    if found.size and (found.min() < 0 or found.max() > most):
        place = int(((found < 0) | (found > most)).argmax())
        raise UserError(f"{name}[{place}] is {found[place]}, not 0 to {most:,}")
    return found.astype(np.int64)
