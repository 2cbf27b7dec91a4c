"""The corpora that come with the package; `files/README.md` describes their columns."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "files"
Rows = dict[str, list[tuple[str, ...]]]


@cache
def rows(name: str) -> Rows:
    """Return the rows of a built-in corpus by part, such as `train`, in the order of its file.

    Args:
        name: `builtin`, `agreement`, `sentences` or `passages`.

    Returns:
        A list of rows per part. A row has the columns after `part`. Callers share these lists.
    """
    _, *lines = gzip.decompress((FOLDER / f"{name}.tsv.gz").read_bytes()).decode().splitlines()
    parts: Rows = {}
    for line in lines:
        part, *cells = line.split("\t")
        parts.setdefault(part, []).append(tuple(cells))
    return parts
