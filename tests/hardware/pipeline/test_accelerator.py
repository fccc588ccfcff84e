"""The parameter region: weight words by hand, and every weight at the address that the stages read."""

import numpy as np
import pytest
from support import plain_layer, random_accelerator, random_design, random_graph

from fgnas.design import Design, columns_of
from fgnas.hardware.pipeline.accelerator import Accelerator, LayerAccelerator
from fgnas.hardware.pipeline.geometry import geometry
from fgnas.hardware.pipeline.stages import parameter_beats


def accelerator_of(seed: int, t_in: int = 3) -> Accelerator:
    rng = np.random.default_rng(seed)
    design = random_design(rng, 2, ({"t_in": t_in}, {"t_in": t_in}))
    return random_accelerator(rng, design, random_graph(rng, 6, 7, 3, 9))


def unpacked(layer: LayerAccelerator, beat: int, half: int) -> list[int]:
    """The weights of a memory word, from the beat's 64 bits."""
    word = int.from_bytes(layer.parameter_words[beat, 4 * half : 4 * half + 4].astype("<i2").tobytes(), "little")
    bits = layer.weight_format.width
    codes = [(word >> (bits * lane)) & ((1 << bits) - 1) for lane in range(layer.geometry.t_out)]
    assert word >> (bits * layer.geometry.t_out) == 0
    return [code - (1 << bits) if code >> (bits - 1) else code for code in codes]


def padded_row(layer: LayerAccelerator, row: int) -> list[int]:
    """A row of W with zeros up to whole tiles; rows beyond the input are zero."""
    codes = layer.weight[row].tolist() if row < layer.geometry.input_width else [0] * layer.geometry.features
    return codes + [0] * (layer.geometry.out_tiles * layer.geometry.t_out - layer.geometry.features)


def test_a_word_by_hand() -> None:
    """Two weights of 4 bits, 3 and -2, are 1110'0011; the second word is in bits 64 and up."""
    rng = np.random.default_rng(0)
    graph = random_graph(rng, 3, 2, 2, 3)
    design = Design(schema=1, dsp=0, layers=(plain_layer(d=None, activation=None, t_act=None),))
    accelerator = random_accelerator(rng, design, graph)
    (layer,) = accelerator.layers
    assert (layer.geometry.t_out, layer.geometry.out_tiles) == (2, 1)
    assert (layer.weight_format.width, layer.weight_beats) == (4, 1)
    layer.weight[:] = [[3, -2], [-8, 7]]
    assert layer.parameter_words[0].tolist() == [0b1110_0011, 0, 0, 0, 0b0111_1000, 0, 0, 0]


@pytest.mark.parametrize("t_in", range(1, 6))
def test_every_weight_is_where_its_stage_looks(t_in: int) -> None:
    first, later = accelerator_of(t_in, t_in).layers
    for word in range(first.geometry.input_width * first.geometry.out_tiles):
        tile, column = divmod(word, first.geometry.input_width)
        expected = padded_row(first, column)[tile * first.geometry.t_out : (tile + 1) * first.geometry.t_out]
        assert unpacked(first, *divmod(word, 2)) == expected
    pairs = (t_in + 1) // 2
    for address in range(later.geometry.in_groups * later.geometry.out_tiles):
        group, tile = divmod(address, later.geometry.out_tiles)
        for lane in range(t_in):
            start = tile * later.geometry.t_out
            expected = padded_row(later, group * t_in + lane)[start : start + later.geometry.t_out]
            assert unpacked(later, address * pairs + lane // 2, lane % 2) == expected


@pytest.mark.parametrize("seed", range(10))
def test_the_latency_model_counts_the_same_beats(seed: int) -> None:
    accelerator = accelerator_of(seed, 1 + seed % 5)
    layers = geometry(columns_of([accelerator.design]), accelerator.shape)
    assert parameter_beats(layers).tolist() == [accelerator.parameter_beats] == [len(accelerator.parameters)]
    for layer in accelerator.layers:
        assert len(layer.parameter_words) == layer.weight_beats + layer.score_beats + layer.bias_beats
