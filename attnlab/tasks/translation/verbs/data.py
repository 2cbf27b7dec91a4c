"""`attnlab data`: what corpora there are, what is in them, and their download."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import yaml
from rich import box
from rich.table import Table
from rich.text import Text

from attnlab.config.options import option_class, option_content, options
from attnlab.config.rules import Rule, check_rule, did_you_mean
from attnlab.errors import RequestError
from attnlab.terminal.console import plain_console

if TYPE_CHECKING:
    from attnlab.tasks.translation.corpora.corpus import Corpus

_WIDTH = 80  # of a table that nobody watches
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

_data_option = click.option(
    "--data",
    metavar="DIR",
    help="Folder of downloads.  [default: $ATTNLAB_DATA, else ~/.cache/attnlab]",
)
_settings_argument = click.argument("settings", metavar="[SETTING=VALUE]...", nargs=-1)


@click.group("data", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """The corpora to translate: list them, look into one, download it."""
    if context.invoked_subcommand is None:
        context.invoke(list_command)


@command.command("list")
@click.argument("name", required=False)
@_settings_argument
@click.option("--path", default=None, help="The same as path=PATH.")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the division.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@_data_option
def list_command(
    name: str | None,
    settings: tuple[str, ...],
    path: str | None,
    seed: int,
    as_json: bool,
    data: str | None,
) -> None:
    """List the corpora, or count what is in NAME.

    SETTING=VALUE are the corpus's settings, as data.SETTING=VALUE in a run.
    """
    cache = _cache(data)
    if name is None:
        found: Any = [_row(make_corpus(each), cache) for each in options("data")]
    else:
        words = [*settings, *([f"path={json.dumps(path)}"] if path else [])]
        found = _counted(make_corpus(name, words), cache, seed)
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=name is None))
    elif name is None:
        _print_all(found)
    else:
        _print(found)


@command.command("fetch")
@click.argument("name")
@_settings_argument
@_data_option
def fetch_command(name: str, settings: tuple[str, ...], data: str | None) -> None:
    """Download NAME into the cache; what is there is kept."""
    from attnlab.run.screen import screen

    corpus, cache = make_corpus(name, settings), _cache(data)
    if not corpus.fetchable:
        there = [each for each in options("data") if make_corpus(each).fetchable]
        raise RequestError(
            f"NAME: expected a corpus that can be downloaded ({', '.join(there)}), got {name}."
        )
    with screen() as shown:
        corpus.open(cache, shown.working)
    for line in (f"{name} lies in {corpus.location(cache)}", corpus.origin, corpus.license):
        click.echo(line)


def _cache(data: str | None) -> Path:
    """The folder of downloads that `--data` names, or the default one."""
    return Path(data or os.environ.get("ATTNLAB_DATA") or "~/.cache/attnlab").expanduser()


def make_corpus(name: str, words: Sequence[str] = ()) -> Corpus:
    """A corpus by the name of its YAML file.

    `words` are `SETTING=VALUE`, values as in YAML.

    Raises:
        RequestError: there is no such corpus or setting, or a value breaks its rule.
    """
    content, known = option_content("data", name), options("data")
    if content is None:
        hint = did_you_mean(name, known)
        raise RequestError(f"NAME: expected one of {', '.join(known)}, got {name}.{hint}")
    settings = {k: v for k, v in content.items() if k not in ("name", "rules", "_target_")}
    given = {}
    for word in words:
        key, equals, value = word.removeprefix("data.").partition("=")
        if not equals or key not in settings:
            raise RequestError(
                f"{word}: expected SETTING=VALUE with a setting of {name}: {', '.join(settings)}."
            )
        try:
            given[key] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            reason = f"expected a value as in YAML, got {value!r}"
            raise RequestError(f"data.{key}: {reason}.") from error
    for key, value in given.items():
        check_rule(f"data.{key}", value, Rule(**content.get("rules", {}).get(key, {})))
    return option_class("data", name)(**{**settings, **given})


def _print_all(rows: list[dict[str, str]]) -> None:
    table = Table(box=None, padding=(0, 2, 1, 0), pad_edge=False)
    for heading in ("corpus", "languages", "where", "from and licence"):
        table.add_column(heading, overflow="fold", no_wrap=heading in ("corpus", "languages"))
    for row in rows:
        where, terms = Text(_home(row["where"])), Text(f"{row['origin']}\n{row['license']}")
        table.add_row(row["name"], f"{row['source']}-{row['target']}", where, terms)
    console = plain_console(width=_WIDTH)
    console.print(table)
    console.print("attnlab data list NAME counts what is in one of them.")


def _row(corpus: Corpus, cache: Path) -> dict[str, str]:
    """What a corpus is, and where it lies or how it is had."""
    where = f"give {corpus.needs}" if corpus.needs else "part of attnlab"
    if corpus.fetchable:
        where = f"not downloaded: attnlab data fetch {corpus.name}"
    return {
        "name": corpus.name,
        "source": corpus.source_language,
        "target": corpus.target_language,
        "where": str(corpus.location(cache) or where),
        "origin": corpus.origin,
        "license": corpus.license,
    }


def _home(text: str) -> str:
    """A path with `~` for the home folder, as people write it."""
    home = str(Path.home())
    return text.replace(home, "~", 1) if text.startswith(home + os.sep) else text


def _counted(corpus: Corpus, cache: Path, seed: int) -> dict[str, Any]:
    """What is in a corpus, where it is at hand, and its prepared copies."""
    from attnlab.run.screen import screen
    from attnlab.tasks.translation.corpora.corpus_statistics import describe

    row: dict[str, Any] = _row(corpus, cache)
    if not corpus.fetchable or corpus.location(cache) is not None:
        with screen() as shown:
            corpus.open(cache, shown.working)
            parts = describe(corpus, seed=seed, progress=shown.working)
        row |= {"notes": list(corpus.notes), "dropped": corpus.dropped, "parts": parts}
    return {**row, "prepared": _prepared_copies(cache, corpus.name)}


def _print(row: dict[str, Any]) -> None:
    console = plain_console(width=_WIDTH)
    console.print(f"{row['name']}, {row['source']} to {row['target']}: {row['origin']}")
    console.print(f"licence: {row['license']}")
    console.print(f"where: {_home(row['where'])}", soft_wrap=True)
    for note in row.get("notes", []):
        console.print(f"note: {note}")
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
    return f"{', '.join(words)}: {_home(copy['folder'])}"
