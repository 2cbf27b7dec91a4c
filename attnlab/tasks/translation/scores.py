"""How close translations come to their references: BLEU and chrF by sacreBLEU.

Every score stands with the signature that says how it was counted: Post (2018), "A Call for Clarity
in Reporting BLEU Scores" (arXiv 1804.08771).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

_PERFECT = 100.0
_BLEU_TOKENS = "13a"
# Of languages that don't part words by spaces: sacreBLEU's own cut, or each character.
_OTHER_TOKENS = {
    **dict.fromkeys(["zh", "chi", "cmn", "wuu", "yue", "zho"], "zh"),
    **dict.fromkeys(
        ["ja", "jpn", "km", "khm", "lo", "lao", "my", "bur", "mya", "th", "tha"], "char"
    ),
}
_FEWEST = 4  # tokens of the longest n-grams that BLEU counts
NAMES = ("bleu", "chrf", "bleu_lc_tok")


def bleu_tokens(language: str) -> str:
    """How sacreBLEU cuts a language's text, by its code such as `de` or `zh-TW`."""
    return _OTHER_TOKENS.get(re.split("[-_]", language.lower())[0], _BLEU_TOKENS)


def metric_class(name: str) -> Any:
    """SacreBLEU's class, loaded when the first one is wanted."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    return CHRF if name == "chrf" else BLEU


def metric_settings(name: str, tokens: str = _BLEU_TOKENS) -> dict[str, Any]:
    """The settings of one of `NAMES`; `force` keeps it from writing advice to standard error."""
    if name == "chrf":
        return {}
    return {"tokenize": tokens, "force": True, "lowercase": name == "bleu_lc_tok"}


def counts_bleu(references: Sequence[str], language: str = "") -> bool:
    """Whether BLEU can be above 0: whether some reference has four tokens."""
    cut = metric_class("bleu")(**metric_settings("bleu", bleu_tokens(language))).tokenizer
    return any(len(cut(text).split()) >= _FEWEST for text in references)


def score(
    hypotheses: Sequence[str], references: Sequence[str], language: str = ""
) -> dict[str, Any]:
    """BLEU and chrF of translations against one reference each.

    `bleu_lc_tok` stands for the scores of Multi30k's literature, which are BLEU over tokens of text
    that was lower-cased and tokenised beforehand. It is sacreBLEU's BLEU with `lowercase` and the
    same tokens. Difference: that literature took the tokens of Moses, which also part apostrophes
    and typographic quotes, and unified punctuation first; on such text the two can differ by some
    tenths.

    Texts are detokenised; a hypothesis may be empty. `language` is their code, by which
    `bleu_tokens` says how they are cut. BLEU counts 4-grams over the whole part: where
    no reference has four tokens it is 0, even for identical text.

    Returns:
        JSON-ready, 0 to 100: `bleu`, sacreBLEU's with its defaults but for tokens (case counts);
        `chrf`, chrF2 (character 6-grams without spaces); `bleu_lc_tok`, see above. `signatures`:
        sacreBLEU's signature of each, by its name.
    """
    tokens = bleu_tokens(language)
    metrics = {name: metric_class(name)(**metric_settings(name, tokens)) for name in NAMES}
    scores: dict[str, Any] = {
        name: min(float(metric.corpus_score(hypotheses, [references]).score), _PERFECT)
        for name, metric in metrics.items()
    }
    signatures = {name: str(metric.get_signature()) for name, metric in metrics.items()}
    return {**scores, "signatures": signatures}


def bleu_of_all_references(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[str],
    language: str = "",
) -> tuple[float, int]:
    """BLEU that counts each source once, against every translation that it has.

    In a corpus with several translations of one source, a translation can be right and not be the
    one that a row asks for. Rows with one source have one hypothesis. Gives BLEU, 0 to 100, and the
    number of sources.
    """
    translated = dict(zip(sources, hypotheses, strict=True))
    known: dict[str, list[str]] = {source: [] for source in translated}
    for source, reference in zip(sources, references, strict=True):
        known[source].append(reference)
    most = max(map(len, known.values()))
    # sacreBLEU takes None for a reference that a sentence lacks.
    streams = [[each[n] if n < len(each) else None for each in known.values()] for n in range(most)]
    metric = metric_class("bleu")(**metric_settings("bleu", bleu_tokens(language)))
    bleu = metric.corpus_score(list(translated.values()), streams)
    return min(float(bleu.score), _PERFECT), len(known)


def sentence_scores(
    hypotheses: Sequence[str], references: Sequence[str], language: str = ""
) -> dict[str, np.ndarray]:
    """BLEU and chrF of each sentence by itself, for looking at and for paired tests.

    Each is (N,), 0 to 100. BLEU of a sentence counts only the n-gram orders that it has
    (`effective_order`), so identical text scores 100 however short. The mean over sentences is not
    the score of the whole part.
    """
    pairs = list(zip(hypotheses, references, strict=True))
    found = {}
    orders: dict[str, dict[str, Any]] = {"bleu": {"effective_order": True}, "chrf": {}}
    for name, order in orders.items():
        metric = metric_class(name)(**metric_settings(name, bleu_tokens(language)), **order)
        values = [metric.sentence_score(text, [reference]).score for text, reference in pairs]
        found[name] = np.minimum(values, _PERFECT)
    return found
