"""The predictions of a trained translator: the command `attnlab translate`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from attnlab.errors import RequestError
from attnlab.tasks.predictor import Inputs, Predictor, Request, Setting
from attnlab.text.unknown import unknown_column

if TYPE_CHECKING:
    from attnlab.tasks.translation.sentences import SentenceTranslator, Translation
    from attnlab.views.records import Figure

    Translated = tuple[str, list[Translation]]  # a sentence, and the best translation first


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
        "attention",
        "Draw the attention map of one sentence: the mean over layers and heads.",
    )
    figure_settings = (
        Setting("layer", "Draw only layer N.", (1, None), metavar="N"),
        Setting("head", "Draw only head N.", (1, None), metavar="N"),
        Setting("all_heads", "Draw every head, also of self-attention.", bool),
    )
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
        self._translator.warn = lambda text: self.request.report(f"warning: {text}")

    def predict(self, inputs: Sequence[str]) -> Iterator[Translated]:
        """Yield each sentence with its translations, the best one first."""
        return zip(inputs, self._translator.translate(inputs), strict=True)

    def lines(self, result: Translated) -> list[str]:
        """Return a line per translation, or one empty line for an empty sentence."""
        source, translations = result
        if _is_empty(translations[0]):
            return [""]
        unknown = self._translator.unknown(source) if self._scores else []
        return ["\t".join(cells) + unknown_column(unknown) for cells in self._rows(translations)]

    def _rows(self, translations: Sequence[Translation]) -> Iterator[list[str]]:
        for rank, best in enumerate(translations, 1):
            ranks, scores = [str(rank)], [f"{best.score:.4f}"]
            yield [*ranks * (self._n_best > 1), *scores * self._scores, best.text]

    def content(self, result: Translated) -> dict[str, Any]:
        """Return the translations with their scores and tokens."""
        source, translations = result
        pieces = [self._translator.pieces(best) for best in translations]
        return {
            "source": source,
            "source_tokens": pieces[0][0],
            "unknown": self._translator.unknown(source),
            "translations": [
                {
                    "text": best.text,
                    "score": _number(best.score),
                    "log_probability": _number(best.log_probability),
                    "tokens": tokens,
                    "copied": best.copied,
                }
                for best, (_, tokens) in zip(translations, pieces, strict=True)
            ],
        }

    def draw(self, results: Sequence[Translated], **settings: Any) -> Figure:
        """Draw the attention maps of the best translation of one sentence; see `maps_figure`."""
        from attnlab.tasks.shown.run_figures import run_title
        from attnlab.tasks.translation.shown.maps import maps_figure

        ((_, (best, *_)),) = results
        if _is_empty(best):
            raise RequestError("--attention: the sentence has no words; give one with words.")
        looked = self._translator.maps(best)
        if not looked.maps:
            return None
        title = f"{run_title(self.trained.config.names)}: attention, epoch {self.trained.epoch}"
        return maps_figure(*looked, title=title, **settings)


def _is_empty(translation: Translation) -> bool:
    """Whether END is the only token of the sentence."""
    return len(translation.source) == 1


def _number(value: float) -> float | None:
    """Return a number for JSON; None for NaN and infinity, which JSON doesn't have."""
    return round(value, 6) if math.isfinite(value) else None
