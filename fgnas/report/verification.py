"""The evidence for a design: accuracies from float to hardware, checks that ran or did not, and resources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fgnas.report.record import ProjectRecord
from fgnas.tasks.nodes import GraphData
from fgnas.tools.vitis import faults

RESOURCES = (("lut", "LUT"), ("ff", "FF"), ("dsp", "DSP"), ("bram36", "Block RAM (36 Kb)"))
LARGEST_MODULES = 12
UNASKED = ("sim_rtl",)
"""Checks that are shown if they ran, but never listed as missing."""


@dataclass(frozen=True)
class Level:
    """One level of the accuracy ladder: its accuracies (None if unknown), and their source."""

    name: str
    val: float | None
    test: float | None
    why: str
    state: str


@dataclass(frozen=True)
class Check:
    """One verification: its result, and the command that runs it. `state` is right, wrong or missing."""

    name: str
    state: str
    result: str
    command: str


@dataclass(frozen=True)
class ResourceRow:
    """One resource: predicted (None without a model), synthesised (None before), available (None without a device)."""

    label: str
    predicted: float | None
    synthesised: float | None
    available: float | None

    @property
    def error(self) -> float | None:
        """Predicted over synthesised, minus one."""
        return self.predicted / self.synthesised - 1 if self.predicted is not None and self.synthesised else None

    @property
    def share(self) -> float | None:
        """Share of the available resource that is used, as synthesised or else as predicted."""
        used = self.predicted if self.synthesised is None else self.synthesised
        return used / self.available if used is not None and self.available else None


def ladder(
    project: ProjectRecord, data: GraphData | None, float_accuracy: Mapping[str, float] | None
) -> list[Level]:
    """The levels from the float network to the hardware, each measured, or equal in every logit to a measured one."""
    exact = project.accuracy(data)
    known = float_accuracy or {}
    no_labels = f"the labels of {project.summary['dataset']} are not available"
    levels = [
        Level("Float network", *_pair(known), "PyTorch, 32 bits, with the weights of this project", "right")
        if known else Level("Float network", None, None, "the float weights or the data are not available", "missing"),
        Level("Quantised, integer reference", *_pair(exact), "the logits in vectors/ compared with the labels", "right")
        if exact else Level("Quantised, integer reference", None, None, no_labels, "missing"),
    ]  # fmt: skip
    return [*levels, *compared_levels(project, exact)]


def compared_levels(project: ProjectRecord, exact: Mapping[str, float] | None) -> list[Level]:
    """The levels below the reference: those whose logits were all equal to its have its accuracies."""
    levels = []
    for name, key in (("C++", "csim"), ("RTL", "sim"), ("RTL of another tool", "sim_rtl")):
        report = project.reports.get(key)
        if report is None:
            if key not in UNASKED:
                levels.append(Level(name, None, None, "not run yet", "missing"))
        elif (wrong := _differing(project, report)) is None:
            levels.append(Level(name, *_pair(exact), f"all {report['logits']:,} logits equal the reference", "right"))
        else:
            levels.append(Level(name, None, None, wrong, "wrong"))
    return levels


def _pair(exact: Mapping[str, float] | None) -> tuple[float | None, float | None]:
    return (exact.get("val"), exact.get("test")) if exact else (None, None)


def _differing(project: ProjectRecord, report: dict[str, Any]) -> str | None:
    """The reason that a comparison does not prove all logits equal; None if it does."""
    expected = project.sizes["nodes"] * project.sizes["classes"]
    if report["logits"] != expected:
        return f"{report['logits']:,} of {expected:,} logits were compared"
    if report["mismatches"]:
        return f"{report['mismatches']:,} of {expected:,} logits differ"
    return None


def checks(project: ProjectRecord) -> list[Check]:
    """Every verification, run or not, with its command."""
    reports, folder = project.reports, project.directory
    found = []
    for key, name, command in (
        ("csim", "C++ compared with the reference", f"fgnas csim {folder}"),
        ("sim", "RTL compared with the reference", f"fgnas sim {folder}"),
        ("sim_rtl", "Other RTL compared with the reference", f"fgnas sim {folder} --rtl PATH"),
        ("synth", "Synthesis", f"fgnas synth {folder}"),
        ("vitis", "Vitis HLS", f"fgnas vitis {folder}"),
        ("timing", "Place and route on an ECP5, as a substitute", f"fgnas timing {folder}"),
    ):
        report = reports.get(key)
        if report is None and key in UNASKED:
            continue
        state, result = ("missing", "not run") if report is None else _RESULTS[key](project, report)
        found.append(Check(name, state, result, command))
    return found


def _compared(project: ProjectRecord, report: dict[str, Any]) -> tuple[str, str]:
    wrong = _differing(project, report)
    faults = [
        f"{report[name]} {name.replace('_', ' ')}" for name in ("failed_checks", "protocol_errors") if report.get(name)
    ]
    if report.get("status"):
        faults.append(f"status {report['status']}")
    parts = [wrong or f"{report['logits']:,} logits equal", *faults]
    if "cycles" in report:
        cycles, expected = report["cycles"], report["predicted_cycles"]
        same = cycles == expected
        parts.append(f"{cycles:,} cycles, " + ("as predicted" if same else f"predicted {expected:,}"))
        # The model predicts the generated RTL; the RTL of another tool has its own timing.
        if not same and report is project.reports.get("sim"):
            faults.append("cycles")
    return ("wrong" if wrong or faults else "right"), "; ".join(parts)


def _synthesised(project: ProjectRecord, report: dict[str, Any]) -> tuple[str, str]:
    total, over = report["total"], report.get("over", ())
    used = f"{total['lut']:,} LUT, {total['ff']:,} FF, {total['dsp']} DSP, {total['bram36']} BRAM"
    excess = f"; too many {', '.join(over)} for {report['against']}" if over else ""
    return ("wrong" if over else "right"), f"{used} for {report['family']}, {report['tool']}{excess}"


def _timed(project: ProjectRecord, report: dict[str, Any]) -> tuple[str, str]:
    met = report["fmax_mhz"] >= report["target_mhz"]
    text = f"{report['fmax_mhz']:g} MHz on {report['device']}, wanted {report['target_mhz']:g} MHz"
    return ("right" if met else "wrong"), text


def _by_vendor(project: ProjectRecord, report: dict[str, Any]) -> tuple[str, str]:
    """Every step so far: the faults of its result, or that it passed, and its resources."""
    parts, wrong = [], False
    for step, found in report["steps"].items():
        reasons = faults(found)
        wrong |= bool(reasons)
        text = f"failed ({'; '.join(reasons)})" if reasons else "passed"
        if used := found.get("used"):
            text += f" with {used['lut']:,} LUT, {used['ff']:,} FF, {used['dsp']:g} DSP, {used['bram36']:g} BRAM"
        parts.append(f"{step} {text}")
    return ("wrong" if wrong else "right"), "; ".join([*parts, report["tool"] or "Vitis HLS"])


_RESULTS = {
    "csim": _compared, "sim": _compared, "sim_rtl": _compared, "synth": _synthesised, "timing": _timed,
    "vitis": _by_vendor,
}  # fmt: skip


def resource_rows(
    predicted: Mapping[str, float], synth: dict[str, Any] | None, available: Mapping[str, float]
) -> list[ResourceRow]:
    """Predicted, synthesised and available resources; the two counts are for the same device family."""
    total = synth["total"] if synth else {}
    return [ResourceRow(label, predicted.get(name), total.get(name), available.get(name)) for name, label in RESOURCES]


def largest_modules(synth: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The instances directly below the top that use the most LUTs, by name."""
    top = next(iter(synth["instances"]))
    below = {
        path.removeprefix(f"{top}."): used for path, used in synth["instances"].items()
        if path.count(".") == top.count(".") + 1
    }  # fmt: skip
    ordered = sorted(below.items(), key=lambda item: (-item[1]["lut"], item[0]))
    return ordered[:LARGEST_MODULES]
