"""Platforms: the shipped ones, chains by granularity and setting, and one line for every error."""

from pathlib import Path

import pytest

from fgnas.errors import UserError
from fgnas.mapping.chain import NO_SHORTCUT
from fgnas.mapping.options import shipped
from fgnas.mapping.platform import find_platform


def test_layers_of_a_file(own: Path) -> None:
    chain = find_platform(str(own)).chain("net", "layer")
    assert chain.steps == ("norm", "block 1 dense", "block 1 norm", "block 2 dense", "block 2 norm")
    assert chain.supported.tolist() == [[True, False], [True, True], [True, False], [True, True], [True, False]]
    assert chain.cost[1].tolist() == [[40, 50], [3, 4]]
    assert chain.send[0].tolist() == [[1 + 3, 2 + 27], [7, 7]]  # 9 elements, four a tick
    assert chain.receive[1].tolist() == [[0, 0], [5, 5]]
    assert chain.shortcut.tolist() == [NO_SHORTCUT, NO_SHORTCUT, 0, NO_SHORTCUT, 2]


def test_blocks_of_a_file(own: Path) -> None:
    """A block runs where all of its steps can; its shortcut stays within it."""
    chain = find_platform(str(own)).chain("net", "block")
    assert chain.steps == ("norm", "block 1", "block 2")
    assert chain.supported.tolist() == [[True, False]] * 3
    assert chain.cost[1, 0].tolist() == [50, 70]
    assert (chain.shortcut == NO_SHORTCUT).all()


def test_steps_together_and_costs_in_parts(own: Path) -> None:
    """If blocks are mapped, the cost of steps that a unit runs together replaces the sum of their costs. Parts of a
    cost are added."""
    text = own.read_text(encoding="utf-8")
    part = '{source = "stopwatch", cost = [10, 20], at = {slow = [30, 5]}}'
    assert part in text
    together = '[[together]]\nsteps = ["dense", "norm"]\non.kernel = {source = "stopwatch", cost = [6, 1]}\n\n'
    text = text.replace(part, f'[{part}, {{source = "stopwatch", cost = [2, 0]}}]')
    own.write_text(text.replace("[models.net]", together + "[models.net]"), encoding="utf-8")
    platform = find_platform(str(own))
    blocks, layers = platform.chain("net", "block"), platform.chain("net", "layer")
    assert blocks.supported.tolist() == [[True, False], [True, True], [True, True]]
    assert blocks.cost[:, 0].tolist() == [[12, 20], [52, 70], [52, 70]] and blocks.cost[1, 1].tolist() == [6, 1]
    assert layers.supported[2].tolist() == [True, False]
    assert platform.chain("net", "layer", "slow").cost[0, 0].tolist() == [32, 5]
    assert platform.supports(("dense", "norm")) and not platform.supports(("dense", "unknown"))


@pytest.mark.parametrize(("lines", "message"), [
    ('[[together]]\nsteps = ["dense", "soup"]\non.cpu = {source = "stopwatch", cost = [1, 1]}\n',
     "[[together]] names the step 'soup', which is not in [steps]"),
    ('[[together]]\nsteps = ["dense", "norm"]\non.gpu = {source = "stopwatch", cost = [1, 1]}\n',
     "[[together]] of dense, norm names the unit 'gpu'"),
    ("[builds.gpu]\nlanes = 3\n", "[builds.gpu] is of no unit: they are cpu, kernel"),
])  # fmt: skip
def test_errors_of_what_is_together_and_built(own: Path, lines: str, message: str) -> None:
    own.write_text(own.read_text(encoding="utf-8") + lines, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        find_platform(str(own))
    assert message in str(caught.value)


def test_settings_of_a_file(own: Path) -> None:
    chain = find_platform(str(own)).chain("net", "layer", "slow")
    assert chain.cost[0, 0].tolist() == [30, 5] and chain.cost[1, 0].tolist() == [40, 50]


def test_shipped_platforms() -> None:
    assert shipped() == ["dataflows", "xavier"]
    for name in shipped():
        platform = find_platform(name)
        for model in platform.models:
            assert platform.sources_of(platform.steps_of(model), platform.models[model])


def test_whole_models_on_one_unit_are_the_published_ones() -> None:
    """Xavier's DLA within the reconstruction's 1.3 %, its GPU exactly (MaGNAS, Tables 2 and 3), in ms and mJ."""
    published = {
        "b0": ((25.28, 459.44), (40.11, 224.41)), "b1": ((33.74, 770.36), (62.11, 323.70)),
        "b2": ((22.49, 429.07), (39.62, 214.35)), "b3": ((29.57, 623.76), (57.77, 263.48)),
        "a3": ((13.42, 273.22), (25.56, 121.74)),
    }  # fmt: skip
    platform = find_platform("xavier")
    for model, (gpu, dla) in published.items():
        alone = platform.chain(model).alone()
        assert (alone[0] / 1e6).tolist() == list(gpu)
        assert alone[1] / 1e6 == pytest.approx(dla, rel=0.0135)


@pytest.mark.parametrize(("old", "new", "message"), [
    ("on.kernel", "on.gpu", "step 'dense' names the unit 'gpu', which is not one of cpu, kernel"),
    ("slow = [", "idle = [", "step 'norm' names the setting 'idle', which is not one of fast, slow"),
    ('"measured"', '"guessed"', "sources.stopwatch.kind: Input should be 'published'"),
    ("[sources.stopwatch]", "[sources.clock]", "the source 'stopwatch' is not in [sources]"),
    ("[10, 20]", "[10.5, 20]", "steps.norm.on.cpu.0.cost.0: Input should be a valid integer"),
    ("cost = [5, 5]", "cost = [-5, 5]", "transitions.kernel.receive.cost.0: Input should be greater than or equal"),
    ('"1000"', '"0"', "time: times must be a number above 0 in quotes, not '0'"),
    ('["norm",', '["noise",', "model 'net' has the step 'noise', which is not in [steps]"),
    ("[transitions.kernel]", "[transitions.gpu]", "[transitions.gpu] is of no unit: they are cpu, kernel"),
    ("about = ", "abuot = ", "about: Field required"),
    ("units = [", "units = ", "not TOML"),
])  # fmt: skip
def test_errors_of_a_file(own: Path, old: str, new: str, message: str) -> None:
    own.write_text(own.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UserError) as caught:
        find_platform(str(own))
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_step_that_no_unit_supports(own: Path) -> None:
    text = own.read_text(encoding="utf-8")
    own.write_text(text.replace("cost = [10, 20], at", "at"), encoding="utf-8")
    with pytest.raises(UserError, match="no unit of the platform supports 'norm' at the setting 'fast'"):
        find_platform(str(own)).chain("net", "layer")


def test_unknown_names(own: Path, tmp_path: Path) -> None:
    platform = find_platform(str(own))
    with pytest.raises(UserError, match="no model 'b9': it has net"):
        platform.chain("b9")
    with pytest.raises(UserError, match="no setting 'idle': it has fast, slow"):
        platform.chain("net", setting="idle")
    with pytest.raises(UserError, match="unknown platform 'orin'; known: dataflows, xavier"):
        find_platform("orin")
    with pytest.raises(UserError, match="its numbers identify no other network"):
        find_platform("xavier").chain("b4")
    with pytest.raises(UserError, match="cannot read the platform .*none.toml: No such file"):
        find_platform(str(tmp_path / "none.toml"))
