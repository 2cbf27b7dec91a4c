"""The declaration of classification as a kind of task."""

from __future__ import annotations

from attnlab.tasks.kinds import (
    POSITIVE,
    SHARE,
    Kind,
    KindModels,
    Metric,
    Predictions,
    Scoring,
    VocabularyMap,
)

_HERE = "attnlab.tasks.classification"
_ITEM_TEST = f"{_HERE}.report:item_test"

KIND = Kind(
    name="classification",
    models=KindModels(
        learner=f"{_HERE}.learner:ClassificationLearner",
        together=8,
        classes={
            "embeddings": f"{_HERE}.models:EmbeddingsClassifier",
            "rnn": f"{_HERE}.models:RecurrentClassifier",
            "transformer": f"{_HERE}.models:TransformerClassifier",
            "pretrained": f"{_HERE}.models:PretrainedClassifier",
        },
    ),
    scoring=Scoring(
        metrics=(
            Metric("accuracy", "max", "accuracy", item_test=_ITEM_TEST, bounds=SHARE),
            Metric("macro_f1", "max", "macro F1", bounds=SHARE),
            Metric("log_loss", "min", "log loss", bounds=POSITIVE),
            Metric("loss", "min", "loss", in_tables=False, bounds=POSITIVE),
        ),
        reported="accuracy",
        monitored="val_loss",
        bars=("train_loss", "val_loss", "val_accuracy"),
        text_columns=(
            *("text", "image", "label", "prediction", "group"),
            *("majority", "word_counts", "logistic_regression"),  # baselines
        ),
    ),
    predictions=Predictions(
        item="class",
        command="classify",
        predictor=f"{_HERE}.predictor:ClassPredictor",
        exported=f"{_HERE}.exported:exported",
        example=("...",),
    ),
    takes_corpus=True,
    views=f"{_HERE}.shown:VIEWS",
    vocabulary_map=VocabularyMap(
        name="vocabulary",
        help="Draw the words of a RUN that classifies texts as a map (PCA of the embeddings). A "
        "word has the colour of the class that it favours; a grey word favours none.",
        fits=f"{_HERE}.base:has_texts",
    ),
)
