"""The folder of an exported model, which appears only when it is complete."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from attnlab.errors import RequestError, explained
from attnlab.records.files import new_parents
from attnlab.text.reading import is_utf8, printable


def require_free(folder: Path, own: Path | None = None) -> None:
    """Raise `RequestError` if a folder has other content than `own`, or can't be a folder."""
    place = Path(os.path.realpath(folder))
    if not is_utf8(str(place)):
        raise RequestError(f"--out={printable(str(folder))}: is not UTF-8: use another name.")
    with explained(f"--out={folder}: can't be read"):
        is_free = place.is_dir() and {*place.iterdir()} <= {own}
        if not is_free and os.path.lexists(place):  # such as a link to itself
            raise RequestError(
                f"--out={folder}: exists already. Remove it, or name another folder by --out."
            )


@contextmanager
def filled(folder: Path) -> Iterator[Path]:
    """Yield an empty folder, whose content moves to `folder` if the body succeeds.

    A new folder appears as a whole. An empty folder is filled instead of replaced, because it can
    be a mount point, or the working folder of a shell. If the body fails, nothing is left behind.

    Raises:
        RequestError: the folder can't be written.
    """
    place = Path(os.path.realpath(folder))  # of a link too
    what = f"--out={folder}: can't be written"
    with new_parents(place, what):
        with explained(what):
            exists = place.is_dir()
            scratch = Path(mkdtemp(prefix=".export-", dir=place if exists else place.parent))
        try:
            yield scratch
            with explained(what):
                if exists:
                    require_free(place, scratch)
                    for each in scratch.iterdir():
                        each.rename(place / each.name)
                else:
                    scratch.chmod(0o755)
                    scratch.replace(place)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
