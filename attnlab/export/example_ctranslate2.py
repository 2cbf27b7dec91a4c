"""Translate or continue a test item, or a text: python example.py ["a text"].

Needs: pip install ctranslate2 numpy tokenizers.
"""

import sys
from pathlib import Path

import ctranslate2
import numpy as np
from tokenizers import Tokenizer


def main() -> None:
    """Print the translation, or the text with its continuation."""
    here = Path(__file__).parent
    source = Tokenizer.from_file(str(here / "tokenizer.json"))
    ids = [int(number) for number in np.load(here / "sample.npz")["tokens"][0]]
    tokens = [source.id_to_token(number) for number in ids if number]
    if sys.argv[1:]:
        tokens = source.encode(sys.argv[1]).tokens
    folder, target = str(here / "model"), here / "target_tokenizer.json"
    if target.exists():
        (result,) = ctranslate2.Translator(folder).translate_batch([tokens], beam_size=1)
        words = result.hypotheses[0]
    else:
        generator = ctranslate2.Generator(folder)
        (result,) = generator.generate_batch([tokens], max_length=30, end_token=[])
        words, target = result.sequences[0], here / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(target))
    numbers = [tokenizer.token_to_id(word) for word in words]
    print(tokenizer.decode(numbers, skip_special_tokens=False))


if __name__ == "__main__":
    main()
