"""Designs read straight into columns: what `Design` reads, in the same order, with the same refusals."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import random_design

from fgnas import design as rules
from fgnas import designs as module
from fgnas.design import Array, Design, Layer, columns_of
from fgnas.designs import read_tables
from fgnas.errors import UserError


def written(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def read_back(path: Path) -> dict[int, Any]:
    """{place: (columns of one design, its DSPs)} of a file."""
    found = {}
    for table in read_tables(path):
        for one in table.split(1):
            found[int(one.places[0])] = (one.columns(), int(one.dsp[0]))
    return found


def assert_same(found: dict[int, Any], lines: list[str]) -> None:
    """The columns are those of each line's own design."""
    assert sorted(found) == list(range(len(lines)))
    for place, line in enumerate(lines):
        design = Design.from_json(line)
        columns, dsp = found[place]
        assert dsp == design.dsp
        for name, expected in columns_of([design]).items():
            assert [column.tolist() for column in columns[name]] == [column.tolist() for column in expected], name


@pytest.mark.parametrize("block", [1, 7, 4096])
def test_random_designs_of_any_depth(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", block)
    rng = np.random.default_rng(block)
    lines = [random_design(rng, int(rng.integers(1, 4))).to_json() for _ in range(40)]
    assert all(module._parsed([line]) is not None for line in lines), "none of them takes the slow path"
    assert_same(read_back(written(tmp_path / "d.jsonl", lines)), lines)


def test_other_spellings_are_read_by_design(tmp_path: Path) -> None:
    """Under `design`, without a schema, with blank lines, indented: read one by one, as before."""
    rng = np.random.default_rng(0)
    made = [random_design(rng, 2) for _ in range(4)]
    bare = {name: value for name, value in made[1].to_dict().items() if name != "schema"}
    lines = [json.dumps({"rank": 1, "design": made[0].to_dict()}), json.dumps(bare), f"  {made[2].to_json()} "]
    path = written(tmp_path / "d.jsonl", [lines[0], "", lines[1], lines[2], "   "])
    assert_same(read_back(path), lines)
    assert read_tables(written(tmp_path / "empty.jsonl", ["", " "])) == []


CHANGES: list[tuple[int | None, str, Any]] = [
    (None, "dsp", -1), (None, "dsp", 1.0), (None, "dsp", True), (None, "dsp", "9"), (None, "schema", 2),
    (None, "schema", True), (None, "schema", 1.0), (None, "layers", []), (None, "layers", {}), (None, "gates", 3),
    (0, "d", 0), (0, "d", 1025), (0, "d", 4.0), (0, "d", None), (0, "d", True), (0, "k", 3), (0, "k", 128),
    (0, "t_in", 6), (0, "t_in", False), (0, "t_in", "2"), (0, "t_out", 9), (0, "t_aggr", 3), (0, "t_act", None),
    (0, "t_attn", 0), (0, "t_attn", 2), (0, "ai", 16), (0, "ai", -1), (0, "attention", "gin"), (0, "attention", None),
    (0, "attention", ["gcn"]), (0, "activation", None), (0, "aggregation", "sum"), (0, "d", 10**20), (0, "d", -65535),
    (1, "d", 4), (1, "activation", "relu"), (1, "t_act", 1), (1, "attention", "gat"), (1, "tin", 3), (1, "wf", 300),
]  # fmt: skip


@pytest.mark.parametrize("attention", ["gcn", "gat", "linear", "gat-sym"])
def test_wide_numbers_are_read_but_for_scores(attention: str, tmp_path: Path) -> None:
    """Lines of 16 bits take the quick path; features of scores have ten at most, as `Design` says."""
    rng = np.random.default_rng(2)
    plain = {"attention": "gcn", "t_attn": None, "ai": 3, "af": 12, "wi": 0, "wf": 15, "t_out": 4}
    right = random_design(rng, 2, (plain, plain))
    content = right.to_dict()
    content["layers"][0] |= {"attention": attention, "t_attn": 1 if attention == "gat" else None}
    line, path = json.dumps(content), tmp_path / "d.jsonl"
    if attention == "gcn":
        assert module._parsed([line]) is not None
        assert_same(read_back(written(path, [line])), [line])
        return
    for af, wrong in ((6, False), (7, True)):
        content["layers"][0]["af"] = af
        line = json.dumps(content)
        assert (module._parsed([line]) is None) == wrong
        if wrong:
            with pytest.raises(UserError, match=f"ai . af must be 1 to 9 with attention {attention}: scores look up"):
                read_tables(written(path, [line]))


@pytest.mark.parametrize(("layer", "name", "value"), CHANGES)
def test_a_wrong_line_is_refused_as_design_refuses_it(layer: int | None, name: str, value: Any, tmp_path: Path) -> None:
    """Each change makes the line wrong; file and line are named, and no design of the file is returned."""
    rng = np.random.default_rng(1)
    plain = ({"attention": "gcn", "t_attn": None}, {"attention": "constant", "t_attn": None})
    right = random_design(rng, 2, plain)
    content = json.loads(right.to_json())
    (content if layer is None else content["layers"][layer])[name] = value
    path = written(tmp_path / "d.jsonl", [right.to_json(), "", json.dumps(content), right.to_json()])
    with pytest.raises(UserError) as expected:
        Design.from_json(json.dumps(content), f"{path}:3")
    with pytest.raises(UserError) as found:
        read_tables(path)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize(
    "change",
    [{"ai": 8, "af": 8}, {"ai": 0, "af": 0}, {"wi": 0, "wf": 0}, {"wi": 8, "wf": 8}, {"t_out": 8, "wi": 3, "wf": 6}],
)
def test_rules_between_choices(change: dict[str, int], tmp_path: Path) -> None:
    content = random_design(np.random.default_rng(2), 2).to_dict()
    content["layers"][0] |= change
    with pytest.raises(UserError, match=r"d\.jsonl:1: layers\.0: .*must be"):
        read_tables(written(tmp_path / "d.jsonl", [json.dumps(content)]))


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="cannot read the designs"):
        read_tables(tmp_path / "d.jsonl")
    with pytest.raises(UserError, match=r":1: not JSON"):
        read_tables(written(tmp_path / "e.jsonl", ["{"]))


ARRAY: dict[str, Any] = {"units": 4, "columns": [1], "beat_bits": 128}


def with_array(rng: np.random.Generator, layers: int) -> Design:
    array = {"units": int(rng.integers(1, 129)), "columns": rng.choice([1, 2, 4], layers - 1).tolist(),
             "beat_bits": int(rng.choice([128, 256, 512])), "results": int(rng.choice([1, 2, 4])),
             "shared": int(rng.choice([1, 1, 2, 8]))}  # fmt: skip
    return random_design(rng, layers).model_copy(update={"array": Array.model_validate(array)})


@pytest.mark.parametrize("block", [1, 7, 4096])
def test_arrays_among_pipelines(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of either kind, in the file's order; the quick way reads the arrays that `Design` reads."""
    monkeypatch.setattr(module, "BLOCK", block)
    rng = np.random.default_rng(block)
    made = [with_array(rng, int(rng.integers(1, 4))) for _ in range(30)]
    made += [random_design(rng, 2) for _ in range(10)]
    lines = [made[place].to_json() for place in rng.permutation(len(made))]
    assert module._parsed(lines) is not None
    path = written(tmp_path / "d.jsonl", lines)
    assert_same(read_back(path), lines)
    found = {}
    for table in read_tables(path):
        for one in table.split(1):
            found[int(one.places[0])] = one.array
    for place, line in enumerate(lines):
        own, read = Design.from_json(line).array, found[place]
        assert (own is None) == (read is None)
        if own is not None and read is not None:
            given = {name: int(getattr(read, name)[0]) for name in ("units", "beat_bits", "results", "shared")}
            assert own == Array.model_validate(given | {"columns": [int(one[0]) for one in read.columns]})


def test_an_array_in_another_spelling(tmp_path: Path) -> None:
    """A null array is none; an array under `design` is read one by one."""
    plain = random_design(np.random.default_rng(0), 2).to_dict()
    lines = [json.dumps(plain | {"array": None}), json.dumps({"rank": 1, "design": plain | {"array": ARRAY}})]
    pipelines, arrays = read_tables(written(tmp_path / "d.jsonl", lines))
    assert (pipelines.array, pipelines.places.tolist(), arrays.places.tolist()) == (None, [0], [1])
    assert arrays.array is not None and (arrays.array.results.tolist(), arrays.array.shared.tolist()) == ([1], [1])


@pytest.mark.parametrize(
    "change",
    [{"units": 0}, {"units": 129}, {"units": 4.0}, {"units": True}, {"columns": []}, {"columns": [1, 1]},
     {"columns": ["x"]}, {"columns": 1}, {"beat_bits": 64}, {"beat_bits": "128"}, {"results": 3}, {"rows": 1},
     {"results": 1, "rows": 1}, {"beat_bits": None}, {"shared": 3}, {"shared": None}, {"shared": 2, "rows": 1}],
)  # fmt: skip
def test_a_wrong_array_is_refused_as_design_refuses_it(change: dict[str, Any], tmp_path: Path) -> None:
    plain = random_design(np.random.default_rng(0), 2).to_dict()
    right, wrong = (json.dumps(plain | {"array": array}) for array in (ARRAY, ARRAY | change))
    path = written(tmp_path / "d.jsonl", [right, wrong])
    with pytest.raises(UserError) as expected:
        Design.from_json(wrong, f"{path}:2")
    with pytest.raises(UserError) as found:
        read_tables(path)
    assert str(found.value) == str(expected.value)


def refusal(read: Any) -> str | None:
    """The message of a reader that refuses a line; None if it accepts the line."""
    try:
        read()
    except UserError as error:
        return str(error)
    return None


RIGHT = random_design(np.random.default_rng(0), 2).to_json()


def refused_by_both(content: dict[str, Any], path: Path) -> str | None:
    """The message for a line after a valid one. `Design` and the reader of tables must give the same message."""
    line = json.dumps(content)
    written(path, [RIGHT, line])
    expected = refusal(lambda: Design.from_json(line, f"{path}:2"))
    found: list[Any] = []
    assert refusal(lambda: found.append(read_back(path))) == expected
    if expected is None:
        assert_same(found[0], [RIGHT, line])
    return expected


RULES_OF_TOMORROW = [
    ("LAYER_RULES", ("an odd d of {d} is refused", lambda layer: layer.d % 2 != 0), (0, "d", 5), "an odd d of 5 is"),
    ("LAYER_RULES", ("{activation} is out", lambda layer: layer.activation == "tanh"), (0, "activation", "tanh"),
     "tanh is out"),
    ("PLACE_RULES", ("layer {index}: 3 of wi", lambda layer: layer.last & (layer.wi == 3)), (1, "wi", 3), "layer 1: 3"),
    ("DESIGN_RULES", ("{dsp} is unlucky", lambda design: design.dsp == 13), (None, "dsp", 13), "13 is unlucky"),
    ("DESIGN_RULES", ("no array of 7 units", lambda design: design.array is not None and design.array.units == 7),
     (None, "array", {"units": 7, "columns": [1], "beat_bits": 128}), "no array of 7 units"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "rule", "change", "message"), RULES_OF_TOMORROW)
def test_a_new_rule_is_seen_by_both(
    name: str, rule: Any, change: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One design that keeps the rule and one that breaks it, taken by both readers without it."""
    plain = {"d": 4, "activation": "relu", "aggregation": "add", "attention": "gcn", "t_attn": None, "wi": 2, "wf": 3}
    content = random_design(np.random.default_rng(3), 2, (plain, plain | {"d": None, "activation": None})).to_dict()
    layer, field, value = change
    wrong = json.loads(json.dumps(content))
    (wrong if layer is None else wrong["layers"][layer])[field] = value
    path = tmp_path / "d.jsonl"
    assert module._parsed([json.dumps(wrong)]) is not None and refused_by_both(wrong, path) is None
    monkeypatch.setattr(rules, name, (*getattr(rules, name), rule))
    assert module._parsed([json.dumps(content)]) is not None and module._parsed([json.dumps(wrong)]) is None
    assert message in (refused_by_both(wrong, path) or "")


VALUES = st.one_of(
    st.integers(-2, 70), st.sampled_from([1024, 1025, 1 << 16, 1 << 70]), st.none(), st.booleans(),
    st.sampled_from([1.0, 0.5, "", "2", [], {}]), st.sampled_from(sum(module.TEXTS.values(), ())),
)  # fmt: skip
FIELDS = st.sampled_from([*Layer.model_fields, "colour"])
CHANGED = st.lists(st.tuples(st.integers(0, 1), FIELDS, VALUES), min_size=1, max_size=3)
FIELDS_OUTSIDE = st.sampled_from(["dsp", "schema", "sampling", "array", "layers", "gates"])
OUTSIDE = st.lists(st.tuples(FIELDS_OUTSIDE, VALUES), max_size=1)
ARRAYS = st.none() | st.fixed_dictionaries(
    {"units": st.integers(-1, 130), "columns": st.lists(st.integers(1, 4), max_size=3),
     "beat_bits": st.sampled_from([64, 128, 256, 512])},
    optional={"results": st.integers(1, 5), "shared": st.sampled_from([1, 2, 3, 16, None])},
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 1 << 30), CHANGED, OUTSIDE, ARRAYS)
def test_what_one_refuses_the_other_refuses_with_the_same_sentence(
    tmp_path_factory: pytest.TempPathFactory, seed: int, changed: Any, outside: Any, array: Any
) -> None:
    content = random_design(np.random.default_rng(seed), 2).to_dict()
    for layer, field, value in changed:
        content["layers"][layer][field] = value
    if array is not None:
        content["array"] = array
    refused_by_both(content | dict(outside), tmp_path_factory.getbasetemp() / "d.jsonl")


def test_fields_have_no_rules_that_the_table_does_not_know() -> None:
    """Numbers have bounds and words have options; every other rule is in the lists of rules."""
    of_layers, of_arrays = [*module.BOUNDS, *module.TEXTS, "order"], ["units", *module.ARRAY_OPTIONS, "columns"]
    for model, fields in ((Layer, of_layers), (Array, of_arrays)):
        assert sorted(model.model_fields) == sorted(fields)
        limits = {type(one).__name__ for field in model.model_fields.values() for one in field.metadata}
        assert limits <= {"Ge", "Le", "Strict"}, "a bound that `_numbers` does not check"
    for model, validators in ((Layer, ["_rules"]), (Array, []), (Design, ["_rules"])):
        own = model.__pydantic_decorators__
        assert [*own.model_validators] == validators and not own.field_validators


def test_designs_of_two_orders(tmp_path: Path) -> None:
    """Tables have one order of every layer, and columns name it."""
    plain = Design.from_dict({**random_design(np.random.default_rng(0), 2).to_dict(), "array": ARRAY})
    last = plain.layers[1].model_copy(update={"attention": "gcn", "aggregation": "add", "t_attn": None})
    layers = [(plain.layers[0], last.model_copy(update={"order": order})) for order in (None, "gather-first")]
    lines = [plain.model_copy(update={"layers": one}).to_json() for one in (*layers, layers[0])]
    path = written(tmp_path / "d.jsonl", lines)
    assert_same(read_back(path), lines)
    tables = read_tables(path)
    assert [(table.gathered, table.places.tolist()) for table in tables] == [((), [0, 2]), ((False, True), [1])]
