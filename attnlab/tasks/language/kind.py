"""Declare the kinds `language` and `masked_words`: next tokens of a text, and missing ones."""

from __future__ import annotations

from attnlab.tasks.kinds import (
    FROM_ONE,
    POSITIVE,
    SHARE,
    Kind,
    KindModels,
    Metric,
    Predictions,
    Scoring,
)

_HERE = "attnlab.tasks.language"
_TEST, _WORDS_TEST = f"{_HERE}.report:item_test", f"{_HERE}.report:words_test"
_TEXT_COLUMNS = ("text", "answer", "prediction", "frequency", "neighbours")

KIND = Kind(
    name="language",
    models=KindModels(
        learner=f"{_HERE}.learner:LanguageLearner",
        together=8,
        classes={
            "transformer": f"{_HERE}.models.model:TransformerLanguageModel",
            "rnn": f"{_HERE}.models.model:RecurrentLanguageModel",
        },
    ),
    scoring=Scoring(
        metrics=(
            Metric("bits_per_byte", "min", "bits per byte", item_test=_TEST, bounds=POSITIVE),
            Metric("loss", "min", "loss", item_test=_TEST, bounds=POSITIVE),
            Metric("perplexity", "min", "perplexity", item_test=_TEST, bounds=FROM_ONE),
            Metric("accuracy", "max", "accuracy", item_test=_TEST, bounds=SHARE),
            Metric("whole_rows", "max", "rows without a fault", bounds=SHARE),
            Metric(
                "accuracy_longer", "max", "accuracy on longer rows", item_test=_TEST, bounds=SHARE
            ),
            Metric("whole_rows_longer", "max", "longer rows without a fault", bounds=SHARE),
        ),
        reported="bits_per_byte",
        monitored="val_loss",
        bars=("train_loss", "val_loss", "val_bits_per_byte", "val_accuracy"),
        text_columns=_TEXT_COLUMNS,
    ),
    predictions=Predictions(
        item="text",
        command="generate",
        predictor=f"{_HERE}.predictor:GeneratePredictor",
        exported=f"{_HERE}.models.exported:exported",
    ),
    takes_corpus=True,
    views=f"{_HERE}.shown:VIEWS",
)

MASKED_WORDS = Kind(
    name="masked_words",
    models=KindModels(
        learner=f"{_HERE}.learner:MaskedWordLearner",
        together=8,
        classes={"transformer": f"{_HERE}.models.masked:MaskedWordModel"},
    ),
    scoring=Scoring(
        metrics=(
            Metric("accuracy", "max", "accuracy", item_test=_WORDS_TEST, bounds=SHARE),
            Metric("perplexity", "min", "perplexity", bounds=FROM_ONE),
            Metric("loss", "min", "loss", in_tables=False, bounds=POSITIVE),
        ),
        reported="accuracy",
        monitored="val_loss",
        bars=("train_loss", "val_loss", "val_accuracy"),
        text_columns=_TEXT_COLUMNS,
    ),
    predictions=Predictions(
        item="word",
        command="fill",
        predictor=f"{_HERE}.predictor:FillPredictor",
        example=('"The [MASK] ..."',),
    ),
    takes_corpus=True,
    views=f"{_HERE}.shown:VIEWS",
)
