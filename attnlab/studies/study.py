"""A study: a grid, its seeds, a comparison, published numbers.

It is read from `conf/study/NAME.yaml`, or from a folder of the user; see `config.options`.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterator, Mapping, Sequence
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
_TEXT, _LIST = Rule("str"), Rule("list")
_RULES = {
    **dict.fromkeys(("question", "by"), _TEXT),
    **dict.fromkeys(
        ("first", "source", "within", "metric", "reference"), Rule("str", optional=True)
    ),
    **dict.fromkeys(("runs", "words", "published", "differences"), _LIST),
    "seeds": Rule("int", min=2),
    "minutes": Rule("float", above=0, optional=True),
    "geometric": Rule("bool"),
    "quick": Rule("mapping"),
}
_QUICK = ("first", "runs", "seeds", "minutes", "words")  # what the short form may change
_PUBLISHED = {
    **dict.fromkeys(("metric", "system", "source", "each"), _TEXT),
    **dict.fromkeys(("where", "values"), Rule("mapping")),
    "value": Rule("float"),
    "why": Rule("str", optional=True),
}


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
    within: str | None = None  # keys separated by commas; see `comparison.comparison.Options`
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
    def changes(self) -> str:
        """The added settings that change results."""
        return shlex.join(word for word in self.added if not _is_idle(word))

    @property
    def is_part(self) -> bool:
        """Whether groups may be missing: in the quick form, or with added settings."""
        return self.quick or bool(self.changes)

    @property
    def title(self) -> str:
        """The name of its folder and sweeps; added settings give another name."""
        digest = hashlib.sha256(self.changes.encode()).hexdigest()[:6]
        return f"{self.name}{'-quick' * self.quick}{f'-{digest}' if self.changes else ''}"

    def sweeps(self, folder: Path) -> dict[str, list[str]]:
        """Return the name of each sweep, and what follows `attnlab -m`.

        The last word for a key counts. `first` is another task: it gets only those added settings
        that don't change results.

        Args:
            folder: The folder of all sweeps.
        """
        seeds, name = f"seed=range({self.seeds})", f"{STUDY}{self.title}"
        sweeps = {}
        if self.first:
            idle = [word for word in self.added if _is_idle(word)]
            sweeps[f"{name}-first"] = [*shlex.split(self.first), seeds, *idle]
        place = quoted(str(folder / f"{name}-first"))
        for sweep, grid in zip(self.compared, self.runs, strict=True):
            settings = [word.replace("{first}", place) for word in shlex.split(grid)]
            words = [*settings, seeds, *self.words, *self.added]
            sweeps[sweep] = list({word.partition("=")[0]: word for word in words}.values())
        return sweeps

    @property
    def compared(self) -> list[str]:
        """The names of the sweeps whose runs are compared."""
        return [f"{STUDY}{self.title}-{number}" for number, _ in enumerate(self.runs, start=1)]


def _is_idle(word: str) -> bool:
    return key_of(word).startswith(_IDLE)


def names() -> list[str]:
    """Return the names of all studies."""
    return options(_GROUP)


def read(name: str, quick: bool = False) -> Study:
    """Read a study, or its short form.

    Raises:
        RequestError: there is no such study, or its YAML breaks a rule.
    """
    content = option_content(_GROUP, name, whole=True)
    if content is None:
        raise RequestError(
            f"NAME: expected a study, got {name!r}.{did_you_mean(name, names())} Valid: "
            f"{', '.join(names())}."
        )
    short = content.get("quick", {})
    _check(name, content, _RULES, ["question", "runs", "by"])
    _check(f"{name}: quick", short, {key: _RULES[key] for key in _QUICK}, [])
    content = {key: value for key, value in content.items() if key != "quick"}
    content["published"] = [n for e in content.get("published", []) for n in _published(name, e)]
    if quick:
        content |= {"minutes": None, "quick": True, **short}
    if not content["runs"]:
        raise RequestError(f"study {name}: runs: expected at least one grid, got none.")
    for text in [*content["runs"], *content.get("words", ())]:
        check_rule(f"study {name}: runs and words", text, _TEXT)
        try:
            shlex.split(text)
        except ValueError as error:
            raise RequestError(f"study {name}: expected quotes in pairs, got {text}.") from error
    return Study(name=name, **content)


def _published(name: str, entry: Any) -> Iterator[Published]:
    """Yield the numbers of an entry: its `value`, or one of `values` for each value of a key."""
    title = f"{name}: published"
    is_several = isinstance(entry, Mapping) and "values" in entry
    needed = ["where", "metric", "system", "source"]
    _check(title, entry, _PUBLISHED, [*needed, *(["each"] if is_several else ["value"])])
    metric = entry["metric"]
    metrics = [score.name for kind in kinds() for score in kind.scoring.metrics]
    if metric.rpartition(".")[2] not in metrics:
        raise RequestError(
            f"study {title}: expected a metric of a task, got {metric!r}."
            f"{did_you_mean(metric, metrics)}"
        )
    for option, value in entry["values"].items() if is_several else [("", entry["value"])]:
        check_rule(f"study {title}: values: {option}", value, _PUBLISHED["value"])
        where = entry["where"] | ({entry["each"]: option} if is_several else {})
        yield Published(
            {key: yaml_text(text) for key, text in where.items()},
            value=value,
            **{key: entry.get(key) for key in ("metric", "system", "source", "why")},
        )


def _check(name: str, content: Any, rules: Mapping[str, Rule], needed: Sequence[str]) -> None:
    """Check the entries of a mapping by their rules."""
    if not isinstance(content, Mapping):
        raise RequestError(f"study {name}: expected KEY: VALUE, got {content!r}.")
    for key, value in content.items():
        if key not in rules:
            raise RequestError(
                f"study {name}: expected one of {', '.join(rules)}, got {key!r}."
                f"{did_you_mean(str(key), [*rules])}"
            )
        check_rule(f"study {name}: {key}", value, rules[key])
    for key in needed:
        if key not in content:
            raise RequestError(f"study {name}: expected {key}, but it is missing.")
