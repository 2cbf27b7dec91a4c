"""Shared behaviour of all prediction commands, with a predictor that only counts letters."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from attnlab.commands import predict
from attnlab.errors import RequestError
from attnlab.runner import loading
from attnlab.tasks.predictor import Inputs, Predictor, Setting


class Letters(Predictor):
    """Count the letters of each WORD, by a trained RUN."""

    takes = Inputs("WORD", "[WORD]...", files="A file that is one word.")
    settings = (
        Setting("times", "How often.", (1, 9), default=1),
        Setting("share", "A part.", float, default=0.5),
        Setting("mark", "What stands after a count.", repeated=True),
        Setting("in_words", "Say it in words.", bool),
    )
    figure = Setting("picture", "Draw them.")
    figure_settings = (Setting("line_width", "Bold.", (1, None)),)
    table = "Write them to a table."
    together = 2
    noun = "word"
    chunks: list[list[str]] = []

    def __init__(self, request, *, times, share, mark, in_words):
        super().__init__(request)
        assert isinstance(share, float)
        self._times, self._mark, self._in_words = times, mark, in_words

    def check(self, text, where):
        if not text:
            raise RequestError(f"{where}: expected letters.")

    def predict(self, inputs):
        self.chunks.append([*inputs])
        for word in inputs:
            yield {"word": word, "letters": self._times * len(word)}

    def lines(self, result):
        count = f"{result['letters']}{' letters' * self._in_words}"
        return ["".join([count, *self._mark])]

    def draw(self, results, **settings):
        return results, settings

    def rows(self, result):
        return [result]


@pytest.fixture
def count(monkeypatch):
    """Run the command of `Letters`; return its output and its figure."""
    drawn = []
    monkeypatch.setattr(predict.options, "find_trained", lambda *words: SimpleNamespace())
    trained = SimpleNamespace(task=None, model=None)
    monkeypatch.setattr(loading.TrainedRun, "load", lambda *words: trained)
    monkeypatch.setattr(predict.options, "save_figure", lambda *words: drawn.append(words))
    predictions = SimpleNamespace(command="count", predictor=f"{__name__}:Letters")
    command = predict.prediction_command(SimpleNamespace(predictions=predictions))

    def count(*words: object, piped: bytes = b""):
        drawn.clear()
        Letters.chunks.clear()
        words = ["latest", *map(str, words)]
        done = CliRunner().invoke(command, words, piped, catch_exceptions=False)
        return done.stdout.splitlines(), [*drawn]

    return count


def test_the_help_shows_what_the_predictor_declares(count):
    text = " ".join(" ".join(count("--help")[0]).split())
    assert text.startswith("Usage: count [OPTIONS] RUN [WORD]... Count the letters of each WORD")
    assert "--times INTEGER RANGE How often. [default: 1; 1<=x<=9]" in text
    assert "--line-width INTEGER RANGE Bold. [x>=1]" in text


def test_inputs_are_arguments_and_files_or_lines(count, tmp_path):
    (tmp_path / "word.txt").write_text("three")
    assert count("a", "bb", "--file", tmp_path / "word.txt")[0] == ["1", "2", "5"]
    assert Letters.chunks == [["a", "bb"], ["three"]]
    assert count("--times", 2, "--mark", "!", "--mark", "?", piped=b"ab\n\nc")[0] == [
        *("4!?", "0!?", "2!?"),
    ]
    assert count("--in-words", "ab")[0] == ["2 letters"]
    assert count("--json", "ab", "c")[0][1] == '{"word": "c", "letters": 1}'


def test_lines_of_standard_input_are_read_in_batches(count):
    piped = "One\r\nGröße\n\n4".encode("utf-8-sig")
    assert count(piped=piped)[0] == ["3", "5", "0", "1"]
    assert Letters.chunks == [["One", "Größe"], ["", "4"]]


def test_a_table_is_written_to_a_file_or_to_standard_output(count, tmp_path):
    assert count("--csv", "-", "ab", "c")[0] == ["word,letters", "ab,2", "c,1"]
    assert count("--csv", tmp_path / "table.csv", "ab")[0] == []
    assert (tmp_path / "table.csv").read_text() == "word,letters\nab,2\n"
    with pytest.raises(RequestError, match="--csv: .* can't be written"):
        count("--csv", tmp_path / "none" / "table.csv", "ab")


def test_a_figure_shows_the_results(count, tmp_path):
    lines, ((figure, path, option),) = count("ab", "--picture", tmp_path / "a.png")
    assert (lines, path, option) == (["2"], tmp_path / "a.png", "--picture")
    assert figure == ([{"word": "ab", "letters": 2}], {"line_width": None})
    lines, (drawn,) = count("--picture", "a.png", "--line-width", 3, piped=b"ab\n")
    assert lines == ["2"] and drawn[0][1] == {"line_width": 3}


def test_impossible_requests_are_refused_before_loading(count):
    for words, piped, message in (
        (["a", "--picture", "a.gif"], b"", "--picture: expected a file that ends with .png"),
        (["--picture", "a.png"], b"", "--picture: expected one word, got none."),
        (["--picture", "a.png"], b"a\nb\nc\n", "--picture: expected one word, got more."),
        (["--picture", "a.png"], b"t\xff\n", "standard input: not UTF-8"),
        (["a", "--line-width", "2"], b"", "--line-width: needs --picture FILE.png."),
        (["a", "--csv", "-", "--json"], b"", "--csv, --json: give only one of them."),
        (["a\udce9"], b"", "WORD 1: expected UTF-8, got 'a\\\\udce9'."),
    ):
        with pytest.raises(RequestError, match=message):
            count(*words, piped=piped)
        assert Letters.chunks == []
