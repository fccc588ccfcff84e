"""Searches of G-CoS in this process: they share one supernet for each seed, and their processor time is counted."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
from common import Clocked, Here
from memory import SCORING, digest

from fgnas import searchers
from fgnas.design import Design
from fgnas.engine.contracts import Composition, Outcome, Trainer
from fgnas.engine.jobs import Workers
from fgnas.engine.run import Plan, configuration
from fgnas.engine.run import search as engine_search
from fgnas.engine.store import RunStore
from fgnas.engine.trial import Trial
from fgnas.errors import UserError
from fgnas.hardware.array.engine import LANES, LARGEST_UNITS
from fgnas.space import Rows
from fgnas.systems.gcos.composition import composed
from fgnas.systems.gcos.options import Options
from fgnas.systems.gcos.space import SPACES, ArraySpace
from fgnas.systems.gcos.trainer import SUPERNET

SYSTEM = "g-cos"
DATASETS = ("cora", "citeseer")
BUILD = Path(__file__).parent.parent / "build" / "gcos"
NETWORKS = (*SCORING, "networks/finetuning.py", "networks/supernet.py", "systems/gcos",
            "systems/fgnas/trainer.py", "space.py")  # fmt: skip
"""Code that trains and scores; of the array's model, the prices count."""
SEARCHES = (*NETWORKS, "engine", "costs.py", "pareto.py", "searchers/breeding", "searchers/learning",
            *(f"searchers/{name}.py" for name in ("evolution", "pool", "random", "reinforce")))  # fmt: skip
"""Code that also searches and chooses."""
WIDTHS = (8, 16, 64, 256)
"""The most features of the networks that are searched without an engine."""
PRICED = 1_000
"""Uniform designs of each graph; their prices identify the array's model in `version`."""


def networks_alone(width: int, units: int, beat_bits: int) -> ArraySpace:
    """Networks of 8 bits with up to so many features, on an array so large that all of them can be built."""
    space = SPACES["g-cos"](units, beat_bits)
    features = next(choice.options for choice in space.choices if choice.name == "d")
    columns = next(choice.options for choice in space.choices if choice.name == "columns")
    return space.restrict(
        units=(units,), beat_bits=(beat_bits,), columns=columns[-1:], bits=(8,),
        d=tuple(one for one in features if one <= width),
    )  # fmt: skip


for _width in WIDTHS:
    SPACES[f"networks-{_width}"] = functools.partial(networks_alone, _width)


def searched_alone(width: int) -> dict[str, Any]:
    """The options of a search for networks of up to so many features, by their accuracy alone."""
    return {"space": f"networks-{width}", "objectives": "val", "dsp": LANES * LARGEST_UNITS}


def version(code: Sequence[str]) -> str:
    """A digest of code, and of the prices of the array's model."""
    found = hashlib.sha256(digest(code).encode())
    for dataset in DATASETS:
        parts = composed(Options(dataset=dataset))
        prices = parts.target.price(parts.space.draw(PRICED, np.random.default_rng(0)))
        found.update(np.stack([prices[name] for name in sorted(prices)]).tobytes())
    return found.hexdigest()[:12]


class Compared(Clocked):
    """A clocked trainer that retrains equal networks once for all searches of a seed.

    Leaders are neither fine-tuned nor tested: what is compared is their retrained validation accuracy.
    """

    def __init__(self, trainer: Trainer, run: tuple[str, int]) -> None:
        super().__init__(trainer)
        self.run = run

    def retrain(self, candidates: Sequence[Any], repetition: int, workers: Workers) -> list[Outcome]:
        """Stop the clock, then retrain what no search before has."""
        keys = [(*self.run, repetition, one.score_key) for one in candidates]
        new = {key: one for key, one in zip(keys, candidates, strict=True) if key not in RETRAINED}
        RETRAINED.update(zip(new, super().retrain(list(new.values()), repetition, workers), strict=True))
        return [RETRAINED[key] for key in keys]

    def refine(self, jobs: Sequence[tuple[Any, int, Outcome]], workers: Workers) -> list[Outcome]:
        """The networks as they are."""
        return [replace(outcome, model=outcome.model.network) for _, _, outcome in jobs]

    def test(self, candidate: Any, outcome: Outcome) -> dict[str, dict[str, float]]:
        """Nothing: the test split is not read."""
        return {}


RETRAINED: dict[tuple[str, int, int, str], Outcome] = {}
"""Outcomes by graph, seed of the run, repetition and scored network: the same in every search."""


@dataclass(frozen=True)
class Found:
    """A finished search.

    Attributes:
        search_s: processor seconds of its evaluations.
        supernet_s: those of its supernet, 0 without one.
    """

    trials: list[Trial]
    leaders: list[dict[str, Any]]
    search_s: float
    supernet_s: float


def found_by(**given: Any) -> Found:
    """A search with these options; one supernet of the whole space scores the networks of every space."""
    options = Options(**given)
    parts = composed(options)
    shared = options.scoring == "supernet"
    trainer = Compared(
        composed(replace(options, space=Options.space)).trainer if shared else parts.trainer,
        (options.dataset, options.seed),
    )
    parts = replace(parts, trainer=cast(Trainer, trainer))
    with TemporaryDirectory() as folder:
        store = RunStore.create(Path(folder), "run", configuration(SYSTEM, asdict(options), parts))
        spent = 0.0
        if shared:
            weights, spent = supernet_of(options.dataset, options.seed)
            shutil.copy(weights, store.folder / SUPERNET)
        engine_search(parts, Plan.of(options), searchers.find(options.method), lambda: store, Here)
        return Found(store.trials(), store.leaders(), trainer.seconds, spent)


def supernet_of(dataset: str, seed: int) -> tuple[Path, float]:
    """The trained supernet of a graph and a seed, made once; and the processor seconds that it took."""
    options = Options(dataset=dataset, seed=seed)
    folder = BUILD / f"supernet-{dataset}-{seed}-{digest(NETWORKS)}"
    note = folder / "seconds.json"
    if not note.is_file():
        shutil.rmtree(folder, ignore_errors=True)
        parts = composed(options)
        store = RunStore.create(BUILD, folder.name, configuration(SYSTEM, asdict(options), parts))
        begun = time.process_time()
        with Workers(Here) as workers:
            parts.trainer.prepare(store, workers)
        note.write_text(json.dumps(time.process_time() - begun), encoding="utf-8")
    return folder / SUPERNET, float(json.loads(note.read_text(encoding="utf-8")))


def scored(dataset: str, designs: Sequence[Design], seed: int = 0) -> list[float]:
    """The validation accuracy of designs with the supernet of a seed."""
    options = Options(dataset=dataset, seed=seed)
    trainer = composed(options).trainer
    weights, _ = supernet_of(dataset, seed)
    with Workers(Here) as workers:
        trainer.prepare(RunStore(weights.parent), workers)
        return [score.values["val"] for score in trainer.score(designs, workers)]


def delivered(trainer: Trainer, design: Any, seeds: int) -> dict[str, list[float]]:
    """Accuracies of a design's integers by seed: trained afresh with each, and fine-tuned. The test split is read."""
    with Workers(Here) as workers:
        outcomes = [trainer.retrain([design], seed, workers)[0] for seed in range(1, seeds + 1)]
        refined = trainer.refine([(design, seed, one) for seed, one in enumerate(outcomes, 1)], workers)
    tested = [trainer.test(design, one)["quantised"] for one in refined]
    return {split: [one[split] for one in tested] for split in ("val", "test")}


def fastest(dataset: str, design: Design, **given: Any) -> tuple[Design, dict[str, float]]:
    """A network with its formats on the engine with the fewest cycles, and its costs; every engine is priced.

    `given` are options, such as the limit of DSPs; an engine within 100 of them by default. Raises UserError where no
    engine runs the network.
    """
    parts = composed(Options(dataset=dataset, **given))
    rows = on_every_engine(parts, design)
    costs = parts.target.price(rows)
    cycles = np.where(parts.feasible(rows), costs["latency_cycles"], np.inf)
    best = int(cycles.argmin())
    if np.isinf(cycles[best]):
        raise UserError(f"no engine within the limits runs the network {design.hash}")
    return parts.space.candidate(rows[best]), {name: float(values[best]) for name, values in costs.items()}


def on_every_engine(parts: Composition, design: Design) -> Rows:
    """[engines, decisions] the rows of a network with its formats and every engine of a space."""
    indices: list[Sequence[int]] = []
    for decision in parts.space.decisions:
        layer = design.layers[decision.position or 0]
        if decision.kind == "hardware":
            indices.append(range(len(decision.options)))
        elif decision.kind == "precision":
            indices.append((decision.options.index(layer.ai + layer.af + 1),))
        else:
            indices.append((decision.options.index(getattr(layer, decision.choice)),))
    return np.unique(parts.space.repaired(np.array(list(itertools.product(*indices)), np.int16)), axis=0)
