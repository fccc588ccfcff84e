"""A subnet of the ViG supernet as a record: depth, operator and widths of four superblocks (MaGNAS, Table 1)."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any

from fgnas.errors import UserError
from fgnas.files import canonical_json

OPERATORS = ("max-relative", "edgeconv", "sage", "gin")


@dataclass(frozen=True)
class Superblock:
    """Blocks that share their choices.

    Attributes:
        depth: number of blocks, each a Grapher and, with `ffn`, an FFN.
        operator: message passing of the Graphers, one of OPERATORS.
        pre: whether a Grapher begins with a linear layer.
        ffn: whether a block ends with an FFN.
        width: hidden features of the FFN; None without.
    """

    depth: int
    operator: str
    pre: bool
    ffn: bool
    width: int | None

    def __post_init__(self) -> None:
        if self.operator not in OPERATORS:
            raise UserError(f"unknown operator {self.operator!r}; known: {', '.join(OPERATORS)}")
        if self.depth < 1:
            raise UserError(f"a superblock has at least one block, not {self.depth}")
        if self.ffn != (self.width is not None):
            raise UserError("a superblock has a width exactly if it has FFNs")


@dataclass(frozen=True)
class Subnet:
    """The superblocks of one network, from the stem to the head."""

    superblocks: tuple[Superblock, ...]

    @property
    def hash(self) -> str:
        """Shortened SHA-256 of the record."""
        return hashlib.sha256(canonical_json(self.to_dict()).encode()).hexdigest()[:12]

    @property
    def training_key(self) -> str:
        """The supernet is trained once for all subnets; a score depends on the whole record."""
        return self.hash

    score_key = training_key

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"superblocks": [asdict(one) for one in self.superblocks]}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Subnet:
        """The record of plain values. Raises UserError for a wrong one."""
        try:
            return cls(tuple(Superblock(**one) for one in content["superblocks"]))
        except (KeyError, TypeError) as error:
            raise UserError(f"not a subnet: {error}") from None
