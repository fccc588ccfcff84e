"""Designs and accelerators from Python: price, train, lower, write."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas import design as choices
from fgnas.api.data import Data, data_of, sized_of
from fgnas.api.pricing import specification
from fgnas.api.projects import Checked, Project
from fgnas.backends import project as projects
from fgnas.backends.project import DEFAULT_COMPILER, Request
from fgnas.designs import tables_of
from fgnas.errors import UserError
from fgnas.files import replace_file
from fgnas.fixedpoint import Codes
from fgnas.hardware import wire
from fgnas.hardware.array.engine import LANES, LARGEST_UNITS, multipliers_within
from fgnas.hardware.integer.interpreter import predict
from fgnas.hardware.kind import Fitted, Wanted
from fgnas.hardware.kinds import PIPELINE, find_kind, kind_of
from fgnas.hardware.specification import Specification
from fgnas.network import Network
from fgnas.plain import plain_design
from fgnas.progress import step
from fgnas.systems.fgnas.options import Options
from fgnas.systems.fgnas.space import find_space
from fgnas.tasks.degrees import Degrees
from fgnas.tasks.nodes import GraphData
from fgnas.tasks.pooled import PooledData, start_of


@dataclass(frozen=True, eq=False)
class Design:
    """A design, with its weights where it has any.

    Attributes:
        choices: the choices of every layer (docs/design.md).
        network: trained weights and their scales; None if `lower` has to train them.
        dataset, fingerprint: name and fingerprint of the data that the weights were trained on.
        label: a short name, for folders.
        specification: the limits of its search; None for a design that no search found.
    """

    choices: choices.Design
    network: Network | None = None
    dataset: str | None = None
    fingerprint: str | None = None
    label: str = "design"
    specification: Specification | None = None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Design:
        """Read a design file, with its weights if it names any, as `best.json` does."""
        path = Path(path)
        own = choices.Design.load(path)
        content = json.loads(path.read_text(encoding="utf-8"))
        kept = Specification.of(content["specification"], path) if "specification" in content else None
        if not isinstance(content.get("weights"), str):
            return cls(own, label=path.stem, specification=kept)
        network = Network.load(path.parent / content["weights"], content.get("sha256"))
        return cls(own, network, content.get("dataset"), content.get("fingerprint"), path.stem, kept)

    @classmethod
    def of(cls, content: dict[str, Any]) -> Design:
        """A design from JSON values."""
        return cls(choices.Design.from_dict(content))

    @classmethod
    def plain(
        cls, name: str, *hidden: int, heads: int = 1, activation: str = "relu", bits: int = 8, dsp: int = 100
    ) -> Design:  # fmt: skip
        """A network by its name and the features of each head of its hidden layers, such as ("gcn", 16); see
        `fgnas.plain`. A network that the pipeline has no units for gets the array of that DSP budget."""
        found = plain_design(name, hidden, heads, activation, bits, dsp)
        if not all(layer.pipelined for layer in found.layers):
            units = max(1, min(LARGEST_UNITS, multipliers_within(dsp) // LANES))
            array = {"units": units, "columns": [1] * len(hidden), "beat_bits": wire.BEAT_BITS}
            found = choices.Design.from_dict({**found.to_dict(), "array": array}, name)
        return cls(found, label="-".join([name, *map(str, hidden)]))

    @property
    def hash(self) -> str:
        """Twelve hexadecimal digits that name the choices."""
        return self.choices.hash

    def to_dict(self) -> dict[str, Any]:
        """The choices as plain JSON values."""
        return self.choices.to_dict()

    def data(self, data: Data | None = None) -> GraphData:
        """The given data, or else the training data of the weights. Raises UserError if the two differ."""
        found = data_of(data or self.dataset or Options.dataset)
        if self.fingerprint is not None and found.fingerprint != self.fingerprint:
            raise UserError(
                f"{found.name} is not the data that {self.label} was made on, which was {self.dataset} "
                "(fingerprint differs)"
            )
        return found

    def price(self, data: Data | Degrees, **specification: Any) -> dict[str, Any]:
        """Predicted cycles, LUT, FF, DSP and block RAM, and the limits of a specification that they break.

        A pipeline's price needs no more of a graph than its `Degrees`.
        """
        return prices([self], data, **specification)[0]

    def train(self, data: Data | None = None, seed: int = 0, repetition: int = 0) -> Design:
        """Return the design with weights, trained on the data and calibrated. Sets torch to one thread."""
        from fgnas.networks.calibration import calibrated
        from fgnas.networks.training import child_seed, input_seed, of_repetition, recipe_of, train

        found, architecture = data_of(data or Options.dataset), self.choices.architecture()
        one_thread()
        with step("train the weights"):
            seeds = child_seed(seed, architecture, repetition), input_seed(seed, repetition)
            recipe = of_repetition(recipe_of(found), repetition)
            trained = train(found, architecture, seeds[0], recipe, seeds[1])
            network = calibrated(self.choices, trained.network, found)
        return replace(self, network=network, dataset=found.name, fingerprint=found.fingerprint)

    def accuracy(self, data: Data | None = None) -> dict[str, dict[str, float]]:
        """Accuracy of the weights, "float" and "quantised", each on "val" and "test"; of graphs with other targets
        their quality, see `fgnas.networks.answers`."""
        from fgnas.networks.quantised import quantised_accuracy
        from fgnas.networks.training import float_accuracy

        found = self.data(data)
        if self.network is None:
            raise UserError(f"{self.label} has no weights yet: train it first")
        exact = float_accuracy(self.choices.architecture(), self.network, found)
        return {"float": exact, "quantised": quantised_accuracy(self.choices, self.network, found)}

    def evaluate(self, data: Data | None = None, seeds: int = 5) -> dict[str, Any]:
        """Mean and standard deviation of the accuracies over `seeds` trainings from scratch."""
        found = data_of(data or Options.dataset)
        seen: dict[tuple[str, str], list[float]] = {}
        begun, expected_s = time.monotonic(), None
        for repetition in range(1, seeds + 1):
            with step(f"seed {repetition} of {seeds}", expected_s):
                accuracies = self.train(found, repetition=repetition).accuracy(found)
            expected_s = (time.monotonic() - begun) / repetition * (seeds - repetition)
            for kind, splits in accuracies.items():
                for split, value in splits.items():
                    seen.setdefault((kind, split), []).append(value)
        result: dict[str, Any] = {"dataset": found.name, "design_hash": self.hash, "seeds": seeds}
        for (kind, split), values in seen.items():
            deviation = statistics.stdev(values) if len(values) > 1 else 0.0
            result.setdefault(kind, {})[split] = {"mean": statistics.fmean(values), "std": deviation}
        return result

    def lower(self, data: Data | None = None, target: str | None = None) -> Accelerator:
        """The accelerator for the data's graph, or for the graphs of one start; a design without weights is trained
        first.

        `target` is "pipeline" or "array", by default what the design was made for.
        """
        found = self.data(data)
        trained = self if self.network is not None else self.train(found)
        assert trained.network is not None
        kind = find_kind(target) if target else kind_of(self.choices)
        wanted = Wanted(self.specification or Specification())
        run = start_of(found)
        return Accelerator(trained, kind.fit(self.choices, trained.network, run, wanted), run)

    def save(self, path: str | os.PathLike[str], **extra: Any) -> Path:
        """Write the design file, and its weights beside it; `extra` goes into the file."""
        path = Path(path)
        content = {**extra, "design": self.to_dict(), "design_hash": self.hash}
        if self.specification is not None:
            content |= {"specification": self.specification.to_dict()}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if self.network is not None:
                weights = path.with_suffix(".npz")
                content |= {"weights": weights.name, "sha256": self.network.save(weights)}
                content |= {"dataset": self.dataset, "fingerprint": self.fingerprint}
            replace_file(path, json.dumps(content, indent=2, sort_keys=True) + "\n")
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}") from None
        return path


def offered(found: Any, label: str) -> Design:
    """A delivered design under a name: see `fgnas.engine.contracts.BackEnd.offered`."""
    return Design(found.design, found.network, found.dataset, found.fingerprint, label, found.specification)


def one_thread() -> None:
    """Run torch in one thread: the number of threads that sum a product decides its last bits."""
    import torch

    torch.set_num_threads(1)


def prices(designs: Sequence[Design], data: Data | Degrees, **limits: Any) -> list[dict[str, Any]]:
    """The price of each design, in order; `limits` as `specification` takes them.

    Designs of one target with the same number of layers are priced together.
    """
    given, found = specification(**limits), sized_of(data)
    rows: list[dict[str, Any]] = [{}] * len(designs)
    for table in tables_of([design.choices for design in designs]):
        priced = kind_of(table).pricer(found, given)(table).rows(given)
        for place, row in zip(table.places.tolist(), priced, strict=True):
            rows[place] = row
    return rows


def read_designs(path: str | os.PathLike[str]) -> list[Design]:
    """The designs in a .jsonl file, one per line."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read the designs {path}: {error}") from None
    found = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    return [Design(choices.Design.from_json(line, f"{path}:{number}")) for number, line in found]


def sample(count: int = 1, seed: int = 0, space: str = "fgnas", dsp: int = 100) -> Iterator[Design]:
    """Random designs of a space, uniform per choice."""
    found = find_space(space)
    for row in found.draw(count, np.random.default_rng(seed)):
        yield Design(found.design(row, dsp))


@dataclass(frozen=True, eq=False)
class Accelerator(Checked):
    """A design lowered for a graph: exact predictions, and the project that computes the same in hardware.

    Attributes:
        design: the design with its weights.
        hardware: the design on its hardware; `hardware.summary()` returns every width, table and address as JSON
            values.
        data: the graph it was lowered for.
    """

    design: Design
    hardware: Fitted
    data: GraphData

    def logits(self, data: Data | None = None) -> Codes:
        """[N, classes] logit codes for any graph that fits, equal to the hardware's; one step is `logit_step`."""
        return self.hardware.logits(self._graph(data))

    def regions(self, data: Data | None = None) -> dict[str, Any]:
        """The arguments of `Kernel.run` of the board's driver for a graph that fits."""
        return self.hardware.regions(self._graph(data))

    def _graph(self, data: Data | None) -> GraphData:
        return self.data if data is None else start_of(data_of(data))

    @property
    def logit_step(self) -> float:
        """The value of one step of a logit code."""
        return self.hardware.logit_step

    def predict(self, data: Data | None = None) -> NDArray[Any]:
        """[N] predicted classes, equal to the hardware's; among equal logits the lowest class wins. Of many graphs what
        is predicted of each: see `PooledData.predicted`."""
        found = self._graph(data)
        logits = self.hardware.logits(found)
        return found.predicted(logits * self.logit_step) if isinstance(found, PooledData) else predict(logits)

    def price(self, **specification: Any) -> dict[str, Any]:
        """Price the design as `Design.price` does, on the accelerator's own data."""
        return self.design.price(self.data, **specification)

    def write(
        self,
        directory: str | os.PathLike[str],
        fpga: str | None = None,
        clock_mhz: float | None = None,
        compiler: str = DEFAULT_COMPILER,
        target: str | None = None,
        multipliers: int | None = None,
        beat_bits: int | None = None,
        bram36: int | None = None,
        repurposing: bool = True,
        flexible: bool = False,
        paired: bool = False,
    ) -> Project:
        """Write the project, whole or not at all: C++, RTL, test vectors, driver, reports.

        `target` is "pipeline" or "array", by default what the design was made for. On a multiplier array
        (docs/array.md) the network runs on the design's own one, or, where `multipliers`, `bram36` or another
        `beat_bits` is given or it has none, on the fastest one for this graph with up to `multipliers`, by default the
        design's DSP budget, behind a memory port of `beat_bits` (128, 256 or 512; default 128), that takes `bram36`
        block RAMs at most, by default as many as the specification allows. With `paired` it has twice the multipliers
        of the budget, or half the DSPs for `multipliers`, where numbers have 8 bits at most and no node has scores.
        Without `repurposing` H and Z go to main memory: the network is several calls of the fastest array for them.

        By default it uses the device, limits and clock of the design's search; a device, by name or file, and a clock
        given here replace them. `compiler` is the HLS compiler whose pragmas the C++ has: vitis or bambu.
        """
        from fgnas.hardware.devices import specified

        wanted = specified(self.design.specification or Specification(), fpga, clock_mhz)
        if bram36 is not None and target != PIPELINE.name:
            wanted = replace(wanted, bram36=bram36)
        with step("write the project"):
            asked = Wanted(wanted, multipliers, beat_bits, bram36, repurposing, flexible, paired)
            projects.write(self._fitted(target, asked), self.data, Path(directory), Request(wanted, compiler))
        return Project(Path(directory))

    def _fitted(self, target: str | None, wanted: Wanted) -> Fitted:
        """The design on its hardware, or on other hardware where that is asked for."""
        kind = find_kind(target) if target else self.hardware.kind
        if kind.name == self.hardware.kind.name and wanted == Wanted(self.design.specification or Specification()):
            return self.hardware
        assert self.design.network is not None
        return kind.fit(self.design.choices, self.design.network, self.data, wanted)
