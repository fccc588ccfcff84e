"""The policy: an LSTM that makes decisions in sequence, each conditioned on the earlier ones."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fgnas.engine.contracts import Space
from fgnas.searchers.learning.masks import Mask
from fgnas.space import Rows, offered

START, ABSENT = 0, 1
"""Embeddings of "nothing chosen yet" and of a choice without effect."""

FORBIDDEN = -1e9
"""Logit of a forbidden option: a probability of 0, yet finite, so that its share of the entropy is 0 and not NaN."""


class Policy(nn.Module):
    """A distribution over the rows of a space; uniform over the options that have an effect until it is trained.

    A decision without effect, given those before it, is skipped: it reads as absent and adds nothing to the
    log-probability. Options that a mask forbids have no probability.
    """

    def __init__(self, space: Space, hidden: int, generator: torch.Generator, mask: Mask | None = None) -> None:
        super().__init__()
        self.space, self.mask = space, mask
        self.steps = [column for column, decision in enumerate(space.decisions) if decision.possible]
        sizes = [len(space.decisions[column].options) for column in self.steps]
        self.first_token = [2 + sum(sizes[:step]) for step in range(len(sizes))]
        self.embedding = nn.Embedding(2 + sum(sizes), hidden)
        self.cell = nn.LSTMCell(hidden, hidden)
        self.heads = nn.ModuleList(nn.Linear(hidden, size) for size in sizes)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.uniform_(-(hidden**-0.5), hidden**-0.5, generator=generator)
            for parameter in self.heads.parameters():
                parameter.zero_()

    @torch.no_grad()
    def sample(self, count: int, generator: torch.Generator) -> Rows:
        """[count, decisions] rows."""
        chosen = torch.full((count, len(self.space.decisions)), -1, dtype=torch.int16)
        # The input half of the cell is linear in the embedding, so it is a table of tokens.
        table = self.embedding.weight @ self.cell.weight_ih.T + self.cell.bias_ih + self.cell.bias_hh
        hidden_weight = self.cell.weight_hh.T.contiguous()
        token = torch.full((count,), START)
        h = c = torch.zeros(count, self.cell.hidden_size)
        for step, column in enumerate(self.steps):
            gates = torch.addmm(table[token], h, hidden_weight)
            i, f, g, o = gates.chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            drawn = categorical(self._masked(self.heads[step](h), chosen.numpy(), column), generator)
            here = torch.from_numpy(offered(self.space.decisions, chosen.numpy(), column))
            chosen[:, column] = torch.where(here, drawn, -1).to(torch.int16)
            token = torch.where(here, drawn + self.first_token[step], ABSENT)
        return chosen.numpy()

    def forward(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """[n] log-probability of rows, and [n] entropy summed over their steps."""
        chosen = torch.from_numpy(rows).long()
        state = (torch.zeros(len(chosen), self.cell.hidden_size),) * 2
        token = torch.full((len(chosen),), START)
        log_probability, entropy = torch.zeros(len(chosen)), torch.zeros(len(chosen))
        for step, column in enumerate(self.steps):
            state = self.cell(self.embedding(token), state)
            logs = torch.log_softmax(self._masked(self.heads[step](state[0]), rows, column), 1)
            choice, here = chosen[:, column], chosen[:, column] >= 0
            taken = logs.gather(1, choice.clamp(min=0)[:, None])[:, 0]
            log_probability = log_probability + taken * here
            entropy = entropy - (logs.exp() * logs).sum(1) * here
            token = torch.where(here, choice + self.first_token[step], ABSENT)
        return log_probability, entropy

    def _masked(self, logits: Tensor, rows: Rows, column: int) -> Tensor:
        if self.mask is None:
            return logits
        return logits.masked_fill(~torch.from_numpy(self.mask(rows, column)), FORBIDDEN)


def categorical(logits: Tensor, generator: torch.Generator) -> Tensor:
    """[n] indices drawn from [n, options] logits, by inverting the cumulative distribution."""
    cumulated = torch.softmax(logits, 1).cumsum(1)
    point = torch.rand(len(logits), 1, generator=generator) * cumulated[:, -1:]
    return (point >= cumulated[:, :-1]).sum(1)
