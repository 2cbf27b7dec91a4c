"""Write a tokenizer in the format of the library `tokenizers`, which reads it without attnlab."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from attnlab.text.token_cutters import SPECIAL_TOKENS, Vocabulary, cutter, pattern
from attnlab.text.tokenizers import END, PAD, START, UNKNOWN, Tokenizer
from attnlab.text.trained_cutters import TRAINED_KINDS, gpt2_cutter
from attnlab.text.unknown import UNKNOWN_TEXT
from attnlab.text.words import all_unspaced

if TYPE_CHECKING:
    import tokenizers

# White space of Python's `str.split`, which the library's \s doesn't have in full.
_SPACE = r"\s\x1c-\x1f\x85"
# Python's rule for Σ at the end of a word: after a cased letter and not before one; characters such
# as accents and apostrophes don't count.
_CASED, _IGNORED = r"[\p{Cased}&&[^\p{Case_Ignorable}]]", r"\p{Case_Ignorable}*"
_FINAL_SIGMA = rf"{_CASED}{_IGNORED}\KΣ(?!{_IGNORED}{_CASED})"


class Portable(NamedTuple):
    """A tokenizer of the library `tokenizers`.

    Attributes:
        made: the library's tokenizer.
        known: (N,) the model's token for each of its ids. A word that is known only with, or only
            without, a space in front has a second id for its other form.
    """

    made: tokenizers.Tokenizer
    known: list[int]

    def text(self) -> str:
        """Return the content of `tokenizer.json`."""
        return self.made.to_str(pretty=True)

    def rows(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the model's tokens of each text."""
        encoded = self.made.encode_batch(list(texts))
        return [[self.known[token] for token in each.ids] for each in encoded]


def portable(
    tokenizer: Tokenizer,
    *,
    clean: str | None = "none",
    lowercase: bool = False,
    frame: tuple[bool, bool] = (False, False),
    most: int | None = None,
    width: int | None = None,
) -> Portable | None:
    """Return a tokenizer with the same tokens; None if the library has no such tokenizer.

    Args:
        tokenizer: of this package.
        clean: as for `cleaning.cleaner`; None: texts aren't cleaned and continue another text, as
            in `Tokenizer.encode_on`, and line breaks are tokens.
        lowercase: as for `cleaning.cleaner`.
        frame: whether START is put before a text, and END after it.
        most: most tokens of a text, START and END included; the rest is cut off.
        width: to which texts are padded with PAD.
    """
    if tokenizer.kind == "wordpiece":
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
    made.normalizer = _normalizer(tokenizer, clean, lowercase, made.normalizer)
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

    if tokenizer.manner is not None:  # `gpt2_bpe`
        return gpt2_cutter(vocabulary, tokenizer.manner)
    made = cutter(tokenizer.kind, vocabulary)
    if tokenizer.kind == "word":  # saved as they are, words have one id each
        ids = {token: number for number, token in enumerate(vocabulary.tokens)}
        made.model = models.WordLevel(ids, unk_token=SPECIAL_TOKENS[UNKNOWN])
        if clean is None:
            lines = Regex(rf"{pattern(tokenizer.kind)}|\n")
            made.pre_tokenizer = pre_tokenizers.Split(lines, "isolated")
    return made


def _normalizer(tokenizer: Tokenizer, clean: str | None, lowercase: bool, own: Any) -> Any:
    """Return the preparation of a text: its cleaning, lower case, the space in front."""
    from tokenizers import Regex, normalizers

    lower = [normalizers.Replace(Regex(_FINAL_SIGMA), "ς"), normalizers.Lowercase()]
    steps: list[Any] = _book() if clean == "book" else [*lower * lowercase] + [normalizers.NFC()]
    if clean is None:
        steps = []
    else:
        steps += [normalizers.Replace(Regex(f"[{_SPACE}]+"), " "), normalizers.Strip()]
    if own is not None:
        steps.append(own)
    if tokenizer.kind not in TRAINED_KINDS:
        steps += lower * tokenizer.lowercase
        if clean is None and tokenizer.kind == "word":
            gaps = normalizers.Replace(Regex(r"(?:[^\S\n]|[\x1c-\x1f\x85])+"), " ")
            steps += [gaps, normalizers.Replace(Regex(r"^ | $"), "")]
        if clean is None and tokenizer.kind == "word":
            steps.append(normalizers.Replace(Regex(rf"^(?=[^{all_unspaced()}\n])"), " "))
        elif tokenizer.kind in ("word", "bpe") and clean is not None:
            without = normalizers.Replace(Regex(rf"^ (?=[{all_unspaced()}])"), "")
            steps += [normalizers.Prepend(" "), without]
    return normalizers.Sequence(steps)


def _book() -> list[Any]:
    """Return `cleaning.book_cleaning` in steps of the library."""
    from tokenizers import Regex, normalizers

    marks = "".join(f"\\{each}" for each in string.punctuation)
    unseen = r"[\x00-\x08\x0e-\x1b\x7f]"
    removed = rf"[^\x00-\x7f]|[{marks}]", unseen, r"(?<!\S)[a-z]*[^a-z\s]\S*"
    plain, *others = [normalizers.Replace(Regex(each), "") for each in removed]
    spaces = normalizers.Replace(Regex(r"[\x1c-\x1f]"), " ")
    return [normalizers.NFD(), plain, spaces, normalizers.Lowercase(), *others]


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
