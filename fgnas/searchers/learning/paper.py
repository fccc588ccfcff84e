"""The controller of the FGNAS paper's section III-C, implemented literally: a reference, not the default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from fgnas.engine.contracts import Infeasible, Objectives, Space
from fgnas.searchers.learning.policy import Policy
from fgnas.space import Rows


@dataclass(frozen=True)
class PaperSettings:
    """The parameters of Equation 8.

    Attributes:
        hidden: features of the LSTM, which the paper does not give.
        batch: episodes between two updates (m).
        decay: of the moving average of rewards (b). Rewards are not discounted (gamma = 1).
        learning_rate: of plain gradient ascent.
    """

    hidden: int = 64
    batch: int = 5
    decay: float = 0.9
    learning_rate: float = 0.1


class PaperReinforce:
    """(1 / m) sum_k (R_k - b) grad log pi(x_k), with R = 0 for a row that breaks a limit.

    As long as no row is feasible, every reward and the baseline are 0, and the policy does not move. The reward is the
    first objective.
    """

    infeasible: Infeasible = "zero"

    def __init__(self, space: Space, seed: int, settings: PaperSettings | None = None) -> None:
        self.settings = settings or PaperSettings()
        self.generator = torch.Generator().manual_seed(seed)
        self.policy = Policy(space, self.settings.hidden, self.generator)
        self.optimiser = torch.optim.SGD(self.policy.parameters(), lr=self.settings.learning_rate)
        self.baseline = 0.0

    @property
    def batch(self) -> int:
        """Rows between two updates."""
        return self.settings.batch

    def ask(self, count: int) -> Rows:
        """[count, decisions] rows of the policy."""
        return self.policy.sample(count, self.generator)

    def tell(self, rows: Rows, objectives: Objectives) -> None:
        """One step of gradient ascent, then an update of the baseline."""
        rewards = objectives[:, 0]
        if (advantages := rewards - self.baseline).any():
            log_probability, _ = self.policy(rows)
            self.optimiser.zero_grad()
            (-(torch.from_numpy(advantages).float() * log_probability).mean()).backward()
            self.optimiser.step()
        self.baseline = self.settings.decay * self.baseline + (1 - self.settings.decay) * float(rewards.mean())

    def state(self) -> dict[str, Any]:
        """Policy, baseline and random state; plain ascent has no state of its own."""
        return {
            "policy": self.policy.state_dict(),
            "baseline": self.baseline,
            "generator": self.generator.get_state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.policy.load_state_dict(state["policy"])
        self.baseline = state["baseline"]
        self.generator.set_state(state["generator"])
