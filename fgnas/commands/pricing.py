"""The command `price`: designs and networks, by the models of hardware and devices."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fgnas.commands import show
from fgnas.commands.arguments import Command, add_dataset, add_json, add_number, load_graph, reference_of
from fgnas.errors import UserError
from fgnas.options import POSITIVE, add_arguments, chosen
from fgnas.systems.fgnas.options import SPECIFICATION, Options

if TYPE_CHECKING:
    from fgnas.api import ImportedNetwork
    from fgnas.tasks.degrees import Degrees
    from fgnas.tasks.nodes import GraphData


def _add_price(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("design", type=Path, help="a design, or a .jsonl file with one design per line")
    about = "array, or a measured device: the design is then a network of operations, or the name of a baseline"
    sub.add_argument("--target", metavar="array|FOLDER", help=about)
    add_number(sub, "--multipliers", POSITIVE, "of that array; default: those of the network's search, or 64")
    add_number(sub, "--beat-bits", POSITIVE, "memory port of that array; default: that of its search, or 512")
    add_number(sub, "--bits", POSITIVE, "of every number on that array; default: those of its search, or 8")
    sub.add_argument("--measure", action="store_true", help="with --target: time the network here, too")
    add_dataset(sub)
    about = "a graph by its sizes alone, of which a pipeline's price is exact: degrees, features and classes"
    sub.add_argument("--degrees", metavar="FILE.npz", help=about)
    add_arguments(sub, Options, (*SPECIFICATION, "fpga"), defaults=False)
    add_number(sub, "--workers", POSITIVE, "processes that price a long .jsonl file; default: one per core")
    add_json(sub)


ARRAY, ARRAY_SIZES = "array", ("multipliers", "beat_bits", "bits")
"""The target `array` of networks of operations, a name that no folder of a device may have, and its size options."""


def _price(options: argparse.Namespace) -> int:
    from fgnas import api

    if options.degrees is not None and (options.target or reference_of(options) or api.is_imported(options.design)):
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
        show.json_object(row)
        return 0
    show.price(row, api.specification(**limits))
    for violation in row["violations"]:
        print(violation)
    return 0


def _sized(options: argparse.Namespace, default: str | None) -> GraphData | Degrees:
    """What a design is priced on: the data that the options name, or the sizes of a graph."""
    from fgnas.tasks.degrees import Degrees

    if options.degrees is not None:
        return Degrees.read(options.degrees)
    return load_graph(reference_of(options, default))


def _price_imported(network: ImportedNetwork, as_json: bool, limits: dict[str, Any]) -> int:
    """The price of an imported network on the fastest array."""
    from fgnas import api

    row = network.price(**limits)
    if as_json:
        show.json_object(row)
    else:
        show.price(row, api.specification(**limits))
    return 0


def _price_on_array(options: argparse.Namespace) -> int:
    from fgnas import api

    if options.measure:
        raise UserError("--measure times a network on this processor: give a device with --target FOLDER")
    limits = chosen(options, Options, (*SPECIFICATION, "fpga"))
    size = {name: getattr(options, name) for name in ARRAY_SIZES}
    found = api.price_on_array(options.design, reference_of(options), **size, **limits)
    if options.json:
        show.json_object(found)
        return 0
    shown_as = (
        ("latency_cycles", "cycles", 1.0), ("latency_ms", "ms", 1.0), ("lut", "LUT", 1.0), ("ff", "FF", 1.0),
        ("dsp", "DSP", 1.0), ("bram36", "block RAM (36 Kb)", 1.0), ("products", "multiplications, million", 1e-6),
        ("width", "widest features", 1.0),
    )  # fmt: skip
    rows = [(label, f"{found[name] * scale:,.10g}") for name, label, scale in shown_as]
    show.table(f"One cloud on an array of {found['multipliers']} multipliers", ("", ""), rows)
    for violation in found["violations"]:
        print(violation)
    return 0


def _price_network(options: argparse.Namespace) -> int:
    from fgnas import api

    found = api.price_network(options.design, Path(options.target), measured=options.measure)
    if options.json:
        show.json_object(found)
        return 0
    shown_as = (
        ("latency", "predicted ms", 1.0), ("measured_ms", "measured ms, now", 1.0),
        ("share", "of fused DGCNN's, predicted", 1.0), ("measured_share", "of fused DGCNN's, measured", 1.0),
        ("memory", "memory beside weights, MB", 1e-6), ("products", "multiplications, million", 1e-6),
        ("width", "widest features", 1.0),
    )  # fmt: skip
    rows = [(label, f"{found[name] * scale:,.4g}") for name, label, scale in shown_as if name in found]
    show.table(f"One cloud on {found['device']}, by the predictor {found['predictor']}", ("", ""), rows)
    return 0


COMMANDS = (Command("price", _price, _add_price, "predict cycles, LUT, FF, DSP and block RAM of designs"),)
