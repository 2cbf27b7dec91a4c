"""The user's own texts in a table: CSV or TSV with a column of texts and one of classes."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from attnlab.errors import RequestError
from attnlab.tasks.classification.corpora.corpus import Corpus, Labelled
from attnlab.tasks.classification.corpora.text_files import checked_text
from attnlab.tasks.declaration import Progress
from attnlab.tasks.tables import Row, TableFormat, read_table
from attnlab.tasks.text_corpus import OwnFiles

# Usual names of a column of classes.
_NAMES = frozenset(
    "label labels class classes category categories target sentiment rating stars topic intent "
    "emotion y class_index label_id class_id".split()
)


@dataclass(kw_only=True, eq=False)
class Table(OwnFiles, Corpus):
    """Texts in the user's own CSV or TSV files, plain or gzipped, one per row.

    Columns are given by their names in the first row, or by numbers from 1 if there are no names.
    Validation and test are shares of the rows, or files of their own with the same columns.
    """

    name = "table"
    origin = "your own CSV or TSV file"
    license = "yours"
    needs = "data.path=FILE.csv"

    path: str | None = None
    text: str | int = "text"
    label: str | int = "label"
    group: str | int | None = None
    encoding: str | None = None
    validation_path: str | None = None
    test_path: str | None = None
    limit: int | None = None
    validation: float = 0.1
    test: float = 0.1

    def _items(self, path: str | None, key: str, progress: Progress | None) -> list[Labelled]:
        file = Path(path).expanduser() if path else None
        if not (file and file.is_file()):
            raise RequestError(f"{key}: expected a CSV or TSV file, got {path or 'null'}.")
        columns = {"text": self.text, "label": self.label}
        columns |= {} if self.group is None else {"group": self.group}
        numbered = all(isinstance(column, int) for column in columns.values())
        form = TableFormat(
            has_header=lambda first: not numbered,
            encoding_key="data.encoding",
            content="rows of texts and classes",
        )
        table = read_table(file, self.encoding, form)
        places = {key: table.find(column, f"data.{key}") for key, column in columns.items()}
        if len({*places.values()}) < len(places):
            keys = ", ".join(f"data.{key}" for key in places)
            raise RequestError(f"{keys}: expected different columns, got one of them twice.")
        if numbered and _has_names(table.cells(places["label"])):
            first = table.rows[0].cells[places["label"]]
            raise RequestError(
                f"{file}: row {table.rows[0].line}: expected a text and its class, since columns "
                f"by number are those of a file without names, but {first!r} looks like a "
                "column's name: choose columns by their names."
            )
        return [_labelled(row, places, f"{file}: row {row.line}") for row in table.rows]


def _has_names(labels: Sequence[str]) -> bool:
    """Whether the first of these cells is the name of a column of classes, not a class."""
    first, *others = (label.strip() for label in labels)
    numbers = all(other.removeprefix("-").replace(".", "", 1).isdigit() for other in others)
    is_name = first.lower() in _NAMES or (numbers and any(map(str.isalpha, first)))
    return bool(others) and is_name and first not in others


def _labelled(row: Row, places: dict[str, int], where: str) -> Labelled:
    """Return the text of a row; raise `RequestError` if it has no text or no class."""
    found = {key: row.cells[at] for key, at in places.items()}
    text = checked_text(found["text"], where)
    label, group = (
        unicodedata.normalize("NFC", found.get(key, "").strip()) for key in ("label", "group")
    )
    if not label:
        raise RequestError(f"{where}: the column data.label is empty; it needs a class.")
    return Labelled(text, label, group)
