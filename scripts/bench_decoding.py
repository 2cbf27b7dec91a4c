"""How fast attnlab decodes, as ratios against peers of the same run.

    python scripts/bench_decoding.py [--part book]

    book         greedy search against one sentence at a time without a cache, beam 5 against greedy
    ctranslate2  the same weights in CTranslate2, float32

At d 128 greedy search gets 1,000 sentences of the built-in corpus and beam search 300, at d 512
half and a third as many: at least one full batch, and minutes at most. Each line has the median
ratio, the range over the turns, and the bound. The exit code is 1 if a bound is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from bench_translation import SIZES, Size, built_in_pairs, make_model, padded
from measuring import leave_out, missed, report, turns

# What was reached: at d 128 TensorFlow's kernels take most of the time, Python 2 % of it. The
# lowest ratio is that of a processor with AVX-512 and AMX.
CTRANSLATE2_BOUNDS = {128: 0.35, 512: 0.7}
# Steps of training: enough for translations that end.
STEPS = {128: 300, 512: 60}
SENTENCES = {128: {1: 1000, 5: 300}, 512: {1: 512, 5: 102}}  # by units and beam
TURNS = {128: 5, 512: 3}


def some_sentences(sources: Sequence[np.ndarray], units: int, beam: int) -> list[np.ndarray]:
    """As many of the sources as this model gets for a search with this beam."""
    order = np.random.default_rng(0).permutation(len(sources))
    return [sources[row] for row in order[: SENTENCES[units][beam]]]


# --- against the book's way -------------------------------------------------------------------


def bench_book() -> None:
    """Untrained weights seldom say END: each translation is as long as its source."""
    import tensorflow as tf

    from attnlab.tasks.translation.search import Search
    from attnlab.text.tokenizers import START

    sources, _ = built_in_pairs()
    rows, fewer = some_sentences(sources, 512, 1), some_sentences(sources, 512, 5)
    model = make_model(SIZES[512], dropout=0.0)
    greedy = Search(model, beam=1, extra_length=0)
    beam = Search(model, beam=5, extra_length=0)
    few = sorted(rows, key=len)[len(rows) // 6 :: len(rows) // 3][:3]

    def as_the_book() -> list[list[int]]:
        translations = []
        for row in few:
            ids = [START]
            for _ in row:
                logits = model((tf.constant(row[None]), tf.constant([ids])), training=False)
                ids.append(int(np.argmax(logits[0, -1])))
            translations.append(ids[1:-1])  # at this length ours is closed with END
        return translations

    same = [hypotheses[0].tokens.tolist() for hypotheses in greedy(few)] == as_the_book()
    report("decode d 512: the same words both ways", float(same), 1, True, "")

    ours, wide, book = turns(2, lambda: greedy(rows), lambda: beam(fewer), as_the_book).T
    steps, few_steps = sum(map(len, rows)), sum(map(len, few))
    ratios = (book / few_steps) / (ours / steps)
    detail = (
        f"{np.median(book) / len(few):.2f} s a sentence against "
        f"{np.median(ours) / len(rows) * 1e3:.2f} ms"
    )
    report("decode d 512: the book's way / greedy", ratios, 200, True, detail)
    detail = f"{np.median(wide) / len(fewer) * 1e3:.2f} ms a sentence"
    each = (wide / len(fewer)) / (ours / len(rows))
    report("decode d 512: beam 5 / greedy", each, 6, False, detail)


# --- against CTranslate2 ----------------------------------------------------------------------


def trained_model(size: Size, sources, targets, steps: int):
    """A Transformer after some steps."""
    from attnlab.tasks.translation.program import TranslationProgram
    from attnlab.training.optimizers import make_optimizer

    model = make_model(size, norm="pre", dropout=0.0)
    program = TranslationProgram(model, make_optimizer("adam", {"learning_rate": 1e-3}))
    draw = np.random.default_rng(0)
    batches = []
    for _ in range(steps):
        rows = draw.integers(len(sources), size=128)
        batches.append((padded([sources[i] for i in rows]), padded([targets[i] for i in rows])))
    program.train(batches, np.linspace(2e-5, 1e-3, steps), 0)
    return model


def save_for_ctranslate2(model, size: Size, folder: str) -> None:
    """Save the weights of a translator in CTranslate2's format; words are our tokens' numbers."""
    from attnlab.export.ctranslate2_model import save
    from attnlab.tasks.translation.exported import transformer

    words = [(str(number), number) for number in range(size.vocabulary)]
    save(transformer(model, words, words, longest=256), Path(folder))


def peers(folder: str, rows: Sequence[np.ndarray], beam: int) -> list[Callable[[], list]]:
    """CTranslate2 on all processors: a batch on all of them, and a batch on each."""
    import ctranslate2

    count, words = os.cpu_count() or 1, [[*map(str, row)] for row in rows]

    def peer(batches: int) -> Callable[[], list]:
        translator = ctranslate2.Translator(
            folder,
            compute_type="float32",
            inter_threads=batches,
            intra_threads=count // batches,
        )
        settings = {"max_batch_size": 512 // beam, "max_decoding_length": 60, "length_penalty": 0}
        return lambda: translator.translate_batch(words, beam_size=beam, **settings)

    return [peer(batches) for batches in {1, count}]


def bench_ctranslate2() -> None:
    """Batches of 512 hypotheses, like ours; of the peer's two ways the faster counts."""
    try:
        import ctranslate2
    except ImportError:
        leave_out("decoding against CTranslate2", "ctranslate2 is not installed")
        return
    from attnlab.tasks.translation.search import Search

    sources, targets = built_in_pairs()
    for units, bound in CTRANSLATE2_BOUNDS.items():
        size = SIZES[units]
        model = trained_model(size, sources, targets, STEPS[units])
        for beam in SENTENCES[units]:
            rows = some_sentences(sources, units, beam)
            with tempfile.TemporaryDirectory() as folder:
                save_for_ctranslate2(model, size, folder)
                theirs = peers(folder, rows, beam)
            search = Search(model, beam=beam, length_penalty=0.0)
            found = [" ".join(map(str, each[0].tokens)) for each in search(rows)]
            same = [" ".join(each.hypotheses[0]) for each in theirs[0]()]
            agreement = float(np.mean([a == b for a, b in zip(found, same, strict=True)]))
            report(f"d {units}, beam {beam}: same translations", agreement, 0.9, True)
            seconds = turns(TURNS[units], partial(search, rows), *theirs)
            best = seconds[:, 1:].min(axis=1)
            detail = (
                f"{np.median(best):.2f} s against {np.median(seconds[:, 0]):.2f} s; "
                f"CTranslate2 {ctranslate2.__version__}"
            )
            report(
                f"d {units}, beam {beam}: CTranslate2's time / ours",
                best / seconds[:, 0],
                bound,
                True,
                detail,
            )


PARTS = {"book": bench_book, "ctranslate2": bench_ctranslate2}


def main(words: list[str]) -> int:
    """Run the wanted parts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--part", action="append", choices=list(PARTS), help="default: all")
    options = parser.parse_args(words)
    for part in options.part or PARTS:
        PARTS[part]()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
