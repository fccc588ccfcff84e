"""A search in its own processes, killed three times, gives the same bytes as an uninterrupted one."""

import json
import subprocess
import sys

import pytest
from killing import killed, lines, same

PROGRAM = """
import sys
from pathlib import Path

import fgnas
from fgnas.engine import survey

if __name__ == "__main__":
    survey.SURVEY_DRAWS = 2_000
    folder, workers = Path(sys.argv[1]), int(sys.argv[2])
    begun = (folder / "config.json").is_file()
    fgnas.search(
        "digits", latency_ms=1.5, dsp=20, children=100, leaders=2, retrain_seeds=1, epochs=2, run=folder.name,
        runs=folder.parent, workers=workers, resume=begun,
    )
"""


@pytest.mark.slow
def test_killed_three_times_and_resumed(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    subprocess.run([sys.executable, program, tmp_path / "whole", "1"], check=True)
    cut = tmp_path / "cut"
    command = [sys.executable, program, cut, "2"]
    for _ in range(3):
        before = lines(cut / "trials.jsonl")
        killed(command, cut, lambda before=before: lines(cut / "trials.jsonl") >= before + 10)
    subprocess.run(command, check=True)
    same(cut, tmp_path / "whole", ("trials.jsonl", "leaders.json", "best.json", "pareto.json"))
    assert json.loads((cut / "best.json").read_text())["dataset"] == "digits"
