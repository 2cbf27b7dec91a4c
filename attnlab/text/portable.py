"""Write a tokenizer in the format of the library `tokenizers`, which reads it without attnlab."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from attnlab.text.tokenizers import END, PAD, START, UNKNOWN, Tokenizer
from attnlab.text.vocabulary import (
    SPECIAL_TOKENS,
    UNKNOWN_TEXT,
    Vocabulary,
    make_tokenizer,
    pattern,
)
from attnlab.text.words import ALL_UNSPACED

if TYPE_CHECKING:
    import tokenizers


class Portable(NamedTuple):
    """A tokenizer of the library `tokenizers`.

    Attributes:
        tokenizer: the library's.
        model_ids: (N,) the model's token for each of its ids. A word that is known only with, or
            only without, a space in front has a second id for its other form.
    """

    tokenizer: tokenizers.Tokenizer
    model_ids: list[int]

    def text(self) -> str:
        """Return the content of `tokenizer.json`."""
        return self.tokenizer.to_str(pretty=True)

    def rows(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the model's tokens of each text."""
        encoded = self.tokenizer.encode_batch(list(texts))
        return [[self.model_ids[token] for token in text.ids] for text in encoded]


def portable(
    tokenizer: Tokenizer,
    *,
    clean: str | None = "none",
    lowercase: bool = False,
    frame: tuple[bool, bool] = (False, False),
    most: int | None = None,
    width: int | None = None,
) -> Portable | None:
    """Return a tokenizer with the same tokens; None for a preset's, which keras-hub has.

    The library lower-cases a Greek Σ at the end of a word to σ, Python to ς; and it doesn't treat
    U+001C to U+001F as white space.

    Args:
        tokenizer: of this package.
        clean: as for `cleaning.cleaner`; None: texts aren't cleaned and continue another text, as
            in `Tokenizer.encode_on`, and line breaks are tokens.
        lowercase: as for `cleaning.cleaner`.
        frame: whether START is put before a text, and END after it.
        most: most tokens of a text, START and END included; the rest is cut off.
        width: to which texts are padded with PAD.
    """
    if tokenizer.kind == "preset":
        return None
    from tokenizers import processors

    tokens = [*tokenizer.vocabulary.tokens]
    others: dict[str, int] = {}
    if tokenizer.kind == "word":
        vocabulary, first = {*tokens}, len(SPECIAL_TOKENS)
        for number, token in enumerate(tokens[first:], first):
            other = token[1:] if token[0] == " " else f" {token}"
            if other not in vocabulary:
                others[other] = number
        if clean is None:
            others["\n"] = END
    made = _model(tokenizer, Vocabulary([*tokens, *others], tokenizer.vocabulary.merges), clean)
    made.normalizer = _normalizer(tokenizer, clean, lowercase)
    made.decoder = _decoder(tokenizer, clean)
    if any(frame):
        special = [(SPECIAL_TOKENS[token], token) for token in (START, END)]
        parts = [*[SPECIAL_TOKENS[START]] * frame[0], "$A", *[SPECIAL_TOKENS[END]] * frame[1]]
        made.post_processor = processors.TemplateProcessing(single=parts, special_tokens=special)
    if most:
        made.enable_truncation(most)
    if width:
        made.enable_padding(length=width, pad_id=PAD, pad_token=SPECIAL_TOKENS[PAD])
    return Portable(made, [*range(len(tokens)), *others.values()])


def _model(tokenizer: Tokenizer, vocabulary: Vocabulary, clean: str | None) -> Any:
    """Return the library's tokenizer without the preparation of texts."""
    from tokenizers import Regex, models, pre_tokenizers

    made = make_tokenizer(tokenizer.kind, vocabulary)
    if tokenizer.kind == "word":  # saved as they are, words have one id each
        ids = {token: number for number, token in enumerate(vocabulary.tokens)}
        made.model = models.WordLevel(ids, unk_token=SPECIAL_TOKENS[UNKNOWN])
        if clean is None:
            lines = Regex(rf"{pattern(tokenizer.kind)}|\n")
            made.pre_tokenizer = pre_tokenizers.Split(lines, "isolated")
    return made


def _normalizer(tokenizer: Tokenizer, clean: str | None, lowercase: bool) -> Any:
    """Return the preparation of a text: its cleaning, lower case, the space in front."""
    from tokenizers import Regex, normalizers

    def replace(expression: str, text: str) -> Any:
        return normalizers.Replace(Regex(expression), text)

    lower = normalizers.Lowercase()
    steps: list[Any] = []
    if clean == "book":
        marks = "".join(f"\\{mark}" for mark in string.punctuation)
        plain, letters = rf"[^\x00-\x7f]|[{marks}]", r"(?<!\S)[a-z]*[^a-z\s]\S*"
        steps = [normalizers.NFD(), replace(plain, ""), lower, replace(letters, "")]
    elif clean is not None:
        steps = [*[lower] * lowercase, normalizers.NFC()]
    if clean is not None:
        steps += [replace(r"\s+", " "), normalizers.Strip()]
    steps += [lower] * tokenizer.lowercase
    if clean is None and tokenizer.kind == "word":
        steps += [replace(r"[^\S\n]+", " "), replace(r"^ | $", "")]
        steps.append(replace(rf"^(?=[^{ALL_UNSPACED}\n])", " "))
    elif clean is not None and tokenizer.kind != "char":
        steps += [normalizers.Prepend(" "), replace(rf"^ (?=[{ALL_UNSPACED}])", "")]
    return normalizers.Sequence(steps)


def _decoder(tokenizer: Tokenizer, clean: str | None) -> Any:
    """Return what joins tokens to a text: no PAD, START and END, no space in front."""
    from tokenizers import Regex, decoders

    space = "" if tokenizer.kind == "char" else " "
    end = "\n" if clean is None and tokenizer.kind == "word" else ""
    texts = {PAD: "", UNKNOWN: space + UNKNOWN_TEXT, START: "", END: end}
    steps: list[Any] = [
        decoders.Replace(SPECIAL_TOKENS[token], text) for token, text in texts.items()
    ]
    if tokenizer.kind in ("word", "char"):
        steps.append(decoders.Fuse())
    else:
        steps.append(decoders.ByteLevel())
    if tokenizer.kind == "word" or (tokenizer.kind == "bpe" and clean is not None):
        steps.append(decoders.Replace(Regex("^ "), ""))
    return decoders.Sequence(steps)
