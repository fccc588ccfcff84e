"""Points of the array's modules: what a run of Yosys measures together is what it measures one by one."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from arrays import random_data, random_source

from fgnas.hardware.array.area import UNIT
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.lowering import ArrayAccelerator
from fgnas.hardware.array.placing import fit
from fgnas.laboratory import array as laboratory
from fgnas.laboratory.bench import Batch


def batch() -> Batch[ArrayAccelerator]:
    """Units that finish whole words, parts of them, and ones that keep partial sums and add own rows."""
    rng = np.random.default_rng(5)
    data = random_data(rng)
    array = fit(random_source(rng, 2, data), data, Arrangement(2))
    plain = array.engine
    engines = (
        replace(plain, finished=8), replace(plain, finished=4),
        replace(plain, finished=8, partial_words=64, residual=True),
    )  # fmt: skip
    return Batch(UNIT, tuple(replace(array, engine=engine) for engine in engines))


def test_every_point_of_a_batch_has_its_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Projects leave out what their engines do not have; together, all that any of them has is read once."""
    given: list[list[str]] = []

    def stopped(files: list[str], *_: object) -> None:
        given.append(files)
        raise InterruptedError

    monkeypatch.setattr(laboratory, "synthesise", stopped)
    with pytest.raises(InterruptedError):
        laboratory._instances(batch(), "xc7", tmp_path)
    names = [Path(name).stem for name in given[0]]
    assert len(set(names)) == len(names) and names[:2] == ["fgnas_pkg", "array_pkg"]
    assert {"array_unit_parts", "array_unit_collect", "array_unit_partial", "array_unit_residual"} < set(names)
    assert all((tmp_path / name).is_file() for name in given[0])


@pytest.mark.slow
def test_units_of_all_kinds_are_measured_together(tmp_path: Path) -> None:
    whole = batch()
    together = laboratory._instances(whole, "xc7", tmp_path)
    alone = [laboratory._instances(Batch(UNIT, (one,)), "xc7", tmp_path)[0] for one in whole.points]
    assert [one["ff"] for one in together] == [one["ff"] for one in alone]
    assert len({one["ff"] for one in alone}) == 3 and min(one["lut"] for one in alone) > 0
