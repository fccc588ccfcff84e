"""`--target array` of HGNAS: prices are those of what is delivered, limits are kept, a run becomes hardware."""

import json
from pathlib import Path

import numpy as np
import pytest
from point_clouds import warmed, write_clouds

import fgnas
from fgnas import cli
from fgnas.costs import violations
from fgnas.errors import UserError
from fgnas.hardware.array.cycles import total_cycles
from fgnas.hardware.array.points.encoded import PointSource, lowered
from fgnas.hardware.array.resources import engine_resources
from fgnas.networks.points.operations import TAILS, Aggregate, Combine, PointNetwork, Sample
from fgnas.systems.hgnas import Options, compose
from fgnas.systems.hgnas.arrays import ArrayTarget
from fgnas.systems.hgnas.integers import network_of
from fgnas.tasks.points import load_graphs

NETWORK = PointNetwork((Sample("nearest"), Aggregate("max", "relative"), Combine(16)), TAILS["small"])


def test_prices_are_those_of_trained_networks(tmp_path: Path) -> None:
    """Cycles, DSPs, block RAMs and flip-flops of rows of the whole space, whatever weights they have."""
    data = load_graphs(write_clouds(tmp_path))
    parts = compose(Options(dataset=data.name, target="array", multipliers=32, beat_bits=256), data)
    assert isinstance(parts.target, ArrayTarget)
    rng, compared = np.random.default_rng(250_311), 0
    while compared < 6:
        rows = parts.space.draw(4, rng)
        costs = parts.target.price(rows)
        for place, row in enumerate(rows):
            if costs["refused"][place]:
                continue
            network = parts.space.candidate(row).network
            integers = network_of(warmed(network, data, seed=compared), data, 8, passes=0)
            encoded = lowered(PointSource(integers, data.points or 0), 4, 256)
            exact = engine_resources(encoded.engine)
            assert total_cycles(encoded) == costs["latency_cycles"][place]
            assert [exact[name] for name in ("dsp", "bram36")] == [costs[name][place] for name in ("dsp", "bram36")]
            assert abs(exact["lut"] / costs["lut"][place] - 1) < 0.1  # shifts depend on scales
            compared += 1


def test_prices_do_not_depend_on_what_was_priced_before() -> None:
    rows = compose(Options()).space.draw(12, np.random.default_rng(3))
    one, other = (compose(Options(target="array")).target for _ in range(2))
    backwards = other.price(rows[::-1])
    for name, values in one.price(rows).items():
        assert np.array_equal(values, backwards[name][::-1]), name


def test_limits_say_by_how_much_they_are_broken() -> None:
    parts = compose(Options(target="array", latency_ms=0.01, lut=1000, dsp=8, bram36=3))
    assert isinstance(parts.target, ArrayTarget)
    costs = parts.target.of([NETWORK])
    told = violations(costs, parts.limits, 0)
    assert [line.split()[0] for line in told] == ["latency", "lut", "dsp", "bram36"]
    assert "dsp 64 is over 8" in told and all("is over" in line for line in told)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "array", "memory_mb": 1.0}, "--memory-mb is for a measured device: an array's memories"),
        ({"target": "array", "predictor": "ours"}, "--predictor is for a measured device"),
        ({"multipliers": 64}, "--multipliers is for an array: give --target array"),
        ({"lut": 64}, "--lut is for an array"),
        ({"latency_ms": 1.0}, "--latency-ms needs a device"),
        ({"target": "array", "multipliers": 60}, "whole units of 8"),
        ({"target": "array", "beat_bits": 64}, "memory port"),
        ({"target": "array", "bits": 16}, "2 to 9 bits"),
    ],
)
def test_options_of_another_target_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        compose(Options(**options))  # type: ignore[arg-type]


def test_a_network_is_priced_from_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.json").write_text(json.dumps(NETWORK.to_dict()))
    words = ["price", str(tmp_path / "net.json"), "--target", "array", "--multipliers", "32", "--latency-ms", "0.01"]
    assert cli.main([*words, "--json", "-q"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == fgnas.price_on_array(tmp_path / "net.json", multipliers=32, latency_ms=0.01)
    assert found["dsp"] == 32 and found["violations"][0].startswith("latency")
    assert cli.main([*words, "-q"]) == 0 and "block RAM" in capsys.readouterr().out
    assert cli.main(["price", str(tmp_path / "net.json"), "--multipliers", "32", "-q"]) == 2
    assert "give --target array" in capsys.readouterr().err


@pytest.mark.slow
def test_a_search_becomes_hardware(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Searched, written, run in C++ and RTL, shown; with the cycles that it was found for."""
    monkeypatch.chdir(tmp_path)
    data = write_clouds(tmp_path)
    run = fgnas.search(
        data, system="hgnas", target="array", multipliers=32, beat_bits=128, latency_ms=0.1, children=20, leaders=2,
        retrain_seeds=1, epochs=2, own_epochs=1, retrain_epochs=3, workers=1, run="found",
    )  # fmt: skip
    assert set(run.best["delivered"]) == {"float", "quantised"}
    assert run.best["costs"]["latency_cycles"] <= 10_000
    design = run.design()
    assert isinstance(design, fgnas.PointDesign) and design.delivered.size.multipliers == 32
    project = run.write(tmp_path / "p")
    found = project.simulate()
    assert found["mismatches"] == found["cycle_difference"] == found["status"] == 0
    assert found["cycles"] == run.best["costs"]["latency_cycles"]
    assert project.csim()["mismatches"] == 0
    assert "Network of points" in project.report().read_text() and run.report().is_file()
    accuracy = design.lower().accuracy()
    assert accuracy == run.best["delivered"]
