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

from fgnas.backends.array import ORDER
from fgnas.backends.project import CALL_LIST, part_of, read_specification
from fgnas.costs import Quantity
from fgnas.design import Design
from fgnas.engine.store import RunStore
from fgnas.engine.trial import Trial
from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.array.dealing import deal_for_logits
from fgnas.hardware.array.encoded import logit_words
from fgnas.hardware.array.engine import LANES, Engine
from fgnas.hardware.pipeline.encoding import row_lengths
from fgnas.hardware.specification import Specification
from fgnas.mapping.options import MAPPINGS
from fgnas.network import Network
from fgnas.space import Decision
from fgnas.tasks.nodes import GraphData
from fgnas.tasks.pooled import PooledData, load, named, start_of
from fgnas.tasks.sampling import layer_graphs

CHECKS = ("csim", "sim", "sim_rtl", "synth", "timing", "vitis")
"""Names of the reports that verification writes."""
DAMAGED = "the vectors in {} do not fit their vectors.json: write the project again"


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

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each cost in the ranking of leaders; empty if the first score alone ranks them."""
        return self.config.get("weights", {})

    @functools.cached_property
    def decisions(self) -> list[Decision]:
        """The decisions of the space: the columns of a trial's row."""
        contents = self.config["space"]["decisions"]
        return [Decision(**{**content, "options": tuple(content["options"])}) for content in contents]


@dataclass(frozen=True)
class ProjectRecord:
    """The contents of a project's folder, whatever its hardware.

    Attributes:
        summary, price: report/accelerator.json and report/price.json.
        sizes: vectors/vectors.json.
        reports: the reports of the checks that have run, by name.
        boards: the reports of the bitstreams that were built.
        logits: [N, classes] codes of the integer reference.
        specification: the limits, clock and part that it was written for.
        part: the part for the vendor's tool.
    """

    directory: str
    summary: dict[str, Any]
    price: dict[str, Any]
    sizes: dict[str, int]
    reports: dict[str, dict[str, Any]]
    boards: list[dict[str, Any]]
    logits: NDArray[np.int64]
    specification: Specification
    part: str

    @staticmethod
    def common(directory: Path) -> dict[str, Any]:
        """The fields of every project but its logits. Raises UserError if the folder holds none or a damaged one."""
        specification = read_specification(directory)
        paths = {name: directory / "report" / f"{name}.json" for name in CHECKS}
        return {
            "directory": str(directory),
            "summary": read_json(directory / "report" / "accelerator.json"),
            "price": read_json(directory / "report" / "price.json"),
            "sizes": read_json(directory / "vectors" / "vectors.json"),
            "reports": {name: read_json(path) for name, path in paths.items() if path.is_file()},
            "boards": [read_json(path) for path in sorted(directory.glob("board/*/report.json"))],
            "specification": specification,
            "part": part_of(specification),
        }

    def has_graph(self, data: GraphData) -> bool:
        """Whether the graph in the project's vectors is that of the data."""
        raise NotImplementedError

    def data(self, given: GraphData | None = None) -> GraphData | None:
        """The data of the project: those given, or the dataset that it names; None where it cannot be loaded.

        Raises UserError if `given` is another graph.
        """
        data, dataset = given, self.summary["dataset"]
        if data is None and named(dataset):
            try:
                data = load(dataset)
            except UserError:
                return None
        if data is None:
            return None
        data = start_of(data)
        same = self.has_graph(data)
        if given is not None and not same:
            raise UserError(f"{data.name} is not the graph in the vectors of {self.directory}, which is {dataset}")
        return data if same else None

    def float_accuracy(self, data: GraphData | None) -> dict[str, float] | None:
        """Accuracies of the project's float weights; None without them or without data."""
        weights = Path(self.directory) / "weights.npz"
        if data is None or not weights.is_file():
            return None
        from fgnas.networks.training import float_accuracy

        return float_accuracy(Design.from_dict(self.summary["design"]).architecture(), Network.load(weights), data)

    def accuracy(self, data: GraphData | None) -> dict[str, float] | None:
        """Accuracies of the codes in the vectors, or the quality of graphs' targets; None without data that fit."""
        weights = Path(self.directory) / "weights.npz"
        if data is None or data.nodes != len(self.logits):
            return None
        if not isinstance(data, PooledData):
            right = self.logits.argmax(axis=1) == data.labels
            return {split: float(right[getattr(data, split)].mean()) for split in ("val", "test")}
        if not weights.is_file():
            return None
        from fgnas.networks.answers import answers_of
        from fgnas.networks.quantised import logit_step

        step = logit_step(Design.from_dict(self.summary["design"]), Network.load(weights), data)
        return {"test": float(answers_of(data, "test").quality(self.logits * step))}


@dataclass(frozen=True)
class PointRecord(ProjectRecord):
    """The content of the folder of a network of points on an array.

    Attributes:
        engine: the array.
    """

    engine: Engine

    @classmethod
    def read(cls, directory: Path) -> PointRecord:
        """The record of a project. Raises UserError if the folder holds none or a damaged one."""
        found = cls.common(directory)
        engine = Engine.of(found["summary"].get("engine"))
        return cls(**found, engine=engine, logits=_run_of_logits(directory / "vectors", engine)[1])

    def data(self, given: GraphData | None = None) -> None:
        """None is needed: accuracies are in the report of what was written."""
        if given is not None:
            raise UserError(f"{self.directory} is of a network of points and holds its accuracies: leave out the data")

    def float_accuracy(self, data: GraphData | None) -> dict[str, float]:
        """Accuracies of the float weights, as they were counted when the project was written."""
        return dict(self.summary["accuracies"]["float"])


@dataclass(frozen=True)
class PipelineRecord(ProjectRecord):
    """The content of a pipeline's folder.

    Attributes:
        rows: {PHASE.STAGE: [N] cycle in which the last simulation saw the stage take in the last of each row}.
        non_zeros, degrees: [N] of the graph in vectors/.
    """

    rows: dict[str, NDArray[np.int64]]
    non_zeros: NDArray[np.int64]
    degrees: NDArray[np.int64]

    @classmethod
    def read(cls, directory: Path) -> PipelineRecord:
        """The record of a project. Raises UserError if the folder holds none or a damaged one."""
        found = cls.common(directory)
        sizes = found["sizes"]
        regions = {name: _beats(directory / "vectors" / f"{name}.bin") for name in ("features", "edges", "logits")}
        non_zeros, degrees = row_lengths(regions["features"], regions["edges"], sizes["edges"])
        words = regions["logits"].reshape(-1).view("<i2")
        if len(degrees) != sizes["nodes"] or len(words) != sizes["nodes"] * sizes["logit_beats"] * 8:
            raise UserError(DAMAGED.format(directory))
        rows = words.reshape(sizes["nodes"], sizes["logit_beats"] * 8)
        return cls(
            **found,
            rows=_rows(directory / "report" / "sim_rows.npz"),
            non_zeros=non_zeros,
            degrees=degrees,
            logits=rows[:, : sizes["classes"]].astype(np.int64),
        )

    def has_graph(self, data: GraphData) -> bool:
        """Whether every row has as many non-zeros and neighbours."""
        return np.array_equal(data.degrees, self.degrees) and np.array_equal(data.non_zeros, self.non_zeros)


@dataclass(frozen=True)
class ArrayRecord(ProjectRecord):
    """The content of an array's folder.

    Attributes:
        engine: the array.
        orders: by the first node of a run's logits, the row of the logit region that holds each node's.
    """

    engine: Engine
    orders: dict[int, NDArray[np.int64]]

    @classmethod
    def read(cls, directory: Path) -> ArrayRecord:
        """The record of a project. Raises UserError if the folder holds none or a damaged one."""
        found = cls.common(directory)
        engine = Engine.of(found["summary"].get("engine"))
        sizes, runs = found["sizes"], _runs_of_logits(directory)
        if not runs:
            order, logits = _run_of_logits(directory / "vectors", engine)
            return cls(**found, engine=engine, orders={0: order}, logits=logits)
        sizes |= {"nodes": max(rows[1] for _, rows, _ in runs), "classes": found["summary"]["shape"]["classes"]}
        logits, orders = np.zeros((sizes["nodes"], sizes["classes"]), np.int64), {}
        for vectors, (first, end), column in runs:
            orders[first], part = _run_of_logits(vectors, engine)
            logits[first:end, column : column + part.shape[1]] = part
        return cls(**found, engine=engine, orders=orders, logits=logits)

    def has_graph(self, data: GraphData) -> bool:
        """Whether the rows are dealt alike, and there are as many edges."""
        layers, design = self.summary["layers"], Design.from_dict(self.summary["design"])
        groups, graphs = layers[-1]["aggregate"]["m"], layer_graphs(data, design.rates)
        # A mean of heads that is a layer of its own reads each node's own row alone.
        degrees = graphs[-1].degrees if len(layers) == len(design.layers) else np.ones(data.nodes, np.int64)
        alike = len(degrees) == len(self.logits) and all(
            np.array_equal(deal_for_logits(degrees[first : first + len(order), None], groups).position, order)
            for first, order in self.orders.items()
        )
        return alike and len(graphs[0].sources) == self.sizes["edges"]


@dataclass(frozen=True)
class ImportedRecord(ArrayRecord):
    """The content of the folder of an imported network on an array, which has its metrics beside it."""

    def data(self, given: GraphData | None = None) -> None:
        """None is needed: the metrics are in the report of what was written."""
        if given is not None:
            raise UserError(f"{self.directory} is of an imported network and holds its metrics: leave out the data")

    def float_accuracy(self, data: GraphData | None) -> dict[str, float]:
        """The metric of the float model on each part, as the import measured it."""
        return dict(self.summary["design"].get("metrics", {}).get("float", {}))


def _runs_of_logits(directory: Path) -> list[tuple[Path, list[int], int]]:
    """The vectors of the calls whose results are logits: rows, and the first column; none where a network is one."""
    if not (directory / CALL_LIST).is_file():
        return []
    calls = [one for one in read_json(directory / CALL_LIST)["calls"] if "logits" in one]
    return [(directory / one["folder"] / "vectors", one["logits"]["rows"], one["logits"]["column"]) for one in calls]


def _run_of_logits(vectors: Path, engine: Engine) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """[N] the row of the logit region that holds each node's logits, and [N, classes] these."""
    sizes = read_json(vectors / "vectors.json")
    order, region = _bytes(vectors / ORDER).view("<i4").astype(np.int64), _bytes(vectors / "logits.bin")
    if len(order) != sizes["nodes"] or len(region) != sizes["logits_beats"] * sizes["beat_bytes"]:
        raise UserError(DAMAGED.format(vectors.parent))
    rows = logit_words(region, engine, sizes["beat_words"]).reshape(sizes["rows"], sizes["row_words"] * LANES)
    return order, rows[order, : sizes["classes"]].astype(np.int64)


def read_json(path: Path) -> dict[str, Any]:
    """The content of a file of a project. Raises UserError if it is missing or damaged."""
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
    content = _bytes(path)
    if len(content) % wire.BEAT_BYTES:
        raise UserError(f"cannot read {path} (no whole beats): write the project again with `fgnas hls`")
    return content.reshape(-1, wire.BEAT_BYTES)


def _bytes(path: Path) -> NDArray[np.uint8]:
    try:
        return np.fromfile(path, np.uint8)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path} ({error}): write the project again with `fgnas hls`") from None
