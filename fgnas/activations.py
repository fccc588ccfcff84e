"""The activations of a network: their names, and the functions that tables of codes are made of.

Training computes the same functions where it has gradients: in torch (`fgnas.networks.model`) and in compiled loops
(`fgnas.networks.kernels`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Activation = Literal["relu", "tanh", "sigmoid", "elu", "softplus", "leaky_relu", "relu6", "linear"]
"""Activations of FGNAS, then the others of G-CoS's Table II, whose "skip" is the same function as "linear"."""
NAMES: tuple[str, ...] = get_args(Activation)

LEAKY_SLOPE = 0.01
"""Slope of leaky_relu below zero: PyTorch's default, which GraphNAS takes, whose operators Table II lists."""
LARGEST_RELU6 = 6.0

FUNCTIONS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "relu": lambda u: np.maximum(u, 0.0),
    "tanh": np.tanh,
    "sigmoid": lambda u: 1.0 / (1.0 + np.exp(-u)),
    "elu": lambda u: np.where(u > 0, u, np.expm1(np.minimum(u, 0.0))),
    "softplus": lambda u: np.logaddexp(u, 0.0),
    "leaky_relu": lambda u: np.where(u > 0, u, u * LEAKY_SLOPE),
    "relu6": lambda u: np.clip(u, 0.0, LARGEST_RELU6),
    "linear": lambda u: u,
}
assert tuple(FUNCTIONS) == NAMES

PLAIN = ("relu", "linear")
"""Activations that need no table if the result has the format of the argument."""
