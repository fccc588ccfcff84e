"""Keeps the best design so far of a running search deliverable, so that a search can be stopped and still be used."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fgnas import progress
from fgnas.engine.contracts import Composition
from fgnas.engine.finish import Leaders
from fgnas.engine.jobs import Workers
from fgnas.engine.store import RunStore
from fgnas.engine.trial import Trial

GROWTH = 4
"""The best so far is made deliverable again when the search is this many times as long."""


class Early:
    """Keeps the best design so far as the only leader of an unfinished run.

    It is trained again and refined with one seed, as leaders are, but nobody judges it: after the first batch, and
    whenever the search is `GROWTH` times as long as the last time. It changes no other result. The test split is not
    read.
    """

    def __init__(self, parts: Composition, store: RunStore, workers: Workers) -> None:
        self.parts, self.store, self.workers = replace(parts, judge=None), store, workers
        self.due, self.design = 0, (store.early() or {}).get("design_hash", "")

    def update(self, children: int, leaders: list[Trial]) -> None:
        """Make the best of the leaders deliverable, if it is time to and another one was so before."""
        if children < self.due or not leaders:
            return
        self.due, best = GROWTH * children, leaders[0]
        if best.design_hash == self.design:
            return
        candidate = self.parts.space.candidate(np.array(best.row, np.int16))
        alone = Leaders(self.parts, [best], [candidate], 1)
        alone.retrain(self.workers)
        alone.refine(self.workers)
        self.store.deliver_early(alone.entries(self.store)[0])
        self.design = best.design_hash
        score = best.scores[self.parts.trainer.scores[0].name]
        progress.say(
            f"{self.store.folder}: design {best.design_hash[:12]} is ready ({score:.1%} in validation); from now on "
            "Ctrl-C may stop the search"
        )
