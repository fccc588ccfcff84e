"""A platform of this machine's processor: the time of every step that a backbone's subnets can have, on one image."""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from fgnas.backends.render import render
from fgnas.engine.run import cpu_name
from fgnas.errors import UserError
from fgnas.files import replace_file
from fgnas.networks.vision import steps
from fgnas.networks.vision.subnet import OPERATORS
from fgnas.networks.vision.vig import Backbone, Block, Vig, nearest, patches, with_own_statistics

WARM_UP = 10
CPU = "cpu"

Timed = dict[str, Callable[[], Tensor]]
"""Name of a step -> what runs it once."""


def write_platform(backbone: Backbone, about: str, path: Path, runs: int, watts: float | None) -> dict[str, int]:
    """Time every step, and write the platform; returns the nanoseconds of each. Raises UserError for a bad path.

    `watts`: of the processor while it computes, as the user states it; without it energy is 0.
    """
    if path.suffix != ".toml":
        raise UserError(f"--out {path}: a platform is a .toml file")
    nanoseconds = measured(backbone, runs)
    how = f"median of {runs} runs on one image, eager torch {torch.__version__}, one thread, {cpu_name()}"
    stated = f"; energy: {watts:g} W, stated by the user" if watts is not None else "; no power was stated"
    sources = {"stopwatch": {"kind": "measured", "about": how + stated}}
    if watts is not None:
        sources["stopwatch"]["kind"] = "assumed"
    sources["nothing"] = {"kind": "exact", "about": "one unit sends nothing"}
    elements = steps.elements(backbone)
    table = {
        name: {"elements": elements[name], "on": {CPU: ("stopwatch", spent, round(spent * (watts or 0)))}}
        for name, spent in nanoseconds.items()
    }
    text = render(
        "mapping/platform.toml.j2", about=about, units=[CPU], sources=sources, transition="nothing", steps=table
    )
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from None
    return nanoseconds


def measured(backbone: Backbone, runs: int) -> dict[str, int]:
    """The median nanoseconds of every step, in the order of `steps.elements`."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            timed = runnable(backbone)
            return {name: _median(timed[name], runs) for name in steps.elements(backbone)}
    finally:
        torch.set_num_threads(threads)


def _median(run: Callable[[], Tensor], runs: int) -> int:
    for _ in range(WARM_UP):
        run()
    found = []
    for _ in range(runs):
        begin = time.perf_counter_ns()
        run()
        found.append(time.perf_counter_ns() - begin)
    return round(statistics.median(found))


def runnable(backbone: Backbone) -> Timed:
    """Every step on one random image, with the batch norms as in inference: each uses statistics of its own."""
    generator = torch.Generator().manual_seed(0)
    model = Vig(backbone).eval()
    image = torch.randn(1, backbone.channels, backbone.size, backbone.size, generator=generator)
    x = torch.randn(1, backbone.nodes, backbone.features, generator=generator)
    doubled = torch.cat([x, x], dim=-1)
    first = model.superblocks[0]
    assert isinstance(first, nn.ModuleList)
    block = first[0]
    assert isinstance(block, Block)
    found: Timed = {
        steps.STEM: _settled(model.stem, lambda: model.stem(patches(image, backbone.patch)) + model.positions),
        steps.PRE: _settled(block.pre, lambda: block.pre(x)),
        steps.POST: _settled(block.post, lambda: x + block.post(torch.relu(doubled))),
        steps.HEAD: _settled(model.hidden, lambda: model.head(x)),
    }
    for name in OPERATORS:
        for count in sorted({*backbone.neighbours}):
            found[steps.operator_step(name, count)] = _operator(block.operators[name], x, count)
    for width in backbone.widths:
        found |= _ffn(block, x, width)
    return found


def _operator(module: nn.Module, x: Tensor, neighbours: int) -> Callable[[], Tensor]:
    return _settled(module, lambda: module(x, nearest(x, neighbours)))


def _ffn(block: Block, x: Tensor, width: int) -> Timed:
    """Both maps of an FFN. A step has a copy of its layer, because the statistics of a norm are of one width."""
    hidden = torch.zeros(1, x.shape[1], width)
    wide, narrow = copy.deepcopy(block.fc1), copy.deepcopy(block.fc2)
    return {
        steps.widening_step(width): _settled(wide, lambda: wide(x, width)),
        steps.narrowing_step(width): _settled(narrow, lambda: x + narrow(torch.relu(hidden))),
    }


def _settled(module: nn.Module, run: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """The run, after its norms took the statistics of one."""
    with_own_statistics(module, run)
    return run
