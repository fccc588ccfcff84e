"""REINFORCE for a policy conditioned on feasible samples by redrawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fgnas.engine.contracts import Infeasible, Objectives, Problem, Searcher, Space
from fgnas.errors import UserError
from fgnas.options import CONTROLLERS
from fgnas.searchers.learning.masks import Bounds, Mask
from fgnas.searchers.learning.paper import PaperReinforce
from fgnas.searchers.learning.policy import Policy
from fgnas.space import Rows

WARM_STEPS = 100


@dataclass(frozen=True)
class ReinforceSettings:
    """The hyperparameters of the controller.

    Attributes:
        hidden: features of the LSTM.
        learning_rate: of Adam.
        acceptance: lambda, the weight of the share of feasible samples in the objective.
        entropy: weight of the policy's entropy, nats summed over steps.
    """

    hidden: int = 64
    learning_rate: float = 5e-3
    acceptance: float = 0.02
    entropy: float = 2e-2


class Reinforce:
    """The gradient of the expected reward over the feasible set F, without knowing F.

    Redrawing until a sample x is feasible samples from pi_F = pi / Z on F, and
    grad log pi_F(x) = grad log pi(x) - E_F[grad log pi]. So grad J = Cov_F(R, grad log pi), which
    (1 / (m - 1)) sum_k (R_k - mean R) grad log pi(x_k) estimates without bias. Nothing in it moves the share Z
    of feasible samples; the mean of grad log pi over accepted samples, an estimate of grad log Z, does.

    The reward is the first objective.
    """

    infeasible: Infeasible = "redraw"
    batch = 10

    def __init__(
        self, space: Space, seed: int, settings: ReinforceSettings | None = None, mask: Mask | None = None
    ) -> None:
        self.settings = settings or ReinforceSettings()
        self.generator = torch.Generator().manual_seed(seed)
        self.policy = Policy(space, self.settings.hidden, self.generator, mask)
        self.optimiser = torch.optim.Adam(self.policy.parameters(), lr=self.settings.learning_rate)

    def ask(self, count: int) -> Rows:
        """[count, decisions] rows of the policy."""
        return self.policy.sample(count, self.generator)

    def tell(self, rows: Rows, objectives: Objectives) -> None:
        """One step of gradient ascent with Adam."""
        log_probability, entropy = self.policy(rows)
        weights = torch.from_numpy(advantages(objectives[:, 0])).float()
        objective = (
            surrogate(log_probability, weights)
            + self.settings.acceptance * log_probability.mean()
            + self.settings.entropy * entropy.mean()
        )
        self.optimiser.zero_grad()
        (-objective).backward()
        self.optimiser.step()

    def imitate(self, rows: Rows, steps: int) -> None:
        """Warm start: some steps that increase the likelihood of known feasible rows."""
        optimiser = torch.optim.Adam(self.policy.parameters(), lr=self.settings.learning_rate)
        for _ in range(steps):
            optimiser.zero_grad()
            (-self.policy(rows)[0].mean()).backward()
            optimiser.step()

    def state(self) -> dict[str, Any]:
        """Policy, optimiser and random state."""
        return {
            "policy": self.policy.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "generator": self.generator.get_state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.policy.load_state_dict(state["policy"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.generator.set_state(state["generator"])


def surrogate(log_probability: Tensor, weights: Tensor) -> Tensor:
    """A scalar whose gradient, for weights R_k - mean R, estimates the gradient of the expected reward."""
    return (weights * log_probability).sum() / max(1, len(weights) - 1)


def advantages(rewards: NDArray[np.float64]) -> NDArray[np.float64]:
    """[m] rewards minus their mean, in units of their standard deviation; zeros where all are equal."""
    centred = rewards - rewards.mean()
    deviation = centred.std()
    return centred / deviation if deviation > 1e-12 else np.zeros_like(centred)


def searcher(problem: Problem) -> Searcher:
    """REINFORCE with the controller that the option `controller` names.

    If no uniform draw is feasible, every learning controller uses both the mask and the warm start.
    """
    controller = problem.options.get("controller") or CONTROLLERS[0]
    if controller not in CONTROLLERS:
        raise UserError(f"unknown controller {controller!r}; known: {', '.join(CONTROLLERS)}")
    if controller == "paper":
        return PaperReinforce(problem.space, problem.seed)
    masked, warm = (controller == name or problem.survey.share == 0 for name in ("masked", "warm"))
    mask = Bounds(problem.space, problem.target, problem.limits) if masked else None
    made = Reinforce(problem.space, problem.seed, mask=mask)
    if warm:
        made.imitate(problem.survey.known, WARM_STEPS)
    return made
