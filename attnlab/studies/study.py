"""A study: a grid, its seeds, a comparison, published numbers.

It is read from `conf/study/NAME.yaml`, or from a folder of the user; see `config.options`.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnlab.config.arguments import key_of, quoted
from attnlab.config.options import option_content, options
from attnlab.config.parsing import yaml_text
from attnlab.config.rules import Rule, check_rule, did_you_mean
from attnlab.errors import RequestError
from attnlab.records.sweep_runs import STUDY
from attnlab.tasks.kinds import kinds

_GROUP = "study"
# Settings that don't change results.
_IDLE = ("paths.", "tracking.", "sweep.", "hydra.", "hydra/", "trainer.together")
_TEXT, _WORDS, _ENTRIES = Rule("str"), Rule("list"), Rule("list")
_SEEDS, _MINUTES = Rule("int", min=2), Rule("float", above=0, optional=True)
_OPTIONAL, _VALUE = Rule("str", optional=True), Rule("float")
_RULES = {
    "question": _TEXT,
    "source": _OPTIONAL,
    "first": _OPTIONAL,
    "runs": _WORDS,
    "seeds": _SEEDS,
    "minutes": _MINUTES,
    "by": _TEXT,
    "within": _OPTIONAL,
    "metric": _OPTIONAL,
    "reference": _OPTIONAL,
    "geometric": Rule("bool"),
    "published": _ENTRIES,
    "differences": _WORDS,
}
_QUICK = {"first": _OPTIONAL, "runs": _WORDS, "words": _WORDS, "seeds": _SEEDS, "minutes": _MINUTES}
_PUBLISHED = {"metric": _TEXT, "system": _TEXT, "source": _TEXT, "why": _OPTIONAL}
_SEVERAL = {"each": _TEXT, "values": Rule("mapping")}


@dataclass(frozen=True)
class Published:
    """A published number, and the group of runs that it is compared with."""

    where: Mapping[str, str]  # config keys and the values that the group has
    metric: str  # a path into metrics.json
    value: float
    system: str  # which system reached it
    source: str
    why: str | None = None  # why it can't be compared; None: it can

    @property
    def label(self) -> str:
        """The settings of the group that it is compared with."""
        return ", ".join(f"{key.rpartition('.')[2]}={value}" for key, value in self.where.items())


@dataclass(frozen=True)
class Study:
    """A named experiment.

    Each of `runs` is what follows `attnlab -m`, in one text; seeds are added. `{first}` in them is
    the folder of the sweep of `first`.
    """

    name: str
    question: str  # that it answers
    runs: Sequence[str]
    by: str  # keys that make the groups, separated by commas
    seeds: int = 5
    first: str | None = None  # a grid that is trained first; not a group in the comparison
    within: str | None = None  # keys separated by commas; see `compare.grouping.Choice`
    source: str | None = None  # the paper or book that the question comes from
    minutes: float | None = None  # how long it took on 2 cores; None: not measured
    metric: str | None = None  # None: the task's own
    reference: str | None = None  # the group that others are compared with
    geometric: bool = False  # whether means are geometric
    published: Sequence[Published] = ()
    differences: Sequence[str] = ()  # between our protocol and the published one
    quick: bool = False  # whether it is the short form
    words: Sequence[str] = ()  # settings of all runs
    added: Sequence[str] = ()  # settings of all runs that the study doesn't have

    @property
    def changes(self) -> list[str]:
        """The added settings that change results."""
        return [word for word in self.added if not _is_idle(word)]

    @property
    def is_part(self) -> bool:
        """Whether groups may be missing: in the quick form, or with added settings."""
        return self.quick or bool(self.changes)

    @property
    def title(self) -> str:
        """The name of its folder and sweeps; added settings give another name."""
        changes = shlex.join(self.changes)
        digest = f"-{hashlib.sha256(changes.encode()).hexdigest()[:6]}" if changes else ""
        return f"{self.name}{'-quick' if self.quick else ''}{digest}"

    def sweeps(self, folder: Path) -> dict[str, list[str]]:
        """The name of each sweep, and what follows `attnlab -m`; the last word for a key counts.

        Of what is added, `first` gets what decides nothing: its task is another one.

        Args:
            folder: of all sweeps.
        """
        seeds, name = f"seed=range({self.seeds})", f"{STUDY}{self.title}"
        found = {}
        if self.first:
            idle = [word for word in self.added if _is_idle(word)]
            found[f"{name}-first"] = [*shlex.split(self.first), seeds, *idle]
        place = quoted(str(folder / f"{name}-first"))
        for number, grid in enumerate(self.runs, start=1):
            own = [word.replace("{first}", place) for word in shlex.split(grid)]
            words = [*own, seeds, *self.words, *self.added]
            last = {word.partition("=")[0]: word for word in words}
            found[f"{name}-{number}"] = list(last.values())
        return found

    @property
    def compared(self) -> list[str]:
        """The names of the sweeps whose runs are compared."""
        return [f"{STUDY}{self.title}-{number}" for number, _ in enumerate(self.runs, start=1)]


def _is_idle(word: str) -> bool:
    return key_of(word).startswith(_IDLE)


def names() -> list[str]:
    """The names of all studies."""
    return options(_GROUP)


def read(name: str, quick: bool = False) -> Study:
    """Read a study, or its short form.

    Raises:
        RequestError: there is no such study, or its YAML breaks a rule.
    """
    content = option_content(_GROUP, name, whole=True)
    if content is None:
        known = names()
        raise RequestError(
            f"NAME: expected a study, got {name!r}.{did_you_mean(name, known)} Valid: "
            f"{', '.join(known)}."
        )
    content = dict(content)
    short = content.pop("quick", {})
    _check(name, content, _RULES, ("question", "runs", "by"))
    _check(f"{name}: quick", short, _QUICK, ())
    published = [one for each in content.pop("published", []) for one in _published(name, each)]
    if quick:
        content |= {"minutes": None, "quick": True, **short}
    for grid in (content.get("first") or "", *content["runs"]):
        try:
            shlex.split(grid)
        except ValueError as error:
            raise RequestError(f"study {name}: expected quotes in pairs, got {grid}.") from error
    return Study(name=name, published=published, **content)


def _published(name: str, entry: Any) -> list[Published]:
    """The numbers of an entry: its `value`, or those that a key's `values` have, one for `each`."""
    where = entry.get("where") if isinstance(entry, Mapping) else None
    if not isinstance(where, Mapping) or not where:
        raise RequestError(
            f"study {name}: published: expected entries with where: {{KEY: VALUE}}, metric, value, "
            f"system and source, got {entry}."
        )
    rest = {key: value for key, value in entry.items() if key != "where"}
    form: dict[str, Rule] = _SEVERAL if "values" in rest else {"value": _VALUE}
    _check(
        f"{name}: published", rest, {**_PUBLISHED, **form}, ("metric", *form, "system", "source")
    )
    metric = str(rest["metric"])
    known = [each.name for kind in kinds() for each in kind.scoring.metrics]
    if metric.rpartition(".")[2] not in known:
        raise RequestError(
            f"study {name}: published: expected a metric of a task, got {metric!r}."
            f"{did_you_mean(metric, known)}"
        )
    where = {key: yaml_text(value) for key, value in where.items()}
    if "value" in form:
        return [Published(where=where, **rest)]
    key, values = rest.pop("each"), rest.pop("values")
    for own, value in values.items():
        check_rule(f"study {name}: published: values: {own}", value, _VALUE)
    return [
        Published(where | {key: yaml_text(own)}, value=value, **rest)
        for own, value in values.items()
    ]


def _check(name: str, content: Any, rules: Mapping[str, Rule], needed: Sequence[str]) -> None:
    """Hold the entries of a mapping against their rules."""
    if not isinstance(content, Mapping):
        raise RequestError(f"study {name}: expected KEY: VALUE, got {content!r}.")
    for key, value in content.items():
        if key not in rules:
            raise RequestError(
                f"study {name}: expected one of {', '.join(rules)}, got {key!r}."
                f"{did_you_mean(str(key), [*rules])}"
            )
        check_rule(f"study {name}: {key}", value, rules[key])
        if key == "runs" and not value:
            raise RequestError(f"study {name}: runs: expected at least one grid, got none.")
        for text in value if rules[key] is _WORDS else ():
            check_rule(f"study {name}: {key}", text, _TEXT)
    if missing := [key for key in needed if key not in content]:
        raise RequestError(f"study {name}: expected {missing[0]}, but it is missing.")
