"""The trained float parameters of a design's layers, with the power-of-two scales that quantisation uses.

A tensor with scale s is stored by the accelerator as x * 2**s in its layer's format: a shift, never a multiplication.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.design import VECTORS, Design, Layer
from fgnas.errors import UserError
from fgnas.files import replace_file

Float = NDArray[np.float32]
ATTENTION_VECTORS = ("attention_source", "attention_target", "attention_factor")
"""Fields of `LayerParameters`, in the order of `fgnas.design.VECTORS`."""


@dataclass(frozen=True, eq=False)
class SecondProduct:
    """The second product of an aggregation mlp. It multiplies the sums of messages after a relu.

    Attributes:
        weight: [k * d, k * d], in the last layer [k * d, classes].
        bias: [k * d], in the last layer [classes].
        weight_scale: scale of `weight`.
        value_scale: scale of the product and of `bias`.
    """

    weight: Float
    bias: Float
    weight_scale: int = 0
    value_scale: int = 0


@dataclass(frozen=True, eq=False)
class LayerParameters:
    """One layer; d is the number of classes in the last.

    Attributes:
        weight: [width_in, k, d].
        bias: [k * d] in hidden layers (head-major) and before a second product, else [classes] in the last.
        attention_source: [k, d], weights a_r of the sending node's features, of cos those of the products; None without
            scores.
        attention_target: [k, d], weights a_l of the receiving node's features; None without, of linear and of cos.
        attention_factor: [k, d], gene-linear's factors g of functions of both nodes' features; None for others.
        weight_scale: scale of `weight` and of the attention vectors.
        value_scale: scale of the linear stage's output, of the aggregation and of the bias.
        output_scale: scale of the activation's output; unused in the last layer.
        score_scale: scale of the scores of cos and gene-linear; None for that of the values.
        pair_scale: scale of the sums that gene-linear's functions are of; None for that of the values.
        gathered_scale: scale of the sums of a layer that gathers first; None for that of the values.
        mlp: the second product of an aggregation mlp, whose relu has the scale of its argument; None for others.
    """

    weight: Float
    bias: Float
    attention_source: Float | None = None
    attention_target: Float | None = None
    weight_scale: int = 0
    value_scale: int = 0
    output_scale: int = 0
    score_scale: int | None = None
    mlp: SecondProduct | None = None
    attention_factor: Float | None = None
    pair_scale: int | None = None
    gathered_scale: int | None = None

    @property
    def scale_of_pairs(self) -> int:
        """That of the sums that gene-linear's functions are of."""
        return self.value_scale if self.pair_scale is None else self.pair_scale

    @property
    def scale_of_gathered(self) -> int:
        """That of the sums of a layer that gathers first."""
        return self.value_scale if self.gathered_scale is None else self.gathered_scale

    @property
    def scale_of_scores(self) -> int:
        """That of the parts that scores are made of."""
        return self.value_scale if self.score_scale is None else self.score_scale


def multiplied(layer: Layer, parameters: LayerParameters) -> tuple[Layer, LayerParameters]:
    """A layer as hardware multiplies it: a last one that gathers first has one head, the mean of all heads' weights,
    since these meet the same sums."""
    if not layer.gathers_first or layer.d is not None:
        return layer, parameters
    weight = parameters.weight.mean(axis=1, keepdims=True, dtype=np.float32)
    return layer.model_copy(update={"k": 1}), replace(parameters, weight=weight)


@dataclass(frozen=True, eq=False)
class Network:
    """The layers in order, and the scale of the input features."""

    layers: tuple[LayerParameters, ...]
    input_scale: int = 0

    def check(self, design: Design, width_in: int, classes: int) -> None:
        """Raise UserError unless every shape matches the design."""
        if len(self.layers) != len(design.layers):
            raise UserError(f"weights have {len(self.layers)} layers, the design {len(design.layers)}")
        for index, (layer, parameters) in enumerate(zip(design.layers, self.layers, strict=True)):
            d = layer.d if layer.d is not None else classes
            last = index == len(design.layers) - 1
            averaged = last and not layer.mlp
            expected = {"weight": (width_in, layer.k, d), "bias": (classes,) if averaged else (layer.k * d,)}
            vectors = VECTORS.get(layer.attention, 0)
            expected |= dict.fromkeys(ATTENTION_VECTORS[:vectors], (layer.k, d))
            if any(getattr(parameters, name) is not None for name in ATTENTION_VECTORS[vectors:]):
                has = "none" if vectors == 0 else f"{vectors}"
                raise UserError(f"weights of layer {index} hold attention vectors; {layer.attention} has {has}")
            for name, shape in expected.items():
                array = getattr(parameters, name)
                if array is None or array.shape != shape:
                    found = None if array is None else array.shape
                    raise UserError(f"weights of layer {index}: {name} is {found}, the design needs {shape}")
            width_in = layer.k * d
            _check_second(index, parameters.mlp, (width_in, classes if last else width_in) if layer.mlp else None)

    def to_bytes(self) -> bytes:
        """An .npz archive; equal networks give equal bytes."""
        arrays: dict[str, NDArray[np.generic]] = {"input_scale": np.int64(self.input_scale)}  # type: ignore[dict-item]
        for index, layer in enumerate(self.layers):
            for name, value in vars(layer).items():
                if isinstance(value, SecondProduct):
                    arrays |= {f"{index}.{name}.{part}": np.asarray(one) for part, one in vars(value).items()}
                elif value is not None:
                    arrays[f"{index}.{name}"] = np.asarray(value)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
        return buffer.getvalue()

    def save(self, path: Path) -> str:
        """Write the archive atomically; returns its SHA-256."""
        data = self.to_bytes()
        replace_file(path, data)
        return hashlib.sha256(data).hexdigest()

    @classmethod
    def load(cls, path: Path, sha256: str | None = None) -> Network:
        """Read an archive back; with `sha256`, refuse any other content."""
        try:
            data = path.read_bytes()
        except OSError as error:
            raise UserError(f"cannot read the weights {path}: {error.strerror}") from None
        if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
            raise UserError(f"the weights {path} are not those that were scored (SHA-256 differs); search again")
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
        except (ValueError, OSError, zipfile.BadZipFile) as error:
            raise UserError(f"the weights {path} are damaged ({error}); search again") from None
        layers: list[LayerParameters] = []
        while any(name.startswith(f"{len(layers)}.") for name in arrays):
            prefix = f"{len(layers)}."
            own = {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
            fields: dict[str, Any] = {n: int(v) if v.ndim == 0 else v for n, v in own.items()}
            second = {n.removeprefix("mlp."): fields.pop(n) for n in list(fields) if n.startswith("mlp.")}
            layers.append(LayerParameters(**fields, mlp=SecondProduct(**second) if second else None))
        return cls(tuple(layers), int(arrays["input_scale"]))


def _check_second(index: int, found: SecondProduct | None, shape: tuple[int, int] | None) -> None:
    """Raise UserError unless a second product has the weights [shape] that a design needs; None for no product."""
    if shape is None:
        if found is not None:
            raise UserError(f"weights of layer {index} hold a second product, which only aggregation mlp has")
    elif found is None:
        raise UserError(f"weights of layer {index}: the second product of aggregation mlp is missing")
    elif (found.weight.shape, found.bias.shape) != (shape, shape[1:]):
        raise UserError(f"weights of layer {index}: the second product is {found.weight.shape} with a bias of "
                        f"{found.bias.shape}, the design needs {shape}")  # fmt: skip
