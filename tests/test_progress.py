"""Progress: bars and moving lines on a terminal, plain lines elsewhere, nothing without a display; and Ctrl-C."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import shelves

import fgnas
from fgnas import api, progress, systems
from fgnas.api import rankings
from fgnas.cli import main


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def soon(monkeypatch):
    """Every step is shown almost at once."""
    monkeypatch.setattr(progress, "QUIET_S", 0.01)
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.01)


def wait_for(stream: io.StringIO, text: str) -> None:
    """Wait until the stream contains a text; the test's time limit ends the wait."""
    while text not in stream.getvalue():
        time.sleep(0.01)


def test_plain_lines(soon):
    stream = io.StringIO()
    with progress.shown(stream), progress.step("compile"):
        wait_for(stream, "compile: 0 s\ncompile: 0 s\n")
    assert "\x1b" not in stream.getvalue() and "\r" not in stream.getvalue()


def test_a_moving_line_on_a_terminal(soon, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with progress.shown(stream), progress.step("compile", 50):
        wait_for(stream, "s left")
    assert "\x1b" in stream.getvalue()


def test_a_short_step_shows_nothing():
    stream = io.StringIO()
    with progress.shown(stream), progress.step("compile"):
        pass
    assert stream.getvalue() == ""


def test_only_the_outermost_step_is_shown(soon):
    stream = io.StringIO()
    with progress.shown(stream), progress.step("seed 1 of 5"), progress.step("train"):
        wait_for(stream, "seed 1 of 5: 0 s\n" * 3)
    assert "train" not in stream.getvalue()


def test_without_a_display_nothing_is_shown(soon, capsys):
    with progress.step("compile"):
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")


def count_to_three(stream, monkeypatch, unit=""):
    """Three parts of ten seconds each."""
    clock = iter([0.0, 10.0, 20.0])
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    with progress.shown(stream), progress.counted("search", 3, unit) as count:
        for done in (1, 2, 3):
            count.show(done, f"best {done} [%]")
        progress.say("one [bold]plain[/bold] line")


def test_a_count_in_plain_lines(monkeypatch):
    stream = io.StringIO()
    count_to_three(stream, monkeypatch)
    assert stream.getvalue().splitlines() == [
        "search: 1/3, best 1 [%]", "search: 2/3, best 2 [%], 10 s left", "search: 3/3, best 3 [%]",
        "one [bold]plain[/bold] line",
    ]  # fmt: skip


def test_a_count_leaves_lines_out(monkeypatch):
    """The first and the last state are shown; between them, one line in ten seconds."""
    stream = io.StringIO()
    clock = iter([0.0, 9.9, 10.0, 12.0])
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    with progress.shown(stream), progress.counted("retrain", 4, "rounds") as count:
        for done in (1, 2, 3, 4):
            count.show(done)
    assert stream.getvalue() == "retrain: 1/4 rounds\nretrain: 3/4 rounds, 5 s left\nretrain: 4/4 rounds\n"


def test_a_count_on_a_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    stream = Terminal()
    with progress.shown(stream), progress.counted("search", 3, "rounds") as count:
        count.show(2, "best [%]")
        progress.say("one [bold]plain[/bold] line")
        count.show(3, "best [%]")
    text = stream.getvalue()
    assert "\x1b" in text and "one [bold]plain[/bold] line" in text
    assert "2/3 rounds, best [%]" in text and "3/3 rounds, best [%]" in text
    assert text.index("2/3") < text.index("plain") < text.rindex("3/3")


def test_a_count_within_a_step_and_without_a_display_shows_nothing(capsys):
    stream = io.StringIO()
    with progress.shown(stream), progress.step("compile"), progress.counted("search", 1) as count:
        count.show(1)
    with progress.counted("search", 1) as count:
        count.show(1)
        progress.say("a line")
    assert stream.getvalue() == "" and capsys.readouterr() == ("", "")


def test_one_display_after_the_other(soon):
    """A count, or an error in one, leaves the display free."""
    stream = io.StringIO()
    with progress.shown(stream):
        with pytest.raises(ValueError), progress.counted("search", 1):
            raise ValueError
        with progress.step("compile"):
            wait_for(stream, "compile: 0 s")


def test_time_left(tmp_path):
    assert progress.remaining(100.0, 103.0, 10.0) == "3 s, about 7 s left"
    assert progress.remaining(100.0, 112.0, 10.0) == "12 s"
    assert progress.remaining(100.0, 112.0, None) == "12 s"
    (tmp_path / "sim.json").write_text('{"run_seconds": 4.5}')
    assert progress.seconds_before(tmp_path / "sim.json", "run_seconds") == 4.5
    assert progress.seconds_before(tmp_path / "sim.json", "other") is None
    assert progress.seconds_before(tmp_path / "gone.json", "run_seconds") is None


def test_rank_says_what_it_waits_for(soon, tmp_path, monkeypatch, capsys):
    """Every part of it that may take long, of the toy system whose parts are slowed down."""
    monkeypatch.setitem(systems.SYSTEMS, "shelves", "shelves")
    monkeypatch.chdir(tmp_path)
    fgnas.search(system="shelves", method="random", children=5, leaders=2, workers=1, run="a")

    def slowly(function):
        return lambda *given: time.sleep(0.1) or function(*given)

    monkeypatch.setattr(shelves, "compose", slowly(shelves.compose))
    monkeypatch.setattr(rankings, "uniform", slowly(rankings.uniform))
    monkeypatch.setattr(shelves.Workbench, "prepare", lambda self, store, workers: time.sleep(0.1))
    assert main(["rank", "a", "--networks", "5", "--workers", "1", "--json"]) == 0
    told = capsys.readouterr().err
    for part in ("load the data and the models", "draw 5 networks within the limits", "prepare what every score needs"):
        assert f"{part}: 0 s" in told


def test_evaluate_shows_its_progress_unless_quiet(soon, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (design,) = fgnas.sample(1, seed=1)
    Path("one.json").write_text(json.dumps(design.to_dict()))
    assert main(["evaluate", "one.json", "--seeds", "2", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "seed 1 of 2: " in err and "s left" in err and json.loads(out)["seeds"] == 2
    assert main(["evaluate", "one.json", "--seeds", "1", "--json", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "command", [["csim", "a b"], ["sim", "x"], ["synth", "x"], ["evaluate", "x"], ["hls", "x.json"]]
)
def test_interrupted_it_says_how_to_begin_again(command, monkeypatch, capsys):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    for name in ("Project.csim", "Project.simulate", "Project.synthesise", "Design.load"):
        kind, _, method = name.partition(".")
        monkeypatch.setattr(getattr(api, kind), method, interrupt)
    assert main(command) == 130
    quoted = " ".join(f"'{word}'" if " " in word else word for word in command)
    assert capsys.readouterr().err == f"fgnas: interrupted; start again with: fgnas {quoted}\n"


@pytest.mark.slow
def test_a_simulation_interrupted_by_a_real_signal(tmp_path, four_nodes):
    """Ctrl-C while Verilator builds: one line, exit code 130, and the same command then works."""
    (design,) = fgnas.sample(1, seed=2)
    design.train(four_nodes).lower(four_nodes).write(tmp_path / "p")
    command = [sys.executable, "-m", "fgnas.cli", "sim", str(tmp_path / "p")]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, **pipes, text=True, start_new_session=True)
    while not (tmp_path / "p" / "build" / "sim").is_dir() and process.poll() is None:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to everything that runs
    _, err = process.communicate()
    assert process.returncode == 130 and "Traceback" not in err
    assert err.splitlines()[-1] == f"fgnas: interrupted; start again with: fgnas sim {tmp_path / 'p'}"
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
