"""Hardware first, accuracy only where it holds: the evaluator of a co-design search."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fgnas.design import Design
from fgnas.engine.jobs import Job, Result
from fgnas.hardware.pipeline.pricing import UNLIMITED_DSP, Pricer, Prices, Specification
from fgnas.networks.training import Recipe, Trained, child_seed
from fgnas.space import Indices, Space
from fgnas.tasks.nodes import GraphData

NETWORKS_KEPT_BYTES = 512 << 20
"""Float networks held for designs that share an architecture; beyond it the longest unused are trained again."""


@dataclass(frozen=True)
class Score:
    """The objective of one design.

    Attributes:
        val: quantised validation accuracy, 0 to 1.
        float_val, epoch: of the float network that was quantised.
        trained: whether this was the first design of its architecture.
        cached: whether the very design came before.
    """

    val: float
    float_val: float
    epoch: int
    trained: bool
    cached: bool


class CoDesign:
    """Prices samples; trains, quantises and validates the designs that keep the specification.

    Float training is shared by all designs of an architecture, the score by all that have its formats as well: how
    parallel a design is changes no number. "Came before" means in asking order, so that it depends on no clock.
    """

    def __init__(
        self,
        data: GraphData,
        space: Space,
        specification: Specification,
        seed: int,
        recipe: Recipe,
        run: Callable[[list[Job]], list[Result]],
    ) -> None:
        self.data, self.space, self.specification = data, space, specification
        self.seed, self.recipe, self.run = seed, recipe, run
        self.pricer = Pricer(data, specification.family)
        self.dsp = UNLIMITED_DSP if specification.dsp is None else specification.dsp
        self._scores: dict[str, Score] = {}
        self._designs: set[str] = set()
        self._architectures: set[str] = set()
        self._networks: OrderedDict[str, Trained] = OrderedDict()
        self.trainings = 0

    def check(self, samples: Indices) -> tuple[Prices, NDArray[np.bool_]]:
        """What n samples cost, and whether each keeps every constraint."""
        prices = self.pricer.price(self.space.columns(samples), self.dsp)
        return prices, prices.feasible(self.specification)

    def evaluate(self, designs: list[Design]) -> list[Score]:
        """The scores of designs, in order."""
        results = self._score_new(designs)
        scores = []
        for design in designs:
            numerics = design.numerics_hash
            if (known := self._scores.get(numerics)) is None:
                trained, val = results[numerics]
                known = Score(val, trained.val, trained.epoch, False, False)
            first, cached = design.architecture_hash not in self._architectures, design.hash in self._designs
            scores.append(replace(known, trained=first, cached=cached))
            self.remember(design, known)
        return scores

    def _score_new(self, designs: list[Design]) -> dict[str, tuple[Trained, float]]:
        """What was never scored before, by its numerics: one job for each architecture."""
        groups: dict[str, dict[str, Design]] = {}
        for design in designs:
            if (numerics := design.numerics_hash) not in self._scores:
                groups.setdefault(design.architecture_hash, {})[numerics] = design
        jobs = [self.job(list(group.values()), 0, self._networks.get(name)) for name, group in groups.items()]
        self.trainings += sum(job.trained is None for job in jobs)
        found: dict[str, tuple[Trained, float]] = {}
        for (name, group), result in zip(groups.items(), self.run(jobs), strict=True):
            self.keep(name, result.trained)
            found |= {key: (result.trained, val) for key, val in zip(group, result.val, strict=True)}
        return found

    def job(self, designs: list[Design], repetition: int, trained: Trained | None = None) -> Job:
        """Designs of one architecture; repetition 0 is the search's own training, others are retrainings."""
        architecture = designs[0].architecture()
        seed = child_seed(self.seed, architecture, repetition)
        data = self.data
        return Job(data.name, data.fingerprint, architecture, seed, self.recipe, tuple(designs), trained)

    def remember(self, design: Design, score: Score) -> None:
        """Take a design for seen, with this score."""
        self._scores[design.numerics_hash] = score
        self._designs.add(design.hash)
        self._architectures.add(design.architecture_hash)

    def keep(self, architecture_hash: str, trained: Trained) -> None:
        """Hold a network for later designs of its architecture."""
        self._networks[architecture_hash] = trained
        self._networks.move_to_end(architecture_hash)
        while len(self._networks) > 1 and sum(map(_bytes, self._networks.values())) > NETWORKS_KEPT_BYTES:
            self._networks.popitem(last=False)

    def networks(self, architecture_hashes: Iterable[str]) -> dict[str, Trained]:
        """Those of the named networks that are held."""
        return {name: self._networks[name] for name in architecture_hashes if name in self._networks}


def _bytes(trained: Trained) -> int:
    return sum(layer.weight.nbytes for layer in trained.network.layers)
