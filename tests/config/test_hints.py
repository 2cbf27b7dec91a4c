"""Words that users of other tools type, and the command that is suggested instead."""

from __future__ import annotations

import shlex

import pytest

from attnlab.config.hints import command_hint, other_name, verb_hint
from attnlab.sweeps.composer import configuration

SPACES = 'settings have no spaces around "=" or after a comma'


def named(typed: str, key: str) -> str:
    return f"{typed}: there is no such setting: it is {key} here"


COMMANDS = {
    # Other names of a setting, with and without a group before them.
    "lr=0.01": (named("lr", "optimizer.learning_rate"), "optimizer.learning_rate=0.01"),
    "optimizer.lr=0.1": (
        named("optimizer.lr", "optimizer.learning_rate"),
        "optimizer.learning_rate=0.1",
    ),
    "trainer.lr=1e-3": (
        named("trainer.lr", "optimizer.learning_rate"),
        "optimizer.learning_rate=1e-3",
    ),
    "learning_rate=0.1": (
        named("learning_rate", "optimizer.learning_rate"),
        "optimizer.learning_rate=0.1",
    ),
    "batch=8": (named("batch", "trainer.batch_size"), "trainer.batch_size=8"),
    "batch_size=8": (named("batch_size", "trainer.batch_size"), "trainer.batch_size=8"),
    "bs=8": (named("bs", "trainer.batch_size"), "trainer.batch_size=8"),
    "epochs=3": (named("epochs", "trainer.epochs"), "trainer.epochs=3"),
    "max_epochs=3": (named("max_epochs", "trainer.epochs"), "trainer.epochs=3"),
    "num_epochs=3": (named("num_epochs", "trainer.epochs"), "trainer.epochs=3"),
    "trainer.max_epochs=3": (named("trainer.max_epochs", "trainer.epochs"), "trainer.epochs=3"),
    "training.epochs=3": (named("training.epochs", "trainer.epochs"), "trainer.epochs=3"),
    "hidden=8": (named("hidden", "model.units"), "model.units=8"),
    "hidden_size=8": (named("hidden_size", "model.units"), "model.units=8"),
    "model.hidden_size=8": (named("model.hidden_size", "model.units"), "model.units=8"),
    "d_model=8": (named("d_model", "model.units"), "model.units=8"),
    "units=8": (named("units", "model.units"), "model.units=8"),
    "num_layers=2": (named("num_layers", "model.layers"), "model.layers=2"),
    "dropout=0.1": (named("dropout", "model.dropout"), "model.dropout=0.1"),
    "p=0.1": (named("p", "model.dropout"), "model.dropout=0.1"),
    "random_state=7": (named("random_state", "seed"), "seed=7"),
    "random_seed=7": (named("random_seed", "seed"), "seed=7"),
    "early_stopping=5": (named("early_stopping", "trainer.patience"), "trainer.patience=5"),
    "early_stopping=true": (named("early_stopping", "trainer.patience"), "trainer.patience=10"),
    "patience=5": (named("patience", "trainer.patience"), "trainer.patience=5"),
    "precision=16": (named("precision", "trainer.precision"), "trainer.precision=mixed_bfloat16"),
    "fp16=false": (named("fp16", "trainer.precision"), "trainer.precision=float32"),
    "max_grad_norm=1": (named("max_grad_norm", "optimizer.clip_norm"), "optimizer.clip_norm=1"),
    "lookback=12": (named("lookback", "task.history"), "task.history=12"),
    "scheduler=cosine": (named("scheduler", "schedule"), "schedule=cosine"),
    "attn=bahdanau": (named("attn", "attention"), "attention=bahdanau"),
    "Task=fib": (named("Task", "task"), "task=fib"),
    "tracking=false": (named("tracking", "tracking.enabled"), "tracking.enabled=false"),
    # A setting of an unchosen option suggests the option.
    "num_heads=4": (
        named("num_heads", "attention.heads"),
        "attention=multi_head attention.heads=4",
    ),
    "nhead=4": (named("nhead", "attention.heads"), "attention=multi_head attention.heads=4"),
    "weight_decay=0.1": (
        named("weight_decay", "optimizer.weight_decay"),
        "optimizer=adamw optimizer.weight_decay=0.1",
    ),
    "momentum=0.9": (
        named("momentum", "optimizer.momentum"),
        "optimizer=sgd optimizer.momentum=0.9",
    ),
    "beam=5": (named("beam", "task.beam"), "task=translate task.beam=5"),
    "horizon=3": (named("horizon", "task.horizon"), "task=sunspots task.horizon=3"),
    # Other names of options and values.
    "optimizer=Adam": ("optimizer=Adam: there is no such option", "optimizer=adam"),
    "attention=Bahdanau": ("attention=Bahdanau: there is no such option", "attention=bahdanau"),
    "attention=luong": ("attention=luong: there is no such option", "attention=luong_global"),
    "attention=multi-head": (
        "attention=multi-head: there is no such option",
        "attention=multi_head",
    ),
    "model=LSTM": ("model=LSTM: there is no such option", "model=rnn model.cell=lstm"),
    "model.cell=GRU": (
        "model.cell: expected one of simple, gru, lstm, got GRU",
        "model.cell=gru",
    ),
    "lr=0,01": (named("lr", "optimizer.learning_rate"), "optimizer.learning_rate=0.01"),
    "data=sunspots": ("data=sunspots: the task decides what the data are", "task=sunspots"),
    "dataset=mine.csv": (
        "dataset=mine.csv: the task decides what the data are",
        "task=series task.path=mine.csv",
    ),
    "data=imdb": ("data: goes with task=classify", "task=classify data=imdb"),
    # Dashes, spaces, and words alone.
    "--attention bahdanau": ("--attention: settings have no dashes", "attention=bahdanau"),
    "--lr=0.1": ("--lr: settings have no dashes", "optimizer.learning_rate=0.1"),
    "--batch-size 8": ("--batch-size: settings have no dashes", "trainer.batch_size=8"),
    "--no-tracking": ("--no-tracking: settings have no dashes", "tracking.enabled=false"),
    "attention= bahdanau": (f"attention=: {SPACES}", "attention=bahdanau"),
    "attention =bahdanau": (f"attention: {SPACES}", "attention=bahdanau"),
    "attention = bahdanau": (f"attention: {SPACES}", "attention=bahdanau"),
    "attention: bahdanau": ("attention:: expected KEY=VALUE", "attention=bahdanau"),
    "attention==bahdanau": ('attention==bahdanau: one "=" is enough', "attention=bahdanau"),
    "epochs 5": ("epochs: expected KEY=VALUE", "trainer.epochs=5"),
    "sunspots bahdanau": ("sunspots: expected KEY=VALUE", "task=sunspots attention=bahdanau"),
    "sunspot bahdanu": ("sunspot: expected KEY=VALUE", "task=sunspots attention=bahdanau"),
    "train sunspots": ("sunspots: expected KEY=VALUE", "task=sunspots"),
    "mine.csv": ("mine.csv: expected KEY=VALUE", "task=series task.path=mine.csv"),
    # Several values.
    "attention=none, bahdanau": (f"attention=none,: {SPACES}", "-m attention=none,bahdanau"),
    "-m seed=0, 1, 2": (f"seed=0,: {SPACES}", "-m seed=0,1,2"),
    "seed=0 1 2": ("seed=0: several values have commas between", "-m seed=0,1,2"),
    "attention=none,bahdanau": (
        "attention=none,bahdanau: several values need -m",
        "-m attention=none,bahdanau",
    ),
    "attention=[none,bahdanau]": (
        "attention=[none,bahdanau]: several values need -m and no brackets",
        "-m attention=none,bahdanau",
    ),
    "seed=0..4": (
        "seed=0..4: several values are typed as range(FROM,END)",
        "-m 'seed=range(0,5)'",
    ),
    # The suggested command corrects all words, typos too; the error names the first one.
    "task=sunspots lr=0.1 attention=bahdanu epochs=3": (
        named("lr", "optimizer.learning_rate"),
        "task=sunspots optimizer.learning_rate=0.1 attention=bahdanau trainer.epochs=3",
    ),
    # An experiment may set what another option doesn't have.
    "experiment=shakespeare_cpu attention=linear": (
        "experiment=shakespeare_cpu sets attention.biases, which attention=linear doesn't have",
        "experiment=shakespeare_cpu attention=linear '~attention.biases'",
    ),
    "gpus=1 task=fib": (
        "gpus: there is no such setting: TensorFlow uses the GPU that it finds, and "
        "CUDA_VISIBLE_DEVICES= (empty) hides it",
        "task=fib",
    ),
}


@pytest.mark.parametrize("typed", COMMANDS)
def test_options_of_other_tools_get_the_right_spelling(typed):
    reason, command = COMMANDS[typed]
    assert command_hint(shlex.split(typed)) == f"{reason}. Type: attnlab {command}"
    assert command_hint(shlex.split(command)) is None


def test_suggested_settings_are_valid():
    commands = [shlex.split(command) for _, command in COMMANDS.values()]
    others = ("-m", "task=series", "~attention.biases")  # more than `configuration` composes
    singles = [words for words in commands if not set(others) & set(words)]
    assert [words for words in singles if configuration(words) is None] == []


@pytest.mark.parametrize("setting", ["device=cuda", "num_workers=2", "shuffle=true", "loss=mse"])
def test_options_without_an_equivalent_get_advice(setting):
    hint = command_hint([setting])
    assert hint and hint.startswith(f"{setting.split('=')[0]}: there is no such setting: ")
    assert "Type:" not in hint


@pytest.mark.parametrize(
    "words",
    [
        "task=fib attention=bahdanau seed=1",
        "-m attention=none,bahdanau seed=range(3)",
        "task=fbi",  # a typo has a sentence of its own
        "attention=bahdanau num_heads=4",  # which can't be
        "task=series task.column=a,b",  # may be a column's name
        "experiment=book_fib hydra/launcher=joblib",
        "experiment=shakespeare_cpu data.path=input.txt",
        "+attention.width=3",
        "forcast latest",
        "--config-path somewhere lr=3",
    ],
)
def test_right_and_unclear_words_get_no_suggestion(words):
    assert command_hint(words.split()) is None


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        ("eval latest", "evaluate latest"),
        ("rm latest", "runs rm latest"),
        ("fit task=fib", "task=fib"),
        ("sweep seed=0,1", "-m seed=0,1"),
    ],
)
def test_a_verb_of_another_name(typed, command):
    verb = typed.split()[0]
    hint = verb_hint(typed.split())
    assert hint == f"{verb}: there is no such command. Type: attnlab {command}"


def test_explain_knows_other_names():
    assert other_name("lr") == "optimizer.learning_rate" and other_name("window") is None
