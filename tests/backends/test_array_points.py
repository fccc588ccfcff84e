"""The C++ of engines that find nearest points: several networks on one build, and what it refuses; engines that find
none have nothing of it."""

import re
from pathlib import Path

import numpy as np
import pytest
from arrays import random_array, random_data, random_source
from levels import quick
from point_clouds import integers_of, tied_clouds

from fgnas.backends.array import write_points, write_points_step, write_project
from fgnas.hardware.array import reference
from fgnas.hardware.array.engine import joined
from fgnas.hardware.array.points.encoded import PointSource, lowered
from fgnas.hardware.array.programme import CODES_OF_POINTS, DESCRIPTOR, OF_POINTS
from fgnas.hardware.specification import Specification
from fgnas.networks.points.canonical import canonical
from fgnas.networks.points.operations import TAILS, Aggregate, Combine, Connect, Operation, PointNetwork, Sample
from fgnas.systems.hgnas.integers import logits
from fgnas.tools.csim import run_bench, run_csim

NETWORKS: tuple[tuple[Operation, ...], ...] = (
    (Sample("nearest"), Aggregate("max", "full"), Combine(16), Aggregate("mean", "distance")),
    (Combine(24), Sample("random"), Aggregate("min", "source-relative"), Combine(24), Connect("skip")),
    (Combine(16), Sample("random"), Aggregate("sum", "distance")),
    (Sample("nearest"), Aggregate("sum", "target-relative"), Sample("nearest"), Aggregate("sum", "distance")),
)


@pytest.mark.parametrize(
    ("units", "beat_bits"),
    [(3, 128), *(pytest.param(*one, marks=pytest.mark.slow) for one in [(1, 256), (8, 512), (12, 128), (6, 256)])],
)
def test_networks_share_a_build(units: int, beat_bits: int, tmp_path: Path) -> None:
    """Networks with several k and N, one or two clouds in a start, on one engine; each network's programmes and streams
    that are wrong in one way are refused."""
    sources, clouds = [], []
    for number, (operations, points, k) in enumerate(zip(NETWORKS, (13, 20, 12, 9), (5, 7, 6, 9), strict=True)):
        data = tied_clouds(np.random.default_rng([units, number]), points, 3 + number, k)
        integers = integers_of(PointNetwork(canonical(operations, data.width_in), TAILS["small"]), data)
        given, _ = data.clouds("test")
        codes = integers.number.quantise(given[: 1 + number % 2])
        sources.append(PointSource(integers, points))
        clouds.append(codes)
        assert np.array_equal(reference.run(lowered(sources[-1], units, beat_bits).with_clouds(codes)),
                              logits(integers, given[: len(codes)]))  # fmt: skip
    engine = joined([lowered(one, units, beat_bits).engine for one in sources])
    encoded = [lowered(one, units, beat_bits, engine).with_clouds(codes)
               for one, codes in zip(sources, clouds, strict=True)]  # fmt: skip
    write_points(encoded[0], tmp_path, Specification())
    reports = [run_csim(tmp_path, quick())]
    work = tmp_path / "build" / "csim"
    assert (work / "compile.log").read_text() == ""
    for number, one in enumerate(encoded[1:]):
        write_points_step(one, tmp_path / f"{number}", Specification())
        reports.append(run_bench(tmp_path, quick(), work, vectors=tmp_path / f"{number}" / "vectors"))
    assert [(one["mismatches"], one["failed_checks"]) for one in reports] == [(0, 0)] * len(encoded)
    assert [one["logits"] for one in reports] == [3, 6, 3, 6]


def test_wrong_logits_are_found(tmp_path: Path) -> None:
    data = tied_clouds(np.random.default_rng(1), 8, 2, 3)
    integers = integers_of(PointNetwork((Sample("nearest"), Aggregate("max", "relative")), TAILS["small"]), data)
    encoded = lowered(PointSource(integers, 8), 2)
    given, _ = data.clouds("test")
    write_points(encoded.with_cloud(integers.number.quantise(given[0])), tmp_path, Specification())
    other = encoded.with_cloud(integers.number.quantise(np.roll(given[0], 1, axis=1)))
    (tmp_path / "vectors" / "features.bin").write_bytes(other.regions["features"].tobytes())
    assert run_csim(tmp_path, quick())["mismatches"] > 0


def test_an_engine_without_points_has_nothing_of_them(tmp_path: Path) -> None:
    """Neither a header, nor a field of a descriptor, nor a code."""
    rng = np.random.default_rng(0)
    data = random_data(rng)
    array = random_array(rng, random_source(rng, 2, data), data)
    write_project(array, data, tmp_path / "p")
    source = {path.name: path.read_text() for path in sorted((tmp_path / "p" / "src").iterdir())}
    text = "\n".join(source.values())
    fields = {one.name for one in OF_POINTS} - {one.name for one in DESCRIPTOR.fields}
    assert "neighbours.h" not in source and fields >= {"sample", "minus", "own_tiles"}
    for word in (*fields, *(f"{one}\\b" for one in CODES_OF_POINTS)):
        assert not re.search(rf"\bd\.{word}\b|_{word}", text, re.IGNORECASE), word
