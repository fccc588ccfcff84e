"""One evaluated candidate, as the run store keeps it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from fgnas.errors import UserError


@dataclass(frozen=True)
class Trial:
    """One valid sample of a search: a line of trials.jsonl.

    Attributes:
        trial: its number, from 0.
        draws: number of rows that the searcher had drawn so far, this one included.
        row: option index of every decision of the space, -1 where it has no effect.
        design: the candidate as JSON values.
        design_hash: identifies the candidate.
        training_key, score_key: identify the choices that its training and its scores depend on.
        feasible: whether it keeps every limit.
        scores: by name; the trainer's first score is the ranking.
        costs: by name.
        trained: whether it was the first of its training key.
        cached: whether the same candidate had been scored before.
    """

    trial: int
    draws: int
    row: tuple[int, ...]
    design: dict[str, Any]
    design_hash: str
    training_key: str
    score_key: str
    feasible: bool
    scores: dict[str, float]
    costs: dict[str, float]
    trained: bool
    cached: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Any, source: str) -> Self:
        """A trial from JSON values. Raises UserError if another version wrote it."""
        names = [field.name for field in fields(cls)]
        if not isinstance(content, dict) or sorted(content) != sorted(names):
            found = sorted(set(content) ^ set(names)) if isinstance(content, dict) else [type(content).__name__]
            raise UserError(f"{source} was made by another version of fgnas ({found[0]}): start a new run")
        return cls(**{**content, "row": tuple(content["row"])})
