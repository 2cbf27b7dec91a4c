"""The predictions of a trained language model: the command `attnlab generate`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from attnlab.errors import RequestError
from attnlab.tasks.language.sampler import Sampler
from attnlab.tasks.language.text.writing import Writer
from attnlab.tasks.predictor import Inputs, Predictor, Request, Setting

if TYPE_CHECKING:
    from attnlab.tasks.language.generation import Drawn, Generator
    from attnlab.views.records import Figure

_SHOWN = 48  # most tokens on a map of attention


class Continued:
    """A prompt and its continuations, which grow while one reads them.

    Attributes:
        prompt: the text before.
        tokens: its tokens.
        writers: a continuation each.
        probabilities: per continuation, those of its tokens by the model.
    """

    def __init__(
        self, prompt: str, tokens: list[int], writers: Sequence[Writer], steps: Iterable[Drawn]
    ) -> None:
        self.prompt, self.tokens, self.writers = prompt, tokens, writers
        self.probabilities: list[list[float]] = [[] for _ in writers]
        self._steps = steps

    def grow(self) -> Iterator[str]:
        """Draw all tokens; yield what the first continuation writes."""
        for drawn in self._steps:
            for number, writer in enumerate(self.writers):
                if not writer.stopped:
                    self.probabilities[number].append(float(drawn.probabilities[number]))
                    piece = writer.add(int(drawn.tokens[number]))
                    if number == 0:
                        yield piece
            if all(writer.stopped for writer in self.writers):
                break
        yield [writer.end() for writer in self.writers][0]
        self._steps = ()

    def finish(self) -> Continued:
        """Draw all tokens that are still missing."""
        for _ in self.grow():
            pass
        return self


class GeneratePredictor(Predictor):
    """Continue each PROMPT, or standard input line by line, with a trained RUN.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`. Prints the prompt
    with its continuation, to a terminal while it is made. Without a prompt, in a terminal, the text
    starts with a new line. A model reads at most as many tokens as in training; for a longer text
    it then reads the last half of them again, unless its state has a constant size. The same seed
    gives the same text. --scores prints one token per line instead: the number of its text and of
    the token, both from 1, its probability by the model, and the token, with tabs between the
    columns. --json prints one object per prompt.
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
        Setting(
            "min_p",
            "Draw from tokens with at least P times the largest probability.",
            float,
            metavar="P",
        ),
        Setting(
            "repetition",
            "Divide positive logits of tokens that occurred before by R, multiply negative ones.",
            float,
            1.0,
            metavar="R",
        ),
        Setting("seed", "Decides what is drawn.", (0, None), 0, metavar="N"),
        Setting("number", "Continuations per prompt.", (1, 1000), 1, metavar="N"),
        Setting("stop", "End a text before TEXT; may be repeated.", metavar="TEXT", repeated=True),
        Setting("scores", "Print each token with its probability instead.", bool),
    )
    figure = Setting(
        "attention",
        "Draw where each token of one text looks, a map per layer and head.",
    )
    noun = "prompt"
    _generator: Generator

    def __init__(
        self,
        request: Request,
        *,
        tokens: int,
        seed: int,
        number: int,
        stop: Sequence[str],
        scores: bool,
        **sampling: Any,
    ) -> None:
        self._sampler = Sampler(**sampling)
        if number > 1 and self._sampler.temperature == 0:
            raise RequestError(
                "--number: expected 1 with --temperature 0, where all texts are equal, got "
                f"{number}."
            )
        if "" in stop:
            raise RequestError("--stop: expected a text, got none.")
        self._tokens, self._seed, self._number = tokens, seed, number
        self._stops, self._scores = stop, scores
        super().__init__(request)

    def read(self) -> Sequence[str]:
        """Return the prompts; an empty one if there is none and nobody can have piped one."""
        found = super().read()
        at_terminal = sys.stdin is not None and sys.stdin.isatty()
        return [""] if not found and at_terminal else found

    def use(self, trained: Any) -> None:
        """Set the trained run; see `Predictor`."""
        from attnlab.tasks.language.generation import Generator

        super().use(trained)
        self._generator = Generator(self.model, self._sampler)

    def predict(self, inputs: Sequence[str]) -> Iterator[Continued]:
        """Yield each prompt with its continuations, whose tokens are drawn as they are read."""
        vocabulary = self.task.vocabulary
        for prompt in inputs:
            tokens = vocabulary.encode(prompt)
            longest = self.model.longest
            if longest is not None and len(tokens) > longest:
                self.request.report(
                    f"warning: the model reads {longest:,} tokens, the last of the {len(tokens):,} "
                    "of this prompt."
                )
            steps = self._generator.continued(
                tokens, texts=self._number, tokens=self._tokens, seed=self._seed
            )
            writers = [Writer(vocabulary, tokens, self._stops) for _ in range(self._number)]
            yield Continued(prompt, tokens, writers, steps)

    def lines(self, result: Continued) -> Iterator[str]:
        """Yield each text, or a line per token."""
        result.finish()
        for number, writer in enumerate(result.writers, 1):
            if self._scores:
                yield from self._scored(number, writer, result.probabilities[number - 1])
                continue
            if self._number > 1:
                yield _heading(number)
            yield result.prompt + writer.text

    def pieces(self, result: Continued) -> Iterator[str] | None:
        """Yield the first text as it grows, then the others."""
        return None if self._scores else self._pieces(result)

    def _pieces(self, result: Continued) -> Iterator[str]:
        if self._number > 1:
            yield f"{_heading(1)}\n"
        yield result.prompt
        yield from result.grow()
        for number, writer in enumerate(result.writers[1:], 2):
            yield f"\n{_heading(number)}\n{result.prompt}{writer.text}"

    def _scored(self, number: int, writer: Writer, shares: Sequence[float]) -> Iterator[str]:
        labels = self.task.vocabulary.labels(writer.tokens)
        for place, (share, label) in enumerate(zip(shares, labels, strict=True), 1):
            yield f"{number}\t{place}\t{share:.4f}\t{label}"

    def content(self, result: Continued) -> dict[str, Any]:
        """Return the prompt, and its continuations with their tokens and probabilities."""
        result.finish()
        return {
            "prompt": result.prompt,
            "texts": [
                {
                    "text": writer.text,
                    "stopped": writer.stopped,
                    "tokens": self.task.vocabulary.labels(writer.tokens),
                    "probabilities": [round(share, 6) for share in shares],
                }
                for writer, shares in zip(result.writers, result.probabilities, strict=True)
            ],
        }

    def draw(self, results: Sequence[Continued], **settings: Any) -> Figure:
        """Draw the attention of all layers on the end of the first text."""
        import numpy as np

        from attnlab.attention.head_measures import recorded
        from attnlab.tasks.language.shown import text_figure
        from attnlab.tasks.shown.run_figures import run_title

        result = results[0].finish()
        tokens = [*result.tokens, *result.writers[0].tokens][-min(_SHOWN, self.task.context) :]
        with recorded(self.model) as looked:
            self.model(np.array([tokens], np.int32))
        if not looked:
            raise RequestError("--attention: the run has attention=none, so there is no map.")
        weights = np.stack([layer.weights[0] for layer in looked.values()])
        title = f"{run_title(self.trained.config.names)}: attention, epoch {self.trained.epoch}"
        return text_figure(weights, self.task.vocabulary.labels(tokens), title)


def _heading(number: int) -> str:
    return f"--- {number} ---"
