"""A tokenized corpus: its content, and a cache that survives damage."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from attnlab.errors import RequestError
from attnlab.records import worker_processes
from attnlab.records.growing_arrays import GrowingArrays
from attnlab.tasks.translation.corpora.corpus import Corpus
from attnlab.tasks.translation.corpora.text_files import PartFiles
from attnlab.tasks.translation.pair import Pair
from attnlab.tasks.translation.text import cleaned_text, preprocessing
from attnlab.tasks.translation.text.preprocessing import TextSettings
from attnlab.tasks.translation.text.token_files import encoded
from attnlab.tasks.translation.text.tokenized_corpus import tokenize_corpus, tokenized_files
from attnlab.text.cleaning import normalized
from attnlab.text.tokenizers import END, START, UNKNOWN

HERE = Path(__file__).parent
NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
ZAHLEN = ["null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"]


class Counting(Corpus):
    """A corpus of numbers and their digits, which counts how often it is read."""

    name = "counting"

    def __init__(self, count=101, digits=1, **settings):
        self.count, self.digits, self.reads = count, digits, 0
        vars(self).update(settings)

    def _read(self, part, dropped):
        self.reads += 1
        for number in range(self.count):
            digits = [int(digit) for digit in f"{number:0{self.digits}}"]
            english, german = (" ".join(words[d] for d in digits) for words in (NUMBERS, ZAHLEN))
            yield Pair(f"{english.capitalize()}!", f"{german.capitalize()}!")

    def _content(self):
        return [self.count, self.digits]


class Listed(Corpus):
    """A corpus of given pairs, in given parts."""

    name = "listed"

    def __init__(self, **parts):
        self.lists, self.own_parts = parts, tuple(parts)

    def _read(self, part, dropped):
        return (Pair(*pair) for pair in self.lists[part])

    def _content(self):
        return self.lists


def listed(*train, validation=(("a", "a"),), test=(("a", "a"),)):
    return Listed(train=list(train), validation=list(validation), test=list(test))


def tokenized(corpus, cache, seed=0, progress=None, **settings):
    return tokenize_corpus(
        corpus, TextSettings(**settings), seed=seed, cache=cache, progress=progress
    )


@pytest.mark.parametrize("tokenizer", ["word", "char", "bpe"])
def test_rows_are_the_sentences(tokenizer, tmp_path):
    data = tokenized(Counting(), tmp_path, tokenizer=tokenizer)
    for name in ("validation", "test"):
        sources, targets, links = data.parts[name].texts()
        part = data.parts[name]
        assert len(part.source) == len(part.target) == len(sources) == len(targets) == 10
        assert links is None
        rows = [part.source[row] for row in range(10)]
        assert all(row[-1] == END and START not in row for row in rows)
        assert UNKNOWN in np.concatenate(rows) or data.source_tokenizer.decode(rows) == sources
        rows = [part.target[row] for row in range(10)]
        assert all((row[0], row[-1]) == (START, END) for row in rows)
        assert UNKNOWN in np.concatenate(rows) or data.target_tokenizer.decode(rows) == targets
    assert sum(len(part.source) for part in data.parts.values()) == 101


def test_rows_are_padded_at_the_end(tmp_path):
    corpus = listed(("a b", "x"), ("b", "x y z"))
    part = tokenized(corpus, tmp_path).parts["train"]
    a, b = part.source[0][:2]
    np.testing.assert_array_equal(part.source.padded([1, 0, -1]), [[b, 3, 0], [a, b, 3], [0] * 3])
    assert part.source.padded([1], width=5).tolist() == [[b, 3, 0, 0, 0]]
    assert part.target.padded(np.array([0, 1])).shape == (2, 5)
    assert part.target.lengths.tolist() == [3, 5]
    assert part.source.padded([0]).dtype == part.source[0].dtype == np.int32
    with pytest.raises(ValueError, match="width: expected at least 3, got 2"):
        part.source.padded([0, 1], width=2)
    with pytest.raises(IndexError):
        part.source[2]


def test_vocabularies_are_fitted_only_on_the_training_part(tmp_path):
    corpus = listed(("a b", "x y"), validation=[("c", "x z")], test=[("d a", "y")])
    data = tokenized(corpus, tmp_path)
    assert data.source_tokenizer.vocabulary.tokens[4:] == [" a", " b"]
    assert data.parts["validation"].source[0].tolist() == [UNKNOWN, END]
    rates = [data.statistics["parts"][name]["source"]["unknown_rate"] for name in data.parts]
    assert rates == [0, 1, 0.5]
    assert data.statistics["parts"]["validation"]["target"]["unknown_rate"] == 0.5


def test_a_shared_vocabulary_is_one(tmp_path):
    for _ in range(2):
        data = tokenized(listed(("a b", "x")), tmp_path, shared_vocabulary=True)
        assert data.source_tokenizer is data.target_tokenizer
        assert data.statistics["vocabulary"] == {"source": 7, "target": 7}
        assert {*data.source_tokenizer.vocabulary.tokens[4:]} == {" a", " b", " x"}


def test_long_sentences_lose_their_end_and_are_counted(tmp_path):
    corpus = listed(("a b c d", "x y"), ("a b", "x y z"), ("a b c", "x y z u"))
    data = tokenized(corpus, tmp_path, max_length=3)
    part, counts = data.parts["train"], data.statistics["parts"]["train"]
    assert data.source_tokenizer.decode([part.source[0]]) == ["a b c"]
    assert part.source.lengths.tolist() == [4, 3, 4]
    assert part.target.lengths.tolist() == [4, 5, 5]
    assert (counts["source"]["truncated"], counts["target"]["truncated"]) == (1, 1)
    assert (counts["source"]["max_length"], counts["source"]["tokens"]) == (3, 8)
    assert counts["target"]["mean_length"] == pytest.approx(8 / 3, abs=1e-4)
    assert data.parts["train"].texts()[0][0] == "a b c d"


def test_pairs_empty_after_cleaning_are_dropped_and_counted(tmp_path):
    corpus = listed(("Go!", "Geh!"), ("1999", "1999"), ("No", "?!"))
    data = tokenized(corpus, tmp_path, clean="book")
    assert data.statistics["parts"]["train"]["dropped"] == 2
    assert data.parts["train"].texts()[:2] == (["go"], ["geh"])
    assert len(data.parts["train"].target) == 1


@pytest.mark.parametrize("settings", [{"lowercase": True, "max_length": 2}, {"clean": "book"}])
def test_files_are_tokenized_like_a_part(settings, tmp_path):
    pairs = [("A  b c!", "X y"), ("B", "Y z x 1")]
    corpus = listed(("a b c", "x y"), ("A B", "X"), test=pairs)
    data = tokenized(corpus, tmp_path / "cache", **settings)
    for name, texts in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
        (tmp_path / name).write_text("".join(f"{text}\n" for text in texts))
    files = PartFiles(tmp_path / "en", tmp_path / "de")
    tokenizers = data.source_tokenizer, data.target_tokenizer
    with tokenized_files(files, TextSettings(**settings), tokenizers) as part:
        whole = data.parts["test"]
        assert part.texts() == whole.texts()
        own = [note for note in whole.notes if "training part" not in note]
        assert part.notes == own
        for found, wanted in ((part.source, whole.source), (part.target, whole.target)):
            np.testing.assert_array_equal(found.tokens, wanted.tokens)
            np.testing.assert_array_equal(found.offsets, wanted.offsets)
    assert not part.folder.exists()


def test_duplicates_are_counted_by_part(tmp_path):
    train = [("a", "x"), ("a", "x"), ("a", "y"), ("b", "x")]
    data = tokenized(listed(*train, test=[("a", "z"), ("c", "z")]), tmp_path)
    counts = data.statistics["parts"]
    keys = ("pairs", "duplicates", "repeated_sources", "sources_in_train")
    assert [counts["train"][key] for key in keys] == [4, 1, 2, 4]
    assert [counts["test"][key] for key in keys] == [2, 0, 0, 1]


def test_cut_sentences_and_sources_seen_in_train_are_noted(tmp_path):
    pairs = [("a", "x"), ("a b c", "x"), ("b", "x y z x")]
    data = tokenized(listed(("a", "x"), ("c", "y"), test=pairs), tmp_path, max_length=2)
    assert data.parts["test"].notes == [
        "1 of 3 sources are also in the training part.",
        "Only the first 2 tokens (task.max_length) are read of 1 of 3 sources and 1 of 3 targets.",
    ]


def test_links_and_spaces(tmp_path):
    corpus = listed(("a  b", "x\ny", "0-0 1-1"), ("a", "x", ""), test=[("a", "x", None)])
    data = tokenized(corpus, tmp_path / "plain")
    assert data.parts["train"].texts() == (["a b", "a"], ["x y", "x"], ["0-0 1-1", ""])
    assert data.parts["test"].texts()[2] is None
    book = tokenized(corpus, tmp_path / "book", clean="book")
    assert book.parts["train"].texts()[2] is None
    assert book.parts["train"].notes == [
        "Gold links of 2 pairs are left out: task.clean changes the words."
    ]
    assert tokenized(corpus, tmp_path / "plain").parts["train"].notes == []


def test_some_training_texts_are_stored(tmp_path):
    data = tokenized(Counting(2000, digits=4), tmp_path)
    assert len(data.parts["train"].texts()[0]) == len(data.parts["train"].texts()[1]) == 100
    rows = [data.parts["train"].source[row] for row in range(100)]
    assert data.source_tokenizer.decode(rows) == data.parts["train"].texts()[0]


def test_more_words_than_two_bytes_can_number(tmp_path):
    words = " ".join(f"w{number}" for number in range(70_000))
    data = tokenized(listed((words, "x")), tmp_path)
    assert data.source_tokenizer.size == 70_004
    assert data.parts["train"].source.tokens.dtype == np.int32
    assert data.parts["train"].target.tokens.dtype == np.uint16
    assert data.source_tokenizer.decode([data.parts["train"].source[0]]) == [words]


def test_a_large_corpus_is_fitted_on_sentences_from_all_over_it(tmp_path, monkeypatch):
    monkeypatch.setattr(preprocessing, "MOST_FITTED", 13)
    data = tokenized(Counting(1000, digits=3), tmp_path)
    assert data.statistics["fitted_on"] == 13
    assert list(preprocessing.evenly(map(str, range(10)), 10, 3)) == ["3", "6", "9"]
    assert len(list(preprocessing.evenly(map(str, range(997)), 997, 13))) == 13


def test_statistics_describe_the_tokenization(tmp_path):
    data = tokenized(Counting(notes=("by rule",)), tmp_path, tokenizer="bpe", vocabulary=300)
    assert data.statistics["corpus"] == "counting"
    assert data.statistics["languages"] == ["en", "de"]
    assert data.statistics["notes"] == ["by rule"]
    assert data.statistics["text"]["vocabulary"] == 300
    assert json.loads((data.folder / "statistics.json").read_text()) == data.statistics


def test_the_second_time_the_cache_is_used(tmp_path):
    corpus = Counting()
    first = tokenized(corpus, tmp_path)
    reads = corpus.reads
    second = tokenized(corpus, tmp_path)
    assert corpus.reads == reads
    assert (first.digest, first.statistics) == (second.digest, second.statistics)
    assert isinstance(second.parts["train"].source.tokens, np.memmap)


@pytest.mark.parametrize(
    ("corpus", "changes"),
    [
        (Counting(count=103), {}),
        (Counting(limit=99), {}),
        (Counting(reverse=True), {}),
        (Counting(test=0.2), {}),
        (Counting(split="pair"), {}),
        (Counting(), {"seed": 1}),
        (Counting(), {"lowercase": True}),
        (Counting(), {"max_length": 2}),
        (Counting(), {"vocabulary": 7}),
        (Counting(), {"shared_vocabulary": True}),
    ],
)
def test_other_settings_are_another_entry(corpus, changes, tmp_path):
    usual = tokenized(Counting(), tmp_path)
    other = tokenized(corpus, tmp_path, **changes)
    assert usual.folder != other.folder
    assert usual.digest != other.digest


def test_the_seed_divides_only_a_corpus_without_parts(tmp_path):
    corpus = listed(("a", "x"))
    assert tokenized(corpus, tmp_path, seed=1).folder == tokenized(corpus, tmp_path, seed=2).folder


def test_the_same_corpus_is_the_same_in_another_cache(tmp_path):
    first, second = (tokenized(Counting(), tmp_path / name, tokenizer="bpe") for name in "ab")
    assert first.digest == second.digest


def _cut(path):
    path.write_bytes(path.read_bytes()[:-2])


def _turn(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        *(("files.json", _cut), ("statistics.json", _turn), ("source_tokenizer.json", Path.unlink)),
        *(("train.source.tokens.npy", _cut), ("test.target.offsets.npy", _turn)),
        *(("validation.target.txt", Path.unlink), ("files.json", Path.unlink)),
    ],
)
def test_a_damaged_entry_is_made_again(name, damage, tmp_path, caplog):
    first = tokenized(Counting(), tmp_path)
    damage(first.folder / name)
    again = tokenized(Counting(), tmp_path)
    assert again.digest == first.digest
    assert "made again" in caplog.text and str(first.folder) in caplog.text
    assert entries(tmp_path) == [first.folder.name]


def test_one_of_two_processes_prepares_and_the_other_waits(tmp_path):
    corpora = [Counting(), Counting()]
    begun = threading.Event()

    def tell(done, total, what):
        begun.set()
        time.sleep(0.05)

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(tokenized, corpora[0], tmp_path, progress=tell)
        begun.wait(60)
        second = threads.submit(tokenized, corpora[1], tmp_path)
        assert first.result().digest == second.result().digest
    assert corpora[1].reads == 0
    assert entries(tmp_path) == [first.result().folder.name]


def entries(cache):
    """The files of the cache, without locks."""
    return [path.name for path in (cache / "prepared").iterdir() if path.suffix != ".lock"]


KILLED = """
import os, signal
from test_tokenized_corpus import Counting, Path, tokenized
from attnlab.records import worker_processes
from attnlab.tasks.translation.text import cleaned_text
cleaned_text._BLOCK_PAIRS = 20
worker_processes.processors = lambda: 1
def progress(done, total, what):
    if (what, done >= {done}) == ({what!r}, True):
        os.kill(os.getpid(), signal.SIGKILL)
tokenized(Counting(), Path({cache!r}), progress=progress)
"""


def killed(cache, what, done=0):
    """Kill a preparation at a moment of its progress; return its unfinished folder."""
    code = KILLED.format(what=what, done=done, cache=str(cache))
    ended = subprocess.run([sys.executable, "-c", code], cwd=HERE, timeout=120)
    assert ended.returncode == -signal.SIGKILL
    assert list((cache / "prepared").glob("counting*")) == []
    return next((cache / "prepared").glob(".unfinished-*"))


@pytest.mark.parametrize(
    ("what", "done", "passes"),
    [("reading", 0, 2), ("fitting on target", 0, 0), ("encoding", 0, 0), ("encoding", 60, 0)],
)
def test_a_killed_preparation_continues_after_its_last_complete_pass(what, done, passes, tmp_path):
    unfinished = killed(tmp_path / "killed", what, done)
    (unfinished / ".tmp-1-1-cleaned.json").write_text("{")
    corpus = Counting()
    found = tokenized(corpus, tmp_path / "killed")
    assert corpus.reads == passes  # one divides, one reads
    assert found.digest == tokenized(Counting(), tmp_path / "whole").digest
    assert entries(tmp_path / "killed") == entries(tmp_path / "whole")


KILLED_LATER = """
import os, signal
from test_tokenized_corpus import Counting, Path, tokenized
from attnlab.records import prepared
from attnlab.tasks.translation.text import preprocessing
module, name = {place!r}.split(".")
module = {{"prepared": prepared, "preprocessing": preprocessing}}[module]
calls, whole = [], getattr(module, name)
def kill(*args, **more):
    calls.append(name)
    if len(calls) > {calls}:
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(*args, **more)
setattr(module, name, kill)
tokenized(Counting(200), Path({cache!r}))
"""


@pytest.mark.parametrize(
    ("place", "calls"),
    [
        *(("prepared._digest", 0), ("prepared._digest", 3), ("prepared.write_json", 0)),
        *(("preprocessing.shorten", 0), ("preprocessing.write_json", 1)),
    ],
)
def test_a_preparation_killed_after_its_tokens_reads_and_encodes_nothing_again(
    place, calls, tmp_path, monkeypatch
):
    code = KILLED_LATER.format(place=place, calls=calls, cache=str(tmp_path / "killed"))
    ended = subprocess.run([sys.executable, "-c", code], cwd=HERE, timeout=120)
    assert ended.returncode == -signal.SIGKILL
    expected = tokenized(Counting(200), tmp_path / "whole")
    monkeypatch.setattr(preprocessing, "encoded", lambda *_, **__: pytest.fail("encoded again"))
    corpus = Counting(200)
    found = tokenized(corpus, tmp_path / "killed")
    assert corpus.reads == 0
    assert (found.digest, found.statistics) == (expected.digest, expected.statistics)
    assert {*os.listdir(found.folder)} == {*os.listdir(expected.folder)}
    assert len(found.parts["train"].texts()[0]) == 100


@pytest.mark.parametrize("name", ["test.source.tokens.npy", "train.target.offsets.npy"])
@pytest.mark.parametrize("damage", [_cut, Path.unlink])
def test_a_preparation_whose_tokens_are_damaged_is_made_again(name, damage, tmp_path):
    code = KILLED_LATER.format(place="prepared._digest", calls=0, cache=str(tmp_path / "killed"))
    subprocess.run([sys.executable, "-c", code], cwd=HERE, timeout=120)
    (unfinished,) = (tmp_path / "killed" / "prepared").glob(".unfinished-*")
    damage(unfinished / name)
    corpus = Counting(200)
    found = tokenized(corpus, tmp_path / "killed")
    assert corpus.reads == 2
    assert found.digest == tokenized(Counting(200), tmp_path / "whole").digest


@pytest.mark.parametrize(
    "name", ["train.source.unfinished.tokens", "train.target.txt", "cleaned.json"]
)
def test_damage_to_what_a_killed_preparation_left_is_made_good(name, tmp_path):
    unfinished = killed(tmp_path / "killed", "encoding", done=180)
    _cut(unfinished / name)
    found = tokenized(Counting(), tmp_path / "killed")
    assert found.digest == tokenized(Counting(), tmp_path / "whole").digest


def test_several_processes_write_what_one_writes(tmp_path, monkeypatch):
    expected = tokenized(Counting(), tmp_path / "one").digest
    monkeypatch.setattr(cleaned_text, "_BLOCK_PAIRS", 10)
    monkeypatch.setattr(worker_processes, "processors", lambda: 2)
    assert tokenized(Counting(), tmp_path / "two").digest == expected


def test_blocks_that_are_there_are_not_encoded_again(tmp_path, monkeypatch):
    unfinished = killed(tmp_path, "encoding", done=60)
    found = GrowingArrays(unfinished, "train.source.unfinished")
    assert (found.blocks, found.counts["sentences"]) == (3, 60)
    texts = []
    monkeypatch.setattr(worker_processes, "processors", lambda: 1)
    monkeypatch.setattr(
        "attnlab.tasks.translation.text.preprocessing.encoded",
        lambda lines, *rest, **more: texts.append(len(lines)) or encoded(lines, *rest, **more),
    )
    tokenized(Counting(), tmp_path)
    assert sum(texts) == 2 * 101 - 60


def test_abandoned_folders_are_removed(tmp_path):
    old, new = (tmp_path / "prepared" / f".unfinished-{age}" for age in ("old", "new"))
    old.mkdir(parents=True)
    new.mkdir()
    os.utime(old, (0, 0))
    tokenized(Counting(), tmp_path)
    assert (old.exists(), new.exists()) == (False, True)


def test_a_full_disk_is_one_sentence_and_the_next_call_continues(tmp_path):
    """A limit on file size simulates it: writing fails in the middle in the same way."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, limits[1]))
    try:
        with pytest.raises(RequestError) as error:
            tokenized(Counting(1000, digits=3), tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert f"tokenized corpus can't be written to {tmp_path / 'prepared'}: " in str(error.value)
    assert "\n" not in str(error.value)
    assert "Run the command again to continue." in str(error.value)
    found = tokenized(Counting(1000, digits=3), tmp_path)
    assert entries(tmp_path) == [found.folder.name]


def test_a_cache_that_is_a_file(tmp_path):
    (tmp_path / "cache").write_text("")
    with pytest.raises(RequestError, match="cache"):
        tokenized(Counting(), tmp_path / "cache")


@pytest.mark.parametrize(
    ("corpus", "settings", "words"),
    [
        (Counting(2), {}, "expected enough pairs for validation"),
        (listed(("a", "b"), test=[("1", "1")]), {"clean": "book"}, "got 1 in train, .* 0 in test"),
        (Counting(), {"tokenizer": "bpe", "vocabulary": 100}, "task.vocabulary: .*260.*got 100"),
    ],
)
def test_corpora_that_cannot_be_tokenized_are_refused(corpus, settings, words, tmp_path):
    with pytest.raises(RequestError, match=words):
        tokenized(corpus, tmp_path, **settings)
    assert not any((tmp_path / "prepared").glob("[!.]*"))


def test_tokenizing_reports_progress(tmp_path):
    said = []
    tokenized(Counting(), tmp_path, progress=lambda *each: said.append(each))
    assert [*dict.fromkeys(what for _, _, what in said)] == [
        *("dividing", "reading", "fitting on source", "fitting on target", "encoding"),
    ]
    assert said[-1] == (202, 202, "encoding")
    assert all(total is None or 0 <= done <= total for done, total, _ in said)


PEAK = """
import re
from test_tokenized_corpus import Counting, Path, tokenized
from attnlab.training.batches import token_plan
part = tokenized(Counting({count}, digits=6), Path({cache!r}), tokenizer="bpe").parts["train"]
plan = token_plan(part.source.lengths, part.target.lengths, size=2048, seed=0, epoch=1)
part.source.padded(plan[0]), part.target.padded(plan[0])
# Not ru_maxrss: that one has the parent's, from before this program was loaded.
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.slow
def test_memory_grows_by_some_tens_of_bytes_a_pair(tmp_path):
    peaks = {}
    for count in (20_000, 220_000):
        code = PEAK.format(count=count, cache=str(tmp_path))
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=HERE, capture_output=True, text=True, check=True
        )
        peaks[count] = int(done.stdout) * 1024
    assert peaks[220_000] - peaks[20_000] < 200_000 * 200
    assert peaks[220_000] < 400e6


@pytest.mark.slow
@pytest.mark.realdata
def test_every_pair_of_tatoeba_is_decoded_exactly(tmp_path, realdata):
    from attnlab.tasks.translation.corpora.tatoeba import Tatoeba

    corpus = Tatoeba(path=str(realdata / "tatoeba" / "deu.txt"))
    corpus.open(tmp_path)
    data = tokenized(corpus, tmp_path, tokenizer="bpe", vocabulary=4000)
    assert sum(len(part.source) for part in data.parts.values()) == 48122
    back = set()
    for part in data.parts.values():
        rows = range(len(part.source))
        sources = data.source_tokenizer.decode(part.source[row] for row in rows)
        targets = data.target_tokenizer.decode(part.target[row][1:] for row in rows)
        back |= {*zip(sources, targets, strict=True)}
    assert back == {tuple(map(normalized, pair[:2])) for pair in corpus.pairs()}
