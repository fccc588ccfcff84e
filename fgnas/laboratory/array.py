"""The modules of the multiplier array: the engines that each is measured for, how, and the table of a family.

Engines are drawn as networks on arrays need them, for graphs of several sizes. A module is synthesised by itself, with
the parameters that the kernel of its engine gives it. A module whose source is the one that the shipped table was
measured on keeps its entry and is not measured again. The points of a batch are behind ports of one width, and their
modules are rendered alike.
"""

from __future__ import annotations

import functools
import itertools
import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fgnas.backends.array import AnyOnEngine, write_rtl
from fgnas.backends.rtl import KERNEL
from fgnas.design import MOST_BITS, OF_NODES, Design
from fgnas.errors import UserError
from fgnas.hardware.array.area import (
    ATTENTION,
    CHAIN,
    DIFFERING,
    DISTANCE,
    DOT,
    INDICES,
    ISSUE,
    ISSUED,
    LOGIC,
    MEASURED,
    NEAREST,
    NEAREST_ISSUE,
    NEAREST_KERNEL,
    NEAREST_SEQUENCER,
    NEAREST_WRITEBACK,
    OWN_TABLE,
    PAIR,
    PARTIAL,
    RESIDUAL,
    ROOT,
    SEQUENCED,
    SEQUENCER,
    SHARED_ISSUE,
    SHARED_KERNEL,
    SLICED,
    TABLE,
    UNIT,
    WIDE,
    EngineColumns,
    engine_columns,
    own_registers,
    sizes_of,
    table_registers,
    terms,
)
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.engine import (
    FINISHED,
    LANES,
    LARGEST_UNITS,
    MOST_PLACES,
    PAIRED_BITS,
    RESULTS,
    SHARED,
    Engine,
    Neighbours,
    Softmax,
)
from fgnas.hardware.array.layers import array_network
from fgnas.hardware.array.lowering import ArrayAccelerator, Words, plan_layers, smallest_engine, table_depth
from fgnas.hardware.array.points.encoded import PointArray, PointSource, lowered
from fgnas.hardware.array.programme import NARROW_BITS, PORT_WIDTHS
from fgnas.hardware.numbers import ceil_div
from fgnas.hardware.pipeline.resources import UNITS, coefficients
from fgnas.hardware.pipeline.sizes import Terms
from fgnas.laboratory.bench import FIRST_FAMILY, Batch, Bench, code_digest, named_of
from fgnas.laboratory.fitting import fit_terms
from fgnas.laboratory.networks import SHAPES, random_network
from fgnas.network import Network
from fgnas.networks.points.operations import TAILS
from fgnas.networks.points.work import Cloud
from fgnas.paths import templates_directory
from fgnas.systems.gcos.space import ENGINE, TABLE_II, ArraySpace
from fgnas.systems.hgnas.shapes import unweighted
from fgnas.systems.hgnas.space import point_space
from fgnas.tools.synth import count_cells, synthesise

OPTION_SHARED = 2
"""Units that share a table where it is measured what a unit's own one takes, which does not depend on their number."""
TABLES = tuple((turn, shared) for turn in range(5) for shared in SHARED[1:] if turn < 2 or shared < SHARED[-1])
"""Turns of shared tables, and units that share one: of 16 take long to map, so that two of them are measured."""
SHARING_SEED = 3
"""Seed of the engines whose units share tables."""
NEAREST_SEED = 4
"""Seed of the engines that find nearest points."""
FINDING, FINDING_UNITS = 24, range(1, 17)
"""Those engines, and units of each: the writing of results of more takes long to map."""
SEED = 1
"""Seed of the engines that points are drawn from; the accuracy benchmark uses another."""
BATCH, SMALL_BATCH = 3, 9
"""Points that one run of Yosys measures, and of the small modules of a unit with nearest points."""
POINTS = {"array_unit": 48, "array_writeback": 24, "array_issue": 40, "array_gather": 16, "array_sequencer": 15,
          "fixed": 6, ATTENTION: 35, ISSUED: 12, SEQUENCED: 6, DOT: 8, RESIDUAL: 8, PARTIAL: 8, WIDE: 6,
          TABLE: 17, OWN_TABLE: 12, SHARED_ISSUE: 8, SHARED_KERNEL: 8, CHAIN: 16, DISTANCE: 10, ROOT: 10, INDICES: 10,
          NEAREST: 12, NEAREST_ISSUE: 5, NEAREST_WRITEBACK: 5, NEAREST_SEQUENCER: 4, NEAREST_KERNEL: 2,
          PAIR: PAIRED_BITS, SLICED: 8}  # fmt: skip
OTHER_POINTS = {"array_unit": 9, "fixed": 6, TABLE: 3, CHAIN: 3, NEAREST: 3, PAIR: PAIRED_BITS, SLICED: 8}
"""Points of another family than the first, where memories count most: logic alone maps identically."""
WRITEBACK = "array_writeback"
ALIKE = ("array_unit", "array_sequencer")
"""Modules whose size hardly depends on the number of units."""
FIXED = ("fgnas_control", "fgnas_reader", "fgnas_fifo", "fgnas_writer")
"""Modules that every array has once."""
FIXED_UNITS = ((1, 3), (3, 6))
"""Numbers of units of the arrays in which they are measured, from and below."""
DRAWN = 600
ATTENDING = (UNIT, "array_coefficient", "array_exponential", "fgnas_multiplier", "fgnas_multiplier_fabric")
"""Modules of a unit with attention, beside its dividers, memories and products in DSPs."""
OPTION_SEED = 2
OPTION_UNITS = 8
"""Units of the arrays that options are measured in, at most: what they add to a module hardly needs more."""
UNTABLED = 8
"""Further units without activation tables, which few engines drawn lack and many of a search."""
LARGE_UNITS, LARGE_POINTS = 32, 4
"""Modules of many units take long to map: few of them are measured."""
INSTANCE = re.compile(r"^ *(array_\w+) #\((.*?)\n? *\) (u_\w+) \(", re.MULTILINE | re.DOTALL)
"""A module of the array that the kernel instantiates, and the values of its parameters."""
CONSTANT = re.compile(r"^  localparam .*;(?:  //.*)?$", re.MULTILINE)
LAYERS = (1, 2, 2, 2, 2, 3)
SCALES = (-2, 4)
CLOUDS, INDICES_HELD, WORDS_MEASURED = (16, 513), (2, 8193), (1, 65)
"""Points of a cloud, indices that a unit holds, and words of rows between which distances are measured: from, below."""


def draw_array(rng: np.random.Generator, attending: bool = False, wide: bool = False) -> ArrayAccelerator:
    """A random network on the smallest array of random units that holds it with a graph of random size; `attending`,
    one whose messages have scores; `wide`, one of wide numbers."""
    while True:
        try:
            return _drawn(rng, attending, wide)
        except UserError:
            continue  # its weights or rows exceed a unit's memories


def _drawn(rng: np.random.Generator, attending: bool, wide: bool) -> ArrayAccelerator:
    shape = SHAPES[rng.integers(len(SHAPES))]
    space = ArraySpace("points", int(rng.choice(LAYERS)), (*TABLE_II, *ENGINE))
    design = (_of_wide_formats if wide else _of_other_formats)(space.candidate(space.draw(1, rng)[0]), rng)
    if attending:
        design = _with_scores(design, rng)
    source = array_network(design, _scaled(random_network(design, shape, int(rng.integers(1 << 30))), rng), shape)
    assert design.array is not None
    units, columns, beat_bits = design.array.units, design.array.columns, design.array.beat_bits
    arrangement = Arrangement(units, columns, beat_bits=beat_bits)
    held = plan_layers(source, arrangement)[0].tiles
    passes = int(rng.choice([one for one in range(1, held + 1) if held % one == 0]))
    arrangement = replace(arrangement, passes=1 if len(columns) == 0 else passes)
    plans = plan_layers(source, arrangement)
    nodes = int(rng.integers(shape.node_capacity // 2, shape.node_capacity))
    results = max(_rounded(nodes, plan.combine.m) * plan.tiles for plan in plans)
    own = max((ceil_div(nodes, plan.aggregate.m) * plan.row_tiles for plan in plans if not plan.last), default=0)
    engine = smallest_engine(source, plans, Words(results, own), arrangement)
    written = 1 << (nodes % engine.banks.bit_length())  # words of H a cycle: a power of two, up to the banks
    finished = FINISHED[max(0, nodes % 7 - 3)]  # the whole word in four of seven
    return ArrayAccelerator(source, replace(engine, results=written, finished=finished), plans)


def draw_points_array(rng: np.random.Generator, units: Sequence[int]) -> PointArray:
    """A random network of points, uniform in HGNAS's space, on the smallest array of some of these numbers of units; of
    random clouds, tail and numbers."""
    while True:
        points = int(np.exp(rng.uniform(*np.log(CLOUDS))))
        neighbours = int(rng.integers(1, min(points, MOST_PLACES) + 1))
        cloud = Cloud(points, int(rng.integers(2, 10)), neighbours, int(rng.integers(2, 41)))
        space = point_space(cloud, list(TAILS.values())[int(rng.integers(len(TAILS)))])
        network = space.candidate(space.draw(1, rng)[0]).network
        with suppress(UserError):  # its rows or weights exceed a unit's memories
            integers = unweighted(network, cloud, int(rng.integers(2, NARROW_BITS)), int(rng.integers(1 << 30)))
            return lowered(
                PointSource(integers, points), int(rng.choice(units)), int(rng.choice(PORT_WIDTHS))
            ).accelerator


def draw_finding(rng: np.random.Generator, units: Sequence[int]) -> PointArray:
    """The array of a random network of points, whose chain, indices and distances are random, too."""
    array = draw_points_array(rng, units)
    neighbours = Neighbours(
        places=int(rng.integers(1, MOST_PLACES + 1)), words=int(np.exp(rng.uniform(*np.log(INDICES_HELD)))),
        row_words=int(np.exp(rng.uniform(*np.log(WORDS_MEASURED)))), root=bool(rng.integers(2)),
    )  # fmt: skip
    return replace(array, engine=replace(array.engine, neighbours=neighbours))


def draw_sharing(rng: np.random.Generator, shared: int, most_units: int = LARGEST_UNITS) -> ArrayAccelerator:
    """A random network on random units, of which so many share a table; one of three has wide numbers."""
    while True:
        array = draw_array(rng, wide=bool(rng.integers(3) == 0))
        if array.engine.units <= most_units:
            with suppress(UserError):  # units that hold the same columns are fewer
                return replace(array, engine=sharing(array.engine, shared))


def draw_table(rng: np.random.Generator, number: int) -> ArrayAccelerator:
    """A random array of any units: 2, 4, 8 and 16 that share a table take turns, and so do words of H a cycle."""
    turn, shared = TABLES[number]
    array = draw_sharing(rng, shared)
    results = min(RESULTS[turn % len(RESULTS)], array.engine.banks)
    return replace(array, engine=replace(array.engine, results=results))


def sharing(engine: Engine, shared: int) -> Engine:
    """The engine with a table for so many units, in whole block RAMs. Raises UserError where it cannot have one."""
    words = int(table_depth(engine.table_words, engine.beat_bits, shared=shared))
    return replace(engine, shared=shared, table_words=words)


def _rounded(nodes: int, groups: int) -> int:
    return int(ceil_div(nodes, groups)) * groups


def _of_other_formats(design: Design, rng: np.random.Generator) -> Design:
    """The design with numbers of random formats."""
    integer, fraction = rng.integers(1, 4), rng.integers(2, 7)
    formats = {"ai": int(integer), "af": int(fraction), "wi": int(rng.integers(1, 4)), "wf": int(rng.integers(2, 7))}
    return design.model_copy(update={"layers": tuple(one.model_copy(update=formats) for one in design.layers)})


def _of_wide_formats(design: Design, rng: np.random.Generator) -> Design:
    """The design with numbers of random formats, whose values are too wide for the usual entries."""
    value, weight = (int(bits) for bits in rng.integers(NARROW_BITS + 1, MOST_BITS + 1, 2))
    formats = {"ai": value // 4, "af": value - 1 - value // 4, "wi": weight // 4, "wf": weight - 1 - weight // 4}
    layers = tuple(one.model_copy(update=formats | {"t_out": 1}) for one in design.layers)
    return design.model_copy(update={"layers": layers})


def _with_scores(design: Design, rng: np.random.Generator) -> Design:
    """The design with attention by scores in its first layer, and perhaps in the others, of one head to four."""
    layers = []
    for place, layer in enumerate(design.layers):
        attention = str(rng.choice([*OF_NODES] if place == 0 else [*OF_NODES, "gcn"]))
        update: dict[str, Any] = {"attention": attention, "t_attn": 1 if attention == "gat" else None}
        if layer.aggregation == "max":
            update["aggregation"] = "mean"
        if layer.d is not None:
            heads = int(rng.choice([1, 2, 4]))
            update |= {"k": heads, "d": layer.d // heads}
        layers.append(layer.model_copy(update=update))
    return design.model_copy(update={"layers": tuple(layers)})


def _scaled(network: Network, rng: np.random.Generator) -> Network:
    """The network with random scales, so that shifts go both ways."""
    names = ("weight_scale", "value_scale", "output_scale")
    layers = tuple(
        replace(layer, **dict(zip(names, rng.integers(*SCALES, len(names)).tolist(), strict=True)))
        for layer in network.layers
    )
    return Network(layers, int(rng.integers(0, 4)))


@dataclass(frozen=True)
class Option:
    """An option of an engine: a module is measured with it and without it.

    Attributes:
        module: instantiated by the kernel.
        counted: modules whose own cells count, in it and below it.
        given: (array, softmax, a random number) to what its engine has with the option.
        without: of these fields what it has without.
    """

    module: str
    counted: tuple[str, ...]
    given: Callable[[Engine, Softmax, int], dict[str, Any]]
    without: Callable[[Engine], dict[str, Any]]


def _attends(engine: Engine, softmax: Softmax, chance: int) -> dict[str, Any]:
    return {"softmax": replace(softmax, dot=bool(chance % 2)), "maximum": True}


def _plain_attends(engine: Engine, softmax: Softmax, chance: int) -> dict[str, Any]:
    return {"softmax": softmax, "maximum": True}


def _edges_have_scores(engine: Engine, softmax: Softmax, chance: int) -> dict[str, Any]:
    return {"softmax": replace(softmax, dot=True), "maximum": True}


def _adds_rows(engine: Engine, softmax: Softmax, chance: int) -> dict[str, Any]:
    return {"residual": True, "finished": LANES}


def _keeps_sums(engine: Engine, softmax: Softmax, chance: int) -> dict[str, Any]:
    attends = _plain_attends(engine, softmax, chance) if chance % 3 == 0 else {}
    return attends | {"partial_words": PARTIAL_WORDS[chance % len(PARTIAL_WORDS)], "finished": LANES}


def _some(engine: Engine, softmax: Softmax, chance: int) -> dict[str, Any]:
    attends = _attends(engine, softmax, chance) if chance % 4 else {}
    kept = 64 * (chance // 2 % 2)
    return attends | {"residual": not attends or chance % 3 == 0, "partial_words": kept, "finished": LANES}


def _owns_its_table(engine: Engine, softmax: Softmax, chance: int) -> dict[str, Any]:
    results = min(RESULTS[chance % len(RESULTS)], engine.banks)
    return {"table_words": sharing(engine, OPTION_SHARED).table_words, "results": results}


def _shares(engine: Engine, softmax: Softmax, chance: int) -> dict[str, Any]:
    found = sharing(engine, SHARED[1:][chance % (len(SHARED) - 1)])
    return {"shared": found.shared, "table_words": found.table_words}


def _without_dot(engine: Engine) -> dict[str, Any]:
    assert engine.softmax is not None
    return {"softmax": replace(engine.softmax, dot=False)}


OPTIONS = {
    DOT: Option(UNIT, ATTENDING, _edges_have_scores, _without_dot),
    RESIDUAL: Option(UNIT, (UNIT,), _adds_rows, lambda _: {"residual": False}),
    PARTIAL: Option(UNIT, (UNIT,), _keeps_sums, lambda _: {"partial_words": 0}),
    ISSUED: Option(ISSUE, (ISSUE,), _attends, lambda _: {"softmax": None}),
    SEQUENCED: Option(SEQUENCER, (SEQUENCER,), _some,
                      lambda _: {"softmax": None, "residual": False, "partial_words": 0}),
    OWN_TABLE: Option(UNIT, (UNIT,), _owns_its_table, lambda _: {"shared": OPTION_SHARED}),
    SHARED_ISSUE: Option(ISSUE, (ISSUE,), _shares, lambda _: {"shared": 1}),
    SHARED_KERNEL: Option(KERNEL, (KERNEL,), _shares, lambda _: {"shared": 1}),
}  # fmt: skip
PARTIAL_WORDS = (16, 64, 512, 4096)


def draw_option(option: Option, rng: np.random.Generator) -> ArrayAccelerator:
    """A random array of few units whose network needs no option, with this one; one of three has wide numbers."""
    softmax = draw_array(rng, attending=True).engine.softmax
    assert softmax is not None
    while True:
        array = draw_array(rng, wide=bool(rng.integers(3) == 0))
        if array.engine.units <= OPTION_UNITS:
            with suppress(UserError):  # an engine that cannot have it
                given = option.given(array.engine, softmax, int(rng.integers(12)))
                return replace(array, engine=replace(array.engine, **given))


def synthesised(batch: Batch[AnyOnEngine], family: str, scratch: Path) -> list[dict[str, Any]]:
    """The sizes of a batch."""
    return MEASURES.get(batch.module, _instances)(batch, family, scratch)


def _instances(batch: Batch[AnyOnEngine], family: str, scratch: Path) -> list[dict[str, float]]:
    """Own cells of the module as each engine's kernel instantiates it."""
    files = [*dict.fromkeys(file for array in batch.points for file in _written(array, scratch))]  # each has own parts
    module = MODULES.get(batch.module, batch.module)
    texts = [
        f"module point_{number};\n  import array_pkg::*;\n{settings(array, module)} u_point ();\nendmodule\n"
        for number, array in enumerate(batch.points)
    ]
    lines = [f"  (* keep *) point_{number} u_{number} ();\n" for number in range(len(texts))]
    text = "`default_nettype wire\n" + "".join(texts) + "module top;\n" + "".join(lines) + "endmodule\n"
    (scratch / "points.sv").write_text(text, encoding="utf-8")
    counted = (module, *WITHIN.get(module, ()))
    only = [*counted, *(f"point_{number}" for number in range(len(texts)))]
    modules = synthesise([*files, "points.sv"], "top", family, scratch, scratch / "log", only)["modules"]
    places = modules["top"]["instances"]
    return [_size_below(modules, places[f"u_{number}"], counted) for number in range(len(texts))]


def _fixed(batch: Batch[AnyOnEngine], family: str, scratch: Path) -> list[dict[str, float]]:
    """The sum of the modules that every array has once and of the kernel's own cells."""
    found = []
    for number, array in enumerate(batch.points):
        folder = scratch / str(number)
        write_rtl(array, folder)
        modules = synthesise(["-f", "files.f"], KERNEL, family, folder / "rtl", folder / "log", list(FIXED))["modules"]
        sizes = [_size(module["cells"]) for name, module in modules.items() if name.split("$")[0] in (KERNEL, *FIXED)]
        found.append({name: sum(size[name] for size in sizes) for name in ("lut", "ff")})
    return found


def _attention(batch: Batch[AnyOnEngine], family: str, scratch: Path) -> list[dict[str, float]]:
    """Own cells of a unit with attention, of its coefficients and of its exponentials."""
    found = []
    for number, array in enumerate(batch.points):
        folder = scratch / str(number)
        files = _written(array, folder)
        text = f"module top;\n  import array_pkg::*;\n{settings(array, UNIT)} u_point ();\nendmodule\n"
        (folder / "points.sv").write_text("`default_nettype wire\n" + text, encoding="utf-8")
        modules = synthesise([*files, "points.sv"], "top", family, folder, folder / "log", list(ATTENDING))["modules"]
        found.append(_size_below(modules, "top", ATTENDING))
    return found


def _option(batch: Batch[AnyOnEngine], family: str, scratch: Path) -> list[dict[str, Any]]:
    """Own cells of the modules of an option, with it less without it; and those without it."""
    option, found = OPTIONS[batch.module], list[dict[str, Any]]()
    for number, array in enumerate(batch.points):
        folder = scratch / str(number)
        files = _written(array, folder)
        plain = replace(array, engine=replace(array.engine, **option.without(array.engine)))
        text = "".join(
            f"module {name};\n  import array_pkg::*;\n{settings(one, option.module)} u_point ();\nendmodule\n"
            for name, one in (("point_with", array), ("point_without", plain))
        )
        text += "module top;\n  (* keep *) point_with u_with ();\n  (* keep *) point_without u_without ();\nendmodule\n"
        (folder / "points.sv").write_text("`default_nettype wire\n" + text, encoding="utf-8")
        only = [*option.counted, "point_with", "point_without"]
        modules = synthesise([*files, "points.sv"], "top", family, folder, folder / "log", only)["modules"]
        places = modules["top"]["instances"]
        sizes = [_size_below(modules, places[place], option.counted) for place in ("u_with", "u_without")]
        beyond: dict[str, Any] = {name: sizes[0][name] - sizes[1][name] for name in ("lut", "ff")}
        found.append(beyond | {"without": sizes[1]})
    return found


def _kernel_option(batch: Batch[AnyOnEngine], family: str, scratch: Path) -> list[dict[str, Any]]:
    """The kernel's own cells with an option, less those without it; and those without it."""
    option, found = OPTIONS[batch.module], list[dict[str, Any]]()
    for number, array in enumerate(batch.points):
        plain = replace(array, engine=replace(array.engine, **option.without(array.engine)))
        sizes = []
        for name, one in (("with", array), ("without", plain)):
            folder = scratch / f"{number}-{name}"
            write_rtl(one, folder)
            modules = synthesise(["-f", "files.f"], KERNEL, family, folder / "rtl", folder / "log", [KERNEL])["modules"]
            sizes.append(_size(modules[KERNEL]["cells"]))
        beyond: dict[str, Any] = {name: sizes[0][name] - sizes[1][name] for name in ("lut", "ff")}
        found.append(beyond | {"without": sizes[1]})
    return found


def _size_below(modules: dict[str, Any], top: str, counted: Collection[str]) -> dict[str, float]:
    """Own cells of these modules in the one named `top`: each counts once, however many instances it has."""
    below, reached = [top], {top}
    while below:
        further = {*modules[below.pop()]["instances"].values()} - reached
        reached |= further
        below += further
    sizes = [_size(modules[name]["cells"]) for name in reached if name.split("$")[0] in counted]
    return {name: sum(size[name] for size in sizes) for name in ("lut", "ff")}


DRAWN_FOR = {**dict.fromkeys((ATTENTION, *OPTIONS), ATTENTION), PAIR: PAIR, SLICED: SLICED,
             **dict.fromkeys((TABLE, OWN_TABLE, SHARED_ISSUE, SHARED_KERNEL), TABLE),
             **dict.fromkeys((CHAIN, DISTANCE, ROOT, INDICES, NEAREST, NEAREST_ISSUE, NEAREST_WRITEBACK,
                              NEAREST_SEQUENCER, NEAREST_KERNEL), ROOT)}  # fmt: skip
"""Modules whose sources are those of an engine with attention, of one with two products or a sum in a slice, of one
whose units share tables, or of one that finds nearest points."""
IN_PROPORTION = (TABLE,)
"""Entries whose largest point has a hundred times the LUTs of the smallest."""
BEYOND = {
    ATTENTION: (UNIT,), WIDE: (ISSUE,), NEAREST: (UNIT, RESIDUAL), NEAREST_ISSUE: (ISSUE,),
    NEAREST_WRITEBACK: (WRITEBACK,), NEAREST_SEQUENCER: (SEQUENCER, SEQUENCED), NEAREST_KERNEL: ("fixed",),
}  # fmt: skip
"""Entries that count what a module takes beyond the entries that were fitted to others."""
MODULES = {WIDE: ISSUE, NEAREST: UNIT, NEAREST_ISSUE: ISSUE, NEAREST_WRITEBACK: WRITEBACK, NEAREST_SEQUENCER: SEQUENCER}
"""The modules that entries of other names measure by themselves."""
WITH_TABLE = (UNIT, ATTENTION, NEAREST, TABLE, OWN_TABLE)
WITH_OWN_ROWS = (UNIT, ATTENTION, NEAREST)
"""Entries whose points hold the registers of a table, or of own rows, which are counted."""
WITHIN = {ROOT: ("fgnas_multiplier", "fgnas_multiplier_fabric")}
"""Modules below one that count with it."""
GIVEN: dict[str, Callable[[Engine], dict[str, int]]] = {
    CHAIN: lambda engine: {"DistanceBits": _distance_bits(engine), "Places": _finder(engine).places},
    DISTANCE: lambda engine: {
        "DistanceBits": _distance_bits(engine), "ProductBits": engine.bits + 1 + engine.entry.place("value")[1],
    },
    ROOT: lambda engine: {"DistanceBits": _distance_bits(engine), "SumBits": engine.sum_bits},
    INDICES: lambda engine: {"Units": engine.units, "Words": _finder(engine).words},
    PAIR: lambda engine: {"LeftBits": engine.bits, "RightBits": engine.entry.place("value")[1]},
    SLICED: lambda engine: {
        "LeftBits": engine.bits, "RightBits": engine.entry.place("value")[1], "SumBits": engine.sum_bits,
    },
}  # fmt: skip
"""The parameters of modules that are a unit's."""
MEASURES = {"fixed": _fixed, NEAREST_KERNEL: _fixed, ATTENTION: _attention, **dict.fromkeys(OPTIONS, _option),
            SHARED_KERNEL: _kernel_option}  # fmt: skip
"""How modules are measured that are no instances of the kernel."""


def _finder(engine: Engine) -> Neighbours:
    assert engine.neighbours is not None
    return engine.neighbours


def _distance_bits(engine: Engine) -> int:
    return _finder(engine).distance_bits(engine.bits)


def _size(cells: dict[str, int]) -> dict[str, float]:
    total = count_cells(cells)
    return {name: total[name] for name in ("lut", "ff")}


def _written(array: AnyOnEngine, scratch: Path) -> list[str]:
    """The hand-written modules and the packages of an array in `scratch`, in compile order."""
    files = write_rtl(array, scratch)
    return [f"rtl/{path.name}" for path in files if path.suffix == ".sv" and path.stem != KERNEL]


def settings(array: AnyOnEngine, module: str) -> str:
    """The parameters that an array's kernel gives a module: its constants and the head of the instance; for a module
    inside a unit, the head alone."""
    if module in GIVEN:
        given_values = GIVEN[module](array.engine)
        return f"  (* keep *) {module} #({', '.join(f'.{name}({value})' for name, value in given_values.items())})"
    with tempfile.TemporaryDirectory() as scratch:
        write_rtl(array, Path(scratch))
        text = (Path(scratch) / "rtl" / f"{KERNEL}.sv").read_text(encoding="utf-8")
    given = {name: values for name, values, _ in INSTANCE.findall(text)}
    return "\n".join([*CONSTANT.findall(text), f"  (* keep *) {module} #({given[module]})"])


@functools.cache
def draw_points() -> dict[str, list[AnyOnEngine]]:
    """{module: arrays whose engines are measured}."""
    rng = np.random.default_rng(SEED)
    arrays = [draw_array(rng) for _ in range(DRAWN)]
    small = [array for array in arrays if array.engine.units <= LARGE_UNITS]
    large = [array for array in arrays if array.engine.units > LARGE_UNITS]
    chosen: dict[str, list[AnyOnEngine]] = {}
    for place, (module, count) in enumerate(POINTS.items()):
        if DRAWN_FOR.get(module) == ROOT:
            continue
        few = 0 if module in ALIKE else LARGE_POINTS
        own = small[40 * place :]
        chosen[module] = [*own[: count - few], *large[:few]]
    untabled = [array for array in small if not array.engine.activation_words and len(array.plans) > 1]
    chosen["array_unit"][:0] = untabled[:UNTABLED]
    chosen["fixed"] = [
        next(array for array in arrays if array.engine.beat_bits == bits and low <= array.engine.units < high)
        for bits in PORT_WIDTHS for low, high in FIXED_UNITS
    ]  # fmt: skip
    scores = np.random.default_rng(OPTION_SEED)
    chosen[ATTENTION] = [draw_array(scores, attending=True) for _ in range(POINTS[ATTENTION])]
    chosen[WIDE] = [draw_array(scores, wide=True) for _ in range(POINTS[WIDE])]
    for name, option in OPTIONS.items():
        chance = np.random.default_rng(OPTION_SEED)
        chosen[name] = [draw_option(option, chance) for _ in range(POINTS[name])]
    finding = np.random.default_rng(NEAREST_SEED)
    finders = [draw_finding(finding, FINDING_UNITS) for _ in range(FINDING)]
    rooted = [array for array in finders if array.engine.neighbours is not None and array.engine.neighbours.root]
    for name in (one for one in POINTS if DRAWN_FOR.get(one) == ROOT):
        chosen[name] = [*(rooted if name == ROOT else finders)[: POINTS[name]]]
    narrow = {array.engine.bits: array for array in reversed(arrays) if array.engine.may_pair}
    sums: dict[tuple[int, int], AnyOnEngine] = {
        (array.engine.bits, array.engine.sum_bits): array for array in arrays if array.engine.sliced
    }
    chosen[SLICED] = [sums[key] for key in sorted(sums)][:: max(1, len(sums) // POINTS[SLICED])][: POINTS[SLICED]]
    chosen[PAIR] = [replace(narrow[bits], engine=replace(narrow[bits].engine, paired=True)) for bits in sorted(narrow)]
    readers = np.random.default_rng(SHARING_SEED)
    chosen[TABLE] = [draw_table(readers, number) for number in range(POINTS[TABLE])]
    return chosen


def waiting(family: str, folder: Path, most: int | None = None) -> Iterator[Batch[AnyOnEngine]]:
    """The batches of points that neither the folder nor the shipped table holds yet, at most so many of a module."""
    table, counts = BENCH.shipped(family), POINTS if family == FIRST_FAMILY else OTHER_POINTS
    for module, count in counts.items():
        wanted = count + UNTABLED if module == UNIT else count
        rows, arrays = BENCH.measured(module, family, folder), draw_points()[module][:wanted][:most]
        if not rows and is_current(module, table):
            continue
        known = [Engine.of(row["engine"]) for row in rows]
        missing = [array for array in arrays if array.engine not in known]
        alike = itertools.product(PORT_WIDTHS, (False, True))  # whose modules are rendered alike
        behind = [[array for array in missing if (array.engine.beat_bits, array.engine.sliced) == one] for one in alike]
        together = SMALL_BATCH if module in GIVEN else BATCH
        for start in range(0, max(map(len, behind)), together):
            yield from (Batch(module, tuple(own[start : start + together])) for own in behind if own[start:])


@functools.cache
def source_digest(module: str) -> str:
    """Twelve hexadecimal digits of the code that a module's size depends on, with what it names of the packages."""
    array = draw_points()[DRAWN_FOR.get(module, "fixed")][0]
    with tempfile.TemporaryDirectory() as scratch:
        texts = {path.stem: path.read_text(encoding="utf-8") for path in write_rtl(array, Path(scratch))}
    of_options = {name: option.counted for name, option in OPTIONS.items()}
    others = {name: (own, *WITHIN.get(name, ())) for name, own in MODULES.items()}
    others |= {"fixed": (KERNEL, *FIXED), NEAREST_KERNEL: (KERNEL, *FIXED), ATTENTION: ATTENDING,
               ROOT: (ROOT, *WITHIN[ROOT])}  # fmt: skip
    own = (others | of_options).get(module, (module,))
    found = sorted((templates_directory() / "rtl" / "array").glob(f"{UNIT}_*")) if UNIT in own else []
    code = [*(texts[name] for name in own), *(path.read_text(encoding="utf-8") for path in found)]
    return code_digest([*named_of([texts[name] for name in ("fgnas_pkg", "array_pkg")], code), *code])


def is_current(module: str, table: dict[str, Any]) -> bool:
    """Whether a table's entry was measured, on the sources that are there now, and fitted to today's terms."""
    if table.get("sources", {}).get(module) != source_digest(module) or not table["modules"][module]["points"]:
        return False
    one = engine_columns([draw_points()[module][0].engine])
    return list(table["modules"][module]["lut"]) == list(terms(module, one, table["family"]))


def fitted(family: str, folder: Path) -> dict[str, Any]:
    """The table of a family's modules, fitted to the measurements.

    Modules measured only for the first family keep its coefficients, with 0 points.
    """
    table = BENCH.shipped(family)
    like = BENCH.shipped(FIRST_FAMILY)["modules"] if family != FIRST_FAMILY else {}
    modules: dict[str, dict[str, Any]] = {}
    for module in POINTS:
        rows = BENCH.measured(module, family, folder)
        if rows:
            engines = engine_columns([Engine.of(row["engine"]) for row in rows])
            found = terms(module, engines, family)
            if module in WITH_TABLE:
                counted = table_registers(engines) + (own_registers(engines) if module in WITH_OWN_ROWS else 0)
                rows = [row | {"ff": row["ff"] - less} for row, less in zip(rows, counted.tolist(), strict=True)]
            if module in BEYOND:
                rows = _beyond(rows, engines, BEYOND[module], modules, family)
            if module in IN_PROPORTION:
                found, rows = in_proportion(found, rows)
            fit = functools.partial(
                fit_terms, like=like.get(module), logic=LOGIC.get(module, ()), differing=DIFFERING.get(module, ())
            )
            modules[module] = fit(found, rows) | left_out(found, rows, fit)
        elif is_current(module, table):
            modules[module] = table["modules"][module]
        else:
            modules[module] = {**like[module], "points": 0}
    return {"sources": {module: source_digest(module) for module in modules}, "modules": modules}


def in_proportion(found: Terms, rows: list[dict[str, Any]]) -> tuple[Terms, list[dict[str, Any]]]:
    """Terms and points divided by the points' LUTs, so that errors count in proportion to a size."""
    luts = np.array([row["lut"] for row in rows])
    share = luts.mean() / luts
    scaled = [row | {name: row[name] * own for name in ("lut", "ff")} for row, own in zip(rows, share, strict=True)]
    return {name: term * share for name, term in found.items()}, scaled


def left_out(
    found: Terms, rows: list[dict[str, Any]], fitted: Callable[[Terms, list[dict[str, Any]]], dict[str, Any]]
) -> dict[str, float]:
    """The mean error of every point by coefficients that are `fitted` to all others, beside the points' mean."""
    errors = []
    for place in range(len(rows)):
        others = np.arange(len(rows)) != place
        kept, own = (
            {name: np.broadcast_to(term, len(rows))[chosen] for name, term in found.items()}
            for chosen in (others, ~others)
        )
        entry = fitted(kept, [row for row, chosen in zip(rows, others, strict=True) if chosen])
        size = sizes_of(own, coefficients(entry), 1)[:, 0] / UNITS
        errors.append([abs(size[at] - rows[place][name]) for at, name in enumerate(("lut", "ff"))])
    mean = [max(float(np.mean([row[name] for row in rows])), 1) for name in ("lut", "ff")]
    lut, ff = np.mean(errors, axis=0) / mean
    return {"lut_left_out_error": round(float(lut), 4), "ff_left_out_error": round(float(ff), 4)}


def _beyond(
    rows: list[dict[str, Any]], engines: EngineColumns, bases: Sequence[str], modules: dict[str, Any], family: str
) -> list[dict[str, Any]]:
    """The measured sizes of points less those of the entries `bases`."""
    each = [sizes_of(terms(base, engines, family), coefficients(modules[base]), len(rows)) for base in bases]
    lut, ff = np.sum(each, axis=0) / UNITS
    return [
        row | {"lut": row["lut"] - lut[place], "ff": row["ff"] - ff[place]} for place, row in enumerate(rows)
    ]


BENCH = Bench[AnyOnEngine](
    "array", "make characterise-array", MEASURED, source_digest, lambda array: {"engine": array.engine.summary()},
    waiting, synthesised, fitted,
)  # fmt: skip
"""The bench of the array's modules."""
