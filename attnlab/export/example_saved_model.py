"""Run the model on a test item, or on a text: python example.py ["a text"].

Needs: pip install tensorflow numpy tokenizers.
"""

import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from tokenizers import Tokenizer

here = Path(__file__).parent
inputs = dict(np.load(here / "sample.npz"))
if sys.argv[1:]:
    tokenizer = Tokenizer.from_file(str(here / "tokenizer.json"))
    inputs["tokens"] = np.array([tokenizer.encode(sys.argv[1]).ids], np.int32)
model = tf.saved_model.load(str(here / "model")).signatures["serving_default"]
for name, output in model(**{name: tf.constant(inputs[name]) for name in inputs}).items():
    print(name, output.numpy())
    if name == "tokens":
        target = Tokenizer.from_file(str(here / "target_tokenizer.json"))
        print(target.decode(output.numpy()[0], skip_special_tokens=False))
