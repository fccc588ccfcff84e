"""Results of jobs that are kept in a folder: which run again, and what comes back."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch

from fgnas.engine.jobs import Workers
from fgnas.engine.kept import Kept
from fgnas.errors import UserError


@dataclass
class Job:
    """A number to double, which counts how often it is."""

    name: str
    number: float
    runs: list[str] = field(default_factory=list)


def doubled(job: Job) -> tuple[float, dict[str, torch.Tensor]]:
    job.runs.append(job.name)
    if job.number < 0:
        raise UserError("negative")
    return 2 * job.number, {"weights": torch.full((2,), job.number)}


def jobs_of(*numbers: float) -> list[Job]:
    return [Job(f"job{number:g}", number) for number in numbers]


@pytest.fixture
def workers():
    with Workers(lambda: ThreadPoolExecutor(1)) as found:
        yield found


def test_without_a_folder_nothing_is_kept(workers: Workers) -> None:
    jobs = jobs_of(1, 2)
    assert [value for value, _ in Kept().run(workers, jobs, doubled)] == [2, 4]
    assert [value for value, _ in Kept().run(workers, jobs, doubled)] == [2, 4]
    assert jobs[0].runs == ["job1", "job1"]


def test_what_is_kept_does_not_run_again(workers: Workers, tmp_path: Path) -> None:
    kept = Kept(tmp_path / "kept")
    with pytest.raises(UserError, match="negative"):
        kept.run(workers, jobs_of(1, 2, -1), doubled)
    assert sorted(path.name for path in kept.folder.iterdir()) == ["doubled-job1.pt", "doubled-job2.pt"]
    jobs = jobs_of(3, 2, 1)
    found = kept.run(workers, jobs, doubled)
    assert [value for value, _ in found] == [6, 4, 2] and found[1][1]["weights"].tolist() == [2, 2]
    assert [job.runs for job in jobs] == [["job3"], [], []]
    again = kept.run(workers, jobs, doubled)
    assert [value for value, _ in again] == [6, 4, 2] and jobs[0].runs == ["job3"]


def test_another_function_has_results_of_its_own(workers: Workers, tmp_path: Path) -> None:
    def number(job: Job) -> float:
        return job.number

    kept, jobs = Kept(tmp_path / "kept"), jobs_of(1)
    assert kept.run(workers, jobs, number) == [1] and kept.run(workers, jobs, doubled)[0][0] == 2


def test_a_damaged_file_is_named(workers: Workers, tmp_path: Path) -> None:
    kept = Kept(tmp_path / "kept")
    kept.run(workers, jobs_of(1), doubled)
    (tmp_path / "kept" / "doubled-job1.pt").write_bytes(b"no tensors")
    with pytest.raises(UserError, match=r"cannot read .*doubled-job1.pt \(.*\): delete it, and continue with --resume"):
        kept.run(workers, jobs_of(1), doubled)
