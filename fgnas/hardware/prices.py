"""Prices of many designs at once, as rows and as lines of JSON."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Any

from fgnas.hardware.specification import Specification


class Priced(ABC):
    """Prices of n designs of one target, by name."""

    @abstractmethod
    def columns(self, specification: Specification) -> dict[str, list[Any]]:
        """The prices as plain JSON values, [n] each by name; equal dictionaries are one object."""

    def rows(self, specification: Specification) -> list[dict[str, Any]]:
        """The price of each design as plain JSON values."""
        columns = self.columns(specification)
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]

    def lines(self, specification: Specification) -> list[str]:
        """The price of each design as a line of JSON with sorted keys: `rows`, several times as fast."""
        columns = sorted(self.columns(specification).items())
        line = "{" + ", ".join(f"{json.dumps(name)}: %s" for name, _ in columns) + "}\n"
        return [line % values for values in zip(*(_json_texts(column) for _, column in columns), strict=True)]


def _json_texts(column: list[Any]) -> list[str]:
    """Each value of a column as JSON with sorted keys; an object that occurs many times is written once."""
    if column and type(column[0]) in (int, float) and None not in column:
        return list(map(repr, column))
    texts = {id(value): value for value in column}
    texts = {key: json.dumps(value, sort_keys=True, allow_nan=False) for key, value in texts.items()}
    return [texts[id(value)] for value in column]
