"""Models that were trained in PyG, as users bring them: what integers cost them, and how fast molecules run.

Nodes of Cora and CiteSeer in numbers of 10 and 8 bits; molecules with networks of GNNBuilder's size; one molecule at a
time, and many in a start, beside PyG on this processor.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import io
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from array_random import version
from common import Record
from memory import digest
from pages import read_record, render, write_page
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import (
    GATConv,
    GCNConv,
    GINConv,
    SAGEConv,
    global_add_pool,
    global_max_pool,
    global_mean_pool,
)

from fgnas.backends.array import write_calls, write_imported, write_imported_use
from fgnas.files import replace_file
from fgnas.hardware.array import reference
from fgnas.hardware.array.calls import CalledArray, calls_engine, filled, laid_out
from fgnas.hardware.array.chains import ChainArray, chain_of, preparation_of
from fgnas.hardware.array.choosing import Room, deliverable_operations
from fgnas.hardware.array.cycles import total_cycles
from fgnas.hardware.array.layers import Described
from fgnas.hardware.array.operations import OperationNetwork, halves_of_operations
from fgnas.hardware.array.parts import most_rows, parts_of
from fgnas.hardware.array.resources import engine_resources
from fgnas.hardware.specification import Specification
from fgnas.networks.imported.chaining import chained
from fgnas.networks.imported.fusing import fused
from fgnas.networks.imported.importing import given_of, imported, proven
from fgnas.networks.imported.improving import quantised
from fgnas.networks.imported.quantising import Seen, built, formats_for, formats_in_order
from fgnas.networks.imported.reading import traced
from fgnas.tasks.collection import Collection, metric
from fgnas.tasks.sources import load
from fgnas.tools.simulate import run_calls, run_simulation

NAME, ACCURACY = "imports-trained", "imports-accuracy"
"""The record of molecules on arrays, which is also the page's name, and that of trained models."""
BUILD = Path(__file__).parent.parent / "build" / NAME
SEEDS, CLOCK_MHZ, MOLECULES, TIMED = 3, 100.0, 1000, 200
ARRAYS = {8: 128, 32: 512}
"""Units of eight multipliers that run molecules, with the bits of their memory port."""
WHOLE = {64: 128, 256: 512, 512: 512}
"""Multipliers that run chains whole, with the bits of their memory port."""
TOGETHER = 64
"""Molecules of a start of many."""
PARTS = ("molecules", "whole", "nodes", "graphs")
IMPORTING = ("networks/imported", "tasks/collection.py", "tasks/molecules.py", "tasks/nodes.py", "tasks/sources.py")
"""The code on which what integers cost depends."""


class Nodes(nn.Module):
    """Two layers as in the papers of each: 16 features, of GAT 8 heads of 8."""

    def __init__(self, kind: str, width: int, classes: int) -> None:
        super().__init__()
        if kind == "GAT":
            self.first, self.second = GATConv(width, 8, 8, dropout=0.6), GATConv(64, classes, 1, dropout=0.6)
            return
        mlp = lambda before, after: GINConv(nn.Sequential(  # noqa: E731
            nn.Linear(before, 16), nn.ReLU(), nn.Linear(16, after)))  # fmt: skip
        make: Callable[[int, int], nn.Module] = {"GCN": GCNConv, "SAGE": SAGEConv, "GIN": mlp}[kind]
        self.first, self.second = make(width, 16), make(16, classes)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = functional.dropout(x, 0.6, self.training)
        x = functional.dropout(functional.elu(self.first(x, edge_index)), 0.6, self.training)
        return self.second(x, edge_index)


class Molecule(nn.Module):
    """GNNBuilder's network (its experiments/build_gnnbuilder_benchmarks.py): six layers of 128 features with skips, the
    last of 64, three pools, and a head of five layers."""

    def __init__(self, kind: str, width: int, out: int, hidden: int = 128, last: int = 64) -> None:
        super().__init__()
        widths = [width, *[hidden] * 5, last]
        make: Callable[[int, int], nn.Module] = GCNConv
        if kind == "GIN":
            make = lambda before, after: GINConv(nn.Sequential(  # noqa: E731
                nn.Linear(before, hidden), nn.ReLU(), nn.Linear(hidden, after)))  # fmt: skip
        self.layers = nn.ModuleList(make(*pair) for pair in zip(widths, widths[1:], strict=False))
        self.skips = nn.ModuleList(nn.Identity() if a == b else nn.Linear(a, b, bias=False)
                                   for a, b in zip(widths, widths[1:], strict=False))  # fmt: skip
        head = [nn.Linear(3 * last, 64), nn.ReLU()]
        for _ in range(3):
            head += [nn.Linear(64, 64), nn.ReLU()]
        self.head = nn.Sequential(*head, nn.Linear(64, out))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        for layer, skip in zip(self.layers, self.skips, strict=True):
            x = functional.relu(layer(x, edge_index)) + skip(x)
        pools = (global_add_pool, global_mean_pool, global_max_pool)
        return self.head(torch.cat([pool(x, batch) for pool in pools], dim=1))


# nodes


def nodes(graph: str, kind: str, seed: int) -> dict[str, Any]:
    """A model that trains as its paper has it, and its integers in two widths."""
    begun, data = time.monotonic(), load(graph)
    given = given_of(data)
    torch.manual_seed(seed)
    model = Nodes(kind, given.x.shape[1], data.outputs)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    labels = torch.from_numpy(np.nan_to_num(data.targets[:, 0], nan=-1)).long()
    train, val = torch.from_numpy(data.train), torch.from_numpy(data.val)
    best, state = -1.0, model.state_dict()
    for _ in range(150):
        model.train()
        optimiser.zero_grad()
        functional.cross_entropy(model(given.x, given.edge_index)[train], labels[train]).backward()
        optimiser.step()
        model.eval()
        with torch.no_grad():
            right = float((model(given.x, given.edge_index)[val].argmax(1) == labels[val]).float().mean())
        if right > best:
            best, state = right, {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(state)
    run = partial(traced, model.eval())
    found = {bits: imported(run, data, bits, form=chained) for bits in (10, 8)}
    return {"graph": graph, "model": kind, "seed": seed, "float": found[10].accuracy["float"]["test"],
            **{f"bits_{bits}": one.accuracy["quantised"]["test"] for bits, one in found.items()},
            "seconds": round(time.monotonic() - begun)}  # fmt: skip


# graphs


def graphs(name: str, kind: str, seed: int, epochs: int) -> dict[str, Any]:
    """A network of GNNBuilder's size on molecules that are divided by scaffolds, and its integers of 8 bits."""
    begun, data = time.monotonic(), load(name)
    torch.manual_seed(seed)
    model = Molecule(kind, data.features.shape[1], data.targets.shape[1])
    epoch = fitted(model, data, seed, epochs, f"{name}-{kind}-{seed}-{epochs}")
    found = imported(partial(traced, model), data, 8, form=chained)
    return {"data": name, "model": kind, "seed": seed, "molecules": data.rows, "epochs": epochs, "epoch": epoch,
            "float": found.accuracy["float"]["test"], "bits_8": found.accuracy["quantised"]["test"],
            "seconds": round(time.monotonic() - begun)}  # fmt: skip


def fitted(model: Molecule | Everyday, data: Collection, seed: int, epochs: int, name: str) -> int:
    """Train a model of graphs, whose results are then the targets themselves, and make it ready to run; its weights are
    kept by this name. Returns the epoch that they are of."""
    known = data.targets[data.train]
    centre, scale = (float(np.nanmean(known)), float(np.nanstd(known))) if data.kind == "values" else (0.0, 1.0)
    loss = partial(loss_of, model, centre=centre, scale=scale)
    kept = BUILD / f"{name}-{training_digest(type(model))}.pt"
    epoch = once(model, kept, lambda: trained(model, data, seed, epochs, loss))
    with torch.no_grad():
        last = model.head[-1]
        last.weight.mul_(scale)
        last.bias.mul_(scale).add_(centre)
    model.eval()
    return epoch


def training_digest(kind: type[nn.Module]) -> str:
    """Eight hexadecimal digits of the code that the weights of a kind of model depend on."""
    code = "".join(map(inspect.getsource, (kind, trained, loss_of)))
    return hashlib.sha256(code.encode()).hexdigest()[:8]


def once(model: nn.Module, kept: Path, train: Callable[[], int]) -> int:
    """Train a model unless the file `kept` has its weights, which then holds them: formats change, weights do not.
    Returns the epoch that they are of."""
    if kept.exists():
        found = torch.load(kept, weights_only=True)
        model.load_state_dict(found["state"])
        return int(found["epoch"])
    epoch = train()
    kept.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    torch.save({"state": model.state_dict(), "epoch": epoch}, buffer)
    replace_file(kept, buffer.getvalue())
    return epoch


def trained(model: nn.Module, data: Collection, seed: int, epochs: int, loss: Callable[[Collection], Tensor]) -> int:
    """Train in batches of 64 molecules; the model keeps the weights of the epoch that validation prefers, which is
    returned."""
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    rng, train, val = np.random.default_rng(seed), np.flatnonzero(data.train), data.part(np.flatnonzero(data.val))
    given, best, chosen, state = given_of(val), float("inf"), 0, model.state_dict()
    for epoch in range(1, epochs + 1):
        model.train()
        for rows in np.array_split(rng.permutation(train), max(1, len(train) // 64)):
            optimiser.zero_grad()
            loss(data.part(np.sort(rows))).backward()
            optimiser.step()
        model.eval()
        with torch.no_grad():
            if data.kind == "values":  # before they have their scale: their loss has the order of their metric
                worse = float(loss(val))
            else:
                found = model(given.x, given.edge_index, given.batch).double().numpy()
                worse = -metric(data.kind, val.targets, found)
        if worse < best:
            best, chosen = worse, epoch
            state = {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(state)
    return chosen


def loss_of(model: nn.Module, data: Collection, *, centre: float, scale: float) -> Tensor:
    """The loss of a batch: squared errors of numbers, cross entropy of labels; what is unknown does not count."""
    given = given_of(data)
    found = model(given.x, given.edge_index, given.batch)
    targets = torch.from_numpy((data.targets - centre) / scale).float()
    known = ~targets.isnan()
    loss = functional.mse_loss if data.kind == "values" else functional.binary_cross_entropy_with_logits
    return loss(found[known], targets[known])


# molecules


def molecules(kind: str, units: int) -> dict[str, Any]:
    """One molecule of ESOL at a time, and many in a start, on an array of so many units, beside PyG on one thread."""
    data = load("esol")
    torch.manual_seed(0)
    model = Molecule(kind, data.features.shape[1], 1).eval()
    run = partial(traced, model)
    _, calibrating, _ = proven(run, data.part(np.flatnonzero(data.train)[:64]))
    known = formats_in_order(calibrating.nodes, quantised(calibrating, 8, data.kind, 0)[1])
    sizes = np.bincount(data.graph)
    median = int(np.argsort(sizes, kind="stable")[len(sizes) // 2])

    def called(rows: np.ndarray) -> CalledArray:
        part = data.part(rows)
        seen = Seen.of(fused(run(given_of(part)).output), sp.csr_matrix(part.features, dtype=np.float64))
        found = built(seen, formats_for(seen.nodes, known), 8)
        source = OperationNetwork(kind, "esol", Described("0" * 12, {}), found.integers, found.graphs, 1)
        halves = halves_of_operations(source)
        parts = parts_of(halves, 8, most_rows(halves, units))
        engine = calls_engine(source, parts, units, ARRAYS[units])
        return CalledArray(source, engine, parts, source.edges).in_groups()

    one = called(np.array([median]))
    return {
        "model": kind, "multipliers": 8 * units, "port": ARRAYS[units], "atoms": int(sizes[median]),
        "calls": len(one.parts), "cycles": one.cycles, **prepared(lambda: called(np.array([median]))),
        **in_rtl(one, kind, units),
        "pyg_us": pyg_us(model, data.part(np.array([median]))), **starts(called, one, data),
    }  # fmt: skip


class Everyday(nn.Module):
    """Three layers of 64 features, a pool, and a head of two linear layers: a chain."""

    def __init__(self, kind: str, width: int, out: int, hidden: int = 64) -> None:
        super().__init__()
        widths = [width, hidden, hidden, hidden]
        layers: dict[str, Callable[[int, int], nn.Module]] = {
            "GCN": GCNConv, "SAGE": SAGEConv,
            "GIN": lambda before, after: GINConv(nn.Sequential(
                nn.Linear(before, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, after))),
        }  # fmt: skip
        self.layers = nn.ModuleList(layers[kind](*pair) for pair in zip(widths, widths[1:], strict=False))
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, out))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        for layer in self.layers:
            x = functional.relu(layer(x, edge_index))
        return self.head(global_mean_pool(x, batch))


def whole(kind: str, multipliers: int) -> dict[str, Any]:
    """Networks that stay on the array: their errors; the largest and the median molecule of ESOL on the array that is
    built for the largest, in RTL, beside PyG on one thread; and many in a start."""
    data, errors = load("esol"), []
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        model = Everyday(kind, data.features.shape[1], 1)
        fitted(model, data, seed, EPOCHS["esol"], f"everyday-{kind}-{seed}")
        found = imported(partial(traced, model), data, 8, form=chained)
        errors.append([found.accuracy[one]["test"] for one in ("float", "quantised")])
    sizes = np.bincount(data.graph)
    by_size = np.argsort(sizes, kind="stable")
    port, largest, median = WHOLE[multipliers], int(by_size[-1]), int(by_size[len(sizes) // 2])

    def source(rows: list[int]) -> OperationNetwork:
        found = imported(partial(traced, model), data, 8, rows, form=chained)
        return OperationNetwork(kind, "esol", Described("0" * 12, {}), found.network.integers, found.network.graphs, 1,
                                rules=found.rules)  # fmt: skip

    def fastest(of: OperationNetwork) -> ChainArray:
        array = deliverable_operations(of, Room(multipliers, port))
        assert isinstance(array, ChainArray)
        return array

    built_for, chain = fastest(source([largest])), chain_of(source([median]))
    assert chain is not None
    one = ChainArray(replace(built_for.accelerator, source=chain))
    many = fastest(source([int(row) for row in by_size[-TOGETHER:]])).cycles
    float_error, error = np.mean(errors, axis=0)
    return {
        "model": kind, "multipliers": multipliers, "port": port, "atoms": int(sizes[median]),
        "largest": int(sizes[largest]), "float": float(float_error), "bits_8": float(error),
        "deviation": np.std(errors, axis=0, ddof=1).tolist(), "lut": engine_resources(built_for.engine)["lut"],
        "bram36": engine_resources(built_for.engine)["bram36"],
        **whole_in_rtl(built_for, one, kind),
        "together_rate": TOGETHER * CLOCK_MHZ * 1e6 / many,
        "pyg_us": pyg_us(model, data.part(np.array([median]))),
        "pyg_us_largest": pyg_us(model, data.part(np.array([largest]))),
        "prepared_us": prepared_us(built_for, one, data.part(np.array([median]))),
        "prepared_us_largest": prepared_us(built_for, built_for, data.part(np.array([largest]))),
    }  # fmt: skip


def whole_in_rtl(built_for: ChainArray, one: ChainArray, kind: str) -> dict[str, int]:
    """Both molecules in the RTL of one build, each started again without the loads: mismatches and cycles."""
    home, specification = BUILD / f"whole-{kind}-{built_for.engine.multipliers}", Specification()
    use = home.with_name(f"{home.name}-on")
    write_imported(built_for, home, specification)
    write_imported_use(one, f"../{home.name}", use, specification)
    runs = [run_simulation(home, again=True), run_simulation(use, project=home, again=True)]
    each = [run for first in runs for run in (first, first["again"])]
    names = ("first_largest", "cycles_largest", "first", "cycles")
    return {
        "rtl_mismatches": sum(run["mismatches"] for run in each),
        "rtl_unlike": sum(run["cycles"] != run["predicted_cycles"] for run in each),
        **{name: run["cycles"] for name, run in zip(names, each, strict=True)},
    }  # fmt: skip


def prepared_us(built_for: ChainArray, one: ChainArray, data: Collection) -> float:
    """Microseconds in which the host makes a molecule ready that it has not seen, from the tensors that PyG is given:
    the median of many. The bytes are those that ran in RTL."""
    prepare, given, seconds = preparation_of(built_for.encoded), given_of(data), []
    assert prepare is not None
    found = prepare(given.x, given.edge_index, given.batch)
    assert all(np.array_equal(found[name], value) for name, value in one.encoded.arguments().items())
    for _ in range(TIMED):
        begun = time.perf_counter()
        prepare(given.x, given.edge_index, given.batch)
        seconds.append(time.perf_counter() - begun)
    return 1e6 * statistics.median(seconds)


def pyg_us(model: nn.Module, data: Collection) -> float:
    """Microseconds of PyG's own run, the median of many, one thread."""
    given, seconds = given_of(data), []
    with torch.no_grad():
        for _ in range(TIMED):
            begun = time.perf_counter()
            model(given.x, given.edge_index, given.batch)
            seconds.append(time.perf_counter() - begun)
    return 1e6 * statistics.median(seconds)


def prepared(make: Callable[[], CalledArray]) -> dict[str, float]:
    """Microseconds of the host for a molecule that it has not seen: its matrices and codes; then the streams of all
    calls, which are arranged between them."""
    matrices, streams = [], []
    for _ in range(5):
        begun = time.perf_counter()
        array = make()
        matrices.append(time.perf_counter() - begun)
        streams.append(sum(_arranged(array)))
    return {"matrices_us": 1e6 * statistics.median(matrices), "streams_us": 1e6 * statistics.median(streams)}


def _arranged(array: CalledArray) -> Iterator[float]:
    """The seconds that each half's calls take to be encoded; the array's own work is left out."""
    results: list[Any] = []
    for parts in array.parts:
        begun = time.perf_counter()
        half = parts[0].half.after(results)
        calls = [filled(laid_out(array.engine, replace(part, half=half), array.edges)) for part in parts]
        yield time.perf_counter() - begun
        found = np.zeros((half.rows.count, half.columns), np.int64)
        for part, call in zip(parts, calls, strict=True):
            found[part.chunk.here, part.columns[part.lanes]] = reference.run(call)[:, part.lanes]
        results.append(found)


def in_rtl(array: CalledArray, kind: str, units: int) -> dict[str, int]:
    """The molecule in the RTL, call by call: mismatches and cycles."""
    folder = BUILD / f"{kind}-{units}"
    write_calls(array, folder)
    found = run_calls(folder)
    return {"rtl_cycles": found["cycles"], "rtl_mismatches": found["mismatches"]}


def starts(called: Callable[[np.ndarray], CalledArray], one: CalledArray, data: Collection) -> dict[str, Any]:
    """Molecules in starts as large as the memories hold: as many as take no more calls than one, in powers of two."""
    least = sum(map(len, one.parts))
    each = 1
    while each < 256 and sum(map(len, called(np.arange(2 * each)).parts)) <= least:
        each *= 2
    rates = []
    for first in range(0, MOLECULES, each):
        rows = np.arange(first, min(first + each, MOLECULES))
        cycles = sum(total_cycles(call) for call in called(rows).laid_out())
        rates.append((len(rows), cycles))
    whole = [count * CLOCK_MHZ * 1e6 / cycles for count, cycles in rates if count == each]
    return {"each": each, "starts": len(rates), "worst_rate": min(whole),
            "mean_rate": MOLECULES * CLOCK_MHZ * 1e6 / sum(cycles for _, cycles in rates)}  # fmt: skip


EPOCHS = {"esol": 100, "tox21": 30, "hiv": 20}
"""Epochs of each data set."""
PUBLISHED = {
    ("esol", "GCN"): "1.114 ± 0.036", ("esol", "GIN"): "1.173 ± 0.057",
    ("tox21", "GCN"): "0.7529 ± 0.0069", ("tox21", "GIN"): "0.7491 ± 0.0051",
    ("hiv", "GCN"): "0.7606 ± 0.0097", ("hiv", "GIN"): "0.7558 ± 0.0140",
}  # fmt: skip
"""Open Graph Benchmark (Hu et al., 2020), appendix: GCN and GIN of five layers of 300 features without virtual nodes,
divided by scaffolds, too; they know the kinds of bonds."""


def jobs(parts: list[str]) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """The measurements of these parts, by name."""
    if "molecules" in parts:
        for kind in ("GCN", "GIN"):
            for units in ARRAYS:
                yield f"molecule {kind} {units}", partial(molecules, kind, units)
    if "whole" in parts:
        for kind in ("GCN", "GIN", "SAGE"):
            for multipliers in WHOLE:
                yield f"whole {kind} {multipliers}", partial(whole, kind, multipliers)
    if "nodes" in parts:
        for seed in range(SEEDS):
            for graph in ("cora", "citeseer"):
                for kind in ("GCN", "GAT", "SAGE", "GIN"):
                    yield f"nodes {graph} {kind} {seed}", partial(nodes, graph, kind, seed)
    if "graphs" in parts:
        for name, epochs in EPOCHS.items():
            for seed in range(SEEDS):
                for kind in ("GCN", "GIN"):
                    yield f"graphs {name} {kind} {seed}", partial(graphs, name, kind, seed, epochs)


def page(results: dict[str, Any]) -> str:
    """The page of both records."""
    results = read_record(ACCURACY) | results
    named = {part: [one for key, one in results.items() if key.startswith(part)] for part in
             ("molecule ", "whole ", "nodes ", "graphs ")}  # fmt: skip
    return render(f"{NAME}.md", molecules=named["molecule "], whole=named["whole "],
                  together=TOGETHER, nodes=grouped(named["nodes "], "graph"),
                  graphs=grouped(named["graphs "], "data"), published=PUBLISHED, clock=CLOCK_MHZ, timed=TIMED,
                  count=MOLECULES, missing=missing(results), note=results.get("note"),
                  nodes_note=results.get("nodes_note"), graphs_note=results.get("graphs_note"))  # fmt: skip


def missing(results: dict[str, Any]) -> dict[str, int]:
    """How many results are missing, by what they are of."""
    found: dict[str, int] = {}
    for key, _ in jobs(list(PARTS)):
        if key not in results:
            name = " ".join(key.split()[:-1])
            found[name] = found.get(name, 0) + 1
    return found


def grouped(rows: list[dict[str, Any]], by: str) -> list[dict[str, Any]]:
    """Rows of several seeds as one: the mean of every figure, its deviation, and the largest loss of a seed."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in rows:
        found.setdefault((one[by], one["model"]), []).append(one)
    made = []
    for several in found.values():
        figures = [name for name in several[0] if name == "float" or name.startswith("bits_")]
        row = {**several[0], "seeds": len(several)}
        for name in figures:
            values = [one[name] for one in several]
            row |= {name: statistics.fmean(values), f"{name}_std": statistics.stdev(values) if len(values) > 1 else 0.0}
            row[f"{name}_lost"] = max(one["float"] - one[name] for one in several)
        made.append(row)
    return made


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default=",".join(PARTS), help="of molecules, whole, nodes and graphs; default: all")
    parser.add_argument("--only", default="", help="names of results that contain this; default: all")
    options = parser.parse_args()
    torch.set_num_threads(1)
    arrays, models = Record(NAME, version()), Record(ACCURACY, digest(IMPORTING))
    for key, measure in jobs(options.parts.split(",")):
        if options.only in key:
            (arrays if key.startswith(("molecule ", "whole ")) else models).fill(key, measure)
            write_page(f"{NAME}.md", page(read_record(NAME)))


if __name__ == "__main__":
    main()
