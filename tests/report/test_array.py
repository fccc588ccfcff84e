"""The model of the page of a design on an array, and its HTML."""

from pathlib import Path

import numpy as np
import pytest
from arrays import random_source_of
from support import Choices, random_design, random_graph

from fgnas.backends.array import write_project
from fgnas.errors import UserError
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.placing import fit
from fgnas.hardware.array.reference import run
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.report.array import array_page
from fgnas.report.make import report_project
from fgnas.report.page import project_html
from fgnas.report.record import ArrayRecord
from fgnas.tasks.nodes import GraphData
from fgnas.tools.simulate import run_simulation

Written = tuple[Path, Accelerator, GraphData]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """An array of three passes with a graph of 30 nodes, behind a port of 256 bits."""
    rng = np.random.default_rng(3)
    data = random_graph(rng, 30, 12, 4, 60)
    gcn: Choices = {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1}
    source = random_source_of(rng, random_design(rng, 2, ({**gcn, "d": 24}, gcn)), data)
    folder = tmp_path_factory.mktemp("array") / "project"
    write_project(fit(source, data, Arrangement(2, (1,), beat_bits=256, passes=3)), data, folder)
    return folder, source, data


def test_the_record_puts_logits_in_the_order_of_the_nodes(written: Written, tmp_path: Path) -> None:
    """They are those of the integer reference, whatever the deal; another graph is recognised."""
    folder, source, data = written
    record = ArrayRecord.read(folder)
    assert record.has_graph(data)
    assert not record.has_graph(random_graph(np.random.default_rng(4), 30, 12, 4, 61))
    other = fit(source, data, Arrangement(3))
    write_project(other, data, tmp_path / "other")
    expected = run(encode_array(other, data))
    assert np.array_equal(ArrayRecord.read(tmp_path / "other").logits, expected)
    assert np.array_equal(record.logits, expected)


def test_phases_fill_the_time_and_name_what_is_needed(written: Written) -> None:
    folder, _, data = written
    record = ArrayRecord.read(folder)
    page = array_page(record, data)
    assert sum(phase.predicted for phase in page.phases) == record.price["latency_cycles"]
    assert sum(phase.share for phase in page.phases) == pytest.approx(1)
    needed = sum(phase.busy * phase.predicted for phase in page.phases) * record.price["multipliers"]
    assert needed == pytest.approx(record.price["multiplications"])
    assert {phase.simulated for phase in page.phases} == {None}
    facts = {row.label: row for row in page.against}
    work = facts["Multiplications that the network needs"]
    assert work.array == work.pipeline
    assert facts["LUT"].array and facts["LUT"].pipeline


def test_no_pipeline_stands_beside_scores_that_it_does_not_run(tmp_path: Path) -> None:
    """The scores of linear need a multiplication for each feature of a node, not two."""
    rng = np.random.default_rng(6)
    data = random_graph(rng, 30, 12, 4, 60)
    needed = []
    for attention, t_attn in (("linear", None), ("gat", 1)):
        scored: Choices = {"attention": attention, "aggregation": "add", "t_attn": t_attn, "k": 1}
        source = random_source_of(np.random.default_rng(6), random_design(rng, 2, ({**scored, "d": 9}, scored)), data)
        write_project(fit(source, data, Arrangement(2, (1,))), data, tmp_path / attention)
        page = array_page(ArrayRecord.read(tmp_path / attention), data)
        assert bool(page.against) == (attention == "gat")
        needed.append({row.name: round(row.busy * row.predicted * 16) for row in page.phases})
    assert (needed[0]["score 0"], needed[1]["score 0"]) == (30 * 9, 2 * 30 * 9)


def test_the_page_shows_a_simulation(written: Written) -> None:
    """Every phase beside its prediction, and the level of the RTL in the ladder."""
    folder, _, data = written
    run_simulation(folder)
    page = array_page(ArrayRecord.read(folder))
    assert [phase.simulated for phase in page.phases] == [phase.predicted for phase in page.phases]
    assert next(level for level in page.ladder if level.name == "RTL").state == "right"
    html = project_html(page)
    assert "Beside the pipeline" not in html and "combine 0" in html
    assert "Beside the pipeline" in report_project(folder, data=data).read_text()


def test_damaged_vectors_are_named(written: Written) -> None:
    folder, _, _ = written
    (folder / "vectors" / "order.bin").write_bytes(b"\0" * 8)
    with pytest.raises(UserError, match=r"do not fit their vectors\.json"):
        report_project(folder)
