"""The command line: parse, call, show."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from fgnas.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from fgnas.data import GraphData
    from fgnas.design import Design
    from fgnas.hardware.pricing import Specification
    from fgnas.network import Network
    from fgnas.search.jobs import ExecutorFactory

RUNS = Path("runs")
PROJECTS = Path("hls")

DEFAULTS: dict[str, Any] = {
    "dataset": "digits", "method": "reinforce", "controller": "conditioned",
    "latency_ms": 2.0, "lut": 100_000, "ff": 100_000, "dsp": 100, "clock_mhz": 100.0,
    "children": 500, "seed": 0, "device": "cpu",
}  # fmt: skip
"""Of `fgnas search`; a few minutes on two cores."""

SPECIFICATION = ("latency_ms", "lut", "ff", "dsp", "clock_mhz")


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, as every command does."""

    def error(self, message: str) -> NoReturn:
        """End with exit code 2."""
        raise UserError(f"{message} (see `{self.prog} --help`)")


def parser() -> Parser:
    """The commands and their options."""
    root = Parser(prog="fgnas", description="Search graph neural networks together with their FPGA accelerators.")
    commands = root.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    for name, run, add_options, about in (
        ("search", _search, _add_search, "search for a design that keeps to a specification"),
        ("price", _price, _add_price, "predict cycles, LUT, FF, DSP and block RAM of designs"),
        ("evaluate", _evaluate, _add_evaluate, "train a design and measure its accuracy, float and quantised"),
        ("sample", _sample, _add_sample, "write random designs, one a line"),
        ("hls", _hls, _add_hls, "write the C++ and RTL project of a design"),
        ("csim", _csim, _add_check, "compile a project's C++ with g++ and hold it against the integer reference"),
        ("sim", _sim, _add_sim, "simulate a project's RTL with Verilator: logits and cycles"),
        ("synth", _synth, _add_synth, "synthesise a project's RTL with Yosys: LUT, FF, DSP, block RAM"),
        ("vitis", _vitis, _add_vitis, "run a step of Vitis HLS on a project's C++ and read its report"),
    ):
        sub = commands.add_parser(name, help=about, description=about, allow_abbrev=False)
        sub.set_defaults(run=run)
        add_options(sub)
    return root


def _add_search(sub: argparse.ArgumentParser) -> None:
    # None stands for "not given": a resumed run then keeps what it has.
    _add_dataset(sub)
    sub.add_argument("--method", choices=("reinforce", "random", "disjoint"), help=f"default: {DEFAULTS['method']}")
    sub.add_argument(
        "--controller", choices=("conditioned", "masked", "warm", "paper"), metavar="NAME",
        help=f"how reinforce learns: conditioned, masked, warm or paper; default: {DEFAULTS['controller']}",
    )  # fmt: skip
    _add_specification(sub, DEFAULTS)
    sub.add_argument("--children", type=_positive, metavar="N", help=f"valid samples; default: {DEFAULTS['children']}")
    sub.add_argument("--seed", type=_natural, metavar="N", help=f"default: {DEFAULTS['seed']}")
    sub.add_argument("--workers", type=_positive, metavar="N", help="processes that train; default: one a core")
    sub.add_argument("--device", choices=("cpu", "cuda"), help=f"trains the children; default: {DEFAULTS['device']}")
    sub.add_argument("--executor", choices=("processes", "dask"), default="processes", help="default: %(default)s")
    sub.add_argument("--scheduler", metavar="ADDRESS", help="of a running dask.distributed cluster")
    sub.add_argument("--run", dest="name", metavar="NAME", help="folder under runs/; default: DATASET-N")
    sub.add_argument("--resume", action="store_true", help="go on with --run, or with the latest run")
    _add_json(sub)


def _add_price(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("design", type=Path, help="a design, or a .jsonl file with a design a line")
    _add_dataset(sub)
    _add_specification(sub, {})
    _add_json(sub)


def _add_evaluate(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("design", type=Path)
    _add_dataset(sub)
    sub.add_argument("--seeds", type=_positive, default=5, metavar="N", help="trainings; default: %(default)s")
    _add_json(sub)


def _add_sample(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--space", default="fgnas", help="default: %(default)s")
    _add_dataset(sub)
    sub.add_argument("--seed", type=_natural, default=0, metavar="N", help="default: %(default)s")
    sub.add_argument("-n", type=_positive, default=1, metavar="N", help="how many; default: %(default)s")


def _add_hls(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("source", metavar="RUN|DESIGN.json", help="a run's name, `latest`, or a design")
    sub.add_argument("--design", default="best", metavar="best|RANK", help="of a run; default: %(default)s")
    _add_dataset(sub)
    sub.add_argument("--out", type=Path, metavar="DIR", help="default: hls/best, hls/RANK or hls/FILE")
    _add_json(sub)


def _add_check(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("directory", type=Path, metavar="DIR", help="a project that `fgnas hls` wrote")
    _add_json(sub)


def _add_sim(sub: argparse.ArgumentParser) -> None:
    _add_check(sub)
    about = "other RTL with the same face: a folder of .v and .sv files or a list of them; its top is fgnas_top"
    sub.add_argument("--rtl", type=Path, metavar="PATH", help=about)


def _add_synth(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("directory", type=Path, metavar="DIR", help="a project that `fgnas hls` wrote")
    sub.add_argument("--family", choices=("xc7", "xcup"), default="xc7", help="default: %(default)s")
    _add_json(sub)


def _add_vitis(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("directory", type=Path, metavar="DIR", help="a project that `fgnas hls` wrote")
    sub.add_argument(
        "--step", choices=("csim", "csynth", "cosim", "impl"), default="csynth", help="default: %(default)s"
    )
    _add_json(sub)


def _add_dataset(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--dataset", metavar="NAME|PATH",
        help=f"digits, cora, citeseer, pubmed, or a .pt or .npz file; default: {DEFAULTS['dataset']}",
    )  # fmt: skip
    sub.add_argument(
        "--split", metavar="T/V/T", help="masks for a file without: per cent to train, validate, test, such as 60/20/20"
    )
    sub.add_argument("--normalise", action="store_true", help="scale a file's rows of features to sum to 1")


def _add_specification(sub: argparse.ArgumentParser, defaults: dict[str, Any]) -> None:
    def note(name: str, text: str) -> str:
        return f"{text}; default: {defaults[name]}" if name in defaults else text

    sub.add_argument("--latency-ms", type=_above_zero, metavar="F", help=note("latency_ms", "of the whole graph"))
    for name in ("lut", "ff", "dsp"):
        sub.add_argument(f"--{name}", type=_natural, metavar="N", help=note(name, "at most this many"))
    sub.add_argument("--clock-mhz", type=_above_zero, metavar="F", help=note("clock_mhz", "clock of the kernel"))


def _add_json(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def _above_zero(text: str) -> float:
    if not 0 < (value := float(text)) < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not above zero")
    return value


def _natural(text: str) -> int:
    if (value := int(text)) < 0:
        raise argparse.ArgumentTypeError(f"{text} is below zero")
    return value


def _positive(text: str) -> int:
    if (value := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text} is below one")
    return value


# argparse names the type in its message: "invalid number value".
_above_zero.__name__, _natural.__name__, _positive.__name__ = "number", "whole number", "whole number"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code: 0 done, 1 results differ, 2 cannot, 130 interrupted."""
    try:
        options = parser().parse_args(arguments)
        return options.run(options)
    except UserError as error:
        print(f"fgnas: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as interrupt:
        print(f"fgnas: interrupted{interrupt}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader left, as `head` does: nothing to say, and nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _console(stderr: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=stderr)


def _reference(options: argparse.Namespace) -> str | None:
    """The data that the options name, None where they name none."""
    from fgnas.data import reference

    name = options.dataset
    if name is None and (options.split is not None or options.normalise):
        name = DEFAULTS["dataset"]
    return None if name is None else reference(name, options.split, options.normalise)


def _load(reference: str | None) -> GraphData:
    """Data, with what there is to say about it on stderr."""
    from fgnas.data import load

    data = load(reference or DEFAULTS["dataset"])
    for remark in data.remarks:
        print(f"{data.label}: {remark}", file=sys.stderr)
    return data


def _print_json(content: Any) -> None:
    print(json.dumps(content, sort_keys=True, allow_nan=False))


# search


def _search(options: argparse.Namespace) -> int:
    from fgnas.child.train import check_device
    from fgnas.search.progress import SearchProgress
    from fgnas.search.run import SearchConfig, check_resumable, search
    from fgnas.search.store import LATEST, RunStore, check_name, next_name

    factory = _executor_factory(options)
    found = RunStore.find(RUNS, options.name or LATEST) if options.resume else None
    chosen = _search_options(options, found.config() if found else None)
    check_device(chosen["device"])
    specification = _specification(chosen)
    data = _load(chosen["dataset"])
    own = {name: chosen[name] for name in ("method", "controller", "device", "children", "seed")}
    config = SearchConfig.of(data.name, specification=specification, **own)
    if found is not None:
        check_resumable(found, config, data)
    name = found.name if found else options.name or next_name(RUNS, data.label)
    if found is None:
        check_name(RUNS, name)

    def open_store() -> RunStore:
        return found or RunStore.create(RUNS, name, config.to_dict(data))

    if found is not None and (best := found.best()) is not None:
        return _show_best(best, found.folder, options.json)
    progress = SearchProgress(_console(stderr=True))
    try:
        with progress:
            best = search(config, data, open_store, factory, progress, resume=found is not None)
    except KeyboardInterrupt:
        begun = (RUNS / name / "config.json").is_file()
        raise KeyboardInterrupt(f"; go on with: fgnas search --run {name} --resume" if begun else "") from None
    return _show_best(best, RUNS / name, options.json)


def _executor_factory(options: argparse.Namespace) -> ExecutorFactory:
    """Processes on this machine, or a cluster's workers; which ones changes no result."""
    from fgnas.search.cluster import cluster
    from fgnas.search.jobs import process_pool

    if options.executor == "processes":
        if options.scheduler:
            raise UserError("--scheduler is given, but not --executor dask")
        return process_pool(options.workers or os.cpu_count() or 1)
    if not options.scheduler:
        raise UserError("--executor dask needs --scheduler ADDRESS, such as tcp://127.0.0.1:8786")
    if options.workers:
        raise UserError("--workers is for processes on this machine: a dask cluster brings its own")
    return cluster(options.scheduler)


def _search_options(options: argparse.Namespace, stored: dict[str, Any] | None) -> dict[str, Any]:
    """What was given, else what the resumed run has, else the defaults."""
    before = DEFAULTS if stored is None else {**stored, **stored["specification"], "device": stored["recipe"]["device"]}
    given = {name: getattr(options, name) for name in DEFAULTS} | {"dataset": _reference(options)}
    return {name: before[name] if value is None else value for name, value in given.items()}


def _specification(chosen: dict[str, Any]) -> Specification:
    from fgnas.hardware.pricing import Specification

    values = {name: chosen[name] for name in SPECIFICATION if chosen[name] is not None}
    return Specification(**values)


def _show_best(best: dict[str, Any], folder: Path, as_json: bool) -> int:
    if as_json:
        _print_json({"run": folder.name, **best})
        return 0
    from fgnas.hardware.pricing import Specification

    specification = Specification(**best["specification"])
    prices = best["prices"]
    milliseconds = prices["latency_cycles"] / specification.clock_mhz / 1000.0
    _show_utilisation({**prices, "latency_ms": milliseconds}, specification)
    rows = []
    for kind in ("float", "quantised"):
        for split in ("val", "test"):
            over = best["retrained"][kind][split]
            rows.append((
                f"{kind} {split}", f"{best['delivered'][kind][split]:.2%}", f"{over['mean']:.2%}", f"{over['std']:.2%}"
            ))  # fmt: skip
    seeds = len(best["retrained"]["seeds"])
    _show_table(f"Accuracy on {best['dataset']}", ("", "delivered", f"mean of {seeds} seeds", "std"), rows)
    print(folder / "best.json")
    return 0


def _show_utilisation(prices: dict[str, Any], specification: Specification) -> None:
    """Used, available and per cent, as in a Vivado utilisation report."""
    rows = []
    for label, name in (("LUT", "lut"), ("FF", "ff"), ("DSP", "dsp")):
        limit = getattr(specification, name)
        share = f"{prices[name] / limit:.2%}" if limit else "-"
        rows.append((label, f"{prices[name]:,}", "-" if limit is None else f"{limit:,}", share))
    rows.append(("Block RAM (36 Kb)", f"{prices['bram36']:,}", "-", "-"))
    rows.append(("Cycles", f"{prices['latency_cycles']:,}", "-", "-"))
    limit = specification.latency_ms
    share = f"{prices['latency_ms'] / limit:.2%}" if limit else "-"
    available = "-" if limit is None else f"{limit:.4f}"
    rows.append((f"Latency at {specification.clock_mhz:g} MHz (ms)", f"{prices['latency_ms']:.4f}", available, share))
    _show_table("Utilisation", ("", "Used", "Available", "Util%"), rows)


def _show_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.box import ASCII
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=ASCII)
    for place, name in enumerate(header):
        table.add_column(name, justify="left" if place == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    _console().print(table)


# price, evaluate, sample


def _price(options: argparse.Namespace) -> int:
    from fgnas.hardware.pricing import Pricer

    designs = _read_designs(options.design)
    specification = _specification(vars(options))
    pricer = Pricer(_load(_reference(options)))
    several = options.design.suffix == ".jsonl"
    for row in _price_rows(designs, pricer, specification):
        if options.json or several:
            _print_json(row)
        else:
            _show_utilisation(row, specification)
            for violation in row["violations"]:
                print(violation)
    return 0


def _price_rows(designs: list[Design], pricer: Any, specification: Specification) -> list[dict[str, Any]]:
    """Prices in order; designs of equally many layers are priced together."""
    import numpy as np

    from fgnas.space import columns_of

    rows: list[dict[str, Any]] = [{}] * len(designs)
    for layers in sorted({len(design.layers) for design in designs}):
        places = [place for place, design in enumerate(designs) if len(design.layers) == layers]
        group = [designs[place] for place in places]
        prices = pricer.price(columns_of(group), np.array([design.dsp for design in group]))
        for i, place in enumerate(places):
            rows[place] = prices.row(specification, i)
    return rows


def _read_designs(path: Path) -> list[Design]:
    from fgnas.design import Design

    if path.suffix != ".jsonl":
        return [Design.load(path)]
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read the designs {path}: {error}") from None
    return [Design.from_json(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()]


def _evaluate(options: argparse.Namespace) -> int:
    import torch

    from fgnas.child.calibration import calibrated
    from fgnas.child.quantised import quantised_accuracy
    from fgnas.child.train import child_seed, float_accuracy, recipe_for, train
    from fgnas.design import Design

    design, data = Design.load(options.design), _load(_reference(options))
    architecture = design.architecture()
    torch.set_num_threads(1)
    found: dict[tuple[str, str], list[float]] = {}
    for repetition in range(1, options.seeds + 1):
        seed = child_seed(0, architecture, repetition)
        network = train(data, architecture, seed, recipe_for(data.name)).network
        accuracies = {
            "float": float_accuracy(architecture, network, data),
            "quantised": quantised_accuracy(design, calibrated(design, network, data), data),
        }
        for kind, splits in accuracies.items():
            for split, accuracy in splits.items():
                found.setdefault((kind, split), []).append(accuracy)
    result: dict[str, Any] = {"dataset": data.name, "design_hash": design.hash, "seeds": options.seeds}
    for (kind, split), values in found.items():
        deviation = statistics.stdev(values) if len(values) > 1 else 0.0
        result.setdefault(kind, {})[split] = {"mean": statistics.fmean(values), "std": deviation}
    if options.json:
        _print_json(result)
        return 0
    rows = [
        (f"{kind} {split}", f"{result[kind][split]['mean']:.2%}", f"{result[kind][split]['std']:.2%}")
        for kind, split in found
    ]
    _show_table(f"Accuracy on {data.name}, {options.seeds} seeds", ("", "mean", "std"), rows)
    return 0


def _sample(options: argparse.Namespace) -> int:
    import numpy as np

    from fgnas.space import find_space

    space = find_space(options.space)
    _load(_reference(options))
    for row in space.draw(options.n, np.random.default_rng(options.seed)):
        print(space.design(row, DEFAULTS["dsp"]).to_json())
    return 0


# hls, csim, sim


@dataclass(frozen=True)
class _Source:
    """A design with its weights, the data they were trained on, and the folder that its project gets."""

    design: Design
    network: Network
    data: GraphData
    folder: str


def _hls(options: argparse.Namespace) -> int:
    from fgnas.codegen.project import write_project
    from fgnas.hardware.geometry import GraphShape
    from fgnas.hardware.lowering import lower

    from_file = options.source.endswith(".json") or Path(options.source).is_file()
    source = _design_of_file(options) if from_file else _design_of_run(options)
    shape = GraphShape.of(source.data)
    accelerator = lower(source.design, source.network, shape, source.data.label, source.design.hash)
    directory = options.out or PROJECTS / source.folder
    write_project(accelerator, source.data, directory, network=source.network)
    if options.json:
        _print_json({"directory": str(directory), "design_hash": source.design.hash, "dataset": source.data.name})
    else:
        print(directory)
    return 0


def _design_of_file(options: argparse.Namespace) -> _Source:
    """A bare design, trained with seed 0."""
    import torch

    from fgnas.child.calibration import calibrated
    from fgnas.child.train import child_seed, recipe_for, train
    from fgnas.design import Design

    if options.design != "best":
        raise UserError(f"--design {options.design} chooses among a run's leaders, but {options.source} is a file")
    path = Path(options.source)
    design, data = Design.load(path), _load(_reference(options))
    architecture = design.architecture()
    torch.set_num_threads(1)
    trained = train(data, architecture, child_seed(0, architecture), recipe_for(data.name))
    return _Source(design, calibrated(design, trained.network, data), data, path.stem)


def _design_of_run(options: argparse.Namespace) -> _Source:
    """A leader of a run, with the very weights that were scored."""
    from fgnas.data import NAMES
    from fgnas.design import Design
    from fgnas.search.store import RunStore

    store = RunStore.find(RUNS, options.source)
    entries = store.leaders()
    rank = "1" if options.design == "best" else options.design
    if not rank.isdecimal() or not 1 <= int(rank) <= len(entries):
        raise UserError(f"--design is {options.design!r}: give `best` or a rank from 1 to {len(entries)}")
    entry = entries[int(rank) - 1]
    wanted = _reference(options) or entry["dataset"]
    if wanted in NAMES and wanted != entry["dataset"]:
        raise UserError(f"the run {store.name} was made on {entry['dataset']}: leave --dataset out")
    data = _load(wanted)
    if data.fingerprint != entry["fingerprint"]:
        raise UserError(
            f"{data.name} is not the data that the run {store.name} was made on, which was {entry['dataset']} "
            "(fingerprint differs)"
        )
    return _Source(Design.from_dict(entry["design"]), store.load_network(entry), data, options.design)


def _csim(options: argparse.Namespace) -> int:
    from fgnas.tools.csim import run_csim

    return _show_check(run_csim(options.directory), options.json)


def _sim(options: argparse.Namespace) -> int:
    from fgnas.tools.simulate import run_simulation

    return _show_check(run_simulation(options.directory, rtl=options.rtl), options.json)


def _synth(options: argparse.Namespace) -> int:
    from fgnas.tools.synth import run_synthesis, utilisation_table

    report = run_synthesis(options.directory, options.family)
    if options.json:
        _print_json(report)
    else:
        print(utilisation_table(report))
    return 0


def _vitis(options: argparse.Namespace) -> int:
    from fgnas.tools.vitis import has_fault, run_vitis

    report = run_vitis(options.directory, options.step, lambda line: print(line, file=sys.stderr))
    found = report["steps"][options.step]
    if options.json:
        _print_json(report)
    else:
        _show_vitis(found, report["predicted"])
    return 1 if has_fault(found) else 0


def _show_vitis(found: dict[str, Any], predicted: dict[str, Any]) -> None:
    """One step: what it used beside what was predicted and what the part has, then the rest of its figures."""
    if "used" in found:
        rows = []
        for name, used in found["used"].items():
            limit, guess = found["available"][name], predicted[name]
            share = f"{used / limit:.2%}" if limit else "-"
            rows.append((name, f"{used:,}", "-" if guess is None else f"{guess:,}", f"{limit:,}", share))
        _show_table("Utilisation", ("", "Used", "Predicted", "Available", "Util%"), rows)
    for name, value in found.items():
        if name == "loops":
            for loop in value:
                print(f"loop {loop['function']}.{loop['loop']}: II {loop['ii']}")
        elif name not in ("used", "available") and value is not None:
            parts = [f"{part} {number}" for part, number in value.items()] if isinstance(value, dict) else [str(value)]
            print(f"{name.replace('_', ' ')}: {', '.join(parts)}")
    if "latency_cycles" in found:
        print(f"predicted cycles: {predicted['latency_cycles']}")


FAULTS = ("mismatches", "failed_checks", "protocol_errors", "status")
"""Counts and codes in a check's result that must be zero."""


def _show_check(result: dict[str, Any], as_json: bool) -> int:
    """Exit code 1 where anything is wrong."""
    if as_json:
        _print_json(result)
    else:
        for name, value in result.items():
            if value is not None:
                print(f"{name.replace('_', ' ')}: {value}")
    return 1 if any(result.get(name) for name in FAULTS) else 0


if __name__ == "__main__":
    sys.exit(main())
