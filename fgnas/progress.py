"""Progress of long work, on stderr: a moving line or a bar on a terminal, a plain line now and then elsewhere.

The code that does the work calls `step`, `counted` and `say` and knows nothing of displays. They show nothing unless a
caller has opened a display with `shown`.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

QUIET_S = 2.0
"""A step that ends sooner than this shows nothing."""
LINE_EVERY_S = 10.0


@contextmanager
def shown(stream: IO[str]) -> Iterator[None]:
    """Show progress on a stream while the context is open."""
    token = _display.set(_Display(stream))
    try:
        yield
    finally:
        _display.reset(token)


@contextmanager
def step(what: str, expected_s: float | None = None) -> Iterator[None]:
    """One step of the work, shown with its running time, and with the time left where `expected_s` is known."""
    display = _display.get()
    if display is None or display.busy:
        yield
    else:
        with display.claimed(), display.timed(what, expected_s):
            yield


@contextmanager
def counted(what: str, total: int, unit: str = "") -> Iterator[Count]:
    """Work of a known number of parts, shown as a bar with the time left; `unit` names the parts."""
    display = _display.get()
    if display is None or display.busy:
        yield Count()
        return
    kind = _Bar if display.moving else _Lines
    with display.claimed():
        count = kind(display, what, total, unit)
        try:
            yield count
        finally:
            count.close()


def say(text: str) -> None:
    """Show one plain line at once, above whatever moves."""
    if (display := _display.get()) is not None:
        display.line(text)


def seconds_before(report: Path, key: str) -> float | None:
    """The seconds that the same step took the last time, as recorded in its JSON report; None where unknown."""
    try:
        return float(json.loads(report.read_text(encoding="utf-8"))[key])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remaining(begun: float, now: float, expected_s: float | None) -> str:
    """The running time in words, with the time left where it is known and not over."""
    if expected_s is None or now - begun >= expected_s:
        return f"{now - begun:.0f} s"
    return f"{now - begun:.0f} s, about {expected_s - (now - begun):.0f} s left"


class Count:
    """A count of finished parts. This one shows nothing."""

    def show(self, done: int, text: str = "") -> None:
        """Set how many parts are done; `text` is shown beside the count."""

    def close(self) -> None:
        """Leave the last state on the display and stop."""


class _Display:
    """One stream, on which only the outermost step or count is shown: two moving lines would fight over a row."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream
        self.moving = stream.isatty()
        self.busy = False
        self._console: Console | None = None

    @property
    def console(self) -> Console:
        """The stream for rich, which is imported only when something moves: the import takes longer than most steps."""
        if self._console is None:
            from rich.console import Console

            self._console = Console(file=self.stream)
        return self._console

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep the display for one step or count."""
        self.busy = True
        try:
            yield
        finally:
            self.busy = False

    def line(self, text: str) -> None:
        """Print one line."""
        if self.moving:
            self.console.print(text, highlight=False, markup=False)
        else:
            print(text, file=self.stream, flush=True)

    @contextmanager
    def timed(self, what: str, expected_s: float | None) -> Iterator[None]:
        """Show a step from a separate thread, because the caller is blocked in a subprocess."""
        done = threading.Event()
        show = self._status if self.moving else self._lines
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
            self.line(f"{what}: {remaining(begun, time.monotonic(), expected_s)}")
            wait = LINE_EVERY_S

    def _status(self, what: str, expected_s: float | None, done: threading.Event) -> None:
        begun = time.monotonic()
        if done.wait(QUIET_S):
            return
        with self.console.status(what) as status:
            while not done.wait(0.25):
                status.update(f"{what}: {remaining(begun, time.monotonic(), expected_s)}")


class _Shown(Count):
    """A count on a display."""

    def __init__(self, display: _Display, what: str, total: int, unit: str) -> None:
        self.display, self.what, self.total, self.unit = display, what, total, unit

    def _text(self, done: int, text: str) -> str:
        count = f"{done}/{self.total}{self.unit and f' {self.unit}'}"
        return f"{count}, {text}" if text else count


class _Lines(_Shown):
    """A count as plain lines, one every `LINE_EVERY_S` seconds and one at the end."""

    _first: tuple[float, int] | None = None
    _last_s = float("-inf")

    def show(self, done: int, text: str = "") -> None:
        now = time.monotonic()
        if self._first is None or done < self._first[1]:
            self._first = (now, done)
        if now - self._last_s < LINE_EVERY_S and done < self.total:
            return
        self._last_s = now
        begun, before = self._first
        left = ""
        if before < done < self.total:
            left = f", {(now - begun) / (done - before) * (self.total - done):.0f} s left"
        self.display.line(f"{self.what}: {self._text(done, text)}{left}")


class _Bar(_Shown):
    """A count as a bar, which appears with the first count: a resumed search does not begin at zero."""

    _progress: Progress | None = None
    _task: TaskID

    def show(self, done: int, text: str = "") -> None:
        text = self._text(done, text)
        if self._progress is None:
            self._progress = self._started()
            self._task = self._progress.add_task(self.what, total=self.total, completed=done, text=text)
        else:
            self._progress.update(self._task, completed=done, text=text)

    def _started(self) -> Progress:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}"), BarColumn(16), TextColumn("{task.fields[text]}", markup=False),
            TimeRemainingColumn(),
        )  # fmt: skip
        progress = Progress(*columns, console=self.display.console)
        progress.start()
        return progress

    def close(self) -> None:
        if self._progress is not None:
            self._progress.stop()


_display: ContextVar[_Display | None] = ContextVar("display", default=None)
