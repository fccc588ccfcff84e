"""Mappings by random draws and by NSGA-II, as the paper searches them: the baselines of the exact front.

Source: MaGNAS, section 4.3: populations of 200, mutation 0.4, crossover 0.8.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fgnas import pareto
from fgnas.mapping.chain import Chain
from fgnas.mapping.exact import Front, Limits, within
from fgnas.mapping.options import BASELINES

Mappings = NDArray[np.int8]
POPULATION, MUTATION, CROSSOVER = 200, 0.4, 0.8


def random_front(chain: Chain, evaluations: int, rng: np.random.Generator, limits: Limits | None = None) -> Front:
    """The front of uniform draws."""
    return within(chain, draw(chain, evaluations, rng), limits or Limits())


def nsga2_front(chain: Chain, evaluations: int, rng: np.random.Generator, limits: Limits | None = None) -> Front:
    """The front of everything that NSGA-II evaluated."""
    population = draw(chain, min(POPULATION, evaluations), rng)
    seen = [population]
    left = evaluations - len(population)
    while left:
        children = _children(chain, population, min(POPULATION, left), rng)
        seen.append(children)
        left -= len(children)
        population = _survivors(chain, np.concatenate([population, children]))
    return within(chain, np.unique(np.concatenate(seen), axis=0), limits or Limits())


Baseline = Callable[[Chain, int, np.random.Generator, Limits | None], Front]
METHODS: dict[str, Baseline] = dict(zip(BASELINES, (nsga2_front, random_front), strict=True))


def draw(chain: Chain, count: int, rng: np.random.Generator) -> Mappings:
    """Uniform mappings [count, n] of supported units."""
    columns = [rng.choice(np.flatnonzero(row), count) for row in chain.supported]
    return np.stack(columns, axis=1).astype(np.int8)


def _children(chain: Chain, parents: Mappings, count: int, rng: np.random.Generator) -> Mappings:
    """Uniform crossover of parents from binary tournaments, then mutation of one step on the average."""
    order = _order(chain, parents)
    place = np.empty(len(parents), np.int64)
    place[order] = np.arange(len(parents))
    rivals = rng.integers(len(parents), size=(2, count, 2))
    chosen = np.where(place[rivals[..., 0]] < place[rivals[..., 1]], rivals[..., 0], rivals[..., 1])
    mother, father = parents[chosen[0]], parents[chosen[1]]
    crossed = (rng.random(count) < CROSSOVER)[:, None] & (rng.random(mother.shape) < 0.5)
    children = np.where(crossed, father, mother)
    steps = children.shape[1]
    mutated = (rng.random(count) < MUTATION)[:, None] & (rng.random(children.shape) < 1 / steps)
    return np.where(mutated, draw(chain, count, rng), children)


def _survivors(chain: Chain, candidates: Mappings) -> Mappings:
    distinct = np.unique(candidates, axis=0)
    return distinct[_order(chain, distinct)[:POPULATION]]


def _order(chain: Chain, mappings: Mappings) -> NDArray[np.int64]:
    """The mappings from best to worst: by rank, then by crowding distance."""
    objectives = -chain.costs(mappings)
    ranks = pareto.ranks(objectives)
    return np.lexsort((-pareto.crowding(objectives, ranks), ranks))
