"""Run the model on a test item, or on a text: python example.py ["a text"].

Needs: pip install onnxruntime numpy tokenizers.
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

here = Path(__file__).parent
inputs = dict(np.load(here / "sample.npz"))
if sys.argv[1:]:
    tokenizer = Tokenizer.from_file(str(here / "tokenizer.json"))
    inputs["tokens"] = np.array([tokenizer.encode(sys.argv[1]).ids], np.int32)
session = onnxruntime.InferenceSession(str(here / "model.onnx"))
names = [output.name for output in session.get_outputs()]
for name, value in zip(names, session.run(None, inputs), strict=True):
    print(name, value)
