"""Random candidates of every system's space, by one command."""

import json

import pytest

from fgnas import api, systems
from fgnas.cli import main
from fgnas.errors import UserError

PLATFORM = {"magnas": ["--platform", "magnas-xavier"]}


@pytest.mark.parametrize("system", ["fgnas", "g-cos", "hgnas"])
def test_samples_of_a_system_repeat_and_differ(system, capsys):
    found = []
    for seed in (1, 1, 2):
        assert main(["sample", "--system", system, "--seed", str(seed), "-n", "3"]) == 0
        found.append(capsys.readouterr().out)
    assert found[0] == found[1] != found[2]
    one = [json.loads(line) for line in found[0].splitlines()]
    drawn = [candidate.to_dict() for candidate in api.candidates(3, 1, system)]
    assert one == json.loads(json.dumps(drawn)) and len({json.dumps(each) for each in one}) == 3


def test_options_that_shape_no_space_are_refused(capsys):
    for system in systems.names():
        assert main(["sample", "--system", system, "--children", "3"]) == 2
    with pytest.raises(UserError, match="--children does not say what candidates there are"):
        next(api.candidates(1, 0, "fgnas", children=3))
    assert "Traceback" not in capsys.readouterr().err


def test_a_space_by_name_is_drawn_from():
    for design in api.candidates(5, 0, "g-cos", space="gcn-16"):
        assert [layer["d"] for layer in design.to_dict()["layers"]] == [16, None]
