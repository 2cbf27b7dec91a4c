"""Choose runs by task, mechanism, state, sweep and settings.

Without filters, `attnlab compare` takes the newest sweep, or the task of the newest run. Only
filters by setting read the runs' config files; the other filters are fast.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from attnlab.config.rules import did_you_mean
from attnlab.errors import RequestError
from attnlab.records.files import flatten
from attnlab.records.run_directory import ListedRun, RunDirectory, shown_state
from attnlab.records.sweep_runs import is_of_study, newest_first, runs_of_sweep, sweep_names

STATES = ("completed", "running", "failed", "killed", "pruned", "damaged")
_MOST_NAMED = 8
_ALL = "attnlab compare --all takes them, too"


@dataclass(frozen=True)
class Filters:
    """Conditions on runs; an empty field sets no condition."""

    tasks: tuple[str, ...] = ()  # the run has one of these tasks
    attentions: tuple[str, ...] = ()  # the run has one of these mechanisms
    # each `KEY=VALUE` holds: KEY is a config key or the name of a group such as `attention`; VALUE
    # may be several values separated by commas: the run has one of them
    where: tuple[str, ...] = ()
    states: tuple[str, ...] = ()  # the run has one of these `STATES`
    failed: bool = False  # adds `failed` and `killed` to the states
    sweep: str | None = None  # the run belongs to this sweep

    def __bool__(self) -> bool:
        """Whether there is any condition."""
        return self != Filters()

    def apply(self, entries: Iterable[ListedRun]) -> list[ListedRun]:
        """Return the runs that satisfy all conditions, in their order.

        Raises:
            RequestError: A filter can't be parsed, or names a key that no run has.
        """
        conditions = []
        for text in self.where:
            key, _, value = (part.strip() for part in text.partition("="))
            if not key or not value:
                raise RequestError(
                    f"--where: expected KEY=VALUE such as model.cell=gru, got {text!r}."
                )
            conditions.append((key, value))
        states = {*self.states, *(("failed", "killed") if self.failed else ())}
        for state in states - {*STATES}:
            raise RequestError(f"--state: expected one of {', '.join(STATES)}, got {state!r}.")
        matches = [
            entry
            for entry in entries
            if (not self.tasks or entry.status.get("task") in self.tasks)
            and (not self.attentions or entry.status.get("attention") in self.attentions)
            and (not states or shown_state(entry.status) in states)
        ]
        if self.sweep is not None:
            matches = runs_of_sweep(matches, self.sweep)
        if not conditions or not matches:
            return matches
        settings: list[Mapping[str, str]] = []
        for entry in matches:
            try:
                settings.append(read_settings(entry.run))
            except RequestError:  # a damaged run satisfies no condition
                settings.append({})
        check_keys("--where", [key for key, _ in conditions], settings)
        return [
            entry
            for entry, run_settings in zip(matches, settings, strict=True)
            if all(_means(text, setting(run_settings, key)) for key, text in conditions)
        ]


def none_fits(entries: Sequence[ListedRun]) -> str:
    """Say in a sentence that no run satisfies the filters, and what there is to choose from."""
    columns = [
        ("tasks", [str(entry.status["task"]) for entry in entries]),
        ("mechanisms", [str(entry.status["attention"]) for entry in entries]),
        ("sweeps", sweep_names(entries)),
    ]
    names = []
    for title, values in columns:
        some = [*dict.fromkeys(values)]
        more = ", ..." if len(some) > _MOST_NAMED else ""
        names += [f"{title}: {', '.join(some[:_MOST_NAMED])}{more}"] if some else []
    return f"None of the {len(entries)} runs satisfies all filters. They have {'; '.join(names)}."


def read_settings(run: RunDirectory) -> dict[str, str]:
    """Read the leaves of a run's config.yaml by dotted key, as text; see `flatten`.

    Raises:
        RequestError: config.yaml is missing or damaged.
    """
    return flatten(run.read_config())


def setting(settings: Mapping[str, str], key: str) -> str | None:
    """Return the value of a key; for a group such as `attention`, its option's name."""
    return settings.get(key, settings.get(f"{key}.name"))


def check_keys(option: str, keys: Iterable[str], runs: Iterable[Mapping[str, str]]) -> None:
    """Check that runs have these config keys.

    Raises:
        RequestError: There is a key that no run has.
    """
    names = dict.fromkeys(key for settings in runs for key in settings)
    names |= {key.removesuffix(".name"): None for key in names if key.endswith(".name")}
    for key in keys:
        if key not in names:
            inside = [name for name in names if name.startswith(f"{key}.")][:1]
            hint = f" Did you mean {inside[0]}?" if inside else did_you_mean(key, [*names])
            raise RequestError(f"{option}: no run has the config key {key!r}.{hint}")


def _means(text: str, value: str | None) -> bool:
    """Whether a value equals a text, or one of the values that the text lists with commas."""
    return value is not None and any(_same(part, value) for part in [text, *text.split(",")])


def _same(text: str, value: str) -> bool:
    """Whether two values are equal, as numbers or as text.

    Spaces, quotes and the case of `True`, `False` and `Null` don't matter.
    """
    try:
        return float(text) == float(value)
    except ValueError:
        text, value = (re.sub(r"[\s'\"]", "", word) for word in (text, value))
        return text == value or (value in ("null", "true", "false") and text.lower() == value)


class Chosen(NamedTuple):
    """Runs to compare, and sentences about the runs left out."""

    runs: list[ListedRun]
    left_out: list[str]


def choose_runs(listed: Sequence[ListedRun], filters: Filters) -> Chosen:
    """Choose runs by filters; without filters, the newest sweep or the newest run's task.

    Runs of studies are left out unless their sweep is named, or there are no other runs.

    Raises:
        RequestError: A filter can't be parsed, or names a key that no run has.
    """
    if filters:
        matches = filters.apply(listed)
        others = [run for run in matches if not is_of_study(run.status.get("sweep"))]
        if filters.sweep is not None or not others:
            return Chosen(matches, [])
        return _chosen(others, matches, f"of studies ({_ALL})")
    # Sorting is stable: sweeps of studies come last, otherwise the newest one first.
    for sweep in sorted(newest_first(listed), key=is_of_study):
        if sweep is None:
            task = [run for run in listed if not run.status.get("sweep")][-1].status["task"]
            others = [run for run in listed if not is_of_study(run.status.get("sweep"))]
            runs = [run for run in others if run.status["task"] == task]
            outside = f"task {task}, the task of the newest run"
        else:
            runs = runs_of_sweep(listed, sweep)
            outside = f"sweep {sweep}, the newest sweep"
        if any(shown_state(run.status) == "completed" for run in runs):
            advice = f"({_ALL}; or choose with --task, --sweep)"
            return _chosen(runs, listed, f"outside {outside} {advice}")
    return Chosen([*listed], [])


def _chosen(runs: list[ListedRun], among: Sequence[ListedRun], others: str) -> Chosen:
    number = len(among) - len(runs)
    return Chosen(runs, [f"{number} run{'s' * (number > 1)} {others}"] if number else [])
