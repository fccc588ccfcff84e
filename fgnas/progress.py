"""What a long step shows while it runs: a line that moves on a terminal, a plain line now and then elsewhere.

Whoever does the work says `with step("compile the C++"):` and knows nothing of displays; without one nothing is shown.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

QUIET_S = 2.0
"""What ends sooner is not spoken of."""
LINE_EVERY_S = 10.0


@contextmanager
def step(what: str, expected_s: float | None = None) -> Iterator[None]:
    """A part of the work; `expected_s` is how long it will take, where that is known."""
    if (display := _display.get()) is None:
        yield
        return
    # Only the outermost speaks: two moving lines would fight over one terminal row.
    token = _display.set(None)
    try:
        with display(what, expected_s):
            yield
    finally:
        _display.reset(token)


@contextmanager
def shown(stream: IO[str]) -> Iterator[None]:
    """Let steps be shown on a stream."""
    token = _display.set(_Display(stream))
    try:
        yield
    finally:
        _display.reset(token)


def seconds_before(report: Path, key: str) -> float | None:
    """How long the same step took the last time, as its report has it."""
    try:
        return float(json.loads(report.read_text(encoding="utf-8"))[key])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remaining(begun: float, now: float, expected_s: float | None) -> str:
    """The time left in words, or the time gone where none is known or it is over."""
    if expected_s is None or now - begun >= expected_s:
        return f"{now - begun:.0f} s"
    return f"{now - begun:.0f} s, about {expected_s - (now - begun):.0f} s left"


class _Display:
    """Shows a step from a thread of its own, for the work waits in a subprocess."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    @contextmanager
    def __call__(self, what: str, expected_s: float | None) -> Iterator[None]:
        done = threading.Event()
        show = self._moving if self.stream.isatty() else self._lines
        thread = threading.Thread(target=show, args=(what, expected_s, done), daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _lines(self, what: str, expected_s: float | None, done: threading.Event) -> None:
        begun, wait = time.monotonic(), QUIET_S
        while not done.wait(wait):
            print(f"{what}: {remaining(begun, time.monotonic(), expected_s)}", file=self.stream, flush=True)
            wait = LINE_EVERY_S

    def _moving(self, what: str, expected_s: float | None, done: threading.Event) -> None:
        begun = time.monotonic()
        if done.wait(QUIET_S):
            return
        with _console(self.stream).status(what) as status:
            while not done.wait(0.25):
                status.update(f"{what}: {remaining(begun, time.monotonic(), expected_s)}")


def _console(stream: IO[str]) -> Console:
    from rich.console import Console

    return Console(file=stream)


_display: ContextVar[Callable | None] = ContextVar("display", default=None)
