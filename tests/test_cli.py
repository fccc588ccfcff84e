"""The command line: what it prints, its exit codes, and one line for every bad input."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fgnas.api import pricing
from fgnas.cli import main
from fgnas.commands.show import as_here

TIGHT = ["--dataset", "digits", "--latency-ms", "2", "--dsp", "100", "--children", "6", "--workers", "2"]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def call(capsys):
    """Runs a command; returns its exit code, stdout and stderr."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def designs(call, elsewhere):
    """Three random designs in a file, and the first of them in another."""
    _, out, _ = call("sample", "--dataset", "digits", "--seed", 1, "-n", 3)
    (elsewhere / "some.jsonl").write_text(out)
    (elsewhere / "one.json").write_text(out.splitlines()[0])
    return [json.loads(line) for line in out.splitlines()]


def refused(result, *parts):
    code, out, err = result
    assert code == 2 and out == ""
    last = err.strip().splitlines()[-1]
    assert last.startswith("fgnas: ") and "Traceback" not in err
    for part in parts:
        assert part in last
    return err.count("\n") == 1


def test_samples_are_repeatable_designs(call, designs):
    assert len({json.dumps(design) for design in designs}) == 3
    again = call("sample", "--dataset", "digits", "--seed", 1, "-n", 3)[1]
    assert [json.loads(line) for line in again.splitlines()] == designs


def test_price_as_json_has_exactly_its_keys(call, designs):
    code, out, err = call("price", "one.json", "--dataset", "digits", "--latency-ms", "0.001", "--json")
    row = json.loads(out)
    assert code == 0 and err == ""
    assert set(row) == {
        "latency_cycles", "latency_ms", "lut", "ff", "dsp", "bram36", "memory_bytes", "memory_mb_s",
        "memory_clock_mhz", "peak_beats", "peak_mb_s", "beat_cycles", "multipliers", "multiplications",
        "busy", "feasible", "violations",
    }  # fmt: skip
    assert row["latency_ms"] == pytest.approx(row["latency_cycles"] / 100_000)
    assert row["busy"] == round(row["multiplications"] / (row["multipliers"] * row["latency_cycles"]), 4)
    assert not row["feasible"] and len(row["violations"]) == 1


def test_many_designs_are_priced_in_order(call, designs, elsewhere):
    rows = [json.loads(line) for line in call("price", "some.jsonl", "--json")[1].splitlines()]
    for design, row in zip(designs, rows, strict=True):
        (elsewhere / "each.json").write_text(json.dumps(design))
        assert json.loads(call("price", "each.json", "--json")[1]) == row


def test_workers_change_no_price(call, designs, elsewhere, monkeypatch):
    lines = (elsewhere / "some.jsonl").read_text().splitlines()
    shallow = {**json.loads(lines[0]), "layers": json.loads(lines[0])["layers"][1:]}
    (elsewhere / "mixed.jsonl").write_text("\n".join([*lines, json.dumps(shallow), *lines * 5]))
    alone = call("price", "mixed.jsonl", "--workers", 1)
    monkeypatch.setattr(pricing, "WORTH_WORKERS", 0)
    assert call("price", "mixed.jsonl", "--workers", 2) == alone
    assert len(alone[1].splitlines()) == 19
    (elsewhere / "mixed.jsonl").write_text("\n".join([*lines, "{", "}"]))
    assert refused(call("price", "mixed.jsonl", "--workers", 2), "mixed.jsonl:4", "not JSON")


def test_arrays_are_priced_among_pipelines(call, designs, elsewhere, monkeypatch):
    """In the order of the file, with the costs of either kind; what no array runs is refused by its place."""
    gcn = {"attention": "gcn", "t_attn": None, "k": 1}
    array = {"units": 4, "columns": [1], "beat_bits": 256}
    made = {**designs[0], "array": array, "layers": [{**layer, **gcn} for layer in designs[0]["layers"]]}
    lines = [json.dumps(one) for one in (made, designs[1], {**made, "array": {**array, "units": 8}})]
    (elsewhere / "mixed.jsonl").write_text("\n".join(lines))
    alone = call("price", "mixed.jsonl", "--dsp", 40, "--workers", 1)
    four, pipeline, eight = map(json.loads, alone[1].splitlines())
    assert (four["multipliers"], four["dsp"], eight["dsp"]) == (32, 32, 64)
    assert four["feasible"] and eight["violations"] == ["dsp 64 is over 40"]
    assert four["latency_cycles"] > eight["latency_cycles"] and four["multiplications"] == eight["multiplications"]
    assert four["busy"] == round(four["multiplications"] / (32 * four["latency_cycles"]), 4)
    assert "peak_beats" in pipeline and "peak_beats" not in four and set(four) - set(pipeline) == {"beat_bits"}
    monkeypatch.setattr(pricing, "WORTH_WORKERS", 0)
    assert call("price", "mixed.jsonl", "--dsp", 40, "--workers", 2) == alone
    (elsewhere / "one.json").write_text(lines[0])
    assert json.loads(call("price", "one.json", "--dsp", 40, "--json")[1]) == four
    code, out, _ = call("price", "one.json")
    assert code == 0 and "Share of multiplier cycles" in out and "Util%" in out
    made["array"]["columns"] = [3]
    (elsewhere / "mixed.jsonl").write_text("\n".join([lines[1], json.dumps(made)]))
    assert refused(call("price", "mixed.jsonl"), "design 2: array: columns must be powers of two")


def test_a_worker_that_dies_is_told(call, designs, monkeypatch):
    monkeypatch.setattr(pricing, "WORTH_WORKERS", 0)
    monkeypatch.setattr(pricing, "_priced_lines", _dies)
    assert refused(call("price", "some.jsonl", "--workers", 2), "some.jsonl died", "--workers 1")


def _dies(table, pricers, given):
    os._exit(1)


def test_prices_for_people(call, designs):
    code, out, _ = call("price", "one.json", "--lut", "1")
    assert code == 0
    assert "Used" in out and "Available" in out and "Util%" in out and "is over 1" in out


def test_a_device_bounds_the_price(call, designs, elsewhere):
    (elsewhere / "mine.toml").write_text('family = "xc7"\nlut = 5000000\nff = 1\ndsp = 100\nbram36 = 5000\n')
    row = json.loads(call("price", "one.json", "--fpga", "mine.toml", "--json")[1])
    assert row["violations"] == [f"ff {row['ff']} is over 1"]
    assert "FF" in call("price", "one.json", "--fpga", "mine.toml")[1]


def test_evaluate(call, designs):
    code, out, _ = call("evaluate", "one.json", "--dataset", "digits", "--seeds", 2, "--json")
    result = json.loads(out)
    assert code == 0 and result["seeds"] == 2
    for kind in ("float", "quantised"):
        for split in ("val", "test"):
            assert 0 <= result[kind][split]["mean"] <= 1 and result[kind][split]["std"] >= 0


@pytest.mark.parametrize(
    "arguments, parts",
    [
        ([], ["COMMAND"]),
        (["frob"], ["frob"]),
        (["search", "--frob"], ["--frob"]),
        (["search", "--children", "x"], ["--children", "whole number"]),
        (["search", "--children", "0"], ["--children"]),
        (["search", "--latency-ms", "-1"], ["--latency-ms"]),
        (["search", "--latency-ms", "nan"], ["--latency-ms"]),
        (["search", "--dataset", "nope"], ["unknown dataset 'nope'", "digits"]),
        (["search", "--method", "magic"], ["magic", "reinforce"]),
        (["search", "--resume"], ["latest"]),
        (["search", "--run", "nope", "--resume"], ["nope"]),
        (["search", "--run", "a/b"], ["a/b"]),
        (["price", "missing.json"], ["missing.json"]),
        (["price", "missing.jsonl"], ["missing.jsonl"]),
        (["sample", "--space", "nope"], ["unknown space 'nope'"]),
        (["hls", "nope"], ["nope"]),
        (["hls", "nope.json"], ["nope.json"]),
        (["price", "missing.json", "--fpga", "de10"], ["missing.json"]),
        (["search", "--fpga", "de10"], ["unknown device 'de10'", "pynq-z2"]),
        (["search", "--fpga", "mine.toml"], ["mine.toml"]),
        (["search", "--fpga", "pynq-z2", "--lut", "60000"], ["--lut 60000", "53200"]),
        (["synth", ".", "--fpga", "pynq-z2", "--family", "xcup"], ["--family xcup", "xc7"]),
        (["search", "--guard-band", "100"], ["--guard-band", "100"]),
        (["timing", "nowhere"], ["nowhere"]),
        (["csim", "nowhere"], ["nowhere"]),
        (["sim", "nowhere"], ["nowhere"]),
        (["report", "nowhere"], ["nowhere"]),
    ],
)
def test_bad_input_is_one_line(call, arguments, parts):
    assert refused(call(*arguments), *parts)


@pytest.mark.parametrize(
    "change, part",
    [
        ({"schema": 2}, "upgrade fgnas"),
        ({"dsp": "many"}, "dsp"),
        ({"layers": None}, "layers"),
        ({"dps": 3}, "dps: unknown field"),
    ],
)
def test_bad_designs_are_one_line(call, designs, elsewhere, change, part):
    (elsewhere / "bad.json").write_text(json.dumps({**designs[0], **change}))
    for command in ("price", "evaluate", "hls"):
        assert refused(call(command, "bad.json"), "bad.json", part)
    (elsewhere / "bad.jsonl").write_text(json.dumps(designs[0]) + "\n{\n")
    assert refused(call("price", "bad.jsonl"), "bad.jsonl:2", "not JSON")


def test_scores_of_the_array_alone_are_refused_before_a_training(call, designs, elsewhere):
    layers = [{**layer, "attention": "linear", "t_attn": None} for layer in designs[0]["layers"]]
    (elsewhere / "linear.json").write_text(json.dumps({**designs[0], "layers": layers}))
    for command in ("price", "hls"):
        assert refused(call(command, "linear.json"), "the pipeline runs no scores but gat's", "--target array")


def test_a_second_product_is_refused_before_a_training(call, designs, elsewhere):
    layers = [{**layer, "aggregation": "mlp"} for layer in designs[0]["layers"]]
    (elsewhere / "mlp.json").write_text(json.dumps({**designs[0], "layers": layers}))
    for command in ("price", "hls"):
        assert refused(call(command, "mlp.json"), "the pipeline runs no second product", "--target array")


def test_numbers_of_the_array_alone_are_refused_before_a_training(call, designs, elsewhere):
    numbers = {"ai": 3, "af": 12, "wi": 3, "wf": 12, "t_out": 1}
    layers = [{**layer, **numbers, "attention": "gcn", "t_attn": None} for layer in designs[0]["layers"]]
    (elsewhere / "wide.json").write_text(json.dumps({**designs[0], "layers": layers}))
    for command in ("price", "hls"):
        assert refused(call(command, "wide.json"), "the pipeline carries features and weights in 10 bits", "array")


def test_wide_numbers_and_cos_have_a_price_with_luts(call, designs, elsewhere):
    numbers = {"ai": 3, "af": 12, "wi": 3, "wf": 12, "t_out": 1, "attention": "gcn", "t_attn": None, "k": 1}
    array = {"units": 4, "columns": [1], "beat_bits": 256}
    layers = [{**layer, **numbers} for layer in designs[0]["layers"]]
    (elsewhere / "wide.json").write_text(json.dumps({**designs[0], "array": array, "layers": layers}))
    narrow = [{**layer, **numbers, "af": 4, "wf": 4, "attention": "cos"} for layer in designs[0]["layers"]]
    (elsewhere / "cos.json").write_text(json.dumps({**designs[0], "array": array, "layers": narrow}))
    for name in ("wide.json", "cos.json"):
        found = json.loads(call("price", name, "--json")[1])
        assert found["lut"] > 10_000 and found["ff"] > 5_000 and (found["dsp"], found["feasible"]) == (32, True)
        limited = json.loads(call("price", name, "--json", "--lut", found["lut"] - 1)[1])
        assert not limited["feasible"] and limited["violations"][0].startswith("lut ")


def test_an_impossible_constraint_is_one_line_and_leaves_no_run(call, elsewhere, monkeypatch):
    from fgnas import progress
    from fgnas.systems.fgnas.solved import SolvedTarget

    monkeypatch.setattr(progress, "QUIET_S", 3600)  # on a slow machine the wait has a line of its own
    monkeypatch.setattr(SolvedTarget, "survey_draws", 500)
    assert refused(call("search", "--latency-ms", "0.001"), "latency", "is over 0.001 ms", "relax")
    assert not (elsewhere / "runs").exists()


def test_commands_can_be_pasted(monkeypatch, tmp_path):
    """If the environment is not on PATH, commands are shown with their full path."""
    told = "damaged: fix it with `fgnas hls`, continue with: fgnas search --resume, or pip install 'fgnas[sim]'"
    program = tmp_path / "bin" / "fgnas"
    program.parent.mkdir()
    program.write_text("")
    program.chmod(0o755)
    monkeypatch.setattr("sys.argv", ["pytest"])
    assert as_here(told) == told
    monkeypatch.setattr("sys.argv", ["bin/fgnas", "hls"])
    assert as_here(told) == (
        "damaged: fix it with `bin/fgnas hls`, continue with: bin/fgnas search --resume, "
        "or bin/pip install 'fgnas[sim]'"
    )
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.setattr("sys.argv", [str(program), "hls"])
    assert as_here(told) == told


def test_a_search_from_start_to_project(call, elsewhere, monkeypatch):
    from fgnas.systems.fgnas.solved import SolvedTarget

    monkeypatch.setattr(SolvedTarget, "survey_draws", 2_000)
    code, out, err = call("search", *TIGHT, "--epochs", "60", "--retrain-seeds", "3", "--json")
    best = json.loads(out)
    assert code == 0 and best["run"] == "digits-1"
    assert "feasible" in err and "6/6" in err
    assert best["costs"]["latency_cycles"] <= 200_000
    folder = elsewhere / "runs" / "digits-1"
    assert len((folder / "trials.jsonl").read_text().splitlines()) == 6
    assert (elsewhere / "runs" / "latest").read_text() == "digits-1\n"
    leaders = json.loads((folder / "leaders.json").read_text())
    assert [entry["rank"] for entry in leaders] == list(range(1, len(leaders) + 1))
    assert leaders[0]["sha256"] == best["sha256"]
    page = folder / "report.html"
    assert best["page"] == "runs/digits-1/report.html" and "digits-1" in page.read_text(encoding="utf-8")

    # A finished run is shown again, another configuration refused by the name of what differs.
    assert json.loads(call("search", "--resume", "--json")[1]) == best
    assert refused(call("search", "--resume", "--lut", "50"), "limits.lut")
    assert refused(call("search", "--resume", "--system", "g-cos"), "is of --system fgnas, not of g-cos")
    assert refused(call("search", "--run", "digits-1"), "exists")
    (folder / "best.json").rename(folder / "hidden.json")
    config = json.loads((folder / "config.json").read_text())
    config["versions"]["numpy"] = "0.1"
    (folder / "config.json").write_text(json.dumps(config))
    assert refused(call("search", "--resume"), "versions.numpy")

    cheapest = json.loads((folder / "cheapest.json").read_text())
    assert cheapest["saved"] == "lut" and set(cheapest["delivered"]["quantised"]) == {"val", "test"}
    assert cheapest["costs"]["lut"] <= leaders[0]["costs"]["lut"]
    written = json.loads(call("hls", "latest", "--design", "cheapest", "--json", "--quiet")[1])
    assert written["directory"] == "hls/cheapest" and written["design_hash"] == cheapest["design_hash"]

    assert refused(call("hls", "latest", "--design", "99"), "99")
    assert refused(call("hls", "latest", "--dataset", "cora"), "digits")
    second = f"design {leaders[1]['design_hash']} for digits"
    told = f"next: fgnas csim hls/2, fgnas sim hls/2\n{second}\n"
    assert call("hls", "latest", "--design", "2") == (0, "hls/2\n", told)
    assert (elsewhere / "hls" / "2").is_dir()
    assert call("hls", "latest", "--out", "hls/2")[2].endswith(f", in place of {second}\n")
    assert call("hls", "latest", "--design", "2", "--quiet") == (0, "hls/2\n", "")
    assert call("report", "hls/2")[:2] == (0, "hls/2/report.html\n")
    assert leaders[1]["design_hash"] in (elsewhere / "hls" / "2" / "report.html").read_text(encoding="utf-8")
    page.unlink()
    code, out, _ = call("report", "--out", "there/page.html", "--json")
    assert code == 0 and json.loads(out) == {"page": "there/page.html"} and not page.exists()
    assert refused(call("report", "digits-1", "--fpga", "u50"), "--fpga", "digits-1")
    assert refused(call("report", "hls/2", "--fpga", "u51"), "u51")
    assert refused(call("report", "hls/2", "--out", "hls"), "hls")
    (elsewhere / "hls" / "2" / "report" / "price.json").write_text("{")
    assert refused(call("report", "hls/2"), "price.json", "fgnas hls")
    weights = folder / leaders[0]["weights"]
    weights.write_bytes(weights.read_bytes()[:-1])
    assert refused(call("hls", "digits-1"), "SHA-256")


def test_results_of_graphs_are_called_so(call, elsewhere, monkeypatch):
    from fgnas.tools import csim

    (elsewhere / "p").mkdir()
    (elsewhere / "p" / "design.json").write_text('{"rows": "graphs"}')
    monkeypatch.setattr(csim, "run_csim", lambda directory, **options: {"nodes": 4, "logits": 8, "mismatches": 0})
    assert call("csim", "p") == (0, "graphs: 4\nlogits: 8\nmismatches: 0\n", "")


@pytest.mark.parametrize("fault", ["mismatches", "failed_checks", "protocol_errors", "cycle_difference"])
def test_a_check_that_fails_has_exit_code_one(call, monkeypatch, fault):
    from fgnas.tools import csim, simulate, trace

    monkeypatch.setattr(trace, "mismatch_of_rtl", lambda directory: f"stage 1.linear at node 3 of {directory}")
    right = {"nodes": 4, "logits": 8, "mismatches": 0}
    for module, function, command in ((csim, "run_csim", "csim"), (simulate, "run_simulation", "sim")):
        monkeypatch.setattr(module, function, lambda directory, **options: right)
        assert call(command, "x") == (0, "nodes: 4\nlogits: 8\nmismatches: 0\n", "")
        monkeypatch.setattr(module, function, lambda directory, **options: {**right, fault: 1})
        code, out, _ = call(command, "x", "--json")
        assert code == 1 and json.loads(out)[fault] == 1
        named = "stage 1.linear at node 3 of x" if (command, fault) == ("sim", "mismatches") else None
        assert json.loads(out).get("first_wrong_stage") == named


def test_phases_are_named_however_many_there_are(call, monkeypatch):
    """Other RTL with the same interface may never request a second phase."""
    cases = (([], "phase cycles: []"), ([4], "in cycle: load 4\n"), ([4, 9, 2000], "load 4, phase 0 9, output 2,000"))
    for cycles, told in cases:
        found = {"mismatches": 0, "phase_cycles": cycles}
        monkeypatch.setattr("fgnas.api.Project.simulate", lambda *_, found=found: found)
        code, out, _ = call("sim", ".", "--rtl", "other")
        assert code == 0 and told in out


@pytest.mark.slow
def test_killed_and_resumed_by_real_signals(elsewhere):
    """SIGKILL, then Ctrl-C, then a run to the end: the same bytes as an undisturbed run."""
    command = [sys.executable, "-m", "fgnas.cli", "search", *TIGHT[:-4], "--children", "60"]

    def trials(name):
        path = elsewhere / "runs" / name / "trials.jsonl"
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def stop(name, after, how, *more):
        process = subprocess.Popen([*command, "--run", name, *more], stderr=subprocess.PIPE, text=True)
        while trials(name) < after and process.poll() is None:
            time.sleep(0.05)
        os.kill(process.pid, how)
        return process.communicate()[1], process.returncode

    subprocess.run([*command, "--run", "whole", "--workers", "1"], check=True, capture_output=True)
    _, code = stop("cut", 10, signal.SIGKILL)
    assert code == -signal.SIGKILL
    message, code = stop("cut", 30, signal.SIGINT, "--resume")
    assert code == 130 and "fgnas search --run cut --resume" in message and "Traceback" not in message
    assert "its best design so far is built by: fgnas hls cut" in message
    assert main(["hls", "cut", "--design", "best", "--quiet"]) == 0
    early = json.loads((elsewhere / "runs" / "cut" / "early.json").read_text())
    assert json.loads(Path("hls/best/design.json").read_text()) == early["design"]
    subprocess.run([*command, "--run", "cut", "--resume"], check=True, capture_output=True)
    for name in ("trials.jsonl", "leaders.json", "best.json"):
        whole, cut = (elsewhere / "runs" / run / name for run in ("whole", "cut"))
        assert whole.read_bytes() == cut.read_bytes(), name


def test_map(call):
    """The chosen mapping keeps the limit, JSON holds the same, and an impossible limit ends with exit code 1."""
    code, out, _ = call("map", "xavier", "a3", "--latency-ms", "17.29")
    assert code == 0 and "195.087" in out and "fit (reconstructed):" in out
    code, out, _ = call("map", "xavier", "a3", "--latency-ms", "17.29", "--json")
    answer = json.loads(out)
    assert code == 0 and answer["exact"] and answer["front"][answer["chosen"]]["energy_mj"] == 195.087
    code, out, _ = call("map", "xavier", "a3", "--latency-ms", "10")
    assert code == 1 and "no mapping keeps every limit; the nearest one is over latency" in out
    code, _, error = call("map", "xavier", "b9")
    assert code == 2 and "the platform has no model 'b9': it has b0, b1, b2, b3, a3" in error
