"""Declare the kind `masked_words`."""

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

_HERE = "attnlab.tasks.masked_words"

KIND = Kind(
    name="masked_words",
    models=KindModels(
        learner=f"{_HERE}.learner:MaskedWordLearner",
        together=8,
    ),
    scoring=Scoring(
        metrics=(
            Metric(
                "accuracy",
                "max",
                "accuracy",
                perfect=1,
                item_test=f"{_HERE}.item_test:item_test",
                bounds=SHARE,
            ),
            Metric("perplexity", "min", "perplexity", perfect=1, bounds=FROM_ONE),
            Metric("follows", "max", "next sentence", in_tables=False, bounds=SHARE),
            Metric("loss", "min", "loss", in_tables=False, bounds=POSITIVE),
        ),
        reported="accuracy",
        monitored="val_loss",
        bars=("train_loss", "val_loss", "val_accuracy"),
        text_columns=("text", "read", "word", "prediction", "frequency", "neighbours"),
    ),
    predictions=Predictions(
        item="word",
        command="fill",
        summary="the words for [MASK] in a text",
        predictor=f"{_HERE}.predictor:FillPredictor",
        example=f"{_HERE}.task:served_example",
        exported=f"{_HERE}.models.exported:exported",
        vectors=True,
        next_steps={
            "": 'attnlab fill {run} "The [MASK] ...", or train with attention={other}, then '
            "attnlab compare"
        },
    ),
    data=KindData(
        takes_corpus=True,
        catalog="attnlab.tasks.texts.corpus_statistics:CATALOG",
    ),
    views=f"{_HERE}.shown:VIEWS",
)
