"""Read the tokenizer of a preset as a tokenizer of this project.

keras-hub's tokenizers don't return the position of a token in the text, which answers need.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.text.token_cutters import SPECIAL_TOKENS, Vocabulary
from attnlab.text.tokenizers import Tokenizer
from attnlab.text.trained_cutters import Manner

# PAD, UNKNOWN, START and END of each class. keras-hub doesn't require `<unk>` in RoBERTa's
# vocabulary, because bytes can encode every text; if it is missing, `<mask>` replaces it.
_WORDPIECE_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
_ROBERTA_SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")
_ROBERTA_MASK = "<mask>"


def order(tokenizer: Tokenizer) -> np.ndarray:
    """Return the preset's id for each id of a tokenizer, (N,) int32."""
    assert tokenizer.manner is not None
    special = list(tokenizer.manner.special)
    others = np.setdiff1d(np.arange(tokenizer.size), special)
    return np.concatenate([special, others]).astype(np.int32)


def read_tokenizer(files: Sequence[Path], class_name: str) -> Tokenizer:
    """Read the tokenizer of a preset.

    Args:
        files: the settings, then the vocabulary, and the merges of byte-level BPE.
        class_name: the class of keras-hub's tokenizer.

    Raises:
        RequestError: a file is damaged, or is that of another tokenizer.
    """
    config = _settings(files[0], class_name)
    if class_name == "RobertaTokenizer":
        return _roberta(files[1], files[2], config)
    return _wordpiece(files[1], config)


def _settings(path: Path, class_name: str) -> Mapping[str, Any]:
    try:
        content = json.loads(path.read_bytes())
        config, found = dict(content["config"]), content["class_name"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(path, "the settings of a tokenizer of keras-hub", error) from error
    if found != class_name:
        raise RequestError(f"model.path: expected a {class_name} in {path}, got {found!r}.")
    if not config.get("split", True):
        raise RequestError(f'model.path: expected "split": true in {path}, got false.')
    return config


def _wordpiece(path: Path, config: Mapping[str, Any]) -> Tokenizer:
    try:
        with open(path, encoding="utf-8") as lines:
            names = [line.rstrip() for line in lines]
    except (OSError, ValueError) as error:
        raise _damaged(path, "a token in each line", error) from error
    pad, _, start, end = _WORDPIECE_SPECIAL
    wanted = (pad, str(config.get("oov_token", _WORDPIECE_SPECIAL[1])), start, end)
    special = _special(path, names, wanted)
    manner = Manner(
        special,
        strip_accents=bool(config.get("strip_accents")),
        split_on_cjk=bool(config.get("split_on_cjk", True)),
        suffix=str(config.get("suffix_indicator", "##")),
    )
    vocabulary = Vocabulary(_reordered(names, special), [])
    lowercase = bool(config.get("lowercase"))
    return _made(
        path, lambda: Tokenizer("wordpiece", vocabulary, lowercase=lowercase, manner=manner)
    )


def _roberta(vocabulary_path: Path, merges_path: Path, config: Mapping[str, Any]) -> Tokenizer:
    names = _numbered(vocabulary_path)
    pad, unknown, start, end = _ROBERTA_SPECIAL
    unknown = unknown if unknown in names else _ROBERTA_MASK
    special = _special(vocabulary_path, names, (pad, unknown, start, end))
    reserved = {*_ROBERTA_SPECIAL, _ROBERTA_MASK}
    merges = [pair for pair in _merges(merges_path) if not reserved & {*pair, "".join(pair)}]
    vocabulary = Vocabulary(_reordered(names, special), merges)
    manner = Manner(special, prefix_space=bool(config.get("add_prefix_space")))
    return _made(merges_path, lambda: Tokenizer("gpt2_bpe", vocabulary, manner=manner))


def _numbered(path: Path) -> list[str]:
    """Return the tokens of a `vocabulary.json`, ordered by id."""
    try:
        numbers = json.loads(path.read_bytes())
        names = sorted(numbers, key=numbers.__getitem__)
        if [numbers[name] for name in names] != list(range(len(names))):
            raise ValueError("some numbers are missing or repeated")
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise _damaged(path, "tokens numbered 0, 1, 2, ...", error) from error
    return names


def _merges(path: Path) -> list[tuple[str, str]]:
    try:
        text = path.read_text(encoding="utf-8")
        if text and not text.endswith("\n"):
            raise ValueError("a file that ends in the middle of a line")
        lines = [line for line in text.split("\n") if line and "#version:" not in line]
        return [(left, right) for left, right in (line.rstrip().split(" ") for line in lines)]
    except (OSError, ValueError) as error:
        raise _damaged(path, "two pieces in each line", error) from error


def _special(path: Path, names: Sequence[str], wanted: Sequence[str]) -> tuple[int, int, int, int]:
    """Return the ids of PAD, UNKNOWN, START and END."""
    if missing := [name for name in wanted if name not in names]:
        raise RequestError(
            f"model.path: expected {', '.join(wanted)} in {path}, got a vocabulary of {len(names)} "
            f"tokens without {', '.join(missing)}."
        )
    pad, unknown, start, end = map(names.index, wanted)
    return pad, unknown, start, end


def _reordered(names: Sequence[str], special: Sequence[int]) -> list[str]:
    """Return tokens in this project's order; of equal tokens, only the last stays usable."""
    last = {name: number for number, name in enumerate(names)}
    others = [
        name if last[name] == number else f"[ {number} ]"  # no word contains spaces
        for number, name in enumerate(names)
        if number not in special
    ]
    return [*SPECIAL_TOKENS, *others]


def _made(path: Path, make: Callable[[], Tokenizer]) -> Tokenizer:
    try:
        return make()
    except Exception as error:  # the library raises bare ones
        raise _damaged(path, "pieces of its vocabulary", error) from error


def _damaged(path: Path, expected: str, error: Exception) -> RequestError:
    return RequestError(
        f"model.path: {path} can't be read: expected {expected} ({type(error).__name__}: {error})."
    )
