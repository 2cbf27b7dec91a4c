"""The example and the model card of an exported model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from attnlab.export.formats import FORMATS, Code
from attnlab.tasks.exported import Example, Exported

_SECTIONS = ("task", "data", "attention", "model", "optimizer", "schedule", "trainer", "seed")


class Origin(NamedTuple):
    """Where the weights are from.

    Attributes:
        name: of the run.
        epoch: of the weights, in words.
        config: the run's configuration.
        data: name and source of the data.
        command: by which the run was trained; "" if unknown.
        report: metrics on the test part, of the baselines too, and the notes on them.
        version: of this package.
    """

    name: str
    epoch: str
    config: Mapping[str, Any]
    data: Mapping[str, Any]
    command: str
    report: Mapping[str, Any]
    version: str


def packages(exported: Exported, name: str) -> list[str]:
    """Return the packages that the example imports."""
    return [*FORMATS[name].packages, "numpy", *["tokenizers"] * bool(exported.tokenizers)]


def example(exported: Exported, name: str, code: Code) -> str:
    """Return example.py."""
    own: Example = exported.example
    uses = any("Tokenizer" in line for line in (*own.before, *own.after))
    lines = [
        f'"""{own.title}. Needs: pip install {" ".join(packages(exported, name))}."""',
        "",
        "from pathlib import Path",
        "",
        "import numpy as np",
        *code.imports,
        *["from tokenizers import Tokenizer"] * uses,
        "",
        "here = Path(__file__).parent",
        *own.before,
        *code.lines,
        *own.after,
    ]
    return "\n".join(lines) + "\n"


def card(
    exported: Exported, name: str, notes: Sequence[str], origin: Origin, checked: Sequence[str]
) -> str:
    """Return README.md: what the model is, its data, scores, check, settings and command.

    `notes` are those of the format.
    """
    config, report = origin.config, origin.report
    what = f"{config['task']['name']} with attention={config['attention']['name']}"
    settings = {key: config[key] for key in _SECTIONS if config.get(key) is not None}
    parts = [
        f"# {what}, seed {config['seed']}",
        f"Exported from the run `{origin.name}` by attnlab {origin.version}, weights of epoch "
        f"{origin.epoch}, as {FORMATS[name].about.partition(',')[0]}.",
        f"    pip install {' '.join(packages(exported, name))}\n    python example.py",
        "## Inputs and outputs",
        _bullets([*notes, *exported.notes]),
        "## Data",
        _bullets(
            [f"{origin.data.get('name', '')}: {origin.data.get('source', '')}", _license(exported)]
        ),
        "## Metrics on the test part",
        _table(config["attention"]["name"], report),
        _bullets([f"In {report['units']}.", *report.get("notes", ())]),
        "## Check against attnlab",
        _bullets(checked),
        "## Settings",
        f"```yaml\n{yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)}```",
    ]
    if origin.command:
        parts += ["## Command", f"    {origin.command}"]
    return "\n\n".join(parts) + "\n"


def _license(exported: Exported) -> str:
    return f"License of the data: {exported.license or 'not known'}."


def _table(own: str, report: Mapping[str, Any]) -> str:
    """Return the metrics of the run and of each baseline as a Markdown table."""
    rows = {f"**{own}**": report["test"], **report["baselines"]}
    names = [*report["test"]]
    cells = [["", *names], ["---"] * (1 + len(names))]
    cells += [[row, *(_number(found.get(name)) for name in names)] for row, found in rows.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def _number(value: Any) -> str:
    return "-" if value is None else f"{value:.4g}"


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
