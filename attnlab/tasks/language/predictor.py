"""The predictions of trained language models: the commands `attnlab generate` and `fill`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from attnlab.errors import RequestError
from attnlab.tasks.predictor import Explored, Inputs, Predictor, Request, Setting

if TYPE_CHECKING:
    from attnlab.views.records import Figure

_NEXT = 20  # most tokens of a continuation that is explored


class GeneratePredictor(Predictor):
    """Continue each PROMPT, or standard input line by line, with a trained RUN.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`. Prints the prompt
    with its continuation; an empty prompt starts a new line. The same seed gives the same text.
    --json prints one object per prompt.
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
        number: int,
        stop: Sequence[str],
        temperature: float,
        top_p: float | None,
        top_k: int | None,
    ) -> None:
        # Temperatures below 1e-6 are lost in rounding.
        if not (temperature == 0 or 1e-6 <= temperature < math.inf):
            raise RequestError(f"--temperature: expected 0, or 1e-6 or more, got {temperature}.")
        if top_p is not None and not 0 < top_p <= 1:
            raise RequestError(f"--top-p: expected more than 0 and at most 1, got {top_p}.")
        self._sampling = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
        self._size = {"texts": number, "tokens": tokens, "seed": seed}
        self._stops = stop
        super().__init__(request)

    def predict(self, inputs: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield each prompt with its continuations."""
        import numpy as np

        from attnlab.tasks.language.generation import Generator

        vocabulary, longest = self.task.vocabulary, self.model.longest
        generator = Generator(self.model, **self._sampling)
        for prompt in inputs:
            tokens = self._encode(prompt, longest)
            drawn = np.stack([*generator.continue_text(tokens, **self._size)], axis=1).tolist()
            texts = []
            for new in drawn:
                text = vocabulary.decode([*tokens, *new])[len(vocabulary.decode(tokens)) :]
                places = [place for stop in self._stops if (place := text.find(stop)) >= 0]
                text = text[: min(places, default=None)]
                labels = vocabulary.labels(new)
                texts.append({"text": text, "stopped": bool(places), "tokens": labels})
            yield {"prompt": prompt, "texts": texts}

    def _encode(self, prompt: str, most: int | None) -> list[int]:
        """Return the tokens of a prompt, with a warning if the model reads only the last `most`."""
        tokens = self.task.vocabulary.encode(prompt)
        if most is not None and len(tokens) > most:
            self.request.report(
                f"warning: the model reads {most:,} tokens, the last of the {len(tokens):,} of "
                "this prompt."
            )
        return tokens

    def use(self, trained: Any) -> None:
        """Create the generator of `explore`; see `Predictor`."""
        from attnlab.tasks.language.generation import Generator

        super().use(trained)
        self._greedy = Generator(self.model, temperature=0)

    def starts(self) -> Mapping[str, Any]:
        """Return a prompt that the vocabulary has."""
        vocabulary, text = self.task.vocabulary, self.task.served[0]
        try:
            vocabulary.encode(text)
        except RequestError:
            text = vocabulary.decode(range(min(vocabulary.size, 8)))
        return {"text": text}

    def explore(self, entries: Mapping[str, Any]) -> Explored:
        """Return the most probable continuation; the model reads it with the prompt at once."""
        import numpy as np

        vocabulary, context = self.task.vocabulary, self.task.context
        count = min(_NEXT, 1 + context // 2)
        most = context + 1 - count
        prompt = self._encode(entries["text"], most)[-most:]
        new = [int(token) for (token,) in self._greedy.continue_text(prompt, tokens=count)]
        tokens = [*prompt, *new[:-1]]
        return Explored(
            vocabulary.decode([*prompt, *new])[len(vocabulary.decode(prompt)) :],
            np.array([tokens], np.int32),
            np.array([[*[-1] * (len(prompt) - 1), *new]]),
            vocabulary.labels,
            {"text": vocabulary.labels(tokens)},
        )

    def lines(self, result: Mapping[str, Any]) -> Iterator[str]:
        """Yield the prompt with each continuation."""
        for number, text in enumerate(result["texts"], 1):
            if len(result["texts"]) > 1:
                yield f"--- {number} ---"
            yield result["prompt"] + text["text"]

    def draw(self, results: Sequence[Mapping[str, Any]], **settings: Any) -> Figure | None:
        """Draw the attention of all layers on the first text."""
        import numpy as np

        from attnlab.attention.head_measures import record_attention
        from attnlab.tasks.language.shown import text_figure
        from attnlab.tasks.shown.run_figures import run_title

        vocabulary, (result,) = self.task.vocabulary, results
        text = result["prompt"] + result["texts"][0]["text"]
        tokens = vocabulary.encode(text)[-self.task.context :]
        with record_attention(self.model) as layers:
            self.model(np.array([tokens], np.int32))
        if not layers:
            return None
        weights = np.stack([layer.weights[0] for layer in layers.values()])
        title = f"{run_title(self.trained.config.names)}: attention, epoch {self.trained.epoch}"
        return text_figure(weights, vocabulary.labels(tokens), title)


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
        from attnlab.tasks.language.text.masking import MASK

        if MASK not in text:
            raise RequestError(f"{where}: expected a text with {MASK}, got {text!r}.")

    def predict(self, inputs: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the filled-in text and the words for each mask; a blank line stays blank."""
        from attnlab.tasks.language.text.masking import fill_in

        for text in inputs:
            self._done += 1
            guesses = self.task.fill(self.model, text, self._top or 1) if text.strip() else []
            self.warn([text], self.task.width - 2)
            masks = [
                [{"word": word, "probability": round(share, 6)} for word, share in words]
                for words in guesses
            ]
            filled = fill_in(text, guesses)
            yield {"text": text, "filled": filled, "masks": masks, "unknown": self.unknown(text)}

    def explore(self, entries: Mapping[str, Any]) -> Explored:
        """Return a text with its masks filled in; see `Predictor`."""
        import numpy as np

        from attnlab.tasks.language.text.masking import labels
        from attnlab.text.tokenizers import END

        (result,) = self.predict([entries["text"]])
        if not result["masks"]:
            return Explored("")
        rows = self.task.rows([entries["text"]])
        logits = np.asarray(self.model(rows, training=False))
        words = logits[..., END + 1 :].argmax(axis=-1) + END + 1  # not one of the special tokens
        chosen = np.where(rows == self.task.mask_token, words, -1)
        names, text = partial(labels, self.task.tokenizer), self.task.names[rows[0]].tolist()
        return Explored(result["filled"], rows, chosen, names, {"text": text})

    def lines(self, result: Mapping[str, Any]) -> Iterator[str]:
        """Yield the filled-in text, or a line per word."""
        if not self._top:
            yield " ".join(result["filled"].split())
            return
        for mask, words in enumerate(result["masks"], 1):
            for word in words:
                yield f"{self._done}\t{mask}\t{word['probability']:.4f}\t{word['word']}"
