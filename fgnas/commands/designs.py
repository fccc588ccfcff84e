"""Commands that make designs: `design`, `evaluate`, `import`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fgnas.commands import show
from fgnas.commands.arguments import (
    WHOLE,
    Command,
    add_dataset,
    add_json,
    add_number,
    load_collection,
    load_graph,
    reference_of,
)
from fgnas.costs import whole
from fgnas.options import NATURAL, NOT_NEGATIVE, POSITIVE, add_arguments, parser_of
from fgnas.plain import LARGEST
from fgnas.systems.fgnas.options import Options

if TYPE_CHECKING:
    from fgnas.api import Design
    from fgnas.tasks.collection import Collection


def _add_design(sub: argparse.ArgumentParser) -> None:
    from fgnas.activations import NAMES
    from fgnas.plain import NETWORKS

    sub.add_argument("name", metavar="NAME", help=", ".join(NETWORKS))
    about = "features of each hidden layer, of one head; the last layer has the data's classes"
    sub.add_argument("hidden", nargs="*", type=parser_of(POSITIVE), metavar="WIDTH", help=about)
    add_number(sub, "--heads", POSITIVE, "of networks whose messages have scores", 1)
    sub.add_argument("--activation", default="relu", metavar="NAME", help=f"{', '.join(NAMES)}; default: %(default)s")
    add_number(sub, "--bits", POSITIVE, "width of every number", 8)
    add_number(sub, "--dsp", NATURAL, "DSP slices for the multipliers", Options.dsp)
    sub.add_argument("--out", type=Path, metavar="FILE", help="default: NAME-WIDTH.json")
    add_json(sub)


def _design(options: argparse.Namespace) -> int:
    from fgnas import api

    found = api.Design.plain(options.name, *options.hidden, heads=options.heads, activation=options.activation,
                             bits=options.bits, dsp=options.dsp)  # fmt: skip
    path = found.save(options.out or f"{found.label}.json")
    if options.json:
        show.json_object({"design_file": str(path), "design_hash": found.hash})
        return 0
    print(f"next: fgnas price {path} --dataset cora, fgnas evaluate {path}, fgnas hls {path}")
    print(path)
    return 0


def _add_evaluate(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("design", type=Path)
    add_dataset(sub)
    add_number(sub, "--seeds", POSITIVE, "trainings", 5)
    add_json(sub)


def _evaluate(options: argparse.Namespace) -> int:
    from fgnas import api

    design = api.Design.load(options.design)
    data = load_graph(reference_of(options, design.dataset))
    result = design.evaluate(data, options.seeds)
    if options.json:
        show.json_object(result)
        return 0
    rows = [
        (f"{kind} {split}", f"{over['mean']:.2%}", f"{over['std']:.2%}")
        for kind in ("float", "quantised") for split, over in result[kind].items()
    ]  # fmt: skip
    show.table(f"Accuracy on {data.label}, {options.seeds} seeds", ("", "mean", "std"), rows)
    return 0


def _add_import(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("model", metavar="MODEL.pt2|module:factory", help="an exported program, or a module's factory")
    about = "digits, cora, citeseer, pubmed, esol, tox21, hiv, tu:NAME, or a .pt or .npz file; default: digits"
    sub.add_argument("--dataset", metavar="NAME|PATH", help=about)
    add_arguments(sub, Options, ("split", "normalise"))
    sub.add_argument("--weights", type=Path, metavar="FILE", help="the state_dict of module:factory")
    add_number(sub, "--bits", POSITIVE, "width of every number, 4 to 10; with --loss of the widest", 10)
    about = "points that the validation part may lose: layer by layer the fewest bits that keep it"
    sub.add_argument("--loss", type=parser_of(NOT_NEGATIVE), metavar="POINTS", help=about)
    add_number(sub, "--dsp", NATURAL, "DSP slices for the multipliers", Options.dsp)
    about = "graphs that hardware runs, of data of many: so many that test, those in places, the largest; default: 64"
    sub.add_argument("--graphs", type=_places, metavar="N|FIRST:END|largest", help=about)
    sub.add_argument("--out", type=Path, metavar="FILE", help="the design; default: MODEL.json or factory.json")
    add_json(sub)


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


def _import(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.plain import IMPORTED_BITS, check_bits

    check_bits(options.bits, IMPORTED_BITS)  # before anything is loaded, which takes seconds
    data = load_collection(reference_of(options, names=WHOLE))
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
        show.json_object({"design_file": str(path), "dataset": data.name, **hardware, **report, **accuracy})
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
        show.table("Layers", ("layer", "class", "becomes", "bits"), rows, wrapped="becomes")
    show.metrics(data.kind, data.label, accuracy)


def _hardware_of(kind: str, price: dict[str, Any]) -> str:
    """The hardware that a model runs on, and what it costs, in a line."""
    from fgnas.hardware.kinds import ARRAY

    what = f"{price['multipliers']} multipliers" if kind == ARRAY.name else "units for each layer"
    used = ", ".join(f"{whole(price[name]):,} {label}" for name, label in (
        ("lut", "LUTs"), ("ff", "flip-flops"), ("dsp", "DSP slices"), ("bram36", "block RAMs")))  # fmt: skip
    calls = f" in {price['calls']} calls" if price.get("calls", 1) > 1 else ""
    return f"{kind}: {what}, {price['latency_cycles']:,} cycles{calls}, {price['latency_ms']:.4g} ms, {used}"


COMMANDS = (
    Command("design", _design, _add_design, "write a plain network by name and widths, such as gcn 16, as a design"),
    Command("evaluate", _evaluate, _add_evaluate, "train a design and measure its accuracy, float and quantised"),
    Command("import", _import, _add_import, "turn a trained PyG model into a design with weights"),
)
