"""Errors out of the user's own files: mechanisms, tasks and corpora of a `--config-dir`."""

from __future__ import annotations

import re
import traceback
from pathlib import Path

from attnlab.config.options import own_folders
from attnlab.errors import plain_text


def failure(error: BaseException) -> str:
    """What an error is, in a line; one out of the user's own files with file and line.

    Such as `TypeError: ...` or `mine.py, line 7, in score: TypeError: ...`.
    """
    text = plain_text(error)
    words = f"{type(error).__name__}: {text}" if text else type(error).__name__
    frame = _own_frame(error)
    if frame is None:
        return words
    return f"{frame.filename}, line {frame.lineno}, in {frame.name}: {words}{_advice(text, frame)}"


def _own_frame(error: BaseException) -> traceback.FrameSummary | None:
    """The last line of the user's own files that led to an error; None if there is none."""
    folders = own_folders()
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if any(folder in Path(frame.filename).parents for folder in folders):
            return frame
    return None


def _advice(text: str, frame: traceback.FrameSummary) -> str:
    """What to do about a weight that is used but was never created."""
    found = re.match(r"'(\w+)' object has no attribute '(\w+)'", text)
    if found and f"class {found[1]}" in Path(frame.filename).read_text(encoding="utf-8"):
        return f"; if {found[2]} is a weight, build(query_shape, memory_shape) must create it"
    return ""
