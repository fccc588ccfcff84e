"""The command line: parse, call, show."""

from __future__ import annotations

import argparse
import functools
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from fgnas import systems
from fgnas.errors import UserError
from fgnas.options import ABOVE_ZERO, NATURAL, POSITIVE, Kind, add_arguments, chosen, parser_of
from fgnas.paths import PROJECTS, RUNS
from fgnas.progress import shown, step
from fgnas.systems.fgnas.options import SPECIFICATION, Options

if TYPE_CHECKING:
    from rich.console import Console

    from fgnas.api import Run
    from fgnas.hardware.specification import Specification
    from fgnas.mapping.study import Answer, Point
    from fgnas.tasks.nodes import GraphData


class Parser(argparse.ArgumentParser):
    """Reports an error in one line, as every command does."""

    def error(self, message: str) -> NoReturn:
        """End with exit code 2."""
        raise UserError(f"{message} (see `{self.prog} --help`)")


def parser(system: str = systems.DEFAULT) -> Parser:
    """The parser of all commands; the options of `search` come from the system."""
    root = Parser(prog="fgnas", description="Search graph neural networks together with their FPGA accelerators.")
    commands = root.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    add_search = functools.partial(_add_search, system=system)
    for name, run, add_options, about in (
        ("search", _search, add_search, "search for a design that keeps to a specification"),
        ("price", _price, _add_price, "predict cycles, LUT, FF, DSP and block RAM of designs"),
        ("evaluate", _evaluate, _add_evaluate, "train a design and measure its accuracy, float and quantised"),
        ("sample", _sample, _add_sample, "write random designs, one per line"),
        ("import", _import, _add_import, "turn a trained PyG model into a design with weights"),
        ("hls", _hls, _add_hls, "write the C++ and RTL project of a design"),
        ("csim", _csim, _add_check, "compile a project's C++ with g++ and compare it with the integer reference"),
        ("sim", _sim, _add_sim, "simulate a project's RTL with Verilator: logits and cycles"),
        ("synth", _synth, _add_synth, "synthesise a project's RTL with Yosys: LUT, FF, DSP, block RAM"),
        ("timing", _timing, _add_timing, "place and route a project's RTL on an ECP5: clock reached, critical path"),
        ("vitis", _vitis, _add_vitis, "run a step of Vitis HLS on a project's C++ and read its report"),
        ("rank", _rank, _add_rank, "measure how well a run's scores rank networks that are trained alone"),
        ("report", _report, _add_report, "write the page of a run or of a project: one HTML file"),
        ("map", _map, _add_map, "map a network's steps to unlike compute units: the exact front of latency and energy"),
        ("platform", _platform, _add_platform, "time a vision GNN's steps here, price kernels, write a platform"),
        ("measure", _measure, _add_measure, "time random networks on this processor and fit predictors of their time"),
        ("doctor", _doctor, _add_json, "list external tools: installed or missing, and how to install them"),
    ):
        sub = commands.add_parser(name, help=about, description=about, allow_abbrev=False)
        sub.set_defaults(run=run)
        add_options(sub)
        sub.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    return root


def _add_search(sub: argparse.ArgumentParser, system: str) -> None:
    sub.add_argument("--system", metavar="NAME", help=f"{', '.join(systems.names())}; default: {systems.DEFAULT}")
    add_arguments(sub, systems.find(system).Options)
    _add_number(sub, "--workers", POSITIVE, "processes that train; default: one per core")
    sub.add_argument("--executor", choices=("processes", "dask"), default="processes", help="default: %(default)s")
    sub.add_argument("--scheduler", metavar="ADDRESS", help="address of a running dask.distributed cluster")
    sub.add_argument("--run", dest="name", metavar="NAME", help="folder under runs/; default: DATASET-N")
    sub.add_argument("--resume", action="store_true", help="continue --run, or the latest run")
    _add_json(sub)


def _add_price(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("design", type=Path, help="a design, or a .jsonl file with one design per line")
    about = "a measured device: the design is then a network of operations, or the name of a baseline"
    sub.add_argument("--target", type=Path, metavar="FOLDER", help=about)
    sub.add_argument("--measure", action="store_true", help="with --target: time the network here, too")
    _add_dataset(sub)
    add_arguments(sub, Options, (*SPECIFICATION, "fpga"), defaults=False)
    _add_number(sub, "--workers", POSITIVE, "processes that price a long .jsonl file; default: one per core")
    _add_json(sub)


def _add_evaluate(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("design", type=Path)
    _add_dataset(sub)
    _add_number(sub, "--seeds", POSITIVE, "trainings", 5)
    _add_json(sub)


def _add_sample(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--space", default="fgnas", help="default: %(default)s")
    _add_dataset(sub)
    _add_number(sub, "--seed", NATURAL, "of the draws", 0)
    _add_number(sub, "-n", POSITIVE, "how many", 1)


def _add_import(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("model", metavar="MODEL.pt2|module:factory", help="an exported program, or a module's factory")
    _add_dataset(sub)
    sub.add_argument("--weights", type=Path, metavar="FILE", help="the state_dict of module:factory")
    _add_number(sub, "--bits", POSITIVE, "width of every number", 10)
    _add_number(sub, "--dsp", NATURAL, "DSP slices for the multipliers", Options.dsp)
    sub.add_argument("--out", type=Path, metavar="FILE", help="the design; default: MODEL.json or factory.json")
    _add_json(sub)


def _add_hls(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("source", metavar="RUN|DESIGN.json", help="a run's name, `latest`, or a design")
    which = "a design of the run; default: %(default)s"
    sub.add_argument("--design", default="best", metavar="best|cheapest|RANK", help=which)
    _add_dataset(sub)
    sub.add_argument("--out", type=Path, metavar="DIR", help="default: hls/best, hls/cheapest, hls/RANK or hls/FILE")
    about = "a known device, or a file that describes one; default: the device of the run's search"
    sub.add_argument("--fpga", metavar="NAME|FILE.toml", help=about)
    _add_number(sub, "--clock-mhz", ABOVE_ZERO, "clock for the vendor's tool; default: the run's")
    about = "the HLS compiler whose pragmas the C++ has; default: %(default)s"
    sub.add_argument("--compiler", default="vitis", metavar="vitis|bambu", help=about)
    about = "units for each layer, or one array of multipliers for all; default: what the design was made for"
    sub.add_argument("--target", metavar="pipeline|array", help=about)
    about = "most multipliers of an array; default: the design's own array, or its DSP budget"
    _add_number(sub, "--multipliers", POSITIVE, about)
    about = "width of an array's memory port: 128, 256 or 512; default: that of the design's array, or 128"
    _add_number(sub, "--beat-bits", POSITIVE, about)
    about = "most block RAMs of an array; default: the design's own array, or those of the search or device"
    _add_number(sub, "--bram36", POSITIVE, about)
    about = "whether H and Z stay on an array's chip; else each half of a layer is a call of its own; default: on"
    sub.add_argument("--repurposing", choices=("on", "off"), default="on", help=about)
    _add_json(sub)


def _add_check(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("directory", type=Path, metavar="DIR", help="a project that `fgnas hls` wrote")
    _add_json(sub)


def _add_sim(sub: argparse.ArgumentParser) -> None:
    _add_check(sub)
    about = "other RTL with the same interface: a folder of .v and .sv files or a list of them; its top is fgnas_top"
    sub.add_argument("--rtl", type=Path, metavar="PATH", help=about)
    about = "simulate on every memory whose channels wait for each other as AXI allows, with N stall seeds each"
    _add_number(sub, "--couplings", POSITIVE, about)
    about = "the Verilog that bambu makes from the C++ of a project for it (`fgnas hls --compiler bambu`)"
    sub.add_argument("--bambu", action="store_true", help=about)


def _add_timing(sub: argparse.ArgumentParser) -> None:
    _add_check(sub)
    _add_number(sub, "--seeds", POSITIVE, "largest number of placements to try for the target clock; default: 4")
    sub.add_argument("--speed", type=int, choices=(6, 7, 8), help="speed grade of the part; default: 6, the slowest")


def _add_synth(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("directory", type=Path, metavar="DIR", help="a project that `fgnas hls` wrote")
    add_arguments(sub, Options, ("family", "fpga"))
    _add_json(sub)


def _add_vitis(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("directory", type=Path, metavar="DIR", help="a project that `fgnas hls` wrote")
    sub.add_argument(
        "--step", choices=("csim", "csynth", "cosim", "impl"), default="csynth", help="default: %(default)s"
    )
    _add_json(sub)


def _add_rank(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("source", metavar="RUN", nargs="?", default="latest", help="a run's name; default: %(default)s")
    _add_number(sub, "--networks", POSITIVE, "uniform networks within the run's limits", 100)
    _add_number(sub, "--seeds", POSITIVE, "trainings of each", 2)
    _add_number(sub, "--workers", POSITIVE, "processes that train; default: one per core")
    _add_json(sub)


def _add_report(sub: argparse.ArgumentParser) -> None:
    about = "a run's name, `latest`, or the folder of a project; default: %(default)s"
    sub.add_argument("source", metavar="RUN|DIR", nargs="?", default="latest", help=about)
    sub.add_argument("--fpga", metavar="NAME|FILE.toml", help="device to compare a project's resources with")
    _add_dataset(sub)
    sub.add_argument("--out", type=Path, metavar="FILE", help="default: report.html in that folder")
    _add_json(sub)


def _add_map(sub: argparse.ArgumentParser) -> None:
    from fgnas.mapping.options import MapOptions, shipped

    sub.add_argument("platform", metavar="PLATFORM|FILE.toml", help=f"{', '.join(shipped())}, or a file of your own")
    sub.add_argument("model", help="a model of the platform")
    add_arguments(sub, MapOptions)
    _add_json(sub)


def _add_platform(sub: argparse.ArgumentParser) -> None:
    from fgnas.systems.magnas.options import PlatformOptions

    add_arguments(sub, systems.find("magnas").Options, ("dataset",))
    sub.add_argument("--cpu", action="store_true", help="this processor as a unit; the default if no kernel is named")
    about = "an accelerator as a unit, named after its file; may be repeated"
    sub.add_argument("--kernel", type=Path, action="append", default=[], metavar="FILE.json", help=about)
    sub.add_argument("--out", type=Path, required=True, metavar="FILE.toml", help="the platform to write")
    add_arguments(sub, PlatformOptions)
    _add_json(sub)


def _add_measure(sub: argparse.ArgumentParser) -> None:
    from fgnas.systems.hgnas.options import MeasureOptions

    add_arguments(sub, MeasureOptions)
    sub.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="the device's folder")
    about = "another device's folder, whose predictors are continued"
    sub.add_argument("--from", dest="start", type=Path, metavar="FOLDER", help=about)
    sub.add_argument("--resume", action="store_true", help="go on with the folder --out")
    _add_json(sub)


def _add_dataset(sub: argparse.ArgumentParser) -> None:
    add_arguments(sub, Options, ("dataset", "split", "normalise"))


def _add_number(sub: argparse.ArgumentParser, name: str, kind: Kind, text: str, default: Any = None) -> None:
    """Add a numeric option to a command whose options are not a dataclass."""
    shown = f"{text}; default: {default}" if default is not None else text
    sub.add_argument(name, type=parser_of(kind), metavar="N", default=default, help=shown)


def _add_json(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code: 0 success, 1 results differ, 2 error, 130 interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        options = parser(_system_of(given)).parse_args(given)
        with nullcontext() if options.quiet else shown(sys.stderr):
            return options.run(options)
    except UserError as error:
        print(f"fgnas: {as_here(str(error))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt as interrupt:
        how = str(interrupt) or f"; start again with: fgnas {shlex.join(given)}"
        print(f"fgnas: interrupted{as_here(how)}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader closed the pipe, as `head` does: nobody would read a message.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        # A full disk or a read-only folder: any call may raise this.
        place = f"{error.filename}: " if error.filename else ""
        print(f"fgnas: {place}{error.strerror or error}", file=sys.stderr)
        return 2


def _system_of(arguments: Sequence[str]) -> str:
    """The system that a command line names, found before its options can be parsed."""
    first = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    first.add_argument("--system", default=systems.DEFAULT)
    try:
        return str(first.parse_known_args(arguments)[0].system)
    except argparse.ArgumentError:  # the name is missing: the full parser reports it
        return systems.DEFAULT


def as_here(text: str) -> str:
    """Text whose commands can be pasted: with full paths if this environment's commands are not on PATH."""
    program = Path(sys.argv[0])
    if program.name != "fgnas" or not program.is_file() or shutil.which("fgnas") == str(program.absolute()):
        return text
    text = re.sub(r"(`|: )fgnas (?=[a-z])", rf"\1{program} ", text)
    return re.sub(r"\bpip install", f"{program.with_name('pip')} install", text)


def _console(stderr: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=stderr)


def _reference(options: argparse.Namespace) -> str | None:
    """The data that the options name; None if they name none."""
    return Options.resolved(chosen(options, Options, ("dataset", "split", "normalise"))).get("dataset")


def _load(reference: str | None) -> GraphData:
    """Load data; notes about it go to stderr, once for each graph."""
    from fgnas.tasks.nodes import load
    from fgnas.tasks.notes import untold

    data = load(reference or Options.dataset)
    for remark in untold(data):
        print(f"{data.label}: {remark}", file=sys.stderr)
    return data


def _print_json(content: Any) -> None:
    print(json.dumps(content, sort_keys=True, allow_nan=False))


# search


def _search(options: argparse.Namespace) -> int:
    from fgnas import api

    system = options.system or systems.DEFAULT
    given = chosen(options, systems.find(system).Options)
    # These alone choose how a search runs; they never change its results.
    running = {name: getattr(options, name) for name in ("workers", "executor", "scheduler", "resume")}
    run = api.search(**given, **running, system=options.system, run=options.name)
    return _show_best(run, run.report(), options.json)


def _show_best(run: Run, page: Path, as_json: bool) -> int:
    best = run.best
    if as_json:
        _print_json({"run": run.folder.name, "page": str(page), **best})
        return 0
    config = run.store.config()
    _show_costs(config["costs"], config["limits"], best["costs"])
    rows = []
    for kind, splits in best["delivered"].items():
        for split, value in splits.items():
            over = best["retrained"][kind][split]
            rows.append((f"{kind} {split}", f"{value:.2%}", f"{over['mean']:.2%}", f"{over['std']:.2%}"))
    seeds = len(best["retrained"]["seeds"])
    _show_table("Accuracy", ("", "delivered", f"mean of {seeds} seeds", "std"), rows)
    if (cheapest := run.cheapest) is not None and cheapest["design_hash"] != best["design_hash"]:
        _show_cheapest(config["costs"], best, cheapest)
    print(run.folder / "best.json")
    print(page)
    return 0


def _show_cheapest(
    quantities: Sequence[dict[str, Any]], best: dict[str, Any], cheapest: dict[str, Any]
) -> None:
    """The cheapest design within one standard error of the best, beside it."""
    score = [(f"{entry['retrained_val']['mean']:.2%}") for entry in (best, cheapest)]
    rows = [("Retrained validation", *score, "")]
    for cost in quantities:
        values = [entry["costs"][cost["name"]] for entry in (best, cheapest)]
        share = f"{values[1] / values[0]:.1%}" if values[0] else "-"
        rows.append((cost["label"], *(_amount(value, cost) for value in values), share))
    _show_table(f"Within one standard error: --design cheapest (rank {cheapest['rank']})",
                ("", "best", "cheapest", "of the best"), rows)  # fmt: skip


def _show_costs(quantities: Sequence[dict[str, Any]], limits: dict[str, float], used: dict[str, float]) -> None:
    """Used, available and per cent, as in a Vivado utilisation report."""
    rows = []
    for cost in quantities:
        value, limit = used[cost["name"]], limits.get(cost["name"])
        share = f"{value / limit:.2%}" if limit else "-"
        unit = f" ({cost['unit']})" if cost["unit"] else ""
        rows.append((f"{cost['label']}{unit}", _amount(value, cost), "-" if limit is None else f"{limit:,g}", share))
        if cost["shown_unit"]:
            shown = [f"{number * cost['scale']:.4f}" for number in (value, limit) if number is not None]
            label = f"{cost['label']} ({cost['shown_unit']})"
            rows.append((label, shown[0], shown[1] if len(shown) > 1 else "-", share))
    _show_table("Utilisation", ("", "Used", "Available", "Util%"), rows)


def _amount(value: float, cost: dict[str, Any]) -> str:
    """A cost as it is; of one that is predicted, no more digits of a fraction than it has a meaning."""
    return f"{value:,}" if cost["exact"] or value == int(value) else f"{value:,.4g}"


def _show_price(prices: dict[str, Any], specification: Specification) -> None:
    """The price of a design against the limits that a user names."""
    from fgnas.hardware.pipeline.traffic import peak_rows
    from fgnas.systems.fgnas.target import pipeline_costs

    costs = [cost.to_dict() for cost in pipeline_costs(specification.clock_mhz)]
    _show_costs(costs, specification.limits() | specification.resources(), prices)
    rows = [
        (label, f"{prices[name]:,}") for label, name in (
            ("Main memory, bytes an inference", "memory_bytes"), ("Main memory, mean MB/s", "memory_mb_s"),
            ("Clock of a 128-bit port for that (MHz)", "memory_clock_mhz"), ("Multipliers", "multipliers"),
            ("Multiplications that the network needs", "multiplications"), ("Share of multiplier cycles", "busy"),
        ) if name in prices
    ]  # fmt: skip
    _show_table("Traffic", ("", "Used"), rows)
    if "peak_beats" not in prices:
        return
    rates = [(label, f"{beats:,}", f"{mb_s:,}") for label, beats, mb_s in peak_rows(prices, specification.port_bits)]
    _show_table("Peak traffic", ("", "Beats a cycle", "MB/s"), rates)


def _show_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.box import ASCII
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=ASCII)
    for place, name in enumerate(header):
        table.add_column(name, justify="left" if place == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    _console().print(table)


def _rank(options: argparse.Namespace) -> int:
    from fgnas import api

    found = api.Run.find(options.source).rank(options.networks, options.seeds, options.workers)
    if options.json:
        _print_json(found)
        return 0
    rows = [
        ("its scores against trained alone", found["tau"], found["tau_better_half"]),
        ("one seed against another", found["seeds_tau"], found["seeds_tau_better_half"]),
    ]
    title = f"Kendall's tau over {found['networks']} networks of {found['run']}, {found['trainings']} trainings"
    _show_table(title, ("", "all", "better half"), [(name, f"{a:.3f}", f"{b:.3f}") for name, a, b in rows])
    return 0


# price, evaluate, sample


def _price(options: argparse.Namespace) -> int:
    from fgnas import api

    if options.target is not None:
        return _price_network(options)
    if options.measure:
        raise UserError("--measure times a network of operations: give its device with --target FOLDER")
    limits = chosen(options, Options, (*SPECIFICATION, "fpga"))
    if options.design.suffix == ".jsonl":
        workers = options.workers or os.cpu_count() or 1
        for lines in api.price_lines(options.design, lambda: _load(_reference(options)), workers=workers, **limits):
            sys.stdout.writelines(lines)
        return 0
    design = api.Design.load(options.design)
    row = design.price(_load(_reference(options) or design.dataset), **limits)
    if options.json:
        _print_json(row)
        return 0
    _show_price(row, api.specification(**limits))
    for violation in row["violations"]:
        print(violation)
    return 0


def _price_network(options: argparse.Namespace) -> int:
    from fgnas import api

    found = api.price_network(options.design, options.target, measured=options.measure)
    if options.json:
        _print_json(found)
        return 0
    shown_as = (
        ("latency", "predicted ms", 1.0), ("measured_ms", "measured ms, now", 1.0),
        ("share", "of fused DGCNN's, predicted", 1.0), ("measured_share", "of fused DGCNN's, measured", 1.0),
        ("memory", "memory beside weights, MB", 1e-6), ("products", "multiplications, million", 1e-6),
        ("width", "widest features", 1.0),
    )  # fmt: skip
    rows = [(label, f"{found[name] * scale:,.4g}") for name, label, scale in shown_as if name in found]
    _show_table(f"One cloud on {found['device']}, by the predictor {found['predictor']}", ("", ""), rows)
    return 0


def _measure(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.systems.hgnas.options import MeasureOptions

    given = chosen(options, MeasureOptions)
    folder = api.measure(options.out, start=options.start, resume=options.resume, **given)
    verdict = folder.verdict()
    if options.json:
        _print_json({"device": str(folder.path), **verdict.to_dict()})
        return 0
    for what, held in verdict.held_out.items():
        rows = [
            (f"{name} *" if name == verdict.chosen[what] else name, f"{one.mape:.2%}",
             *(f"{share:.1%}" for share in one.within)) for name, one in held.items()
        ]  # fmt: skip
        if what == "latency" and verdict.floor is not None:
            rows.append(("a round against another", f"{verdict.floor.mape:.2%}",
                         *(f"{share:.1%}" for share in verdict.floor.within)))  # fmt: skip
        title = f"Predicted {what} of {next(iter(held.values())).samples} networks held out; * is the default"
        _show_table(title, ("", "mean error", "within 1 %", "5 %", "10 %"), rows)
    print(f"fused DGCNN takes {verdict.reference_ms:.3f} ms")
    print(folder.path)
    print(folder.path / "report.html")
    return 0


def _evaluate(options: argparse.Namespace) -> int:
    from fgnas import api

    design = api.Design.load(options.design)
    data = _load(_reference(options) or design.dataset)
    result = design.evaluate(data, options.seeds)
    if options.json:
        _print_json(result)
        return 0
    rows = [
        (f"{kind} {split}", f"{over['mean']:.2%}", f"{over['std']:.2%}")
        for kind in ("float", "quantised") for split, over in result[kind].items()
    ]  # fmt: skip
    _show_table(f"Accuracy on {data.label}, {options.seeds} seeds", ("", "mean", "std"), rows)
    return 0


def _sample(options: argparse.Namespace) -> int:
    from fgnas import api

    _load(_reference(options))
    for design in api.sample(options.n, options.seed, options.space):
        print(design.choices.to_json())
    return 0


def _import(options: argparse.Namespace) -> int:
    from fgnas import api

    data = _load(_reference(options))
    design = api.import_model(options.model, data, options.weights, options.bits, options.dsp)
    accuracy = design.accuracy(data)
    path = design.save(options.out or f"{design.label}.json", model=options.model, **accuracy)
    if options.json:
        _print_json({"design_file": str(path), "design_hash": design.hash, "dataset": data.name, **accuracy})
        return 0
    rows = [(kind, f"{splits['val']:.2%}", f"{splits['test']:.2%}") for kind, splits in accuracy.items()]
    _show_table(f"Accuracy on {data.label}", ("", "val", "test"), rows)
    print(path)
    return 0


# hls, csim, sim, synth


def _hls(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.backends.project import check_compiler, check_replaceable, held_by
    from fgnas.hardware.kinds import find_kind, kind_of

    from_file = options.source.endswith(".json") or Path(options.source).is_file()
    if from_file:
        if options.design != "best":
            raise UserError(f"--design {options.design} chooses one of a run's leaders, but {options.source} is a file")
        design = api.Design.load(options.source)
    else:
        run = api.Run.find(options.source)
        if not run.delivers_designs:
            return _write_leader(run, options)
        design = run.design(options.design)
    directory = options.out or PROJECTS / design.label
    check_compiler(options.compiler)  # these are checked before a training, which takes time
    kind = find_kind(options.target) if options.target else kind_of(design.choices)
    kind.check(design.choices)
    check_replaceable(directory)
    before = held_by(directory)
    accelerator = design.lower(_load(_reference(options) or design.dataset))
    project = accelerator.write(
        directory, options.fpga, options.clock_mhz, options.compiler, options.target, options.multipliers,
        options.beat_bits, options.bram36, options.repurposing == "on",
    )  # fmt: skip
    if options.json:
        data = accelerator.data
        _print_json({"directory": str(project.directory), "design_hash": design.hash, "dataset": data.name})
    else:
        now = held_by(directory)
        if not options.quiet:
            print(f"{now}{f', in place of {before}' if before not in (None, now) else ''}", file=sys.stderr)
        print(project.directory)
    return 0


ONE_DESIGN = {
    "fpga": None, "clock_mhz": None, "compiler": "vitis", "target": None, "multipliers": None, "beat_bits": None,
    "bram36": None, "repurposing": "on", "dataset": None, "split": None, "normalise": None,
}  # fmt: skip
"""Options of `fgnas hls`, with their defaults, that a run with several accelerators does not take."""


def _write_leader(run: Run, options: argparse.Namespace) -> int:
    """Write the accelerators of a leader that is no single design."""
    for name, default in ONE_DESIGN.items():
        if getattr(options, name) != default:
            raise UserError(f"--{name.replace('_', '-')} is for runs of single designs, which {run.folder} is not")
    project = run.write(options.out or PROJECTS / options.design, options.design)
    if options.json:
        _print_json({"directory": str(project.directory)})
    else:
        print(project.directory)
    return 0


def _csim(options: argparse.Namespace) -> int:
    from fgnas import api

    return _show_check(api.Project(options.directory).csim(), options.json)


def _sim(options: argparse.Namespace) -> int:
    from fgnas import api

    project = api.Project(options.directory)
    if options.bambu and (options.couplings is not None or options.rtl is not None):
        raise UserError("--bambu simulates bambu's Verilog: leave out --rtl and --couplings")
    if options.bambu:
        return _show_check(project.simulate_bambu(), options.json)
    if options.couplings is None:
        report = project.simulate(options.rtl)
        if "by_step" in report and not options.json:
            _show_steps(report.pop("by_step"))
        if "by_call" in report and not options.json:
            _show_calls(report.pop("by_call"))
        return _show_check(report, options.json)
    if options.rtl is not None:
        raise UserError("--couplings simulates the project's own RTL: leave out --rtl")
    report = project.couplings(options.couplings)
    if not options.json:
        for name, found in report.pop("couplings").items():
            counts = (f"{key.replace('_', ' ')} {value:,}" for key, value in found.items() if value is not None)
            print(f"{name.replace('_', ' ')}: {', '.join(counts)}")
    return _show_check(report, options.json)


COMPARED = ("logits", "mismatches", "cycles", "predicted_cycles")
"""What is shown of each of several simulations."""


def _show_steps(by_step: dict[str, dict[str, Any]]) -> None:
    """The simulated steps of a mapped network."""
    rows = [(name, one["unit"], *(f"{one[key]:,}" for key in COMPARED)) for name, one in by_step.items()]
    _show_table("Steps on accelerators", ("step", "unit", *(key.replace("_", " ") for key in COMPARED)), rows)


def _show_calls(by_call: dict[str, dict[str, Any]]) -> None:
    """The simulated calls of a network."""
    rows = [(name, *(f"{one[key]:,}" for key in COMPARED)) for name, one in by_call.items()]
    _show_table("Calls", ("call", *(key.replace("_", " ") for key in COMPARED)), rows)


def _synth(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.tools.synth import utilisation_table

    report = api.Project(options.directory).synthesise(options.family, options.fpga)
    if options.json:
        _print_json(report)
    else:
        print(utilisation_table(report))
        for name in report.get("over", ()):
            print(f"{name} {report['total'][name]} is over the {report['available'][name]} of {report['against']}")
    return 1 if report.get("over") else 0


def _timing(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.tools.timing import timing_text

    report = api.Project(options.directory).timing(options.seeds, options.speed)
    if options.json:
        _print_json(report)
    else:
        print(timing_text(report))
    return 0


def _vitis(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.tools.vitis import faults

    report = api.Project(options.directory).vitis(
        options.step, lambda line: None if options.quiet else print(line, file=sys.stderr)
    )
    found = report["steps"][options.step]
    if options.json:
        _print_json(report)
    else:
        _show_vitis(found, report["predicted"])
    wrong = faults(found)
    for line in wrong:
        print(f"fgnas: {options.step}: {line}", file=sys.stderr)
    return 1 if wrong else 0


def _show_vitis(found: dict[str, Any], predicted: dict[str, Any]) -> None:
    """One step: used, predicted and available resources, then its other figures."""
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


def _report(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.engine.store import RunStore
    from fgnas.hardware.measured.device import DeviceFolder
    from fgnas.report.make import report_device, report_run

    reference = _reference(options)
    data = None if reference is None else _load(reference)
    project = api.Project(Path(options.source))
    if options.fpga and not project.exists:
        raise UserError(f"--fpga is for a project, and {options.source} is not one: write one with `fgnas hls`")
    with step("draw the page"):
        if project.exists:
            page = project.report(options.out, data, options.fpga)
        elif (device := DeviceFolder(Path(options.source))).begun:
            page = report_device(device, options.out)
        else:
            # Not api.Run: an unfinished run has a page too.
            page = report_run(RunStore.find(RUNS, options.source), options.out, data)
    if options.json:
        _print_json({"page": str(page)})
    else:
        print(page)
    return 0


def _map(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.mapping.options import MapOptions

    answer = api.map_network(options.platform, options.model, **chosen(options, MapOptions))
    if options.json:
        _print_json(answer.to_dict())
    else:
        _show_mappings(answer)
    return 0 if answer.points else 1


def _platform(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.systems.magnas.options import PlatformOptions

    cpu = options.cpu or not options.kernel
    with step("time every step"):
        found = api.measure_platform(
            options.out, options.dataset, kernels=options.kernel, cpu=cpu, **chosen(options, PlatformOptions)
        ).to_dict()
    if options.json:
        _print_json({"platform": str(options.out), "nanoseconds": found})
        return 0
    units = list(dict.fromkeys(unit for on in found.values() for unit in on))
    rows = [
        (name, *(f"{on[unit] / 1000:,.1f}" if unit in on else "-" for unit in units)) for name, on in found.items()
    ]
    _show_table("Steps for one image, in us", ("step", *units), rows)
    print(options.out)
    return 0


def _show_mappings(answer: Answer) -> None:
    """The front, the chosen mapping step by step, and the sources of the numbers."""
    if answer.nearest is not None:
        print(f"no mapping keeps every limit; the nearest one is over {', '.join(answer.broken(answer.nearest))}")
    header = ("", "setting", "ms", "mJ", "W", "transitions", *answer.platform.units)
    rows = [_mapping_row(answer, unit, point) for unit, point in answer.alone()]
    _show_table("Everything on one unit", header, rows)
    point = answer.nearest or answer.points[answer.chosen()]
    if answer.points:
        shown = every_few(len(answer.points), answer.chosen())
        rows = [_mapping_row(answer, "*" if place == answer.chosen() else "", answer.points[place]) for place in shown]
        kind = "Exact front" if answer.options.method == "exact" else f"Front found by {answer.options.method}"
        rest = "" if len(shown) == len(answer.points) else f", {len(shown)} of them shown"
        _show_table(f"{kind}: {len(answer.points)} mappings{rest}", header, rows)
    title = "The nearest mapping" if answer.nearest else "Mapping *"
    columns = ("step", "unit", *(f"on {unit} (ms, mJ)" for unit in answer.platform.units))
    _show_table(f"{title}: each step, and the change if it alone moved", columns, _move_rows(answer, point))
    for name, source in answer.sources().items():
        print(f"{name} ({source.kind}): {source.about}")


ROWS_SHOWN = 24


def every_few(count: int, chosen: int) -> list[int]:
    """At most ROWS_SHOWN places of `count`, spread evenly, with the first, the last and the chosen one."""
    if count <= ROWS_SHOWN:
        return list(range(count))
    steps = ROWS_SHOWN - 2
    return sorted({chosen, *(round(place * (count - 1) / steps) for place in range(steps + 1))})


def _mapping_row(answer: Answer, name: str, point: Point) -> tuple[str, ...]:
    share = [f"{float((point.mapping == unit).mean()):.0%}" for unit in range(len(answer.platform.units))]
    return (
        name, point.setting, f"{answer.milliseconds(point.time):.3f}", f"{answer.millijoules(point.energy):.3f}",
        f"{answer.watts(point):.2f}", str(point.transitions), *share,
    )  # fmt: skip


def _move_rows(answer: Answer, point: Point) -> list[tuple[str, ...]]:
    """Each step, its unit, and for every other unit the change of the whole if this step alone moved there."""
    units, rows = answer.platform.units, []
    for move in answer.moves(point):
        cells = ["-"] * len(units)
        cells[move.unit] = ""
        for unit, time, energy, broken in move.others:
            over = f" over {' and '.join(broken)}" if broken else ""
            cells[unit] = f"{answer.milliseconds(time):+.3f} {answer.millijoules(energy):+.3f}{over}"
        rows.append((answer.chains[point.setting].steps[move.place], units[move.unit], *cells))
    return rows


def _doctor(options: argparse.Namespace) -> int:
    from fgnas.tools.doctor import examine, table

    parts = examine()
    if options.json:
        _print_json({part.name: vars(part) for part in parts})
    else:
        print(as_here(table(parts)))
    return 2 if any(part.required and part.found is None for part in parts) else 0


def _show_check(result: dict[str, Any], as_json: bool) -> int:
    """Exit code 1 if anything is wrong."""
    if as_json:
        _print_json(result)
    else:
        for name, value in result.items():
            if name == "phases":
                for phase in value:
                    print(f"{phase['name']}: {phase['cycles']:,} cycles, {phase['predicted_cycles']:,} predicted")
            elif name == "phase_cycles" and "phases" in result:
                continue  # an array asks for beats in some phases only
            elif name == "phase_cycles" and value:
                names = ("load", *(f"phase {number}" for number in range(len(value) - 2)), "output")
                # Other RTL may request data in fewer phases than the project's own.
                begins = (f"{phase} {cycle:,}" for phase, cycle in zip(names, value, strict=False))
                print(f"phases ask for their first beat in cycle: {', '.join(begins)}")
            elif value is not None:
                print(f"{name.replace('_', ' ')}: {value}")
    from fgnas.api import passed

    return 0 if passed(result) else 1


if __name__ == "__main__":
    sys.exit(main())
