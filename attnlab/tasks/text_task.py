"""Base class of tasks on texts: a tokenizer that is fitted, or that of a pretrained encoder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from attnlab.encoders.opening import open_source, save_source, saved_source
from attnlab.records.files import Found, read_assets, write_json
from attnlab.tasks.base import Task
from attnlab.text.cleaning import normalize
from attnlab.text.tokenizers import PAD, Tokenizer

if TYPE_CHECKING:
    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option
    from attnlab.encoders.opening import Source
    from attnlab.training.step import InMemoryModel

_TOKENIZER = "tokenizer.json"


class TextTask(Task):
    """Base class of tasks that read texts as tokens."""

    _file: ClassVar[str]  # name of the JSON file of `save_text`
    text: Mapping[str, Any]  # the settings of tokenization, as they are saved
    encoder: str | None = None  # path of a pretrained encoder whose tokenizer is used
    tokenizer: Any  # a `Tokenizer` or a `PresetTokenizer`, set by `find_tokenizer` and `read_text`
    source: Source | None = None  # the pretrained encoder, if there is one
    _is_saved = False  # whether the weights come from a saved run

    def find_tokenizer(self, texts: Iterable[str]) -> None:
        """Set the encoder's tokenizer, or one that is fitted on texts."""
        if self.source:
            self.tokenizer = self.source.tokenizer
            return
        self.tokenizer = Tokenizer.fit(
            map(normalize, texts),
            kind=self.text["tokenizer"],
            size=self.text["vocabulary"],
            min_count=self.text["min_count"],
            lowercase=self.text["lowercase"],
        )

    def ignores_case(self, seed: int) -> bool:
        """Open the encoder for a seed, if any; return whether all texts are read in lower case."""
        if self.encoder and not self._is_saved:
            self.source = open_source(self.encoder, seed)
        return self.source.tokenizer.lowercase if self.source else bool(self.text["lowercase"])

    def make_model(
        self,
        attention: Callable[..., Attention],
        model: Option,
        input_shape: tuple[int | None, ...],
        **sizes: Any,
    ) -> Any:
        """Build a model that reads tokens; a pretrained encoder gets its trained weights.

        Before the data are loaded the vocabulary has 8 tokens. See `KindModels.build`.
        """
        from attnlab.encoders.tuning import fill_encoder

        sizes["vocabulary"] = self.tokenizer.size if hasattr(self, "tokenizer") else 8
        if model.name == "pretrained":
            sizes["source"] = self.source or open_source(self.encoder)
        built = self.kind.models.build(model, attention, input_shape, **sizes)
        if not self._is_saved:
            fill_encoder(built)
        return built

    def unknown(self, text: str) -> list[str]:
        """Return the words of a text that the vocabulary doesn't have, in order."""
        return self.tokenizer.unknown(normalize(text))

    def is_longer(self, text: str, most: int) -> bool:
        """Return whether a text has more than `most` tokens; a model ignores the rest."""
        return len(self.tokenizer.encode([normalize(text)])[0]) > most

    def words(self, tokens: np.ndarray) -> np.ndarray:
        """Return a readable label per token of rows (N, S), "" for padding."""
        labels = np.full(tokens.shape, "", dtype=object)
        for label_row, row in zip(labels, tokens, strict=True):
            real = row != PAD
            label_row[real] = self.tokenizer.pieces(row[real])
        return labels.astype(str)

    def save_text(self, folder: Path, **sizes: Any) -> None:
        """Write the tokenizer, the settings of tokenization, the encoder's identity, and sizes."""
        write_json(folder / self._file, {"text": self.text, **sizes})
        if self.source:
            save_source(folder, self.source)
        else:
            self.tokenizer.save(folder / _TOKENIZER)

    def read_text(self, folder: Path, sizes: Callable[[Mapping[str, Any]], Found]) -> Found:
        """Read what `save_text` wrote; `sizes` extracts the sizes from the JSON content."""

        def read(content: Mapping[str, Any]) -> tuple[Any, Found]:
            return content["text"], sizes(content)

        content = read_assets(folder / self._file, read, expected=self.text)
        self.source, self._is_saved = saved_source(folder), True
        saved = self.source.tokenizer if self.source else Tokenizer.load(folder / _TOKENIZER)
        self.tokenizer = saved
        return content


def text_settings(model: InMemoryModel, tokens: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return arguments of an `InMemoryLearner` whose inputs are rows of tokens, padded with PAD.

    A model that only takes one length reads the padding too, so it gets no `lengths`.
    """
    if model.fixed_length is not None:
        return {}
    lengths = {name: np.sum(rows != PAD, axis=1) for name, rows in tokens.items()}
    return {"faster_with_xla": model.faster_with_xla, "lengths": lengths}
