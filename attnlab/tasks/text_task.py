"""What tasks share that cut texts into tokens: by a fitted tokenizer, or by an encoder's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from attnlab.encoders.opening import open_source, save_source, saved_source
from attnlab.records.files import Found, read_assets, write_json
from attnlab.tasks.base import Task
from attnlab.text.cleaning import normalized
from attnlab.text.tokenizers import PAD, Tokenizer

if TYPE_CHECKING:
    from attnlab.encoders.source import Source

_TOKENIZER = "tokenizer.json"
Model = TypeVar("Model")


class TextTask(Task):
    """A part of tasks whose texts are tokens.

    Attributes:
        text: the settings that decide how texts are cut, as they are saved.
        encoder: path of an encoder whose tokenizer cuts them; None: one is fitted.
        tokenizer: once texts were seen or it was read.
        source: the encoder's.
    """

    _file: ClassVar[str]  # where `save_text` writes what is more than the tokenizer
    text: Mapping[str, Any]
    encoder: str | None = None
    tokenizer: Tokenizer
    source: Source | None = None
    _is_saved = False  # whether the model gets the weights of a run

    def find_tokenizer(self, texts: Iterable[str], seed: int) -> None:
        """Take the encoder's tokenizer, or fit one on texts.

        Raises:
            RequestError: there is no such encoder, or no text.
        """
        if self.encoder:
            self.source = open_source(self.encoder, seed)
            self.tokenizer = self.source.tokenizer
            return
        self.tokenizer = Tokenizer.fit(
            map(normalized, texts),
            kind=self.text["tokenizer"],
            size=self.text["vocabulary"],
            min_count=self.text["min_count"],
            lowercase=self.text["lowercase"],
        )

    def ignores_case(self, seed: int) -> bool:
        """Return whether the tokenizer reads all texts in lower case."""
        if self.encoder:
            return open_source(self.encoder, seed).tokenizer.lowercase
        return bool(self.text["lowercase"])

    def begun(self, model: Model) -> Model:
        """A model, with the trained weights of the encoder that it stands on, if it does."""
        from attnlab.encoders.tuning import begin

        if not self._is_saved:
            begin(model)
        return model

    def unknown(self, text: str) -> list[str]:
        """The words of a text that the vocabulary doesn't have, in their order."""
        return self.tokenizer.unknown(normalized(text))

    def is_longer(self, text: str, most: int) -> bool:
        """Whether a text has more than so many tokens, behind which a model doesn't read on."""
        return len(self.tokenizer.encode([normalized(text)])[0]) > most

    def words(self, tokens: np.ndarray) -> np.ndarray:
        """A readable label for each token of rows (N, S), "" where there is padding."""
        found = np.full(tokens.shape, "", dtype=object)
        for row, own in zip(found, tokens, strict=True):
            real = own != PAD
            row[real] = self.tokenizer.pieces(own[real])
        return found.astype(str)

    def save_text(self, folder: Path, **sizes: Any) -> None:
        """Write the tokenizer, how texts are treated, what the encoder is, and sizes."""
        self.tokenizer.save(folder / _TOKENIZER)
        write_json(folder / self._file, {"text": self.text, **sizes})
        if self.source:
            save_source(folder, self.source)

    def read_text(self, folder: Path, sizes: Callable[[Mapping[str, Any]], Found]) -> Found:
        """Read what `save_text` wrote; `sizes` takes the sizes from the content of the file.

        Raises:
            RequestError: a file is missing, damaged, or of other settings.
        """

        def read(content: Mapping[str, Any]) -> tuple[Any, Found]:
            return content["text"], sizes(content)

        found = read_assets(folder / self._file, read, expected=self.text)
        self.tokenizer = Tokenizer.load(folder / _TOKENIZER)
        self.source, self._is_saved = saved_source(folder, self.tokenizer), True
        return found
