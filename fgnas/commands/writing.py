"""Commands that write a network for hardware or for other tools: `hls`, `encode`, `onnx`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fgnas.commands import show
from fgnas.commands.arguments import (
    Command,
    add_dataset,
    add_json,
    add_number,
    load_collection,
    load_graph,
    reference_of,
)
from fgnas.errors import UserError
from fgnas.options import ABOVE_ZERO, POSITIVE
from fgnas.paths import PROJECTS

if TYPE_CHECKING:
    from fgnas.api import Design, ImportedNetwork, PointDesign, Run
    from fgnas.hardware.specification import Specification


def _add_hls(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("source", metavar="RUN|DESIGN.json", help="a run's name, `latest`, or a design")
    which = "a design of the run; default: %(default)s"
    sub.add_argument("--design", default="best", metavar="best|cheapest|RANK", help=which)
    add_dataset(sub)
    sub.add_argument("--out", type=Path, metavar="DIR", help="default: hls/best, hls/cheapest, hls/RANK or hls/FILE")
    about = "a known device, or a file that describes one; default: the device of the run's search"
    sub.add_argument("--fpga", metavar="NAME|FILE.toml", help=about)
    add_number(sub, "--clock-mhz", ABOVE_ZERO, "clock for the vendor's tool; default: the run's")
    about = "the HLS compiler whose pragmas the C++ has; default: %(default)s"
    sub.add_argument("--compiler", default="vitis", metavar="vitis|bambu", help=about)
    about = "units for each layer, or one array of multipliers for all; default: what the design was made for"
    sub.add_argument("--target", metavar="pipeline|array", help=about)
    about = "most multipliers of an array; default: the design's own array, or its DSP budget"
    add_number(sub, "--multipliers", POSITIVE, about)
    about = "width of an array's memory port: 128, 256 or 512; default: that of the design's array, or 128"
    add_number(sub, "--beat-bits", POSITIVE, about)
    about = "bits of every number of a network of operations; default: those of its search, or 8"
    add_number(sub, "--bits", POSITIVE, about)
    about = "most block RAMs of an array; default: the design's own array, or those of the search or device"
    add_number(sub, "--bram36", POSITIVE, about)
    about = "whether H and Z stay on an array's chip; else each half of a layer is a call of its own; default: on"
    sub.add_argument("--repurposing", choices=("on", "off"), default="on", help=about)
    about = "give an array room for other networks, which `fgnas encode` writes for it"
    sub.add_argument("--flexible", action="store_true", help=about)
    about = "two products in a DSP slice of an array, up to 8 bits: twice the multipliers of a DSP budget"
    sub.add_argument("--paired", action="store_true", help=about)
    add_json(sub)


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
    accelerator = design.lower(load_graph(reference_of(options, design.dataset)))
    project = accelerator.write(
        directory, options.fpga, options.clock_mhz, options.compiler, options.target, options.multipliers,
        options.beat_bits, options.bram36, options.repurposing == "on", options.flexible, options.paired,
    )  # fmt: skip
    if options.json:
        data = accelerator.data
        show.json_object({"directory": str(project.directory), "design_hash": design.hash, "dataset": data.name})
    else:
        _show_written(project.directory, held_by(directory), before, options.quiet)
    return 0


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
        named = {"design_hash": design.hash, "dataset": accelerator.data.name}
        show.json_object({"directory": str(project.directory), **named, **accelerator.accuracy()})
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
        show.metrics(found["targets"], found["dataset"], {name: found[name] for name in ("float", "quantised")})
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
    if (reference := reference_of(options)) is not None:
        network.check_data(load_collection(reference))
    directory = options.out or PROJECTS / network.label
    check_replaceable(directory)
    before = held_by(directory)
    project = network.write(
        directory, options.fpga, options.clock_mhz, options.multipliers, options.beat_bits, options.bram36,
        options.flexible, options.paired, specification,
    )  # fmt: skip
    if options.json:
        show.json_object({"directory": str(project.directory), "network_hash": network.hash,
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
        show.json_object({"directory": str(project.directory)})
    else:
        print(project.directory)
    return 0


def _show_written(directory: Path, now: str | None, before: str | None, quiet: bool) -> None:
    """The folder of a new project; on stderr what it holds, what it held before, and the next commands."""
    if not quiet:
        print(f"next: fgnas csim {directory}, fgnas sim {directory}", file=sys.stderr)
        print(f"{now}{f', in place of {before}' if before not in (None, now) else ''}", file=sys.stderr)
    print(directory)


def _add_encode(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("source", metavar="RUN|DESIGN.json", help="a run's name, `latest`, or a design")
    about = "the project whose array runs the network, written by `fgnas hls`"
    sub.add_argument("--on", type=Path, required=True, metavar="PROJECT", help=about)
    which = "a design of the run; default: %(default)s"
    sub.add_argument("--design", default="best", metavar="best|cheapest|RANK", help=which)
    add_dataset(sub)
    sub.add_argument("--out", type=Path, metavar="DIR", help="default: hls/DESIGN-on-PROJECT")
    sub.add_argument("--fit", action="store_true", help="write nothing: say whether it fits, and what it takes there")
    add_json(sub)


def _encode(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.api.encoding import encode

    design, data = _network_of(options), None
    if isinstance(design, api.ImportedNetwork):
        if (reference := reference_of(options)) is not None:
            design.check_data(load_collection(reference))
    elif isinstance(design, api.Design):
        data = load_graph(reference_of(options, design.dataset))
    else:
        raise UserError(f"{options.source} is neither a design of layers nor an imported network, which alone are "
                        f"encoded on a project's array")  # fmt: skip
    directory = None if options.fit else options.out or PROJECTS / f"{design.label}-on-{options.on.name}"
    found = encode(design, options.on, directory, data)
    if options.json:
        show.json_object(found)
        return 0
    calls = f" in {found['calls']:,} calls" if found["calls"] > 1 else ""
    print(f"{found['cycles']:,} cycles{calls}, {found['latency_ms']:.4g} ms; the fastest array of as many multipliers "
          f"that is made for it: {found['new_cycles']:,} cycles, {found['new_latency_ms']:.4g} ms")  # fmt: skip
    if directory is not None:
        print(found["directory"])
    return 0


def _add_onnx(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("source", metavar="RUN|DESIGN.json", help="a run's name, `latest`, or a design")
    which = "a design of the run; default: %(default)s"
    sub.add_argument("--design", default="best", metavar="best|cheapest|RANK", help=which)
    add_dataset(sub)
    about = "the hardware whose arithmetic it has; default: what the design was made for"
    sub.add_argument("--target", metavar="pipeline|array", help=about)
    sub.add_argument("--out", type=Path, metavar="FILE.onnx", help="default: best.onnx, cheapest.onnx or the design's")
    add_json(sub)


def _onnx(options: argparse.Namespace) -> int:
    from fgnas import api

    design = _network_of(options)
    if design is None:
        raise UserError(f"{options.source} delivers no single network: its designs have no ONNX")
    data: Any = reference_of(options)
    if isinstance(design, api.Design):
        data = load_graph(reference_of(options, design.dataset))
    path = api.to_onnx(design, options.out or f"{design.label}.onnx", data, options.target)
    if options.json:
        show.json_object({"model": str(path), "inputs": str(path.with_suffix(".npz"))})
    else:
        print(path)
        print(path.with_suffix(".npz"))
    return 0


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


COMMANDS = (
    Command("hls", _hls, _add_hls, "write the C++ and RTL project of a design"),
    Command("encode", _encode, _add_encode, "write a network for the array of a project, which needs no rebuild"),
    Command("onnx", _onnx, _add_onnx, "write a design's integer network as an ONNX model of the same integers"),
)
