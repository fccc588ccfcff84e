"""The contents of a run's folder and of a project's folder, read for their pages."""

from __future__ import annotations

import functools
import json
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.backends.project import part_of, read_specification
from fgnas.costs import Quantity
from fgnas.engine.store import RunStore
from fgnas.engine.trial import Trial
from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.pipeline.encoding import row_lengths
from fgnas.hardware.pipeline.pricing import Specification
from fgnas.mapping.options import MAPPINGS
from fgnas.space import Decision

CHECKS = ("csim", "sim", "sim_rtl", "synth", "timing", "vitis")
"""Names of the reports that verification writes."""


@dataclass(frozen=True)
class RunRecord:
    """The content of a run's folder. `best` and `cheapest` are None and `leaders` is empty until it is finished."""

    name: str
    config: dict[str, Any]
    trials: list[Trial]
    leaders: list[dict[str, Any]]
    best: dict[str, Any] | None
    cheapest: dict[str, Any] | None = None
    mappings: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def read(cls, store: RunStore) -> RunRecord:
        """The record of a run, finished or not; with mappings where its system maps candidates."""
        best = store.best()
        leaders, cheapest = (store.leaders(), store.cheapest()) if best else ([], None)
        mappings = store.result(MAPPINGS) or []
        return cls(store.name, store.config(), store.trials(), leaders, best, cheapest, mappings)

    @functools.cached_property
    def scores(self) -> list[Quantity]:
        """The scores of a trial; the first one ranks."""
        return [Quantity(**content) for content in self.config["scores"]]

    @functools.cached_property
    def costs(self) -> list[Quantity]:
        """The costs of a trial."""
        return [Quantity(**content) for content in self.config["costs"]]

    @functools.cached_property
    def decisions(self) -> list[Decision]:
        """The decisions of the space: the columns of a trial's row."""
        contents = self.config["space"]["decisions"]
        return [Decision(**{**content, "options": tuple(content["options"])}) for content in contents]


@dataclass(frozen=True)
class ProjectRecord:
    """The content of a project's folder.

    Attributes:
        summary, price: report/accelerator.json and report/price.json.
        sizes: vectors/vectors.json.
        reports: the reports of the checks that have run, by name.
        rows: {PHASE.STAGE: [N] cycle in which the last simulation saw the stage take in the last of each row}.
        non_zeros, degrees: [N] of the graph in vectors/.
        logits: [N, classes] codes of the integer reference.
        specification: the limits, clock and part that it was written for.
        part: the part for the vendor's tool.
    """

    directory: str
    summary: dict[str, Any]
    price: dict[str, Any]
    sizes: dict[str, int]
    reports: dict[str, dict[str, Any]]
    rows: dict[str, NDArray[np.int64]]
    non_zeros: NDArray[np.int64]
    degrees: NDArray[np.int64]
    logits: NDArray[np.int64]
    specification: Specification
    part: str

    @classmethod
    def read(cls, directory: Path) -> ProjectRecord:
        """The record of a project. Raises UserError if the folder holds none or a damaged one."""
        summary = _json(directory / "report" / "accelerator.json")
        specification = read_specification(directory)
        sizes = _json(directory / "vectors" / "vectors.json")
        paths = {name: directory / "report" / f"{name}.json" for name in CHECKS}
        regions = {name: _beats(directory / "vectors" / f"{name}.bin") for name in ("features", "edges", "logits")}
        non_zeros, degrees = row_lengths(regions["features"], regions["edges"], sizes["edges"])
        words = regions["logits"].reshape(-1).view("<i2")
        if len(degrees) != sizes["nodes"] or len(words) != sizes["nodes"] * sizes["logit_beats"] * 8:
            raise UserError(f"the vectors in {directory} do not fit their vectors.json: write the project again")
        rows = words.reshape(sizes["nodes"], sizes["logit_beats"] * 8)
        return cls(
            directory=str(directory),
            summary=summary,
            price=_json(directory / "report" / "price.json"),
            sizes=sizes,
            reports={name: _json(path) for name, path in paths.items() if path.is_file()},
            rows=_rows(directory / "report" / "sim_rows.npz"),
            non_zeros=non_zeros,
            degrees=degrees,
            logits=rows[:, : sizes["classes"]].astype(np.int64),
            specification=specification,
            part=part_of(specification),
        )


def _json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise UserError(f"{path} is missing: write the project with `fgnas hls`") from None
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path} ({error}): write the project again with `fgnas hls`") from None


def _rows(path: Path) -> dict[str, NDArray[np.int64]]:
    if not path.is_file():
        return {}
    try:
        with np.load(path) as rows:
            return {name: rows[name].astype(np.int64) for name in rows.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise UserError(f"cannot read {path} ({error}): simulate again with `fgnas sim`") from None


def _beats(path: Path) -> NDArray[np.uint8]:
    try:
        return np.fromfile(path, np.uint8).reshape(-1, wire.BEAT_BYTES)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path} ({error}): write the project again with `fgnas hls`") from None
