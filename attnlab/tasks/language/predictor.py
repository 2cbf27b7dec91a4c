"""The predictions of trained language models: the commands `attnlab generate` and `fill`."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attnlab.errors import RequestError
from attnlab.tasks.predictor import Inputs, Predictor, Request, Setting

if TYPE_CHECKING:
    from attnlab.tasks.language.text.vocabulary import Vocabulary
    from attnlab.views.records import Figure

_SHOWN = 48  # most tokens on a map of attention
_WINDOW = 32  # tokens before a new one that can change how it is written
_LONGEST = 4  # tokens of one byte that a character has at most
_INCOMPLETE = "\ufffd"


class GeneratePredictor(Predictor):
    """Continue each PROMPT, or standard input line by line, with a trained RUN.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`. Prints the prompt
    with its continuation, to a terminal while it is made. Without a prompt, in a terminal, the text
    starts with a new line. A model reads at most as many tokens as in training; for a longer text
    it then reads the last half of them again, unless its state has a constant size. The same seed
    gives the same text. --json prints one object per prompt.
    """

    takes = Inputs("PROMPT", "[PROMPT]...", files="A file that is one prompt; may be repeated.")
    settings = (
        Setting("tokens", "Tokens to generate.", (1, 1_000_000), 200, metavar="N"),
        Setting(
            "temperature",
            "Divide the logits by T; 0 takes the most probable token.",
            float,
            1.0,
            metavar="T",
        ),
        Setting("top_k", "Draw from the K most probable tokens only.", (1, None), metavar="K"),
        Setting(
            "top_p",
            "Draw from the fewest most probable tokens that have probability P together.",
            float,
            metavar="P",
        ),
        Setting("seed", "Determines the random numbers.", (0, None), 0, metavar="N"),
        Setting("number", "Continuations per prompt.", (1, 1000), 1, metavar="N"),
        Setting("stop", "End a text before TEXT; may be repeated.", metavar="TEXT", repeated=True),
    )
    figure = Setting("attention", "Draw where each token of one text looks, by layer and head.")
    noun = "prompt"

    def __init__(
        self,
        request: Request,
        *,
        tokens: int,
        seed: int,
        temperature: float,
        top_k: int | None,
        top_p: float | None,
        number: int,
        stop: Sequence[str],
    ) -> None:
        # Temperatures below 1e-6 are lost in rounding.
        if not (temperature == 0 or 1e-6 <= temperature < math.inf):
            raise RequestError(f"--temperature: expected 0, or 1e-6 or more, got {temperature}.")
        if top_p is not None and not 0 < top_p <= 1:
            raise RequestError(f"--top-p: expected more than 0 and at most 1, got {top_p}.")
        if temperature == 0 and (top_k or top_p or number > 1):
            raise RequestError(
                "--temperature=0: takes the most probable token, so leave out --top-k, --top-p and "
                "--number."
            )
        if "" in stop:
            raise RequestError("--stop: expected a text, got none.")
        self._sampling = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
        self._size = {"texts": number, "tokens": tokens, "seed": seed}
        self._stops = stop
        super().__init__(request)

    def read(self) -> Sequence[str]:
        """Return the prompts; an empty one if there is none and nobody can have piped one."""
        prompts = super().read()
        at_terminal = sys.stdin is not None and sys.stdin.isatty()
        return [""] if not prompts and at_terminal else prompts

    def predict(self, inputs: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield each prompt with its continuations."""
        from attnlab.tasks.language.generation import Generator

        vocabulary, longest = self.task.vocabulary, self.model.longest
        generator = Generator(self.model, **self._sampling)
        for prompt in inputs:
            tokens = vocabulary.encode(prompt)
            if longest is not None and len(tokens) > longest:
                self.request.report(
                    f"warning: the model reads {longest:,} tokens, the last of the {len(tokens):,} "
                    "of this prompt."
                )
            writers = [Writer(vocabulary, tokens, self._stops) for _ in range(self._size["texts"])]
            self._show(prompt)
            for step in generator.continued(tokens, **self._size):
                pieces = [writer.add(int(t)) for writer, t in zip(writers, step, strict=True)]
                self._show(pieces[0])
                if all(writer.stopped for writer in writers):
                    break
            self._show([writer.end() for writer in writers][0])
            texts = [
                {"text": w.text, "stopped": w.stopped, "tokens": vocabulary.labels(w.tokens)}
                for w in writers
            ]
            yield {"prompt": prompt, "texts": texts}

    def _show(self, piece: str) -> None:
        """Write a piece of a prompt's only text to a terminal."""
        if self.request.write is not None and self._size["texts"] == 1:
            self.request.write(piece)

    def lines(self, result: Mapping[str, Any]) -> Iterator[str]:
        """Yield each text; of a text that is in the terminal already only the line break."""
        texts = [result["prompt"] + text["text"] for text in result["texts"]]
        for number, text in enumerate(texts, 1):
            if len(texts) > 1:
                yield f"--- {number} ---"
            yield text if self.request.write is None or len(texts) > 1 else ""

    def draw(self, results: Sequence[Mapping[str, Any]], **settings: Any) -> Figure | None:
        """Draw the attention of all layers on the end of the first text."""
        import numpy as np

        from attnlab.attention.head_measures import recorded
        from attnlab.tasks.language.shown import text_figure
        from attnlab.tasks.shown.run_figures import run_title

        vocabulary, (result,) = self.task.vocabulary, results
        text = result["prompt"] + result["texts"][0]["text"]
        tokens = vocabulary.encode(text)[-min(_SHOWN, self.task.context) :]
        with recorded(self.model) as layers:
            self.model(np.array([tokens], np.int32))
        if not layers:
            return None
        weights = np.stack([layer.weights[0] for layer in layers.values()])
        title = f"{run_title(self.trained.config.names)}: attention, epoch {self.trained.epoch}"
        return text_figure(weights, vocabulary.labels(tokens), title)


class Writer:
    """Writes the continuation of a prompt as it grows.

    A character of several tokens is written with the last one. What might be the beginning of a
    stop is held back until that is decided.

    Args:
        vocabulary: converts tokens to text.
        prompt: the tokens before; with words, they decide whether a space follows.
        stops: texts that end the continuation, none of them empty; none of them is written.

    Attributes:
        text: what is written so far.
        tokens: the tokens so far, also those of a stop.
        stopped: whether a stop has been found; further tokens are ignored then.
    """

    def __init__(
        self, vocabulary: Vocabulary, prompt: Sequence[int], stops: Sequence[str] = ()
    ) -> None:
        self._vocabulary, self._stops = vocabulary, stops
        self._window, self._new = list(prompt[-_WINDOW:]), list[int]()
        self._held = ""  # decoded, not yet written
        self.text, self.tokens, self.stopped = "", list[int](), False

    def add(self, token: int) -> str:
        """Add a token and return the text that can be written now."""
        if self.stopped:
            return ""
        self.tokens.append(token)
        self._new.append(token)
        text = self._decoded()
        if text.endswith(_INCOMPLETE) and len(self._new) < _LONGEST:
            return ""
        self._held += text
        self._window, self._new = [*self._window, *self._new][-_WINDOW:], []
        return self._write(last=False)

    def end(self) -> str:
        """Return the text that was held back; no token follows."""
        if not self.stopped:
            self._held += self._decoded()
        return self._write(last=True)

    def _decoded(self) -> str:
        """Return the text of the new tokens."""
        decode = self._vocabulary.decode
        return decode([*self._window, *self._new])[len(decode(self._window)) :]

    def _write(self, last: bool) -> str:
        """Move the text up to a stop, or to what may be the start of one, from held to written."""
        held, end = self._held, len(self._held)
        if places := [place for stop in self._stops if (place := held.find(stop)) >= 0]:
            self.stopped, end = True, min(places)
        elif not last:
            starts = (stop[:size] for stop in self._stops for size in range(1, len(stop)))
            end -= max((len(start) for start in starts if held.endswith(start)), default=0)
        self._held = "" if self.stopped else held[end:]
        self.text += held[:end]
        return held[:end]


class FillPredictor(Predictor):
    """Fill in each [MASK] of TEXTs, files, or standard input line by line, with a trained RUN.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`. Prints one filled-in
    text per line. --top prints one word per line instead, the best one first: the number of its
    text and of its mask, both from 1, its probability, and the word, with tabs between the columns.
    --json prints one object per line.
    """

    takes = Inputs("TEXT", "[TEXT]...", files="A file that is one text; may be repeated.")
    settings = (
        Setting(
            "top",
            "Print the K best words for each mask instead of the text.",
            (1, 1000),
            metavar="K",
        ),
    )

    def __init__(self, request: Request, *, top: int | None) -> None:
        super().__init__(request)
        self._top, self._done = top, 0

    def check(self, text: str, where: str) -> None:
        """Refuse a text without a mask."""
        from attnlab.tasks.language.text.masking import check_text

        check_text(text, where)

    def predict(self, inputs: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the filled-in text and the words for each mask; a blank line stays blank."""
        from attnlab.tasks.language.text.masking import filled_in

        for text in inputs:
            self._done += 1
            where = "TEXT" if self.inputs else "standard input, line"
            guesses = []
            if text.strip():
                guesses = self.task.fill(self.model, text, self._top or 1, f"{where} {self._done}")
            self.warn([text], self.task.width - 2)
            masks = [
                [{"word": word, "probability": round(share, 6)} for word, share in words]
                for words in guesses
            ]
            filled = filled_in(text, guesses)
            yield {"text": text, "filled": filled, "masks": masks, "unknown": self.unknown(text)}

    def lines(self, result: Mapping[str, Any]) -> Iterator[str]:
        """Yield the filled-in text, or a line per word."""
        if not self._top:
            yield " ".join(result["filled"].split())
            return
        for mask, words in enumerate(result["masks"], 1):
            for word in words:
                yield f"{self._done}\t{mask}\t{word['probability']:.4f}\t{word['word']}"
