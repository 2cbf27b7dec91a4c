"""What translation states of itself."""

from __future__ import annotations

from attnlab.tasks.base import Kind, Metric, Verb

_HERE = "attnlab.tasks.translation"
_BOOTSTRAP = f"{_HERE}.bootstrap:item_test"

KIND = Kind(
    name="translation",
    item="translation",
    metrics=(
        Metric("bleu", "max", "BLEU", perfect=100, item_test=_BOOTSTRAP),
        Metric("chrf", "max", "chrF", perfect=100, item_test=_BOOTSTRAP),
        Metric("bleu_lc_tok", "max", "BLEU, lower-cased", perfect=100, item_test=_BOOTSTRAP),
        Metric("perplexity", "min", "perplexity"),
        Metric("loss", "min", "loss", in_tables=False),
        Metric("accuracy", "max", "accuracy", in_tables=False),
        Metric("precision", "max", "precision", in_tables=False),
        Metric("recall", "max", "recall", in_tables=False),
        Metric("error_rate", "min", "alignment error rate", in_tables=False),
    ),
    reported="bleu",
    learner=f"{_HERE}.learner:TranslationLearner",
    figures=f"{_HERE}.figures.run:translation_figures",
    served=f"{_HERE}.task:served_example",
    verbs={
        "translate": Verb(
            "sentences from arguments or standard input", f"{_HERE}.verbs.translate:command", True
        ),
        "data": Verb("list, count and download corpora", f"{_HERE}.verbs.data:command"),
        "plot positional-encoding": Verb(
            "sinusoidal positions made visible", f"{_HERE}.verbs.plot:positional_encoding"
        ),
        "plot embeddings": Verb(
            "maps of the vocabularies that a run learned", f"{_HERE}.verbs.plot:embeddings"
        ),
    },
    takes_data=True,
    # The Transformer is what multi-head attention was made for.
    architectures={"multi_head": "transformer"},
    evaluation=("beam",),
    bars=("train_loss", "val_loss", "val_bleu"),
)
