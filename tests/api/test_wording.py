"""Messages for callers from Python."""

from __future__ import annotations

import pytest

from attnlab.api.wording import in_python


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "lr: there is no such setting. Type: attnlab trainer.epochs=3 seed=1",
            'lr: there is no such setting. Type: attnlab.run("trainer.epochs=3", "seed=1")',
        ),
        (
            "seed=0,1: several values need -m. Type: attnlab -m seed=0,1",
            'seed=0,1: attnlab.run makes one run. Type: attnlab.sweep("seed=0,1")',
        ),
        (
            "for example attnlab -m attention=none,bahdanau seed=0,1.",
            'for example attnlab.sweep("attention=none,bahdanau", "seed=0,1").',
        ),
        (
            "next: attnlab forecast latest, or train with attention=none, then attnlab compare",
            "next: attnlab.load().predict(), or train with attention=none, then attnlab.compare()",
        ),
        (
            'next: attnlab translate /a/b "...", or attention=none',
            'next: attnlab.load("/a/b").predict(["..."]), or attention=none',
        ),
        (
            "after epoch 3; attnlab resume latest goes on",
            "after epoch 3; attnlab.load().resume() goes on",
        ),
        (
            "killed: attnlab resume continues it",
            "killed: attnlab.load().resume() continues it",
        ),
        ("attnlab resume /r trainer.epochs=7 has", 'attnlab.load("/r").resume(epochs=7) has'),
        ("use --epoch last, or any of 1, 3 to 40.", 'use epoch="last", or any of 1, 3 to 40.'),
        ("--runs FOLDER or ATTNLAB_RUNS=FOLDER", "runs_folder=FOLDER or ATTNLAB_RUNS=FOLDER"),
        ("--since: expected an age", "since: expected an age"),
        ("by --config-dir FOLDER or $X", 'by "--config-dir=FOLDER" or $X'),
        ("attnlab runs sync logs it; attnlab 0.1.0", "attnlab runs sync logs it; attnlab 0.1.0"),
    ],
)
def test_hints_are_python(text, expected):
    assert in_python(text) == expected
