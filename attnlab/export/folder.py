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

_SCRATCH = ".export-"  # how the name of a folder that isn't complete begins


def require_free(folder: Path) -> None:
    """Raise `RequestError` if a folder isn't empty, or can't be a folder.

    What a killed export left there doesn't count.
    """
    place = Path(os.path.realpath(folder))
    if not is_utf8(str(place)):
        raise RequestError(f"--out={printable(str(folder))}: is not UTF-8: use another name.")
    with explained(f"--out={folder}: can't be read"):
        is_free = place.is_dir() and {*place.iterdir()} <= {*place.glob(f"{_SCRATCH}*")}
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
            scratch = Path(mkdtemp(prefix=_SCRATCH, dir=place if exists else place.parent))
        try:
            yield scratch
            with explained(what):
                if exists:
                    require_free(place)
                    for each in scratch.iterdir():
                        each.rename(place / each.name)
                    for each in place.glob(f"{_SCRATCH}*"):
                        shutil.rmtree(each, ignore_errors=True)
                else:
                    scratch.chmod(0o755)
                    scratch.replace(place)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
