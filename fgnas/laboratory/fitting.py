"""Least squares: coefficients of a module's terms, fitted to the sizes of its points."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.hardware.pipeline.sizes import Lookup, Terms, columns

RIDGE = {"lut": 0.05, "ff": 0.001}
"""Weight of the coefficients' size against the error: it keeps terms that few points move near zero. Flip-flops are
those that the source names, LUTs what mapping finds: their points scatter."""


def fit_terms(
    found: Terms, rows: list[dict[str, Any]], like: dict[str, Any] | None = None, logic: Collection[str] = (),
    differing: Collection[str] = (),
) -> dict[str, Any]:  # fmt: skip
    """Least squares: a coefficient for each term, for LUTs and for FFs, with the error over the points.

    What the points leave open is as in the entry `like` of another family, or 0; where `differing` names terms, so are
    all others. Terms of `logic` alone hold no FFs.
    """
    matrix = np.stack([np.broadcast_to(column, len(rows)) for column in columns(found)], axis=-1).astype(float)
    result: dict[str, Any] = {"points": len(rows)}
    for resource in ("lut", "ff"):
        free = set(found if not (like and differing) else differing) - set(() if resource == "lut" else logic)
        counted = np.array([name in free for name in by_column(found)])
        size = np.array([row[resource] for row in rows])
        prior = np.hstack([*like[resource].values()]) if like else np.zeros(matrix.shape[1])
        weights = prior + least_squares(matrix * counted, size - matrix @ prior, RIDGE[resource])
        error = np.abs(matrix @ weights - size)
        result[resource] = by_name(found, [round(float(weight), 4) for weight in weights])
        result[f"{resource}_error"] = round(float(error.mean() / max(size.mean(), 1)), 4)
    return result


def by_column(terms: Terms) -> list[str]:
    """The name of the term of each column."""
    return [name for name, term in terms.items() for _ in range(term.size if isinstance(term, Lookup) else 1)]


def by_name(terms: Terms, weights: Sequence[float]) -> dict[str, Any]:
    """Coefficients, one for each column of the terms, by the names of the terms; a list of them for a lookup."""
    result: dict[str, Any] = {}
    place = 0
    for name, term in terms.items():
        if isinstance(term, Lookup):
            result[name] = list(weights[place : place + term.size])
            place += term.size
        else:
            result[name] = weights[place]
            place += 1
    return result


def least_squares(
    matrix: NDArray[np.float64], size: NDArray[np.float64], weight: float = RIDGE["lut"]
) -> NDArray[np.float64]:  # fmt: skip
    """Ridge regression in columns scaled to one; columns without a value get 0."""
    largest = np.abs(matrix).max(axis=0)
    scale = np.where(largest > 0, largest, 1)
    ridge = weight * np.eye(matrix.shape[1])
    weights, *_ = np.linalg.lstsq(
        np.vstack([matrix / scale, ridge]), np.concatenate([size, np.zeros(len(ridge))]), rcond=None
    )
    return np.where(largest > 0, weights / scale, 0.0)
