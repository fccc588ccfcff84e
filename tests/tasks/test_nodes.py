"""Datasets: neighbourhoods by hand, the embedded one, Cora's known numbers."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

from fgnas.errors import UserError
from fgnas.tasks import nodes
from fgnas.tasks.nodes import load


def test_four_nodes(four_nodes):
    assert four_nodes.indptr.tolist() == [0, 2, 6, 9, 10]
    # Ascending, one self-loop each, the repeated edge between 1 and 2 kept.
    assert four_nodes.sources.tolist() == [0, 1, 0, 1, 2, 2, 1, 1, 2, 3]
    assert four_nodes.degrees.tolist() == [2, 4, 3, 1]
    assert four_nodes.targets.tolist() == [0, 0, 1, 1, 1, 1, 2, 2, 2, 3]


def test_rows_sum_to_one_and_empty_rows_stay_empty(four_nodes):
    assert four_nodes.features.toarray().tolist() == [[0.5, 0, 0.5], [0, 0.5, 0.5], [1, 0, 0], [0, 0, 0]]
    assert four_nodes.non_zeros.tolist() == [2, 2, 1, 0]
    assert (four_nodes.nodes, four_nodes.width_in, four_nodes.classes) == (4, 3, 2)


def test_the_fingerprint_names_the_content(four_nodes):
    same = dataclasses.replace(four_nodes, name="renamed")
    other = dataclasses.replace(four_nodes, labels=1 - four_nodes.labels)
    assert same.fingerprint == four_nodes.fingerprint != other.fingerprint


def test_digits():
    digits = load("digits")
    assert (digits.nodes, digits.width_in, digits.classes) == (1797, 64, 10)
    assert [int(mask.sum()) for mask in (digits.train, digits.val, digits.test)] == [200, 500, 1000]
    assert not (digits.train & digits.val).any() and not (digits.val & digits.test).any()
    assert np.bincount(digits.labels[digits.train]).tolist() == [20] * 10
    pairs = set(zip(digits.targets.tolist(), digits.sources.tolist(), strict=True))
    assert all((source, target) in pairs for target, source in pairs)
    assert digits.degrees.min() >= 9


def test_digits_are_the_same_in_every_process():
    code = "from fgnas.tasks.nodes import load; print(load('digits').fingerprint)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == load("digits").fingerprint


def test_nearest_neighbours_by_brute_force():
    from sklearn.datasets import load_digits

    points, digits = load_digits().data, load("digits")
    for node in (0, 500, 1796):
        distances = ((points - points[node]) ** 2).sum(1)
        order = sorted((distance, other) for other, distance in enumerate(distances) if other != node)
        neighbours = set(digits.sources[digits.indptr[node] : digits.indptr[node + 1]].tolist())
        assert {other for _, other in order[:8]} <= neighbours


def test_cora(cora):
    assert (cora.nodes, cora.width_in, cora.classes) == (2708, 1433, 7)
    assert [int(mask.sum()) for mask in (cora.train, cora.val, cora.test)] == [140, 500, 1000]
    assert cora.features.nnz == 49216 and len(cora.sources) == 13264
    assert cora.degrees.max() == 169


@pytest.mark.parametrize("name", ["cora", "citeseer"])
def test_planetoid_is_read_as_pyg_reads_it(name):
    from torch_geometric.io import read_planetoid_data

    folder = nodes._planetoid_folder(name)
    data = read_planetoid_data(str(folder), name)
    masks = (data.train_mask.numpy(), data.val_mask.numpy(), data.test_mask.numpy())
    expected = nodes.build(name, data.x.numpy(), data.edge_index.numpy(), data.y.numpy(), *masks)
    found = load(name)
    assert (found.fingerprint, found.classes, found.looped) == (expected.fingerprint, expected.classes, expected.looped)


def test_pricing_needs_no_torch():
    code = "import sys; from fgnas import api; api.price_lines; api.load('cora'); print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_a_misspelt_dataset_is_meant():
    for spelt, meant in (("Cora", "cora"), ("cite-seer", "citeseer"), ("digit", "digits")):
        with pytest.raises(UserError, match=f"unknown dataset '{spelt}'; did you mean {meant}[?] known: digits, "):
            load(spelt)


def test_unknown_datasets_are_named():
    with pytest.raises(UserError, match="unknown dataset 'nope'; known: digits, cora, citeseer, pubmed"):
        load("nope")
