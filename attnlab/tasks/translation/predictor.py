"""The predictions of a trained translator: the command `attnlab translate`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attnlab.errors import RequestError
from attnlab.tasks.predictor import Explored, Inputs, Predictor, Request, Setting
from attnlab.text.vocabulary import unknown_column

if TYPE_CHECKING:
    from attnlab.tasks.translation.sentences import SentenceTranslator, Translation
    from attnlab.views.records import Figure


class TranslationPredictor(Predictor):
    """Translate SENTENCEs, or standard input line by line, with a trained RUN.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`. Prints one
    translation per line, and an empty line for an empty line. --n-best above 1 puts the rank
    before the translation, --scores the score, with tabs between the columns. A score is the
    log-probability divided by the length penalty; 0 is the best possible score. With --scores a
    last column names the words that the model doesn't know. --json prints one object per line.
    """

    takes = Inputs("SENTENCE", "[SENTENCE]...")
    settings = (
        Setting("beam", "Beam size; 1 is greedy.  [default: the run's task.beam]", (1, 100)),
        Setting("n_best", "Translations per sentence, at most --beam.", (1, 100), default=1),
        Setting("scores", "Also print the score of each translation.", bool),
    )
    figure = Setting(
        "attention", "Draw the attention map of one sentence: the mean over layers and heads."
    )
    figure_settings = (Setting("all_heads", "Draw every head.", bool),)
    together = 1024
    noun = "sentence"
    _translator: SentenceTranslator

    def __init__(self, request: Request, *, beam: int | None, n_best: int, scores: bool) -> None:
        self._beam, self._n_best, self._scores = beam, n_best, scores
        hypotheses = beam or request.run.read_config()["task"].get("beam", 1)
        if n_best > hypotheses:
            raise RequestError(
                f"--n-best={n_best}: must be at most the number of hypotheses, --beam={hypotheses}."
            )
        super().__init__(request)

    def use(self, trained: Any) -> None:
        """Create the run's translator; see `Predictor`."""
        super().use(trained)
        self._translator = self.task.translator(self.model, beam=self._beam, n_best=self._n_best)

    def predict(self, inputs: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield each sentence with its translations, the best one first."""
        for source, translations in zip(inputs, self._translate(inputs), strict=True):
            pieces = [self._translator.pieces(translation) for translation in translations]
            yield {
                "source": source,
                "source_tokens": pieces[0][0][:-1],
                "unknown": self.task.unknown(source),
                "translations": [
                    {
                        "text": translation.text,
                        "score": _number(translation.score),
                        "log_probability": _number(translation.log_probability),
                        "tokens": tokens[:-1],
                        "copied": translation.copied,
                    }
                    for translation, (_, tokens) in zip(translations, pieces, strict=True)
                ],
            }

    def _translate(self, sentences: Sequence[str]) -> list[list[Translation]]:
        self.warn(sentences, self._translator.longest - 1)  # END is one of the tokens
        return self._translator.translate(sentences)

    def explore(self, entries: Mapping[str, Any]) -> Explored:
        """Return the best translation of a sentence; see `Predictor`."""
        import numpy as np

        from attnlab.text.tokenizers import END, START

        ((best, *_),) = self._translate([entries["text"]])
        if len(best.source) == 1:  # only END
            return Explored(best.text)
        pieces, tokens = self.task.tokenizers[1].pieces, [START, *best.target]
        source, translation = self._translator.pieces(best)
        return Explored(
            best.text,
            (best.source[None], np.array([tokens], np.int32)),
            np.array([[*best.target, END]]),
            lambda numbers: [pieces([number])[0] for number in numbers],
            {"source": source, "translation": translation, "read": pieces(tokens)},
        )

    def sides(self, explored: Explored, layer: str, shape: tuple[int, int]) -> tuple[str, str]:
        """Return the sides of a layer: sentence and translation may have the same length."""
        if layer.startswith("encoder"):
            return "source", "source"
        return "translation", "read" if layer.endswith("self_attention") else "source"

    def lines(self, result: Mapping[str, Any]) -> Iterator[str]:
        """Yield a line per translation, or one empty line for an empty sentence."""
        if not result["source_tokens"]:
            yield ""
            return
        for rank, translation in enumerate(result["translations"], 1):
            score = translation["score"]
            scores = ["-" if score is None else f"{score:.4f}"] * self._scores
            unknown = unknown_column(result["unknown"]) if self._scores else ""
            ranks = [str(rank)] * (self._n_best > 1)
            yield "\t".join([*ranks, *scores, translation["text"]]) + unknown

    def draw(self, results: Sequence[Mapping[str, Any]], **settings: Any) -> Figure | None:
        """Draw the attention maps of the best translation of one sentence; see `maps_figure`."""
        from attnlab.tasks.shown.run_figures import run_title
        from attnlab.tasks.translation.shown import maps_figure

        (result,) = results
        if not result["source_tokens"]:
            raise RequestError("--attention: the sentence has no words; give one with words.")
        ((best, *_),) = self._translator.translate([result["source"]])
        weights, labels = self._translator.weights(best), self._translator.pieces(best)
        title = f"{run_title(self.trained.config.names)}: attention, epoch {self.trained.epoch}"
        return None if weights is None else maps_figure(weights, *labels, title=title, **settings)


def _number(value: float) -> float | None:
    """Return a number for JSON, which has neither NaN nor infinity."""
    return round(value, 6) if math.isfinite(value) else None
