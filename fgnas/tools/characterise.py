"""Characterise the operators of the resource model: synthesise each at many points, fit, and write the tables.

A point is a set of parameters, drawn as the designs of the whole search space use them on graphs of several sizes.
Measured points are kept in the working folder, one a line, so that an interrupted run continues. An operator whose
source is the one that the shipped table was measured on keeps its entry and is not measured again.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import hashlib
import json
import os
import re
import tempfile
import zlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import MofNCompleteColumn, Progress, TaskID

from fgnas.activations import NAMES
from fgnas.backends.render import render
from fgnas.backends.rtl import KERNEL, PACKAGE, package_text, write_package, write_rtl
from fgnas.design import VECTORS, Design
from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.devices import FAMILIES
from fgnas.hardware.integer.tables import activation_table, exponential_table, is_plain
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.binding import bind_multipliers
from fgnas.hardware.pipeline.geometry import EXPONENT_EXTRA_BITS, geometry
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.pipeline.resources import CHARACTERISATION
from fgnas.hardware.pipeline.sizes import Lookup, Terms, columns, terms
from fgnas.hardware.pipeline.uses import FIXED, TYPICAL_INPUT_SCALE, uses
from fgnas.hardware.shape import GraphShape
from fgnas.network import ATTENTION_VECTORS, LayerParameters, Network
from fgnas.paths import templates_directory
from fgnas.systems.fgnas.space import fgnas_space
from fgnas.tools import measurements
from fgnas.tools.synth import count_cells, synthesise

SEED = 1
"""Seed of the designs that points are drawn from; the accuracy benchmark uses another."""
BATCH = 30
"""Points that one run of Yosys measures."""
POINTS = {"fgnas_row_buffer": 320, "fgnas_aggregate": 150, "fgnas_linear_datapath": 150, "fgnas_requantise": 150,
          "fgnas_aggregate_gat": 90, "fgnas_block_ram": 120, "fgnas_dual_read_ram": 120}  # fmt: skip
DEFAULT_POINTS = 60
FIXED_DESIGNS = 4
LARGEST_MEMORY = 1 << 20
LARGE_MEMORIES = 12
"""Memories of more bits take long to map, and only the multiplexers behind them grow: few of them are measured."""
SHAPES = (GraphShape(1433, 7, 3072, 256), GraphShape(3703, 6, 4096, 128), GraphShape(500, 3, 20480, 256))
"""Cora, CiteSeer, PubMed."""
MULTIPLIER_BITS = range(2, 11)
RIDGE = 0.05
"""Weight of the coefficients' size against the error: it keeps terms that few points move near zero."""
NO_NAME = SimpleNamespace(name="")

WHOLE = ("fgnas_multiplier_dsp", "fgnas_multiplier_fabric", "activation", "exponential", "fixed")
"""Operators of which every point is measured."""
FIRST_FAMILY = "xc7"
"""The family that is fitted by itself; other families keep its coefficients where their points say little."""

TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|(\w+|[^\w\s])", re.DOTALL)
"""A comment of SystemVerilog, or in the group a token."""

Point = tuple[int, ...]


@dataclass(frozen=True)
class Batch:
    """Points of one operator: module parameters by name, or a file of its own for each."""

    module: str
    names: tuple[str, ...]
    points: tuple[Point, ...]


def characterise(
    family: str,
    folder: Path,
    workers: int = 1,
    progress: measurements.Progress = lambda done, total: None,
    most: int | None = None,
) -> Path:
    """Measure the missing points, at most `most` of an operator, fit, and write the family's table.

    Returns the table's path.
    """
    folder.mkdir(parents=True, exist_ok=True)
    batches = [*waiting(family, folder, most)]
    measurements.measure_all(batches, functools.partial(measure, family=family, folder=folder), workers, progress)
    return write_table(family, folder)


def waiting(family: str, folder: Path, most: int | None = None) -> Iterable[Batch]:
    """The batches of points that neither the folder nor the shipped table holds yet."""
    table = shipped(family)
    for module, (names, points) in draw_points().items():
        rows = measured(module, family, folder)
        if not rows and is_current(module, names, table):
            continue
        known = {tuple(row["point"]) for row in rows}
        wanted = len(points) if most is None or module in WHOLE else min(len(points), most)
        missing = [point for point in points if point not in known][: max(0, wanted - len(known))]
        for start in range(0, len(missing), BATCH):
            yield Batch(module, names, tuple(missing[start : start + BATCH]))


def shipped(family: str) -> dict[str, Any]:
    """The family's table as the package has it; empty if there is none."""
    return measurements.table(CHARACTERISATION / f"{family}.json")


def is_current(module: str, names: Sequence[str], table: dict[str, Any]) -> bool:
    """Whether a table's entry was measured on the sources that are there now, and fitted to today's terms."""
    if table.get("sources", {}).get(module) != source_digest(module):
        return False
    if module in MEASURES:
        return True
    one = dict.fromkeys(names, np.ones(1, np.int64))
    return list(table["modules"][module]["lut"]) == list(terms(module, one, table["family"]))


def draw_points() -> dict[str, tuple[tuple[str, ...], list[Point]]]:
    """{module: (parameter names, points)}: multipliers and tables in full, the others as designs use them."""
    rng, space = np.random.default_rng(SEED), fgnas_space()
    found: dict[str, tuple[tuple[str, ...], set[Point]]] = {}
    for shape in SHAPES:
        layers = geometry(space.columns(space.draw(1500, rng)), shape)
        budget = rng.integers(0, 100, len(layers[0].k))
        for use in uses(layers, bind_multipliers(layers, budget), shape):
            names = tuple(use.parameters)
            table = np.stack(np.broadcast_arrays(*use.parameters.values()), axis=-1)[use.count > 0]
            found.setdefault(use.module, (names, set()))[1].update(map(tuple, np.unique(table, axis=0).tolist()))
    chosen: dict[str, tuple[tuple[str, ...], list[Point]]] = {}
    for module, (names, points) in found.items():
        rng = np.random.default_rng([SEED, zlib.crc32(module.encode())])
        small = sorted(point for point in points if memory_bits(names, point) <= LARGEST_MEMORY)
        large = sorted(points - set(small))
        kept = [small[index] for index in rng.permutation(len(small))[: POINTS.get(module, DEFAULT_POINTS)]]
        kept += [large[index] for index in rng.permutation(len(large))[:LARGE_MEMORIES]]
        chosen[module] = (names, kept)
    grid: list[Point] = [(left, right) for left in MULTIPLIER_BITS for right in MULTIPLIER_BITS]
    chosen["fgnas_multiplier_fabric"] = (("LeftBits", "RightBits"), grid)
    chosen["fgnas_multiplier_dsp"] = (("LeftBits", "RightBits"), [(i, j) for i, j in grid if i + j >= 9])
    tables: list[Point] = [(kind, i, f) for kind in range(len(NAMES)) for i in (1, 2, 3) for f in range(7)]
    chosen["activation"] = (("kind", "integer_bits", "fraction_bits"), tables)
    formats: list[Point] = [(i, f) for i in (1, 2, 3) for f in range(7)]
    chosen["exponential"] = (("integer_bits", "fraction_bits"), formats)
    chosen["fixed"] = (("seed",), [(seed,) for seed in range(FIXED_DESIGNS)])
    return chosen


def memory_bits(names: Sequence[str], point: Point) -> int:
    """Bits of a memory; 0 of another operator."""
    values = dict(zip(names, point, strict=True))
    return values.get("Depth", 0) * values.get("Width", 0)


def measured(module: str, family: str, folder: Path) -> list[dict[str, Any]]:
    """The measured points of an operator: [{point, lut, ff}]."""
    return measurements.read(place_of(module, family, folder))


def place_of(module: str, family: str, folder: Path) -> Path:
    """The file of an operator's sizes."""
    return measurements.place_of(folder, family, module, source_digest(module))


@functools.cache
def source_digest(module: str) -> str:
    """Twelve hexadecimal digits of the code that an operator's size depends on, as it is generated."""
    if module == "activation":
        tables = [_activation_text((kind, 3, 6), 0) for kind in range(len(NAMES))]
        return code_digest([rtl_source("fgnas_relu"), *tables])
    if module == "exponential":
        return code_digest([_exponential_text((3, 6), 0)])
    if module == "fixed":
        tops = []
        for seed in range(FIXED_DESIGNS):
            with tempfile.TemporaryDirectory() as scratch:
                files = {path.stem: path for path in write_rtl(fixed_design(seed), Path(scratch))}
                tops.append(files[KERNEL].read_text(encoding="utf-8"))
        return code_digest([*(rtl_source(name) for name in FIXED if name != KERNEL), *tops])
    return code_digest([rtl_source(module)])


def rtl_source(module: str) -> str:
    """The text of a hand-written module, and the package before it where it reads that."""
    text = (templates_directory() / "rtl" / f"{module}.sv").read_text(encoding="utf-8")
    return package_text() + text if f"{PACKAGE}::" in text else text


def measure(batch: Batch, family: str, folder: Path) -> None:
    """Synthesise a batch and append its sizes to the operator's file."""
    with tempfile.TemporaryDirectory() as scratch:
        sizes = MEASURES.get(batch.module, _modules)(batch, family, Path(scratch))
    rows = [{"point": point, **size} for point, size in zip(batch.points, sizes, strict=True)]
    measurements.append(place_of(batch.module, family, folder), rows)


def _modules(batch: Batch, family: str, scratch: Path) -> list[dict[str, float]]:
    """Own cells of the module with each point's parameters."""
    lines = []
    for number, point in enumerate(batch.points):
        settings = ", ".join(f".{name}({value})" for name, value in zip(batch.names, point, strict=True))
        lines.append(f"(* keep *) {batch.module} #({settings}) u_{number} ();")
    package = write_package(scratch).name
    sources = [package, *sorted(str(path) for path in (templates_directory() / "rtl").glob("*.sv"))]
    return _own_sizes(sources, lines, [batch.module], family, scratch)


def _activations(batch: Batch, family: str, scratch: Path) -> list[dict[str, float]]:
    """One lane of each activation, in the formats that designs choose."""
    texts = [_activation_text(point, number) for number, point in enumerate(batch.points)]
    instances = [
        f"fgnas_relu #(.Bits({1 + integer + fraction}))" if not text else f"fgnas_activation_{number}"
        for number, (text, (_, integer, fraction)) in enumerate(zip(texts, batch.points, strict=True))
    ]
    return _tables(texts, instances, family, scratch)


def _activation_text(point: Point, number: int) -> str:
    """The module fgnas_activation_NUMBER, "" for the relu, which has a module of its own."""
    kind, integer, fraction = point
    value, name = FixedPoint.of(integer, fraction), NAMES[kind]
    if name == "relu":
        return ""
    layer = SimpleNamespace(index=number, activation=name, value_format=value, output_format=value)
    table = (activation_table(name, value, value) & ((1 << value.width) - 1)).tolist()
    plain = is_plain(name, value, value)
    return render(
        "rtl/fgnas_activation.sv.j2", accelerator=NO_NAME, layer=layer, bits=value.width, table=table, plain=plain
    )


def _exponentials(batch: Batch, family: str, scratch: Path) -> list[dict[str, float]]:
    """One lane of gat's exponential table, in the formats that designs choose."""
    texts = [_exponential_text(point, number) for number, point in enumerate(batch.points)]
    return _tables(texts, [f"fgnas_exponential_{number}" for number in range(len(texts))], family, scratch)


def _exponential_text(point: Point, number: int) -> str:
    """The module fgnas_exponential_NUMBER."""
    integer, fraction = point
    value = FixedPoint.of(integer, fraction)
    layer = SimpleNamespace(
        index=number, value_format=value, geometry=SimpleNamespace(exponent_bits=value.width + EXPONENT_EXTRA_BITS),
        exponential_table=exponential_table(value).tolist(),
    )  # fmt: skip
    return render("rtl/fgnas_exponential.sv.j2", accelerator=NO_NAME, layer=layer)


def _tables(texts: list[str], instances: list[str], family: str, scratch: Path) -> list[dict[str, float]]:
    """Sizes of generated modules."""
    files = [str(templates_directory() / "rtl" / "fgnas_relu.sv")]
    for number, text in enumerate(texts):
        (scratch / f"table_{number}.sv").write_text(text, encoding="utf-8")
        files.append(f"table_{number}.sv")
    lines = [f"(* keep *) {instance} u_{number} ();" for number, instance in enumerate(instances)]
    return _own_sizes(files, lines, [instance.split()[0] for instance in instances], family, scratch)


def _own_sizes(
    files: Sequence[str], lines: list[str], only: list[str], family: str, scratch: Path
) -> list[dict[str, float]]:
    """Sizes of instances u_0, u_1, … of a top module that holds nothing but `lines`."""
    text = "module top;\n" + "\n".join(lines) + "\nendmodule\n"
    (scratch / "top.sv").write_text("`default_nettype wire\n" + text, encoding="utf-8")
    result = synthesise([*files, "top.sv"], "top", family, scratch, scratch / "log", only)
    modules = result["modules"]
    instances = modules["top"]["instances"]
    return [_size(modules[instances[f"u_{number}"]]) for number in range(len(lines))]


def _size(module: dict[str, Any]) -> dict[str, float]:
    total = count_cells(module["cells"])
    return {name: total[name] for name in ("lut", "ff", "bram36")}


def _table_entry(row: dict[str, Any]) -> list[float]:
    return [row["lut"], row["ff"], row["bram36"]]


def _fixed(batch: Batch, family: str, scratch: Path) -> list[dict[str, float]]:
    """The sum of the modules that every accelerator has once, in a few whole designs."""
    sizes = []
    for (seed,) in batch.points:
        folder = scratch / str(seed)
        write_rtl(fixed_design(seed), folder)
        result = synthesise(["-f", "files.f"], KERNEL, family, folder / "rtl", folder / "log", list(FIXED))
        parts = [_size(module) for name, module in result["modules"].items() if name.split("$")[0] in FIXED]
        sizes.append({name: sum(part[name] for part in parts) for name in ("lut", "ff")})
    return sizes


def fixed_design(seed: int) -> Accelerator:
    """A random design in which the modules that every accelerator has once are measured."""
    space = fgnas_space().restrict(attention=("constant", "gcn"))
    design = space.design(space.draw(1, np.random.default_rng(seed))[0], seed)
    return random_accelerator(design, SHAPES[seed % len(SHAPES)], seed)


MEASURES = {"activation": _activations, "exponential": _exponentials, "fixed": _fixed}


def random_accelerator(design: Design, shape: GraphShape, seed: int) -> Accelerator:
    """A design with random weights, lowered: what synthesis needs and no training."""
    return lower(design, random_network(design, shape, seed), shape)


def random_network(design: Design, shape: GraphShape, seed: int) -> Network:
    """Random weights of a design, without scales."""
    rng = np.random.default_rng(seed)

    def normal(*size: int) -> NDArray[np.float32]:
        return rng.normal(size=size).astype(np.float32)

    width, layers = shape.width_in, []
    for layer in design.layers:
        features = layer.d or shape.classes
        weight = normal(width, layer.k, features)
        bias = normal(features if layer.d is None else layer.k * features)
        vectors = [normal(layer.k, features) for _ in range(VECTORS.get(layer.attention, 0))]
        named: dict[str, Any] = dict(zip(ATTENTION_VECTORS, vectors, strict=False))
        layers.append(LayerParameters(weight, bias, **named))
        width = layer.k * features
    return Network(tuple(layers), TYPICAL_INPUT_SCALE)


def write_table(family: str, folder: Path) -> Path:
    """Fit what was measured and write fgnas/hardware/pipeline/characterisation/FAMILY.json.

    What another family than the first has not measured is as there, with 0 points: in LUTs and FFs the families differ
    in memories, whose terms know how each builds them, and beside DSP slices.
    """
    from importlib.metadata import version

    table, drawn = shipped(family), draw_points()
    first = shipped(FIRST_FAMILY) if family != FIRST_FAMILY else {}
    like = first.get("modules", {})
    known = {module: measured(module, family, folder) for module in drawn}
    settled = [module for module, (names, _) in drawn.items() if known[module] or is_current(module, names, table)]
    table = {**{name: first[name] for name in MEASURES if name in first}, **table}
    modules = {name: {**entry, "points": 0} for name, entry in like.items()} | table.get("modules", {})
    modules |= {
        module: fit(module, names, known[module], family, like.get(module))
        for module, (names, _) in drawn.items()
        if module not in MEASURES and known[module]
    }
    activation: dict[str, Any] = {name: {} for name in NAMES}
    for row in known["activation"]:
        kind, integer, fraction = row["point"]
        activation[NAMES[kind]][f"{integer}.{fraction}"] = _table_entry(row)
    exponential = {
        f"{integer}.{fraction}": _table_entry(row)
        for row in known["exponential"]
        for integer, fraction in [row["point"]]
    }
    fixed = known["fixed"]
    mean = {name: round(float(np.mean([row[name] for row in fixed])), 1) for name in ("lut", "ff") if fixed}
    table = {
        "family": family,
        "tool": f"Yosys (pyosys {version('pyosys')})",
        "date": datetime.date.today().isoformat(),
        "command": "make characterise",
        "sources": {module: source_digest(module) for module in settled},
        "fixed": mean or table["fixed"],
        "activation": activation if known["activation"] else table["activation"],
        "exponential": exponential or table["exponential"],
        "modules": {module: modules[module] for module in drawn if module not in MEASURES},
    }
    CHARACTERISATION.mkdir(exist_ok=True)
    place = CHARACTERISATION / f"{family}.json"
    place.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    return place


def fit(
    module: str, names: Sequence[str], rows: list[dict[str, Any]], family: str, like: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The coefficients of an operator's terms; see `fit_terms`."""
    points = np.array([row["point"] for row in rows], np.int64)
    return fit_terms(terms(module, dict(zip(names, points.T, strict=True)), family), rows, like)


def fit_terms(
    found: Terms, rows: list[dict[str, Any]], like: dict[str, Any] | None = None, logic: Collection[str] = (),
    differing: Collection[str] = (),
) -> dict[str, Any]:  # fmt: skip
    """Least squares: a coefficient for each term, for LUTs and for FFs, with the error over the points.

    What the points leave open is as in the entry `like` of another family, or 0; where `differing` names terms, so are
    all others. Terms of `logic` alone hold no FFs.
    """
    matrix = np.stack([np.broadcast_to(column, len(rows)) for column in columns(found)], axis=-1).astype(float)
    result: dict[str, Any] = {"points": len(rows)}
    for resource in ("lut", "ff"):
        free = set(found if not (like and differing) else differing) - set(() if resource == "lut" else logic)
        counted = np.array([name in free for name in by_column(found)])
        size = np.array([row[resource] for row in rows])
        prior = np.hstack([*like[resource].values()]) if like else np.zeros(matrix.shape[1])
        weights = prior + least_squares(matrix * counted, size - matrix @ prior)
        error = np.abs(matrix @ weights - size)
        result[resource] = by_name(found, [round(float(weight), 4) for weight in weights])
        result[f"{resource}_error"] = round(float(error.mean() / max(size.mean(), 1)), 4)
    return result


def by_column(terms: Terms) -> list[str]:
    """The name of the term of each column."""
    return [name for name, term in terms.items() for _ in range(term.size if isinstance(term, Lookup) else 1)]


def by_name(terms: Terms, weights: Sequence[float]) -> dict[str, Any]:
    """Coefficients, one for each column of the terms, by the names of the terms; a list of them for a lookup."""
    result: dict[str, Any] = {}
    place = 0
    for name, term in terms.items():
        if isinstance(term, Lookup):
            result[name] = list(weights[place : place + term.size])
            place += term.size
        else:
            result[name] = weights[place]
            place += 1
    return result


def least_squares(matrix: NDArray[np.float64], size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ridge regression in columns scaled to one; columns without a value get 0."""
    scale = np.maximum(np.abs(matrix).max(axis=0), 1e-9)
    ridge = RIDGE * np.eye(matrix.shape[1])
    weights, *_ = np.linalg.lstsq(
        np.vstack([matrix / scale, ridge]), np.concatenate([size, np.zeros(len(ridge))]), rcond=None
    )
    return weights / scale


def code_digest(texts: Iterable[str]) -> str:
    """Twelve hexadecimal digits of SystemVerilog; comments and white space do not count."""
    digest = hashlib.sha256()
    for text in texts:
        for token in TOKEN.finditer(text):
            if token[1]:
                digest.update("".join(token[1].split()).encode() + b"\n")
    return digest.hexdigest()[:12]


def main() -> None:
    """`make characterise`: measure both families, with a progress bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), help="default: %(default)s")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes; default: %(default)s")
    parser.add_argument("--most", type=int, metavar="N", help="points of an operator at most; default: all")
    parser.add_argument("--folder", type=Path, default=Path("build/characterisation"), help="default: %(default)s")
    options = parser.parse_args()
    for family in options.families:
        with Progress(*Progress.get_default_columns(), MofNCompleteColumn()) as bar:
            task = bar.add_task(family, total=None)

            def show(done: int, total: int, bar: Progress = bar, task: TaskID = task) -> None:
                bar.update(task, completed=done, total=total)

            place = characterise(family, options.folder, options.workers, show, options.most)
        print(place)


if __name__ == "__main__":
    main()
