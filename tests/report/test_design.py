"""The model of a design's page: the pipeline and its time line, the ladder, the checks, the resources."""

import dataclasses
import json
import shutil

import pytest

from fgnas.design import Design, columns_of
from fgnas.errors import UserError
from fgnas.hardware.devices import find_device
from fgnas.hardware.pipeline.geometry import geometry
from fgnas.hardware.pipeline.latency import FINISH_CYCLES, START_CYCLES, Workload, timeline
from fgnas.hardware.pipeline.resources import characterised
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.specification import Specification
from fgnas.report.design import RowsSeen, design_page
from fgnas.report.record import PipelineRecord


@pytest.fixture(scope="module")
def record(project) -> PipelineRecord:
    return PipelineRecord.read(project)


def with_reports(record, **reports) -> PipelineRecord:
    return dataclasses.replace(record, reports=reports)


def compared(record, **changes) -> dict:
    logits = record.sizes["nodes"] * record.sizes["classes"]
    return {"nodes": record.sizes["nodes"], "logits": logits, "mismatches": 0, **changes}


def test_the_record_reads_the_graph_back_from_the_vectors(record, four_nodes) -> None:
    assert record.degrees.tolist() == four_nodes.degrees.tolist()
    assert record.non_zeros.tolist() == four_nodes.non_zeros.tolist()
    assert record.logits.shape == (4, 2) and record.reports == {}
    assert record.part == "xc7z045ffg900-2"


def test_phases_fill_the_time(record) -> None:
    page = design_page(record)
    assert page.cycles == record.price["latency_cycles"] and page.model_agrees
    assert [phase.name for phase in page.phases] == ["load", "phase 0", "phase 1", "output"]
    assert sum(phase.share for phase in page.phases) == pytest.approx(1 - (START_CYCLES + FINISH_CYCLES) / page.cycles)
    for phase in page.phases:
        boxes = [box for column in phase.columns for box in column]
        assert len(phase.strips) == len(boxes)
        assert sum(box.busiest for box in boxes) == 1
        assert max(boxes, key=lambda box: box.busy).busiest


def test_a_simulation_says_when_rows_were_taken_in(record) -> None:
    """After a simulation the time line is the simulated one, with the model's beside it."""
    plain = design_page(record)
    assert plain.rows is None and [phase.modelled for phase in plain.phases] == [phase.begin for phase in plain.phases]
    workload = Workload(record.non_zeros, record.degrees, record.summary["shape"]["degree_capacity"])
    design = Design.from_dict(record.summary["design"])
    times = timeline(geometry(columns_of([design]), GraphShape(**record.summary["shape"])), workload)
    rows = {name: stage.finishes - 1 for phase in times.phases for name, stage in phase.recorded.items()}
    begins = [phase.begin + 1 for phase in times.phases]
    report = compared(record, cycles=times.cycles, predicted_cycles=times.cycles, phase_cycles=begins)
    same = design_page(dataclasses.replace(record, reports={"sim": report}, rows=rows))
    assert same.phases == plain.phases and same.rows == RowsSeen(4 * len(rows), 4 * len(rows))

    report |= {"cycles": times.cycles + 3, "phase_cycles": [*begins[:-1], begins[-1] + 3]}
    last = list(times.phases[-1].recorded)
    late = design_page(dataclasses.replace(record, reports={"sim": report}, rows=rows | {n: rows[n] + 3 for n in last}))
    assert late.cycles == times.cycles + 3 and late.model_agrees
    assert [phase.begin - phase.modelled for phase in late.phases] == [0] * (len(times.phases) - 1) + [3]
    assert late.rows == RowsSeen(4 * len(rows), 4 * (len(rows) - len(last)))


def test_the_picture_shows_what_stands_beside_what(record) -> None:
    """Layer 0 has attention: scores are computed while H is stored and read with the edges."""
    phases = {phase.name: phase for phase in design_page(record).phases}
    titles = {name: [[box.title for box in column] for column in phase.columns] for name, phase in phases.items()}
    assert titles == {
        "load": [["load"]],
        "phase 0": [["linear 0"], ["store 0", "score 0"]],
        "phase 1": [["row maximum 0"], ["aggregate 0"], ["activate 0"], ["linear 1"], ["store 1"]],
        "output": [["aggregate 1"], ["head mean 1"], ["write 1"]],
    }
    assert phases["phase 0"].reads == ["features"] and phases["phase 0"].writes == ["H 0", "scores 0"]
    assert phases["phase 1"].reads == ["edges", "scores 0", "H 0"] and phases["phase 1"].writes == ["H 1"]
    assert phases["output"].reads == ["edges", "H 1"] and phases["output"].writes == ["logits"]
    first, second = (layer["geometry"] | layer for layer in record.summary["layers"])
    linear = phases["phase 1"].columns[3][0]
    assert (linear.across, linear.down, linear.dsp) == (second["t_in"], second["t_out"], second["linear_dsp"])
    assert linear.rows == first["act_rows"]
    assert [number.width for number in linear.numbers] == [
        second[name]["width"] for name in ("input_format", "weight_format", "value_format")
    ]


def test_the_ladder_without_labels_claims_no_accuracy(record) -> None:
    levels = design_page(with_reports(record, csim=compared(record))).ladder
    assert [(level.name, level.test, level.state) for level in levels] == [
        ("Float network", None, "missing"), ("Quantised, integer reference", None, "missing"),
        ("C++", None, "right"), ("RTL", None, "missing"),
    ]  # fmt: skip


def test_equal_logits_have_equal_accuracy(record, four_nodes) -> None:
    right = record.logits.argmax(axis=1) == four_nodes.labels
    val, test = (float(right[mask].mean()) for mask in (four_nodes.val, four_nodes.test))
    reports = {"csim": compared(record), "sim": compared(record, mismatches=1, cycles=5, predicted_cycles=5)}
    levels = design_page(with_reports(record, **reports), four_nodes, {"val": 0.25, "test": 0.75}).ladder
    assert [(level.val, level.test, level.state) for level in levels] == [
        (0.25, 0.75, "right"), (val, test, "right"), (val, test, "right"), (None, None, "wrong"),
    ]  # fmt: skip
    assert levels[3].why == "1 of 8 logits differ"


def test_a_comparison_of_some_logits_proves_nothing(record, four_nodes) -> None:
    level = design_page(with_reports(record, csim=compared(record, logits=6)), four_nodes).ladder[2]
    assert (level.val, level.state, level.why) == (None, "wrong", "6 of 8 logits were compared")


def test_what_has_not_run_is_named_with_its_command(record) -> None:
    found = {check.name: check for check in design_page(record).checks}
    assert {check.state for check in found.values()} == {"missing"}
    assert found["RTL compared with the reference"].command == f"fgnas sim {record.directory}"


@pytest.mark.parametrize(
    ("name", "report", "state"),
    [
        ("csim", {"failed_checks": 0}, "right"),
        ("csim", {"failed_checks": 1}, "wrong"),
        ("sim", {"cycles": 9, "predicted_cycles": 9, "status": 0, "protocol_errors": 0}, "right"),
        ("sim", {"cycles": 10, "predicted_cycles": 9}, "wrong"),
        ("sim", {"cycles": 9, "predicted_cycles": 9, "protocol_errors": 2}, "wrong"),
        ("sim", {"cycles": 9, "predicted_cycles": 9, "status": 4}, "wrong"),
        ("sim_rtl", {"cycles": 10, "predicted_cycles": 9}, "right"),
    ],
)
def test_a_check_is_right_only_where_nothing_is_wrong(record, name: str, report: dict, state: str) -> None:
    page = design_page(with_reports(record, **{name: compared(record, **report)}))
    assert [check.state for check in page.checks if check.state != "missing"] == [state]


@pytest.mark.parametrize(
    ("step", "found", "state", "text"),
    [
        ("csim", {"mismatches": 0, "failed_checks": 0}, "right", "csim passed"),
        ("csim", {"mismatches": 3, "failed_checks": 0}, "wrong", "csim failed (3 mismatches)"),
        ("cosim", {"status": "Fail"}, "wrong", "cosim failed (the co-simulation reports Fail)"),
        ("csynth", {"used": {"lut": 1234, "ff": 5, "dsp": 6, "bram36": 0.5}}, "right",
         "csynth passed with 1,234 LUT, 5 FF, 6 DSP, 0.5 BRAM"),
        ("csynth", {"loops": [{"function": "f", "loop": "L", "ii": 2}]}, "wrong",
         "csynth failed (loop f.L has II 2, not 1)"),
        ("impl", {"timing_met": False}, "wrong", "impl failed (clock not met)"),
    ],
)  # fmt: skip
def test_steps_of_the_vendors_tool(record, step: str, found: dict, state: str, text: str) -> None:
    page = design_page(with_reports(record, vitis={"tool": "v++ 2025.1", "steps": {step: found}}))
    check = next(check for check in page.checks if check.name == "Vitis HLS")
    assert (check.state, check.result) == (state, f"{text}; v++ 2025.1")


def test_resources_predicted_synthesised_available(record) -> None:
    predicted = {name: record.price[name] for name in ("lut", "ff", "dsp", "bram36")}
    total = {"lut": 1000, "ff": 50, "dsp": 0, "bram36": 2.5, "uram": 0}
    synth = {
        "family": "xc7", "tool": "Yosys", "total": total, "predicted": predicted,
        "instances": {"top": total, "top.a": {**total, "lut": 30}, "top.b": {**total, "lut": 80}, "top.a.x": total},
    }  # fmt: skip
    page = design_page(with_reports(record, synth=synth), device=find_device("pynq-z2"))
    lut, _, dsp, bram = page.resources
    assert (lut.predicted, lut.synthesised, lut.available) == (predicted["lut"], 1000, 53200)
    assert lut.error == pytest.approx(predicted["lut"] / 1000 - 1) and lut.share == 1000 / 53200
    assert dsp.error is None and dsp.share == 0 and bram.share == 2.5 / 140
    assert [name for name, _ in page.modules] == ["b", "a"]
    alone = design_page(record).resources[0]
    assert (alone.synthesised, alone.available, alone.share) == (None, None, None)
    assert alone.predicted == predicted["lut"]
    limited = dataclasses.replace(record, specification=Specification(lut=5000, dsp=10))
    assert [row.available for row in design_page(limited).resources[:4]] == [5000, None, 10, None]
    # Unsynthesised, a device is priced as its own family, if that was measured.
    other = design_page(record, device=find_device("zcu102"))
    assert other.family == ("xcup" if "xcup" in characterised() else "xc7")
    assert other.resources[0].share == other.resources[0].predicted / 274_080


@pytest.mark.parametrize("missing", ["report/accelerator.json", "report/price.json", "vectors/edges.bin"])
def test_a_folder_without_a_part_of_it_is_refused(project, tmp_path, missing: str) -> None:
    shutil.copytree(project, tmp_path / "p")
    (tmp_path / "p" / missing).unlink()
    with pytest.raises(UserError, match=f"{missing}.*fgnas hls"):
        PipelineRecord.read(tmp_path / "p")


def test_vectors_that_do_not_fit_are_refused(project, tmp_path) -> None:
    shutil.copytree(project, tmp_path / "p")
    path = tmp_path / "p" / "vectors" / "vectors.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "nodes": 5}))
    with pytest.raises(UserError, match="do not fit"):
        PipelineRecord.read(tmp_path / "p")


def test_the_time_line_is_that_of_the_written_accelerator(record) -> None:
    """A size changed in the project appears on its page; the design alone does not contain it."""
    summary = json.loads(json.dumps(record.summary))
    layer = summary["layers"][0]["geometry"]
    layer["act_tiles"] += 7
    page = design_page(dataclasses.replace(record, summary=summary))
    assert page.cycles > record.price["latency_cycles"] and not page.model_agrees
    box = next(box for phase in page.phases for column in phase.columns for box in column if box.title == "activate 0")
    assert any(line == f"{layer['act_tiles']} cycles a row" for line in box.lines)
