"""Figures 1, 7 and 8 of G-CoS, measured here: accuracy and speed of random pairs, the frontier, and speed over PyG."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from efficiency import pyg_milliseconds
from gcos_searches import Found, Here, delivered, fastest, found_by, scored, searched_alone
from numpy.typing import NDArray

from fgnas.backends.array import price as array_price
from fgnas.costs import feasible
from fgnas.design import Design, Layer
from fgnas.engine.jobs import Workers
from fgnas.errors import UserError
from fgnas.hardware.array import choosing
from fgnas.hardware.array.designs import BUILDABLE
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.engine import LANES, LARGEST_UNITS
from fgnas.hardware.array.layers import array_network
from fgnas.hardware.array.programme import PORT_WIDTHS
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.specification import Specification
from fgnas.searchers.pool import PoolSettings, fitness
from fgnas.space import Space
from fgnas.systems import fgnas as pipelines
from fgnas.systems.gcos.composition import composed
from fgnas.systems.gcos.options import Options
from fgnas.systems.gcos.space import SPACES, ArraySpace
from fgnas.tasks.nodes import load

Floats = NDArray[np.float64]

DSP = Options.dsp
LARGEST_DSP = LANES * LARGEST_UNITS
BITS = 8
"""Width of every number of a given network, in bits."""
SEEDS = 5
"""Fresh trainings of every design whose test accuracy is reported."""
PAIRS = 300
"""Networks, and arrays, of Figure 1."""
DRAWN = (4, 128)
"""Features of the networks whose arrays the figure shows."""
ACCURATE, SPEEDY = 0.7, 0.01
"""Figure 1 counts pairs above this accuracy that are in this share of the fastest."""
WEIGHTS = (0.0, 0.0125, 0.05, 0.2, 0.8)
"""Lambdas of the frontier."""
SWEEP = {"children": 600, "leaders": 6, "retrain_seeds": 2}
"""Size of each search of the frontier."""
NETWORK_SEARCHES = ("reinforce", "evolution")
"""Ways to search a network for its accuracy alone: those of GraphNAS and Auto-GNN, and that of AutoGraph."""
HANDMADE = {
    "GCN, 16": ("gcn", "add", 16), "GCN, 64": ("gcn", "add", 64),
    "GraphSAGE, 16": ("constant", "mean", 16), "GraphSAGE, 64": ("constant", "mean", 64),
}  # fmt: skip
"""Attention, aggregation and features of networks that are given; GraphSAGE as the paper writes it."""
GAT = "GAT, 8 × 8"
GAT_CHOICES = {"attention": "gat", "aggregation": "add", "k": 8, "d": 8, "activation": "elu",
               "ai": 1, "af": 6, "wi": 1, "wf": 6}  # fmt: skip
COSTS = {"cycles": "latency_cycles", "dsp": "dsp", "bram36": "bram36", "bytes": "memory_bytes"}
TIMED = {"GCN": ("gcn", "add"), "GraphSAGE": ("constant", "mean")}
HIDDEN = (16, 128)
BUDGETS = (DSP, LARGEST_DSP)
CLOCKS: dict[int, Callable[[], float]] = {1: time.process_time, 2: time.perf_counter}
"""Threads of PyG, and the clock that times them: other programs hardly change the processor time of one thread."""
PASSES = 40


def handmade(attention: Any, aggregation: Any, features: int, bits: int = BITS) -> Design:
    """A network of two equal layers with relu between them, on the first of all engines."""
    space = SPACES["g-cos"](1, 128).restrict(
        attention=(attention,), aggregation=(aggregation,), d=(features,), activation=("relu",), bits=(bits,)
    )
    return space.candidate(np.zeros(len(space.decisions), np.int16))


# --- Figure 1 ---


def figure_1(dataset: str) -> dict[str, Any]:
    """Uniform networks on uniform arrays of any size: accuracy by the supernet, cycles and DSPs by the model."""
    parts = composed(Options(dataset=dataset, dsp=LARGEST_DSP))
    assert isinstance(parts.space, ArraySpace)
    networks, rows = crossed(parts.space, PAIRS, np.random.default_rng(0))
    costs = parts.target.price(rows.reshape(-1, rows.shape[-1]))
    built = feasible(costs, BUILDABLE).reshape(rows.shape[:2])
    cycles, dsp = (costs[name].reshape(rows.shape[:2]) for name in ("latency_cycles", "dsp"))
    accuracies = np.array(scored(dataset, networks))
    known, finite, small = np.where(built, cycles, np.nan), np.where(built, cycles, np.inf), dsp[0] <= DSP
    return {
        "built": float(built.mean()),
        "accuracies": np.quantile(accuracies, [0, 0.25, 0.5, 0.75, 1]).tolist(),
        "shares": shares(np.log(known)),
        "of a network": spread_ratio(known),
        "on an array": spread_ratio(known.T),
        "good": sparse(accuracies, finite),
        "best": {
            "fewest cycles": one_for_all(finite),
            f"fewest cycles within {DSP} DSPs": one_for_all(finite[:, small]),
            "least cycles × DSPs": one_for_all(finite * dsp),
        },
        "networks": [
            [float(one), int(own[ok].min()), int(own[ok].max())]
            for one, own, ok in zip(accuracies, cycles, built, strict=True)
        ],
        "arrays": {str(width): drawn(networks, width, cycles, dsp, built) for width in DRAWN},
    }  # fmt: skip


def crossed(space: ArraySpace, count: int, rng: np.random.Generator) -> tuple[list[Design], NDArray[np.int16]]:
    """Distinct uniform networks of one format, and the [networks, arrays, decisions] rows of all pairs with arrays."""
    kinds = np.array([decision.kind for decision in space.decisions])
    uniform = np.stack([rng.integers(0, len(one.options), 100 * count) for one in space.decisions], 1).astype(np.int16)
    rows = np.zeros((count, count, len(kinds)), np.int16)
    rows[..., kinds == "precision"] = [
        decision.options.index(BITS) for decision in space.decisions if decision.kind == "precision"
    ]
    rows[..., kinds == "architecture"] = distinct(uniform[:, kinds == "architecture"], count)[:, None]
    rows[..., kinds == "hardware"] = distinct(uniform[:, kinds == "hardware"], count)[None]
    return [space.candidate(row) for row in rows[:, 0]], rows


def distinct(rows: NDArray[np.int16], count: int) -> NDArray[np.int16]:
    """The first `count` different rows, in their order."""
    _, first = np.unique(rows, axis=0, return_index=True)
    return rows[np.sort(first)[:count]]


def shares(logarithms: Floats) -> dict[str, float]:
    """How the variance of [networks, arrays] logarithms divides; over the networks that every array runs (no NaN)."""
    whole = logarithms[~np.isnan(logarithms).any(axis=1)]
    centred = whole - whole.mean()
    network, array = centred.mean(axis=1, keepdims=True), centred.mean(axis=0, keepdims=True)
    of = {"network": network, "array": array, "both": centred - network - array}
    total = float((centred**2).mean())
    return {"networks": len(whole)} | {name: float((part**2).mean()) / total for name, part in of.items()}


def spread_ratio(cycles: Floats) -> float:
    """The median over the rows of most over fewest cycles, NaN left out."""
    return float(np.median(np.nanmax(cycles, axis=1) / np.nanmin(cycles, axis=1)))


def sparse(accuracies: Floats, cycles: Floats) -> dict[str, float]:
    """How many pairs are both accurate and among the fastest, and how many cycles these take at most."""
    limit = float(np.sort(cycles.ravel())[int(SPEEDY * cycles.size)])
    return {"count": int((cycles[accuracies > ACCURATE] <= limit).sum()), "cycles": limit}


def one_for_all(costs: Floats) -> dict[str, float]:
    """From [networks, arrays] costs: the best array of each network, and the cost of the best single array instead.

    A network that no array runs is left out, and so is an array that does not run every other network.
    """
    costs = costs[np.isfinite(costs).any(axis=1)]
    best = costs.min(axis=1)
    ratios = costs[:, np.isfinite(costs).all(axis=0)] / best[:, None]
    single = ratios[:, np.exp(np.log(ratios).mean(axis=0)).argmin()]
    return {
        "arrays": len(np.unique(costs.argmin(axis=1))), "networks": len(costs),
        "own": float((single == 1).mean()), "mean": float(np.exp(np.log(single).mean())), "worst": float(single.max()),
    }  # fmt: skip


def drawn(networks: Sequence[Design], width: int, cycles: Floats, dsp: Floats, built: NDArray[np.bool_]) -> list[Any]:
    """DSPs and cycles of the first network of so many features on every array that runs it."""
    place = next(place for place, one in enumerate(networks) if one.layers[0].d == width)
    return [[int(d), int(c)] for d, c, ok in zip(dsp[place], cycles[place], built[place], strict=True) if ok]


# --- Figure 7 ---


def on_frontier(dataset: str, weight: float) -> dict[str, Any]:
    """The fittest leader, by retrained validation accuracy, of a search with this lambda and 100 DSPs alone."""
    found = found_by(dataset=dataset, weight=weight, **SWEEP)
    leader = fittest(found, weight)
    return told(dataset, Design.from_dict(leader["design"]), leader["costs"])


def fittest(found: Found, weight: float) -> dict[str, Any]:
    """The leader with the greatest fitness, as the search counts it."""
    settings = PoolSettings(weight=weight)
    first = [trial.costs["latency_cycles"] for trial in found.trials[: settings.births]]
    points = np.array([[one["retrained_val"]["mean"], -one["costs"]["latency_cycles"]] for one in found.leaders])
    return found.leaders[int(fitness(points, np.array([-np.median(first)]), settings).argmax())]


def network_first(dataset: str, method: str, width: int) -> dict[str, Any]:
    """The most accurate network of up to so many features that an engine runs, then its fastest engine."""
    found = found_by(dataset=dataset, method=method, **searched_alone(width), **SWEEP)
    for leader in found.leaders:
        try:
            return on_fastest(dataset, Design.from_dict(leader["design"]))
        except UserError:
            continue
    raise SystemExit(f"no engine runs a leader of {method} with up to {width} features")


def on_fastest(dataset: str, design: Design) -> dict[str, Any]:
    """A given network on the engine that is fastest for it."""
    return told(dataset, *fastest(dataset, design))


def told(dataset: str, design: Design, costs: dict[str, float]) -> dict[str, Any]:
    """Accuracies by seed and costs of a design."""
    trainer = composed(Options(dataset=dataset, scoring="training")).trainer
    return {
        "layers": "; ".join(map(described, design.layers)), "array": design.array and design.array.model_dump(),
        **{name: costs[cost] for name, cost in COSTS.items()}, **delivered(trainer, design, SEEDS),
    }  # fmt: skip


def gat_on_array(dataset: str) -> dict[str, Any]:
    """The paper's GAT on the fastest array within the same DSPs.

    Its logits are those of a pipeline, bit for bit, so the pipeline's trainer gives the accuracies.
    """
    data, parts = load(dataset), pipelines.compose(pipelines.Options(dataset=dataset, target="pipeline", dsp=DSP))
    row = cast(Space, parts.space).restrict(attention=("gat",)).draw(1, np.random.default_rng(0))
    for place, decision in enumerate(parts.space.decisions):
        if decision.choice in GAT_CHOICES:
            value = 1 if decision.name == "1.k" else GAT_CHOICES[decision.choice]
            row[:, place] = decision.options.index(value)
    design: Any = parts.space.candidate(row[0])
    with Workers(Here) as workers:
        network = parts.trainer.retrain([design], 1, workers)[0].model.network
    lowered = array_network(design, network, GraphShape.of(data))
    array = choosing.fastest(lowered, data, choosing.Room(DSP, PORT_WIDTHS[-1]))
    price = array_price(encode_array(array, data), Specification())
    return {
        "layers": "; ".join(map(described, design.layers)), "array": None, "bytes": None,
        **{name: float(price[cost]) for name, cost in COSTS.items() if cost in price},
        **delivered(parts.trainer, design, SEEDS),
    }  # fmt: skip


def described(layer: Layer) -> str:
    """A layer in a few words."""
    heads = layer.k if layer.k > 1 else None
    words = (layer.attention, layer.aggregation, heads and f"{heads} ×", layer.d, layer.activation)
    return " ".join([*(str(word) for word in words if word), f"{layer.ai + layer.af + 1} bit"])


# --- Figure 8 ---


def over_pyg(dataset: str, network: str, hidden: int) -> dict[str, Any]:
    """Milliseconds of PyG, and the fastest arrays for the same network; measured in one go."""
    data, design = load(dataset), handmade(*TIMED[network], hidden)
    load_average = os.getloadavg()[0]
    pyg = {str(threads): pyg_milliseconds(data, design, threads, PASSES, clock) for threads, clock in CLOCKS.items()}
    arrays = {}
    for budget in BUDGETS:
        made, costs = fastest(dataset, design, dsp=budget)
        assert made.array is not None
        arrays[str(budget)] = {
            "dsp": costs["dsp"], "cycles": costs["latency_cycles"], "bytes": costs["memory_bytes"],
            "bram36": costs["bram36"], "array": made.array.model_dump(),
        }  # fmt: skip
    # Per node: H and Z of the hidden layer and H of the last, written and read again.
    spilt = 2 * data.nodes * (2 * hidden + data.classes) * BITS // 8
    return {"pyg_ms": pyg, "load_average": round(load_average, 1), "arrays": arrays, "spilt_bytes": spilt}
