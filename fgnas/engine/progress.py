"""What a search shows while it runs: a bar on a terminal, now and then a line elsewhere; always on stderr."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from fgnas.engine.loop import Status, Survey

LINE_EVERY_S = 10.0


class SearchProgress:
    """Reports a search. Use as a context."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.survey: Survey | None = None
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._began: tuple[float, int] | None = None
        self._last_line = 0.0

    def __enter__(self) -> SearchProgress:
        if self.console.is_terminal:
            columns = (TextColumn("{task.description}"), BarColumn(16), TextColumn("{task.fields[text]}"))
            self._bar = Progress(*columns, TimeRemainingColumn(), console=self.console)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def surveyed(self, survey: Survey) -> None:
        """The feasible share of the space, before the first child."""
        self.survey = survey
        self._line(str(survey))

    def searched(self, status: Status) -> None:
        """A batch is done."""
        best, share = f"best {status.best:.1%}", f"feasible {status.share:.2%}"
        text = f"{status.done}/{status.children}, {best}, {share}, {status.trainings} trained"
        self._show("search", status.done, status.children, text)
        if status.done == status.children:
            self._line("the best designs are trained anew, with fresh seeds")

    def retrained(self, done: int, total: int) -> None:
        """A seed of the leaders is done, or their fine-tuning, which is the last round."""
        self._show("retrain", done, total, f"{done}/{total} rounds")

    def _show(self, what: str, done: int, total: int, text: str) -> None:
        if self._bar is not None:
            if self._task is None or self._bar.tasks[-1].description != what:
                self._task = self._bar.add_task(what, total=total, completed=done, text=text)
            self._bar.update(self._task, completed=done, text=text)
            return
        now = time.monotonic()
        if self._began is None or done < self._began[1]:
            self._began = (now, done)
        if now - self._last_line >= LINE_EVERY_S or done == total:
            self._last_line = now
            began, first = self._began
            left = f", {(now - began) / (done - first) * (total - done):.0f} s left" if done > first else ""
            self._line(f"{what}: {text}{left if done < total else ''}")

    def _line(self, text: str) -> None:
        if self._bar is not None:
            self._bar.console.print(text, highlight=False)
        else:
            self.console.print(text, highlight=False, soft_wrap=True)
