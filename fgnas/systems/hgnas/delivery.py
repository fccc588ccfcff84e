"""A network of operations with its weights, on the array that is asked for: integers, programme, project."""

from __future__ import annotations

import functools
import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fgnas.backends.points import PointProject
from fgnas.costs import plain, violations
from fgnas.errors import UserError
from fgnas.files import read_text, replace_file, torch_bytes
from fgnas.fixedpoint import Codes
from fgnas.hardware.array.points.encoded import EncodedPoints, PointSource, lowered
from fgnas.hardware.integer.network import IntegerNetwork
from fgnas.hardware.specification import Specification
from fgnas.networks.points import training
from fgnas.networks.points.model import PointModel
from fgnas.networks.points.operations import PointNetwork
from fgnas.networks.scaled import logits
from fgnas.progress import step
from fgnas.systems.hgnas.arrays import ArraySize, ArrayTarget
from fgnas.systems.hgnas.composition import cloud_of
from fgnas.systems.hgnas.edges import lowering
from fgnas.systems.hgnas.finetuning import quantised
from fgnas.systems.hgnas.integers import accuracy
from fgnas.systems.hgnas.space import point_space
from fgnas.tasks.points import EMBEDDED, GraphSet, load_graphs

SPLITS = ("val", "test")
Accuracies = dict[str, dict[str, float]]
Weights = Mapping[str, Tensor]


@dataclass(frozen=True, eq=False)
class Delivered:
    """A network, with its weights if it has any, the data they were trained on, and the array of its search.

    Attributes:
        weights: of its `PointModel`; None: it is trained when it is lowered.
        dataset, fingerprint: name and fingerprint of the clouds; the second is None before a training.
        label: a short name, for folders.
        size: the array.
        specification: limits, clock and part.
    """

    network: PointNetwork
    weights: Weights | None = None
    dataset: str = EMBEDDED
    fingerprint: str | None = None
    label: str = "network"
    size: ArraySize = ArraySize()
    specification: Specification = Specification()

    def data(self, given: GraphSet | None = None) -> GraphSet:
        """The given clouds, or those that it was trained on. Raises UserError where the two differ."""
        found = given or load_graphs(self.dataset)
        if self.fingerprint is not None and found.fingerprint != self.fingerprint:
            raise UserError(f"{found.name} is not the data that {self.label} was trained on, which was {self.dataset} "
                            "(fingerprint differs)")  # fmt: skip
        return found

    def trained(self, given: GraphSet | None = None, seed: int = 0) -> Delivered:
        """With weights: its own, or those of a training in one thread."""
        if self.weights is not None:
            return self
        data = self.data(given)
        torch.set_num_threads(1)
        with step("train the weights"):
            model = training.train(self.network, data, training.recipe_of(data), seed)
        return replace(self, weights=model.state_dict(), dataset=data.name, fingerprint=data.fingerprint)

    def model(self, data: GraphSet) -> PointModel:
        """The float network. Raises UserError for weights of another one."""
        assert self.weights is not None, "a network without weights is trained first"
        model = PointModel(self.network, data.width_in, data.classes).eval()
        try:
            model.load_state_dict(dict(self.weights))
        except RuntimeError:
            raise UserError(f"the weights of {self.label} are not of its network: train it again") from None
        return model


@dataclass(frozen=True, eq=False)
class OnArray:
    """A network with its weights on an array: its results, and its project.

    Attributes:
        delivered: the network.
        data: its clouds.
        integers: the integer network that the array computes.
        encoded: the regions that the host sends, without a cloud.
    """

    delivered: Delivered
    data: GraphSet
    integers: IntegerNetwork
    encoded: EncodedPoints

    def codes(self, clouds: NDArray[np.float32]) -> Codes:
        """[B, N, F] the codes of clouds, as the array receives them."""
        return self.integers.number.quantise(clouds)

    def logits(self, clouds: NDArray[np.float32]) -> Codes:
        """[B, classes] the codes that the array gives for clouds [B, N, F], bit for bit."""
        return logits(self.integers, clouds)

    @functools.cached_property
    def accuracies(self) -> Accuracies:
        """Accuracies of the float network and of the integers, on the validation and the test split."""
        torch.set_num_threads(1)
        model = self.delivered.model(self.data)
        with step("count the accuracies"):
            exact = {split: training.accuracy(model, self.data, split) for split in SPLITS}
            return {"float": exact, "quantised": {one: accuracy(self.integers, self.data, one)
                                                  for one in SPLITS}}  # fmt: skip

    def project(self) -> PointProject:
        """The content of its project; the vectors contain the first validation cloud."""
        clouds, _ = self.data.clouds("val")
        weights = torch_bytes(dict(self.delivered.weights or {}))
        encoded = self.encoded.with_cloud(self.codes(clouds[0]))
        return PointProject(encoded, self.delivered.network.to_dict(), self.accuracies, weights,
                            clouds[:1], self.integers.number)  # fmt: skip


def on_array(delivered: Delivered, data: GraphSet | None = None, size: ArraySize | None = None) -> OnArray:
    """A network on the smallest array of a size that runs it; one without weights is trained first.

    Raises UserError where it does not fit.
    """
    size = size or delivered.size
    ready = delivered.trained(data)
    found = ready.data(data)
    torch.set_num_threads(1)
    with step("choose the formats"):
        numbers = quantised(ready.model(found), found, size.bits)
    assert found.points is not None, "the front end refuses clouds of unequal N"
    source = PointSource(numbers, found.points, ready.network.hash, found.label)
    return OnArray(replace(ready, size=size), found, numbers, lowered(source, size.units, size.beat_bits))


def opened(entry: dict[str, Any], folder: Path, label: str = "network") -> Delivered:
    """The network of an entry in leaders.json, whose weights are in a file of the folder, or of any network's record.

    Raises UserError for damaged weights.
    """
    network = PointNetwork.from_dict(entry.get("design", entry))
    weights = None if "weights" not in entry else _weights(folder / entry["weights"], entry["sha256"])
    return Delivered(
        network, weights, entry.get("dataset", EMBEDDED), entry.get("fingerprint"), label,
        ArraySize(**entry.get("array", {})),
        Specification.of(entry.get("specification", {}), folder / "leaders.json"),
    )  # fmt: skip


def _weights(path: Path, sha256: str) -> Weights:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read the weights {path}: {error.strerror}") from None
    if hashlib.sha256(content).hexdigest() != sha256:
        raise UserError(f"{path} are not the weights of this network: the file is damaged")
    found: Weights = torch.load(io.BytesIO(content), weights_only=True)
    return found


def priced(delivered: Delivered, size: ArraySize, specification: Specification) -> dict[str, Any]:
    """The costs of a network on the smallest array of a size, and the limits that they exceed. Weights do not matter.

    Raises UserError where no array of the size holds it.
    """
    data = load_graphs(delivered.dataset)
    space = point_space(cloud_of(data), delivered.network.tail)
    lower = lowering(data, space.cloud, size)
    lower(delivered.network)  # which says why none does
    target = ArrayTarget(space, size, lower, specification.clock_mhz, specification.family)
    costs = target.of([delivered.network])
    found = plain({name: costs[name] for name in costs if name != target.held.cost}, 0)
    return {
        "network": delivered.network.hash, "device": "array", **vars(size), **found,
        "latency_ms": found["latency_cycles"] / specification.clock_mhz / 1000,
        "violations": violations(costs, specification.bounds(), 0),
    }  # fmt: skip


def read(path: Path) -> Delivered:
    """A network from a file: a record of operations, or a run's best.json. Raises UserError where it holds none."""
    try:
        content = json.loads(read_text(path, "network"))
        return opened(content, path.parent, path.stem)
    except (AttributeError, TypeError, ValueError, UserError) as error:
        raise UserError(f"{path} holds no network of operations ({error}): give the best.json of a run of --system "
                        "hgnas, or a baseline's name") from None  # fmt: skip


def saved(delivered: Delivered, path: Path) -> None:
    """Write a network's record, and its weights beside it."""
    content = delivered.network.to_dict() | {"array": vars(delivered.size)}
    if delivered.weights is not None:
        weights, values = path.with_suffix(".pt"), torch_bytes(dict(delivered.weights))
        replace_file(weights, values)
        content |= {"weights": weights.name, "sha256": hashlib.sha256(values).hexdigest(),
                    "dataset": delivered.dataset, "fingerprint": delivered.fingerprint}  # fmt: skip
    replace_file(path, json.dumps(content, indent=2, sort_keys=True) + "\n")
