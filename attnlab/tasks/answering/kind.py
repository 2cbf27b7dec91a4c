"""What answering states of itself."""

from __future__ import annotations

from collections.abc import Mapping
from operator import methodcaller
from typing import Any

from attnlab.tasks.base import PER_CENT, POSITIVE, Kind, Metric, Verb

_HERE = "attnlab.tasks.answering"
_MCNEMAR = f"{_HERE}.item_test:item_test"


def resolved_config(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """A configuration with the attention of the encoder, if it has one."""
    if document.get("model", {}).get("name") != "pretrained":
        return document
    from attnlab.encoders.opening import as_the_encoder

    return as_the_encoder(document)


KIND = Kind(
    name="answering",
    item="answer",
    metrics=(
        Metric(
            "exact_match", "max", "exact match", perfect=100, item_test=_MCNEMAR, bounds=PER_CENT
        ),
        Metric("f1", "max", "F1", perfect=100, item_test=_MCNEMAR, bounds=PER_CENT),
        Metric("loss", "min", "loss", in_tables=False, bounds=POSITIVE),
    ),
    reported="exact_match",
    learner=f"{_HERE}.learner:AnsweringLearner",
    figures=f"{_HERE}.figures.run:answering_figures",
    served=f"{_HERE}.task:served_example",
    verbs={
        "answer": Verb("questions about a text", f"{_HERE}.verbs.answer:command", True),
    },
    shelf=f"{_HERE}.verbs.data:SHELF",
    page={
        "Answers": f"{_HERE}.page.answers:answer_parts",
        "Attention": f"{_HERE}.page.attention:attention_parts",
    },
    takes_data=True,
    preface=methodcaller("preface"),
    together=8,
    encodes=True,
    bars=("train_loss", "val_loss", "val_f1"),
    monitored="val_f1",
    text_columns=(
        *("id", "question", "group", "answer", "prediction"),
        *("position", "sentence", "phrase"),  # baselines
    ),
    resolved=resolved_config,
    tries={
        "pretrained": 'attnlab answer {run} "..." --text FILE; model.start=drawn, attnlab compare',
        "": 'attnlab answer {run} "..." --text FILE; attention={other}, attnlab compare',
    },
)
