"""The canonical form of a list of operations: those without effect are removed, so that no network is scored twice.

Rules, repeated until nothing changes: (1) an identity is removed, and so is a skip whose two widths differ or that has
nothing before it; (2) an aggregate without a graph is removed, and one whose reduction changes nothing; (3) among
adjacent samples only the last stays, and a sample that no aggregate reads is removed, as are nearest neighbours of
unchanged features.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fgnas.networks.points.operations import Aggregate, Connect, EdgeConv, Operation, Sample

Operations = tuple[Operation, ...]


def canonical(operations: Sequence[Operation], width_in: int, edges: bool = False) -> Operations:
    """The operations that are left, in order: the same outputs, bit for bit, from the same weights.

    `width_in`: features of a point. `edges`: whether the data has a graph of its own, which is there from the start.
    """
    rules: tuple[Callable[[Operations], int | None], ...] = (
        _identity, lambda found: _without_effect(found, edges), lambda found: _skip(found, width_in), _unread, _again,
    )  # fmt: skip
    found = tuple(operations)
    while (place := next((at for rule in rules if (at := rule(found)) is not None), None)) is not None:
        found = (*found[:place], *found[place + 1 :])
    return found


def changes(one: Operation) -> bool:
    """Whether an operation of a canonical form changes features."""
    return not isinstance(one, Sample)


def _identity(operations: Operations) -> int | None:
    return _first(operations, lambda at, one: one == Connect("identity"))


def _skip(operations: Operations, width_in: int) -> int | None:
    """The index of a skip that adds nothing: no features come before the last change, or they have another width."""
    before: int | None = None
    width = width_in
    for at, one in enumerate(operations):
        if isinstance(one, Connect) and before != width:
            return at
        if changes(one):
            before, width = width, one.width(width)
    return None


def _without_effect(operations: Operations, edges: bool) -> int | None:
    graph = edges
    for at, one in enumerate(operations):
        graph = graph or isinstance(one, Sample)
        if isinstance(one, Aggregate) and (not graph or one.changes_nothing):
            return at
    return None


def _unread(operations: Operations) -> int | None:
    """A sample with no aggregate before the next sample, or before the end."""

    def unread(at: int, one: Operation) -> bool:
        after = next((two for two in operations[at + 1 :] if isinstance(two, (Aggregate, EdgeConv, Sample))), None)
        return isinstance(one, Sample) and (after is None or isinstance(after, Sample))

    return _first(operations, unread)


def _again(operations: Operations) -> int | None:
    """A sample of nearest neighbours of the same features as the one before it."""
    current = False
    for at, one in enumerate(operations):
        if isinstance(one, Sample):
            if current and one.function == "nearest":
                return at
            current = one.function == "nearest"
        elif changes(one):
            current = False
    return None


def _first(operations: Operations, found: Callable[[int, Operation], bool]) -> int | None:
    return next((at for at, one in enumerate(operations) if found(at, one)), None)
