"""The page of a measured device: predicted against measured, by predictor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fgnas.hardware.measured import predictors
from fgnas.hardware.measured.device import LATENCY, MEMORY, Device, DeviceFolder, Verdict, bases
from fgnas.hardware.measured.judge import NOISE_FLOOR, Judged
from fgnas.report import axis, chart
from fgnas.report.chart import Frame, Panel, Series

UNITS = {LATENCY: "ms", MEMORY: "MB"}
BYTES_OF_MB = 1e6


@dataclass(frozen=True)
class Row:
    """A predictor's errors on the networks that choose and on those held out; `chosen`: whether it is the default."""

    name: str
    chosen: bool
    validation: Judged | None
    held_out: Judged


@dataclass(frozen=True)
class Predicted:
    """One predicted quantity (latency or memory): its table, and a chart for each predictor."""

    what: str
    rows: list[Row]
    panels: list[Panel]


@dataclass(frozen=True)
class DevicePage:
    """Everything that the page shows."""

    name: str
    device: Device
    verdict: Verdict
    predicted: list[Predicted]


def device_page(folder: DeviceFolder) -> DevicePage:
    """The page of a finished device."""
    verdict, measured = folder.verdict(), folder.measured()
    held = measured[-len(predictors.split(len(measured))[2]) :]
    networks = [one.network for one in held]
    labels = {
        LATENCY: [one.ratio * verdict.reference_ms for one in held],
        MEMORY: [(one.memory or 0) / BYTES_OF_MB for one in held],
    }
    scale = {LATENCY: verdict.reference_ms, MEMORY: 1 / BYTES_OF_MB}
    found = []
    for what, by_name in verdict.held_out.items():
        rows = [Row(name, name == verdict.chosen[what], verdict.validation[what][name], one)
                for name, one in by_name.items()]  # fmt: skip
        if what == LATENCY and verdict.floor is not None:
            rows.append(Row(NOISE_FLOOR, False, None, verdict.floor))
        rows += [Row(f"estimate: {name}", False, None, one) for name, one in verdict.estimates.items()
                 if what == MEMORY]  # fmt: skip
        base = bases(what, networks, folder.device().cloud)
        panels = [
            panel(f"{name}, {UNITS[what]}", labels[what],
                  (folder.predictor(what, name).values(networks) * base * scale[what]).tolist())
            for name in by_name
        ]  # fmt: skip
        found.append(Predicted(what, rows, panels))
    return DevicePage(folder.path.name, folder.device(), verdict, found)


def panel(title: str, measured: list[float], predicted: list[float]) -> Panel:
    """Predicted above measured values, both on the same axis, with the line of equal ones."""
    values = [*measured, *predicted]
    across = axis.costs("measured", values, None, lambda value: f"{value:g}")
    frame = Frame(across, across, width=360, height=300)
    ends = [float(np.min(values)), float(np.max(values))]
    return Panel(title, frame, [Series("networks", chart.dots(frame, measured, predicted), dots=True)],
                 chart.line(frame, ends, ends))  # fmt: skip
