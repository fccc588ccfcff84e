"""The work of a worker: train networks, and score them in the integers of the array. It never uses the test nodes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from fgnas.activations import PLAIN
from fgnas.design import Design
from fgnas.errors import UserError
from fgnas.hardware.array import reference
from fgnas.hardware.array.designs import array_of
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.pipeline.geometry import GraphShape
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.pipeline.reference import predict
from fgnas.network import Network
from fgnas.networks import supernet
from fgnas.networks.calibration import calibrate, observe
from fgnas.networks.finetuning import fine_tuned
from fgnas.systems.fgnas import jobs
from fgnas.systems.fgnas.jobs import Job, Result
from fgnas.tasks.nodes import GraphData, load
from fgnas.tasks.sampling import layer_graphs


def run_bundle(bundle: Sequence[Job]) -> list[Result]:
    """The results of jobs, in order; their networks are trained at once."""
    trained = jobs.run_bundle([replace(job, designs=(), tune=False) for job in bundle])
    data = load(bundle[0].dataset)
    return [_scored(job, result, data) for job, result in zip(bundle, trained, strict=True)]


def _scored(job: Job, result: Result, data: GraphData) -> Result:
    observation = observe(job.architecture, result.trained.network, data)
    val, tuned = [], []
    for design in job.designs:
        network = tied(design, calibrate(design, result.trained.network, observation))
        if job.tune:
            network = fine_tuned(design, network, data, job.seed, job.recipe)
            tuned.append(network)
        val.append(array_accuracy(design, network, data, ("val",))["val"])
    return Result(result.trained, val, tuned)


@dataclass(frozen=True)
class Scoring:
    """Designs to score with a supernet's file, whose digest makes it a value."""

    dataset: str
    fingerprint: str
    weights: str
    sha256: str
    bounds: supernet.Bounds
    designs: tuple[Design, ...]


def run_scoring(job: Scoring) -> list[dict[str, float]]:
    """The validation accuracies of each design: a pure function of the job, in one thread."""
    torch.set_num_threads(1)
    data = load(job.dataset)
    if data.fingerprint != job.fingerprint:
        raise UserError(f"a worker read another {job.dataset} than the search; give all the same FGNAS_DATA_ROOT")
    shared = _loaded(job.weights, job.bounds, job.sha256)
    return [supernet.accuracies(shared, design, data) for design in job.designs]


@functools.lru_cache(maxsize=1)
def _loaded(weights: str, bounds: supernet.Bounds, sha256: str) -> supernet.Supernet:
    return supernet.load(Path(weights), bounds, sha256)


def tied(design: Design, network: Network) -> Network:
    """The network with results at the scale of their arguments, where an activation then needs no table."""
    layers = [
        replace(parameters, output_scale=(parameters.mlp or parameters).value_scale)
        if layer.activation in PLAIN else parameters
        for layer, parameters in zip(design.layers, network.layers, strict=True)
    ]  # fmt: skip
    return Network(tuple(layers), network.input_scale)


def array_accuracy(
    design: Design, network: Network, data: GraphData, splits: Sequence[str] = ("val", "test")
) -> dict[str, float]:
    """Accuracy, 0 to 1, of the logits that a design's own array computes, on each of the named splits."""
    source = lower(design, network, GraphShape.of(data), data.name)
    first, *further = layer_graphs(data, design.rates)
    predicted = predict(reference.run(encode_array(array_of(source, first, further), first, further)))
    masks = {split: getattr(data, split) for split in splits}
    return {split: float((predicted[mask] == data.labels[mask]).mean()) for split, mask in masks.items()}
