"""The multiplier array on whole graphs: cycles and busy multipliers by model and RTL, beside the best pipeline.

The network is G-CoS's baseline: two layers of gcn with 16 hidden features, in 8 bits. Random networks of FGNAS's space
on random engines are simulated, too.
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import Record, code_version
from memory import digest_of_files
from pages import render, write_page

from fgnas.backends.array import write_project
from fgnas.design import VECTORS, Design, Layer
from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.array import cycles
from fgnas.hardware.array.choosing import Room, fastest
from fgnas.hardware.array.designs import ArrayDesignPricer
from fgnas.hardware.array.encoded import EncodedArray
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.engine import LANES, LARGEST_UNITS
from fgnas.hardware.array.layers import ArrayNetwork, array_network
from fgnas.hardware.array.lowering import ArrayAccelerator
from fgnas.hardware.array.programme import NARROW_BITS, PORT_WIDTHS, Operation, Target
from fgnas.hardware.array.resources import engine_resources
from fgnas.hardware.pipeline.pricing import Pricer
from fgnas.hardware.shape import GraphShape
from fgnas.network import ATTENTION_VECTORS, LayerParameters, Network
from fgnas.paths import templates_directory
from fgnas.space import Columns
from fgnas.systems.fgnas.space import find_space
from fgnas.systems.gcos.space import find_space as gcos_space
from fgnas.tasks.nodes import GraphData, load
from fgnas.tools.simulate import run_simulation

BUILD = Path(__file__).parent.parent / "build" / "multiplier-array"
DATASETS = ("cora", "citeseer")
MULTIPLIERS = (32, 64, 96, 128, 256, 512, 1024, 2048, 4096)
SIMULATED = (64, 96, 128, 256)
"""Multipliers of the arrays that are simulated, behind the widest port."""
FORMATS = {"ai": 3, "af": 4, "wi": 1, "wf": 6}
HIDDEN = 16
RANDOM = {"cora": 30, "citeseer": 10}
"""Random networks that are simulated on each graph."""
SEED = 2024
SCALES = ("weight_scale", "value_scale", "output_scale")
LIMITS = (
    ({"dsp": 100, "lut": 100_000, "ff": 100_000}, (PORT_WIDTHS[-1], PORT_WIDTHS[0])),
    ({"dsp": 100, "lut": 10_000, "ff": 10_000}, (PORT_WIDTHS[-1], PORT_WIDTHS[0])),
)
"""Limits of the paper's Table IV, and the ports of the arrays that are compared within them."""
SMALL_MULTIPLIERS, ROOMY = (16, 32, 48, 64, 80, 96, 128, 192, 256), {"lut": 100_000, "ff": 100_000}
"""Arrays whose LUTs times cycles are compared with a pipeline's, and the limits of both."""
SPACE, PRICED = "g-cos", 100_000
"""The designs that are priced, and how many."""
UNLIMITED = 10_000
"""DSPs that no pipeline of the space needs."""


def design() -> Design:
    """The network; its lanes are a pipeline's."""
    gcn: dict[str, Any] = {"attention": "gcn", "aggregation": "add", "k": 1, "t_attn": None, **FORMATS}
    lanes = {"t_in": 1, "t_out": 1, "t_aggr": 1}
    hidden = Layer(d=HIDDEN, activation="relu", t_act=1, **gcn, **lanes)
    return Design(schema=1, layers=(hidden, Layer(d=None, activation=None, t_act=None, **gcn, **lanes)), dsp=0)


def source_of(data: GraphData) -> ArrayNetwork:
    """The network with seeded random weights: cycles depend on the graph alone."""
    return lowered(design(), data, np.random.default_rng(0))


def random_network(chosen: Design, data: GraphData, rng: np.random.Generator, scaled: bool = True) -> Network:
    """Normal weights, and random scales or none."""
    width, layers = data.width_in, []
    for layer in chosen.layers:
        d = layer.d or data.classes
        biases = layer.k * d if layer.d else d
        weight, bias = (rng.normal(size=shape).astype(np.float32) for shape in ((width, layer.k, d), (biases,)))
        vectors = [rng.normal(size=(layer.k, d)).astype(np.float32) for _ in range(VECTORS.get(layer.attention, 0))]
        named: dict[str, Any] = dict(zip(ATTENTION_VECTORS, vectors, strict=False))
        if scaled:
            named |= dict(zip(SCALES, rng.integers(-2, 4, len(SCALES)).tolist(), strict=True))
        layers.append(LayerParameters(weight, bias, **named))
        width = layer.k * d
    return Network(tuple(layers), int(rng.integers(0, 4)))


def lowered(chosen: Design, data: GraphData, rng: np.random.Generator, scaled: bool = True) -> ArrayNetwork:
    """A design with random weights, lowered for the graph."""
    return array_network(chosen, random_network(chosen, data, rng, scaled), GraphShape.of(data), data.name)


def lost_most(encoded: EncodedArray) -> str:
    """The phase that wastes most multiplier cycles, and what bounds its length."""
    multipliers, phases = encoded.accelerator.engine.multipliers, cycles.phase_cycles(encoded)[1:]
    useful = cycles.multiplications_by_phase(encoded)[1:]
    lost = [taken - needed / multipliers for taken, needed in zip(phases, useful, strict=True)]
    number = lost.index(max(lost))
    descriptor = encoded.programme[number]
    bounds = {
        "loads": descriptor.count if descriptor.operation == Operation.LOAD else 0,
        "issue": descriptor.count * max(1, descriptor.entries) * descriptor.tiles,
        "beats": descriptor.beats,
        "writes to the tables": written(encoded, number),
        "logits": descriptor.result_beats,
    }
    reason = max(bounds, key=lambda name: bounds[name])
    return f"{cycles.phase_names(encoded)[number + 1]}: {reason}"


def written(encoded: EncodedArray, number: int) -> int:
    """Cycles in which a phase's words of H are written."""
    descriptor, engine = encoded.programme[number], encoded.accelerator.engine
    if descriptor.operation == Operation.LOAD or descriptor.target != Target.TABLE:
        return 0
    together = engine.table_writes(engine.modes[descriptor.mode], descriptor.target_tiles, descriptor.target_base)
    return encoded.nodes * descriptor.tiles // together


def modelled(dataset: str, multipliers: int, beat_bits: int) -> dict[str, Any]:
    """The fastest array of the model."""
    data = load(dataset)
    encoded = encode_array(fastest(source_of(data), data, Room(multipliers, beat_bits)), data)
    total, engine = cycles.total_cycles(encoded), encoded.accelerator.engine
    return {
        "dataset": dataset, "beat_bits": beat_bits, "allowed": multipliers, "multipliers": engine.multipliers,
        "mode": list(vars(engine.modes[0]).values()), "results": engine.results, "cycles": total,
        "busy": cycles.busy(encoded, total), "lost_most": lost_most(encoded),
    }  # fmt: skip


def simulated(dataset: str, multipliers: int) -> dict[str, Any]:
    """The array's RTL on the whole graph."""
    data = load(dataset)
    array = fastest(source_of(data), data, Room(multipliers, PORT_WIDTHS[-1]))
    return run(array, data, BUILD / f"{dataset}-{multipliers}")


def random_case(dataset: str, number: int) -> dict[str, Any]:
    """A random network of FGNAS's space, of operators that the array runs, on the fastest array of a random size."""
    data, rng = load(dataset), np.random.default_rng([SEED, number])
    chosen, array = random_array(data, rng)
    layers = "; ".join(f"{one.attention} {one.aggregation} {one.k} × {one.d or data.classes}" for one in chosen.layers)
    described = {"layers": layers, "beat_bits": array.engine.beat_bits}
    return described | run(array, data, BUILD / f"{dataset}-random-{number}")


def random_array(data: GraphData, rng: np.random.Generator) -> tuple[Design, ArrayAccelerator]:
    """A random design that some array holds, and the fastest one of a random size."""
    space = find_space("fgnas")
    while True:
        chosen = space.design(space.draw(1, rng)[0], 0)
        multipliers, beat_bits = int(rng.choice(MULTIPLIERS[:5])), int(rng.choice(PORT_WIDTHS))
        source = lowered(chosen, data, rng)
        if has_wide_heads(source):
            continue
        try:
            return chosen, fastest(source, data, Room(multipliers, beat_bits))
        except UserError:
            continue  # its weights or rows exceed a unit's memories


def has_wide_heads(source: ArrayNetwork) -> bool:
    """Whether the heads of the last layer are kept apart in wide numbers: the networks of a seed are those without."""
    if not source.layers[-1].adds_heads:
        return False
    return source.layers[-2].value_format.width + wire.LOGIT_EXTRA_BITS > NARROW_BITS


def run(array: ArrayAccelerator, data: GraphData, directory: Path) -> dict[str, Any]:
    """Write and simulate an array on a whole graph."""
    write_project(array, data, directory)
    report = run_simulation(directory)
    wanted = ("logits", "mismatches", "cycles", "cycle_difference", "phase_differences", "busy", "protocol_errors")
    built = {"multipliers": array.engine.multipliers, "results": array.engine.results}
    return {"dataset": data.name, **built, **{name: report[name] for name in wanted}}


def within(dataset: str, limits: dict[str, int], beat_bits: int) -> dict[str, Any]:
    """The fastest array and the fastest pipeline of the network that the models put within limits of a device.

    Formats have no scale, as in a search: relu then needs no table.
    """
    room = Room(limits["dsp"], beat_bits, {name: limits[name] for name in ROOMY})
    found = {"array": sized(dataset, room), "pipeline": fitting(dataset, limits)}
    return {"dataset": dataset, "limits": limits, "beat_bits": beat_bits, **found}


def sized(dataset: str, room: Room) -> dict[str, Any]:
    """The fastest array of the unscaled network within a room: multipliers, cycles and resources."""
    data = load(dataset)
    array = fastest(lowered(design(), data, np.random.default_rng(0), scaled=False), data, room)
    return {
        "multipliers": array.engine.multipliers, "beat_bits": array.engine.beat_bits,
        "cycles": cycles.total_cycles(encode_array(array, data)), **engine_resources(array.engine),
    }  # fmt: skip


def fitting(dataset: str, limits: dict[str, int], times: str | None = None) -> dict[str, Any]:
    """The pipeline of the network with the fewest cycles, or cycles times a resource, that the model puts within
    limits."""
    prices = Pricer(load(dataset)).price(every_pipeline(), limits["dsp"])
    named = prices.named()
    fits = np.all([named[name] <= limit for name, limit in limits.items()], axis=0)
    weighed = prices.latency_cycles * (1 if times is None else named[times])
    best = int(np.where(fits, weighed, np.inf).argmin())
    return {"cycles": int(prices.latency_cycles[best])} | {name: int(named[name][best]) for name in limits}


def least_products(dataset: str) -> dict[str, Any]:
    """LUTs times cycles: the least of the fastest arrays of every size and port, and of the pipelines."""
    rooms = [Room(multipliers, beat_bits, ROOMY)
             for multipliers, beat_bits in itertools.product(SMALL_MULTIPLIERS, PORT_WIDTHS)]  # fmt: skip
    array = min((sized(dataset, room) for room in rooms), key=lambda one: one["cycles"] * one["lut"])
    return {"dataset": dataset, "array": array, "pipeline": fitting(dataset, {**ROOMY, "dsp": UNLIMITED}, "lut")}


def priced(dataset: str) -> dict[str, Any]:
    """Designs of G-CoS's space that are priced in a second of processor time, phases known or not."""
    space, target = gcos_space(SPACE, LARGEST_UNITS, PORT_WIDTHS[-1]), ArrayDesignPricer(load(dataset))
    rng, seconds = np.random.default_rng(SEED), []
    for _ in range(2):
        columns, arrays = space.designs(space.draw(PRICED, rng))
        begun = time.process_time()
        target.price(columns, arrays)
        seconds.append(time.process_time() - begun)
    first, again = (PRICED / taken for taken in seconds)
    return {"dataset": dataset, "space": SPACE, "designs": PRICED, "first": first, "again": again}


def pipelines(dataset: str) -> list[dict[str, Any]]:
    """The fastest pipelines of the network with at most so many multipliers, of all choices of lanes."""
    prices = Pricer(load(dataset)).price(every_pipeline(), UNLIMITED)
    found = []
    for multipliers in MULTIPLIERS:
        latency = np.where(prices.multipliers <= multipliers, prices.latency_cycles, np.inf)
        best = int(latency.argmin())
        found.append({
            "dataset": dataset, "allowed": multipliers, "multipliers": int(prices.multipliers[best]),
            "cycles": int(latency[best]),
        })  # fmt: skip
    return found


def every_pipeline() -> Columns:
    """The network with all choices of a pipeline's lanes."""
    space = find_space("fgnas")
    chosen = {f"{place}.{name}": value for place, layer in enumerate(design().layers) for name, value in layer}
    lanes = ("t_in", "t_out", "t_aggr", "t_act")
    offered = [
        range(len(one.options)) if one.name.split(".")[1] in lanes else [place_of(one.options, chosen[one.name])]
        for one in space.decisions
    ]
    return space.columns(np.array(list(itertools.product(*offered)), np.int16))


def place_of(options: tuple[Any, ...], value: Any) -> int:
    """The place of a choice; the first where the layer has no such choice."""
    return options.index(value) if value in options else 0


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    arrays = {(one["dataset"], one["allowed"], one["beat_bits"]): one for one in record["modelled"]}
    against = [one | {"array": arrays[one["dataset"], one["allowed"], PORT_WIDTHS[-1]]} for one in record["pipelines"]]
    return render(
        "multiplier-array.md", modelled=record["modelled"], simulated=[record[key] for key in record["shown"]],
        randoms=[record[key] for key in record["random"]], seed=SEED, against=against, hidden=HIDDEN,
        within=record.get("within", []), products=record.get("products", []), roomy=ROOMY,
        sizes=SMALL_MULTIPLIERS, priced=record["priced"],
        bits=1 + FORMATS["ai"] + FORMATS["af"], lanes=LANES, largest=LANES * LARGEST_UNITS, widest=PORT_WIDTHS[-1],
    )  # fmt: skip


def main() -> None:
    """Measure what is missing, and write the page."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    templates = sorted((templates_directory() / "rtl" / "array").iterdir())
    record = Record("multiplier-array", f"{code_version()} {digest_of_files(templates)[:12]}")
    record.note(modelled=[
        modelled(*case) for case in itertools.product(DATASETS, MULTIPLIERS, PORT_WIDTHS)
    ], within=[
        within(dataset, limits, beat_bits) for limits, ports in LIMITS for beat_bits in ports for dataset in DATASETS
    ], products=[least_products(dataset) for dataset in DATASETS],
       pipelines=[line for dataset in DATASETS for line in pipelines(dataset)],
       priced=[priced(dataset) for dataset in DATASETS])  # fmt: skip
    shown = []
    for dataset, multipliers in itertools.product(DATASETS, SIMULATED):
        key = f"{dataset} {multipliers}"
        record.fill(key, lambda dataset=dataset, multipliers=multipliers: simulated(dataset, multipliers))  # type: ignore[misc]
        shown.append(key)
    randoms = [(dataset, number) for dataset, count in RANDOM.items() for number in range(count)]
    for dataset, number in randoms:
        key = f"{dataset} random {number}"
        record.fill(key, lambda dataset=dataset, number=number: random_case(dataset, number))  # type: ignore[misc]
    record.note(shown=shown, random=[f"{dataset} random {number}" for dataset, number in randoms])
    write_page("multiplier-array.md", page(record.results))


if __name__ == "__main__":
    main()
