"""Run the model on a test item: python example.py.

Needs: pip install tensorflow numpy.
On a text: python example.py "a text". Needs: pip install tokenizers.  # texts
"""

import sys  # texts
from pathlib import Path

import numpy as np
import tensorflow as tf
from tokenizers import Tokenizer  # texts

here = Path(__file__).parent
inputs = dict(np.load(here / "sample.npz"))
if sys.argv[1:]:  # texts
    tokenizer = Tokenizer.from_file(str(here / "tokenizer.json"))  # texts
    inputs["tokens"] = np.array([tokenizer.encode(sys.argv[1]).ids], np.int32)  # texts
model = tf.saved_model.load(str(here / "model")).signatures["serving_default"]
for name, output in model(**{name: tf.constant(inputs[name]) for name in inputs}).items():
    print(name, output.numpy())
    if name == "tokens":  # texts
        target = Tokenizer.from_file(str(here / "target_tokenizer.json"))  # texts
        print(target.decode(output.numpy()[0], skip_special_tokens=False))  # texts
