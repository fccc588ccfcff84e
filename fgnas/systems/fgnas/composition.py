"""An FGNAS search, composed from its options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from fgnas import progress
from fgnas.costs import Quantity
from fgnas.engine.contracts import Composition
from fgnas.errors import UserError
from fgnas.hardware.specification import Specification
from fgnas.networks.training import check_device, recipe_of
from fgnas.systems.fgnas.narrowed import Narrowed
from fgnas.systems.fgnas.options import SPECIFICATION, Options
from fgnas.systems.fgnas.space import UNLIMITED_DSP, find_space
from fgnas.systems.fgnas.target import find_target
from fgnas.systems.fgnas.trainer import DesignTrainer
from fgnas.tasks.nodes import GraphData
from fgnas.tasks.notes import untold
from fgnas.tasks.pooled import load, said_of, start_of


def specification_of(options: Options) -> Specification:
    """The limits, clock and part from the options."""
    return Specification(**{name: getattr(options, name) for name in (*SPECIFICATION, "part", "port_bits", "port_mhz")})


def objectives_of(names: str, quantities: Sequence[Quantity]) -> tuple[str, ...]:
    """Objectives by name, separated by commas. Raises UserError for a name that is no score or cost."""
    known = {quantity.name for quantity in quantities}
    found = tuple(dict.fromkeys(name.strip() for name in names.split(",")))
    if unknown := [name for name in found if name not in known]:
        raise UserError(f"--objectives: unknown {unknown[0]!r}; known: {', '.join(sorted(known))}")
    return found


def composed(options: Options, data: GraphData | None = None) -> Composition:
    """Space, target and trainer of the options. Raises UserError for unknown names and missing data."""
    check_device(options.device)
    data = data or load(options.dataset)
    for remark in untold(data):
        progress.say(f"{data.label}: {remark}")
    specification = specification_of(options)
    space = find_space(options.space, dsp=UNLIMITED_DSP if options.dsp is None else options.dsp)
    space = replace(space, beat_bits=options.beat_bits, paired=bool(options.paired))
    retrain_epochs = options.retrain_epochs or 2 * options.epochs
    recipe = replace(
        recipe_of(data, options.device), epochs=options.epochs, retrain_epochs=retrain_epochs,
        checkpoint=options.checkpoint,
    )  # fmt: skip
    target = find_target(options.target)(space, start_of(data), specification)
    trainer = DesignTrainer(data, options.seed, recipe)
    return Composition(
        space=target.space,
        target=target,
        trainer=trainer,
        limits=(*specification.bounds(), *target.limits),
        objectives=objectives_of(options.objectives, (*trainer.scores, *target.costs)),
        fronts=(("latency_cycles",), ("lut",), ("latency_cycles", "lut")),
        saved_cost=target.saved,
        smaller=None if target.smaller is None else Narrowed(target.smaller, trainer),
        label=data.label,
        identity={"dataset": data.name, "fingerprint": data.fingerprint, "recipe": asdict(recipe)},
        delivered={
            "dataset": data.name, "fingerprint": data.fingerprint, "specification": specification.to_dict(),
            **said_of(data),
        },
        remark=lambda rows: (
            f"; the widest hidden layer that fits has k*d = {target.space.widest(rows)} features: "
            "looser limits allow wider ones"
        ),
        survey_draws=target.survey_draws,
    )  # fmt: skip
