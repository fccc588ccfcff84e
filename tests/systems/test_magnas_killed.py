"""A search for mapped networks, killed in the supernet's training and twice in the search: the same bytes."""

import subprocess
import sys
from pathlib import Path

import pytest
from killing import killed, lines, same

import fgnas.api

FILES = ("trials.jsonl", "leaders.json", "best.json", "mappings.json", "supernet.pt")
PROGRAM = """
import sys
from pathlib import Path

import fgnas

if __name__ == "__main__":
    begun = (Path("runs") / sys.argv[1] / "config.json").is_file()
    given = {} if begun else {
        "system": "magnas", "platform": "board.toml", "epochs": 3, "children": 120, "leaders": 3, "seed": 1,
    }
    fgnas.search(run=sys.argv[1], resume=begun, workers=int(sys.argv[2]), **given)
"""


@pytest.mark.slow
def test_killed_three_times_it_gives_the_same_bytes_on_two_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against an undisturbed run on one worker."""
    monkeypatch.chdir(tmp_path)
    fgnas.api.measure_platform(Path("board.toml"), watts=15.0, runs=1)
    Path("program.py").write_text(PROGRAM)
    command = [sys.executable, "program.py"]
    subprocess.run([*command, "whole", "1"], check=True)
    cut = Path("runs", "cut")
    trials = cut / "trials.jsonl"
    killed([*command, "cut", "2"], cut, (cut / "supernet.pt").is_file)
    assert lines(trials) == 0
    for count in (20, 80):
        killed([*command, "cut", "2"], cut, lambda count=count: lines(trials) >= count)
    subprocess.run([*command, "cut", "2"], check=True)
    same(cut, Path("runs", "whole"), FILES)
