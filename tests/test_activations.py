"""The activations: by hand, in torch and in the compiled loops of training, and as tables of codes."""

import numpy as np
import pytest
import torch

from fgnas.activations import FUNCTIONS, NAMES, PLAIN
from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.integer.tables import activation_table, is_plain
from fgnas.networks import kernels
from fgnas.networks.model import ACTIVATIONS
from fgnas.systems.fgnas.space import fgnas_space

BY_HAND = {
    "relu": [0, 0, 0, 1, 8],
    "tanh": [-0.99999977, -0.76159416, 0, 0.76159416, 0.99999977],
    "sigmoid": [0.00033535, 0.26894142, 0.5, 0.73105858, 0.99966465],
    "elu": [-0.99966454, -0.63212056, 0, 1, 8],
    "softplus": [0.00033541, 0.31326169, 0.69314718, 1.31326169, 8.00033541],
    "leaky_relu": [-0.08, -0.01, 0, 1, 8],
    "relu6": [0, 0, 0, 1, 6],
    "linear": [-8, -1, 0, 1, 8],
}
ARGUMENTS = np.array([-8.0, -1.0, 0.0, 1.0, 8.0])


def test_every_list_has_every_activation() -> None:
    assert set(BY_HAND) == set(NAMES) == set(FUNCTIONS) == set(ACTIVATIONS) == set(kernels.ACTIVATION_CODES)


def test_the_space_of_fgnas_has_those_of_its_paper() -> None:
    (found,) = [one.options for one in fgnas_space().choices if one.name == "activation"]
    assert set(found) == {"relu", "tanh", "sigmoid", "elu"}


@pytest.mark.parametrize("name", NAMES)
def test_values_by_hand(name: str) -> None:
    assert FUNCTIONS[name](ARGUMENTS) == pytest.approx(BY_HAND[name], abs=1e-7)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_training_computes_the_same_functions_and_their_slopes(name: str, kind: type) -> None:
    """The compiled loops get the slope from the result alone; far out, and at the edges of the pieces."""
    y = np.concatenate([np.linspace(-30, 30, 241), [-100, 100, 6, 1e-3, -1e-3]]).astype(kind)[:, None]
    given = torch.from_numpy(y.copy()).requires_grad_()
    by_torch = ACTIVATIONS[name](given)
    assert by_torch.detach().numpy() == pytest.approx(FUNCTIONS[name](y.astype(np.float64)), rel=1e-6, abs=1e-6)
    by_torch.sum().backward()
    assert given.grad is not None
    codes = np.array([kernels.ACTIVATION_CODES[name]])
    z, of_y, one = np.empty_like(y), np.empty_like(y), np.ones_like(y)
    decay = np.exp(np.abs(y) * kind(-2 if name == "tanh" else -1))
    kernels.activate(y, decay, codes, z)
    assert z == pytest.approx(by_torch.detach().numpy(), rel=1e-5, abs=1e-6)
    kernels.activate_backward(z, codes, one, one, of_y)
    if name == "softplus":
        kernels.softplus_backward(z, np.array([0]), one, one, of_y)
    slope = given.grad.numpy()
    smooth = np.abs(y) != 6 if name == "relu6" else y != 0  # at an edge either slope is right
    assert of_y[smooth] == pytest.approx(slope[smooth], rel=1e-5, abs=1e-5)


def test_a_table_by_hand() -> None:
    """Steps of one half: U from -4 to 3.5, saturated in Z to as much; the index is U's bits taken as unsigned."""
    number = FixedPoint(4, 1)
    u = np.array([0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1])
    assert activation_table("linear", number, number).tolist() == u.tolist()
    # ln(1 + e^u) of 0, 0.5, ... 3.5, -4, ... -0.5 in halves.
    softplus = [1, 2, 3, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0, 0, 1, 1]
    assert activation_table("softplus", number, number).tolist() == softplus
    assert activation_table("leaky_relu", number, number).tolist() == np.maximum(u, 0).tolist()
    coarse = FixedPoint(4, 0)  # relu6 of -8 to 7
    assert activation_table("relu6", coarse, coarse).tolist() == [0, 1, 2, 3, 4, 5, 6, 6, *[0] * 8]


def test_plain_ones_need_no_table_where_formats_are_equal() -> None:
    value, other = FixedPoint(8, 6), FixedPoint(8, 5)
    assert [name for name in NAMES if is_plain(name, value, value)] == list(PLAIN)
    assert not any(is_plain(name, value, other) for name in NAMES)
