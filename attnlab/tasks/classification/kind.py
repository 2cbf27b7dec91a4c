"""What classification states of itself."""

from __future__ import annotations

from collections.abc import Mapping
from operator import methodcaller
from typing import Any

from attnlab.config.options import auto_value
from attnlab.tasks.base import Kind, Metric, Verb

_HERE = "attnlab.tasks.classification"
_ENCODED = ("classify", "digits", "images")  # tasks whose early runs knew no encoder
_MCNEMAR = f"{_HERE}.item_test:item_test"


def resolved_config(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """A run's configuration with what earlier versions didn't have, and an encoder's attention.

    What is read behind a look is the same with every mechanism that has a query: Luong's
    `attentional_state` is part of a decoder, and stays at chance where `concat` learns.
    """
    task, model = document.get("task", {}), document.get("model", {})
    if task.get("name") in _ENCODED:
        document = {**document, "task": {"encoder": None, **task}}
    if model.get("readout") == "auto":
        mechanism = document.get("attention", {}).get("name")
        if auto_value(mechanism, "model.readout", "concat") == "attentional_state":
            document = {**document, "model": {**model, "readout": "concat"}}
    if model.get("name") != "pretrained":
        return document
    from attnlab.encoders.opening import as_the_encoder

    return as_the_encoder(document)


KIND = Kind(
    name="classification",
    item="class",
    metrics=(
        Metric("accuracy", "max", "accuracy", perfect=1, item_test=_MCNEMAR),
        Metric("macro_f1", "max", "macro F1", perfect=1, item_test=_MCNEMAR),
        Metric("log_loss", "min", "log loss", perfect=0),
        Metric("brier", "min", "Brier score", perfect=0),
        Metric("calibration_error", "min", "calibration error"),
        Metric("loss", "min", "loss", in_tables=False),
    ),
    reported="accuracy",
    learner=f"{_HERE}.either:make_learner",
    figures=f"{_HERE}.figures.run:classification_figures",
    served=f"{_HERE}.either:served_example",
    verbs={
        "classify": Verb(
            "the classes of texts or images, by a trained run",
            f"{_HERE}.verbs.classify:command",
            True,
        ),
        "plot vocabulary": Verb(
            "which words speak for which class", f"{_HERE}.verbs.plot:vocabulary"
        ),
    },
    shelf=f"{_HERE}.verbs.data:SHELF",
    page={
        "Test items": f"{_HERE}.page.items:item_parts",
        "Attention": f"{_HERE}.either:attention_parts",
    },
    takes_data=True,
    together=8,
    bars=("train_loss", "val_loss", "val_accuracy"),
    monitored="val_loss",
    text_columns=(
        *("text", "image", "label", "prediction", "group"),
        *("majority", "word_counts", "logistic_regression", "nearest"),  # baselines
    ),
    preface=methodcaller("preface"),
    resolved=resolved_config,
    tries={
        "pretrained": "attnlab classify {run} ..., or model.start=drawn and attnlab compare",
        "": 'attnlab classify {run} "...", or attention={other} and attnlab compare',
        **dict.fromkeys(
            ("digits", "images"),
            "attnlab classify {run} FILE.png, or attention={other} and attnlab compare",
        ),
    },
)
