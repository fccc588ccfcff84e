"""Files that are replaced whole: a reader, a full disk or a power cut finds the old content or the new."""

import os
from pathlib import Path


def replace_file(path: Path, content: bytes | str) -> None:
    """Write a file beside its place, then put it there. Raises OSError, and leaves what was there."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with scratch.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(scratch, path)
    except OSError:
        scratch.unlink(missing_ok=True)
        raise
