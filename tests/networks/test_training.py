"""Training keeps the best epoch and is a pure function."""

import dataclasses

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from fgnas.design import VECTORS
from fgnas.errors import UserError
from fgnas.networks.batch import COMPILED
from fgnas.networks.model import Field
from fgnas.networks.training import (
    Recipe,
    check_device,
    child_seed,
    float_accuracy,
    input_scale,
    of_repetition,
    recipe_for,
    restored,
    train,
    train_many,
)
from fgnas.tasks.nodes import load

GCN = [
    {"d": 4, "attention": "gcn", "aggregation": "add", "k": 1, "activation": "relu"},
    {"d": None, "attention": "gcn", "aggregation": "add", "k": 2, "activation": None},
]
SHORT = Recipe(epochs=5)


def test_recipes():
    assert recipe_for("cora") == Recipe(200, 400, 0.01, 5e-4, 0.6)
    assert of_repetition(recipe_for("cora"), 0).epochs == 200
    assert of_repetition(recipe_for("cora"), 1).epochs == 400
    assert recipe_for("pubmed").weight_decay == 1e-3


def test_child_seed_depends_on_both_and_on_nothing_else():
    reordered = [dict(reversed(layer.items())) for layer in GCN]
    assert child_seed(0, GCN) == child_seed(0, reordered)
    assert len({child_seed(0, GCN), child_seed(1, GCN), child_seed(0, GCN[::-1])}) == 3


def test_training_is_a_pure_function(four_nodes):
    first = train(four_nodes, GCN, 7, SHORT)
    torch.manual_seed(1)
    np.random.seed(1)
    again, other = train(four_nodes, GCN, 7, SHORT), train(four_nodes, GCN, 8, SHORT)
    assert first.network.to_bytes() == again.network.to_bytes()
    assert first.network.to_bytes() != other.network.to_bytes()


@pytest.mark.parametrize("attention", [name for name in VECTORS if name not in COMPILED])
def test_networks_without_compiled_loops_are_trained_beside_others(four_nodes, attention):
    """Each as it is alone."""
    scored = [layer | {"attention": attention} for layer in GCN]
    together = train_many(four_nodes, [GCN, scored, GCN], [7, 7, 8], SHORT, 3)
    alone = [train(four_nodes, one, seed, SHORT, 3) for one, seed in ((GCN, 7), (scored, 7), (GCN, 8))]
    assert [one.network.to_bytes() for one in together] == [one.network.to_bytes() for one in alone]
    child = restored(scored, together[1].network, four_nodes)
    vectors = [layer.attention_source for layer in together[1].network.layers]
    assert all(np.array_equal(own[0].detach(), its) for own, its in zip(child.attention, vectors, strict=True))
    first, later = (train(four_nodes, scored, 7, Recipe(epochs=epochs, checkpoint="loss")) for epochs in (1, 60))
    assert not np.array_equal(first.network.layers[0].attention_source, later.network.layers[0].attention_source)


def test_the_first_of_the_best_epochs_is_kept(four_nodes):
    """One validation node: once it is right, no later epoch is better."""
    full = train(four_nodes, GCN, 3, Recipe(epochs=40))
    assert full.val == 1.0
    stopped = train(four_nodes, GCN, 3, Recipe(epochs=full.epoch + 1))
    assert stopped.network.to_bytes() == full.network.to_bytes()
    assert float_accuracy(GCN, full.network, four_nodes)["val"] == full.val


def test_the_epoch_of_the_least_validation_loss_is_kept(four_nodes):
    """Trained for any number of epochs, the network has the least loss of all epochs so far."""

    def loss(epochs):
        trained = train(four_nodes, GCN, 3, Recipe(epochs=epochs, checkpoint="loss"))
        child, (target,) = restored(GCN, trained.network, four_nodes), np.flatnonzero(four_nodes.val)
        logits = child(Field(four_nodes, np.array([target]), 2))
        return float(cross_entropy(logits.detach(), torch.tensor([four_nodes.labels[target]]))), trained

    found = [loss(epochs) for epochs in range(1, 31)]
    losses = [value for value, _ in found]
    assert losses == sorted(losses, reverse=True)
    last = found[-1][1]
    assert found[last.epoch][1].network.to_bytes() == last.network.to_bytes()
    assert last.epoch == 0 or losses[last.epoch - 1] > losses[last.epoch]
    assert last.val == float_accuracy(GCN, last.network, four_nodes)["val"]
    assert last.epoch != train(four_nodes, GCN, 3, Recipe(epochs=30)).epoch


def test_input_scale_brings_the_mean_below_one_half(four_nodes):
    # Stored features: 1/2, 1/2, 1/2, 1/2, 1, so the mean is 0.6 and 2**-1 of it is 0.3.
    assert input_scale(four_nodes) == -1


def test_input_scale_of_cora(cora):
    assert input_scale(cora) == 3


@pytest.mark.parametrize("seed", [0, 1])
def test_a_gcn_learns_digits(seed):
    wider = [dict(GCN[0], d=16), GCN[1]]
    data = load("digits")
    trained = train(data, wider, seed, recipe_for("digits"))
    assert trained.val > 0.8
    assert trained.val == float_accuracy(wider, trained.network, data)["val"]


def test_a_gcn_reaches_its_known_accuracy_on_cora(cora):
    wider = [dict(GCN[0], d=16), dict(GCN[1], k=1)]
    trained = train(cora, wider, 0, recipe_for("cora"))
    assert float_accuracy(wider, trained.network, cora)["test"] > 0.79


def test_a_gat_keeps_its_vectors_and_learns_cora(cora):
    layers = [dict(GCN[0], attention="gat", d=8, k=2), dict(GCN[1], attention="gat", k=1)]
    trained = train(cora, layers, 0, recipe_for("cora"))
    assert [layer.attention_source.shape for layer in trained.network.layers] == [(2, 8), (1, 7)]
    assert trained.val == float_accuracy(layers, trained.network, cora)["val"]
    assert trained.val > 0.76


def test_recipe_is_plain_data():
    assert dataclasses.asdict(SHORT) == {
        "epochs": 5, "retrain_epochs": 400, "learning_rate": 0.01, "weight_decay": 5e-4, "dropout": 0.6,
        "device": "cpu", "checkpoint": "accuracy",
    }  # fmt: skip


@pytest.mark.skipif(torch.cuda.is_available(), reason="this torch has a GPU")
def test_a_missing_gpu_is_one_line():
    with pytest.raises(UserError, match="--device cuda: this torch .* finds no GPU; leave --device out"):
        check_device("cuda")
    check_device("cpu")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="this torch has no GPU")
@pytest.mark.parametrize("attention, aggregation", [("gcn", "add"), ("gcn", "max"), ("gat", "add")])
def test_a_gpu_learns_digits(attention, aggregation):
    layers = [dict(GCN[0], d=16, attention=attention, aggregation=aggregation), GCN[1]]
    trained = train(load("digits"), layers, 0, recipe_for("digits", "cuda"))
    assert trained.val > 0.8
    assert abs(trained.val - float_accuracy(layers, trained.network, load("digits"))["val"]) < 0.01
