"""How memories are built: small ones by hand, others as synthesis built them."""

import numpy as np
import pytest

from fgnas.hardware.memories import BLOCK, DISTRIBUTED, build


def built(rules: np.ndarray, depth: int, width: int, reads: int = 1) -> tuple[int, int]:
    found = build(rules, np.array([depth]), np.array([width]), reads)
    return int(found.units[0]), int(found.banks[0])


@pytest.mark.parametrize(
    ("depth", "width", "halves", "banks"),
    [
        (512, 36, 1, 1),  # a RAMB18 as 512 x 36
        (1024, 18, 1, 1),  # a RAMB18 as 1024 x 18
        (512, 72, 2, 1),  # a RAMB36 as 512 x 72
        (2048, 40, 5, 1),  # five RAMB18 as 2048 x 9 hold 45 bits
        (3072, 36, 6, 3),  # three RAMB36 as 1024 x 36, with a multiplexer
        (65536, 1, 4, 1),  # two RAMB36 in cascade
    ],
)
def test_block_rams_by_hand(depth: int, width: int, halves: int, banks: int) -> None:
    assert built(BLOCK["xc7", False], depth, width) == (halves, banks)


@pytest.mark.parametrize(
    ("depth", "width", "reads", "halves", "banks"),
    [(14248, 41, 1, 35, 7), (4410, 66, 1, 18, 9), (26083, 35, 1, 52, 13), (12335, 52, 1, 39, 13),
     (25981, 60, 1, 91, 13), (853, 60, 1, 4, 1), (13212, 26, 2, 21, 7), (23410, 46, 2, 69, 3), (21837, 27, 2, 33, 11)],
)  # fmt: skip
def test_block_rams_as_yosys_built_them(depth: int, width: int, reads: int, halves: int, banks: int) -> None:
    """Measured with pyosys 0.70 on templates/rtl/fgnas_{block,dual_read}_ram.sv."""
    assert built(BLOCK["xc7", reads > 1], depth, width, reads) == (halves, banks)
    assert built(BLOCK["xcup", reads > 1], depth, width, reads) == (halves, banks)


@pytest.mark.parametrize("family", ["xc7", "xcup"])
@pytest.mark.parametrize(
    ("depth", "width", "ports", "halves"),
    [
        # Shapes that cost the same: Yosys takes the one of RAMB36s.
        (18488, 50, 1, 60), (18544, 16, 1, 20), (24740, 42, 1, 65), (16800, 14, 2, 18), (17196, 14, 2, 18),
        # Each of two write ports has a decoder.
        (38500, 8, 2, 20), (125000, 20, 2, 160), (141867, 12, 2, 108),
    ],
)  # fmt: skip
def test_ties_and_decoders_as_yosys_decides(depth: int, width: int, ports: int, halves: int, family: str) -> None:
    """Measured with pyosys 0.70 on the same modules."""
    assert built(BLOCK[family, ports > 1], depth, width, ports)[0] == halves


@pytest.mark.parametrize(
    ("depth", "width", "series_7", "ultrascale"),
    [(18, 13, 12, 8), (22, 55, 40, 32), (66, 48, 96, 96), (104, 67, 184, 160), (294, 60, 400, 360)],
)
def test_lutrams_as_yosys_built_them(depth: int, width: int, series_7: int, ultrascale: int) -> None:
    """Measured with pyosys 0.70 on templates/rtl/fgnas_distributed_ram.sv."""
    assert built(DISTRIBUTED["xc7"], depth, width)[0] == series_7
    assert built(DISTRIBUTED["xcup"], depth, width)[0] == ultrascale
