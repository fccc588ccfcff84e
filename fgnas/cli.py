"""The command line: parse, call, show."""

from __future__ import annotations

import argparse
import functools
import json
import math
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
from fgnas.costs import whole
from fgnas.errors import UserError
from fgnas.exchange.trackers import TRACKERS
from fgnas.files import canonical_json
from fgnas.options import (
    ABOVE_ZERO,
    NATURAL,
    NOT_NEGATIVE,
    POSITIVE,
    Kind,
    add_arguments,
    chosen,
    option_fields,
    parser_of,
    refuse,
)
from fgnas.paths import PROJECTS, RUNS
from fgnas.plain import LARGEST
from fgnas.progress import shown, step
from fgnas.systems.fgnas.options import SPECIFICATION, Options

if TYPE_CHECKING:
    from rich.console import Console

    from fgnas.api import Design, ImportedNetwork, PointDesign, Run
    from fgnas.hardware.specification import Specification
    from fgnas.mapping.study import Answer, Point
    from fgnas.tasks.collection import Collection
    from fgnas.tasks.degrees import Degrees
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
        ("design", _design, _add_design, "write a plain network by its name and widths, such as gcn 16, as a design"),
        ("sample", _sample, functools.partial(_add_sample, system=system), "write random candidates, one per line"),
        ("import", _import, _add_import, "turn a trained PyG model into a design with weights"),
        ("hls", _hls, _add_hls, "write the C++ and RTL project of a design"),
        ("encode", _encode, _add_encode, "write a network for the array of a project, which needs no rebuild"),
        ("onnx", _onnx, _add_onnx, "write a design's integer network as an ONNX model, which gives the same integers"),
        ("csim", _csim, _add_check, "compile a project's C++ with g++ and compare it with the integer reference"),
        ("sim", _sim, _add_sim, "simulate a project's RTL with Verilator: logits and cycles"),
        ("synth", _synth, _add_synth, "synthesise a project's RTL with Yosys: LUT, FF, DSP, block RAM"),
        ("timing", _timing, _add_timing, "place and route a project's RTL on an ECP5: clock reached, critical path"),
        ("vitis", _vitis, _add_vitis, "run a step of Vitis HLS on a project's C++ and read its report"),
        ("board", _board, _add_board, "build a project's bitstream for a board, or simulate the whole system"),
        ("run", _run, _add_run, "run a project's graph on a board at a serial port, and compare every logit"),
        ("rank", _rank, _add_rank, "measure how well a run's scores rank networks that are trained alone"),
        ("trials", _trials, _add_trials, "write the trials of a run as a table: CSV or Parquet"),
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
    sub.set_defaults(searched=system)
    _add_system(sub)
    add_arguments(sub, systems.find(system).Options)
    _add_number(sub, "--workers", POSITIVE, "processes that train; default: one per core")
    sub.add_argument("--executor", choices=("processes", "dask"), default="processes", help="default: %(default)s")
    sub.add_argument("--scheduler", metavar="ADDRESS", help="address of a running dask.distributed cluster")
    sub.add_argument(
        "--track", action="append", choices=tuple(TRACKERS), help="log the search there, too; may be repeated"
    )
    sub.add_argument("--run", dest="name", metavar="NAME", help="folder under runs/; default: DATASET-N")
    sub.add_argument("--resume", action="store_true", help="continue --run, or the latest run")
    _add_json(sub)


def _add_system(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--system", metavar="NAME", help=f"{', '.join(systems.names())}; default: {systems.DEFAULT}")


def _add_price(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("design", type=Path, help="a design, or a .jsonl file with one design per line")
    about = "array, or a measured device: the design is then a network of operations, or the name of a baseline"
    sub.add_argument("--target", metavar="array|FOLDER", help=about)
    _add_number(sub, "--multipliers", POSITIVE, "of that array; default: those of the network's search, or 64")
    _add_number(sub, "--beat-bits", POSITIVE, "memory port of that array; default: that of its search, or 512")
    _add_number(sub, "--bits", POSITIVE, "of every number on that array; default: those of its search, or 8")
    sub.add_argument("--measure", action="store_true", help="with --target: time the network here, too")
    _add_dataset(sub)
    about = "a graph by its sizes alone, of which a pipeline's price is exact: degrees, features and classes"
    sub.add_argument("--degrees", metavar="FILE.npz", help=about)
    add_arguments(sub, Options, (*SPECIFICATION, "fpga"), defaults=False)
    _add_number(sub, "--workers", POSITIVE, "processes that price a long .jsonl file; default: one per core")
    _add_json(sub)


def _add_evaluate(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("design", type=Path)
    _add_dataset(sub)
    _add_number(sub, "--seeds", POSITIVE, "trainings", 5)
    _add_json(sub)


def _add_design(sub: argparse.ArgumentParser) -> None:
    from fgnas.activations import NAMES
    from fgnas.plain import NETWORKS

    sub.add_argument("name", metavar="NAME", help=", ".join(NETWORKS))
    about = "features of each hidden layer, of one head; the last layer has the data's classes"
    sub.add_argument("hidden", nargs="*", type=parser_of(POSITIVE), metavar="WIDTH", help=about)
    _add_number(sub, "--heads", POSITIVE, "of networks whose messages have scores", 1)
    sub.add_argument("--activation", default="relu", metavar="NAME", help=f"{', '.join(NAMES)}; default: %(default)s")
    _add_number(sub, "--bits", POSITIVE, "width of every number", 8)
    _add_number(sub, "--dsp", NATURAL, "DSP slices for the multipliers", Options.dsp)
    sub.add_argument("--out", type=Path, metavar="FILE", help="default: NAME-WIDTH.json")
    _add_json(sub)


def _add_sample(sub: argparse.ArgumentParser, system: str) -> None:
    _add_system(sub)
    own = systems.find(system).Options
    add_arguments(sub, own, own.SHAPES)
    _add_number(sub, "--seed", NATURAL, "of the draws", 0)
    _add_number(sub, "-n", POSITIVE, "how many", 1)


def _add_import(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("model", metavar="MODEL.pt2|module:factory", help="an exported program, or a module's factory")
    about = "digits, cora, citeseer, pubmed, esol, tox21, hiv, tu:NAME, or a .pt or .npz file; default: digits"
    sub.add_argument("--dataset", metavar="NAME|PATH", help=about)
    add_arguments(sub, Options, ("split", "normalise"))
    sub.add_argument("--weights", type=Path, metavar="FILE", help="the state_dict of module:factory")
    _add_number(sub, "--bits", POSITIVE, "width of every number, 4 to 10; with --loss of the widest", 10)
    about = "points that the validation part may lose: layer by layer the fewest bits that keep it"
    sub.add_argument("--loss", type=parser_of(NOT_NEGATIVE), metavar="POINTS", help=about)
    _add_number(sub, "--dsp", NATURAL, "DSP slices for the multipliers", Options.dsp)
    about = "graphs that hardware runs, of data of many: so many that test, those in places, the largest; default: 64"
    sub.add_argument("--graphs", type=_places, metavar="N|FIRST:END|largest", help=about)
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
    about = "bits of every number of a network of operations; default: those of its search, or 8"
    _add_number(sub, "--bits", POSITIVE, about)
    about = "most block RAMs of an array; default: the design's own array, or those of the search or device"
    _add_number(sub, "--bram36", POSITIVE, about)
    about = "whether H and Z stay on an array's chip; else each half of a layer is a call of its own; default: on"
    sub.add_argument("--repurposing", choices=("on", "off"), default="on", help=about)
    about = "give an array room for other networks, which `fgnas encode` writes for it"
    sub.add_argument("--flexible", action="store_true", help=about)
    about = "two products in a DSP slice of an array, up to 8 bits: twice the multipliers of a DSP budget"
    sub.add_argument("--paired", action="store_true", help=about)
    _add_json(sub)


def _add_encode(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("source", metavar="RUN|DESIGN.json", help="a run's name, `latest`, or a design")
    about = "the project whose array runs the network, written by `fgnas hls`"
    sub.add_argument("--on", type=Path, required=True, metavar="PROJECT", help=about)
    which = "a design of the run; default: %(default)s"
    sub.add_argument("--design", default="best", metavar="best|cheapest|RANK", help=which)
    _add_dataset(sub)
    sub.add_argument("--out", type=Path, metavar="DIR", help="default: hls/DESIGN-on-PROJECT")
    sub.add_argument("--fit", action="store_true", help="write nothing: say whether it fits, and what it takes there")
    _add_json(sub)


def _add_onnx(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("source", metavar="RUN|DESIGN.json", help="a run's name, `latest`, or a design")
    which = "a design of the run; default: %(default)s"
    sub.add_argument("--design", default="best", metavar="best|cheapest|RANK", help=which)
    _add_dataset(sub)
    about = "the hardware whose arithmetic it has; default: what the design was made for"
    sub.add_argument("--target", metavar="pipeline|array", help=about)
    sub.add_argument("--out", type=Path, metavar="FILE.onnx", help="default: best.onnx, cheapest.onnx or the design's")
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
    about = "start an array once more without its weights, which are still there"
    sub.add_argument("--again", action="store_true", help=about)


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


def _add_board(sub: argparse.ArgumentParser) -> None:
    _add_check(sub)
    about = "a board that fgnas knows, or a file that describes one; default: %(default)s"
    sub.add_argument("--board", default="ulx3s-85f", metavar="NAME|FILE.toml", help=about)
    sub.add_argument("--sim", action="store_true", help="simulate the whole system, and run the graph over its line")
    sub.add_argument("--netlist", action="store_true", help="with --sim: the bitstream's netlist in place of the RTL")
    sub.add_argument("--sdram", action="store_true", help="main memory is the board's SDRAM instead of block RAM")
    _add_number(sub, "--memory-kb", POSITIVE, "memory on the chip; default: what the project's graph takes")
    _add_number(sub, "--clock-mhz", ABOVE_ZERO, "clock of the kernel; default: the board's")
    _add_number(sub, "--seed", POSITIVE, "of the placement", 1)


def _add_run(sub: argparse.ArgumentParser) -> None:
    _add_check(sub)
    sub.add_argument("--port", required=True, metavar="PORT", help="a serial port, or socket://HOST:PORT")
    _add_number(sub, "--baud", POSITIVE, "bits a second on the line; default: 3000000, the ULX3S's")
    about = "a folder like vectors/ of another graph or network for the same kernel"
    sub.add_argument("--vectors", type=Path, metavar="DIR", help=about)


def _add_rank(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("source", metavar="RUN", nargs="?", default="latest", help="a run's name; default: %(default)s")
    _add_number(sub, "--networks", POSITIVE, "uniform networks within the run's limits", 100)
    _add_number(sub, "--seeds", POSITIVE, "trainings of each", 2)
    _add_number(sub, "--workers", POSITIVE, "processes that train; default: one per core")
    _add_json(sub)


def _add_trials(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("source", metavar="RUN", nargs="?", default="latest", help="a run's name; default: %(default)s")
    about = "the table, by its ending CSV or Parquet; default: CSV on the standard output"
    sub.add_argument("--out", type=Path, metavar="FILE.csv|FILE.parquet", help=about)


def _add_report(sub: argparse.ArgumentParser) -> None:
    about = "a run's name, `latest` (the default), or the folder of a project or of a measured device; or several runs"
    sub.add_argument("sources", metavar="RUN|DIR", nargs="*", default=["latest"], help=about)
    sub.add_argument("--fpga", metavar="NAME|FILE.toml", help="device to compare a project's resources with")
    _add_dataset(sub)
    about = "default: report.html in that folder; of several runs compared.html beside the first"
    sub.add_argument("--out", type=Path, metavar="FILE", help=about)
    _add_json(sub)


def _add_map(sub: argparse.ArgumentParser) -> None:
    from fgnas.mapping.options import MapOptions, shipped
    from fgnas.systems.hgnas.options import CutOptions

    about = f"{', '.join(shipped())}, a file of your own, or the folder of a measured device with an array behind it"
    sub.add_argument("platform", metavar="PLATFORM|FILE.toml|FOLDER", help=about)
    about = "a model of the platform; for a device a network of operations (.json), or the name of a baseline"
    sub.add_argument("model", help=about)
    add_arguments(sub, MapOptions)
    add_arguments(sub, CutOptions)
    about = "with a device: write the project of the fastest way's array there"
    sub.add_argument("--out", type=Path, metavar="DIR", help=about)
    _add_json(sub)


def _add_platform(sub: argparse.ArgumentParser) -> None:
    from fgnas.systems.magnas.options import PlatformOptions

    add_arguments(sub, systems.find("magnas").Options, ("dataset", "metric"))
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
    sub.add_argument("--resume", action="store_true", help="continue the folder --out")
    _add_json(sub)


def _places(text: str) -> int | str | range:
    """A number of graphs, their places from a first one up to another, or the largest."""
    if text == LARGEST:
        return text
    named = re.fullmatch(r"(\d+)(?::(\d+))?", text)
    first, end = named.groups() if named else ("0", None)
    found = int(first) if end is None else range(int(first), int(end))
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number of graphs from 1 on nor FIRST:END, such as "
                                         f"64:128; `{LARGEST}` is the graph with most nodes")  # fmt: skip
    return found


WHOLE = ("dataset", "split", "normalise")
"""Options that name data."""
DATA = (*WHOLE, "graphs")
"""Those and how many graphs of it are in a start."""


def _add_dataset(sub: argparse.ArgumentParser) -> None:
    add_arguments(sub, Options, DATA)


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
    """The system that a command line names or whose run it continues, found before its options can be parsed."""
    first = argparse.ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
    first.add_argument("--system")
    first.add_argument("--run")
    first.add_argument("--resume", action="store_true")
    try:
        found = first.parse_known_args(arguments)[0]
        if found.system is None and found.resume and arguments[0] == "search":
            from fgnas.engine.store import LATEST, RunStore

            return str(RunStore.find(RUNS, found.run or LATEST).config().get("system", systems.DEFAULT))
    except (argparse.ArgumentError, UserError):  # a value or the run is missing: the command itself reports it
        return systems.DEFAULT
    return str(found.system or systems.DEFAULT)


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


def _reference(options: argparse.Namespace, own: str | None = None, names: Sequence[str] = DATA) -> str | None:
    """The data that the options name, or a design's own; None without either."""
    given = chosen(options, Options, names)
    if own is not None and list(given) == ["graphs"]:  # as many of its own
        given["dataset"] = own
    return Options.resolved(given).get("dataset") or own


def _load(reference: str | None) -> GraphData:
    """Load data; notes about it go to stderr, once for each graph."""
    from fgnas.tasks.notes import untold
    from fgnas.tasks.pooled import load

    data = load(reference or Options.dataset)
    for remark in untold(data):
        print(f"{data.label}: {remark}", file=sys.stderr)
    return data


def _load_collection(reference: str | None) -> Collection:
    """Load data that a model is imported for; notes as `_load` has them."""
    from fgnas.tasks import sources
    from fgnas.tasks.notes import untold
    from fgnas.tasks.pooled import whole_name

    with step("load the data"):
        data = sources.load(whole_name(reference or Options.dataset))
    for remark in untold(data.nodes) if data.nodes is not None else ():
        print(f"{data.label}: {remark}", file=sys.stderr)
    return data


def _print_json(content: Any) -> None:
    print(json.dumps(content, sort_keys=True, allow_nan=False))


# search


def _search(options: argparse.Namespace) -> int:
    from fgnas import api

    given = chosen(options, systems.find(options.searched).Options)
    # These alone choose how a search runs; they never change its results.
    running = {name: getattr(options, name) for name in ("workers", "executor", "scheduler", "resume")}
    run = api.search(**given, **running, system=options.system, run=options.name, track=options.track or ())
    return _show_best(run, run.report(), options.json)


def _show_best(run: Run, page: Path, as_json: bool) -> int:
    best = run.best
    if as_json:
        _print_json({"run": run.folder.name, "page": str(page), **best})
        return 0
    config = run.store.config()
    _show_costs(config["costs"], config["limits"], best["costs"])
    rows: list[tuple[str, ...]] = []
    seeds = len(best["retrained"]["seeds"])
    for kind, splits in best["delivered"].items():
        for split, value in splits.items():
            over = best["retrained"][kind][split]
            spread = (f"{over['mean']:.2%}", f"{over['std']:.2%}") if seeds > 1 else ()
            rows.append((f"{kind} {split}", f"{value:.2%}", *spread))
            if "deviation" in best:
                error = best["deviation"] * math.sqrt(1 - value)
                rows.append((f"{kind} {split}, RMSE", f"{error:.4g}", *("" for _ in spread)))
    title = config["scores"][0]["label"].removeprefix("Validation ")
    several = (f"mean of {seeds} seeds", "std") if seeds > 1 else ()
    _show_table(title[0].upper() + title[1:], ("", "delivered", *several), rows)
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
        rows.append((f"{cost['label']}{unit}", _amount(value, cost), "-" if limit is None else _figure(limit), share))
        if cost["shown_unit"]:
            shown = [f"{number * cost['scale']:.4f}" for number in (value, limit) if number is not None]
            label = f"{cost['label']} ({cost['shown_unit']})"
            rows.append((label, shown[0], shown[1] if len(shown) > 1 else "-", share))
    _show_table("Utilisation", ("", "Used", "Available", "Util%"), rows)


def _amount(value: float, cost: dict[str, Any]) -> str:
    """A cost as it is; of one that is predicted, no more digits of a fraction than it has a meaning."""
    return _figure(value, 6 if cost["exact"] else 4)


def _figure(value: float, digits: int = 6) -> str:
    """A whole number with all its digits, any other with so many, and at least those before the point."""
    if value == int(value):
        return f"{whole(value):,}"
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:,.{digits}g}"


def _show_price(prices: dict[str, Any], specification: Specification) -> None:
    """The price of a design against the limits that a user names."""
    from fgnas.hardware.pipeline.traffic import peak_rows
    from fgnas.systems.fgnas.target import pipeline_costs

    costs = [cost.to_dict() for cost in pipeline_costs(specification.clock_mhz)]
    _show_costs(costs, specification.limits() | specification.resources(), prices)
    rows = [
        (label, _figure(prices[name], 4)) for label, name in (
            ("Main memory, bytes an inference", "memory_bytes"), ("Main memory, mean MB/s", "memory_mb_s"),
            ("Clock of a 128-bit port for that (MHz)", "memory_clock_mhz"), ("Multipliers", "multipliers"),
            ("Multiplications that the network needs", "multiplications"), ("Share of multiplier cycles", "busy"),
            ("Calls", "calls"),
            ("Cycles of a further start", "cycles_again"),
        ) if name in prices
    ]  # fmt: skip
    _show_table("Traffic", ("", "Used"), rows)
    if "peak_beats" not in prices:
        return
    peaks = peak_rows(prices, specification.port_bits)
    rates = [(label, _figure(beats, 4), _figure(mb_s, 4)) for label, beats, mb_s in peaks]
    _show_table("Peak traffic", ("", "Beats a cycle", "MB/s"), rates)


def _show_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], wrapped: str = "") -> None:
    """Print a table; of a narrow terminal the `wrapped` column takes several lines."""
    from rich.box import ASCII
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=ASCII)
    for place, name in enumerate(header):
        table.add_column(name, justify="left" if place == 0 or name == wrapped else "right",
                         no_wrap=name != wrapped)  # fmt: skip
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


def _trials(options: argparse.Namespace) -> int:
    from fgnas.engine.store import RunStore
    from fgnas.exchange import tables

    columns = tables.columns_of(RunStore.find(RUNS, options.source))
    if options.out is None:
        sys.stdout.write(tables.csv_of(columns))
        return 0
    tables.write(columns, options.out)
    print(options.out)
    return 0


# price, evaluate, sample


def _price(options: argparse.Namespace) -> int:
    from fgnas import api

    if options.degrees is not None and (options.target or _reference(options) or api.is_imported(options.design)):
        raise UserError("--degrees is a graph by its sizes, for the pipeline of a design: no --dataset or --target")
    if options.target == ARRAY:
        return _price_on_array(options)
    for name in ARRAY_SIZES:
        if getattr(options, name) is not None:
            raise UserError(f"--{name.replace('_', '-')} is of an array for a network: give --target array")
    if options.target is not None:
        return _price_network(options)
    if options.measure:
        raise UserError("--measure times a network of operations: give its device with --target FOLDER")
    limits = chosen(options, Options, (*SPECIFICATION, "fpga"))
    if options.design.suffix == ".jsonl":
        workers = options.workers or os.cpu_count() or 1
        for lines in api.price_lines(options.design, lambda: _sized(options, None), workers=workers, **limits):
            sys.stdout.writelines(lines)
        return 0
    if api.is_imported(options.design):
        return _price_imported(api.ImportedNetwork.load(options.design), options.json, limits)
    design = api.Design.load(options.design)
    row = design.price(_sized(options, design.dataset), **limits)
    if options.json:
        _print_json(row)
        return 0
    _show_price(row, api.specification(**limits))
    for violation in row["violations"]:
        print(violation)
    return 0


def _sized(options: argparse.Namespace, default: str | None) -> GraphData | Degrees:
    """What a design is priced on: the data that the options name, or the sizes of a graph."""
    from fgnas.tasks.degrees import Degrees

    if options.degrees is not None:
        return Degrees.read(options.degrees)
    return _load(_reference(options, default))


def _price_imported(network: ImportedNetwork, as_json: bool, limits: dict[str, Any]) -> int:
    """The price of an imported network on the fastest array."""
    from fgnas import api

    row = network.price(**limits)
    if as_json:
        _print_json(row)
    else:
        _show_price(row, api.specification(**limits))
    return 0


ARRAY, ARRAY_SIZES = "array", ("multipliers", "beat_bits", "bits")
"""The target `array` of networks of operations, a name that no folder of a device may have, and its size options."""


def _price_on_array(options: argparse.Namespace) -> int:
    from fgnas import api

    if options.measure:
        raise UserError("--measure times a network on this processor: give a device with --target FOLDER")
    limits = chosen(options, Options, (*SPECIFICATION, "fpga"))
    size = {name: getattr(options, name) for name in ARRAY_SIZES}
    found = api.price_on_array(options.design, _reference(options), **size, **limits)
    if options.json:
        _print_json(found)
        return 0
    shown_as = (
        ("latency_cycles", "cycles", 1.0), ("latency_ms", "ms", 1.0), ("lut", "LUT", 1.0), ("ff", "FF", 1.0),
        ("dsp", "DSP", 1.0), ("bram36", "block RAM (36 Kb)", 1.0), ("products", "multiplications, million", 1e-6),
        ("width", "widest features", 1.0),
    )  # fmt: skip
    rows = [(label, f"{found[name] * scale:,.10g}") for name, label, scale in shown_as]
    _show_table(f"One cloud on an array of {found['multipliers']} multipliers", ("", ""), rows)
    for violation in found["violations"]:
        print(violation)
    return 0


def _price_network(options: argparse.Namespace) -> int:
    from fgnas import api

    found = api.price_network(options.design, Path(options.target), measured=options.measure)
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
    data = _load(_reference(options, design.dataset))
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


def _design(options: argparse.Namespace) -> int:
    from fgnas import api

    found = api.Design.plain(options.name, *options.hidden, heads=options.heads, activation=options.activation,
                             bits=options.bits, dsp=options.dsp)  # fmt: skip
    path = found.save(options.out or f"{found.label}.json")
    if options.json:
        _print_json({"design_file": str(path), "design_hash": found.hash})
        return 0
    print(f"next: fgnas price {path} --dataset cora, fgnas evaluate {path}, fgnas hls {path}")
    print(path)
    return 0


def _sample(options: argparse.Namespace) -> int:
    from fgnas import api

    own = systems.find(options.system or systems.DEFAULT).Options
    given = chosen(options, own, own.SHAPES)
    for candidate in api.candidates(options.n, options.seed, options.system, **given):
        print(canonical_json(candidate.to_dict()))
    return 0


def _import(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.plain import IMPORTED_BITS, check_bits

    check_bits(options.bits, IMPORTED_BITS)  # before anything is loaded, which takes seconds
    data = _load_collection(_reference(options, names=WHOLE))
    found = api.import_model(options.model, data, options.weights, options.bits, options.dsp, options.graphs,
                             options.loss)  # fmt: skip
    if isinstance(found, api.Design):
        assert data.nodes is not None
        accuracy = found.accuracy(data.nodes)
        price = found.price(data.nodes)
        hardware = {"hardware": "pipeline", "cycles": price["latency_cycles"]}
        path = found.save(options.out or f"{found.label}.json", model=options.model, **accuracy)
        report: dict[str, Any] = {"design_hash": found.hash, "layers": _layers_of(found)}
    else:
        accuracy = {kind: found.content[kind] for kind in ("float", "quantised")}
        price = found.price()
        hardware = {"hardware": "array", "cycles": price["latency_cycles"]}
        path = found.save(options.out or f"{found.label}.json")
        report = {"network_hash": found.hash, "layers": found.content["layers"]}
    if options.json:
        _print_json({"design_file": str(path), "dataset": data.name, **hardware, **report, **accuracy})
        return 0
    _show_import(data, accuracy, report.get("layers", ()))
    print(_hardware_of(hardware["hardware"], price))
    print(f"next: fgnas hls {path}")
    print(path)
    return 0


def _layers_of(design: Design) -> list[dict[str, Any]]:
    """Rows of a table: each convolution of an imported model and the layer of the design that replaces it."""
    rows = []
    for number, layer in enumerate(design.choices.layers):
        heads = f"{layer.k} × " if layer.k > 1 else ""
        size = "classes" if layer.d is None else f"{heads}{layer.d} features"
        behind = "" if layer.activation is None else f", then {layer.activation}"
        rows.append({"layer": str(number), "kind": f"attention {layer.attention}",
                     "becomes": f"{layer.aggregation} to {size}{behind}", "bits": 1 + layer.ai + layer.af})  # fmt: skip
    return rows


def _show_import(data: Collection, accuracy: dict[str, Any], layers: Sequence[dict[str, Any]]) -> None:
    """Print the layers of the imported model as they run here, and its metric in float and in fixed point."""
    if layers:
        rows = [(one["layer"], one["kind"], one["becomes"], str(one["bits"] or "")) for one in layers]
        _show_table("Layers", ("layer", "class", "becomes", "bits"), rows, wrapped="becomes")
    _show_metrics(data.kind, data.label, accuracy)


def _show_metrics(kind: str, label: str, accuracy: dict[str, dict[str, float]]) -> None:
    """What networks are worth on the parts of data, by the measure of its kind of targets."""
    from fgnas.tasks.collection import METRICS

    form = "{:.2%}" if kind == "classes" else "{:.4f}"
    splits = [name for name in ("val", "test") if name in accuracy["float"]]
    shown = [(name, *(form.format(values[split]) for split in splits)) for name, values in accuracy.items()]
    title = METRICS[kind]
    _show_table(f"{title[0].upper()}{title[1:]} on {label}", ("", *splits), shown)


def _hardware_of(kind: str, price: dict[str, Any]) -> str:
    """The hardware that a model runs on, and what it costs, in a line."""
    from fgnas.hardware.kinds import ARRAY

    what = f"{price['multipliers']} multipliers" if kind == ARRAY.name else "units for each layer"
    used = ", ".join(f"{whole(price[name]):,} {label}" for name, label in (
        ("lut", "LUTs"), ("ff", "flip-flops"), ("dsp", "DSP slices"), ("bram36", "block RAMs")))  # fmt: skip
    calls = f" in {price['calls']} calls" if price.get("calls", 1) > 1 else ""
    return f"{kind}: {what}, {price['latency_cycles']:,} cycles{calls}, {price['latency_ms']:.4g} ms, {used}"


# hls, csim, sim, synth


def _hls(options: argparse.Namespace) -> int:
    from fgnas import api

    design = _network_of(options)
    if design is None:
        return _write_leader(api.Run.find(options.source), options)
    if isinstance(design, api.ImportedNetwork):
        return _write_imported(design, options)
    if isinstance(design, api.PointDesign):
        write = _write_over_edges if design.over_edges(options.dataset) else _write_network
        return write(design, options)
    return _write_design(design, options)


def _write_design(design: Design, options: argparse.Namespace) -> int:
    """Write the project of a design of layers."""
    from fgnas.backends.project import check_compiler, check_replaceable, held_by
    from fgnas.hardware.kinds import find_kind, kind_of

    if options.bits is not None:
        raise UserError("--bits is for networks of operations: the layers of a design have formats of their own")
    directory = options.out or PROJECTS / design.label
    check_compiler(options.compiler)  # these are checked before a training, which takes time
    kind = find_kind(options.target) if options.target else kind_of(design.choices)
    kind.check(design.choices)
    check_replaceable(directory)
    before = held_by(directory)
    accelerator = design.lower(_load(_reference(options, design.dataset)))
    project = accelerator.write(
        directory, options.fpga, options.clock_mhz, options.compiler, options.target, options.multipliers,
        options.beat_bits, options.bram36, options.repurposing == "on", options.flexible, options.paired,
    )  # fmt: skip
    if options.json:
        data = accelerator.data
        _print_json({"directory": str(project.directory), "design_hash": design.hash, "dataset": data.name})
    else:
        _show_written(project.directory, held_by(directory), before, options.quiet)
    return 0


def _show_written(directory: Path, now: str | None, before: str | None, quiet: bool) -> None:
    """The folder of a new project; on stderr what it holds, what it held before, and the next commands."""
    if not quiet:
        print(f"next: fgnas csim {directory}, fgnas sim {directory}", file=sys.stderr)
        print(f"{now}{f', in place of {before}' if before not in (None, now) else ''}", file=sys.stderr)
    print(directory)


def _network_of(options: argparse.Namespace) -> Design | PointDesign | ImportedNetwork | None:
    """The network that a command names: a file, or a leader of a run; None of a run whose leaders are several."""
    from fgnas import api
    from fgnas.api.networks import is_network

    if not (options.source.endswith(".json") or Path(options.source).is_file()):
        run = _run_of(options.source)
        return run.design(options.design) if run.delivers_designs else None
    if options.design != "best":
        raise UserError(f"--design {options.design} chooses one of a run's leaders, but {options.source} is a file")
    if api.is_imported(options.source):
        return api.ImportedNetwork.load(options.source)
    return (api.PointDesign if is_network(Path(options.source)) else api.Design).load(options.source)


def _run_of(source: str) -> Run:
    """The run of a name. Raises UserError where there is none, and says so of a project."""
    from fgnas import api

    try:
        return api.Run.find(source)
    except UserError:
        if api.Project(Path(source)).exists:
            raise UserError(f"{source} is a project already, not a run or a design: `fgnas csim {source}` checks "
                            f"it") from None  # fmt: skip
        raise


def _encode(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.api.encoding import encode

    design, data = _network_of(options), None
    if isinstance(design, api.ImportedNetwork):
        if (reference := _reference(options)) is not None:
            design.check_data(_load_collection(reference))
    elif isinstance(design, api.Design):
        data = _load(_reference(options, design.dataset))
    else:
        raise UserError(f"{options.source} is neither a design of layers nor an imported network, which alone are "
                        f"encoded on a project's array")  # fmt: skip
    directory = None if options.fit else options.out or PROJECTS / f"{design.label}-on-{options.on.name}"
    found = encode(design, options.on, directory, data)
    if options.json:
        _print_json(found)
        return 0
    calls = f" in {found['calls']:,} calls" if found["calls"] > 1 else ""
    print(f"{found['cycles']:,} cycles{calls}, {found['latency_ms']:.4g} ms; the fastest array of as many multipliers "
          f"that is made for it: {found['new_cycles']:,} cycles, {found['new_latency_ms']:.4g} ms")  # fmt: skip
    if directory is not None:
        print(found["directory"])
    return 0


def _onnx(options: argparse.Namespace) -> int:
    from fgnas import api

    design = _network_of(options)
    if design is None:
        raise UserError(f"{options.source} delivers no single network: its designs have no ONNX")
    data: Any = _reference(options)
    if isinstance(design, api.Design):
        data = _load(_reference(options, design.dataset))
    path = api.to_onnx(design, options.out or f"{design.label}.onnx", data, options.target)
    if options.json:
        _print_json({"model": str(path), "inputs": str(path.with_suffix(".npz"))})
    else:
        print(path)
        print(path.with_suffix(".npz"))
    return 0


LAYERED = {
    "compiler": "vitis", "bram36": None, "repurposing": "on", "flexible": False, "paired": False, "split": None,
    "normalise": None, "graphs": None,
}  # fmt: skip
"""Options of `fgnas hls`, with their defaults, that a network of operations does not take."""
ONE_DESIGN = LAYERED | {
    "fpga": None, "clock_mhz": None, "target": None, "multipliers": None, "beat_bits": None, "bits": None,
    "dataset": None,
}  # fmt: skip
"""Those that a run with several accelerators does not take."""


def _write_network(design: PointDesign, options: argparse.Namespace) -> int:
    """Write the project of a network of operations on an array."""
    from fgnas.backends.project import check_replaceable
    from fgnas.hardware.kinds import ARRAY

    for name, default in LAYERED.items():
        if getattr(options, name) != default:
            raise UserError(f"--{name.replace('_', '-')} is for designs of layers, and {options.source} is a network "
                            "of operations")  # fmt: skip
    if options.target not in (None, ARRAY.name):
        raise UserError(f"a network of operations runs on an {ARRAY.name} alone, not on --target {options.target}")
    directory = options.out or PROJECTS / design.label
    check_replaceable(directory)  # before a training, which takes time
    accelerator = design.lower(options.dataset, options.multipliers, options.beat_bits, options.bits)
    project = accelerator.write(directory, options.fpga, options.clock_mhz)
    if options.json:
        _print_json({"directory": str(project.directory), "design_hash": design.hash, "dataset": accelerator.data.name,
                     **accelerator.accuracy()})  # fmt: skip
    else:
        print(project.directory)
    return 0


def _write_over_edges(design: PointDesign, options: argparse.Namespace) -> int:
    """Write the project of a network over graphs with edges of their own, which an array runs in calls."""
    from fgnas.backends.project import check_replaceable

    check_replaceable(options.out or PROJECTS / design.label)  # before formats are chosen, which takes time
    network, size = design.imported(options.bits, dataset=options.dataset), design.delivered.size
    given = vars(options) | {  # bits and data have become the network's
        "bits": None, "dataset": None, "multipliers": options.multipliers or size.multipliers,
        "beat_bits": options.beat_bits or size.beat_bits,
    }  # fmt: skip
    if not (options.json or options.quiet):
        found = network.content
        _show_metrics(found["targets"], found["dataset"], {name: found[name] for name in ("float", "quantised")})
    return _write_imported(network, argparse.Namespace(**given), design.delivered.specification)


def _write_imported(
    network: ImportedNetwork, options: argparse.Namespace, specification: Specification | None = None
) -> int:
    """Write the project of an imported network, which an array runs, within the limits of a search for it."""
    from fgnas.backends.project import check_replaceable, held_by
    from fgnas.hardware.kinds import ARRAY, find_kind

    if options.target and find_kind(options.target) is not ARRAY:
        raise UserError(f"{options.source} is a network of operations, which an array runs: leave out --target")
    for name, default in {"compiler": "vitis", "repurposing": "on", "bits": None}.items():
        if getattr(options, name) != default:
            raise UserError(f"--{name} is for designs, and {options.source} is an imported network of operations")
    if (reference := _reference(options)) is not None:
        network.check_data(_load_collection(reference))
    directory = options.out or PROJECTS / network.label
    check_replaceable(directory)
    before = held_by(directory)
    project = network.write(
        directory, options.fpga, options.clock_mhz, options.multipliers, options.beat_bits, options.bram36,
        options.flexible, options.paired, specification,
    )  # fmt: skip
    if options.json:
        _print_json({"directory": str(project.directory), "network_hash": network.hash,
                     "dataset": network.source.dataset})  # fmt: skip
        return 0
    now = f"network {network.hash} for {network.source.dataset}"
    _show_written(project.directory, now, before, options.quiet)
    return 0


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

    return _show_check(api.Project(options.directory).csim(), options.json, options.directory)


def _sim(options: argparse.Namespace) -> int:
    from fgnas import api

    project = api.Project(options.directory)
    if options.bambu and (options.couplings is not None or options.rtl is not None or options.again):
        raise UserError("--bambu simulates bambu's Verilog: leave out --rtl, --couplings and --again")
    if options.couplings is not None and options.again:
        raise UserError("--couplings and --again are simulations of their own: give one of them")
    if options.bambu:
        return _show_check(project.simulate_bambu(), options.json)
    if options.couplings is None:
        report = project.simulate(options.rtl, options.again)
        if "by_step" in report and not options.json:
            _show_steps(report.pop("by_step"))
        if "by_call" in report and not options.json:
            _show_calls(report.pop("by_call"))
        return _show_check(report, options.json, options.directory)
    if options.rtl is not None:
        raise UserError("--couplings simulates the project's own RTL: leave out --rtl")
    report = project.couplings(options.couplings)
    if not options.json:
        for name, found in report.pop("couplings").items():
            counts = (f"{key.replace('_', ' ')} {value:,}" for key, value in found.items() if value is not None)
            print(f"{name.replace('_', ' ')}: {', '.join(counts)}")
    return _show_check(report, options.json)


COMPARED = ("logits", "mismatches", "cycles", "predicted_cycles")
"""Fields of a simulation's report that a table of several simulations shows."""


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


def _board(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.board.assembly import PLACE
    from fgnas.board.bitstream import report_text

    project = api.Project(options.directory)
    chosen_system = (options.board, options.clock_mhz, options.memory_kb, options.sdram)
    if options.sim:
        return _show_check(project.simulate_board(*chosen_system, options.netlist), options.json)
    if options.netlist:
        raise UserError("--netlist is for --sim: a bitstream is always made from its netlist")
    report = project.board(*chosen_system, options.seed)
    if options.json:
        _print_json(report)
    else:
        print(report_text(report, options.directory / PLACE / report["board"]))
    return 0


def _run(options: argparse.Namespace) -> int:
    from fgnas import api

    return _show_check(api.Project(options.directory).run(options.port, options.baud, options.vectors), options.json)


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
        print(f"predicted cycles: {predicted['latency_cycles']:,}")


def _report(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.engine.store import RunStore
    from fgnas.hardware.measured.device import DeviceFolder
    from fgnas.report.make import report_device, report_run

    if len(options.sources) > 1:
        return _report_several(options)
    (source,) = options.sources
    reference = _reference(options)
    data = None if reference is None else _load(reference)
    project = api.Project(Path(source))
    if options.fpga and not project.exists:
        raise UserError(f"--fpga is for a project, and {source} is not one: write one with `fgnas hls`")
    with step("draw the page"):
        if project.exists:
            page = project.report(options.out, data, options.fpga)
        elif (device := DeviceFolder(Path(source))).begun:
            page = report_device(device, options.out)
        else:
            # Not api.Run: an unfinished run has a page too.
            page = report_run(RunStore.find(RUNS, source), options.out, data)
    if options.json:
        _print_json({"page": str(page)})
    else:
        print(page)
    return 0


def _report_several(options: argparse.Namespace) -> int:
    from fgnas import api

    refuse(options, ("dataset", "fpga"), "is for one run or project")
    with step("draw the page"):
        found = api.compare(options.sources, options.out)
    if options.json:
        _print_json(found)
    else:
        print(found["page"])
    return 0


def _map(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.mapping.options import MapOptions
    from fgnas.systems.hgnas.options import CutOptions

    if Path(options.platform).is_dir():
        return _map_cuts(options)
    refuse(options, (*_names(CutOptions), "out"), "is for a measured device with an array: give its FOLDER")
    answer = api.map_network(options.platform, options.model, **chosen(options, MapOptions))
    if options.json:
        _print_json(answer.to_dict())
    else:
        _show_mappings(answer)
    return 0 if answer.points else 1


def _names(cls: type[Any]) -> list[str]:
    return [one.name for one in option_fields(cls)]


def _map_cuts(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.mapping.options import MapOptions
    from fgnas.systems.hgnas.options import CutOptions

    refuse(options, _names(MapOptions), "is for a platform of steps, not for a measured device")
    with step("time every part"):
        found = api.map_cuts(options.platform, options.model, out=options.out, **chosen(options, CutOptions))
    if options.json:
        _print_json({"ways": [one.to_dict() for one in found.ways], "best": found.best.operations,
                     "refused": {str(place): why for place, why in found.refused.items()}})  # fmt: skip
        return 0
    rows = [
        ("*" if one is found.best else "", "all" if one.operations is None else str(one.operations),
         *(f"{value:,.1f}" for value in (one.total, one.processor, one.encode + one.handover, one.array)),
         *(f"{value:,.10g}" for value in (one.cycles, one.resources["lut"], one.resources["bram36"])))
        for one in found.ways
    ]  # fmt: skip
    header = ("", "behind", "us", "processor", "between", "array", "cycles", "LUT", "BRAM36")
    _show_table("One cloud, in us, cut behind so many operations; * is fastest", header, rows)
    for place, why in found.refused.items():
        print(f"behind {place} operations: {why}")
    if options.out is not None:
        print(options.out)
    return 0


def _platform(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.systems.magnas.options import PlatformOptions

    cpu = options.cpu or not options.kernel
    with step("time every step"):
        found = api.measure_platform(
            options.out, options.dataset, kernels=options.kernel, cpu=cpu, metric=options.metric or "cosine",
            **chosen(options, PlatformOptions),
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
    if rows := _move_rows(answer, point):
        _show_table(f"{title}: each step, and the change if it alone moved", columns, rows)
    else:
        print(f"{title}: everything in one start of {answer.platform.units[int(point.mapping[0])]}")
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


def _show_check(result: dict[str, Any], as_json: bool, directory: Path | None = None) -> int:
    """Exit code 1 if anything is wrong; of a project whose rows are graphs the nodes are called so."""
    from fgnas.backends.project import rows_of

    if as_json:
        _print_json(result)
    else:
        for name, value in result.items():
            if name == "phases":
                for phase in value:
                    print(f"{phase['name']}: {phase['cycles']:,} cycles, {phase['predicted_cycles']:,} predicted")
            elif name == "again":
                print(f"a further start: {value['cycles']:,} cycles, {value['predicted_cycles']:,} predicted, "
                      f"{value['mismatches']} mismatches")  # fmt: skip
            elif name == "phase_cycles" and "phases" in result:
                continue  # an array asks for beats in some phases only
            elif name == "phase_cycles" and value:
                names = ("load", *(f"phase {number}" for number in range(len(value) - 2)), "output")
                # Other RTL may request data in fewer phases than the project's own.
                begins = (f"{phase} {cycle:,}" for phase, cycle in zip(names, value, strict=False))
                print(f"phases ask for their first beat in cycle: {', '.join(begins)}")
            elif value is not None:
                label = rows_of(directory) if name == "nodes" and directory is not None else name.replace("_", " ")
                print(f"{label}: {value}")
    from fgnas.api import passed

    return 0 if passed(result) else 1


if __name__ == "__main__":
    sys.exit(main())
