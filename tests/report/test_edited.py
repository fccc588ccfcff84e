"""Files that somebody edited: the page is drawn, or one line says what is wrong."""

import copy
import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fgnas.engine.store import RunStore
from fgnas.errors import UserError
from fgnas.report.make import report_project, report_run

EDITS = 40
GONE = object()
VALUES = (GONE, "x", [], {}, None, -1, 0, True)


def places(content: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The keys that lead to each value."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield (*above, key)
        yield from places(value, (*above, key))


def edited(content: Any, rng: random.Random) -> Iterator[Any]:
    """The content with one value changed or gone, at random places; and other contents."""
    yield from ([], {}, 1, None)
    every = [(place, value) for place in places(content) for value in VALUES]
    for (*above, last), value in rng.sample(every, min(EDITS, len(every))):
        found = copy.deepcopy(content)
        holder = found
        for key in above:
            holder = holder[key]
        if value is GONE:
            del holder[last]
        else:
            holder[last] = value
        yield found


def refusals(path: Path, draw: Callable[[], object]) -> int:
    """How many edits of a file `draw` refuses in a line. Any other error passes through."""
    whole, refused = path.read_text(), 0
    for content in edited(json.loads(whole), random.Random(path.name)):
        path.write_text(json.dumps(content))
        try:
            draw()
        except UserError:
            refused += 1
    path.write_text(whole)
    draw()
    return refused


@pytest.mark.parametrize("name", ["report/accelerator", "report/price", "report/specification", "vectors/vectors"])
def test_a_project(project, tmp_path: Path, name: str) -> None:
    shutil.copytree(project, tmp_path / "p")
    assert refusals(tmp_path / "p" / f"{name}.json", lambda: report_project(tmp_path / "p")) > 0


@pytest.mark.parametrize("name", ["config", "best", "leaders", "cheapest"])
def test_a_run(make_run, tmp_path: Path, name: str) -> None:
    run = make_run(30)
    store = RunStore.create(tmp_path, "run", run.config)
    store.commit(run.trials, {})
    cheapest = {**run.leaders[-1], "saved": run.config["saved"], "delivered": run.best["delivered"]}
    for file, content in {"best": run.best, "leaders": run.leaders, "cheapest": cheapest}.items():
        (store.folder / f"{file}.json").write_text(json.dumps(content))
    assert refusals(store.folder / f"{name}.json", lambda: report_run(store)) > 0
