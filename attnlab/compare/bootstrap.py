"""sacreBLEU's paired bootstrap of groups of runs: a sentence's counts are summed over seeds.

Koehn 2004 resamples the sentences of a test part. With several seeds a sentence is resampled with
all of its translations: seeds are no further sentences, and would make a test too sure of itself.
With one seed the result is that of `sacrebleu --paired-bs`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.compare.runs import RunRecord
from attnlab.errors import RequestError

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

# A sentence's translations, one of each seed.
Translations = tuple[str, ...]


class Unlike(ValueError):
    """Runs were not tested on the same items."""


def hypotheses(
    runs: Mapping[int, RunRecord], expected: list[tuple[str, str]] | None
) -> tuple[list[tuple[str, str]], list[Translations]]:
    """What a group's runs translated.

    Args:
        runs: A run of each seed.
        expected: Source and reference of each test item; None where any will do.

    Returns:
        Source and reference of each test item, and its translations.

    Raises:
        Unlike: A run has other test items.
        RequestError: A predictions.csv is missing or damaged.
    """
    found = []
    for run in runs.values():
        table = run.run.read_predictions()
        try:
            items = list(zip(table["source"].tolist(), table["reference"].tolist(), strict=True))
            found.append(table["hypothesis"].tolist())
        except KeyError as error:
            path = run.run.path / "predictions.csv"
            raise RequestError(f"{path}: damaged: it has no column {error}") from error
        expected = items if expected is None else expected
        if expected != items:
            raise Unlike(f"{run.run.name} has other test items than the others")
    assert expected is not None
    return expected, list(zip(*found, strict=True))


def paired_bootstrap(
    name: str,
    reference: Sequence[Translations],
    systems: Sequence[Sequence[Translations]],
    targets: Sequence[str],
) -> tuple[list[float], str]:
    """Test systems against a reference system, each with 1,000 resamples.

    Args:
        name: `bleu`, `chrf` or `bleu_lc_tok`.
        reference: The reference system's translations of each sentence.
        systems: Those of the others.
        targets: The right translation of each sentence.

    Returns:
        A p value for each system, and sacreBLEU's signature.
    """
    from sacrebleu.significance import PairedTest

    named: Any = [(str(number), texts) for number, texts in enumerate([reference, *systems])]
    test = PairedTest(named, {name: _summing_seeds(name)}, [list(targets)], test_type="bs")
    signatures, scores = test()
    (key,) = signatures
    results: list[Any] = scores[key][1:]
    return [float(result.p_value) for result in results], str(signatures[key])


def _summing_seeds(name: str) -> Metric:
    """A metric of sentences that have several translations each: its counts are their sums."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    base: Any = CHRF if name == "chrf" else BLEU
    options = {
        "chrf": {},
        "bleu": {"force": True},
        "bleu_lc_tok": {"force": True, "lowercase": True},
    }

    class SummingSeeds(base):
        def _extract_corpus_statistics(self, hypotheses: Any, references: Any) -> Any:
            counts = [
                super(SummingSeeds, self)._extract_corpus_statistics(texts, references)
                for texts in zip(*hypotheses, strict=True)
            ]
            return np.sum(counts, axis=0).tolist()

    return SummingSeeds(**options[name])
