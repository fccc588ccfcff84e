"""What is proven of a design: accuracies from float to hardware, checks that ran or did not, and resources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.report.record import ProjectRecord
from fgnas.tasks.nodes import GraphData
from fgnas.tools.vitis import has_fault

RESOURCES = (("lut", "LUT"), ("ff", "FF"), ("dsp", "DSP"), ("bram36", "Block RAM (36 Kb)"))
LARGEST_MODULES = 12
UNASKED = ("sim_rtl",)
"""Checks that are shown where they ran, and not missed where they did not."""


@dataclass(frozen=True)
class Rung:
    """One rung of the accuracy ladder: where an accuracy comes from, and why it holds; None where it is not known."""

    name: str
    val: float | None
    test: float | None
    why: str
    state: str


@dataclass(frozen=True)
class Check:
    """One verification: what it says, and the command that runs it. `state` is right, wrong or missing."""

    name: str
    state: str
    result: str
    command: str


@dataclass(frozen=True)
class ResourceRow:
    """One resource: predicted, synthesised (None until it is), available (None without a device)."""

    label: str
    predicted: float
    synthesised: float | None
    available: float | None

    @property
    def error(self) -> float | None:
        """Predicted over synthesised, less one."""
        return self.predicted / self.synthesised - 1 if self.synthesised else None

    @property
    def share(self) -> float | None:
        """What is used of what there is: synthesised, else predicted."""
        used = self.predicted if self.synthesised is None else self.synthesised
        return used / self.available if self.available else None


def accuracies(logits: NDArray[np.int64], data: GraphData) -> dict[str, float]:
    """Accuracy on the validation and test nodes, of logits in which the lowest index wins among equals."""
    right = logits.argmax(axis=1) == data.labels
    return {split: float(right[getattr(data, split)].mean()) for split in ("val", "test")}


def ladder(
    project: ProjectRecord, data: GraphData | None, float_accuracy: Mapping[str, float] | None
) -> list[Rung]:
    """From the float network to the hardware: each rung measured, or equal in every logit to one that is."""
    exact = accuracies(project.logits, data) if data is not None and data.nodes == len(project.logits) else None
    known = float_accuracy or {}
    no_labels = f"the labels of {project.summary['dataset']} are not at hand"
    rungs = [
        Rung("Float network", *_pair(known), "PyTorch, 32 bits, with the weights of this project", "right")
        if known else Rung("Float network", None, None, "the float weights or the data are not at hand", "missing"),
        Rung("Quantised, integer reference", *_pair(exact), "the logits in vectors/ against the labels", "right")
        if exact else Rung("Quantised, integer reference", None, None, no_labels, "missing"),
    ]  # fmt: skip
    for name, key in (("C++", "csim"), ("RTL", "sim"), ("RTL of another tool", "sim_rtl")):
        report = project.reports.get(key)
        if report is None:
            if key not in UNASKED:
                rungs.append(Rung(name, None, None, "not run yet", "missing"))
        elif (wrong := _differing(project, report)) is None:
            rungs.append(Rung(name, *_pair(exact), f"all {report['logits']:,} logits equal the reference", "right"))
        else:
            rungs.append(Rung(name, None, None, wrong, "wrong"))
    return rungs


def _pair(exact: Mapping[str, float] | None) -> tuple[float | None, float | None]:
    return (exact["val"], exact["test"]) if exact else (None, None)


def _differing(project: ProjectRecord, report: dict[str, Any]) -> str | None:
    """Why a comparison does not show that all logits are equal; None where it does."""
    expected = project.sizes["nodes"] * project.sizes["classes"]
    if report["logits"] != expected:
        return f"{report['logits']:,} of {expected:,} logits were compared"
    if report["mismatches"]:
        return f"{report['mismatches']:,} of {expected:,} logits differ"
    return None


def checks(project: ProjectRecord) -> list[Check]:
    """What was verified, and what was not, with the command that does it."""
    reports, folder = project.reports, project.directory
    found = []
    for key, name, command in (
        ("csim", "C++ against the reference", f"fgnas csim {folder}"),
        ("sim", "RTL against the reference", f"fgnas sim {folder}"),
        ("sim_rtl", "Other RTL against the reference", f"fgnas sim {folder} --rtl PATH"),
        ("synth", "Synthesis", f"fgnas synth {folder}"),
        ("vitis", "Vitis HLS", f"fgnas vitis {folder}"),
        ("timing", "Place and route on an ECP5, a stand-in", f"fgnas timing {folder}"),
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
        # Another tool's RTL has its own timing: the model speaks of ours.
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
    """Every step so far: where something differs, what; else what it used, and how its clock came out."""
    parts, wrong = [], False
    for step, found in report["steps"].items():
        fault = has_fault(found) or found.get("timing_met") is False
        wrong |= fault
        text = "differs" if has_fault(found) else "clock not met" if fault else "passed"
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
    """Predicted, synthesised, available; both counts for the same family of devices."""
    total = synth["total"] if synth else {}
    return [ResourceRow(label, predicted[name], total.get(name), available.get(name)) for name, label in RESOURCES]


def largest_modules(synth: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The instances right below the top that take most LUTs, by name."""
    top = next(iter(synth["instances"]))
    below = {
        path.removeprefix(f"{top}."): used for path, used in synth["instances"].items()
        if path.count(".") == top.count(".") + 1
    }  # fmt: skip
    ordered = sorted(below.items(), key=lambda item: (-item[1]["lut"], item[0]))
    return ordered[:LARGEST_MODULES]
