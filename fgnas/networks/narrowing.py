"""The narrowest numbers, part by part, with which a network stays as good as it must."""

from __future__ import annotations

from collections.abc import Callable

Widths = tuple[int, ...]


def narrowest(parts: int, offered: range, good: Callable[[Widths], bool]) -> Widths | None:
    """The bits of each part: first of all together, then of one part after the other as long as that stays good.

    None where not even the widest are. It looks at no more than `len(offered) * (parts + 1)` networks.
    """
    found: Widths | None = None
    for bits in reversed(offered):
        if not good((bits,) * parts):
            break
        found = (bits,) * parts
    if found is None:
        return None
    for part in range(parts):
        for bits in range(found[part] - 1, offered.start - 1, -1):
            narrower = (*found[:part], bits, *found[part + 1 :])
            if not good(narrower):
                break
            found = narrower
    return found
