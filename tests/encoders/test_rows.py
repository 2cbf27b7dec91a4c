"""Rows as encoders read them."""

from __future__ import annotations

import numpy as np
from keras import ops

from attnlab.encoders.tuning import with_start_and_end, without_gap

START, END = 2, 3


def test_a_text_gets_start_and_end_with_padding_last():
    tokens = np.array([[5, 6, 7], [5, 0, 0], [0, 0, 0]], "int32")
    assert ops.convert_to_numpy(with_start_and_end(tokens)).tolist() == [
        [START, 5, 6, 7, END],
        [START, 5, END, 0, 0],
        [START, END, 0, 0, 0],
    ]


def test_the_gap_between_two_texts_is_closed_and_places_are_returned():
    tokens = np.array([[START, 9, END, 0, 0, 5, 6, 0], [START, 9, 8, 7, END, 5, 6, 4]], "int32")
    rows, places = map(ops.convert_to_numpy, without_gap(tokens))
    assert rows.tolist() == [
        [START, 9, END, 5, 6, END, 0, 0, 0],
        [START, 9, 8, 7, END, 5, 6, 4, END],
    ]
    real = tokens != 0
    there = np.take_along_axis(rows, places, axis=1)
    assert (there[real] == tokens[real]).all()
