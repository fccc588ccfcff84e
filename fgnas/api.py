"""What fgnas can do, for Python: search, import, price, train, lower, write, simulate, synthesise.

The command line is a caller of this module and adds parsing and tables alone. Cycles are those of the whole graph,
latencies milliseconds, accuracies 0 to 1. Whatever cannot work raises `fgnas.UserError` with one line.
"""

from __future__ import annotations

import functools
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fgnas import design as choices
from fgnas.backends.project import MARK, write_project
from fgnas.defaults import DEFAULTS, PROJECTS, RUNS, SPECIFICATION
from fgnas.errors import UserError
from fgnas.files import replace_file
from fgnas.fixedpoint import Codes
from fgnas.hardware.pipeline import accelerator as hardware
from fgnas.hardware.pipeline import lowering, reference
from fgnas.hardware.pipeline.encoding import check_capacity, edge_beats, encode, feature_beats
from fgnas.hardware.pipeline.geometry import GraphShape
from fgnas.hardware.pipeline.pricing import Pricer, Specification
from fgnas.network import Network
from fgnas.progress import Count, counted, say, step
from fgnas.space import columns_of, find_space
from fgnas.tasks import nodes as datasets
from fgnas.tasks.nodes import GraphData

__all__ = [
    "Accelerator", "DEFAULTS", "Design", "GraphData", "PROJECTS", "Project", "RUNS", "Run", "SPECIFICATION",
    "UserError",
    "doctor", "import_model", "load", "passed", "prices", "read_designs", "sample", "search", "specification",
]  # fmt: skip

if TYPE_CHECKING:
    from fgnas.engine.jobs import ExecutorFactory
    from fgnas.engine.run import Reporter
    from fgnas.engine.store import RunStore
    from fgnas.tools.doctor import Part

Data = str | os.PathLike[str] | GraphData
"""A name, a path or a reference, or data that was loaded."""


def load(name: str | os.PathLike[str], split: str | None = None, normalise: bool = False) -> GraphData:
    """Data by name or from a file; `split` such as "60/20/20" makes masks, `normalise` scales rows to sum to 1."""
    return datasets.load(datasets.reference(name, split, normalise))


def _data(data: Data) -> GraphData:
    return data if isinstance(data, GraphData) else datasets.load(data)


# designs


@dataclass(frozen=True, eq=False)
class Design:
    """A design, with its weights where it has any.

    Attributes:
        choices: of every layer (docs/design.md).
        network: trained weights and their scales; None where `lower` is to train.
        dataset, fingerprint: the data that the weights were trained on.
        label: a short name, for folders.
        specification: what its search held it against; None for a design from elsewhere.
    """

    choices: choices.Design
    network: Network | None = None
    dataset: str | None = None
    fingerprint: str | None = None
    label: str = "design"
    specification: Specification | None = None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Design:
        """A design file; where it names weights, as `best.json` does, they come along."""
        path = Path(path)
        own = choices.Design.load(path)
        content = json.loads(path.read_text(encoding="utf-8"))
        kept = Specification.of(content["specification"], path) if "specification" in content else None
        if not isinstance(content.get("weights"), str):
            return cls(own, label=path.stem, specification=kept)
        network = Network.load(path.parent / content["weights"], content.get("sha256"))
        return cls(own, network, content.get("dataset"), content.get("fingerprint"), path.stem, kept)

    @classmethod
    def of(cls, content: dict[str, Any]) -> Design:
        """A design from JSON values."""
        return cls(choices.Design.from_dict(content))

    @property
    def hash(self) -> str:
        """Twelve hexadecimal digits that name the choices."""
        return self.choices.hash

    def to_dict(self) -> dict[str, Any]:
        """The choices as plain JSON values."""
        return self.choices.to_dict()

    def data(self, data: Data | None = None) -> GraphData:
        """The data to work on: given, else what the weights were trained on; never other than that."""
        found = _data(data or self.dataset or DEFAULTS["dataset"])
        if self.fingerprint is not None and found.fingerprint != self.fingerprint:
            raise UserError(
                f"{found.name} is not the data that {self.label} was made on, which was {self.dataset} "
                "(fingerprint differs)"
            )
        return found

    def price(self, data: Data, **specification: Any) -> dict[str, Any]:
        """Predicted cycles, LUT, FF, DSP, block RAM, and what of a specification they break."""
        return prices([self], data, **specification)[0]

    def train(self, data: Data | None = None, seed: int = 0, repetition: int = 0) -> Design:
        """The same design with weights: trained on the data and calibrated. Changes torch to one thread."""
        from fgnas.networks.calibration import calibrated
        from fgnas.networks.training import child_seed, recipe_for, train

        found, architecture = _data(data or DEFAULTS["dataset"]), self.choices.architecture()
        _one_thread()
        with step("train the weights"):
            trained = train(found, architecture, child_seed(seed, architecture, repetition), recipe_for(found.name))
            network = calibrated(self.choices, trained.network, found)
        return replace(self, network=network, dataset=found.name, fingerprint=found.fingerprint)

    def accuracy(self, data: Data | None = None) -> dict[str, dict[str, float]]:
        """Of the weights: "float" and "quantised", each on "val" and "test"."""
        from fgnas.networks.quantised import quantised_accuracy
        from fgnas.networks.training import float_accuracy

        found = self.data(data)
        if self.network is None:
            raise UserError(f"{self.label} has no weights yet: train it first")
        exact = float_accuracy(self.choices.architecture(), self.network, found)
        return {"float": exact, "quantised": quantised_accuracy(self.choices, self.network, found)}

    def evaluate(self, data: Data | None = None, seeds: int = 5) -> dict[str, Any]:
        """Mean and standard deviation of the accuracies over so many trainings from scratch."""
        found = _data(data or DEFAULTS["dataset"])
        seen: dict[tuple[str, str], list[float]] = {}
        begun, expected_s = time.monotonic(), None
        for repetition in range(1, seeds + 1):
            with step(f"seed {repetition} of {seeds}", expected_s):
                accuracies = self.train(found, repetition=repetition).accuracy(found)
            expected_s = (time.monotonic() - begun) / repetition * (seeds - repetition)
            for kind, splits in accuracies.items():
                for split, value in splits.items():
                    seen.setdefault((kind, split), []).append(value)
        result: dict[str, Any] = {"dataset": found.name, "design_hash": self.hash, "seeds": seeds}
        for (kind, split), values in seen.items():
            deviation = statistics.stdev(values) if len(values) > 1 else 0.0
            result.setdefault(kind, {})[split] = {"mean": statistics.fmean(values), "std": deviation}
        return result

    def lower(self, data: Data | None = None) -> Accelerator:
        """The accelerator for the data's graph; a design without weights is trained first."""
        found = self.data(data)
        trained = self if self.network is not None else self.train(found)
        assert trained.network is not None
        shape = GraphShape.of(found)
        made = lowering.lower(self.choices, trained.network, shape, found.label, self.hash)
        return Accelerator(trained, made, found)

    def save(self, path: str | os.PathLike[str], **extra: Any) -> Path:
        """Write the design file, and its weights beside it; `extra` goes into the file."""
        path = Path(path)
        content = {**extra, "design": self.to_dict(), "design_hash": self.hash}
        if self.specification is not None:
            content |= {"specification": self.specification.to_dict()}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if self.network is not None:
                weights = path.with_suffix(".npz")
                content |= {"weights": weights.name, "sha256": self.network.save(weights)}
                content |= {"dataset": self.dataset, "fingerprint": self.fingerprint}
            replace_file(path, json.dumps(content, indent=2, sort_keys=True) + "\n")
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}") from None
        return path


def _one_thread() -> None:
    """How many threads sum a product decides its last bits."""
    import torch

    torch.set_num_threads(1)


def specification(fpga: str | None = None, **limits: Any) -> Specification:
    """Limits by name, None for none given; a device, by name or file, sets its family and the limits not given."""
    from fgnas.hardware.devices import find_device, limits_of

    given = limits if fpga is None else limits | limits_of(find_device(fpga), limits)
    return Specification(**{name: value for name, value in given.items() if value is not None})


def prices(designs: Sequence[Design], data: Data, **limits: Any) -> list[dict[str, Any]]:
    """The price of each design, in order; `limits` as `specification` takes them.

    Designs of equally many layers are priced together.
    """
    given = specification(**limits)
    pricer = Pricer(_data(data), given.family)
    rows: list[dict[str, Any]] = [{}] * len(designs)
    for layers in sorted({len(design.choices.layers) for design in designs}):
        places = [place for place, design in enumerate(designs) if len(design.choices.layers) == layers]
        group = [designs[place].choices for place in places]
        found = pricer.price(columns_of(group), np.array([design.dsp for design in group]))
        for i, place in enumerate(places):
            rows[place] = found.row(given, i)
    return rows


def read_designs(path: str | os.PathLike[str]) -> list[Design]:
    """The designs of a .jsonl file, one a line."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read the designs {path}: {error}") from None
    found = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    return [Design(choices.Design.from_json(line, f"{path}:{number}")) for number, line in found]


def sample(count: int = 1, seed: int = 0, space: str = "fgnas", dsp: int = DEFAULTS["dsp"]) -> Iterator[Design]:
    """Random designs of a space, uniform per choice."""
    found = find_space(space)
    for row in found.draw(count, np.random.default_rng(seed)):
        yield Design(found.design(row, dsp))


def import_model(
    source: str,
    data: Data,
    weights: str | os.PathLike[str] | None = None,
    bits: int = 10,
    dsp: int = DEFAULTS["dsp"],
) -> Design:
    """A trained PyG model, MODEL.pt2 or `module:factory`, as a design with weights (docs/import.md)."""
    from fgnas.networks.pyg import import_model as made

    found = _data(data)
    _one_thread()
    with step("import the model"):
        taken = made(source, found, None if weights is None else Path(weights), bits, dsp)
    label = Path(source).stem if source.endswith(".pt2") else source.rpartition(":")[2]
    return Design(taken.design, taken.network, found.name, found.fingerprint, label)


# accelerators and projects


@dataclass(frozen=True, eq=False)
class Accelerator:
    """A design lowered for a graph: exact answers at once, and the project that gives the same in hardware.

    Attributes:
        design: with its weights.
        hardware: every width, table and address; `hardware.summary()` is all of it as JSON values.
        data: the graph it was lowered for.
    """

    design: Design
    hardware: hardware.Accelerator
    data: GraphData

    def logits(self, data: Data | None = None) -> Codes:
        """[N, classes] integers, those of the hardware, for any graph that fits; a step is `logit_step`."""
        found = self.data if data is None else _data(data)
        check_capacity(self.hardware, found)
        return reference.run(self.hardware, encode(self.hardware, found))

    def regions(self, data: Data | None = None) -> dict[str, Any]:
        """What a board's driver sends for a graph that fits: nodes, and features and edges as uint8 [beats, 16]."""
        found = self.data if data is None else _data(data)
        check_capacity(self.hardware, found)
        graph = encode(self.hardware, found)
        beats = {"features": feature_beats(self.hardware, graph), "edges": edge_beats(graph)}
        return {"nodes": graph.nodes, **beats}

    @property
    def logit_step(self) -> float:
        """The value of one logit code."""
        return self.hardware.logit_format.step

    def predict(self, data: Data | None = None) -> NDArray[np.int64]:
        """[N] classes, bit for bit those of the hardware: the lowest among equal logits."""
        return reference.predict(self.logits(data))

    def price(self, **specification: Any) -> dict[str, Any]:
        """As `Design.price`, on the accelerator's own data."""
        return self.design.price(self.data, **specification)

    def write(
        self, directory: str | os.PathLike[str], fpga: str | None = None, clock_mhz: float | None = None
    ) -> Project:
        """Write the project, whole or not at all: C++, RTL, test vectors, driver, reports.

        It is for the device, limits and clock of the design's search; a device, by name or file, and a clock that are
        given here take their place.
        """
        from fgnas.hardware.devices import find_device, limits_of

        wanted = self.design.specification or Specification()
        if fpga is not None:
            wanted = replace(wanted, **limits_of(find_device(fpga), {}))
        if clock_mhz is not None:
            wanted = replace(wanted, clock_mhz=clock_mhz)
        with step("write the project"):
            write_project(self.hardware, self.data, Path(directory), wanted, self.design.network)
        return Project(Path(directory))

    @functools.cached_property
    def _project(self) -> Project:
        """A project for the checks below, gone with the accelerator."""
        folder = tempfile.TemporaryDirectory(prefix="fgnas-")
        project = self.write(Path(folder.name) / "project")
        object.__setattr__(project, "keeps", folder)
        return project

    def csim(self) -> dict[str, Any]:
        """As `Project.csim`."""
        return self._project.csim()

    def simulate(self) -> dict[str, Any]:
        """As `Project.simulate`."""
        return self._project.simulate()

    def synthesise(self, family: str | None = None, fpga: str | None = None) -> dict[str, Any]:
        """As `Project.synthesise`."""
        return self._project.synthesise(family, fpga)


@dataclass(frozen=True, eq=False)
class Project:
    """A folder that `write` made."""

    directory: Path
    keeps: object = None

    def csim(self) -> dict[str, Any]:
        """Compile the C++ and hold every logit against the reference: nodes, logits, mismatches, …"""
        from fgnas.tools.csim import run_csim

        return run_csim(self.directory)

    def simulate(self, rtl: Path | None = None) -> dict[str, Any]:
        """Simulate the RTL, or any with its face: mismatches, cycles, predicted_cycles, …

        Where logits of the project's own RTL are wrong, `first_wrong_stage` says in which stage, and at which node.
        """
        from fgnas.tools.simulate import run_other_rtl, run_simulation

        if rtl is not None:
            return run_other_rtl(self.directory, rtl)
        report = run_simulation(self.directory)
        if report["mismatches"]:
            from fgnas.tools.trace import mismatch_of_rtl

            report["first_wrong_stage"] = mismatch_of_rtl(self.directory)
        return report

    def synthesise(self, family: str | None = None, fpga: str | None = None) -> dict[str, Any]:
        """Synthesise with Yosys: total and predicted LUT, FF, DSP, block RAM, and every instance's.

        With a device, by name or file, or with the limits that the project was written for, also what there is, and
        what of that does not suffice (`over`).
        """
        from fgnas.hardware.devices import find_device, limits_of
        from fgnas.tools.synth import run_synthesis

        device = find_device(fpga) if fpga else None
        if device is not None:
            family = limits_of(device, {"family": family})["family"]
        return run_synthesis(self.directory, family, device)

    def timing(self, seeds: int | None = None, speed: int | None = None) -> dict[str, Any]:
        """Place and route on an ECP5 with nextpnr, from so many seeds at most: fmax_mhz, critical_path, …

        `speed` is the part's grade: 6, the slowest and the default, to 8.
        """
        from fgnas.tools.timing import SEEDS, SPEEDS, run_timing

        return run_timing(self.directory, seeds or SEEDS, speed or SPEEDS[0])

    def vitis(self, step: str = "csynth", progress: Callable[[str], None] = lambda line: None) -> dict[str, Any]:
        """Run csim, csynth, cosim or impl in Vitis HLS: the figures of every step so far, beside the predicted."""
        from fgnas.tools.vitis import run_vitis

        return run_vitis(self.directory, step, progress)

    @property
    def exists(self) -> bool:
        """Whether the folder holds a project."""
        return (self.directory / MARK).is_file()

    def report(self, page: Path | None = None, data: Data | None = None, fpga: str | None = None) -> Path:
        """Write the page, to report.html in the folder or to `page`; returns where.

        `data` is needed for accuracies where the project was made from a file. Resources are held against `fpga`, a
        device's name or file, or else against the part that the project was written for.
        """
        from fgnas.hardware.devices import find_device
        from fgnas.report.make import report_project

        device = find_device(fpga) if fpga else None
        return report_project(self.directory, page, None if data is None else _data(data), device)


FAULTS = ("mismatches", "failed_checks", "protocol_errors", "status", "cycle_difference")
"""Counts and codes in what a check returns that must be zero."""


def passed(result: dict[str, Any]) -> bool:
    """Whether a check found everything equal."""
    return not any(result.get(name) for name in FAULTS)


def doctor() -> list[Part]:
    """What is installed around fgnas, what is missing, what that costs, and the command that installs it."""
    from fgnas.tools.doctor import examine

    return examine()


# searches


@dataclass(frozen=True, eq=False)
class Run:
    """A finished search.

    Attributes:
        best: the content of best.json.
    """

    store: RunStore
    best: dict[str, Any]

    @classmethod
    def find(cls, name: str = "latest", runs: Path = RUNS) -> Run:
        """A run by name or path, or the latest."""
        from fgnas.engine.store import RunStore

        store = RunStore.find(runs, name)
        store.leaders()
        return cls(store, store.best() or {})

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return self.store.folder

    @property
    def designs(self) -> list[Design]:
        """The leaders, best first, each with the very weights that were scored."""
        return [self.design(rank) for rank in range(1, len(self.store.leaders()) + 1)]

    def design(self, rank: int | str = 1) -> Design:
        """A leader by rank, from 1, or "best"."""
        entries = self.store.leaders()
        label, text = str(rank), "1" if rank == "best" else str(rank)
        if not text.isdecimal() or not 1 <= int(text) <= len(entries):
            raise UserError(f"--design is {label!r}: give `best` or a rank from 1 to {len(entries)}")
        entry = entries[int(text) - 1]
        network = self.store.load_network(entry)
        own = choices.Design.from_dict(entry["design"])
        kept = Specification.of(self.store.config().get("specification", {}), self.store.folder / "config.json")
        return Design(own, network, entry["dataset"], entry["fingerprint"], label, kept)

    def trials(self) -> list[dict[str, Any]]:
        """Every trial, in order."""
        return self.store.trials()

    def report(self, page: Path | None = None, data: Data | None = None) -> Path:
        """Write the page, to report.html in the folder or to `page`; returns where."""
        from fgnas.report.make import report_run

        return report_run(self.store, page, None if data is None else _data(data))


def search(
    dataset: Data | None = None,
    *,
    latency_ms: float | None = None,
    lut: int | None = None,
    ff: int | None = None,
    dsp: int | None = None,
    clock_mhz: float | None = None,
    bram36: int | None = None,
    family: str | None = None,
    guard_band: float | None = None,
    fpga: str | None = None,
    method: str | None = None,
    controller: str | None = None,
    children: int | None = None,
    seed: int | None = None,
    workers: int | None = None,
    device: str | None = None,
    executor: str = "processes",
    scheduler: str | None = None,
    run: str | None = None,
    resume: bool = False,
    runs: Path = RUNS,
    reporter: AbstractContextManager[Reporter] | None = None,
) -> Run:
    """Search for the most accurate design that keeps to a specification; writes `runs/<run>/`.

    What is None takes its value from `fpga`, a device's name or file, from DEFAULTS, or from the run that is resumed.
    `workers` and `executor` change no result. A search that is interrupted raises KeyboardInterrupt with what to say;
    `resume` goes on with it.
    """
    from fgnas.engine import run as searching
    from fgnas.engine.store import LATEST, RunStore, check_name, next_name
    from fgnas.hardware.devices import find_device, limits_of
    from fgnas.networks.training import check_device

    factory = executor_factory(executor, scheduler, workers)
    if isinstance(dataset, GraphData):
        name: str | None = _name_of(dataset)
    else:
        name = None if dataset is None else datasets.reference(dataset)
    found = RunStore.find(runs, run or LATEST) if resume else None
    given = {
        "dataset": name, "latency_ms": latency_ms, "lut": lut, "ff": ff, "dsp": dsp, "clock_mhz": clock_mhz,
        "bram36": bram36, "family": family, "guard_band": guard_band, "part": None,
        "method": method, "controller": controller, "children": children, "seed": seed, "device": device,
    }  # fmt: skip
    if fpga is not None:
        given |= limits_of(find_device(fpga), given)
    chosen = _with_defaults(given, found.config() if found else None)
    check_device(chosen["device"])
    data = dataset if isinstance(dataset, GraphData) else datasets.load(chosen["dataset"])
    wanted = specification(**{key: chosen[key] for key in (*SPECIFICATION, "part")})
    own = {key: chosen[key] for key in ("method", "controller", "device", "children", "seed")}
    config = searching.SearchConfig.of(data.name, specification=wanted, **own)
    if found is not None:
        searching.check_resumable(found, config, data)
        if (best := found.best()) is not None:
            return Run(found, best)
    run_name = found.name if found else run or next_name(runs, data.label)
    if found is None:
        check_name(runs, run_name)

    def open_store() -> RunStore:
        return found or RunStore.create(runs, run_name, config.to_dict(data))

    try:
        with reporter or Shown() as reports:
            best = searching.search(config, data, open_store, factory, reports, resume=found is not None)
    except KeyboardInterrupt:
        begun = (runs / run_name / "config.json").is_file()
        raise KeyboardInterrupt(f"; go on with: fgnas search --run {run_name} --resume" if begun else "") from None
    return Run(RunStore.find(runs, run_name), best)


def _name_of(data: GraphData) -> str:
    """The name by which workers load the very same data. Raises UserError where they cannot."""
    try:
        same = datasets.load(data.name).fingerprint == data.fingerprint
    except UserError:
        same = False
    if not same:
        raise UserError(f"workers cannot load {data.name!r} as it is here: save it to a file, and search on that")
    return data.name


class Shown:
    """Reports a search on the display, where there is one."""

    def __enter__(self) -> Shown:
        self._what, self._count, self._open = "", Count(), ExitStack()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def surveyed(self, survey: Any) -> None:
        """Before the first draw."""
        say(str(survey))

    def searched(self, status: Any) -> None:
        """After every batch."""
        text = f"best {status.best:.1%}, feasible {status.share:.2%}, {status.trainings} trained"
        self._counted("search", status.children).show(status.done, text)
        if status.done == status.children:
            say("the best designs are trained again, with fresh seeds")

    def retrained(self, done: int, total: int) -> None:
        """After every round of the retraining."""
        self._counted("retrain", total, "rounds").show(done)

    def _counted(self, what: str, total: int, unit: str = "") -> Count:
        if what != self._what:
            self._open.close()
            self._what, self._count = what, self._open.enter_context(counted(what, total, unit))
        return self._count


def _with_defaults(given: dict[str, Any], stored: dict[str, Any] | None) -> dict[str, Any]:
    """What was given, else what the resumed run has, else the defaults."""
    try:
        before = DEFAULTS
        if stored is not None:
            limits = dict.fromkeys((*SPECIFICATION, "part")) | stored["specification"]
            before = {**stored, **limits, "device": stored["recipe"]["device"]}
        return {name: before[name] if value is None else value for name, value in given.items()}
    except (KeyError, TypeError) as error:
        raise UserError(f"the run's config.json lacks {error}: it is damaged; start a new run") from None


def executor_factory(executor: str, scheduler: str | None, workers: int | None) -> ExecutorFactory:
    """Processes on this machine, or a cluster's workers; which ones changes no result."""
    from fgnas.engine.cluster import cluster
    from fgnas.engine.jobs import process_pool
    from fgnas.tools.find import require

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
