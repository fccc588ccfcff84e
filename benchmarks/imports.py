"""Models of PyG on the array: 24 of them on Cora and on molecules of ESOL, with random weights, on one build a graph.

Each layer that is imported occurs in a model of two layers, and there are models with skips, concatenations, pools,
norms, and one to six layers. Float results are compared with the model's own, the array's machine with the interpreter
of the integer network, and C++ and RTL, call by call, with the machine. Chains run whole, each on an array of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from array_random import QUICKER, version
from common import Record
from pages import render, write_page

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from pyg_models import ATTRIBUTES, OF_EDGES, models, seen, settled

from fgnas.backends.array import write_imported
from fgnas.errors import UserError
from fgnas.hardware.array.calls import CalledArray, calls_engine
from fgnas.hardware.array.chains import ChainArray
from fgnas.hardware.array.choosing import Room, deliverable_operations
from fgnas.hardware.array.engine import LANES, MOST_SHIFTS, Engine
from fgnas.hardware.array.layers import Described
from fgnas.hardware.array.operations import OperationNetwork, halves_of_operations
from fgnas.hardware.array.parts import most_rows, parts_of
from fgnas.hardware.integer import interpreter
from fgnas.hardware.specification import Specification
from fgnas.networks.imported.chaining import chained
from fgnas.networks.imported.importing import given_of
from fgnas.networks.imported.inputs import Given
from fgnas.networks.imported.quantising import built, first_formats
from fgnas.networks.imported.tracing import reals_of, trace_module
from fgnas.tasks.sources import load
from fgnas.tools.calls import calls_of
from fgnas.tools.csim import run_bench
from fgnas.tools.simulate import BuiltFor, Vectors, run_simulation

NAME = "imports"
BUILD = Path(__file__).parent.parent / "build" / NAME
SEED, BITS, UNITS, TILES, OUTPUTS, MOLECULES = 61_204, 8, 8, 4, 8, 16
ON_MOLECULES = ("PNAConv", *OF_EDGES)
"""Models that do not run on Cora: its edges have no features, and PNA's messages would be several times as wide as
1,433 features, which takes 2e9 cycles of this array."""


def given_for(graph: str) -> Given:
    """Arguments for models: all of Cora as one graph, or the first test molecules of ESOL."""
    data = load(graph)
    data = data if data.graph is None else data.part(np.flatnonzero(data.test)[:MOLECULES])
    given = given_of(data)
    random = torch.Generator().manual_seed(SEED)
    edges = given.edge_index.shape[1]
    weight, features = torch.rand(edges, generator=random), torch.rand((edges, ATTRIBUTES), generator=random)
    batch = torch.zeros(len(given.x), dtype=torch.long) if given.batch is None else given.batch
    own = features if given.edge_features is None else given.edge_features
    return replace(given, edge_weight=weight, batch=batch, edge_features=own)


def network(graph: str, name: str, given: Given) -> tuple[CalledArray | ChainArray, dict[str, Any]]:
    """A model on the array, and what is known of it before it runs there."""
    torch.manual_seed(SEED)
    model = settled(models()[name](given.x.shape[1], OUTPUTS), SEED)
    traced = trace_module(model, given)
    one = seen(traced, given, chained)
    own = reals_of(traced.result)
    output = torch.from_numpy(one.output)
    found = (output.log_softmax(1) if traced.finals else output).numpy()
    quantised = built(one, first_formats(one, BITS), BITS)
    source = OperationNetwork(name, graph, Described("0" * 12, {}), quantised.integers, quantised.graphs,
                              given.edge_index.shape[1])  # fmt: skip
    array: CalledArray | ChainArray = deliverable_operations(source, Room(LANES * UNITS))
    if isinstance(array, CalledArray):  # as the builds that models share ask for
        halves = halves_of_operations(source)
        parts = parts_of(halves, TILES, most_rows(halves, UNITS))
        array = CalledArray(source, calls_engine(source, parts, UNITS, 128), parts, source.edges)
    error = np.abs(quantised.values() - one.output).max() / np.abs(one.output).max()
    return array, {"model": name, "graph": graph, "apart": float(np.abs(found - own).max() / np.abs(own).max()),
                   "quantised": float(error), "operations": len(one.nodes) - 1,
                   "expected": interpreter.run(source.integers, source.graphs)}  # fmt: skip


def together(engines: Sequence[Engine]) -> Engine:
    """The smallest engine that runs what each of these runs."""
    first = engines[0]
    largest = ("bits", "tiles", "table_words", "own_words", "bias_words", "activation_words", "sum_bits", "programme")
    found = {name: max(getattr(one, name) for one in engines) for name in largest}
    shifts = tuple(sorted({shift for one in engines for shift in one.shifts}))
    if len(shifts) > MOST_SHIFTS:
        raise UserError(f"one engine has {MOST_SHIFTS} shifts at most, and the models need {len(shifts)}")
    scored = [one.softmax for one in engines if one.softmax is not None]
    softmax = None
    if scored:
        finest = max(one.fraction_bits for one in scored)
        words = max(((one.words - 1) << (finest - one.fraction_bits)) + 1 for one in scored)
        softmax = replace(scored[0], fraction_bits=finest, words=words, sum_bits=max(one.sum_bits for one in scored))
    return replace(first, **found, shifts=shifts, softmax=softmax, maximum=any(one.maximum for one in engines))


def builds(engines: dict[str, Engine]) -> dict[str, tuple[int, Engine]]:
    """The build that runs each model, by its name: its number, and its engine; as few as one after the other allow."""
    groups: list[tuple[Engine, list[str]]] = []
    for name, one in engines.items():
        for place, (held, names) in enumerate(groups):
            with contextlib.suppress(UserError):
                groups[place] = (together([held, one]), [*names, name])
                break
        else:
            groups.append((one, [name]))
    return {name: (place, engine) for place, (engine, names) in enumerate(groups) for name in names}


def in_cpp(array: CalledArray | ChainArray, known: dict[str, Any], home: Path, folder: Path) -> dict[str, Any]:
    """Run all calls of a network in C++ on the build of the project `home`, and the machine beside the interpreter."""
    begun = time.monotonic()
    right = np.array_equal(array.logits(), known.pop("expected"))
    calls, work = written(array, home, folder), home / "build" / "csim"
    cpp = [run_bench(home, QUICKER, work, vectors=one / "vectors") for one in calls]
    return known | {
        "calls": len(calls), "interpreter": right, "numbers": sum(one["logits"] for one in cpp),
        "mismatches": sum(one["mismatches"] for one in cpp), "failed_checks": sum(one["failed_checks"] for one in cpp),
        "predicted": array.cycles, "seconds": round(time.monotonic() - begun),
    }  # fmt: skip


def in_rtl(array: CalledArray | ChainArray, home: Path, folder: Path) -> dict[str, Any]:
    """Run all calls of a network in RTL on the build of the project `home`."""
    begun = time.monotonic()
    calls = written(array, home, folder)
    built_for = BuiltFor.all_of([Vectors.read(one) for one in calls])
    built_for = replace(built_for, memory_beats=max(built_for.memory_beats, 1 << 20), cycles=10**7)
    each = [run_simulation(one, project=home, built_for=built_for) for one in calls]
    found = {f"rtl_{name}": sum(one[name] for one in each) for name in ("mismatches", "cycles", "protocol_errors")}
    return found | {"rtl_seconds": round(time.monotonic() - begun)}


def written(array: CalledArray | ChainArray, home: Path, folder: Path) -> list[Path]:
    """The folders of a network's calls, written again. The hardware is built from the first network of a build."""
    shutil.rmtree(folder, ignore_errors=True)
    write_imported(array, folder, Specification())
    if not home.exists():
        shutil.copytree(folder, home)
    return [Path(call["folder"]) for call in calls_of(folder)] or [folder]


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    shown = [one for one in record.values() if isinstance(one, dict) and "model" in one]
    sizes = {"bits": BITS, "units": UNITS, "molecules": MOLECULES, "seed": SEED,
             "every": len({one["model"] for one in shown})}  # fmt: skip
    return render(f"{NAME}.md", shown=shown, **sizes)


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", default="esol,cora", help="of esol and cora; default: %(default)s")
    parser.add_argument("--rtl", default="esol,cora", help="graphs whose models run in RTL, too; default: %(default)s")
    parser.add_argument("--models", help="names of some of the models, separated by semicolons; default: all")
    options = parser.parse_args()
    record = Record(NAME, f"{version()} {SEED}")
    if len(record.results) == 1:  # builds of other code
        shutil.rmtree(BUILD, ignore_errors=True)
    for graph in options.graphs.split(","):
        given = given_for(graph)
        arrays = {name: network(graph, name, given) for name in models()
                  if graph != "cora" or name not in ON_MOLECULES}  # fmt: skip
        built = builds({name: one.engine for name, (one, _) in arrays.items() if isinstance(one, CalledArray)})
        record.note(**{f"engines of {graph}": [
            {"multipliers": one.multipliers, "bits": one.bits, "shifts": len(one.shifts)}
            for _, one in sorted(dict(built.values()).items())
        ]})  # fmt: skip
        for name, (array, known) in arrays.items():
            if options.models is None or name in options.models.split(";"):
                if name in built:
                    known["build"], engine = built[name]
                    array = array.on(engine)
                measure(record, f"{graph} {name}", array, known, graph in options.rtl.split(","))
            write_page(f"{NAME}.md", page(record.results))


def measure(record: Record, key: str, array: CalledArray | ChainArray, known: dict[str, Any], rtl: bool) -> None:
    """Measure and record the missing results of a model: its run in C++ and, with `rtl`, in RTL."""
    graph, _, name = key.partition(" ")
    own = name.replace(" ", "-").replace(",", "")
    home, folder = BUILD / graph / f"home-{known.get('build', own)}", BUILD / graph / own
    found = record.fill(key, lambda: in_cpp(array, known, home, folder))
    if rtl and "rtl_cycles" not in found:
        print(f"{key} in RTL", flush=True)
        record.note(**{key: found | in_rtl(array, home, folder)})
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
