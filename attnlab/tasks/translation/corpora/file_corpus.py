"""The base class of corpora in text files: one file or two per part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from attnlab.errors import explained
from attnlab.tasks.translation.corpora.corpus import Corpus
from attnlab.tasks.translation.corpora.splitting import (
    PARTS,
    hashed,
    held_out,
    held_out_pairs,
    with_labels,
)
from attnlab.tasks.translation.corpora.text_files import PartFiles
from attnlab.tasks.translation.pair import Pair
from attnlab.text.cleaning import normalized
from attnlab.text.raw_text import changed, state_of


class FileCorpus(Corpus):
    """A corpus in text files; `open` of a subclass calls `set_files`.

    If only one part has files, the settings divide the corpus. Otherwise a part without files is
    held out from train, by source.
    """

    files: dict[str, PartFiles]  # the files of each part; one is `train`
    columns: Sequence[int] | None = None  # of source and target in files with tabs, from 0
    # pairs of the part without files; None: the share in the settings
    held_out_pairs: int | None = None

    def set_files(self, files: dict[str, PartFiles]) -> None:
        """Set the files, and check that they can be read and have equally many lines.

        Raises:
            RequestError: a file is missing or isn't text, or two have different numbers of lines.
        """
        self.files = {part: paths.laid_out(self._columns(paths)) for part, paths in files.items()}
        self._taken: tuple[Callable[[str], str] | None, np.ndarray] | None = None
        self._digests: dict[str, list[str]] = {}
        self._states: dict[str, list[tuple[int, ...]]] = {}  # of the files when they were opened
        self.lines: dict[str, int] = {}
        for part, paths in self.files.items():
            self._states[part] = _states(paths)
            scans = paths.scanned()
            self._digests[part] = [found.digest for found in scans]
            self.lines[part] = scans[0].lines
        self.own_parts = PARTS if len(files) > 1 else ()
        # the part without files, if several parts have files
        self._missing = next((part for part in self.own_parts if part not in files), None)
        if self._missing == "validation" and self._held_out_share() == 0:
            self.own_parts, self._missing = ("train", "test"), None

    def _columns(self, paths: PartFiles) -> Sequence[int] | None:
        """Return the setting `columns` for a file with tabs."""
        return None if paths.target else self.columns

    def _content(self) -> Any:
        layouts = [paths.layout for paths in self.files.values()]
        return [self._digests, layouts, self._held_out_share() if self._missing else None]

    def _read(self, part: str | None, dropped: Counter[str]) -> Iterator[Pair]:
        if part in self.files and not (part == "train" and self._missing):
            return self.files[part].read(dropped)
        is_held_out = part is not None and part == self._missing
        # The train files are read for two parts, but what is left out counts once.
        pairs = self.files["train"].read(Counter() if is_held_out else dropped)
        if part is None:
            return pairs
        labelled = with_labels(pairs, self._mask(), self.name)
        return (pair for pair, taken in labelled if taken == is_held_out)

    def _check_unchanged(self) -> None:
        for part, files in self.files.items():
            if _states(files) != self._states[part]:
                raise changed(f"data={self.name}")

    def _held_out_share(self) -> int | float:
        share = self.validation if self._missing == "validation" else self.test
        return share if self.held_out_pairs is None else self.held_out_pairs

    def _mask(self) -> np.ndarray:
        """Return which pairs of the train files are held out; the run's seed doesn't matter."""
        if self._taken is None or self._taken[0] is not self.clean:
            clean = self.clean or normalized
            read = self.files["train"].read(Counter())
            sources = (pair.target if self.reverse else pair.source for pair in read)
            keys = hashed(clean(source) for source in sources)
            self._check_unchanged()
            share = self._held_out_share()
            pairs = min(len(keys), self.limit or len(keys))
            if not isinstance(share, int):
                share = held_out_pairs(self, str(self._missing), share, pairs)
            self._taken = self.clean, held_out(keys, share, seed=0)
        return self._taken[1]


def _states(files: PartFiles) -> list[tuple[int, ...]]:
    with explained("data: expected files that stay, but one can't be read any more"):
        return [state_of(path) for path in files.present()]
