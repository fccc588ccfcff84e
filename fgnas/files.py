"""Files of users and runs: one line for what cannot be read; a reader sees the old content or the new, even after a
full disk or a power cut."""

import io
import json
import os
from pathlib import Path
from typing import Any

from fgnas.errors import UserError


def read_text(path: Path, what: str) -> str:
    """The text of a user's file, which a message calls `what`. Raises UserError where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read the {what} {path}: {getattr(error, 'strerror', None) or error}") from None


def replace_file(path: Path, content: bytes | str) -> None:
    """Replace a file atomically, through a temporary file beside it. Raises OSError and then leaves the old content."""
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


def torch_bytes(content: Any) -> bytes:
    """What torch.save writes of tensors and plain values."""
    import torch  # takes seconds, which a page of a run does not need

    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


def canonical_json(data: Any) -> str:
    """JSON in one spelling only: sorted keys, no spaces, no NaN."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
