"""The user's model: a module with its weights, or an exported program."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from fgnas.errors import UserError
from fgnas.networks.imported.inputs import Given
from fgnas.networks.imported.tracing import Traced, trace_module, trace_program
from fgnas.networks.pyg import load_module, read_program, read_state

WEIGHTS = (".pt", ".pth", ".bin", ".ckpt", ".safetensors")
"""Suffixes of files that contain weights without a module."""
SEEDS = (1, 2)
OF_INTEGERS = "argument #1 'indices'"
"""What torch says where an embedding is given real numbers."""


def read_model(source: str | nn.Module, weights: Path | None) -> Any:
    """The module that `module:factory` returns, with the state in `weights`, or the program of a .pt2 file; a module is
    taken as it is. Raises UserError where there is none, and where its weights would be random ones."""
    if isinstance(source, nn.Module):
        if weights is not None:
            raise UserError(f"weights are for module:factory: {type(source).__name__} is a module, which has its own")
        return source
    _check_source(source)
    if source.endswith(".pt2"):
        if weights is not None:
            raise UserError("--weights is for module:factory: a .pt2 file contains its own")
        return read_program(Path(source))
    if source.endswith(WEIGHTS) and ":" not in source:
        raise _weights_alone(Path(source))
    torch.manual_seed(SEEDS[0])
    model = load_module(source, weights)
    if weights is None:
        torch.manual_seed(SEEDS[1])
        if _differ(model, load_module(source, None)):
            raise UserError(f"{source} makes a model with random weights: give --weights FILE, what torch.save wrote "
                            f"of its state_dict")  # fmt: skip
    return model


def _check_source(source: Any) -> None:
    """Raise UserError for what is neither a module nor the name of one."""
    if isinstance(source, str):
        return
    name = getattr(source, "__name__", "")
    if inspect.isclass(source):
        raise UserError(f"source is the class {name}: give a trained model, {name}() with its weights")
    if inspect.isroutine(source):
        raise UserError(f"source is the function {name}: give the trained model that it returns")
    if isinstance(source, Mapping):
        raise UserError("source is a state_dict: give the module that it belongs to")
    kind = type(source).__name__
    raise UserError(f"source is of type {kind}: give a trained module, 'module:factory' or a .pt2 file")


def _weights_alone(path: Path) -> UserError:
    """The error for a file of weights in place of a model. Raises it where the file is there and holds none."""
    what = "holds weights alone"
    if path.is_file():
        read_state(path)
    else:
        what = "does not exist, and by its name would hold weights alone"
    return UserError(f"{path} {what}: name the function that makes their module, too, such as "
                     f"`fgnas import models:make_gcn --weights {path}`")  # fmt: skip


def _differ(one: nn.Module, other: nn.Module) -> bool:
    """Whether two modules have other parameters, as two that nobody has trained."""
    a, b = one.state_dict(), other.state_dict()
    return a.keys() != b.keys() or any(
        isinstance(value, torch.Tensor) and not torch.equal(value, b[name]) for name, value in a.items()
    )


def traced(model: Any, given: Given) -> Traced:
    """A model's run on the data, whether it is a module or a program; one that embeds categories gets integers."""
    run = trace_module if isinstance(model, nn.Module) else trace_program
    try:
        return run(model, given)
    except UserError as error:
        if OF_INTEGERS not in str(error) or not given.integral:
            raise
        return run(model, given.in_integers())
