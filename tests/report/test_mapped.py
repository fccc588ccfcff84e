"""The mappings of a run's page: three projections of the front, and chains by hand."""

import dataclasses

from fgnas.report.page import run_html
from fgnas.report.run import mapped, run_page
from tests.report.test_any_system import chairs


def member(number: int, units: list[str], energy: float) -> dict:
    chain = [
        {"step": f"step {place}", "unit": unit, "latency_ms": 0.25, "energy_mj": energy / len(units)}
        for place, unit in enumerate(units)
    ]
    return {
        "design": {}, "design_hash": f"abc{number}", "setting": "default", "comfort": 3.0 + number,
        "latency_ms": 1.0 + number, "energy_mj": energy, "chain": chain,
    }  # fmt: skip


UNITS = ["cpu", "cpu", "kernel", "cpu"]


def record(count: int = 3, energy: float = 2.0):
    return dataclasses.replace(chairs(), mappings=[member(number, UNITS, energy) for number in range(count)])


def test_a_chain_by_hand() -> None:
    found = mapped(record())
    assert found.units == ["cpu", "kernel"] and found.shown == [0, 1, 2]
    chain = found.members[1].chain
    assert [(one.unit, one.steps, one.latency_ms, one.energy_mj) for one in chain] == [
        ("cpu", ["step 0", "step 1"], 0.5, 1.0), ("kernel", ["step 2"], 0.25, 0.5), ("cpu", ["step 3"], 0.25, 0.5),
    ]  # fmt: skip
    assert found.members[1].transitions == 2
    assert [one.title for one in found.projections] == [
        "Comfort against Latency", "Comfort against Energy", "Latency against Energy",
    ]  # fmt: skip
    assert all(len(one.points) == 3 for one in found.projections)


def test_without_energy_there_is_one_projection() -> None:
    found = mapped(record(energy=0.0))
    assert [one.title for one in found.projections] == ["Comfort against Latency"] and not found.has_energy
    assert "no energy" in run_html(run_page(record(energy=0.0)))


def test_the_page_of_mappings() -> None:
    html = run_html(run_page(record(90)))
    assert 'id="mapping-0" open' in html and "90 mappings" in html and "2 transitions, design abc0" in html
    assert html.count('class="mapping"') == 40 and "Chains of 40 of them are here" in html
    assert 'href="#mapping-89"' in html and html.count("<circle") > 3 * 90
    assert 'id="mappings"' not in run_html(run_page(chairs()))
