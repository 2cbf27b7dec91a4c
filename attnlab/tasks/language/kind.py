"""Declare the kind `language`."""

from __future__ import annotations

from attnlab.tasks.declaration import (
    FROM_ONE,
    POSITIVE,
    SHARE,
    Kind,
    KindData,
    KindModels,
    Metric,
    Predictions,
    Scoring,
)

_HERE = "attnlab.tasks.language"
_WINDOWS, _ANSWERS = f"{_HERE}.item_test:windows_test", f"{_HERE}.item_test:answers_test"

KIND = Kind(
    name="language",
    models=KindModels(
        learner=f"{_HERE}.learner:LanguageLearner",
        together=8,
        classes={
            "transformer": f"{_HERE}.models.transformer:TransformerLanguageModel",
            "rnn": f"{_HERE}.models.recurrent:RecurrentLanguageModel",
        },
    ),
    scoring=Scoring(
        metrics=(
            Metric(
                "bits_per_byte",
                "min",
                "bits per byte",
                perfect=0,
                item_test=_WINDOWS,
                bounds=POSITIVE,
            ),
            Metric("loss", "min", "loss", item_test=_WINDOWS, bounds=POSITIVE),
            Metric("perplexity", "min", "perplexity", in_tables=False, bounds=FROM_ONE),
            Metric("word_perplexity", "min", "perplexity per word", bounds=FROM_ONE),
            Metric("accuracy", "max", "accuracy", perfect=1, item_test=_ANSWERS, bounds=SHARE),
            Metric("whole_rows", "max", "rows without a fault", bounds=SHARE),
            Metric(
                "accuracy_longer",
                "max",
                "accuracy on longer rows",
                item_test=f"{_HERE}.item_test:longer_answers_test",
                bounds=SHARE,
            ),
            Metric("whole_rows_longer", "max", "longer rows without a fault", bounds=SHARE),
        ),
        reported="bits_per_byte",
        monitored="val_loss",
        bars=("train_loss", "val_loss", "val_bits_per_byte", "val_accuracy"),
        evaluation={"--stride": "stride"},
        text_columns=("text", "answer", "prediction"),
    ),
    predictions=Predictions(
        item="text",
        command="generate",
        summary="continue a text with a language model",
        predictor=f"{_HERE}.predictor:GeneratePredictor",
        example=f"{_HERE}.task:served_example",
        exported=f"{_HERE}.models.exported:exported",
        next_steps={
            "accuracy": "attnlab report {run}, or train with attention={other}, then attnlab "
            "compare",
            "": "attnlab generate {run}, or train with attention={other}, then attnlab compare",
        },
    ),
    data=KindData(
        takes_corpus=True,
        catalog=f"{_HERE}.catalog:CATALOG",
    ),
    views=f"{_HERE}.shown:VIEWS",
)
