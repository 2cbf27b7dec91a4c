"""Translate a test item, or a text: python example.py ["a text"].

Needs: pip install ctranslate2 numpy tokenizers.
"""

import sys
from pathlib import Path

import ctranslate2
import numpy as np
from tokenizers import Tokenizer

here = Path(__file__).parent
source = Tokenizer.from_file(str(here / "tokenizer.json"))
ids = [int(number) for number in np.load(here / "sample.npz")["tokens"][0]]
tokens = [source.id_to_token(number) for number in ids if number]
if sys.argv[1:]:
    tokens = source.encode(sys.argv[1]).tokens
translator = ctranslate2.Translator(str(here / "model"))
(result,) = translator.translate_batch([tokens], beam_size=1)
tokenizer = Tokenizer.from_file(str(here / "target_tokenizer.json"))
numbers = [tokenizer.token_to_id(word) for word in result.hypotheses[0]]
print(tokenizer.decode(numbers, skip_special_tokens=False))
