"""A study: a grid, its seeds, a comparison, published numbers.

It is read from `conf/study/NAME.yaml`, or from a folder of the user; see `config.options`.
"""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from attnlab.config.options import key_of, option_content, options, quoted
from attnlab.config.rules import did_you_mean, yaml_text
from attnlab.errors import RequestError
from attnlab.records.run_directory import default_runs_folder
from attnlab.records.sweep_runs import STUDY
from attnlab.tasks.kinds import kinds

_GROUP = "study"
# Settings that don't change results.
_IDLE = ("paths.", "tracking.", "sweep.", "hydra.", "hydra/", "trainer.together")


@dataclass(frozen=True)
class Published:
    """A published number, and the group of runs that it is compared with."""

    where: dict[str, str]  # config keys and the values that the group has
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
    runs: list[str]
    by: str  # keys that make the groups, separated by commas
    seeds: int = 5
    first: str | None = None  # a grid that is trained first; not a group in the comparison
    within: str | None = None  # keys separated by commas; see `comparison.comparison.Options`
    source: str | None = None  # the paper or book that the question comes from
    minutes: float | None = None  # how long the whole study took on 2 cores; None: not measured
    metric: str | None = None  # None: the task's own
    reference: str | None = None  # the group that others are compared with
    geometric: bool = False  # whether means are geometric
    published: list[Published] = field(default_factory=list)
    # between our protocol and the published one
    differences: list[str] = field(default_factory=list)
    quick: bool = False  # whether it is the short form
    words: list[str] = field(default_factory=list)  # settings of all runs
    # settings of all runs that the study doesn't have
    added: list[str] = field(default_factory=list)

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

    def commands(self, runs: Path | None) -> list[list[str]]:
        """Return the words of `attnlab -m ...` for each sweep, in the order of training.

        The last word for a key counts. `first` is another task: it gets only those added settings
        that don't change results.

        Args:
            runs: The folder of all runs; None for the default one.
        """
        seeds, first = f"seed=range({self.seeds})", f"{STUDY}{self.title}-first"
        sweeps = {}
        if self.first:
            idle = [word for word in self.added if _is_idle(word)]
            sweeps[first] = [*shlex.split(self.first), seeds, *idle]
        first_folder = quoted(str((runs or default_runs_folder()) / "sweeps" / first))
        for sweep, grid in zip(self.compared, self.runs, strict=True):
            settings = [word.replace("{first}", first_folder) for word in shlex.split(grid)]
            words = [*settings, seeds, *self.words, *self.added]
            sweeps[sweep] = list({word.partition("=")[0]: word for word in words}.values())
        place = [f"paths.runs={quoted(str(runs))}"] if runs else []
        return [["-m", *words, *place, f"sweep.name={name}"] for name, words in sweeps.items()]

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
        RequestError: there is no such study, or its YAML is wrong.
    """
    content = option_content(_GROUP, name, whole=True)
    if content is None:
        raise RequestError(
            f"NAME: expected a study, got {name!r}.{did_you_mean(name, names())} Valid: "
            f"{', '.join(names())}."
        )
    published = [row for entry in content.get("published") or [] for row in _published(entry)]
    changes = [{**content, "published": published, "name": name, "quick": quick}]
    if quick:
        changes.append(content.get("quick", {}))
    try:
        study = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(Study), *changes))
        assert isinstance(study, Study)
        for text in study.runs:
            shlex.split(text)  # quotes may be missing
    except (OmegaConfBaseException, ValueError) as error:
        place, message = getattr(error, "full_key", "runs"), str(error).splitlines()[0]
        raise RequestError(f"study {name}: {place}: {message}.") from error
    metrics = [score.name for kind in kinds() for score in kind.scoring.metrics]
    for metric in (number.metric for number in study.published):
        if metric.rpartition(".")[2] not in metrics:
            raise RequestError(
                f"study {name}: published: expected a metric of a task, got {metric!r}."
                f"{did_you_mean(metric, metrics)}"
            )
    if not study.runs or study.seeds < 2:
        raise RequestError(f"study {name}: expected at least one grid in runs and two seeds.")
    return study


def _published(entry: Any) -> list[Any]:
    """Divide an entry with `values` into one for each value of its key `each`."""
    match entry:
        case {"where": dict(where), "each": key, "values": dict(values), **others}:
            settings = [{**where, key: option} for option in values]
            rows = [
                {**others, "where": place, "value": value}
                for place, value in zip(settings, values.values(), strict=True)
            ]
        case {"where": dict()}:
            rows = [entry]
        case _:
            return [entry]
    return [{**row, "where": {k: yaml_text(v) for k, v in row["where"].items()}} for row in rows]
