"""What `attnlab data` says of series that are downloaded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attnlab.commands.data import TABLE_WIDTH, home
from attnlab.tasks.declaration import Catalog
from attnlab.tasks.forecasting.data.ett_files import EttFiles
from attnlab.terminal.console import plain_console, plain_table


def _make(name: str, given: Mapping[str, Any]) -> EttFiles:
    return EttFiles(**given)


def _about(files: EttFiles) -> dict[str, str]:
    return {"series": f"{len(files.wanted)} series"}


def _counted(files: EttFiles, cache: Path, seed: int) -> dict[str, Any]:
    """Of each file that is at hand its rows, and whether it is the published one."""
    from attnlab.tasks.forecasting.data.csv_series import read_series
    from attnlab.tasks.forecasting.data.ett_files import is_published

    found = {}
    for name, path in files.present(cache).items():
        series = read_series(path, "OT", "date")
        ends = {"from": series.times[0], "to": series.times[-1]}
        found[name] = {"rows": len(series.values), **ends, "published": is_published(name, path)}
    return {"files": found}


def _print(row: Mapping[str, Any]) -> None:
    console = plain_console(width=TABLE_WIDTH)
    console.print(f"{row['name']}, {row['series']}: {row['origin']}")
    console.print(f"licence: {row['license']}")
    console.print(f"where: {home(row['where'])}", soft_wrap=True)
    if not row["files"]:
        return
    table = plain_table(["series", "rows", "from", "to", "published"], ["series"])
    for name, found in row["files"].items():
        published = "yes" if found["published"] else "no"
        table.add_row(name, f"{found['rows']:,}", found["from"], found["to"], published)
    console.print(table)


CATALOG = Catalog(
    group="task",
    names=lambda: ["ett"],
    make=_make,
    about=_about,
    count=_counted,
    show=_print,
    settings=("series", "path", "url"),
)
