"""Scores of translations against their references: BLEU and chrF by sacreBLEU.

Every score comes with sacreBLEU's signature, which says how it was counted: Post (2018), "A Call
for Clarity in Reporting BLEU Scores" (arXiv 1804.08771).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

_PERFECT = 100.0
_BLEU_TOKENS = "13a"
# Languages without spaces between words: sacreBLEU's own tokenizer, or single characters.
_OTHER_TOKENS = {
    **dict.fromkeys(["zh", "chi", "cmn", "wuu", "yue", "zho"], "zh"),
    **dict.fromkeys(
        ["ja", "jpn", "km", "khm", "lo", "lao", "my", "bur", "mya", "th", "tha"], "char"
    ),
}
_FEWEST = 4  # tokens of the longest n-grams that BLEU counts
NAMES = ("bleu", "chrf")


def bleu_tokens(language: str) -> str:
    """Return the name of sacreBLEU's tokenizer for a language code such as `de` or `zh-TW`."""
    return _OTHER_TOKENS.get(re.split("[-_]", language.lower())[0], _BLEU_TOKENS)


def metric_class(name: str) -> Any:
    """Return sacreBLEU's class of a metric; imports sacreBLEU."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    return CHRF if name == "chrf" else BLEU


def metric_settings(name: str, tokens: str = _BLEU_TOKENS) -> dict[str, Any]:
    """Return the settings of one of `NAMES`; `force` stops advice on standard error."""
    return {} if name == "chrf" else {"tokenize": tokens, "force": True}


def counts_bleu(references: Sequence[str], language: str = "") -> bool:
    """Whether a reference has four tokens, without which BLEU is always 0."""
    cut = metric_class("bleu")(**metric_settings("bleu", bleu_tokens(language))).tokenizer
    return any(len(cut(text).split()) >= _FEWEST for text in references)


def score(
    hypotheses: Sequence[str], references: Sequence[str], language: str = ""
) -> dict[str, Any]:
    """BLEU and chrF of translations against one reference each.

    Texts are detokenized; a hypothesis may be empty. `language` is the code that `bleu_tokens`
    takes. BLEU counts 4-grams over the whole part: if no reference has four tokens it is 0, even
    for identical text.

    Returns:
        JSON-ready, 0 to 100: `bleu`, sacreBLEU's with its default settings except the tokenizer
        (case-sensitive); `chrf`, chrF2 (character 6-grams without spaces); `signatures`, that of
        sacreBLEU for each, by its name.
    """
    tokens = bleu_tokens(language)
    metrics = {name: metric_class(name)(**metric_settings(name, tokens)) for name in NAMES}
    scores: dict[str, Any] = {
        name: min(float(metric.corpus_score(hypotheses, [references]).score), _PERFECT)
        for name, metric in metrics.items()
    }
    signatures = {name: str(metric.get_signature()) for name, metric in metrics.items()}
    return {**scores, "signatures": signatures}


def sentence_scores(
    hypotheses: Sequence[str], references: Sequence[str], language: str = ""
) -> dict[str, np.ndarray]:
    """Return BLEU and chrF of each sentence alone, for tables and for paired tests.

    Each is (N,), 0 to 100. BLEU of a sentence counts only the n-gram orders that it has
    (`effective_order`), so identical text of any length scores 100. The mean over sentences differs
    from the score of the whole part.
    """
    orders: dict[str, dict[str, Any]] = {"bleu": {"effective_order": True}, "chrf": {}}
    scores = {}
    for name, order in orders.items():
        metric = metric_class(name)(**metric_settings(name, bleu_tokens(language)), **order)
        pairs = zip(hypotheses, references, strict=True)
        values = [metric.sentence_score(text, [reference]).score for text, reference in pairs]
        scores[name] = np.minimum(values, _PERFECT)
    return scores
