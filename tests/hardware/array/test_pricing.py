"""Prices of many arrangements at once against those of each that is lowered and encoded."""

import numpy as np
import pytest
from arrays import random_data, random_source

from fgnas.errors import UserError
from fgnas.hardware.array import reference
from fgnas.hardware.array.choosing import fastest
from fgnas.hardware.array.cycles import multiplications, total_cycles
from fgnas.hardware.array.encoding import encode_array, fit
from fgnas.hardware.array.lowering import default_columns
from fgnas.hardware.array.pricing import ArrayPricer, Candidates
from fgnas.hardware.array.programme import BEAT_BITS
from fgnas.hardware.array.resources import block_rams, block_rams_of


@pytest.mark.parametrize("seed", range(12))
def test_prices_are_those_of_the_encoded_array(seed: int) -> None:
    """One to three layers on 1 to 16 units, with every n of the first layer, behind a port of each width."""
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    source = random_source(rng, 1 + seed % 3, data)
    arrays = []
    beat_bits = BEAT_BITS[seed % 3]
    for units in (1, 2, 8, 12, 16):
        widest = tuple(default_columns(layer, units) for layer in source.layers[:-1])
        arrays += [fit(source, data, units, columns, 1, beat_bits) for columns in {widest, tuple(1 for _ in widest)}]
    units = np.array([array.engine.units for array in arrays])
    columns = [np.array([array.plans[layer].aggregate.n for array in arrays]) for layer in range(seed % 3)]
    features = [np.full(len(arrays), layer.geometry.features) for layer in source.layers]
    tables = np.array([sum(plan.activation_words for plan in array.plans) for array in arrays])
    bits = np.array([array.engine.bits for array in arrays])
    weighted = [np.full(len(arrays), layer.geometry.gcn) for layer in source.layers]
    prices = ArrayPricer(data, beat_bits=beat_bits).price(Candidates(units, features, columns, weighted, bits, tables))
    for place, array in enumerate(arrays):
        encoded = encode_array(array, data)
        assert prices.cycles[place] == total_cycles(encoded)
        assert prices.multipliers[place] == array.engine.multipliers
        assert prices.multiplications[place] == multiplications(encoded)
        rest = array.engine.table_words - prices.table_words[place]
        assert 0 <= rest < 512 * array.engine.banks, "the depth is rounded up to whole block RAMs"
        assert array.engine.own_words >= prices.own_words[place]
        assert array.engine.tiles == prices.tiles[place]
        assert block_rams_of(prices, bits, beat_bits)[place] == block_rams(array.engine)
        moved = sum(region.size for region in (*encoded.regions.values(), reference.run_region(encoded)))
        assert prices.memory_bytes[place] == moved


def test_the_fastest_is_no_slower_than_any() -> None:
    rng = np.random.default_rng(3)
    data = random_data(rng)
    source = random_source(rng, 2, data, ("add",))
    best = total_cycles(encode_array(fastest(source, data, 64), data))
    for units in (1, 2, 3, 4, 6, 8):
        assert best <= total_cycles(encode_array(fit(source, data, units), data))
    assert fastest(source, data, 63).engine.units <= 7
    with pytest.raises(UserError, match="8 multipliers at least, the design may use 7"):
        fastest(source, data, 7)
