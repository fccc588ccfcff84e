"""A search for networks of operations, composed from its options."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from fgnas.costs import Limit
from fgnas.engine.contracts import Composition
from fgnas.errors import UserError
from fgnas.hardware.measured.device import DeviceFolder
from fgnas.hardware.measured.measure import check_data
from fgnas.hardware.specification import Specification
from fgnas.networks.points.operations import TAILS, Tail
from fgnas.networks.points.supernet import SupernetRecipe
from fgnas.networks.points.training import recipe_of
from fgnas.networks.points.work import Cloud
from fgnas.options import refuse
from fgnas.systems.hgnas.arrays import ArraySize, ArrayTarget
from fgnas.systems.hgnas.edges import lowering
from fgnas.systems.hgnas.options import Options
from fgnas.systems.hgnas.scoring import Scorer, SupernetScorer, TrainingScorer
from fgnas.systems.hgnas.space import FUNCTIONS, OVER_EDGES, PointSpace, point_space
from fgnas.systems.hgnas.target import MEGABYTE, WIDEST, MeasuredTarget, ProductTarget
from fgnas.systems.hgnas.trainer import PointTrainer
from fgnas.tasks.points import EMBEDDED, GraphSet, load_graphs

SURVEY_DRAWS, LOWERED_DRAWS = 2_000, 400
"""Networks that a survey prices; fewer where each is lowered."""
MILLION = 1e6
ARRAY = "array"
"""The target that no folder of a device may be named after."""
OF_DEVICE = ("memory_mb", "predictor")
SIZES = tuple(one.name for one in fields(ArraySize))
LIMITS = ("lut", "ff", "dsp", "bram36", "clock_mhz", "family", "guard_band", "part", "port_bits", "port_mhz")
OF_ARRAY = (*SIZES, *LIMITS)
"""Options of one target alone."""


def composed(options: Options, data: GraphSet | None = None) -> Composition:
    """Space, target and trainer of the options. Raises UserError for unknown names and missing data."""
    data = data or load_graphs(options.dataset)
    tail = tail_of(options.tail, data)
    limited = options.target == ARRAY and data.edge_index is not None
    briefly = options.scoring == "training"
    space = point_space(cloud_of(data), tail, OVER_EDGES if limited else FUNCTIONS, supernets=not briefly)
    asked = _asked(options, space, data)
    target, folds = asked.target, _folds(options, data)
    recipe = SupernetRecipe(options.epochs, replace(recipe_of(data), epochs=options.retrain_epochs), options.supernet)
    scorer: Scorer = (
        TrainingScorer(data, options.seed, replace(recipe.alone, epochs=options.score_epochs)) if briefly
        else SupernetScorer(data, options.seed, space, recipe, options.own_epochs)
    )  # fmt: skip
    trainer = PointTrainer(data, options.seed, scorer, recipe.alone, folds, asked.bits)
    return Composition(
        space=space,
        target=target,
        trainer=trainer,
        limits=(WIDEST, *asked.limits),
        objectives=("val", "share") if options.weight else ("val",),
        fronts=target.fronts,
        weights={"share": options.weight},
        label=data.label,
        identity={
            "dataset": data.name, "fingerprint": data.fingerprint, "recipe": asdict(recipe), "tail": asdict(tail),
            **target.identity,
        },
        delivered={
            "dataset": data.name, "fingerprint": data.fingerprint, "synthetic": data.synthetic, **asked.delivered,
            **({"deviation": data.deviation} if data.kind == "values" else {}),
        },
        survey_draws=asked.draws,
        judge=trainer.judge if folds else None,
    )  # fmt: skip


def _folds(options: Options, data: GraphSet) -> int:
    """The parts that judge leaders; 0: none. Raises UserError where there are fewer graphs."""
    graphs = int((data.train | data.val).sum())
    if options.folds is not None and options.folds > graphs:
        raise UserError(f"--folds {options.folds} are more than the {graphs} graphs for training and validation: "
                        "give fewer")  # fmt: skip
    return options.folds or 0


@dataclass(frozen=True, eq=False)
class Asked:
    """The aim of a search: the target that prices networks, and the limits of the costs.

    Attributes:
        delivered: fields that are added to every leader's entry.
        bits: width of the integers in which the delivered network is also tested; None if it is tested only in float.
        draws: rows that the survey prices.
    """

    target: ProductTarget | MeasuredTarget | ArrayTarget
    limits: tuple[Limit, ...]
    delivered: dict[str, Any] = field(default_factory=dict)
    bits: int | None = None
    draws: int = SURVEY_DRAWS


def _asked(options: Options, space: PointSpace, data: GraphSet) -> Asked:
    """The target by its name. Raises UserError for a device of other data, and for options of another target."""
    if options.target == ARRAY:
        refuse(options, OF_DEVICE, "is for a measured device: an array's memories are its --bram36")
        return _of_array(options, space, data)
    refuse(options, OF_ARRAY, "is for an array: give --target array")
    if options.target is not None:
        path = Path(options.target)
        check_data(path, DeviceFolder(path).device(), data, space.tail)
        return Asked(MeasuredTarget(space, DeviceFolder(path), options.predictor), _limits(options))
    refuse(options, ("latency_ms", *OF_DEVICE), "needs a device: give --target FOLDER, made by `fgnas measure`")
    return Asked(ProductTarget(space), _limits(options))


def _of_array(options: Options, space: PointSpace, data: GraphSet) -> Asked:
    """An array of the size that the options say, within their limits."""
    given = {name: getattr(options, name) for name in (*SIZES, *LIMITS)}
    given = {name: value for name, value in given.items() if value is not None}
    size = ArraySize(**{name: value for name, value in given.items() if name in SIZES})
    specification = Specification(
        **{name: value for name, value in given.items() if name in LIMITS}, latency_ms=options.latency_ms
    )
    lower = lowering(data, space.cloud, size)
    most = math.inf
    if data.edge_index is not None and options.latency_ms is not None:  # lowering one takes some 50 ms
        most = options.latency_ms * 1000 * specification.clock_mhz
    target = ArrayTarget(space, size, lower, specification.clock_mhz, specification.family, most)
    products = tuple(one for one in _limits(options) if one.cost == "products")
    limits = (target.held, *specification.bounds(), *products)
    return Asked(target, limits, {"array": vars(size), "specification": specification.to_dict()}, size.bits,
                 LOWERED_DRAWS)  # fmt: skip


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
