"""A search for mapped vision GNNs, composed from its options."""

from __future__ import annotations

from dataclasses import asdict

from fgnas.costs import Limit, Quantity
from fgnas.engine.contracts import Composition
from fgnas.errors import UserError
from fgnas.mapping.options import MAPPINGS, MapOptions
from fgnas.mapping.platform import find_platform
from fgnas.networks.vision.supernet import Recipe
from fgnas.networks.vision.vig import Backbone
from fgnas.systems.magnas.front import front_of_mappings
from fgnas.systems.magnas.options import Options
from fgnas.systems.magnas.support import supported_space
from fgnas.systems.magnas.target import MappedTarget
from fgnas.systems.magnas.trainer import SupernetTrainer
from fgnas.systems.magnas.whole import METRIC
from fgnas.tasks.images import ImageData, load_images

SURVEY_DRAWS = 200
"""Each is mapped exactly, in a few milliseconds."""
LIMITED = ("latency_ms", "energy_mj", "power_w")


def composed(options: Options, data: ImageData | None = None) -> Composition:
    """Space, target and trainer of the options. Raises UserError for unknown names and missing data."""
    if options.platform is None:
        raise UserError("--platform FILE.toml is missing: write one with `fgnas platform --out FILE.toml`")
    data = data or load_images(options.dataset)
    platform = find_platform(options.platform)
    if platform.starts and options.metric != METRIC:
        raise UserError(f"{options.platform}: {', '.join(platform.starts)} finds nearest patches by {METRIC}: add "
                        f"--metric {METRIC}")  # fmt: skip
    backbone = Backbone.of(data, options.metric)
    space = supported_space(backbone, platform, options.granularity)
    recipe = Recipe(epochs=options.epochs, metric=options.metric)
    bounds = {name: value for name in LIMITED if (value := getattr(options, name)) is not None}
    target = MappedTarget(space, backbone, platform, MapOptions(granularity=options.granularity, **bounds))
    priced = {cost.name: cost for cost in target.costs}
    if unpowered := [name for name in bounds if name not in priced]:
        raise UserError(f"--{unpowered[0].replace('_', '-')}: {options.platform} states no energy")
    measured = tuple(name for name in ("latency_ms", "energy_mj") if name in priced)
    return Composition(
        space=space,
        target=target,
        trainer=SupernetTrainer(data, options.seed, recipe, target),
        limits=tuple(_limit(priced[name], bound) for name, bound in bounds.items()),
        objectives=("val", *measured),
        fronts=(*((name,) for name in measured), measured),
        label=data.label,
        identity={
            "dataset": data.name, "fingerprint": data.fingerprint, "recipe": asdict(recipe),
            "platform": platform.model_dump(mode="json"),
        },
        delivered={"dataset": data.name, "fingerprint": data.fingerprint, "metric": options.metric},
        survey_draws=SURVEY_DRAWS,
        results=lambda trials: {MAPPINGS: front_of_mappings(target, trials)},
    )  # fmt: skip


def _limit(cost: Quantity, bound: float) -> Limit:
    return Limit(
        cost.name, bound, lambda value: f"{cost.label.lower()} {value:.4g} {cost.unit} is over {bound:g} {cost.unit}"
    )
