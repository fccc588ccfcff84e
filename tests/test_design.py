"""Designs as JSON: they survive a round trip, and errors are reported in one line."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import plain_layer

from fgnas.design import SCHEMA, Design, canonical_json, columns_of
from fgnas.errors import UserError
from fgnas.hardware.kinds import kind_of
from fgnas.systems.fgnas.space import find_space

HIDDEN = {
    "d": 8, "attention": "gcn", "aggregation": "add", "k": 1, "activation": "relu", "t_in": 2, "t_out": 3,
    "t_attn": None, "t_aggr": 4, "t_act": 1, "ai": 2, "af": 4, "wi": 1, "wf": 5,
}  # fmt: skip
LAST = {**HIDDEN, "d": None, "activation": None, "t_act": None}


def plain(**changes):
    return {"schema": 1, "dsp": 10, "layers": [HIDDEN, LAST], **changes}


def hidden(**changes):
    return plain(layers=[{**HIDDEN, **changes}, LAST])


def test_a_design_survives_json():
    design = Design.from_dict(plain())
    assert design.to_dict() == plain()
    assert Design.from_json(design.to_json()) == design
    assert Design.from_json(json.dumps({"design": plain(), "rank": 1})) == design


@given(st.integers(0, 2**32))
def test_any_sample_survives_json(seed):
    space = find_space("fgnas")
    design = space.design(space.draw(1, np.random.default_rng(seed))[0], 7)
    assert Design.from_json(design.to_json()) == design


ARRAY = {"units": 12, "columns": [2], "beat_bits": 512}


def test_an_array_says_how_many_share_a_table_where_several_do():
    """One of one unit a table has the JSON, and so the hash, that it had before."""
    design = Design.from_dict(plain(array={**ARRAY, "shared": 1}))
    assert design.to_dict() == plain(array=ARRAY)
    sharing = Design.from_dict(plain(array={**ARRAY, "shared": 4}))
    assert sharing.to_dict()["array"]["shared"] == 4 and Design.from_json(sharing.to_json()) == sharing
    assert sharing.hash != design.hash


def test_a_design_can_have_an_array():
    """Without one the JSON, and so the hash, is that of a pipeline; the array changes neither training nor score."""
    design = Design.from_dict(plain(array=ARRAY))
    assert design.to_dict() == plain(array=ARRAY) and Design.from_json(design.to_json()) == design
    pipeline = Design.from_dict(plain())
    assert "array" not in pipeline.to_dict() and pipeline.hash != design.hash
    assert (pipeline.training_key, pipeline.score_key) == (design.training_key, design.score_key)


@pytest.mark.parametrize("change, told", [
    ({"columns": [2, 1]}, "columns needs 1 numbers, one for each hidden layer"), ({"units": 0}, "array.units"),
    ({"beat_bits": 64}, "array.beat_bits"), ({"lanes": 8}, "unknown field"),
    ({"shared": 3}, "array.shared"),
])  # fmt: skip
def test_a_wrong_array_is_refused(change, told):
    with pytest.raises(UserError, match=told):
        Design.from_dict(plain(array={**ARRAY, **change}))


def test_hashes_name_what_they_should():
    design = Design.from_dict(plain())
    reordered = Design.from_dict(dict(reversed(plain().items())))
    finer = Design.from_dict(hidden(wf=6))
    wider = Design.from_dict(hidden(d=16))
    assert design.hash == reordered.hash and len(design.hash) == 12
    assert design.hash != finer.hash and design.training_key == finer.training_key
    assert design.training_key != wider.training_key
    faster = Design.from_dict(hidden(t_in=5))
    assert faster.hash != design.hash and faster.score_key == design.score_key
    assert len({design.score_key, finer.score_key, wider.score_key}) == 3


def test_the_hash_is_the_same_on_every_machine():
    assert Design.from_dict(plain()).hash == "fcca4395d497"


@pytest.mark.parametrize(
    "data, message",
    [
        ([1], "JSON object"),
        (plain(schema=SCHEMA + 1), "upgrade fgnas"),
        (plain(schema="1"), "schema must be the number 1"),
        (plain(schema=True), "schema must be"),
        (plain(dsp=-1), "dsp"),
        (plain(layers=[]), "layers"),
        (plain(layers=[HIDDEN, HIDDEN]), "no effect in the last layer"),
        (plain(layers=[LAST, LAST]), "layer 0: d is missing"),
        (plain(more=1), "more"),
        (hidden(t_in=6), "layers.0.t_in"),
        (hidden(t_in="2"), "layers.0.t_in"),
        (hidden(t_aggr=3), "t_aggr must be 1, 2, 4 or 8"),
        (hidden(k=3), "power of two"),
        (hidden(ai=4, af=12), "ai + af must be 1 to 15"),
        (hidden(wi=0, wf=0, t_out=1), "wi + wf must be 1 to 15"),
        (hidden(ai=4, af=6, attention="linear"), "ai + af must be 1 to 9 with attention linear: scores look up tables"),
        (hidden(t_out=8, wi=2, wf=6), "t_out * (wi + wf + 1) must be at most 64"),
        (hidden(attention="gat"), "t_attn is required with attention gat and not allowed otherwise"),
        (hidden(attention="linear", t_attn=2), "t_attn is required with attention gat and not allowed otherwise"),
        (hidden(t_attn=2), "t_attn is required with attention gat and not allowed otherwise"),
        (hidden(attention="transformer"), "layers.0.attention"),
    ],
)
def test_what_is_wrong_is_named(data, message):
    with pytest.raises(UserError) as caught:
        Design.from_dict(data, "some.json")
    assert str(caught.value).startswith("some.json: ") and message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_are_no_designs(tmp_path):
    path = tmp_path / "design.json"
    with pytest.raises(UserError, match="cannot read"):
        Design.load(path)
    path.write_text("{")
    with pytest.raises(UserError, match="not JSON"):
        Design.load(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="cannot read"):
        Design.load(path)


def test_canonical_json_has_one_spelling():
    assert canonical_json({"b": 1, "a": [1.5, None]}) == '{"a":[1.5,null],"b":1}'
    with pytest.raises(ValueError):
        canonical_json(float("nan"))


def test_sampling_is_named_where_there_is_any() -> None:
    """A design that keeps every edge has the bytes, and the hash, that it always had."""
    hidden, last = plain_layer(), plain_layer(d=None, activation=None, t_act=None)
    whole = Design(schema=1, layers=(hidden, last), dsp=0)
    some = Design(schema=1, layers=(hidden, last), dsp=0, sampling=(1.0, 0.5))
    assert "sampling" not in whole.to_dict() and whole.rates == (1.0, 1.0)
    assert some.to_dict()["sampling"] == [1.0, 0.5] and Design.from_json(some.to_json()) == some
    assert [layer.get("sampling") for layer in some.architecture()] == [None, 0.5]
    for key in ("hash", "training_key", "score_key"):
        assert getattr(some, key) != getattr(whole, key)
    for wrong, message in (
        ([0.5], "sampling needs 2 shares"), ([0, 1], "sampling needs 2 shares"), ([1, 1], "leave it out"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=message):
            Design.from_dict(whole.to_dict() | {"sampling": wrong})


def test_a_layer_may_gather_first():
    """The order is in the JSON, and in the score, only where there is one; training does not depend on it."""
    last = {**LAST, "order": "gather-first"}
    design, plain_one = Design.from_dict(plain(layers=[HIDDEN, last])), Design.from_dict(plain())
    assert design.to_dict()["layers"] == [HIDDEN, last] and Design.from_json(design.to_json()) == design
    assert Design.from_dict(plain(layers=[HIDDEN, {**LAST, "order": None}])).hash == plain_one.hash
    assert design.hash != plain_one.hash and design.score_key != plain_one.score_key
    assert design.training_key == plain_one.training_key
    assert columns_of([design, plain_one])["order"][1].tolist() == ["gather-first", ""]
    assert "order" not in columns_of([plain_one])


@pytest.mark.parametrize(
    ("layers", "problem"),
    [
        ([{**HIDDEN, "order": "gather-first"}, LAST], "layer 0: order gather-first is for further layers"),
        ([HIDDEN, {**LAST, "aggregation": "max", "order": "gather-first"}], "only such sums commute"),
        ([HIDDEN, {**LAST, "aggregation": "mlp", "order": "gather-first"}], "only such sums commute"),
        ([HIDDEN, {**LAST, "attention": "cos", "order": "gather-first"}], "only such sums commute"),
        ([HIDDEN, {**LAST, "order": "sideways"}], "order"),
    ],
)
def test_other_layers_multiply_first(layers, problem):
    with pytest.raises(UserError, match=problem) as found:
        Design.from_dict(plain(layers=layers))
    assert "\n" not in str(found.value)


def test_the_pipeline_multiplies_first():
    design = Design.from_dict(plain(layers=[HIDDEN, {**LAST, "order": "gather-first"}]))
    assert not design.layers[1].pipelined
    with pytest.raises(UserError, match="the pipeline multiplies first"):
        kind_of(design).check(design)


def test_all_faults_are_told_at_once():
    """In one line, misspelt fields first."""
    content = hidden(colour="red", k="two", ai=-1)
    del content["layers"][0]["wf"]
    with pytest.raises(UserError) as caught:
        Design.from_dict(content)
    said = str(caught.value)
    assert said.startswith("design: layers.0.colour: unknown field; ")
    assert all(f"layers.0.{name}: " in said for name in ("k", "ai", "wf")) and "\n" not in said


def test_all_that_is_wrong_is_named_at_once():
    """One line names the faults of all fields and rules, so that a user can fix a file without a run for each fault."""
    first = {**HIDDEN, "t_in": 6, "k": 3, "ai": 9, "af": 9, "features": 3}
    last = {name: value for name, value in LAST.items() if name not in ("wi", "wf")} | {"t_attn": 2, "d": 4}
    wrong = plain(layers=[first, last], dsp=-1, array={**ARRAY, "columns": [1, 1]}, sampling=[1.0, 1.0])
    with pytest.raises(UserError) as caught:
        Design.from_dict(wrong)
    for part in (
        "layers.0.features: unknown field", "layers.0.t_in: ", "layers.0: k must be a power of two",
        "layers.0: ai + af must be 1 to 15", "layers.1.{wi, wf}: Field required", "layers.1: t_attn is required",
        "layer 1: d has no effect in the last layer", "dsp: ", "columns needs 1 numbers",
        "every layer keeps every edge",
    ):  # fmt: skip
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.data())
def test_a_broken_rule_is_told_whatever_else_is_wrong(data):
    """The message includes the one for a design that breaks this rule and has no other fault."""
    broken = data.draw(st.sampled_from([{"t_aggr": 3}, {"k": 6}, {"wi": 0, "wf": 0}, {"d": None}]))
    beside = data.draw(st.sampled_from([{}, {"more": 1}, {"t_in": "1"}, {"t_out": None}]))
    with pytest.raises(UserError) as alone:
        Design.from_dict(hidden(**broken))
    with pytest.raises(UserError) as both:
        Design.from_dict(hidden(**broken, **beside))
    told = str(alone.value).removeprefix("design: ").partition("; see")[0]
    assert all(part in str(both.value) for part in told.split("; "))
