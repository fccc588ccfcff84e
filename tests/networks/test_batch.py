"""Networks trained at once: the logits and gradients of torch, and each network as if it were alone."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fgnas.activations import NAMES
from fgnas.networks import batch as of_batches
from fgnas.networks import model
from fgnas.networks.batch import Batch, Csr, Pass, _tensors
from fgnas.networks.model import Child, Field, keep_mask
from fgnas.networks.training import Recipe, train, train_many

LAYER = st.fixed_dictionaries(
    {
        "d": st.integers(1, 9),
        "attention": st.sampled_from(["constant", "gcn", "gat"]),
        "aggregation": st.sampled_from(["add", "mean", "max", "mlp"]),
        "k": st.sampled_from([1, 2, 4]),
        "activation": st.sampled_from(NAMES),
    }
)


def ended(layers):
    """The last layer has the classes for its features, and no activation."""
    return [*layers[:-1], layers[-1] | {"d": None, "activation": None}]


def batches(layers):
    return st.lists(st.lists(LAYER, min_size=layers, max_size=layers).map(ended), min_size=1, max_size=5)


ANY = st.integers(1, 3).flatmap(batches)


@pytest.fixture(scope="module")
def field(four_nodes):
    return {layers: Field(four_nodes, np.array([0, 2, 3]), layers) for layers in (1, 2, 3)}


def by_torch(child, field, masks, monkeypatch):
    """Logits and gradients of one network, of a loss that weighs every logit differently."""
    recorded = iter(masks)
    monkeypatch.setattr(model, "keep_mask", lambda rng, shape, dropout: next(recorded))
    logits = child(field, np.random.default_rng(0))
    weights = torch.arange(1, logits.numel() + 1, dtype=torch.float32).view_as(logits)
    (logits * weights).sum().backward()
    return logits.detach().numpy(), weights.numpy(), [p.grad.numpy() for p in in_order(child)]


def in_order(child):
    for weight, bias, pair, second in zip(child.weights, child.biases, child.attention, child.seconds, strict=True):
        yield from (weight, bias, *(pair or ()), *(second or ()))


@settings(deadline=None, max_examples=60)
@given(architectures=ANY, seed=st.integers(0, 1000))
def test_logits_and_gradients_are_those_of_torch(four_nodes, field, architectures, seed):
    rng = np.random.default_rng(seed)
    children = [Child(one, four_nodes.width_in, four_nodes.classes, rng) for one in architectures]
    for child in children:  # biases begin at 0
        for tensor in in_order(child):
            tensor.data += 0.3 * torch.from_numpy(rng.standard_normal(tensor.shape).astype(np.float32))
    own = field[len(architectures[0])]
    batch, features = Batch(children), Csr.of(own.features)
    kept = rng.integers(0, 2, len(features.values)).astype(np.float32) * 2
    rows = [len(block.target_degrees) for block in own.blocks[:-1]]
    masks = [
        rng.integers(0, 2, (count, layout.width)).astype(np.float32) * 2
        for count, layout in zip(rows, batch.layouts, strict=False)
    ]
    whole = Pass(batch, own, features.refilled(features.values * kept), masks)
    gradient = np.empty_like(whole.logits)
    expected = []
    for n, child in enumerate(children):
        hidden = [mask[:, layout.columns[n]] for mask, layout in zip(masks, batch.layouts, strict=False)]
        with pytest.MonkeyPatch.context() as patch:
            logits, weights, gradients = by_torch(child, own, [kept, *hidden], patch)
        assert whole.logits[:, n] == pytest.approx(logits, rel=1e-4, abs=1e-4)
        gradient[:, n] = weights
        expected.append(gradients)
    whole.backward(gradient)
    for n, gradients in enumerate(expected):
        for found, wanted in zip(batch._of(batch.gradient, n), gradients, strict=True):
            assert found == pytest.approx(wanted.reshape(found.shape), rel=1e-3, abs=1e-3)


def test_parameters_come_back(four_nodes):
    layer = {"d": 3, "attention": "gat", "aggregation": "add", "k": 2, "activation": "elu"}
    architecture = ended([layer | {"aggregation": "mlp"}, layer])
    children = [Child(architecture, 4, 3, np.random.default_rng(seed)) for seed in range(3)]
    kept = [[array.copy() for array in _tensors(child)] for child in children]
    batch = Batch(children)
    for child in children:
        for array in _tensors(child):
            array[...] = 0
    for n, child in enumerate(children):
        batch.restore(n, child)
        assert all((array == was).all() for array, was in zip(_tensors(child), kept[n], strict=True))


NARROW = {"d": 1, "attention": "constant", "aggregation": "add", "k": 1, "activation": "relu"}
KINDS = ("constant", "gat")


@settings(deadline=None, max_examples=25)
@example(architectures=[ended([NARROW, NARROW | {"attention": name}]) for name in KINDS], checkpoint="loss")
@given(architectures=st.integers(1, 2).flatmap(batches), checkpoint=st.sampled_from(["accuracy", "loss"]))
def test_a_network_is_trained_as_if_it_were_alone(four_nodes, architectures, checkpoint):
    """Bit by bit, whatever other networks are in its batch."""
    recipe = Recipe(epochs=4, checkpoint=checkpoint)
    seeds = list(range(len(architectures)))
    together = train_many(four_nodes, architectures, seeds, recipe, 9)
    backwards = train_many(four_nodes, architectures[::-1], seeds[::-1], recipe, 9)[::-1]
    for architecture, seed, one, other in zip(architectures, seeds, together, backwards, strict=True):
        alone = train(four_nodes, architecture, seed, recipe, 9)
        assert one.network.to_bytes() == alone.network.to_bytes() == other.network.to_bytes()
        assert (one.val, one.epoch) == (alone.val, alone.epoch) == (other.val, other.epoch)


@pytest.mark.slow
def test_wide_networks_on_cora_are_trained_as_if_they_were_alone(cora):
    """At the sizes at which libraries choose other kernels."""
    layer = {"d": 64, "attention": "gcn", "aggregation": "mean", "k": 8, "activation": "tanh"}
    kinds = [layer, layer | {"d": 5, "k": 1}, layer | {"d": 16, "attention": "gat", "aggregation": "max"}]
    last = {"d": None, "attention": "constant", "aggregation": "max", "k": 16, "activation": None}
    architectures = [[kind, last | {"k": k}] for kind, k in zip(kinds, (16, 2, 4), strict=True)]
    recipe = Recipe(epochs=3)
    together = train_many(cora, architectures, [1, 2, 3], recipe, 9)
    for architecture, seed, one in zip(architectures, (1, 2, 3), together, strict=True):
        assert one.network.to_bytes() == train(cora, architecture, seed, recipe, 9).network.to_bytes()


@settings(deadline=None, max_examples=60)
@given(rows=st.integers(1, 9), columns=st.integers(1, 9), width=st.integers(1, 5), threads=st.integers(1, 3),
       seed=st.integers(0, 1000))  # fmt: skip
def test_threads_share_a_product_and_change_no_bit(rows, columns, width, threads, seed):
    rng = np.random.default_rng(seed)
    matrix = sp.random(rows, columns, 0.5, "csr", np.float32, rng)
    csr = Csr(matrix.indptr, matrix.indices, matrix.data)
    found = []
    for shared in (threads, 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(of_batches, "MANY_PRODUCTS", 0)
            patch.setattr(torch, "get_num_threads", lambda shared=shared: shared)
            forward, backward = np.zeros((rows, width + 1), np.float32), np.ones((columns, width + 1), np.float32)
            given = np.random.default_rng(seed)
            csr.multiply(given.standard_normal((columns, width + 1), np.float32), forward, 1, width + 1)
            csr.multiply_transposed(given.standard_normal((rows, width + 1), np.float32), backward, 0, width)
        found.append((forward, backward))
    for alone, together in zip(*found, strict=True):
        assert np.array_equal(alone, together)
    given = np.random.default_rng(seed)
    forward, backward = found[0]
    assert forward[:, 1:] == pytest.approx(
        (matrix @ given.standard_normal((columns, width + 1), np.float32))[:, 1:], rel=1e-5, abs=1e-6)  # fmt: skip
    assert backward[:, :width] == pytest.approx(
        (matrix.T @ given.standard_normal((rows, width + 1), np.float32))[:, :width], rel=1e-5, abs=1e-6)  # fmt: skip
    assert not forward[:, 0].any()
    assert (backward[:, width] == 1).all()


@pytest.mark.parametrize("dropout", [0.5, 0.3])
def test_values_are_dropped_as_the_mask_says(dropout):
    values = np.random.default_rng(3).standard_normal(77).astype(np.float32)
    out = np.empty_like(values)
    of_batches.drop(np.random.default_rng(5), values, dropout, out)
    assert np.array_equal(out, values * keep_mask(np.random.default_rng(5), values.shape, dropout))
