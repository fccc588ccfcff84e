"""Plain networks by name: each is a design, which its hardware takes."""

import pytest

import fgnas
from fgnas.activations import NAMES
from fgnas.api import Design, UserError
from fgnas.hardware.kinds import kind_of
from fgnas.plain import BITS, NETWORKS, plain_design


def test_gcn_of_sixteen_by_hand():
    hidden, last = plain_design("gcn", [16]).layers
    assert (hidden.attention, hidden.aggregation, hidden.d, hidden.k) == ("gcn", "add", 16, 1)
    assert hidden.activation == "relu"
    assert (last.attention, last.aggregation, last.d, last.activation) == ("gcn", "add", None, None)
    assert (hidden.ai, hidden.af, hidden.wi, hidden.wf) == (1, 6, 1, 6)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("hidden", [(), (12,), (8, 16, 4)])
def test_every_name_is_a_design_that_its_hardware_takes(name, hidden):
    for bits in BITS:
        design = Design.plain(name, *hidden, bits=bits, activation=NAMES[bits % len(NAMES)])
        kind = kind_of(design.choices)
        kind.check(design.choices)
        assert len(design.choices.layers) == len(hidden) + 1
        assert (kind.name == "array") == (name not in ("gcn", "sage", "gat"))


def test_a_plain_network_has_a_price_on_either_hardware():
    assert Design.plain("sage", 8).price("digits")["latency_cycles"] > 1000
    assert Design.plain("gin", 8).price("digits")["dsp"] <= 100


@pytest.mark.parametrize("arguments, given, told", [
    (("gcm", 16), {}, "unknown network 'gcm'; known: gcn, sage, gin, gat"),
    (("gcn", 16), {"heads": 2}, "--heads is for networks whose messages have scores"),
    (("gat", 16), {"heads": 3}, "power of two"), (("gcn", 16), {"bits": 11}, "--bits is 11: give 2 to 10"),
    (("gcn", 16), {"activation": "gelu"}, "unknown activation 'gelu'"), (("gcn", *[4] * 8), {}, "layers"),
    (("gcn", 2000), {}, "layers.0.d"),
])  # fmt: skip
def test_what_is_no_network_is_told(arguments, given, told):
    with pytest.raises(UserError, match=told):
        fgnas.Design.plain(*arguments, **given)
