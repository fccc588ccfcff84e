"""A search for networks of operations, composed from its options."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from fgnas.costs import Limit
from fgnas.engine.contracts import Composition
from fgnas.errors import UserError
from fgnas.hardware.measured.device import DeviceFolder
from fgnas.hardware.measured.measure import check_data
from fgnas.networks.points.operations import TAILS, Tail
from fgnas.networks.points.supernet import SupernetRecipe
from fgnas.networks.points.training import recipe_of
from fgnas.networks.points.work import Cloud
from fgnas.options import spelt
from fgnas.systems.hgnas.options import Options
from fgnas.systems.hgnas.space import PointSpace, point_space
from fgnas.systems.hgnas.target import MEGABYTE, WIDEST, MeasuredTarget, ProductTarget
from fgnas.systems.hgnas.trainer import PointTrainer
from fgnas.tasks.points import EMBEDDED, GraphSet, load_graphs

SURVEY_DRAWS = 2_000
MILLION = 1e6


def composed(options: Options, data: GraphSet | None = None) -> Composition:
    """Space, target and trainer of the options. Raises UserError for unknown names and missing data."""
    data = data or load_graphs(options.dataset)
    tail = tail_of(options.tail, data)
    space = point_space(cloud_of(data), tail)
    target = _target(options, space, data)
    recipe = SupernetRecipe(options.epochs, replace(recipe_of(data), epochs=options.retrain_epochs), options.supernet)
    return Composition(
        space=space,
        target=target,
        trainer=PointTrainer(data, options.seed, space, recipe, options.own_epochs),
        limits=(WIDEST, *_limits(options)),
        objectives=("val", "share"),
        fronts=target.fronts,
        label=data.label,
        identity={
            "dataset": data.name, "fingerprint": data.fingerprint, "recipe": asdict(recipe), "tail": asdict(tail),
            **target.identity,
        },
        delivered={"dataset": data.name, "fingerprint": data.fingerprint, "synthetic": data.synthetic},
        survey_draws=SURVEY_DRAWS,
    )  # fmt: skip


def _target(options: Options, space: PointSpace, data: GraphSet) -> ProductTarget | MeasuredTarget:
    """What networks cost. Raises UserError for a device of other data, and for its limits without a device."""
    if options.target is not None:
        path = Path(options.target)
        check_data(path, DeviceFolder(path).device(), data, space.tail)
        return MeasuredTarget(space, DeviceFolder(path), options.predictor)
    for name in ("latency_ms", "memory_mb", "predictor"):
        if getattr(options, name) is not None:
            raise UserError(f"{spelt(name)} needs a device: give --target FOLDER, made by `fgnas measure`")
    return ProductTarget(space)


def tail_of(name: str | None, data: GraphSet) -> Tail:
    """A tail by name, or that of the data."""
    return TAILS[name or ("small" if data.name == EMBEDDED else "middle")]


def cloud_of(data: GraphSet) -> Cloud:
    """The clouds of a set. Raises UserError where they are of unequal N and have no edges, so that no time is one."""
    if data.points is None and data.edge_index is None:
        raise UserError(f"{data.name} has clouds of unequal numbers of points: draw as many of each")
    points = data.points or round(float(data.sizes.mean()))
    return Cloud(points, data.width_in, data.neighbours, data.classes, data.edge_index is not None)


def _limits(options: Options) -> tuple[Limit, ...]:
    """The limits that the user gives."""
    given = (
        ("latency", options.latency_ms, 1.0, "ms"), ("memory", options.memory_mb, MEGABYTE, "MB"),
        ("products", options.products, MILLION, "million multiplications"),
    )  # fmt: skip
    return tuple(_limit(name, bound, scale, unit) for name, bound, scale, unit in given if bound is not None)


def _limit(name: str, bound: float, scale: float, unit: str) -> Limit:
    return Limit(name, bound * scale, lambda value: f"{name} {value / scale:.4g} {unit} is over {bound:g} {unit}")
