"""The format of numbers in tables."""

from __future__ import annotations

from attnlab.terminal import distinct, in_one_format, number_format, p_text


def test_numbers_of_a_column_have_as_many_decimals():
    for values, texts in (
        ([99.13, 28.44], ["99.13", "28.44"]),
        ([0.07111, 0.1], ["0.0711", "0.1000"]),
        ([12345.678, 9], ["12,345.7", "9.0"]),
        ([18.05, -0.001], ["18.0500", "-0.0010"]),
        ([1500.0, 1600.5], ["1,500", "1,600"]),
        ([2.6e-5, 9.1e-6], ["2.60e-05", "9.10e-06"]),
        ([2119.0, -0.0042, 0.0], ["2.12e+03", "-4.20e-03", "0"]),
        ([0.0], ["0"]),
    ):
        assert [number_format(values)(value) for value in values] == texts
    values, metrics = [65.5, None, 0.0125, 0.1], ["bleu", "bleu", "rmse", "rmse"]
    assert in_one_format(values, metrics) == ["65.50", "-", "0.0125", "0.1000"]
    assert in_one_format([float("nan"), 2.0], digits=3) == ["nan", "2.00"]


def test_p_values():
    texts = {None: "-", 0.0004: "<0.001", 0.0468: "0.047", 0.0496: "0.0496", 1.0: "1.000"}
    assert [p_text(p) for p in texts] == [*texts.values()]


def test_numbers_off_a_line_are_written_differently_from_it():
    for values, line, texts in (
        ([0.5, 0.1, 0.9], 0.0, ["0.5", "0.1", "0.9"]),
        ([0.5, 0.01, 0.9], 0.0, ["0.500", "0.010", "0.900"]),
        ([99.93, 99.91, 99.95], 99.9, ["99.930", "99.910", "99.950"]),
        ([5.0, 1e-12], 0.0, ["5", "1e-12"]),
        ([1.0 + 1e-12], 1.0, ["1.000000000001"]),
        ([None, 0.0], 0.0, [None, "0.0"]),
    ):
        write = distinct(values, line, lambda value: f"{value:.1f}")
        assert [None if value is None else write(value) for value in values] == texts
