"""The declaration of translation as a kind of task."""

from __future__ import annotations

from attnlab.tasks.kinds import (
    FROM_ONE,
    PER_CENT,
    POSITIVE,
    SHARE,
    Kind,
    KindModels,
    Metric,
    Predictions,
    Scoring,
    VocabularyMap,
)

_HERE = "attnlab.tasks.translation"
_BOOTSTRAP = f"{_HERE}.scores:item_test"

KIND = Kind(
    name="translation",
    models=KindModels(
        learner=f"{_HERE}.learner:TranslationLearner",
        # The Transformer is what multi-head attention was made for.
    ),
    scoring=Scoring(
        metrics=(
            Metric("bleu", "max", "BLEU", item_test=_BOOTSTRAP, bounds=PER_CENT),
            Metric("chrf", "max", "chrF", item_test=_BOOTSTRAP, bounds=PER_CENT),
            Metric("perplexity", "min", "perplexity", bounds=FROM_ONE),
            Metric("loss", "min", "loss", in_tables=False, bounds=POSITIVE),
            Metric("accuracy", "max", "accuracy", in_tables=False, bounds=SHARE),
            Metric("error_rate", "min", "alignment error rate", in_tables=False, bounds=SHARE),
            Metric(
                "shifted_error_rate",
                "min",
                "alignment error rate, next word",
                in_tables=False,
                bounds=SHARE,
            ),
        ),
        reported="bleu",
        monitored="val_bleu",
        bars=("train_loss", "val_loss", "val_bleu"),
        parts={
            "compositions": "sentences with more clauses, adjectives or owners than any in train"
        },
        evaluation={"--beam": "beam", "--files": "files"},
        text_columns=("source", "reference", "hypothesis"),
    ),
    predictions=Predictions(
        item="translation",
        command="translate",
        predictor=f"{_HERE}.predictor:TranslationPredictor",
        exported=f"{_HERE}.exported:exported",
        settings=("beam",),
        example=('"..."',),
    ),
    takes_corpus=True,
    views=f"{_HERE}.shown:VIEWS",
    vocabulary_map=VocabularyMap(
        name="embeddings",
        help="Draw the words of a translation RUN as a map per language (PCA of the embeddings).",
    ),
)
