"""sacreBLEU's paired bootstrap for groups of runs: a sentence's counts are summed over seeds.

Koehn 2004 resamples the sentences of a test part. With several seeds, a sentence is resampled
together with all of its translations: counting each seed's translation as another sentence would
make the p values too small. With one seed the result is that of `sacrebleu --paired-bs`.

Uses a private method of sacreBLEU (as of 2.6.0): `Metric._extract_corpus_statistics`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.declaration import ItemTest, NoItemTest, Pairs
from attnlab.tasks.translation.kind import KIND
from attnlab.tasks.translation.scores import metric_class, metric_settings

# The translations of one sentence, one per seed.
Translations = tuple[str, ...]

# The number of translations that sacreBLEU counts in about two seconds.
_AT_ONCE = 30_000


def item_test(metric: str, pairs: Pairs, always: bool | None) -> list[ItemTest | None]:
    """Test groups of translations against a reference group: an `ItemTester`.

    `always` True tests even if sacreBLEU takes minutes; False never tests.

    Raises:
        NoItemTest: the runs have different sentences, or the test would take minutes.
        RequestError: a predictions.csv is missing or damaged.
    """
    if always is False:
        return [None] * len(pairs)
    items: list[tuple[str, str]] = []
    groups_of: dict[tuple[str, ...], list[int]] = {}  # by the runs of the reference
    for place, (_, reference) in enumerate(pairs):
        groups_of.setdefault(tuple(run.name for run in reference), []).append(place)
    bases = {key: _translations(pairs[at[0]][1], items) for key, at in groups_of.items()}
    number = len(items) * sum(len(key) * (1 + len(at)) for key, at in groups_of.items())
    if number > _AT_ONCE and not always:
        raise NoItemTest(
            f"no paired bootstrap, which would count {number:,} texts: see --bootstrap"
        )
    targets = [target for _, target in items]
    counts = "counts summed over shared seeds"
    method = f"sacreBLEU's paired bootstrap over {len(items)} test sentences ({counts})"
    found: dict[int, ItemTest] = {}
    for key, places in groups_of.items():
        systems = [_translations(pairs[place][0], items) for place in places]
        settings = _settings(metric, pairs[places[0]][1][0])
        p_values, signature = paired_bootstrap(metric, bases[key], systems, targets, settings)
        for place, p in zip(places, p_values, strict=True):
            found[place] = ItemTest(
                "paired bootstrap", "boot p", method, len(items), p, signature=signature
            )
    return [found[place] for place in range(len(pairs))]


def paired_bootstrap(
    name: str,
    reference: Sequence[Translations],
    systems: Sequence[Sequence[Translations]],
    targets: Sequence[str],
    settings: Mapping[str, Any] | None = None,
) -> tuple[list[float], str]:
    """Compare systems with a reference system, by 1,000 resamples of the sentences each.

    A system has, for each sentence, its translations by all seeds. `targets` are the sentences'
    reference translations. `settings` are those of the metric; None: the default ones. Returns a p
    value per system, and sacreBLEU's signature.
    """
    from sacrebleu.significance import PairedTest

    named: Any = [(str(number), texts) for number, texts in enumerate([reference, *systems])]
    test = PairedTest(
        named,
        {name: _summing_seeds(name, settings or metric_settings(name))},
        [list(targets)],
        test_type="bs",
    )
    signatures, scores = test()
    (key,) = signatures
    base, *results = scores[key]
    # sacreBLEU counts the resamples with a larger difference; with equal scores there may be none,
    # although p is 1.
    p_values = [1.0 if each.score == base.score else float(each.p_value) for each in results]
    return p_values, str(signatures[key])


def _translations(runs: Sequence[RunDirectory], items: list[tuple[str, str]]) -> list[Translations]:
    """Return the translations of each test item, one per run.

    `items` has the source and the reference of each test item, which must be equal in all runs. If
    the list is empty, the first run fills it.
    """
    columns = []
    for run in runs:
        table = run.read_predictions(KIND.scoring.text_columns)
        try:
            own = list(zip(table["source"].tolist(), table["reference"].tolist(), strict=True))
            columns.append(table["hypothesis"].tolist())
        except KeyError as error:
            path = run.path / "predictions.csv"
            raise RequestError(f"{path}: damaged: it has no column {error}") from error
        items[:] = items or own
        if own != items:
            raise NoItemTest(
                f"no test over test items: {run.name} has other test items than the others"
            )
    return list(zip(*columns, strict=True))


def _summing_seeds(name: str, settings: Mapping[str, Any]) -> Any:
    """Return a metric for sentences with several translations, whose counts it adds."""
    base = metric_class(name)

    class SummingSeeds(base):
        def _extract_corpus_statistics(self, hypotheses: Any, references: Any) -> Any:
            counts = [
                super(SummingSeeds, self)._extract_corpus_statistics(texts, references)
                for texts in zip(*hypotheses, strict=True)
            ]
            return np.sum(counts, axis=0).tolist()

    return SummingSeeds(**settings)


def _settings(name: str, run: RunDirectory) -> dict[str, Any]:
    """Return the metric's settings in a run, whose signature names the tokenizer."""
    signature = str(run.read_metrics().get("signatures", {}).get(name))
    tokens = re.search(r"tok:([^|]+)", signature)
    return metric_settings(name, tokens[1]) if tokens else metric_settings(name)
