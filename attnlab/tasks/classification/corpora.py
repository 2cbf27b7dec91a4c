"""The corpora of texts with classes."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from attnlab.errors import RequestError
from attnlab.tasks.data.builtin import rows
from attnlab.tasks.data.corpus import Corpus, DividedCorpus, FileCorpus, OwnFiles
from attnlab.tasks.data.published import Published
from attnlab.tasks.data.readers import class_files, members, read_table, read_text
from attnlab.text.reading import decode_text

_LINE_BREAK = re.compile(r"\s*<br\s*/?>\s*")


class LabelledText(NamedTuple):
    """A text and the name of its class."""

    text: str
    label: str
    group: str = ""  # accuracy is also reported by group, such as a number of nouns


class TextCorpus(Corpus):
    """Texts with classes; equal texts are in one part."""


class Agreement(TextCorpus):
    """English sentences, half of them with the wrong number of the verb; needs no file.

    "The keys to the cabinet near the doors are old." is right; with `is` it is wrong. Between
    subject and verb are 0 to 3 attractors, which are nouns of the other number; their number is the
    text's group. Each sentence and its wrong twin are in the same part. `texts` is the number of
    training sentences; validation and test have 1,000 each.

    Source: the grammaticality judgment of Linzen, Dupoux, Goldberg 2016 (arXiv 1611.01368).
    Difference: the paper's sentences are from Wikipedia; these are generated.
    """

    name = "agreement"
    origin = "a grammar of this project, after Linzen et al. 2016 (arXiv 1611.01368)"
    license = "Apache-2.0, as attnlab"

    def __init__(self, *, texts: int = 20_000) -> None:
        self.size = texts

    def read(self, place: Path) -> Mapping[str, list[LabelledText]]:
        """Return the sentences of each part; `place` is ignored."""
        parts = {
            part: [LabelledText(*row) for row in table] for part, table in rows("agreement").items()
        }
        return {**parts, "train": parts["train"][: self.size]}


class ReviewArchive(TextCorpus):
    """An archive, or the folder into which it was unpacked, with a text per file.

    Attributes:
        wanted: matches the names of the texts; its groups are `label` and optionally `part`.
    """

    wanted: re.Pattern[str]

    def read(self, place: Path) -> Mapping[str, list[LabelledText]]:
        """Return the texts of each part, of all classes in turn."""
        texts: dict[str, dict[str, list[LabelledText]]] = {}
        for match, content in members(place, self.wanted):
            part, where = match.groupdict().get("part", "train"), f"{place}: {match.string}"
            text = LabelledText(_clean(decode_text(content, where), where), match["label"])
            texts.setdefault(part, {}).setdefault(text.label, []).append(text)
        if not texts:
            raise RequestError(f"{place}: expected the files of {self.name}, got none of them.")
        return {
            part: [
                text
                for row in itertools.zip_longest(*(classes[label] for label in sorted(classes)))
                for text in row
                if text
            ]
            for part, classes in texts.items()
        }


@dataclass(kw_only=True, eq=False)
class MovieReviews(DividedCorpus, ReviewArchive):
    """2,000 reviews from 2004 and before, 1,000 per class, `neg` and `pos`.

    The corpus has no parts of its own. Papers report the mean of ten folds, so their numbers aren't
    comparable to those of a single test part.
    """

    name = "movie_reviews"
    origin = "Pang and Lee 2004 (arXiv cs/0409058), through nltk_data"
    license = "CC BY 4.0, as nltk_data has it; name Pang and Lee 2004"
    published = (
        Published(
            "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/"
            "movie_reviews.zip",
            "a41211ae685019137410268134db6a1a14428c89b671eb83056151a878539008",
        ),
    )
    wanted = re.compile(r"(?:^|/)(?P<label>neg|pos)/[^/]+\.txt$")

    url: str | None = None


@dataclass(kw_only=True, eq=False)
class Imdb(FileCorpus, ReviewArchive):
    """50,000 reviews of films, `neg` and `pos`, half for the test; the halves share no film.

    Source: Maas et al. 2011, ACL. Differences: validation is held out from train, `<br />` becomes
    a line break, and the 50,000 reviews without a class are not read.
    """

    name = "imdb"
    origin = "Maas et al. 2011 (ACL), ai.stanford.edu/~amaas/data/sentiment"
    license = "for research; the reviews come from IMDb; cite Maas et al. 2011"
    published = (
        Published(
            "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
            "c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
        ),
    )
    wanted = re.compile(r"(?:^|/)(?P<part>train|test)/(?P<label>neg|pos)/[^/]+\.txt$")

    url: str | None = None

    def read(self, place: Path) -> Mapping[str, list[LabelledText]]:
        """Return the texts of `train` and `test`."""
        parts = super().read(place)
        if {*parts} != {"train", "test"}:
            raise RequestError(f"{place}: expected train and test of imdb, got only {[*parts][0]}.")
        return {
            part: [text._replace(text=_LINE_BREAK.sub("\n", text.text)) for text in parts[part]]
            for part in ("train", "test")
        }


class Folder(DividedCorpus, TextCorpus):
    """The user's own texts: `path/CLASS/NAME.txt`, or `path/train/CLASS/NAME.txt` and so on."""

    name = "folder"
    origin = "your own files, a folder for each class"
    license = "yours"
    needs = "data.path=FOLDER"

    def read(self, place: Path) -> Mapping[str, list[LabelledText]]:
        """Return the texts of each part that has a folder, else all as `train`."""
        return {
            part: [
                LabelledText(_clean(read_text(file, "data.path"), str(file)), label)
                for label, file in files
            ]
            for part, files in class_files(place, "data.path", (".txt",)).items()
        }


class Table(OwnFiles, TextCorpus):
    """The user's own texts in CSV or TSV files, one per row; see `read_table` for their form.

    Validation and test are shares of the rows, or files of their own with the same columns.
    """

    name = "table"
    origin = "your own CSV or TSV file"
    license = "yours"
    needs = "data.path=FILE.csv"

    def __init__(
        self,
        *,
        text: str | int = "text",
        label: str | int = "label",
        group: str | int | None = None,
        path: str | None = None,
        validation_path: str | None = None,
        test_path: str | None = None,
        limit: int | None = None,
        validation: float = 0.1,
        test: float = 0.1,
    ) -> None:
        self.path, self.limit, self.validation, self.test = path, limit, validation, test
        self.validation_path, self.test_path = validation_path, test_path
        self._columns = {"data.text": text, "data.label": label}
        if group is not None:
            self._columns["data.group"] = group

    def read_file(self, path: Path, key: str) -> list[LabelledText]:
        """Return the texts of a file."""
        texts = []
        for number, cells in enumerate(read_table(path, key, self._columns), 1):
            where = f"{key}: {path}, text {number}"
            text, *names = cells
            names = [unicodedata.normalize("NFC", name.strip()) for name in names]
            if not names[0]:
                raise RequestError(f"{where}: expected a class in the column data.label, got none.")
            texts.append(LabelledText(_clean(text, where), *names))
        return texts


def _clean(text: str, where: str) -> str:
    """Return a text in NFC, stripped; raise `RequestError` if it is empty."""
    text = unicodedata.normalize("NFC", text).strip()
    if not text:
        raise RequestError(f"{where}: expected a text, got an empty one.")
    return text
