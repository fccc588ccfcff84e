"""A subnet as a chain of steps."""

import numpy as np

from fgnas.networks.vision.steps import elements, steps_of
from fgnas.networks.vision.subnet import Subnet, Superblock
from fgnas.networks.vision.supernet import vig_space
from fgnas.networks.vision.vig import Backbone

BACKBONE = Backbone(channels=1, size=8, patch=2, features=32, neighbours=(3, 4, 5, 6), classes=10)


def names(items):
    return [name for item in items for name in ([item] if isinstance(item, str) else item["steps"])]


def test_a_subnet_by_hand():
    plain = Superblock(1, "gin", False, False, None)
    full = Superblock(2, "sage", True, True, 19)
    found = steps_of(Subnet((plain, full, plain, plain)), BACKBONE)
    grapher = {"block": "grapher 2", "shortcut": True, "steps": ["pre", "sage-4", "post"]}
    ffn = {"block": "ffn 2", "shortcut": True, "steps": ["fc1-19", "fc2-19"]}
    assert found[:2] == ["stem", {"block": "grapher 1", "shortcut": True, "steps": ["gin-3", "post"]}]
    assert found[2:4] == [grapher, ffn]
    assert [one["block"] for one in found[4:6]] == ["grapher 3", "ffn 3"]
    assert found[-1] == "head"
    assert names(found)[-3:] == ["gin-6", "post", "head"]


def test_every_step_of_every_subnet_is_known():
    space, known = vig_space(BACKBONE), elements(BACKBONE)
    rows = space.draw(500, np.random.default_rng(0))
    used = {name for row in rows for name in names(steps_of(space.candidate(row), BACKBONE))}
    assert used == {*known}


def test_elements_by_hand():
    """16 patches of 32 features."""
    found = elements(BACKBONE)
    assert (found["stem"], found["pre"], found["post"], found["fc2-9"]) == (512, 512, 512, 512)
    assert (found["edgeconv-6"], found["fc1-9"], found["head"]) == (1024, 144, 10)
