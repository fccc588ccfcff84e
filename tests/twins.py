"""A searcher and one that was restored from its state: both must continue alike."""

from collections.abc import Callable

import numpy as np

from fgnas.engine.contracts import Objectives
from fgnas.searchers.breeding.population import Population
from fgnas.space import Rows


def assert_continues(searcher: Population, twin: Population, count: int, objectives: Callable[[Rows], Objectives]):
    """The twin, restored, proposes the same rows in eight batches, and ends with the same population."""
    twin.restore(searcher.state())
    for _ in range(8):
        rows, again = searcher.ask(count), twin.ask(count)
        assert np.array_equal(rows, again)
        searcher.tell(rows, objectives(rows))
        twin.tell(again, objectives(again))
    assert np.array_equal(searcher.rows, twin.rows)
