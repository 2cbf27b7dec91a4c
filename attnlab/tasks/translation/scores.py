"""BLEU and chrF by sacreBLEU, and its paired bootstrap for groups of runs.

Every score comes with sacreBLEU's signature, which says how it was counted: Post (2018), "A Call
for Clarity in Reporting BLEU Scores" (arXiv 1804.08771).

Koehn 2004 resamples the sentences of a test part. With several seeds, a sentence is resampled
together with all of its translations: counting each seed's translation as another sentence would
make the p values too small. With one seed the result is that of `sacrebleu --paired-bs`. The test
uses a private method of sacreBLEU (as of 2.6.0): `Metric._extract_corpus_statistics`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.kinds import ItemTest, NoItemTest, Pairs
from attnlab.tasks.translation.kind import KIND

_PERFECT = 100.0
# Languages without spaces between words have sacreBLEU's own tokenizer, or single characters.
_CHINESE = frozenset("zh chi cmn wuu yue zho".split())
_CHARACTERS = frozenset("ja jpn km khm lo lao my bur mya th tha".split())
NAMES = ("bleu", "chrf")
_MOST_TEXTS = 30_000  # translations that sacreBLEU counts in about two seconds

# The translations of one sentence, one per seed.
Translations = tuple[str, ...]


def bleu_tokens(language: str) -> str:
    """Return the name of sacreBLEU's tokenizer for a language code such as `de` or `zh-TW`."""
    code = re.split("[-_]", language.lower())[0]
    return "zh" if code in _CHINESE else "char" if code in _CHARACTERS else "13a"


def _metric(name: str, tokens: str = "13a") -> tuple[Any, dict[str, Any]]:
    """Return sacreBLEU's class of one of `NAMES`, and its settings."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    # `force` stops advice on standard error.
    return (CHRF, {}) if name == "chrf" else (BLEU, {"tokenize": tokens, "force": True})


def score(
    hypotheses: Sequence[str], references: Sequence[str], language: str = ""
) -> dict[str, Any]:
    """Return BLEU and chrF of translations against one reference each, JSON-ready, 0 to 100.

    `bleu` is sacreBLEU's with its default settings except the tokenizer (case-sensitive), `chrf`
    chrF2 (character 6-grams without spaces); `signatures` has that of sacreBLEU for each. BLEU
    counts 4-grams over the whole part: if no reference has four tokens it is 0, even for identical
    text. `language` is the code that `bleu_tokens` takes.
    """
    scores: dict[str, Any] = {"signatures": {}}
    for name in NAMES:
        cls, settings = _metric(name, bleu_tokens(language))
        metric = cls(**settings)
        value = float(metric.corpus_score(hypotheses, [references]).score)
        scores[name] = min(value, _PERFECT)
        scores["signatures"][name] = str(metric.get_signature())
    return scores


def sentence_scores(
    hypotheses: Sequence[str], references: Sequence[str], language: str = ""
) -> dict[str, np.ndarray]:
    """Return BLEU and chrF of each sentence alone, for tables and for paired tests.

    Each is (N,), 0 to 100. BLEU of a sentence counts only the n-gram orders that it has
    (`effective_order`), so identical text of any length scores 100. The mean over sentences differs
    from the score of the whole part.
    """
    scores = {}
    for name in NAMES:
        cls, settings = _metric(name, bleu_tokens(language))
        metric = cls(**settings, **({"effective_order": True} if name == "bleu" else {}))
        pairs = zip(hypotheses, references, strict=True)
        values = [metric.sentence_score(text, [reference]).score for text, reference in pairs]
        scores[name] = np.minimum(values, _PERFECT)
    return scores


def item_test(metric: str, pairs: Pairs, always: bool | None) -> list[ItemTest | None]:
    """Test groups of translations against a reference group; see `kinds.ItemTester`."""
    if always is False:
        return [None] * len(pairs)
    # The reference's runs are first: a message names the run that differs from them.
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
    if number > _MOST_TEXTS and not always:
        raise NoItemTest(
            f"no paired bootstrap, which would count {number:,} texts: see --bootstrap"
        )
    tests: list[ItemTest | None] = []
    method = f"sacreBLEU's paired bootstrap over {len(targets)} test sentences"
    for pair in pairs:
        system, base = (
            list(zip(*(tables[run.name][1] for run in group), strict=True)) for group in pair
        )
        # The signature of the metric in a run names its tokenizer.
        signature = str(pair[1][0].read_metrics().get("signatures", {}).get(metric))
        tokens = re.findall(r"tok:([^|]+)", signature)[:1]
        p, signature = paired_bootstrap(metric, base, system, targets, *tokens)
        tests.append(ItemTest("paired bootstrap", method, len(targets), p, signature=signature))
    return tests


def paired_bootstrap(
    name: str,
    reference: Sequence[Translations],
    system: Sequence[Translations],
    targets: Sequence[str],
    tokens: str = "13a",
) -> tuple[float, str]:
    """Compare a system with a reference system, by 1,000 resamples of the sentences.

    A system has, for each sentence, its translations by all seeds. `targets` are the sentences'
    reference translations, `tokens` is the name of sacreBLEU's tokenizer. Returns the p value, and
    sacreBLEU's signature.
    """
    from sacrebleu.significance import PairedTest

    base, settings = _metric(name, tokens)

    class SummingSeeds(base):  # type: ignore[misc, valid-type]
        """The metric of sentences with several translations, whose counts it adds."""

        def _extract_corpus_statistics(self, hypotheses: Any, references: Any) -> Any:
            counts = [
                super(SummingSeeds, self)._extract_corpus_statistics(texts, references)
                for texts in zip(*hypotheses, strict=True)
            ]
            return np.sum(counts, axis=0).tolist()

    metric = SummingSeeds(**settings)
    systems: Any = [("reference", reference), ("system", system)]
    signatures, scores = PairedTest(systems, {name: metric}, [[*targets]], test_type="bs")()
    ((key, signature),) = signatures.items()
    results: Any = scores[key]
    first, second = results
    # sacreBLEU counts the resamples with a larger difference; with equal scores there may be none,
    # although p is 1.
    p = 1.0 if first.score == second.score else float(second.p_value)
    return p, str(signature)


def _texts(run: RunDirectory) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the source and the reference of each test item, and the translations of a run."""
    table = run.read_predictions(KIND.scoring.text_columns)
    try:
        items = zip(table["source"].tolist(), table["reference"].tolist(), strict=True)
        return [*items], table["hypothesis"].tolist()
    except KeyError as error:
        path = run.path / "predictions.csv"
        raise RequestError(f"{path}: damaged: it has no column {error}") from error
