"""The memory of trainings: complete results come back, incomplete ones do not, and other code has its own entries."""

import dataclasses
import importlib
from pathlib import Path

import numpy as np
import pytest
from module_imports import MODULES, PACKAGE, reached

from fgnas.network import LayerParameters, Network
from fgnas.networks.training import Recipe, Trained
from fgnas.systems.fgnas.jobs import Job, Result
from fgnas.systems.fgnas.space import find_space

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def memory(monkeypatch):
    pytest.importorskip("diskcache", reason="needs diskcache: pip install 'fgnas[dev]'")
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("memory")


@pytest.fixture
def job() -> Job:
    space = find_space("fgnas", dsp=10)
    design = space.candidate(space.draw(1, np.random.default_rng(0))[0])
    return Job("four", "abc", design.architecture(), 7, 8, Recipe(), (design,))


def result(job: Job) -> Result:
    layer = LayerParameters(np.array([[[1, 2]]], np.float32), np.array([3], np.float32))
    return Result(Trained(Network((layer,)), 0.5, 3), [0.25] * len(job.designs))


def test_a_result_comes_back_to_another_process(memory, job, tmp_path) -> None:
    memory.Memory(tmp_path).keep(job, result(job))
    found = memory.Memory(tmp_path).result(job)
    assert (found.val, found.trained.val, found.trained.epoch) == ([0.25], 0.5, 3)
    assert (found.trained.network.layers[0].weight == [[[1, 2]]]).all()


def test_a_score_of_zero_is_a_score(memory, job, tmp_path) -> None:
    kept = memory.Memory(tmp_path)
    kept.keep(job, dataclasses.replace(result(job), val=[0.0]))
    assert kept.result(job).val == [0.0]


def test_a_job_with_more_designs_or_another_seed_is_unknown(memory, job, tmp_path) -> None:
    kept = memory.Memory(tmp_path)
    kept.keep(job, result(job))
    space = find_space("fgnas", dsp=10)
    other = space.candidate(space.draw(1, np.random.default_rng(1))[0])
    larger = dataclasses.replace(job, designs=(*job.designs, other))
    assert kept.result(larger) is None and kept.trained(larger) is not None
    assert kept.trained(dataclasses.replace(job, seed=8)) is None


def test_other_code_does_not_find_it(memory, job, tmp_path, monkeypatch) -> None:
    memory.Memory(tmp_path).keep(job, result(job))
    monkeypatch.setattr(memory, "digest", lambda parts: "another")
    assert memory.Memory(tmp_path).trained(job) is None


def test_a_digest_names_only_code_that_exists(memory) -> None:
    assert memory.digest(memory.SCORING) != memory.digest(memory.TRAINING)
    with pytest.raises(FileNotFoundError):
        memory.digest(["no-such-file.py"])


def names_of(parts) -> set[str]:
    """The modules of files and folders of the package."""
    places = [PACKAGE / part for part in parts]
    return {name for name, path in MODULES.items() if path in places or any(one in places for one in path.parents)}


def unlisted(memory, listed, start: str) -> set[str]:
    """Modules that a module reaches, and that no list names."""
    around, (first,) = names_of(memory.AROUND), names_of([start])
    return reached([first], around | names_of(memory.KINDS)) - around - names_of(listed)


def test_lists_name_all_code_that_numbers_depend_on(memory) -> None:
    assert unlisted(memory, memory.TRAINING, memory.TRAINED) == set()
    assert unlisted(memory, memory.SCORING, memory.SCORED) == set()


def test_a_module_that_a_list_lacks_is_found(memory) -> None:
    for part, missing in (("hardware/arithmetic.py", "fgnas.hardware.arithmetic"),
                          ("tasks/sampling.py", "fgnas.tasks.sampling"),
                          ("hardware/integer", "fgnas.hardware.integer.interpreter")):  # fmt: skip
        assert missing in unlisted(memory, [one for one in memory.SCORING if one != part], memory.SCORED)


def test_lists_name_no_more(memory) -> None:
    """Every file that is named is reached, and what is left out is imported somewhere."""
    leaves, apart = names_of(memory.AROUND) | names_of(memory.KINDS), (*memory.KINDS, "networks/__init__.py")
    for listed, start in ((memory.TRAINING, memory.TRAINED), (memory.SCORING, memory.SCORED)):
        found = reached(names_of([start]), leaves)
        assert [part for part in listed if not names_of([part]) & found and part not in apart] == []
    assert names_of(memory.AROUND) <= reached(names_of([memory.SCORED]), names_of(memory.KINDS))


def test_the_kinds_round_in_the_files_that_are_listed(memory) -> None:
    """The attribute `rounding` is defined in the files of the kinds themselves."""
    from fgnas.hardware.kinds import KINDS

    for kind in KINDS.values():
        assert MODULES[type(kind).__module__] in [PACKAGE / part for part in memory.KINDS]
        assert "rounding" in vars(type(kind))
