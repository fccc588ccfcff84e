"""The Makefile: its variables are the options' names in capitals, and an unknown one is an error."""

import argparse
import importlib
import os
import re
import subprocess
from pathlib import Path

import pytest

from fgnas import systems
from fgnas.cli import parser

ROOT = Path(__file__).parents[1]
HLS = "fgnas hls 'latest' --design 'best' --out 'hls/best'"


def dry(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The commands that make would run; works inside make too."""
    own = {"PATH": os.environ["PATH"]}
    return subprocess.run(["make", "-n", *arguments], cwd=ROOT, env=own, capture_output=True, text=True, check=False)


def options_of(command: str, system: str = systems.DEFAULT) -> set[str]:
    """The long options of a command, of a search those of a system."""
    commands = next(action for action in parser(system)._actions if isinstance(action, argparse._SubParsersAction))
    actions = commands.choices[command]._actions
    return {name for action in actions for name in action.option_strings if name.startswith("--")}


SEARCHED = set().union(*(options_of("search", name) for name in systems.names()))


@pytest.mark.parametrize("option", sorted(SEARCHED - {"--help", "--json", "--quiet"}))
def test_every_option_of_search_is_a_variable(option: str) -> None:
    variable = option.removeprefix("--").replace("-", "_").upper()
    words = dry("search", f"{variable}=x").stdout.split()
    value = [] if option in ("--resume", "--normalise", "--distinct", "--paired") else ["'x'"]
    assert words[words.index("search") :] == ["search", option, *value]


@pytest.mark.parametrize("option", sorted(options_of("map") - {"--help", "--json", "--quiet"}))
def test_every_option_of_map_is_a_variable(option: str) -> None:
    variable = option.removeprefix("--").replace("-", "_").upper()
    words = dry("map", "PLATFORM=p", "MODEL=m", f"{variable}=x").stdout.split()
    assert words[words.index("map") :] == ["map", "'p'", "'m'", option, *([] if option == "--shortcuts" else ["'x'"])]


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["search"], "fgnas search"),
        (["search", "RESUME=1", "RUN=mine"], "fgnas search --run 'mine' --resume"),
        (["search", "RESUME=0", "RUN=mine"], "fgnas search --run 'mine'"),
        (["hls", "FPGA=u50", "CLOCK_MHZ=150"], HLS + " --fpga 'u50' --clock-mhz '150'"),
        (["sim", "DESIGN=2", "RTL=other"], "fgnas sim 'hls/2' --rtl 'other'"),
        (["synth", "FAMILY=xcup"], "fgnas synth 'hls/best' --family 'xcup'"),
        (["map", "PLATFORM=xavier", "MODEL=b0", "LATENCY_MS=27", "SHORTCUTS=1"],
         "fgnas map 'xavier' 'b0' --latency-ms '27' --shortcuts"),
        (["platform", "WATTS=6"], "fgnas platform --out 'platform.toml' --watts '6'"),
        (["platform", "CPU=1", "KERNELS=sum.json max.json"],
         "fgnas platform --out 'platform.toml' --cpu --kernel 'sum.json' --kernel 'max.json'"),
        (["board", "BOARD=mine.toml", "SDRAM=1"], "fgnas board 'hls/best' --board 'mine.toml' --sdram"),
        (["run", "PORT=/dev/ttyUSB0"], "fgnas run 'hls/best' --port '/dev/ttyUSB0'"),
        (["timing", "SEEDS=3", "SPEED=8"], "fgnas timing 'hls/best' --seeds '3' --speed '8'"),
    ],
)  # fmt: skip
def test_what_make_runs(arguments: list[str], command: str) -> None:
    lines = dry(*arguments).stdout.splitlines()
    assert command in [" ".join(line.split()).removeprefix(".venv/bin/") for line in lines]


def test_every_variable_that_a_target_reads_may_be_given() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    read = {name for names in re.findall(r"call options?,([A-Z_ ]+)", text) for name in names.split()}
    assert {"ROWS", "COUNT", "SEEDS"} <= read
    for name in sorted(read):
        assert dry("help", f"{name}=x").returncode == 0, name


@pytest.mark.parametrize(("arguments", "sizes"), [
    ([], ["120", "6", "3", "100", "400"]),
    (["CHILDREN=9", "SEED=4"], ["9", "6", "3", "100", "400"]),
    (["RESUME=0"], ["120", "6", "3", "100", "400"]),
    (["DATASET=cora"], []), (["SYSTEM=g-cos"], []), (["RESUME=1"], []), (["DATASET=cora", "CHILDREN=9"], ["9"]),
])  # fmt: skip
def test_all_searches_little_on_the_embedded_data_alone(arguments: list[str], sizes: list[str]) -> None:
    """The sizes that make gives to the search inside: what is asked for goes first."""
    (line,) = (line for line in dry("all", *arguments).stdout.splitlines() if ".venv/bin/fgnas search" in line)
    words = line.split()
    given = ("--children", "--leaders", "--retrain-seeds", "--epochs", "--retrain-epochs")
    assert [words[words.index(name) + 1].strip("'") for name in given if name in words] == sizes


def test_the_sizes_of_all_are_those_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    sizes = importlib.import_module("first_search").SIZES["small"]
    (line,) = (line for line in dry("all").stdout.splitlines() if line.startswith(".venv/bin/fgnas search"))
    words = line.replace("'", "").split()[2:]
    assert words == [word for name, size in sizes.items() for word in (f"--{name.replace('_', '-')}", str(size))]


def test_all_makes_everything_in_order() -> None:
    lines = [line for line in dry("all").stdout.splitlines() if line.startswith(".venv/bin/fgnas")]
    assert [line.split()[1] for line in lines] == ["search", "hls", "csim", "sim", "report"]


def test_a_misspelt_variable_is_refused_by_name() -> None:
    done = dry("search", "LATENCY=1.0")
    assert done.returncode == 2 and "LATENCY is not a variable" in done.stderr and "LATENCY_MS" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "name"), [(["run"], "PORT"), (["map"], "PLATFORM"), (["map", "PLATFORM=xavier"], "MODEL")]
)
def test_a_variable_that_is_needed_is_asked_for_by_name(arguments: list[str], name: str) -> None:
    done = dry(*arguments)
    assert done.returncode == 2 and f"{name} is needed: make {arguments[0]}" in done.stderr
