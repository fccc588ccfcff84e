"""Weights on disk: whole, checked, and of the design's shape."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from fgnas.design import Design
from fgnas.errors import UserError
from fgnas.network import LayerParameters, Network, SecondProduct

HIDDEN = {
    "d": 4, "attention": "gcn", "aggregation": "add", "k": 2, "activation": "relu", "t_in": 1, "t_out": 1,
    "t_attn": None, "t_aggr": 1, "t_act": 1, "ai": 2, "af": 4, "wi": 1, "wf": 5,
}  # fmt: skip
LAST = {**HIDDEN, "d": None, "activation": None, "t_act": None, "k": 1}
DESIGN = Design.from_dict({"schema": 1, "dsp": 0, "layers": [HIDDEN, LAST]})


def network(width_in=3, features=4, classes=2):
    rng = np.random.default_rng(0)
    arrays = ((width_in, 2, features), (2 * features,), (2 * features, 1, classes), (classes,))
    first, bias, second, last = (rng.normal(size=shape).astype(np.float32) for shape in arrays)
    return Network((LayerParameters(first, bias, weight_scale=2), LayerParameters(second, last)), input_scale=3)


def test_what_is_saved_is_loaded(tmp_path):
    original, path = network(), tmp_path / "weights.npz"
    sha256 = original.save(path)
    assert sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    loaded = Network.load(path, sha256)
    assert loaded.input_scale == 3 and loaded.layers[0].weight_scale == 2
    assert np.array_equal(loaded.layers[1].weight, original.layers[1].weight)
    assert loaded.to_bytes() == original.to_bytes()


def test_other_or_damaged_files_are_refused(tmp_path):
    path = tmp_path / "weights.npz"
    with pytest.raises(UserError, match="cannot read"):
        Network.load(path)
    path.write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(UserError, match="damaged"):
        Network.load(path)
    with pytest.raises(UserError, match="SHA-256"):
        Network.load(path, "0" * 64)


def test_shapes_are_checked_against_the_design():
    network().check(DESIGN, 3, 2)
    for wrong, place in ((network(width_in=4), "layer 0: weight"), (network(classes=3), "layer 1: weight")):
        with pytest.raises(UserError, match=place):
            wrong.check(DESIGN, 3, 2)
    scored = DESIGN.model_copy(update={"layers": (DESIGN.layers[0].model_copy(update={"attention": "linear"}),
                                                  DESIGN.layers[1])})  # fmt: skip
    vector = np.zeros((2, 4), np.float32)
    first, second = network().layers
    one, two = replace(first, attention_source=vector), replace(first, attention_source=vector, attention_target=vector)
    Network((one, second)).check(scored, 3, 2)
    for wrong, message in ((two, "layer 0 hold attention vectors; linear has 1"), (first, "attention_source is None")):
        with pytest.raises(UserError, match=message):
            Network((wrong, second)).check(scored, 3, 2)
    with pytest.raises(UserError, match="layer 0 hold attention vectors; gcn has none"):
        Network((one, second)).check(DESIGN, 3, 2)
    with pytest.raises(UserError, match="1 layers, the design 2"):
        Network(network().layers[:1]).check(DESIGN, 3, 2)


def test_a_second_product_is_saved_and_checked(tmp_path):
    """The weights are [8, 8] after eight hidden features and [2, 2] after two classes."""
    mlp = DESIGN.model_copy(update={"layers": tuple(one.model_copy(update={"aggregation": "mlp"})
                                                    for one in DESIGN.layers)})  # fmt: skip
    plain, rng = network(), np.random.default_rng(1)
    seconds = [SecondProduct(rng.normal(size=(n, n)).astype(np.float32), np.zeros(n, np.float32), 2, 1) for n in (8, 2)]
    layers = [replace(one, mlp=own) for one, own in zip(plain.layers, seconds, strict=True)]
    right, path = Network(tuple(layers), 3), tmp_path / "weights.npz"
    loaded = Network.load(path, right.save(path))
    loaded.check(mlp, 3, 2)
    assert loaded.to_bytes() == right.to_bytes() and loaded.layers[1].mlp.value_scale == 1
    for wrong, design, message in (
        (right, DESIGN, "layer 0 hold a second product, which only aggregation mlp has"),
        (plain, mlp, "layer 0: the second product of aggregation mlp is missing"),
        (Network((layers[0], replace(layers[1], mlp=seconds[0]))), mlp, r"layer 1: the second product is \(8, 8\)"),
    ):
        with pytest.raises(UserError, match=message):
            wrong.check(design, 3, 2)
