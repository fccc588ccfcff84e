"""The run folder: commits, resuming, and refusals."""

import json

import numpy as np
import pytest
import torch

from fgnas.engine.store import RunStore, check_name, compare, next_name
from fgnas.engine.trial import Trial
from fgnas.errors import UserError


def trial(number):
    return Trial(number, number + 1, (0, -1), {"k": 1}, "a", "b", "c", True, {"val": 0.5}, {"lut": 7}, True, False)


@pytest.fixture
def store(tmp_path):
    return RunStore.create(tmp_path / "runs", "cora-1", {"seed": 0})


def test_resume_goes_back_to_the_last_commit(store):
    store.commit([trial(0), trial(1)], {"next": torch.tensor([2])})
    with (store.folder / "trials.jsonl").open("a") as file:
        file.write('{"trial":2}\n{"tri')
    assert store.resume()["next"].tolist() == [2]
    assert store.trials() == [trial(0), trial(1)]


def test_a_run_killed_before_its_first_commit_starts_from_scratch(store):
    (store.folder / "trials.jsonl").write_text('{"trial":0}\n')
    assert store.resume() is None
    assert store.trials() == []


def test_lost_trials_are_refused(store):
    store.commit([trial(0)], {})
    (store.folder / "trials.jsonl").write_text("")
    with pytest.raises(UserError, match="lost trials"):
        store.resume()


def test_a_lost_folder_of_models_is_made_again(store):
    store.children.rmdir()
    store.resume()
    assert store.children.is_dir()


@pytest.mark.parametrize("content", ["[]", "5", "null"])
def test_a_configuration_that_is_no_table_is_refused(store, content):
    (store.folder / "config.json").write_text(content)
    with pytest.raises(UserError, match="config.json is damaged"):
        store.config()


def test_a_damaged_state_is_refused(store):
    (store.folder / "state.pt").write_bytes(b"no state")
    with pytest.raises(UserError, match="state.pt"):
        store.resume()


def test_a_state_is_never_half_written(store):
    store.commit([trial(0)], {"draws": 1})
    store.commit([trial(1)], {"draws": 2})
    assert store.resume() == {"draws": 2}
    assert not list(store.folder.glob("*.part"))


def test_a_longer_run_goes_back_to_the_last_whole_batch(store):
    store.commit([trial(0)], {"draws": 1})
    store.commit([trial(1)], {"draws": 2}, whole=False)
    store.commit([trial(2)], {"draws": 3}, whole=False)
    assert store.resume() == {"draws": 3} and len(store.trials()) == 3
    store.write_json("best.json", {})
    store.lengthen({"seed": 0, "more": True})
    assert store.best() is None and store.config()["more"]
    again = RunStore(store.folder)
    assert again.resume() == {"draws": 1} and again.trials() == [trial(0)]
    # The whole batch is remembered, also by another process.
    again.commit([trial(1)], {"draws": 4}, whole=False)
    again.lengthen({})
    assert again.resume() == {"draws": 1}


def test_a_longer_run_without_a_whole_batch_starts_from_scratch(store):
    store.commit([trial(0)], {"draws": 1}, whole=False)
    store.lengthen({})
    assert store.resume() is None and store.trials() == []


def test_a_run_that_knows_no_whole_batches_is_not_lengthened(store):
    torch.save({"offset": 0, "state": {}}, store.folder / "state.pt")
    with pytest.raises(UserError, match="earlier version"):
        store.lengthen({"seed": 0, "more": True})
    assert "more" not in store.config()


def test_the_best_so_far_is_the_only_leader_until_there_are_others(store):
    entry = {"design_hash": "a", "repetition": 1, "weights": "children/a-1.npz"}
    for name in ("a-1", "b-1", "network"):
        store.model_path(name).write_bytes(b"model")
    store.deliver_early(entry)
    assert store.leaders() == [entry]
    store.keep_models(["network", "b-1"])
    assert {path.stem for path in store.children.iterdir()} == {"a-1", "b-1", "network"}
    other = {"design_hash": "b", "repetition": 1, "weights": "children/b-1.npz"}
    store.deliver_early(other)
    assert store.leaders() == [other] and not store.model_path("a-1").exists()
    store.write_json("leaders.json", [entry, other])
    assert store.leaders() == [entry, other]
    store.end_early()
    assert store.early() is None and {path.stem for path in store.children.iterdir()} == {"network"}


def test_a_file_that_every_network_shares_is_never_removed(store):
    (store.folder / "supernet.pt").write_bytes(b"model")
    store.deliver_early({"design_hash": "a", "repetition": 1, "weights": "supernet.pt"})
    store.end_early()
    assert (store.folder / "supernet.pt").exists()


def test_a_state_may_hold_arrays_and_large_integers(store):
    """NumPy's generators have 128-bit integers, and searchers may keep their best rows as arrays."""
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 9, (2, 3))
    state = {"rng": rng.bit_generator.state, "best": rows, "pair": (1, [2.5, None]), "flag": True}
    store.commit([], state)
    found = store.resume()
    np.testing.assert_array_equal(found["best"], rows)
    assert found["rng"] == state["rng"] and found["pair"] == [1, [2.5, None]] and found["flag"] is True


def test_only_the_named_models_are_kept(store):
    for name in ("a", "b"):
        store.model_path(name).write_bytes(b"model")
    store.keep_models(["b", "other"])
    assert [path.name for path in store.children.iterdir()] == ["b.npz"]


def test_finding_runs(store, tmp_path):
    root = tmp_path / "runs"
    assert RunStore.find(root, "latest").folder == store.folder
    assert RunStore.find(root, str(store.folder)).name == "cora-1"
    assert store.config() == {"seed": 0}
    with pytest.raises(UserError, match="there are cora-1"):
        RunStore.find(root, "cora-2")
    with pytest.raises(UserError, match="no latest run"):
        RunStore.find(tmp_path, "latest")
    with pytest.raises(UserError, match="none yet"):
        RunStore.find(tmp_path, "cora-1")


def test_an_unfinished_run_has_no_leaders(store):
    assert store.best() is None
    with pytest.raises(UserError, match="--run cora-1 --resume"):
        store.leaders()


def test_names(store, tmp_path):
    root = tmp_path / "runs"
    assert next_name(root, "cora") == "cora-2"
    assert next_name(root, "digits") == "digits-1"
    for name in ("cora-1", "a/b", "..", "latest", ""):
        with pytest.raises(UserError):
            check_name(root, name)
    check_name(root, "cora-2")


def test_compare_names_the_first_field_that_differs():
    stored = {"seed": 0, "specification": {"lut": 10, "ff": 1}, "versions": {"torch": "2.0"}}
    assert compare(stored, json.loads(json.dumps(stored))) is None
    assert compare(stored, {**stored, "seed": 1}) == "seed is 0 there and 1 now"
    other = {**stored, "specification": {"lut": 10, "ff": None}}
    assert compare(stored, other) == "specification.ff is 1 there and null now"
    assert compare(stored, {**stored, "more": 1}) == "more is null there and 1 now"
