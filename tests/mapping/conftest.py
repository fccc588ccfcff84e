"""The platform that docs/mapping.md writes: a processor and a kernel, two settings, blocks with shortcuts."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "mapping.md"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The file of the page."""
    block = re.search(r"^```toml\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert block is not None
    path = tmp_path / "board.toml"
    path.write_text(block[1], encoding="utf-8")
    return path
