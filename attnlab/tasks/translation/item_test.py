"""sacreBLEU's paired bootstrap for groups of runs: a sentence's counts are summed over seeds.

Koehn 2004 resamples the sentences of a test part. With several seeds, a sentence is resampled
together with all of its translations: counting each seed's translation as another sentence would
make the p values too small. With one seed the result is that of `sacrebleu --paired-bs`.

Uses a private method of sacreBLEU (as of 2.6.0): `Metric._extract_corpus_statistics`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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
    runs = {run.name: run for pair in pairs for group in reversed(pair) for run in group}
    tables = {name: _texts(run) for name, run in runs.items()}
    items, _ = next(iter(tables.values()))
    for name, (run_items, _) in tables.items():
        if run_items != items:
            raise NoItemTest(
                f"no test over test items: {name} has other test items than the others"
            )
    targets = [reference for _, reference in items]
    number = len(targets) * sum(len(group) for pair in pairs for group in pair)
    if number > _AT_ONCE and not always:
        raise NoItemTest(
            f"no paired bootstrap, which would count {number:,} texts: see --bootstrap"
        )
    tests: list[ItemTest | None] = []
    counts = "counts summed over shared seeds"
    method = f"sacreBLEU's paired bootstrap over {len(targets)} test sentences ({counts})"
    for pair in pairs:
        system, reference = (
            list(zip(*(tables[run.name][1] for run in group), strict=True)) for group in pair
        )
        # The signature of the metric in a run names its tokenizer.
        signature = str(pair[1][0].read_metrics().get("signatures", {}).get(metric))
        tokens = re.findall(r"tok:([^|]+)", signature)[:1]
        p, signature = paired_bootstrap(metric, reference, system, targets, *tokens)
        tests.append(
            ItemTest("paired bootstrap", "boot p", method, len(targets), p, signature=signature)
        )
    return tests


def paired_bootstrap(
    name: str,
    reference: Sequence[Translations],
    system: Sequence[Translations],
    targets: Sequence[str],
    tokens: str | None = None,
) -> tuple[float, str]:
    """Compare a system with a reference system, by 1,000 resamples of the sentences.

    A system has, for each sentence, its translations by all seeds. `targets` are the sentences'
    reference translations, `tokens` is the name of sacreBLEU's tokenizer. Returns the p value, and
    sacreBLEU's signature.
    """
    from sacrebleu.significance import PairedTest

    base = metric_class(name)

    class SummingSeeds(base):  # type: ignore[misc, valid-type]
        """The metric of sentences with several translations, whose counts it adds."""

        def _extract_corpus_statistics(self, hypotheses: Any, references: Any) -> Any:
            counts = [
                super(SummingSeeds, self)._extract_corpus_statistics(texts, references)
                for texts in zip(*hypotheses, strict=True)
            ]
            return np.sum(counts, axis=0).tolist()

    metric = SummingSeeds(**metric_settings(name, *([tokens] if tokens else [])))
    systems: Any = [("reference", reference), ("system", system)]
    test = PairedTest(systems, {name: metric}, [list(targets)], test_type="bs")
    signatures: Any
    scores: Any
    signatures, scores = test()
    (key,) = signatures
    first, second = scores[key]
    # sacreBLEU counts the resamples with a larger difference; with equal scores there may be none,
    # although p is 1.
    p = 1.0 if first.score == second.score else float(second.p_value)
    return p, str(signatures[key])


def _texts(run: RunDirectory) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the source and the reference of each test item, and the translations of a run."""
    table = run.read_predictions(KIND.scoring.text_columns)
    try:
        source, reference, hypothesis = (
            table[name].tolist() for name in ("source", "reference", "hypothesis")
        )
    except KeyError as error:
        path = run.path / "predictions.csv"
        raise RequestError(f"{path}: damaged: it has no column {error}") from error
    return list(zip(source, reference, strict=True)), hypothesis
