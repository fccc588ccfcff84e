"""Accuracy of designs in the integers of their own hardware, and the scales that it expects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fgnas.activations import PLAIN
from fgnas.design import Design
from fgnas.hardware.array import reference
from fgnas.hardware.array.encoding import encode_array, fit
from fgnas.hardware.pipeline.geometry import GraphShape
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.pipeline.reference import predict
from fgnas.network import Network
from fgnas.networks.calibration import Observation, calibrate
from fgnas.networks.quantised import quantised_accuracy
from fgnas.tasks.nodes import GraphData
from fgnas.tasks.sampling import layer_graphs


def accuracy_of(
    design: Design, network: Network, data: GraphData, splits: Sequence[str] = ("val", "test")
) -> dict[str, float]:
    """Accuracy, 0 to 1, of the logits that a design's hardware computes, on each of the named splits.

    A pipeline and an array round in different places: an array multiplies messages by a mean's coefficients, and
    averages heads in one sum.
    """
    hardware = quantised_accuracy if design.array is None else array_accuracy
    return hardware(design, network, data, splits)


def calibrated_for(design: Design, network: Network, observation: Observation) -> Network:
    """The network in a design's formats, with scales as its hardware expects them."""
    found = calibrate(design, network, observation)
    return found if design.array is None else tied(design, found)


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
    assert design.array is not None
    source, array = lower(design, network, GraphShape.of(data), data.name), design.array
    first, *further = layer_graphs(data, design.rates)
    made = fit(
        source, first, array.units, array.columns, beat_bits=array.beat_bits, results=array.results, further=further,
        shared=array.shared,
    )  # fmt: skip
    predicted = predict(reference.run(encode_array(made, first, further)))
    masks = {split: getattr(data, split) for split in splits}
    return {split: float((predicted[mask] == data.labels[mask]).mean()) for split, mask in masks.items()}
