"""Files that a page of the documentation asks its reader to save."""

import re
from pathlib import Path

FILE = re.compile(r"^```python\n(?P<text># (?P<name>\w+\.py)\n.*?)^```", re.MULTILINE | re.DOTALL)


def write_files(text: str, folder: Path) -> None:
    """Save every block of Python whose first line is a comment with a file's name under that name."""
    for found in FILE.finditer(text):
        (folder / found["name"]).write_text(found["text"], encoding="utf-8")
