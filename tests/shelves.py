"""A whole system in fifty lines: shelves, whose strength a formula gives in place of a training."""

from dataclasses import asdict, dataclass

import numpy as np

from fgnas.costs import Limit, Quantity
from fgnas.engine.contracts import Composition, Outcome, Score
from fgnas.options import NATURAL, SearchOptions, option
from fgnas.space import Choice, Space

WEIGHT = {"pine": 400, "oak": 700, "steel": 1600}


@dataclass(frozen=True)
class Options(SearchOptions):
    grams: int = option(4000, "weight of a shelf at most", NATURAL, "N")


@dataclass(frozen=True)
class Shelf:
    wood: str
    boards: int
    nails: int
    hash = training_key = score_key = property(lambda self: f"{self.wood}-{self.boards}-{self.nails}")
    to_dict = asdict


class ShelfSpace(Space):
    def candidate(self, row):
        return Shelf(*(one.options[index] for one, index in zip(self.decisions, row.tolist(), strict=True)))


class Scales:
    """The target: the weight of a shelf, for many rows at once."""

    costs = (Quantity("grams", "Weight", "g", scale=0.001, shown_unit="kg"),)

    def price(self, rows):
        wood, boards = np.array(list(WEIGHT.values()))[rows[:, 0]], rows[:, 1] + 2
        return {"grams": (wood * boards + 5 * rows[:, 2]).astype(np.float64)}


class Workbench:
    """The trainer: how much a shelf carries; a seed moves it a little."""

    scores = (Quantity("strength", "Strength", "share", lower_is_better=False),)

    def __init__(self, seed):
        self.seed, self.seen = seed, set()

    def carries(self, shelf, repetition):
        luck = np.random.default_rng([self.seed, repetition, *shelf.hash.encode()]).normal(0, 0.01)
        return float(np.tanh(WEIGHT[shelf.wood] * shelf.boards * (1 + shelf.nails) / 30_000) + luck)

    def prepare(self, store, workers):
        """Nothing to train beforehand."""

    def score(self, candidates, workers):
        found = []
        for shelf in candidates:
            known = shelf.hash in self.seen
            self.seen.add(shelf.hash)
            found.append(Score({"strength": self.carries(shelf, 0)}, trained=not known, cached=known))
        return found

    def resume(self, trials, store):
        self.seen = {trial.design_hash for trial in trials}

    def keep(self, leaders, store):
        """A formula has no weights to keep."""

    def retrain(self, candidates, repetition, workers):
        return [Outcome({"strength": self.carries(one, repetition)}, repetition, None) for one in candidates]

    def refine(self, jobs, workers):
        return [outcome for _, _, outcome in jobs]

    def save(self, name, outcome, store):
        return {}

    def test(self, candidate, outcome):
        return {"loaded": {"val": outcome.scores["strength"], "test": self.carries(candidate, outcome.seed + 99)}}


CHOICES = (
    Choice("wood", tuple(WEIGHT), "frame"), Choice("boards", (2, 3, 4, 5), "frame"),
    Choice("nails", tuple(range(12)), "detail", fastest="most"),
)  # fmt: skip


back_end = None  # shelves are not built here


def compose(options, data=None):
    heaviest = Limit("grams", options.grams, lambda grams: f"{grams:g} g are over {options.grams} g")
    return Composition(
        ShelfSpace("shelves", 1, CHOICES), Scales(), Workbench(options.seed), (heaviest,),
        objectives=("strength",), fronts=(("grams",),), label="shelves",
    )  # fmt: skip
