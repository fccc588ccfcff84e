"""Post-training calibration: a power-of-two scale for each tensor, so that few bits cover the values that occur.

A scale is a shift in the accelerator and costs nothing. Calibration uses only float values and no labels, so its result
is a pure function of design, network and graph.

The initial scale of each tensor minimises its own rounding error. Then the scales are changed one at a time, as long as
the logits of the whole network come closer to those of the float network, because errors of equal size in two tensors
may have very different effects on the logits.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fgnas.activations import PLAIN
from fgnas.design import DOT, PAIRS, TABLE_BITS, VECTORS, Design, Layer
from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.kinds import kind_of
from fgnas.network import ATTENTION_VECTORS, LayerParameters, Network
from fgnas.networks.answers import Answers, answers_of
from fgnas.networks.model import Architecture, Child, Field, Step, kept_unless_large, rates_of
from fgnas.networks.rounding import Formats, quantised, rounded_logits
from fgnas.networks.scatter import Edges, dot_scores, pair_scores, paired
from fgnas.networks.training import input_scale, restored
from fgnas.tasks.nodes import GraphData
from fgnas.tasks.pooled import calibrating_of

Values = NDArray[np.float32]
Scales = dict[tuple[int, str], int]
"""(layer, tensor) -> scale; tensors are input (in layer 0), weight, value, output (in hidden layers), score (of cos and
gene-linear), pair (of gene-linear), gathered (of a layer that gathers first), and those of a second product, with
aggregation mlp: mlp_weight and mlp_value."""

SECOND = "mlp_"
"""Prefix of the names of a second product's tensors."""
SAMPLE = 4_096
"""Values of a tensor that determine its initial scale; a larger tensor is sampled evenly."""
SCALES = range(-3, 9)
INPUT_REACH = 4
"""The input's scale may differ by so much from that of the mean feature, or be one of SCALES."""
PASSES = 2
"""Passes over all scales."""


@dataclass(frozen=True, eq=False)
class Observation:
    """Values of the float network on the whole graph, which determine the scales of every design of its architecture.

    Attributes:
        child, field: the network, and the receptive field of all nodes.
        answers: what logits answer for.
        beliefs: what the network says, as `answers` has it: of nodes [N, classes] probabilities.
        samples: some values of each tensor, by layer and name.
        gathered: those of layers that gather first, for each that may.
        input_scales: candidates for the scale of the input, because features of the user may have any magnitude.
    """

    child: Child
    field: Field
    answers: Answers
    beliefs: Tensor
    samples: dict[tuple[int, str], list[Values]]
    input_scales: range = SCALES
    gathered: dict[tuple[int, str], list[Values]] = dataclasses.field(default_factory=dict)

    def of(self, design: Design) -> dict[tuple[int, str], list[Values]]:
        """The samples of a design's tensors, by layer and name."""
        first = {place: found for place, found in self.gathered.items() if design.layers[place[0]].gathers_first}
        return self.samples | first


@torch.no_grad()
def observe(architecture: Architecture, network: Network, data: GraphData) -> Observation:
    """The observation of a float network on a graph, or on some of many."""
    data = calibrating_of(data)
    child, whole, steps = restored(architecture, network, data), _whole(data, rates_of(architecture)), list[Step]()
    logits = child(whole, steps=steps)
    samples = {(0, "input"): [thinned(data.features.data)]}
    for index, (step, parameters) in enumerate(zip(steps, network.layers, strict=True)):
        vectors = (parameters.weight, *(getattr(parameters, name) for name in ATTENTION_VECTORS))
        samples[index, "weight"] = [thinned(np.concatenate([v.ravel() for v in vectors if v is not None]))]
        samples[index, "value"] = [thinned(step.h.numpy())]
        if (of_scores := child.attention[index]) is not None:
            found = _of_edges(architecture[index]["attention"], step.h, of_scores, whole.blocks[index].scattered)
            samples |= {(index, name): [thinned(one.numpy())] for name, one in found.items()}
        if step.z is not None or step.second is not None:
            samples[index, "value"].append(thinned(step.y.numpy() + parameters.bias))
        if parameters.mlp is not None and step.second is not None:
            samples[index, "mlp_weight"] = [thinned(parameters.mlp.weight)]
            product = step.second.numpy()
            samples[index, "mlp_value"] = [thinned(product), thinned(product + parameters.mlp.bias)]
        if step.z is not None:
            samples[index, "output"] = [thinned(step.z.numpy())]
    middle = input_scale(data)
    input_scales = range(min(SCALES.start, middle - INPUT_REACH), max(SCALES.stop, middle + INPUT_REACH + 1))
    gathered = gathered_samples(child, whole, steps)
    answers = answers_of(data)
    return Observation(child, whole, answers, answers.beliefs(logits), samples, input_scales, gathered)


def gathered_samples(child: Child, receptive: Field, steps: Sequence[Step]) -> dict[tuple[int, str], list[Values]]:
    """Samples of the tensors that change if a layer gathers first, for each layer that may: its sums, its products, and
    in the last layer its weights, which are averaged over the heads."""
    found: dict[tuple[int, str], list[Values]] = {}
    for index, layer in enumerate(child.architecture):
        x, y, weight, block = steps[index - 1].z, steps[index].y, child.weights[index], receptive.blocks[index]
        if not index or x is None or layer["attention"] in VECTORS or layer["aggregation"] not in ("add", "mean"):
            continue
        found[index, "gathered"] = [thinned(block.aggregate(x, layer["attention"], layer["aggregation"]).numpy())]
        if steps[index].z is not None:
            found[index, "value"] = [thinned(y.numpy()), thinned((y + child.biases[index]).numpy())]
            continue
        found[index, "weight"] = [thinned(weight.view(len(weight), layer["k"], -1).mean(1).numpy())]
        found[index, "value"] = [thinned(y.view(len(y), layer["k"], -1).mean(1).numpy())]
    return found


def _of_edges(attention: str, h: Tensor, vectors: Sequence[Tensor], edges: Edges) -> dict[str, Tensor]:
    """Tensors with a row for each edge of a layer, by name; empty if the attention computes no score per edge."""
    heads = h.view(len(h), *vectors[0].shape)
    if attention == DOT:
        return {"score": dot_scores(heads, vectors[0], edges)}
    if attention in PAIRS:
        return {"pair": paired(heads, vectors, edges), "score": pair_scores(attention, heads, vectors, edges)}
    return {}


@kept_unless_large(2)
def _whole(data: GraphData, rates: tuple[float, ...]) -> Field:
    return Field(data, np.arange(data.nodes), len(rates), rates=rates)


def thinned(values: NDArray) -> Values:
    """About SAMPLE of the values at most, evenly spaced, flat."""
    flat = values.ravel()
    # An even stride might only visit some columns of a matrix.
    return flat[:: max(1, len(flat) // SAMPLE) | 1].astype(np.float32)


def calibrate(design: Design, network: Network, observation: Observation) -> Network:
    """The network with the best scales for the formats of a design."""
    scales = {
        place: best_scale(_format_of(design.layers[place[0]], place[1]), samples, _offered(design, observation, place))
        for place, samples in observation.of(design).items()
        if not _shared(design.layers[place[0]], place[1])
    }
    scales = nearest_to_float(design, observation, scales)
    input_scale = scales.pop((0, "input"))
    layers = list(network.layers)
    for (index, name), scale in scales.items():
        layers[index] = _scaled(layers[index], name, scale)
        if name == _argument(design.layers[index]) and _shared(design.layers[index], "output"):
            layers[index] = _scaled(layers[index], "output", scale)
    found = Network(tuple(layers), input_scale)
    return tied(design, found) if kind_of(design).ties else found


def tied(design: Design, network: Network) -> Network:
    """The network with results at the scale of their arguments, where an activation then needs no table."""
    layers = [
        replace(parameters, output_scale=(parameters.mlp or parameters).value_scale)
        if layer.activation in PLAIN else parameters
        for layer, parameters in zip(design.layers, network.layers, strict=True)
    ]  # fmt: skip
    return Network(tuple(layers), network.input_scale)


def _scaled(layer: LayerParameters, name: str, scale: int) -> LayerParameters:
    """The layer with the scale of one of its tensors."""
    if layer.mlp is not None and name.startswith(SECOND):
        of_second: dict[str, Any] = {f"{name.removeprefix(SECOND)}_scale": scale}
        return replace(layer, mlp=replace(layer.mlp, **of_second))
    change: dict[str, Any] = {f"{name}_scale": scale}
    return replace(layer, **change)


def calibrated(design: Design, network: Network, data: GraphData) -> Network:
    """The network calibrated for a single design."""
    return calibrate(design, network, observe(design.architecture(), network, data))


def _shared(layer: Layer, name: str) -> bool:
    """Whether a tensor has the scale of its activation's argument: results of wide numbers, which else would look up a
    table by fewer bits."""
    return name == "output" and layer.activation in PLAIN and layer.value_format().width > TABLE_BITS


def _argument(layer: Layer) -> str:
    """The values that a layer's activation reads: those of its last product."""
    return f"{SECOND}value" if layer.mlp else "value"


def _format_of(layer: Layer, name: str) -> Callable[[int], FixedPoint]:
    return layer.weight_format if name.removeprefix(SECOND) == "weight" else layer.value_format


def _offered(design: Design, observation: Observation, place: tuple[int, str]) -> range:
    """Candidates for a scale; fewer where it is that of scores: the table of exponentials has the size of a format
    without scale."""
    if place == (0, "input"):
        return observation.input_scales
    layer = design.layers[place[0]]
    scored = layer.attends and layer.score_format(1) != layer.score_format()
    return range(SCALES.start, 1) if scored and place[1] == ("score" if layer.dot else "value") else SCALES


def best_scale(make_format: Callable[[int], FixedPoint], samples: Sequence[Values], offered: range = SCALES) -> int:
    """The scale with the least squared error, relative to each sample's mean square; the smallest of equals."""
    errors = [sum(relative_error(values, make_format(scale)) for values in samples) for scale in offered]
    return offered[int(np.argmin(errors))]


def relative_error(values: Values, number: FixedPoint) -> float:
    """Mean squared error of quantisation over the mean square; 0 for all zeros."""
    square = float(np.square(values).mean()) if len(values) else 0.0
    error = values - quantised(torch.from_numpy(values), number).numpy()
    return float(np.square(error).mean()) / square if square else 0.0


def nearest_to_float(design: Design, observation: Observation, scales: Scales) -> Scales:
    """Scales changed one at a time, as long as the logits come closer to those of the float network."""
    best = divergence(design, observation, scales)
    for _ in range(PASSES):
        before = best
        for place in scales:
            for step in (1, -1):
                while (scale := scales[place] + step) in _offered(design, observation, place):
                    found = divergence(design, observation, moved := {**scales, place: scale})
                    if found >= best:
                        break
                    best, scales = found, moved
        if best == before:
            break
    return scales


@torch.no_grad()
def divergence(design: Design, observation: Observation, scales: Scales) -> float:
    """How far the rounded network is from what the float network says: of nodes the mean cross entropy."""
    logits = calibrated_logits(design, observation.child, observation.field, scales)
    return float(observation.answers.divergence(logits, observation.beliefs))


def _output_scale(layer: Layer, index: int, scales: Scales) -> int:
    """The scale of a layer's results; 0 in the last layer, which has none."""
    return scales[index, _argument(layer)] if _shared(layer, "output") else scales.get((index, "output"), 0)


def calibrated_logits(design: Design, child: Child, field: Field, scales: Scales) -> Tensor:
    """[N, classes] logits of the network with these scales, as `rounded_logits` rounds them."""
    csr = field.features.csr
    numbers = quantised(csr.values(), design.layers[0].value_format(scales[0, "input"]))
    x = torch.sparse_csr_tensor(csr.crow_indices(), csr.col_indices(), numbers, csr.shape, check_invariants=False)
    formats = [
        Formats.of(
            layer, scales[index, "weight"], scales[index, "value"], _output_scale(layer, index, scales),
            scales.get((index, "score")), scales.get((index, "mlp_weight"), 0), scales.get((index, "mlp_value"), 0),
            scales.get((index, "pair")),
        ).gathering(layer, scales.get((index, "gathered"), scales[index, "value"]))  # fmt: skip
        for index, layer in enumerate(design.layers)
    ]
    return rounded_logits(design, child, field, formats, lambda weights: x @ weights, quantised)
