"""Sizes that a multiplier array may have, as a design names them; the record of a design and the hardware read them."""

from typing import Literal, get_args

BeatBits = Literal[128, 256, 512]
"""Width of the memory port."""
Results = Literal[1, 2, 4]
"""Words of H that may go to the tables in a cycle."""
Shared = Literal[1, 2, 4, 8, 16]
"""Units that may read one copy of the table."""
Products = Literal[1, 2]
"""Products that may share a DSP slice."""
PORT_WIDTHS: tuple[int, ...] = get_args(BeatBits)
RESULTS: tuple[int, ...] = get_args(Results)
SHARED: tuple[int, ...] = get_args(Shared)
SINGLE = ("results", "shared", "products")
"""Sizes that are 1 where a design does not name them."""

LARGEST_UNITS = 128
"""Units of an array at most: a descriptor has room for as many side by side."""
MOST_BITS = 16
"""Bits of the widest features and weights."""
