"""The command line: parse, call, show."""

from __future__ import annotations

import argparse
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

from fgnas.defaults import DEFAULTS, PROJECTS, SPECIFICATION
from fgnas.errors import UserError
from fgnas.progress import shown, step

if TYPE_CHECKING:
    from rich.console import Console

    from fgnas.api import Run
    from fgnas.hardware.pipeline.pricing import Specification
    from fgnas.tasks.nodes import GraphData

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
        ("import", _import, _add_import, "turn a trained PyG model into a design with weights"),
        ("hls", _hls, _add_hls, "write the C++ and RTL project of a design"),
        ("csim", _csim, _add_check, "compile a project's C++ with g++ and hold it against the integer reference"),
        ("sim", _sim, _add_sim, "simulate a project's RTL with Verilator: logits and cycles"),
        ("synth", _synth, _add_synth, "synthesise a project's RTL with Yosys: LUT, FF, DSP, block RAM"),
        ("timing", _timing, _add_timing, "place and route a project's RTL on an ECP5: the clock it reaches, and why"),
        ("vitis", _vitis, _add_vitis, "run a step of Vitis HLS on a project's C++ and read its report"),
        ("report", _report, _add_report, "write the page of a run or of a project: one HTML file"),
        ("doctor", _doctor, _add_json, "say what is installed, what is missing, what that costs, how to get it"),
    ):
        sub = commands.add_parser(name, help=about, description=about, allow_abbrev=False)
        sub.set_defaults(run=run)
        add_options(sub)
        sub.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    return root


def _add_search(sub: argparse.ArgumentParser) -> None:
    # None stands for "not given": a resumed run then keeps what it has.
    _add_dataset(sub)
    sub.add_argument("--method", choices=("reinforce", "random", "disjoint"), help=f"default: {DEFAULTS['method']}")
    sub.add_argument(
        "--controller", choices=("warm", "conditioned", "masked", "paper"), metavar="NAME",
        help=f"how reinforce learns: warm, conditioned, masked or paper; default: {DEFAULTS['controller']}",
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


def _add_import(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("model", metavar="MODEL.pt2|module:factory", help="an exported program, or what makes a module")
    _add_dataset(sub)
    sub.add_argument("--weights", type=Path, metavar="FILE", help="the state_dict of module:factory")
    sub.add_argument("--bits", type=_positive, default=10, metavar="N", help="of every number; default: %(default)s")
    sub.add_argument("--dsp", type=_natural, default=DEFAULTS["dsp"], metavar="N", help="default: %(default)s")
    sub.add_argument("--out", type=Path, metavar="FILE", help="the design; default: MODEL.json or factory.json")
    _add_json(sub)


def _add_hls(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("source", metavar="RUN|DESIGN.json", help="a run's name, `latest`, or a design")
    sub.add_argument("--design", default="best", metavar="best|RANK", help="of a run; default: %(default)s")
    _add_dataset(sub)
    sub.add_argument("--out", type=Path, metavar="DIR", help="default: hls/best, hls/RANK or hls/FILE")
    about = "a known device, or one of your own, to write for; default: that of the run's search"
    sub.add_argument("--fpga", metavar="NAME|FILE.toml", help=about)
    sub.add_argument("--clock-mhz", type=_above_zero, metavar="F", help="for the vendor's tool; default: the run's")
    _add_json(sub)


def _add_check(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("directory", type=Path, metavar="DIR", help="a project that `fgnas hls` wrote")
    _add_json(sub)


def _add_sim(sub: argparse.ArgumentParser) -> None:
    _add_check(sub)
    about = "other RTL with the same face: a folder of .v and .sv files or a list of them; its top is fgnas_top"
    sub.add_argument("--rtl", type=Path, metavar="PATH", help=about)


def _add_timing(sub: argparse.ArgumentParser) -> None:
    _add_check(sub)
    about = "place from so many seeds at most, until the target clock is reached; default: 4"
    sub.add_argument("--seeds", type=_positive, metavar="N", help=about)
    sub.add_argument("--speed", type=int, choices=(6, 7, 8), help="grade of the part; default: 6, the slowest")


def _add_synth(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("directory", type=Path, metavar="DIR", help="a project that `fgnas hls` wrote")
    _add_device(sub, DEFAULTS)
    _add_json(sub)


def _add_vitis(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("directory", type=Path, metavar="DIR", help="a project that `fgnas hls` wrote")
    sub.add_argument(
        "--step", choices=("csim", "csynth", "cosim", "impl"), default="csynth", help="default: %(default)s"
    )
    _add_json(sub)


def _add_report(sub: argparse.ArgumentParser) -> None:
    about = "a run's name, `latest`, or the folder of a project; default: %(default)s"
    sub.add_argument("source", metavar="RUN|DIR", nargs="?", default="latest", help=about)
    sub.add_argument("--fpga", metavar="NAME|FILE.toml", help="what a project's resources are held against")
    _add_dataset(sub, "what it was made on")
    sub.add_argument("--out", type=Path, metavar="FILE", help="default: report.html in that folder")
    _add_json(sub)


def _add_dataset(sub: argparse.ArgumentParser, default: str = DEFAULTS["dataset"]) -> None:
    sub.add_argument(
        "--dataset", metavar="NAME|PATH",
        help=f"digits, cora, citeseer, pubmed, or a .pt or .npz file; default: {default}",
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
    sub.add_argument("--bram36", type=_natural, metavar="N", help="at most this many block RAMs of 36 Kbit")
    sub.add_argument("--clock-mhz", type=_above_zero, metavar="F", help=note("clock_mhz", "clock of the kernel"))
    _add_device(sub, defaults)
    about = "per cent of LUTs and FFs to leave free, for the error of their model"
    sub.add_argument("--guard-band", type=_percentage, metavar="PERCENT", help=note("guard_band", about))


def _add_device(sub: argparse.ArgumentParser, defaults: dict[str, Any]) -> None:
    about = f"of devices; default: {defaults['family']}" if "family" in defaults else "of devices"
    sub.add_argument("--family", choices=("xc7", "xcup"), help=about)
    about = "a known device, or one of your own: sets family, LUT, FF, DSP and block RAM, where no option sets less"
    sub.add_argument("--fpga", metavar="NAME|FILE.toml", help=about)


def _add_json(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def _above_zero(text: str) -> float:
    if not 0 < (value := float(text)) < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not above zero")
    return value


def _percentage(text: str) -> float:
    if not 0 <= (value := float(text)) < 100:
        raise argparse.ArgumentTypeError(f"{text} is not from 0 to below 100")
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
_above_zero.__name__, _percentage.__name__, _natural.__name__, _positive.__name__ = (
    "number", "number", "whole number", "whole number",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code: 0 done, 1 results differ, 2 cannot, 130 interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        options = parser().parse_args(given)
        with nullcontext() if options.quiet else shown(sys.stderr):
            return options.run(options)
    except UserError as error:
        print(f"fgnas: {as_here(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as interrupt:
        how = str(interrupt) or f"; begin again with: fgnas {shlex.join(given)}"
        print(f"fgnas: interrupted{as_here(how)}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader left, as `head` does: nothing to say, and nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        # A full disk, a folder that may not be written: the machine's answer, which may come from anywhere.
        place = f"{error.filename}: " if error.filename else ""
        print(f"fgnas: {place}{error.strerror or error}", file=sys.stderr)
        return 2


def as_here(text: str) -> str:
    """Text whose commands can be pasted: by their place, where the environment that this runs in is not on PATH."""
    program = Path(sys.argv[0])
    if program.name != "fgnas" or not program.is_file() or shutil.which("fgnas") == str(program.absolute()):
        return text
    text = re.sub(r"(`|: )fgnas (?=[a-z])", rf"\1{program} ", text)
    return re.sub(r"\bpip install", f"{program.with_name('pip')} install", text)


def _console() -> Console:
    from rich.console import Console

    return Console()


def _reference(options: argparse.Namespace) -> str | None:
    """The data that the options name, None where they name none."""
    from fgnas.tasks.nodes import reference

    name = options.dataset
    if name is None and (options.split is not None or options.normalise):
        name = DEFAULTS["dataset"]
    return None if name is None else reference(name, options.split, options.normalise)


def _load(reference: str | None) -> GraphData:
    """Data, with what there is to say about it on stderr."""
    from fgnas.tasks.nodes import load

    data = load(reference or DEFAULTS["dataset"])
    for remark in data.remarks:
        print(f"{data.label}: {remark}", file=sys.stderr)
    return data


def _print_json(content: Any) -> None:
    print(json.dumps(content, sort_keys=True, allow_nan=False))


# search


def _search(options: argparse.Namespace) -> int:
    from fgnas import api

    names = ("method", "controller", *SPECIFICATION, "fpga", "children", "seed", "workers", "device", "executor",
             "scheduler", "resume")  # fmt: skip
    given = {name: getattr(options, name) for name in names}
    reference = _reference(options)
    data = None if reference is None else _load(reference)
    run = api.search(data, **given, run=options.name)
    return _show_best(run, run.report(data=data), options.json)


def _show_best(run: Run, page: Path, as_json: bool) -> int:
    best = run.best
    if as_json:
        _print_json({"run": run.folder.name, "page": str(page), **best})
        return 0
    from fgnas.hardware.pipeline.pricing import Specification
    from fgnas.tasks.nodes import label_of

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
    _show_table(f"Accuracy on {label_of(best['dataset'])}", ("", "delivered", f"mean of {seeds} seeds", "std"), rows)
    print(run.folder / "best.json")
    print(page)
    return 0


def _show_utilisation(prices: dict[str, Any], specification: Specification) -> None:
    """Used, available and per cent, as in a Vivado utilisation report."""
    rows = []
    for label, name in (("LUT", "lut"), ("FF", "ff"), ("DSP", "dsp"), ("Block RAM (36 Kb)", "bram36")):
        limit = getattr(specification, name)
        share = f"{prices[name] / limit:.2%}" if limit else "-"
        rows.append((label, f"{prices[name]:,}", "-" if limit is None else f"{limit:,}", share))
    rows.append(("Cycles", f"{prices['latency_cycles']:,}", "-", "-"))
    limit = specification.latency_ms
    share = f"{prices['latency_ms'] / limit:.2%}" if limit else "-"
    available = "-" if limit is None else f"{limit:.4f}"
    rows.append((f"Latency at {specification.clock_mhz:g} MHz (ms)", f"{prices['latency_ms']:.4f}", available, share))
    for label, name in (
        ("Main memory, bytes an inference", "memory_bytes"), ("Main memory, mean MB/s", "memory_mb_s"),
        ("Clock of a 128-bit port for that (MHz)", "memory_clock_mhz"),
    ):  # fmt: skip
        if name in prices:
            rows.append((label, f"{prices[name]:,}", "-", "-"))
    _show_table(f"Utilisation, family {specification.family}", ("", "Used", "Available", "Util%"), rows)


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
    from fgnas import api

    several = options.design.suffix == ".jsonl"
    designs = api.read_designs(options.design) if several else [api.Design.load(options.design)]
    limits = {name: getattr(options, name) for name in (*SPECIFICATION, "fpga")}
    specification = api.specification(**limits)
    for row in api.prices(designs, _load(_reference(options) or designs[0].dataset), **limits):
        if options.json or several:
            _print_json(row)
        else:
            _show_utilisation(row, specification)
            for violation in row["violations"]:
                print(violation)
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
    from fgnas.backends.project import check_replaceable, held_by

    from_file = options.source.endswith(".json") or Path(options.source).is_file()
    if from_file:
        if options.design != "best":
            raise UserError(f"--design {options.design} chooses among a run's leaders, but {options.source} is a file")
        design = api.Design.load(options.source)
    else:
        design = api.Run.find(options.source).design(options.design)
    directory = options.out or PROJECTS / design.label
    check_replaceable(directory)  # before a training, which takes its time
    before = held_by(directory)
    accelerator = design.lower(_load(_reference(options) or design.dataset))
    project = accelerator.write(directory, options.fpga, options.clock_mhz)
    if options.json:
        data = accelerator.data
        _print_json({"directory": str(project.directory), "design_hash": design.hash, "dataset": data.name})
    else:
        now = held_by(directory)
        if not options.quiet:
            print(f"{now}{f', in place of {before}' if before not in (None, now) else ''}", file=sys.stderr)
        print(project.directory)
    return 0


def _csim(options: argparse.Namespace) -> int:
    from fgnas import api

    return _show_check(api.Project(options.directory).csim(), options.json)


def _sim(options: argparse.Namespace) -> int:
    from fgnas import api

    return _show_check(api.Project(options.directory).simulate(options.rtl), options.json)


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
    from fgnas.tools.vitis import has_fault

    report = api.Project(options.directory).vitis(
        options.step, lambda line: None if options.quiet else print(line, file=sys.stderr)
    )
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


def _report(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.engine.store import RunStore
    from fgnas.report.make import report_run

    reference = _reference(options)
    data = None if reference is None else _load(reference)
    project = api.Project(Path(options.source))
    if options.fpga and not project.exists:
        raise UserError(f"--fpga is for a project, and {options.source} is none: write one with `fgnas hls`")
    with step("draw the page"):
        if project.exists:
            page = project.report(options.out, data, options.fpga)
        else:
            # Not api.Run: a run that is not finished has a page, too.
            page = report_run(RunStore.find(api.RUNS, options.source), options.out, data)
    if options.json:
        _print_json({"page": str(page)})
    else:
        print(page)
    return 0


def _doctor(options: argparse.Namespace) -> int:
    from fgnas.tools.doctor import examine, table

    parts = examine()
    if options.json:
        _print_json({part.name: vars(part) for part in parts})
    else:
        print(as_here(table(parts)))
    return 2 if any(part.required and part.found is None for part in parts) else 0


def _show_check(result: dict[str, Any], as_json: bool) -> int:
    """Exit code 1 where anything is wrong."""
    if as_json:
        _print_json(result)
    else:
        for name, value in result.items():
            if name == "phase_cycles" and value:
                names = ("load", *(f"phase {number}" for number in range(len(value) - 2)), "output")
                # RTL of another's making may ask in fewer phases than a project's own.
                begins = (f"{phase} {cycle:,}" for phase, cycle in zip(names, value, strict=False))
                print(f"phases ask for their first beat in cycle: {', '.join(begins)}")
            elif value is not None:
                print(f"{name.replace('_', ' ')}: {value}")
    from fgnas.api import passed

    return 0 if passed(result) else 1


if __name__ == "__main__":
    sys.exit(main())
