"""The operators of the pipeline's resource model: the points of each, how they are measured, and the table of a family.

A point is a set of parameters, drawn as the designs of the whole search space use them on graphs of several sizes. An
operator whose source is the one that the shipped table was measured on keeps its entry and is not measured again.
"""

from __future__ import annotations

import functools
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from fgnas.activations import NAMES
from fgnas.backends.render import render
from fgnas.backends.rtl import KERNEL, package_text, write_package, write_rtl
from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.integer.tables import activation_table, exponential_table, is_plain
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.binding import bind_multipliers
from fgnas.hardware.pipeline.geometry import EXPONENT_EXTRA_BITS, geometry
from fgnas.hardware.pipeline.resources import CHARACTERISATION
from fgnas.hardware.pipeline.sizes import terms
from fgnas.hardware.pipeline.uses import FIXED, uses
from fgnas.laboratory.bench import FIRST_FAMILY, Batch, Bench, code_digest, named_of
from fgnas.laboratory.fitting import fit_terms
from fgnas.laboratory.networks import SHAPES, random_accelerator
from fgnas.paths import templates_directory
from fgnas.systems.fgnas.space import fgnas_space
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
MULTIPLIER_BITS = range(2, 11)
NO_NAME = SimpleNamespace(name="")

WHOLE = ("fgnas_multiplier_dsp", "fgnas_multiplier_fabric", "activation", "exponential", "fixed")
"""Operators of which every point is measured."""

Point = tuple[int, ...]


def waiting(family: str, folder: Path, most: int | None = None) -> Iterator[Batch[Point]]:
    """The batches of points that neither the folder nor the shipped table holds yet, at most so many of an operator."""
    table = BENCH.shipped(family)
    for module, (names, points) in draw_points().items():
        rows = BENCH.measured(module, family, folder)
        if not rows and is_current(module, names, table):
            continue
        known = {tuple(row["point"]) for row in rows}
        wanted = len(points) if most is None or module in WHOLE else min(len(points), most)
        missing = [point for point in points if point not in known][: max(0, wanted - len(known))]
        for start in range(0, len(missing), BATCH):
            yield Batch(module, tuple(missing[start : start + BATCH]))


def is_current(module: str, names: Sequence[str], table: dict[str, Any]) -> bool:
    """Whether a table's entry was measured on the sources that are there now, and fitted to today's terms."""
    if table.get("sources", {}).get(module) != source_digest(module):
        return False
    if module in MEASURES:
        return True
    one = dict.fromkeys(names, np.ones(1, np.int64))
    return list(table["modules"][module]["lut"]) == list(terms(module, one, table["family"]))


@functools.cache
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


@functools.cache
def source_digest(module: str) -> str:
    """Twelve hexadecimal digits of the code that an operator's size depends on, as it is generated, with what it names
    of the package."""
    code = sources_of(module)
    return code_digest([*named_of([package_text()], code), *code])


def sources_of(module: str) -> list[str]:
    """The code that an operator's size depends on, as it is generated."""
    if module == "activation":
        return [rtl_source("fgnas_relu"), *(_activation_text((kind, 3, 6), 0) for kind in range(len(NAMES)))]
    if module == "exponential":
        return [_exponential_text((3, 6), 0)]
    if module == "fixed":
        tops = []
        for seed in range(FIXED_DESIGNS):
            with tempfile.TemporaryDirectory() as scratch:
                files = {path.stem: path for path in write_rtl(fixed_design(seed), Path(scratch))}
                tops.append(files[KERNEL].read_text(encoding="utf-8"))
        return [*(rtl_source(name) for name in FIXED if name != KERNEL), *tops]
    return [rtl_source(module)]


def rtl_source(module: str) -> str:
    """The text of a hand-written module."""
    return (templates_directory() / "rtl" / f"{module}.sv").read_text(encoding="utf-8")


def synthesised(batch: Batch[Point], family: str, scratch: Path) -> list[dict[str, float]]:
    """The sizes of a batch."""
    return MEASURES.get(batch.module, _modules)(batch, family, scratch)


def _modules(batch: Batch[Point], family: str, scratch: Path) -> list[dict[str, float]]:
    """Own cells of the module with each point's parameters."""
    (names, _), lines = draw_points()[batch.module], []
    for number, point in enumerate(batch.points):
        settings = ", ".join(f".{name}({value})" for name, value in zip(names, point, strict=True))
        lines.append(f"(* keep *) {batch.module} #({settings}) u_{number} ();")
    package = write_package(scratch).name
    sources = [package, *sorted(str(path) for path in (templates_directory() / "rtl").glob("*.sv"))]
    return _own_sizes(sources, lines, [batch.module], family, scratch)


def _activations(batch: Batch[Point], family: str, scratch: Path) -> list[dict[str, float]]:
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


def _exponentials(batch: Batch[Point], family: str, scratch: Path) -> list[dict[str, float]]:
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


def _fixed(batch: Batch[Point], family: str, scratch: Path) -> list[dict[str, float]]:
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


def fitted(family: str, folder: Path) -> dict[str, Any]:
    """The table of a family's operators, fitted to the measurements.

    Operators measured only for the first family keep its coefficients, with 0 points: in LUTs and FFs families differ
    in memories, whose terms know how each family builds them, and beside DSP slices.
    """
    table, drawn = BENCH.shipped(family), draw_points()
    first = BENCH.shipped(FIRST_FAMILY) if family != FIRST_FAMILY else {}
    like = first.get("modules", {})
    known = {module: BENCH.measured(module, family, folder) for module in drawn}
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
    return {
        "sources": {module: source_digest(module) for module in settled},
        "fixed": mean or table["fixed"],
        "activation": activation if known["activation"] else table["activation"],
        "exponential": exponential or table["exponential"],
        "modules": {module: modules[module] for module in drawn if module not in MEASURES},
    }


def fit(
    module: str, names: Sequence[str], rows: list[dict[str, Any]], family: str, like: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The coefficients of an operator's terms; see `fit_terms`."""
    points = np.array([row["point"] for row in rows], np.int64)
    return fit_terms(terms(module, dict(zip(names, points.T, strict=True)), family), rows, like)


BENCH = Bench[Point](
    "pipeline", "make characterise", CHARACTERISATION, source_digest, lambda point: {"point": point}, waiting,
    synthesised, fitted,
)  # fmt: skip
"""The bench of the pipeline's operators."""
