"""The packing of rows of non-zeros into the issue beats of the first layer, for encoder and latency model alike.

Rows follow each other through beats of `t_in` lanes, each in the first free lane. A beat ends one row at most: the
lanes before its split belong to that row, and the lanes after it to the next one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from fgnas.hardware.numbers import Ints


@dataclass(frozen=True, eq=False)
class Packing:
    """The places of N rows in a stream of beats.

    Attributes:
        starts: [N] place of a row's first non-zero, counted in lanes from the first beat; the others follow it.
        ends: [N] the beat that ends a row, which no other row shares as its end.
    """

    starts: Ints
    ends: Ints

    @property
    def row_beats(self) -> Ints:
        """[N] beats from the end of the previous row, itself excluded, to a row's own end."""
        return np.diff(self.ends, prepend=-1)


def pack_rows(non_zeros: Ints, t_in: int) -> Packing:
    """Pack rows of `non_zeros` values each, [N], into beats of `t_in` lanes, as early as they can end."""
    return Packing(*_pack(np.asarray(non_zeros, np.int64), t_in))


@numba.njit(cache=True)
def _pack(non_zeros: Ints, t_in: int) -> tuple[Ints, Ints]:  # pragma: no cover - compiled
    starts, ends = np.empty(len(non_zeros), np.int64), np.empty(len(non_zeros), np.int64)
    place, end = 0, -1
    for row in range(len(non_zeros)):
        starts[row] = place
        place += non_zeros[row]
        end = max(end + 1, -(-place // t_in) - 1)
        ends[row] = end
        # A row that ends in the beat in which the row before ends leaves no lane of that beat to the next row.
        place = max(place, end * t_in)
    return starts, ends
