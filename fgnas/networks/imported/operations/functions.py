"""Functions of single numbers: each a table in hardware, but for relu."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch

from fgnas.networks.imported.nodes import Function, Reals, Spread
from fgnas.networks.imported.operations.common import affine, is_symbol, reals
from fgnas.networks.imported.symbols import Call, Mask, Symbol, Total, operation

NAMES = (
    "relu", "relu_", "tanh", "sigmoid", "elu", "elu_", "leaky_relu", "leaky_relu_", "softplus", "gelu", "silu",
    "silu_", "hardtanh", "hardtanh_", "hardswish", "hardsigmoid", "mish", "abs", "clamp", "clamp_min", "clamp_max",
    "square", "pow", "sqrt", "log1p", "log_sigmoid_forward", "_prelu_kernel",
)  # fmt: skip


@operation(*NAMES)
def applied(call: Call) -> Any:
    """A function of every number."""
    x, *further = call.given
    if isinstance(x, Total):
        return x  # a bound that keeps a quotient finite
    if any(is_symbol(one) for one in further) or (call.name == "pow" and not isinstance(further[0], int | float)):
        raise call.refused(f"{call.name} with an argument that depends on features is not supported")
    if call.name == "_prelu_kernel" and further[0].numel() != 1:
        raise call.refused("PReLU with a slope for each column is not supported: use one slope, or LeakyReLU")
    name = call.name.removesuffix("_").removesuffix("_forward").strip("_")
    function = Function(name, functools.partial(_of, call.name.removesuffix("_"), tuple(further), call.named))
    several = isinstance(call.result, tuple | list)
    found = followed(call, x, function)
    return (found, None) if several else found


@operation("le", "lt", "ge", "gt")
def compared(call: Call) -> Symbol:
    """Where numbers are beyond a constant."""
    x, limit = call.given
    if not is_symbol(x) or is_symbol(limit) or reals(limit).size != 1:
        raise call.refused("a comparison of two values is not supported, one of which depends on features")
    bound = float(reals(limit).ravel()[0])
    return Mask(affine(call, x), lambda given: _of(call.name, (bound,), {}, given) > 0)


@operation("masked_fill", "masked_fill_")
def filled(call: Call) -> Symbol:
    """A constant in place of the numbers that a comparison of them names."""
    x, mask, value = call.given
    if not isinstance(mask, Mask) or is_symbol(value) or x is not mask.of:
        raise call.refused("a mask is supported where it compares the very numbers that it replaces with a constant")
    constant = float(reals(value).ravel()[0])
    return followed(call, x, Function("mask", lambda given: np.where(mask.holds(given), constant, given)))


def followed(call: Call, x: Any, function: Function) -> Symbol:
    """A tensor with a function behind it; functions behind each other are one."""
    one = affine(call, x)
    node = call.workshop.made(one)
    if isinstance(node, Spread) and (inner := node.function) is not None and node.is_copy and node.bias is None:
        (node,), function = node.given, _behind(inner, function)
    copy = Spread(call.place, node.rows, node.columns, None, function, (node,), call.workshop.identity(node.rows))
    return call.workshop.of_node(copy, one.shape)


def _behind(inner: Function, outer: Function) -> Function:
    """A function of the results of another."""
    return Function(f"{outer.name} of {inner.name}", lambda given: outer.of(inner.of(given)))


def _of(name: str, further: tuple[Any, ...], named: dict[str, Any], given: Reals) -> Reals:
    """torch's function in double precision."""
    doubled = [one.double() if isinstance(one, torch.Tensor) else one for one in further]
    found = getattr(torch.ops.aten, name)(torch.from_numpy(given).double(), *doubled, **named)
    return (found[0] if isinstance(found, tuple) else found).numpy()
