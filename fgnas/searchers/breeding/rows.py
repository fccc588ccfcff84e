"""Children of rows: decisions redrawn, and decisions taken from one of two parents.

Every function repairs what it returns, so that exactly the decisions with an effect are made.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fgnas.engine.contracts import Space
from fgnas.space import Rows, offered


def with_one_change(space: Space, rows: Rows, rng: np.random.Generator) -> Rows:
    """[n, decisions] rows with another option of one decision that has an effect and a choice, uniform over both."""
    sizes = np.array([len(decision.options) for decision in space.decisions])
    here = [offered(space.decisions, rows, column) & (size > 1) for column, size in enumerate(sizes)]
    free = np.stack(here, axis=1)
    column = np.where(free, rng.random(rows.shape), -1.0).argmax(axis=1)
    place, size = np.arange(len(rows)), np.maximum(2, sizes[column])
    step = 1 + np.floor(rng.random(len(rows)) * (size - 1)).astype(np.int64)
    changed = rows.copy()
    changed[place, column] = np.where(free[place, column], (rows[place, column] + step) % size, rows[place, column])
    return space.repaired(changed)


def redrawn(space: Space, rows: Rows, where: NDArray[np.bool_], rng: np.random.Generator) -> Rows:
    """[n, decisions] rows with the decisions `where`, [n, decisions], drawn again.

    A decision that has an effect in the child, and none in the draw, takes its first option.
    """
    return space.repaired(np.where(where, space.draw(len(rows), rng), rows))


def crossed(space: Space, mothers: Rows, fathers: Rows, rng: np.random.Generator) -> Rows:
    """[n, decisions] rows whose every position comes from the mother or the father, by an even chance.

    The decisions of a layer stay together; a decision of the whole design is a position by itself.
    """
    groups = positions(space)
    from_father = rng.random((len(mothers), groups.max() + 1)) < 0.5
    return space.repaired(np.where(from_father[:, groups], fathers, mothers))


def positions(space: Space) -> NDArray[np.int64]:
    """[decisions] the number of each decision's position, counted from 0 in the order of the decisions.

    The decisions of a layer are one position. Those of the whole design have nothing that keeps them together: each is
    a position by itself, so that designs that decide nothing by layer are crossed, too.
    """
    places = [one.name if one.position is None else one.position for one in space.decisions]
    found = list(dict.fromkeys(places))
    return np.array([found.index(place) for place in places], np.int64)
