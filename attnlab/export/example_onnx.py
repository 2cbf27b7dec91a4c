"""Run the model on a test item: python example.py.

Needs: pip install onnxruntime numpy.
On a text: python example.py "a text". Needs: pip install tokenizers.  # texts
"""

import sys  # texts
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer  # texts

here = Path(__file__).parent
inputs = dict(np.load(here / "sample.npz"))
if sys.argv[1:]:  # texts
    tokenizer = Tokenizer.from_file(str(here / "tokenizer.json"))  # texts
    inputs["tokens"] = np.array([tokenizer.encode(sys.argv[1]).ids], np.int32)  # texts
session = onnxruntime.InferenceSession(str(here / "model.onnx"))
names = [output.name for output in session.get_outputs()]
for name, value in zip(names, session.run(None, inputs), strict=True):
    print(name, value)
