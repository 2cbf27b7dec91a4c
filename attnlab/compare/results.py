"""What is asked of a comparison, and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from attnlab.compare.items import ItemTest
from attnlab.compare.metrics import Metric
from attnlab.compare.runs import RunRecord, Selection
from attnlab.compare.statistics import Difference, Interval


class Request(NamedTuple):
    """What is to be compared.

    Attributes:
        by: Config keys whose values make the groups; `attention` means `attention.name`.
        selection: Which runs.
        metric: See `Metric`; None for each task's main one.
        reference: The group that others are held against, as its values or `key=value,...`; None
            for the one without attention, else the one of most seeds.
        geometric: Average logarithms: means are geometric and differences are ratios.
        bootstrap: Whether translations get the paired bootstrap; None where it takes seconds.
    """

    by: tuple[str, ...] = ("attention",)
    selection: Selection = Selection()
    metric: str | None = None
    reference: str | None = None
    geometric: bool = False
    bootstrap: bool | None = None


@dataclass(frozen=True)
class Group:
    """Runs that share the compared settings, one for each seed.

    Attributes:
        key: The values of the compared settings; None where a run has no such setting.
        runs: The newest run of each seed, in the order of seeds.
        values: The metric of each seed.
    """

    key: tuple[str | None, ...]
    runs: Mapping[int, RunRecord]
    values: Mapping[int, float]

    @property
    def label(self) -> str:
        """The values of the key, in one line."""
        return " / ".join(value or "-" for value in self.key)


@dataclass(frozen=True)
class Row:
    """What a group amounts to.

    Attributes:
        group: Its runs.
        interval: Mean over seeds and its interval, in the metric's units.
        best: Of all seeds.
        worst: Of all seeds.
        skill: Mean over seeds of what is gained on the best baseline; None where undefined.
        parameters: Smallest and largest number of parameters.
        seconds_per_epoch: Mean over seeds of the run's median epoch.
        difference: To the reference, or with `geometric` the ratio; None of the reference itself.
        p_holm: The paired test's p value, corrected over the table.
        item_test: The test over test items, of the shared seeds; None where there is none.
        verdict: better, worse, ... in words; empty of the reference.
    """

    group: Group
    interval: Interval
    best: float
    worst: float
    skill: float | None
    parameters: tuple[int, int] | None
    seconds_per_epoch: float | None
    difference: Difference | None = None
    p_holm: float | None = None
    item_test: ItemTest | None = None
    verdict: str = ""


@dataclass(frozen=True)
class Comparison:
    """The groups of one task.

    Attributes:
        task: Its name.
        by: The compared keys.
        metric: What is compared.
        units: Of the metric; empty where it has none.
        geometric: Whether means are geometric and differences ratios.
        rows: The best group first; in the order of keys where no way is better.
        reference: The label of the group that the others are held against; None for a lone group.
        baseline: The baseline that the skill is about; None where runs name several or none.
        notes: What to know for reading it.
        warnings: What makes it doubtful.
    """

    task: str
    by: tuple[str, ...]
    metric: Metric
    units: str
    geometric: bool
    rows: tuple[Row, ...]
    reference: str | None
    baseline: str | None
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def groups(self) -> list[Group]:
        """The groups in the order of the rows."""
        return [row.group for row in self.rows]

    @property
    def differences(self) -> list[Row]:
        """The rows that are held against the reference."""
        return [row for row in self.rows if row.difference is not None]


class Comparisons(NamedTuple):
    """What comes of a request: a comparison for each task, and what was left out of all."""

    tasks: list[Comparison]
    left_out: list[str]
