"""A search for networks with multiplier arrays, composed from its options."""

from __future__ import annotations

from dataclasses import asdict, replace

from fgnas import progress
from fgnas.engine.contracts import Composition
from fgnas.hardware.array.designs import BUILDABLE
from fgnas.hardware.array.engine import LANES, LARGEST_UNITS, multipliers_within
from fgnas.hardware.specification import Specification
from fgnas.networks.supernet import SupernetRecipe
from fgnas.networks.training import recipe_of
from fgnas.systems.fgnas.composition import objectives_of
from fgnas.systems.fgnas.trainer import DesignTrainer
from fgnas.systems.gcos.options import Options
from fgnas.systems.gcos.space import find_space
from fgnas.systems.gcos.target import ArrayTarget
from fgnas.systems.gcos.trainer import SupernetTrainer
from fgnas.tasks.nodes import GraphData
from fgnas.tasks.notes import untold
from fgnas.tasks.pooled import load, said_of, start_of

SURVEY_DRAWS = 10_000


def specification_of(options: Options) -> Specification:
    """The limits and the clock from the options."""
    names = ("latency_ms", "lut", "ff", "dsp", "bram36", "clock_mhz", "family", "guard_band")
    return Specification(**{name: getattr(options, name) for name in names})


def composed(options: Options, data: GraphData | None = None) -> Composition:
    """Space, target and trainer of the options. Raises UserError for unknown names and missing data."""
    data = data or load(options.dataset)
    for remark in untold(data):
        progress.say(f"{data.label}: {remark}")
    specification = specification_of(options)
    plain, most = (min(LARGEST_UNITS, multipliers_within(options.dsp, paired) // LANES)
                   for paired in (False, bool(options.paired)))  # fmt: skip
    space = find_space(options.space, most, options.beat_bits, options.results, plain if options.paired else None)
    target = ArrayTarget(space, start_of(data), options.family, options.clock_mhz)
    recipe = replace(recipe_of(data), epochs=options.epochs, retrain_epochs=options.retrain_epochs)
    shared = SupernetRecipe(
        updates=options.updates, paths=options.paths, weight_decay=recipe.weight_decay, dropout=recipe.dropout
    )
    alone = options.scoring == "training"
    trainer = (
        DesignTrainer(data, options.seed, recipe) if alone
        else SupernetTrainer(data, options.seed, recipe, space, shared)
    )  # fmt: skip
    recipes = {"recipe": asdict(recipe)} | ({} if alone else {"supernet": asdict(shared)})
    return Composition(
        space=space,
        target=target,
        trainer=trainer,
        limits=(*specification.bounds(), *BUILDABLE),
        objectives=objectives_of(options.objectives, (*trainer.scores, *target.costs)),
        fronts=(("latency_cycles",), ("bram36",), ("latency_cycles", "bram36")),
        label=data.label,
        identity={"dataset": data.name, "fingerprint": data.fingerprint, **recipes},
        delivered={
            "dataset": data.name, "fingerprint": data.fingerprint, "specification": specification.to_dict(),
            **said_of(data),
        },
        survey_draws=SURVEY_DRAWS,
    )  # fmt: skip
