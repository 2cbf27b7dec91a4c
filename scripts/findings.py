"""Write the pages of docs/findings, and the README's findings, from the tables of the studies.

    python scripts/findings.py                        # write all pages and pictures again
    python scripts/findings.py NAME runs/studies/NAME # take over a study's new table

All numbers come from docs/findings/tables/NAME.csv: the `table.csv` of `attnlab study NAME`, or
what `attnlab compare --format csv` prints. docs/findings/studies.yaml has the words. In them
`{none}` is the mean of our group `none`, `{none []}` its mean and interval, `{none worst}` another
column, `{published none ours}` our interval for a published number, and `{baseline max}` the
largest mean of the baselines. A new table may make the words false: read them.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from datetime import date
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import yaml

from attnlab import __version__
from attnlab.errors import RequestError
from attnlab.studies import study as studies
from attnlab.tasks.kinds import kind_of
from attnlab.views.png.figure import save
from attnlab.views.records import BLUE, Figure, IntervalRow, Intervals, figure

ROOT = Path(__file__).resolve().parents[1]
FOLDER, README = ROOT / "docs/findings", ROOT / "README.md"
TABLES, PICTURES = FOLDER / "tables", FOLDER / "pictures"
MADE = TABLES / "made.csv"
COLUMNS = ("mean", "low", "high", "best", "worst", "n", "ours_n")
UNKNOWN = "–"
MOST_TABLES = 3  # of a page
MOST_LINES = 1  # baselines in a picture: the best
SMALL = 1e-3  # numbers below it have an exponent
INCOMPLETE = (
    f"*{UNKNOWN}, no interval or no means: they were not written down when the study ran. "
    "The next run writes them.*"
)
Row = Mapping[str, str]


class Finding(NamedTuple):
    """A study with its words, its table, and when and by what it was made."""

    name: str
    words: dict
    rows: list[Row]
    made: Row

    def number(self, text: str) -> str:
        """Write a number with the study's digits, or with fewer if the table has fewer."""
        if not text:
            return UNKNOWN
        value, form = float(text), self.words["digits"]
        if "g" in form and 0 < abs(value) < SMALL:
            form = f".{int(form.strip('#.g')) - 1}e"
        both = (format(value, form).rstrip("."), text)
        return min((number.replace("e-0", "e-") for number in both), key=len)

    def interval(self, row: Row, prefix: str = "") -> str:
        """Write a row's mean with its interval; its lowest and highest group if it has no mean."""
        mean, low, high = (row.get(prefix + name) or "" for name in ("mean", "low", "high"))
        if not mean and row.get("best"):
            return f"{self.number(row['best'])} to {self.number(row['worst'])}"
        ends = f" [{self.number(low)}, {self.number(high)}]" if low else ""
        return self.number(mean) + ends

    @property
    def keys(self) -> list[str]:
        """The columns of settings that make the groups."""
        names = [*self.rows[0]]
        return names[names.index("metric") + 1 : names.index("n")]

    def of(self, who: str) -> list[Row]:
        """The rows of our groups, of baselines or of published numbers."""
        return [row for row in self.rows if row.get("who", "ours") == who]


def findings() -> dict[str, Finding]:
    """All findings by name, in the order of studies.yaml."""
    with MADE.open(encoding="utf-8") as lines:
        made = {row["study"]: row for row in csv.DictReader(lines)}
    found = {}
    for name, words in words_of_all().items():
        with (TABLES / f"{name}.csv").open(encoding="utf-8") as lines:
            found[name] = Finding(name, words, list(csv.DictReader(lines)), made[name])
    return found


def words_of_all() -> dict[str, dict]:
    """The words about each study, from studies.yaml."""
    return yaml.safe_load((FOLDER / "studies.yaml").read_text(encoding="utf-8"))["studies"]


def filled(text: str, finding: Finding) -> str:
    """Fill in the numbers of a text about a study."""

    def number(match: re.Match) -> str:
        cells, form = match[1].split(), "mean"
        if cells[-1] in ("[]", "ours", "max", *COLUMNS):
            form = cells.pop()
        rows = [row for row in finding.rows if {*cells} <= identity(finding, row)]
        rows = [row for row in rows if row in finding.of("ours")] or rows
        if form == "max":
            rows, form = [max(rows, key=lambda row: float(row["mean"]))], "mean"
        column = {"[]": "mean", "ours": "ours_mean"}.get(form, form)
        if len(rows) != 1 or not (rows[0].get(column) or form == "[]"):
            raise ValueError(f"{finding.name}: {match[0]}: no such number, or {len(rows)} of them")
        if form == column:
            return finding.number(rows[0][form])
        return finding.interval(rows[0], "ours_" if form == "ours" else "")

    return re.sub(r"\{([^{}]+)\}", number, text)


def identity(finding: Finding, row: Row) -> set[str]:
    """The cells that say which row it is."""
    names = ("who", "task", "data", "metric", "name", *finding.keys)
    dotted = [name for name in row if "." in name and row[name]]
    cells = {row.get(name) or "" for name in (*names, *dotted)}
    named = {f"{name.rpartition('.')[2]}={row[name]}" for name in dotted}  # such as `units=64`
    parts = {part for cell in cells for part in (*cell.split(", "), *re.split(r", |=", cell))}
    return {*filter(None, cells | named | parts)}


def page(finding: Finding) -> str:
    """A study's page."""
    name, words = finding.name, finding.words
    study = (
        studies.read(name, quick="--quick" in words.get("command", "")) if is_study(name) else None
    )
    question = words.get("question") or study.question
    parts = [f"# {words['title']}", f"**Question.** {question}"]
    parts.append(f"**Answer.** {filled(words['answer'], finding)}")
    if picture(finding):
        parts.append(f"![{words['picture']}](pictures/{name}.png)")
    parts += ["## Numbers", *group_tables(finding)]
    parts += published_table(finding)
    limits = [filled(text, finding) for text in words.get("limits", [])]
    limits += study.differences if study else []
    parts += ["## Limits", "\n".join(f"- {text}" for text in limits)] if limits else []
    parts += ["## Repeat it", *repeat(finding, study)]
    return "\n\n".join(parts) + "\n"


def is_study(name: str) -> bool:
    """Whether `attnlab study` knows the name; others are sweeps with a table."""
    return name in studies.names()


def repeat(finding: Finding, study: studies.Study | None) -> Iterator[str]:
    """The command, what it takes, and when and by what the numbers were made."""
    words = finding.words
    yield f"    {words.get('command') or f'attnlab study {finding.name}'}"
    minutes = words.get("minutes") or (study and study.minutes)
    seeds = max((int(row["n"]) for row in finding.of("ours")), default=0)
    cost = f"{seeds} seeds" + (f", {minutes:g} minutes on two cores" if minutes else "")
    code, made = finding.made["code"], finding.made["date"]
    table = f"[all columns](tables/{finding.name}.csv)"
    yield f"{cost}. Measured on {made} with {code}; {table} as CSV."
    if study and study.source:
        yield f"Source: {study.source}."


def group_tables(finding: Finding) -> Iterator[str]:
    """A table for each task and data: our groups, then baselines; one table if there are many."""
    ours = finding.of("ours")
    tables = dict.fromkeys(map(place, ours))
    many = len(tables) > MOST_TABLES
    for key in [None] if many else tables:
        own = [row for row in ours if key in (None, place(row))]
        reference = next((row["reference"] for row in own if row.get("reference")), "")
        reference = reference.replace(" / -", "")  # a key that the group doesn't have
        header = ["group", "n", f"{own[0]['metric']} [95 %]", f"compared with `{reference}`"]
        rows = [[f"`{label(finding, row)}`", row["n"], finding.interval(row)] for row in own]
        verdicts = [verdict(row, reference, finding) for row in own]
        base = [row for row in finding.of("baseline") if key in (None, place(row))]
        rows += [[f"baseline `{row['name']}`", "", finding.number(row["mean"])] for row in base]
        if {*verdicts} <= {"", "reference"}:
            header.pop()
        else:
            rows = [[*row, text] for row, text in zip_longest(rows, verdicts, fillvalue="")]
        if all(row[2] == UNKNOWN for row in rows):
            header, *rows = ([*row[:2], *row[3:]] for row in (header, *rows))
        if many:
            header.insert(0, "data")
            rows = [[row["data"], *cells] for row, cells in zip(own + base, rows, strict=True)]
        elif len(tables) > 1:
            yield " ".join(filter(None, [f"`{own[0]['task']}`", own[0]["data"]])) + ":"
        yield markdown(header, rows)
    if any(not row["low"] and row["n"] != "1" for row in ours):
        yield INCOMPLETE


def picture(finding: Finding) -> Figure | None:
    """A study's groups with their intervals, and its baselines as lines: a panel for each data.

    None if the table has no two means of the same data.
    """
    panels = []
    places = dict.fromkeys(map(place, finding.of("ours")))
    for key in places:
        own = [row for row in finding.of("ours") if place(row) == key and row["mean"]]
        if len(own) < 2:
            continue
        rows = [
            IntervalRow(label(finding, row), BLUE, *(known(row[end]) for end in COLUMNS[:3]))
            for row in own
        ]
        baselines = [row for row in finding.of("baseline") if place(row) == key and row["mean"]]
        lines = [(row["name"], float(row["mean"])) for row in baselines]
        scoring = kind_of(own[0]["task"]).scoring
        lines.sort(key=lambda x: x[1], reverse=not scoring.is_lower_better(own[0]["metric"]))
        shown = [value for row in rows for value in row[2:5] if value is not None]
        # A baseline far away would press the groups together.
        room = 2 * (max(shown) - min(shown)) + 0.02 * abs(max(shown))
        best = [x for x in lines[:MOST_LINES] if min(shown) - room < x[1] < max(shown) + room]
        title = " ".join(filter(None, key[:2])) if len(places) > 1 else ""
        panels.append(Intervals(title, own[0]["metric"], rows, lines=best))
    if not panels:
        return None
    across = min(len(panels), 2)
    grid = [panels[at : at + across] for at in range(0, len(panels), across)]
    most = max(len(panel.rows) for panel in panels)
    size = (max(6.4, 4.6 * across), len(grid) * (1.4 + 0.36 * most))
    legend = "dashed: the best baseline" if any(panel.lines for panel in panels) else ""
    return figure(f"{finding.name}: means and 95 % intervals", legend, grid, size)


def known(text: str) -> float | None:
    """A number of the table; None for an empty cell."""
    return float(text) if text else None


def place(row: Row) -> tuple[str, ...]:
    """Which table a row is in."""
    return row["task"], row["data"], row["metric"]


def label(finding: Finding, row: Row) -> str:
    """A group's name."""
    return " / ".join(row[key] for key in finding.keys if row[key])


def verdict(row: Row, reference: str, finding: Finding) -> str:
    """How a group differs from the reference, with the corrected p value."""
    if label(finding, row) == reference:
        return "reference"
    p = row.get("p_holm") or row.get("p_bonferroni") or ""
    if p and not p.startswith("<"):
        p = "< 0.001" if float(p) < 0.001 else f"= {float(p):.3f}"
    return ", ".join(filter(None, [row.get("verdict"), p and f"p {p}"]))


def published_table(finding: Finding) -> Iterator[str]:
    """The published numbers that the study has an answer to, and ours."""
    rows = [
        [
            where(row),
            f"{row['name']} ({row['source']})",
            row["metric"],
            row["mean"].replace("e-0", "e-"),
            finding.interval(row, "ours_") if row.get("ours_mean") else "",
            row["verdict"] + (f": {row['why']}" if row["why"] else ""),
        ]
        for row in finding.of("published")
        if row["verdict"] not in ("", "no run")
    ]
    if rows:
        yield "Published numbers:"
        yield markdown(
            ["group", "published by", "metric", "published", "ours [95 %]", "verdict"], rows
        )


def where(row: Row) -> str:
    """The settings of the group that a published number is about."""
    names = [name for name in row if name in ("task", "data", "attention") or "." in name]
    return ", ".join(f"`{name.rpartition('.')[2]}={row[name]}`" for name in names if row[name])


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    )


def index(found: Mapping[str, Finding]) -> str:
    """The page that lists the findings."""
    text = yaml.safe_load((FOLDER / "studies.yaml").read_text(encoding="utf-8"))["index"]
    entries = [
        f"- **[{each.words['title']}]({name}.md)**. {filled(each.words['answer'], each)}"
        for name, each in found.items()
    ]
    return text.replace("<studies>", "\n".join(entries))


def readme(found: Mapping[str, Finding]) -> str:
    """The README, with its findings written again."""
    text = README.read_text(encoding="utf-8")
    head, title, rest = text.partition("## Is it true?\n")
    section, next_title, tail = rest.partition("\n## ")
    lines = [
        f"- {filled(each.words['readme'], each)}"
        for name, each in found.items()
        if "readme" in each.words
    ]
    old = re.compile(r"(?:^- \*\*.*\n)+", re.MULTILINE)
    section = old.sub(lambda _: "\n".join(lines) + "\n", section, count=1)
    return head + title + section + next_title + tail


def take_over(name: str, source: Path) -> None:
    """Copy a study's table, and note when and by what code it was made."""
    if name not in words_of_all():
        sys.exit(f"docs/findings/studies.yaml: add `{name}` with its title and answer first.")
    table = source / "table.csv" if source.is_dir() else source
    shutil.copyfile(table, TABLES / f"{name}.csv")
    commits = ", ".join(_commits(name, table.resolve().parents[2]))
    made = date.fromtimestamp(table.stat().st_mtime).isoformat()
    with MADE.open(encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["study"] != name]
    code = f"attnlab {__version__}" + (f" ({commits})" if commits else "")
    rows.append({"study": name, "date": made, "code": code})
    text = io.StringIO()
    writer = csv.DictWriter(text, ["study", "date", "code"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    MADE.write_text(text.getvalue(), encoding="utf-8")


def _commits(name: str, runs: Path) -> list[str]:
    """Return the commits of the code that trained a study's runs in the folder `runs`."""
    files = runs.glob(f"sweeps/study-{name}-*/environment.json")
    codes = (json.loads(file.read_bytes())["code"] or {} for file in files)
    return sorted({code["commit"][:8] for code in codes if code.get("commit")})


def written() -> dict[Path, str]:
    """The text of each file that this script writes."""
    found = findings()
    pages = {FOLDER / f"{name}.md": page(each) for name, each in found.items()}
    return pages | {FOLDER / "index.md": index(found), README: readme(found)}


def main() -> None:
    """Take over a table if one is named, and write all files."""
    if len(sys.argv) == 3:
        take_over(sys.argv[1], Path(sys.argv[2]))
    elif len(sys.argv) != 1:
        sys.exit(__doc__)
    for path, text in written().items():
        path.write_text(text, encoding="utf-8")
    for name, finding in findings().items():
        if drawn := picture(finding):
            save(drawn, PICTURES / f"{name}.png")


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError, RequestError) as error:
        sys.exit(f"{error}")
