"""What masked words state of themselves."""

from __future__ import annotations

from operator import methodcaller

from attnlab.tasks.base import FROM_ONE, POSITIVE, SHARE, Kind, Metric, Verb

_HERE = "attnlab.tasks.masked_words"

KIND = Kind(
    name="masked_words",
    item="word",
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
    learner=f"{_HERE}.learner:MaskedWordLearner",
    figures=f"{_HERE}.figures.run:masked_word_figures",
    served=f"{_HERE}.task:served_example",
    verbs={"fill": Verb("the words for [MASK] in a text", f"{_HERE}.verbs.fill:command", True)},
    shelf=f"{_HERE}.verbs.data:SHELF",
    page={
        "Words": f"{_HERE}.page.words:word_parts",
        "Attention": f"{_HERE}.page.attention:attention_parts",
    },
    takes_data=True,
    preface=methodcaller("preface"),
    together=8,
    encodes=True,
    bars=("train_loss", "val_loss", "val_accuracy"),
    monitored="val_loss",
    text_columns=("text", "read", "word", "prediction", "frequency", "neighbours"),
    tries={"": 'attnlab fill {run} "The [MASK] ..."; attention={other}, attnlab compare'},
)
