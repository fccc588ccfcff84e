"""A search for networks of operations, composed from its options."""

from __future__ import annotations

from dataclasses import asdict, replace

from fgnas.costs import Limit
from fgnas.engine.contracts import Composition
from fgnas.errors import UserError
from fgnas.networks.points.operations import TAILS
from fgnas.networks.points.supernet import SupernetRecipe
from fgnas.networks.points.training import recipe_of
from fgnas.networks.points.work import Cloud
from fgnas.systems.hgnas.options import Options
from fgnas.systems.hgnas.space import point_space
from fgnas.systems.hgnas.target import ProductTarget
from fgnas.systems.hgnas.trainer import PointTrainer
from fgnas.tasks.points import EMBEDDED, GraphSet, load_graphs

SURVEY_DRAWS = 2_000
MILLION = 1e6


def composed(options: Options, data: GraphSet | None = None) -> Composition:
    """Space, target and trainer of the options. Raises UserError for unknown names and missing data."""
    data = data or load_graphs(options.dataset)
    tail = TAILS[options.tail or ("small" if data.name == EMBEDDED else "middle")]
    space = point_space(cloud_of(data), tail)
    target = ProductTarget(space)
    recipe = SupernetRecipe(options.epochs, replace(recipe_of(data), epochs=options.retrain_epochs))
    return Composition(
        space=space,
        target=target,
        trainer=PointTrainer(data, options.seed, space, recipe, options.own_epochs),
        limits=(*target.limits, *_limits(options)),
        objectives=("val", "share"),
        fronts=(("products",),),
        label=data.label,
        identity={
            "dataset": data.name, "fingerprint": data.fingerprint, "recipe": asdict(recipe), "tail": asdict(tail),
        },
        delivered={"dataset": data.name, "fingerprint": data.fingerprint, "synthetic": data.synthetic},
        survey_draws=SURVEY_DRAWS,
    )  # fmt: skip


def cloud_of(data: GraphSet) -> Cloud:
    """The clouds of a set. Raises UserError where they are of unequal N and have no edges, so that no time is one."""
    if data.points is None and data.edge_index is None:
        raise UserError(f"{data.name} has clouds of unequal numbers of points: draw as many of each")
    points = data.points or round(float(data.sizes.mean()))
    return Cloud(points, data.width_in, data.neighbours, data.classes, data.edge_index is not None)


def _limits(options: Options) -> tuple[Limit, ...]:
    if options.products is None:
        return ()
    bound = options.products * MILLION
    return (
        Limit("products", bound, lambda value: f"{value / MILLION:.4g} million multiplications are over "
                                               f"{options.products:g} million"),
    )  # fmt: skip
