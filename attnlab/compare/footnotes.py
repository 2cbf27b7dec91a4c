"""The notes below the tables of a comparison: what columns mean, and how to read them."""

from __future__ import annotations

from attnlab.compare.comparison import ENOUGH_SEEDS, Comparison
from attnlab.compare.sequential import ALPHA, first_bounded
from attnlab.compare.tables import naming, seeds_of, value_format

_MOST_SEEDS_NAMED = 5


def footnotes(comparison: Comparison) -> list[str]:
    """Explain the columns and the tests."""
    way = "sequential" if comparison.sequential else "t"
    cut = f", cut at {ends}" if (ends := _cut_at(comparison)) else ""
    lines = [
        f"n: number of seeds; interval: 95 % {way} interval of their mean{cut}; s/epoch: seconds "
        "of the median epoch"
    ]
    if any(each.skill is not None for each in comparison.results):
        baseline = comparison.baseline or "the best baseline"
        lines[0] += f"; skill: share of the error of {baseline} that the model removes"
    lines += _about_shared_seeds(comparison)
    if comparison.sequential:
        lines += _about_looking(comparison)
    elif tests := sum(each.p_corrected is not None for each in comparison.differences):
        corrected = f", corrected for {tests} tests (Holm); intervals are not corrected"
        lines.append(f"p: paired t test over shared seeds{corrected if tests > 1 else ''}")
    if test := comparison.item_test:
        signature = f"; {test.signature}" if test.signature else ""
        several = sum(each.item_test is not None for each in comparison.differences) > 1
        corrected = ", corrected (Holm)" if several else ""
        once = "; valid for one look only" if comparison.sequential else ""
        lines.append(f"{test.heading}: {test.method}{corrected}{once}{signature}")
    if any(each.verdict == "too few seeds" for each in comparison.differences):
        lines.append(
            f"too few seeds: below {ENOUGH_SEEDS} shared seeds a single run can decide, so "
            "differences of any size get no verdict: train more seeds"
        )
    return [*naming(comparison).notes, *lines, *comparison.notes]


def _cut_at(comparison: Comparison) -> str:
    """Name the bounds of the metric at which intervals are cut; empty if none is."""
    intervals = [each.interval for each in comparison.results]
    ends = {i.low for i in intervals if i.low != i.high}, {i.high for i in intervals}
    bounds = zip(comparison.metric.bounds, ("smallest", "largest"), ends, strict=True)
    return " and ".join(
        f"{bound:g}, the {word} possible value" for bound, word, own in bounds if bound in own
    )


def _about_shared_seeds(comparison: Comparison) -> list[str]:
    """State the means over the shared seeds, for differences that don't use all seeds."""
    write, called, found = value_format(comparison), naming(comparison), []
    for each in comparison.differences:
        seeds, every = seeds_of(each, comparison)
        if each.shared_means and comparison.reference_group and len(seeds) < len(every):
            own, base = map(write, each.shared_means)
            which = f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"
            if len(seeds) > _MOST_SEEDS_NAMED:
                which = f"{len(seeds)} seeds"
            names = called.label(each.group), called.label(comparison.reference_group)
            found.append(f"{names[0]} {own} and {names[1]} {base} ({which})")
    if not found:
        return []
    return [
        "n of a difference: the number of seeds that both groups have, of all their seeds; means "
        f"over the shared seeds: {'; '.join(found)}"
    ]


def _about_looking(comparison: Comparison) -> list[str]:
    """Explain what sequential intervals promise."""
    tests = len(comparison.differences)
    if not tests:
        return []
    share = f", at alpha {ALPHA:g} / {tests} for {tests} comparisons" if tests > 1 else ""
    return [
        "sequential: intervals, p and verdicts stay valid however often you look, if differences "
        f"are roughly normal{share}; they need {first_bounded(ALPHA / tests)} shared seeds"
    ]
