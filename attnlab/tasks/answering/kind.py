"""Declare the kind `answering`."""

from __future__ import annotations

from typing import Any

from attnlab.tasks.kinds import (
    PER_CENT,
    POSITIVE,
    Kind,
    KindModels,
    Metric,
    Predictions,
    Scoring,
)

_HERE = "attnlab.tasks.answering"
_PER_QUESTION: Any = {"item_test": f"{_HERE}.report:item_test", "bounds": PER_CENT}

KIND = Kind(
    name="answering",
    models=KindModels(
        learner=f"{_HERE}.learner:AnsweringLearner",
        together=8,
        classes={
            "rnn": f"{_HERE}.models:RecurrentReader",
            "transformer": f"{_HERE}.models:TransformerReader",
            "pretrained": f"{_HERE}.models:PretrainedReader",
        },
    ),
    scoring=Scoring(
        metrics=(
            Metric("exact_match", "max", "exact match", **_PER_QUESTION),
            Metric("f1", "max", "F1", **_PER_QUESTION),
            Metric("loss", "min", "loss", in_tables=False, bounds=POSITIVE),
        ),
        reported="exact_match",
        monitored="val_f1",
        bars=("train_loss", "val_loss", "val_f1"),
        text_columns=(
            *("id", "question", "answer", "prediction"),
            *("sentence", "phrase"),  # baselines
        ),
    ),
    predictions=Predictions(
        item="answer",
        command="answer",
        predictor=f"{_HERE}.predictor:AnswerPredictor",
        exported=f"{_HERE}.exported:exported",
        example=('"..."', "--text FILE"),
    ),
    takes_corpus=True,
    views=f"{_HERE}.shown:VIEWS",
)
