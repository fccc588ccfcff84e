"""Searches from Python: start one, resume it, read its results."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fgnas import options as named
from fgnas import searchers, systems
from fgnas.api.data import Data, data_of
from fgnas.api.designs import Design
from fgnas.api.projects import Project
from fgnas.errors import UserError
from fgnas.mapping.options import MAPPINGS
from fgnas.paths import RUNS
from fgnas.progress import say, step
from fgnas.tasks import pooled
from fgnas.tasks.nodes import GraphData

if TYPE_CHECKING:
    from pandas import DataFrame

    from fgnas.api.networks import PointDesign
    from fgnas.engine.contracts import BackEnd, Candidate, Watcher
    from fgnas.engine.store import RunStore
    from fgnas.engine.trial import Trial

MAPPING = "mapping-"
"""Prefix of the name of a mapping on a run's front; its number follows."""


@dataclass(frozen=True, eq=False)
class Run:
    """A search that is finished, or was stopped after its first design; its only leader is then the best so far.

    Attributes:
        best: the content of best.json; empty if it is not finished.
    """

    store: RunStore
    best: dict[str, Any]

    @classmethod
    def find(cls, name: str = "latest", runs: str | os.PathLike[str] = RUNS) -> Run:
        """A run by name or path, or the latest."""
        from fgnas.engine.store import RunStore

        store = RunStore.find(Path(runs), name)
        store.leaders()
        if store.early() is not None:
            say(
                f"the run {store.name} is not finished: this is its best design so far. Continue with "
                f"`fgnas search --run {store.name} --resume`"
            )
        return cls(store, store.best() or {})

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return self.store.folder

    @property
    def cheapest(self) -> dict[str, Any] | None:
        """The content of cheapest.json; None if nothing in the run's system costs anything.

        It is a leader, or the models of the leader of its `rank` on smaller hardware.
        """
        return self.store.cheapest()

    @property
    def front(self) -> list[dict[str, Any]]:
        """The leaders that no other beats in retrained accuracy and in all the costs of the fronts at once."""
        from fgnas.engine import choice

        return choice.front(self.store.leaders(), choice.front_costs(self.store.config()))

    @property
    def designs(self) -> list[Design | PointDesign]:
        """The leaders, best first, each with the weights that were scored."""
        return [self.design(rank) for rank in range(1, len(self.store.leaders()) + 1)]

    def design(self, rank: int | str = 1) -> Design | PointDesign:
        """A leader by rank, from 1, or "best" or "cheapest": the cheapest within one standard error of the best.

        Raises UserError for a system whose designs cannot be built.
        """
        entry, back_end = self._entry(rank), self._back_end()
        if back_end.offered is None:
            raise UserError(f"{self.folder} delivers no single design: write its accelerators with `fgnas hls`")
        found: Design | PointDesign = importlib.import_module(back_end.offered).offered(
            back_end.open(entry, self.folder), str(rank)
        )
        return found

    @property
    def delivers_designs(self) -> bool:
        """Whether a leader is one design, which `design` returns; `write` serves any run."""
        return self._back_end().offered is not None

    def write(self, directory: str | os.PathLike[str], rank: int | str = 1) -> Project:
        """Write what a leader is built from, by rank or name as in `design`, whole or not at all.

        In a run that maps its candidates "mapping-7" names a mapping on the front, by its number in mappings.json.
        """
        if self.delivers_designs:
            from fgnas.api.networks import PointDesign

            found = self.design(rank)
            if isinstance(found, PointDesign) and found.over_edges():
                size, wanted = found.delivered.size, found.delivered.specification
                network = found.imported()
                return network.write(directory, None, None, size.multipliers, size.beat_bits, specification=wanted)
            return found.lower().write(directory)
        back_end = self._back_end()
        with step("write the project"):
            back_end.write(back_end.open(self._entry(rank), self.folder), None, Path(directory))
        return Project(Path(directory))

    def _back_end(self) -> BackEnd:
        system = self.store.config().get("system", systems.DEFAULT)
        if (found := systems.find(system).back_end) is None:
            raise UserError(f"the system {system} of {self.folder} has no back end: its designs cannot be built")
        return found

    def _entry(self, rank: int | str) -> dict[str, Any]:
        """The entry of a leader in leaders.json, or that in cheapest.json."""
        entries = self.store.leaders()
        cheapest = self.cheapest
        named = {"best": entries[0]} | ({"cheapest": cheapest} if cheapest is not None else {})
        text = str(rank)
        if text in named:
            return named[text]
        if text.startswith(MAPPING):
            return self._mapped_entry(text)
        if not text.isdecimal() or not 1 <= int(text) <= len(entries):
            known = ", ".join(f"`{name}`" for name in named)
            raise UserError(f"--design is {str(rank)!r}: give {known} or a rank from 1 to {len(entries)}")
        return entries[int(text) - 1]

    def _mapped_entry(self, name: str) -> dict[str, Any]:
        """The entry of a mapping on the run's front, by the name that the page gives it."""
        front = self.store.result(MAPPINGS) or []
        number = name.removeprefix(MAPPING)
        if not number.isdecimal() or int(number) >= len(front):
            known = f"{MAPPING}0 to {MAPPING}{len(front) - 1}" if front else "no mappings"
            raise UserError(f"--design is {name!r}, but {self.folder} has {known}")
        # All mappings share everything else, such as the weights, so the first leader's entry gives it.
        return {**self.store.leaders()[0], **front[int(number)]}

    def rank(self, networks: int = 100, seeds: int = 2, workers: int | None = None) -> dict[str, Any]:
        """Kendall's tau of the run's scores against uniform networks trained alone; it continues what was measured.

        Returns `tau`, and `seeds_tau` between two seeds of the same networks; both also for the better half.
        """
        from fgnas.api.rankings import rank

        return rank(self.store, executor_factory("processes", None, workers), networks, seeds)

    def trials(self) -> list[Trial]:
        """Every trial, in order."""
        return self.store.trials()

    def frame(self) -> DataFrame:
        """The trials as a pandas DataFrame, whose index is the number of the trial; see `fgnas.exchange.tables`.

        Columns are scores, costs, the option of every decision, and the rank of leaders. Raises UserError without
        pandas.
        """
        from fgnas.exchange import tables

        return tables.frame(tables.columns_of(self.store))

    def report(self, page: Path | None = None, data: Data | None = None) -> Path:
        """Write the page, to report.html in the folder or to `page`; returns its path."""
        from fgnas.report.make import report_run

        return report_run(self.store, page, None if data is None else data_of(data))


def compare(runs: Sequence[Run | str], page: Path | None = None) -> dict[str, Any]:
    """Draw two to five runs side by side, to compared.html beside the first or to `page`; finished or not.

    Returns `page`, its path; `best` and `cheapest`, figures of the delivered designs by run; and `fronts`, by cost the
    members of each run's front and those of them that no other run beats. Raises UserError for runs whose scores
    differ.
    """
    from fgnas.engine.store import RunStore
    from fgnas.report.make import report_runs

    stores = [run.store if isinstance(run, Run) else RunStore.find(RUNS, run) for run in runs]
    written, found = report_runs(stores, page)
    return {"page": str(written), **found.to_dict()}


def candidates(count: int = 1, seed: int = 0, system: str | None = None, **given: Any) -> Iterator[Candidate]:
    """Random candidates of a system's space, uniform per choice, each with `to_dict`; `given` are options of its
    search that say what candidates there are (`Options.SHAPES`). Raises UserError for others."""
    found = systems.find(system or systems.DEFAULT)
    own = found.Options
    for name in given:
        if name not in own.SHAPES:
            raise UserError(f"{named.spelt(name)} does not say what candidates there are; {', '.join(own.SHAPES)} do")
    space = found.compose(named.made(own, own.resolved({**own.DRAWN, **given}))).space
    for row in space.draw(count, np.random.default_rng(seed)):
        yield space.candidate(row)


def search(
    dataset: Data | None = None,
    *,
    system: str | None = None,
    run: str | None = None,
    resume: bool = False,
    runs: str | os.PathLike[str] = RUNS,
    workers: int | None = None,
    executor: str = "processes",
    scheduler: str | None = None,
    track: Sequence[str | Watcher] = (),
    **options: Any,
) -> Run:
    """Search for the best candidate of a system that keeps its limits; writes `runs/<run>/`.

    `options` are those of the command line (docs/search.md); an option that is missing or None takes the
    resumed run's value, or else its default. `workers` and `executor` change no result; nor does `track`: "mlflow",
    "tensorboard", or objects with the methods of `fgnas.engine.contracts.Watcher`. An interrupted search raises
    KeyboardInterrupt with the command that continues it, as `resume` does.
    """
    from fgnas.engine.run import Plan, check_resumable, configuration
    from fgnas.engine.run import search as searched
    from fgnas.engine.store import LATEST, RunStore, check_name, next_name
    from fgnas.exchange.tracking import tracker

    runs = Path(runs)
    watchers = [tracker(one) if isinstance(one, str) else one for one in track]
    factory = executor_factory(executor, scheduler, workers)
    found = RunStore.find(runs, run or LATEST) if resume else None
    stored = found.config() if found else None
    name = (stored or {}).get("system") or system or systems.DEFAULT
    if found is not None and system not in (None, name):
        raise UserError(f"the run {found.name} is of --system {name}, not of {system}: leave out --system to continue "
                        f"it, or --resume to start another run")  # fmt: skip
    module = systems.find(name)
    loaded = dataset if isinstance(dataset, GraphData) else None
    if dataset is not None:
        options["dataset"] = _name_of(dataset) if isinstance(dataset, GraphData) else os.fspath(dataset)
    chosen = _options(module.Options, options, stored)
    make_searcher = searchers.find(chosen.method)
    with step("load the data and the models"):
        parts = module.compose(chosen, loaded)
    config = configuration(name, asdict(chosen), parts)
    longer = found is not None and check_resumable(found, config)
    if found is not None and not longer and (best := found.best()) is not None:
        return Run(found, best)
    run_name = found.name if found else run or next_name(runs, parts.label)
    if found is None:
        check_name(runs, run_name)

    def open_store() -> RunStore:
        if found is None:
            return RunStore.create(runs, run_name, config)
        if longer:
            found.lengthen(config)
        return found

    plan, before = Plan.of(chosen), (stored or {}).get("options", {}).get("children")
    try:
        best = searched(
            parts, plan, make_searcher, open_store, factory, resume=found is not None, before=before, watchers=watchers
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_how_to_go_on(runs, run_name)) from None
    return Run(RunStore.find(runs, run_name), best)


def _how_to_go_on(runs: Path, name: str) -> str:
    """The commands that continue an interrupted search or build its best design so far; empty before the run begins."""
    from fgnas.engine.store import RunStore

    if not (runs / name / "config.json").is_file():
        return ""
    build = f"; its best design so far is built by: fgnas hls {name}"
    command = f"; continue with: fgnas search --run {name} --resume"
    store = RunStore(runs / name)
    built = systems.find(store.config()["system"]).back_end is not None and store.early() is not None
    return (build if built else "") + command


def _options(cls: type[Any], given: dict[str, Any], stored: dict[str, Any] | None) -> Any:
    """The given options, or else those of the resumed run, or else the defaults."""
    wanted = cls.resolved({name: value for name, value in given.items() if value is not None})
    if stored is None:
        return named.made(cls, wanted)
    if not isinstance(before := stored.get("options"), dict):
        raise UserError("the run's config.json lacks its options: it is damaged; start a new run")
    return named.made(cls, {**before, **wanted})


def _name_of(data: GraphData) -> str:
    """The name by which workers load the same data. Raises UserError if they cannot."""
    try:
        same = pooled.load(data.name).fingerprint == data.fingerprint
    except UserError:
        same = False
    if not same:
        raise UserError(f"workers cannot load {data.name!r} from memory: save it to a file, and search on that")
    return data.name


def executor_factory(executor: str, scheduler: str | None, workers: int | None) -> Callable[[], Executor]:
    """Processes on this machine, or a cluster's workers; the choice changes no result."""
    from fgnas.engine.cluster import cluster
    from fgnas.engine.jobs import process_pool
    from fgnas.extras import require

    if executor == "processes":
        if scheduler:
            raise UserError("--scheduler is given, but not --executor dask")
        return process_pool(workers or os.cpu_count() or 1)
    if not scheduler:
        raise UserError("--executor dask needs --scheduler ADDRESS, such as tcp://127.0.0.1:8786")
    if workers:
        raise UserError("--workers is for processes on this machine: a dask cluster brings its own")
    require("distributed", "distributed")
    return cluster(scheduler)
