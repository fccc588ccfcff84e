"""The contracts of a search. A system composes a space, a target and a trainer; searchers and the engine know none.

Three rules keep it small: a nested search is a target, a staged search is a searcher, a supernet is a trainer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from fgnas.costs import Costs, Limit, Quantity, feasible
from fgnas.space import Decision, Rows

if TYPE_CHECKING:
    from fgnas.engine.jobs import Workers
    from fgnas.engine.store import RunStore
    from fgnas.engine.survey import Survey
    from fgnas.engine.trial import Trial

Objectives = NDArray[np.float64]
"""[n, objectives], all of them maximised."""

Infeasible = Literal["redraw", "zero", "accept"]
"""The treatment of a row that breaks a limit. redraw: drop it and ask the searcher again; zero: tell the searcher
zeros; accept: evaluate it like any other."""


BATCH = 20
"""Default number of rows between two updates of a searcher: networks that are trained together cost less."""


class Candidate(Protocol):
    """The meaning of a row.

    `hash` names it, `training_key` what its training depends on, `score_key` what its scores depend on.
    """

    @property
    def hash(self) -> str: ...

    @property
    def training_key(self) -> str: ...

    @property
    def score_key(self) -> str: ...

    def to_dict(self) -> dict[str, Any]:
        """The candidate as plain JSON values."""


class Space(Protocol):
    """The decisions that make a candidate: per layer, per position, or for the whole design."""

    @property
    def name(self) -> str: ...

    @property
    def decisions(self) -> Sequence[Decision]: ...

    def draw(self, count: int, rng: np.random.Generator) -> Rows:
        """[count, decisions] rows, uniform over the options that have an effect."""

    def repaired(self, rows: Rows) -> Rows:
        """Repair rows of a mutation or a crossover, so that exactly the decisions with an effect are made."""

    def candidate(self, row: NDArray[np.int16]) -> Candidate:
        """The candidate of one row."""


class Target(Protocol):
    """The costs of candidates, computed cheaply over arrays of rows."""

    @property
    def costs(self) -> tuple[Quantity, ...]: ...

    def price(self, rows: Rows) -> Costs:
        """Every cost of n rows, [n] each."""


@dataclass(frozen=True)
class Score:
    """The scores of one candidate by name; `trained` and `cached` say what it shared with others (see `Trial`)."""

    values: dict[str, float]
    trained: bool
    cached: bool


@dataclass(frozen=True, eq=False)
class Outcome:
    """A candidate after one retraining: its scores on the validation split, the seed, and the model itself."""

    scores: dict[str, float]
    seed: int
    model: Any


class Trainer(Protocol):
    """The quality of candidates of the system's own space. Validation chooses; `test` alone looks at the test split.

    One may have a function `warm_up` of a module, which each worker calls before its first job, to load what jobs need.
    """

    @property
    def scores(self) -> tuple[Quantity, ...]: ...

    def prepare(self, store: RunStore, workers: Workers) -> None:
        """Train the parts that every score needs, such as a supernet, once; resumable, saved in the store."""

    def score(self, candidates: Sequence[Any], workers: Workers) -> list[Score]:
        """The scores of candidates, in order. The order alone decides which of them counts as trained."""

    def resume(self, trials: Sequence[Trial], store: RunStore) -> None:
        """Continue after these trials as if they had just been scored."""

    def keep(self, leaders: Sequence[Trial], store: RunStore) -> None:
        """Keep only the files in the store that continuing with these leaders needs."""

    def retrain(self, candidates: Sequence[Any], repetition: int, workers: Workers) -> list[Outcome]:
        """Train candidates with a fresh seed; repetitions count from 1."""

    def refine(self, jobs: Sequence[tuple[Any, int, Outcome]], workers: Workers) -> list[Outcome]:
        """Improve (candidate, repetition, outcome) before delivery, such as by fine-tuning; or return the outcomes."""

    def save(self, name: str, outcome: Outcome, store: RunStore) -> dict[str, Any]:
        """Store the model under the name; returns the entry's fields that find it again."""

    def test(self, candidate: Any, outcome: Outcome) -> dict[str, dict[str, float]]:
        """Accuracy by kind ("float", "quantised" ...) and split ("val", "test"). Reads the test split."""


class Smaller(Protocol):
    """Smaller hardware for models that are trained already."""

    @property
    def saved(self) -> str:
        """The cost that it keeps low."""

    def variants(self, row: NDArray[np.int16]) -> list[tuple[Any, dict[str, int | float]]]:
        """Candidates within the limits that run the models of a row's candidate, each with its costs by name."""

    def score(self, jobs: Sequence[tuple[Sequence[Any], int, Outcome]], workers: Workers) -> list[list[float]]:
        """The first score of each variant in (variants, repetition, outcome), by job."""


class Searcher(Protocol):
    """Proposes rows and learns from their objectives.

    A searcher with an attribute `distinct` that is true is told about no row twice: the engine redraws such rows.
    One that plans its children from the start has a method `planned(children)`, which returns what it derives from
    their number; a run is continued with more children only where that stays the same.
    """

    @property
    def infeasible(self) -> Infeasible:
        """The treatment of rows that break a limit; it may change from batch to batch."""

    @property
    def batch(self) -> int:
        """Number of feasible rows between two updates; it never depends on the number of workers."""

    def ask(self, count: int) -> Rows:
        """[count, decisions] rows; a searcher whose infeasible rows are redrawn may have no more of them, and returns
        none."""

    def tell(self, rows: Rows, objectives: Objectives) -> None:
        """The objectives of m rows, [m, objectives], in the order of the request."""

    def state(self) -> dict[str, Any]:
        """The complete state, from which the search continues: tensors, NumPy arrays and plain values."""

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""


class Watcher(Protocol):
    """Sees a search while it runs, such as to log it elsewhere; it changes no result."""

    def begin(self, store: RunStore, trials: Sequence[Trial]) -> None:
        """The search begins in a store, behind these trials if it continues a run."""

    def see(self, trials: Sequence[Trial]) -> None:
        """The trials of a batch that was committed."""

    def end(self, store: RunStore, best: dict[str, Any]) -> None:
        """The search has delivered the content of best.json."""


@dataclass(frozen=True, eq=False)
class Problem:
    """The search problem: everything that a searcher may know.

    Attributes:
        space, target, limits: where to search, at what costs, within which limits.
        survey: the result of pricing uniform draws before the search.
        seed, children: the seed and the number of samples of the run.
        options: every option of the run by name; a searcher reads its own.
    """

    space: Space
    target: Target
    limits: tuple[Limit, ...]
    survey: Survey
    seed: int
    children: int
    options: Mapping[str, Any] = field(default_factory=dict)

    def feasible(self, rows: Rows) -> NDArray[np.bool_]:
        """[n] whether rows keep every limit."""
        return feasible(self.target.price(rows), self.limits)


MakeSearcher = Callable[[Problem], Searcher]


class BackEnd(Protocol):
    """Turns a delivered candidate into verified files.

    Attributes:
        offered: the module of Python's interface that lowers an opened entry for any data and device, as its function
            `offered(found, label)` returns it; None: an entry is several accelerators, which `write` alone makes.
    """

    offered: str | None

    def built(self, entry: dict[str, Any]) -> bool:
        """Whether an entry of leaders.json has hardware: whether `write` can make its project."""

    def open(self, entry: dict[str, Any], folder: Path) -> Any:
        """An entry of leaders.json of the run in `folder`, with its model. Raises UserError if it is damaged."""

    def write(self, delivered: Any, data: Any, directory: Path, specification: Any = None) -> list[Path]:
        """Write the project of an opened entry for a task's data; `specification` replaces that of its search.

        Without data where nothing is `offered`: it finds the data of its search.
        """


@dataclass(frozen=True, eq=False)
class Composition:
    """One search, composed by a system from its options.

    Attributes:
        space, target, trainer, limits: the parts.
        objectives: names of scores and costs that the searcher is told, each turned so that more is better.
        fronts: names of the costs of each Pareto front, against the first score.
        weights: {cost: amount subtracted from the first score per unit of it} when leaders and the best are chosen.
        saved_cost: the cost that leaders save, and the cheapest of them; None: the first of the first front.
        smaller: smaller hardware for retrained models, which the cheapest may have; None: it is one of the leaders.
        label: a short name for runs, such as the dataset's.
        identity: everything but options and versions that determines the results, such as the data's fingerprint.
        delivered: fields of every leader's entry, such as the dataset.
        remark: a remark for the user about the survey's feasible rows, or "".
        survey_draws: uniform draws that a survey prices; None leaves the number to the survey.
        results: further files of a finished search, made from its trials: {name: content as plain JSON values}.
        judge: first scores of leaders on data that is held out in turn, by candidate, whose means rank the better half
            of the leaders, finalists at least. None: their scores on the validation split rank all.
    """

    space: Space
    target: Target
    trainer: Trainer
    limits: tuple[Limit, ...]
    objectives: tuple[str, ...]
    fronts: tuple[tuple[str, ...], ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    saved_cost: str | None = None
    smaller: Smaller | None = None
    label: str = "run"
    identity: Mapping[str, Any] = field(default_factory=dict)
    delivered: Mapping[str, Any] = field(default_factory=dict)
    remark: Callable[[Rows], str] = lambda rows: ""
    survey_draws: int | None = None
    results: Callable[[Sequence[Trial]], Mapping[str, Any]] = lambda trials: {}
    judge: Callable[[Sequence[Any], Workers], list[list[float]]] | None = None

    def feasible(self, rows: Rows) -> NDArray[np.bool_]:
        """[n] whether rows keep every limit."""
        return feasible(self.target.price(rows), self.limits)

    @property
    def saved(self) -> str | None:
        """The name of the cost that the cheapest of the leaders saves; None without costs."""
        named = (self.saved_cost, *(name for names in self.fronts for name in names))
        return next((name for name in (*named, *(cost.name for cost in self.target.costs)) if name is not None), None)


class System(Protocol):
    """A module that composes searches.

    `back_end` is None for a system whose candidates are not built.
    """

    Options: type[Any]
    back_end: BackEnd | None

    def compose(self, options: Any, data: Any = None) -> Composition:
        """The search that the options describe; `data`, if given, is not loaded again."""
