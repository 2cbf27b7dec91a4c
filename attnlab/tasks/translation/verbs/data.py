"""What `attnlab data` says of the corpora to translate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from attnlab.commands.data import corpora, headed, home, make_corpus
from attnlab.tasks.declaration import Catalog
from attnlab.tasks.translation.corpora.corpus import Corpus

_NAMES = {
    "pairs": "pairs",
    "source_words": "{source} words, mean",
    "longest_source": "{source} words, most",
    "target_words": "{target} words, mean",
    "longest_target": "{target} words, most",
    "repeated_pairs": "repeated pairs",
    "sources": "different sources",
    "several_targets": "of these with several targets",
    "sources_in_train": "pairs whose source is in train",
    "unknown_source": "{source} words not in train",
    "unknown_target": "{target} words not in train",
}
_SHARES = ("sources_in_train", "unknown_source", "unknown_target")


def _languages(corpus: Corpus) -> dict[str, str]:
    return {"source": corpus.source_language, "target": corpus.target_language}


def _counted(corpus: Corpus, cache: Path, seed: int) -> dict[str, Any]:
    """What is in a corpus, where it is at hand, and its prepared copies."""
    from attnlab.run.screen import screen
    from attnlab.tasks.translation.corpora.corpus_statistics import describe

    row: dict[str, Any] = {}
    if not corpus.fetchable or corpus.location(cache) is not None:
        with screen() as shown:
            corpus.open(cache, shown.working)
            parts = describe(corpus, seed=seed, progress=shown.working)
        row = {"notes": list(corpus.notes), "dropped": corpus.dropped, "parts": parts}
    return {**row, "prepared": _prepared_copies(cache, corpus.name)}


def _print(row: Mapping[str, Any]) -> None:
    console = headed(row, f"{row['source']} to {row['target']}")
    for reason, count in row.get("dropped", {}).items():
        console.print(f"left out: {count:,} {reason}")
    if "parts" in row:
        # A column for each part, a row for each number.
        table = Table("", box=box.SIMPLE_HEAD, pad_edge=False)
        for name in row["parts"]:
            table.add_column(name, justify="right")
        for key, label in _NAMES.items():
            cells = [_cell(key, part[key]) for part in row["parts"].values()]
            table.add_row(label.format(**row), *cells)
        console.print(table)
    for copy in row["prepared"]:
        console.print(f"prepared: {_copy_line(copy)}", soft_wrap=True)


def _cell(key: str, value: float) -> str:
    if key in _SHARES:
        return f"{100 * value:.2f} %"
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"


def _prepared_copies(cache: Path, name: str) -> list[dict[str, Any]]:
    """The statistics of a corpus's prepared copies in the cache; damaged ones are left out."""
    found = []
    for path in sorted(cache.glob("prepared/*/statistics.json")):
        try:
            content = json.loads(path.read_bytes())
            if content["corpus"] == name:
                found.append({"folder": str(path.parent), **content})
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return found


def _copy_line(copy: dict[str, Any]) -> str:
    """A prepared copy in a line: its text settings, vocabulary and unknown tokens."""
    text, sizes = copy.get("text", {}), copy.get("vocabulary", {})
    words = [text.get("tokenizer", "tokens"), *[f"{size:,} {side}" for side, size in sizes.items()]]
    for part, numbers in copy.get("parts", {}).items():
        rates = [numbers.get(side, {}).get("unknown_rate") for side in ("source", "target")]
        if part != "train" and None not in rates:
            words.append(f"unknown in {part} {100 * rates[0]:.2f} % / {100 * rates[1]:.2f} %")
    return f"{', '.join(words)}: {home(copy['folder'])}"


CATALOG = Catalog(
    group="data",
    names=lambda: corpora(Corpus),
    make=make_corpus,
    about=_languages,
    count=_counted,
    show=_print,
)
