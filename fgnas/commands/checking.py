"""Commands that run tools on a project: `csim`, `sim`, `synth`, `timing`, `vitis`; and `doctor`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from fgnas.commands import show
from fgnas.commands.arguments import Command, add_json, add_number, add_project
from fgnas.errors import UserError
from fgnas.options import POSITIVE, add_arguments
from fgnas.systems.fgnas.options import Options


def _csim(options: argparse.Namespace) -> int:
    from fgnas import api

    return show.check(api.Project(options.directory).csim(), options.json, options.directory)


def _add_sim(sub: argparse.ArgumentParser) -> None:
    add_project(sub)
    about = "other RTL with the same interface: a folder of .v and .sv files or a list of them; its top is fgnas_top"
    sub.add_argument("--rtl", type=Path, metavar="PATH", help=about)
    about = "simulate on every memory whose channels wait for each other as AXI allows, with N stall seeds each"
    add_number(sub, "--couplings", POSITIVE, about)
    about = "the Verilog that bambu makes from the C++ of a project for it (`fgnas hls --compiler bambu`)"
    sub.add_argument("--bambu", action="store_true", help=about)
    about = "start an array once more without its weights, which are still there"
    sub.add_argument("--again", action="store_true", help=about)


def _sim(options: argparse.Namespace) -> int:
    from fgnas import api

    project = api.Project(options.directory)
    if options.bambu and (options.couplings is not None or options.rtl is not None or options.again):
        raise UserError("--bambu simulates bambu's Verilog: leave out --rtl, --couplings and --again")
    if options.couplings is not None and options.again:
        raise UserError("--couplings and --again are simulations of their own: give one of them")
    if options.bambu:
        return show.check(project.simulate_bambu(), options.json)
    if options.couplings is None:
        report = project.simulate(options.rtl, options.again)
        if "by_step" in report and not options.json:
            _show_steps(report.pop("by_step"))
        if "by_call" in report and not options.json:
            _show_calls(report.pop("by_call"))
        return show.check(report, options.json, options.directory)
    if options.rtl is not None:
        raise UserError("--couplings simulates the project's own RTL: leave out --rtl")
    report = project.couplings(options.couplings)
    if not options.json:
        for name, found in report.pop("couplings").items():
            counts = (f"{key.replace('_', ' ')} {value:,}" for key, value in found.items() if value is not None)
            print(f"{name.replace('_', ' ')}: {', '.join(counts)}")
    return show.check(report, options.json)


COMPARED = ("logits", "mismatches", "cycles", "predicted_cycles")
"""Fields of a simulation's report that a table of several simulations shows."""


def _show_steps(by_step: dict[str, dict[str, Any]]) -> None:
    """The simulated steps of a mapped network."""
    rows = [(name, one["unit"], *(f"{one[key]:,}" for key in COMPARED)) for name, one in by_step.items()]
    show.table("Steps on accelerators", ("step", "unit", *(key.replace("_", " ") for key in COMPARED)), rows)


def _show_calls(by_call: dict[str, dict[str, Any]]) -> None:
    """The simulated calls of a network."""
    rows = [(name, *(f"{one[key]:,}" for key in COMPARED)) for name, one in by_call.items()]
    show.table("Calls", ("call", *(key.replace("_", " ") for key in COMPARED)), rows)


def _add_synth(sub: argparse.ArgumentParser) -> None:
    add_project(sub)
    add_arguments(sub, Options, ("family", "fpga"))


def _synth(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.tools.synth import utilisation_table

    report = api.Project(options.directory).synthesise(options.family, options.fpga)
    if options.json:
        show.json_object(report)
    else:
        print(utilisation_table(report))
        for name in report.get("over", ()):
            print(f"{name} {report['total'][name]} is over the {report['available'][name]} of {report['against']}")
    return 1 if report.get("over") else 0


def _add_timing(sub: argparse.ArgumentParser) -> None:
    add_project(sub)
    add_number(sub, "--seeds", POSITIVE, "largest number of placements to try for the target clock; default: 4")
    sub.add_argument("--speed", type=int, choices=(6, 7, 8), help="speed grade of the part; default: 6, the slowest")


def _timing(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.tools.timing import timing_text

    report = api.Project(options.directory).timing(options.seeds, options.speed)
    if options.json:
        show.json_object(report)
    else:
        print(timing_text(report))
    return 0


def _add_vitis(sub: argparse.ArgumentParser) -> None:
    add_project(sub)
    sub.add_argument(
        "--step", choices=("csim", "csynth", "cosim", "impl"), default="csynth", help="default: %(default)s"
    )


def _vitis(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.tools.vitis import faults

    report = api.Project(options.directory).vitis(
        options.step, lambda line: None if options.quiet else print(line, file=sys.stderr)
    )
    found = report["steps"][options.step]
    if options.json:
        show.json_object(report)
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
        show.table("Utilisation", ("", "Used", "Predicted", "Available", "Util%"), rows)
    for name, value in found.items():
        if name == "loops":
            for loop in value:
                print(f"loop {loop['function']}.{loop['loop']}: II {loop['ii']}")
        elif name not in ("used", "available") and value is not None:
            parts = [f"{part} {number}" for part, number in value.items()] if isinstance(value, dict) else [str(value)]
            print(f"{name.replace('_', ' ')}: {', '.join(parts)}")
    if "latency_cycles" in found:
        print(f"predicted cycles: {predicted['latency_cycles']:,}")


def _doctor(options: argparse.Namespace) -> int:
    from fgnas.tools.doctor import examine, table

    parts = examine()
    if options.json:
        show.json_object({part.name: vars(part) for part in parts})
    else:
        print(show.as_here(table(parts)))
    return 2 if any(part.required and part.found is None for part in parts) else 0


COMMANDS = (
    Command("csim", _csim, add_project, "compile a project's C++ with g++ and compare it with the integer reference"),
    Command("sim", _sim, _add_sim, "simulate a project's RTL with Verilator: logits and cycles"),
    Command("synth", _synth, _add_synth, "synthesise a project's RTL with Yosys: LUT, FF, DSP, block RAM"),
    Command("timing", _timing, _add_timing, "place and route a project's RTL on an ECP5: clock reached, critical path"),
    Command("vitis", _vitis, _add_vitis, "run a step of Vitis HLS on a project's C++ and read its report"),
    Command("doctor", _doctor, add_json, "list external tools: installed or missing, and how to install them"),
)
