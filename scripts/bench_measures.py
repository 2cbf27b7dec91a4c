"""What `bench.py` measures of ours, each in turns with a peer in the same process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # else PyTorch's threads spin in our turn
ROOT = Path(__file__).resolve().parents[1]
# Turns end once there are this many and the middle half of the ratios is this narrow.
FEWEST, NARROW = 4, 0.03


class Seconds(NamedTuple):
    """What ours and the peer took, (turns,)."""

    ours: np.ndarray
    peer: np.ndarray


def in_turns(most: int, ours: Callable, peer: Callable, *, warm: bool = True) -> Seconds:
    """Time two actions in turns, every second turn in reverse order, so that drift favours none."""
    seconds: list[tuple[float, float]] = []
    if warm:
        ours(), peer()
    while len(seconds) < most and not _is_narrow(np.array(seconds)):
        if len(seconds) % 2:
            later = _timed(peer)
            seconds.append((_timed(ours), later))
        else:
            seconds.append((_timed(ours), _timed(peer)))
    return Seconds(*np.array(seconds).T)


def _timed(action: Callable) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _is_narrow(seconds: np.ndarray) -> bool:
    if len(seconds) < FEWEST:
        return False
    low, middle, high = np.quantile(seconds[:, 1] / seconds[:, 0], (0.25, 0.5, 0.75))
    return bool(high - low < NARROW * middle)


# --- configurations, learners and their epochs -------------------------------------------------


def checked(words: Sequence[str]):
    """Return the configuration that these words make."""
    from attnlab.config.composing import compose, from_hydra

    return from_hydra(compose(list(words)))


def learner_of(words: Sequence[str], seed: int = 0):
    """Return what trains the configuration that these words make."""
    from attnlab.runner.train import make_learner, make_task, start_afresh

    config = checked([*words, f"seed={seed}"])
    task = make_task(config)
    task.load(seed)
    start_afresh(seed)
    return make_learner(config, task)


def train_epoch(learner, epoch: int = 1) -> None:
    """Train all steps of an epoch."""
    for chunk in learner.chunks(epoch):
        learner.train(chunk, np.full(chunk.steps, 1e-4), 0)


def fit(words: Sequence[str], epochs: int = 1) -> Seconds:
    """Measure an epoch against `keras.Model.fit` of the same model, in the same order of items."""
    import keras

    from attnlab.runner.train import make_model, make_task, start_afresh
    from attnlab.training.optimizers import make_optimizer

    config = checked(words)
    learner, task = learner_of(words), make_task(config)
    task.load(0)
    start_afresh(0)
    peer = make_model(config, task)
    peer.compile(make_optimizer(config.optimizer.name, config.optimizer.settings))
    # As its own losses Keras knows neither several outputs nor targets that are whole numbers.
    peer.compute_loss = lambda x, y, y_pred, *_, **__: keras.ops.mean(task.loss(y, y_pred))
    plans = learner.chunks(2)
    order = np.concatenate([plan.indices[plan.weights > 0] for plan in plans])
    if config.task.name == "masked_words":  # its program has the rows of one chunk only
        data = [task.data.parts["train"].pad(order, task.width)] * 2
    else:
        data = [part.numpy()[order] for part in (learner.inputs, learner.targets)]
    settings = {"batch_size": config.trainer.batch_size, "shuffle": False, "verbose": 0}
    ours = lambda: [train_epoch(learner, 2) for _ in range(epochs)]  # noqa: E731
    seconds = in_turns(5, ours, lambda: peer.fit(*data, **settings))
    return Seconds(seconds.ours / epochs, seconds.peer)


def stacked(words: Sequence[str], seeds: int, epochs: int) -> Seconds:
    """Measure epochs of several seeds in one stack against one seed's, times their number."""
    from attnlab.records.environment import processors
    from attnlab.training.stacking import StackScheduler

    learners = [learner_of(words, seed) for seed in range(seeds)]

    def train(learner, stack: StackScheduler | None = None) -> None:
        learner.stack = stack
        learner.width = stack.width_of(learner.stackable) if stack else 1
        for epoch in range(1, epochs + 1):
            train_epoch(learner, epoch)

    def together() -> None:
        stack = StackScheduler(processors())
        stack.run([partial(train, learner, stack) for learner in learners])

    seconds = in_turns(5, together, lambda: train(learners[0]))
    return Seconds(seconds.ours, seconds.peer * seeds)


def compiled(words: Sequence[str]) -> Seconds:
    """Measure an epoch by the compiler that `trainer.jit=auto` chooses against the other one."""
    chosen = learner_of(words)
    other = learner_of([*words, f"trainer.jit={not chosen.jit}"])
    return in_turns(5, partial(train_epoch, chosen), partial(train_epoch, other))


def growth(option: str, **settings: Any) -> Seconds:
    """Measure causal attention over 4,096 steps against four times the time of 1,024, with XLA."""
    import tensorflow as tf

    from attnlab.config.options import option_class

    units = 64

    def action(length: int) -> Callable:
        layer = option_class("attention", option)(heads=4, **settings)
        layer.build((None, length, units), (None, length, units))
        weights = [weight.value for weight in layer.trainable_weights]

        @tf.function(jit_compile=True, autograph=False)
        def gradients(vectors):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(layer(vectors, vectors, causal=True).context ** 2)
            return tape.gradient(loss, weights)

        vectors = tf.constant(np.random.default_rng(0).normal(size=(1, length, units)), "float32")
        return lambda: gradients(vectors)[0].numpy()

    seconds = in_turns(5, action(4096), action(1024))
    return Seconds(seconds.ours, 4 * seconds.peer)


# --- translators and language models -----------------------------------------------------------

BATCH = 64  # sentences


class Size(NamedTuple):
    """A translator, and the lengths of a batch's sentences."""

    units: int
    layers: int
    inner: int
    heads: int
    source: int
    target: int
    vocabulary: int


TRANSFORMERS = {
    512: Size(512, 6, 2048, 8, 7, 11, 3858),
    128: Size(128, 2, 512, 4, 7, 11, 3858),
}
RECURRENT = Size(256, 1, 0, 1, 14, 14, 8000)


def batch_of(size: Size) -> tuple[np.ndarray, np.ndarray]:
    """Return sources and targets without padding, which is the harder comparison for ours."""
    draw = np.random.default_rng(0)
    widths = size.source, size.target + 1  # a target is START and what is predicted
    source, target = (draw.integers(4, size.vocabulary, (BATCH, w), np.int32) for w in widths)
    return source, target


def transformer(size: Size, **settings: Any):
    """Return a Transformer of ours with the mechanism of the paper."""
    from attnlab.attention import MultiHeadAttention
    from attnlab.runner.train import start_afresh
    from attnlab.tasks.translation.models import transformer as models

    start_afresh(0)
    paper = {"norm": "post", "tie_embeddings": "none", "dropout": 0.1, **settings}
    form = models.TransformerSettings(
        units=size.units, layers=size.layers, feed_forward=size.inner, heads=size.heads, **paper
    )
    words = {"source_size": size.vocabulary, "target_size": size.vocabulary}
    model = models.TransformerTranslator(
        lambda: MultiHeadAttention(heads=size.heads), form, **words
    )
    model.build()
    return model


def recurrent(mechanism: str):
    """Return a recurrent translator of ours."""
    from attnlab.config.options import option_class
    from attnlab.runner.train import start_afresh
    from attnlab.tasks.translation.models.recurrent import RecurrentSettings, RecurrentTranslator

    start_afresh(0)
    size = RECURRENT
    words = {"source_size": size.vocabulary, "target_size": size.vocabulary}
    form = RecurrentSettings(units=size.units, embedding=size.units)
    model = RecurrentTranslator(option_class("attention", mechanism), form, **words)
    model.build()
    return model


def training_step(model, size: Size) -> Callable[[], object]:
    """Return a step of a translator on one batch, compiled as batches of one shape are."""
    from attnlab.tasks.translation.program import TranslationProgram, token_losses
    from attnlab.training.optimizers import make_optimizer

    loss = partial(token_losses, smoothing=0.1)
    jit = model.faster_with_xla
    program = TranslationProgram(model, make_optimizer("adam", {}), loss=loss, jit=jit)
    return partial(program.train, [batch_of(size)], [1e-4], 0)


def torch_transformer(units: int) -> Seconds:
    """Measure a training step against PyTorch's `nn.Transformer`, eager."""
    import bench_peers as peers

    size = TRANSFORMERS[units]
    theirs = peers.transformer_step(size, *batch_of(size))
    return in_turns({512: 6, 128: 40}[units], training_step(transformer(size), size), theirs)


def torch_recurrent(mechanism: str) -> Seconds:
    """Measure a training step of an RNN translator against PyTorch's cells, eager."""
    import bench_peers as peers

    theirs = peers.recurrent_step(RECURRENT, mechanism, *batch_of(RECURRENT))
    return in_turns(30, training_step(recurrent(mechanism), RECURRENT), theirs)


LANGUAGE = (  # the model of experiment=shakespeare_cpu on a generated text, which changes no time
    *("task=language", "data.sentences=4000", "schedule=cosine", "trainer.batch_size=12"),
    *("model.units=128", "model.layers=4", "model.feed_forward=512", "model.biases=false"),
    *("attention.heads=4", "attention.biases=false"),
    "trainer.epochs=40",  # 2,000 steps, on which the choice of the compiler depends
)
STEPS, TOKENS = 50, 256


def language_learner(*words: str):
    """Return the learner of nanoGPT's recipe for a CPU, with `STEPS` steps an epoch."""
    return learner_of([*LANGUAGE, f"task.windows={STEPS * 12}", *words])


def language_peer(learner, context: int):
    """Return GPT-2's layers in PyTorch, of the learner's sizes."""
    import bench_peers as peers

    config = checked(LANGUAGE)
    sizes = config.model.settings["units"], config.model.settings["layers"]
    return peers.Gpt(learner.model.vocabulary, context, *sizes, config.attention.settings["heads"])


def torch_language() -> Seconds:
    """Measure steps of the whole recipe: windows, loss, gradients, clipping, AdamW."""
    import torch

    learner = language_learner()
    peer = language_peer(learner, learner.model.context)
    stream = torch.from_numpy(learner._task.data.parts["train"].tokens().astype("int64"))
    return in_turns(9, partial(train_epoch, learner), lambda: peer.steps(stream, 12, STEPS))


def torch_generation() -> Seconds:
    """Measure 255 drawn tokens, with a cache of keys and values on both sides."""
    learner = language_learner(f"task.context={TOKENS}")
    peer = language_peer(learner, TOKENS)
    return in_turns(9, generation(learner), lambda: peer.generate(TOKENS - 1))


def uncached_generation() -> Seconds:
    """Measure the same against reading all tokens again for each new one."""
    learner = language_learner(f"task.context={TOKENS}")

    def read_again() -> None:
        tokens = np.zeros((1, 1), np.int32)
        for _ in range(TOKENS - 1):
            logits = np.asarray(learner.model(tokens, training=False))[0, -1]
            tokens = np.append(tokens, [[int(logits.argmax())]], axis=1).astype(np.int32)

    return in_turns(3, generation(learner), read_again)


def generation(learner) -> Callable[[], object]:
    """Return what draws tokens after one token, with the cache."""
    from attnlab.tasks.language.generation import Generator

    generator = Generator(learner.model)
    return lambda: [*generator.continue_text([0], tokens=TOKENS - 1, seed=0)]


def torch_images() -> Seconds:
    """Measure a step of experiment=vit_tiny against PyTorch's encoder, without augmentation."""
    import bench_peers as peers

    from attnlab.runner.train import make_model, make_task, start_afresh
    from attnlab.training.optimizers import make_optimizer
    from attnlab.training.plan import BatchPlan
    from attnlab.training.program import Compiled, Program

    size, classes, draw = 16, 10, np.random.default_rng(0)
    pixels = draw.integers(0, 256, (size, 32, 32, 3), dtype=np.uint8)  # as CIFAR-10's
    labels = draw.integers(0, classes, size).astype(np.int32)
    config = checked(["experiment=vit_tiny"])
    start_afresh(0)
    task = make_task(config)
    task.classes = [str(number) for number in range(classes)]
    model = make_model(config, task)
    optimizer = make_optimizer(config.optimizer.name, config.optimizer.settings)
    jit = task.learning(model, size)["faster_with_xla"]
    parts = model, optimizer, task.loss
    program = Program(*parts, pixels, labels, compiled=Compiled(*parts, jit=jit))
    plan = BatchPlan(np.arange(size, dtype=np.int32)[None], np.ones((1, size), np.float32))
    heads = config.attention.settings["heads"]
    theirs = peers.vit_step(config.model.settings, heads, pixels, labels)
    return in_turns(40, partial(program.train, plan, np.full(1, 1e-4), 0), theirs)


# --- translation of whole corpora --------------------------------------------------------------


def pairs() -> list[list[np.ndarray]]:
    """Return sources and targets of the built-in corpus as numbers of words."""
    from attnlab.tasks.translation.corpora import Builtin
    from attnlab.tasks.translation.tokenized import TextSettings, tokenize_corpus

    with tempfile.TemporaryDirectory() as cache:
        corpus = Builtin(pairs=10_000)
        corpus.open(Path(cache))
        settings = TextSettings(tokenizer="word")
        train = tokenize_corpus(corpus, settings, seed=0, cache=Path(cache)).parts["train"]
        return [[np.array(row) for row in side] for side in (train.source, train.target)]


def padded(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return rows of the greatest length."""
    table = np.zeros((len(rows), max(map(len, rows))), np.int32)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return table


def fit_translator() -> Seconds:
    """Measure seconds per target token, d 128: ours by lengths, `fit` on rows of the longest."""
    import keras

    from attnlab.tasks.translation.program import TranslationProgram, token_losses
    from attnlab.training.optimizers import make_optimizer
    from attnlab.training.plan import token_plan

    sources, targets = pairs()
    size, steps = TRANSFORMERS[128], 60
    lengths = [np.array([len(row) for row in rows]) for rows in (sources, targets)]
    positions = BATCH * (max(lengths[1]) - 1)  # of the decoder with padding: what costs time
    plan = token_plan(lengths[0], lengths[1] - 1, size=positions, seed=0, epoch=1)[:steps]
    batches = [
        (padded([sources[i] for i in rows]), padded([targets[i] for i in rows])) for rows in plan
    ]
    loss = partial(token_losses, smoothing=0.0)
    program = TranslationProgram(transformer(size), make_optimizer("adam", {}), loss=loss)
    peer, rates = transformer(size), np.full(len(batches), 1e-4)
    ignored = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0)
    peer.compile(keras.optimizers.Adam(1e-4), loss=ignored)
    rows = np.random.default_rng(0).permutation(len(sources))[: steps * BATCH]
    source, target = padded(sources)[rows], padded(targets)[rows]
    inputs, settings = (source, target[:, :-1]), {"batch_size": BATCH, "verbose": 0}
    seconds = in_turns(
        3,
        lambda: program.train(batches, rates, 0),
        lambda: peer.fit(inputs, target[:, 1:], **settings),
    )
    tokens = sum(int(np.count_nonzero(target[:, 1:])) for _, target in batches)
    return Seconds(seconds.ours / tokens, seconds.peer / np.count_nonzero(target[:, 1:]))


def read_again_translation() -> Seconds:
    """Measure a token of greedy search, d 512, against reading all again for each, one by one."""
    import tensorflow as tf

    from attnlab.tasks.translation.search import Search
    from attnlab.text.tokenizers import START

    rows = pairs()[0][:512]
    model = transformer(TRANSFORMERS[512], dropout=0.0)  # untrained: it seldom says END
    search, few = Search(model, beam=1, extra_length=0), rows[:3]

    def as_the_book() -> None:
        for row in few:
            ids = [START]
            for _ in row:
                logits = model((tf.constant(row[None]), tf.constant([ids])), training=False)
                ids.append(int(np.argmax(logits[0, -1])))

    seconds = in_turns(2, lambda: search(rows), as_the_book)
    tokens, theirs = (sum(map(len, sentences)) for sentences in (rows, few))
    return Seconds(seconds.ours / tokens, seconds.peer / theirs)


def ctranslate2(units: int, beam: int, count: int) -> Seconds:
    """Measure the search with trained weights against the same weights in CTranslate2, float32."""
    from ctranslate2 import Translator

    from attnlab.export.ctranslate2_model import save
    from attnlab.tasks.translation.exported import transformer as exported
    from attnlab.tasks.translation.program import TranslationProgram
    from attnlab.tasks.translation.search import Search
    from attnlab.training.optimizers import make_optimizer

    size, (sources, targets) = TRANSFORMERS[units], pairs()
    steps = {128: 300, 512: 60}[units]  # enough for translations that end
    model, draw = transformer(size, norm="pre", dropout=0.0), np.random.default_rng(0)
    batches = []
    for _ in range(steps):
        chosen = draw.integers(len(sources), size=128)
        batches.append((padded([sources[i] for i in chosen]), padded([targets[i] for i in chosen])))
    program = TranslationProgram(model, make_optimizer("adam", {"learning_rate": 1e-3}))
    program.train(batches, np.linspace(2e-5, 1e-3, steps), 0)
    rows = [sources[row] for row in draw.permutation(len(sources))[:count]]
    words = [(str(number), number) for number in range(size.vocabulary)]
    with tempfile.TemporaryDirectory() as folder:
        save(exported(model, words, words, longest=256), Path(folder))
        form = {"compute_type": "float32", "inter_threads": os.cpu_count(), "intra_threads": 1}
        translator = Translator(folder, **form)
        limits = {"max_batch_size": 512 // beam, "max_decoding_length": 60, "length_penalty": 0}
        sentences = [[*map(str, row)] for row in rows]
        theirs = partial(translator.translate_batch, sentences, beam_size=beam, **limits)
        return in_turns(4, partial(Search(model, beam=beam, length_penalty=0.0), rows), theirs)


# --- commands ----------------------------------------------------------------------------------


def python(*words: str) -> None:
    """Run a Python process without output; raises `RuntimeError` if its code is above 2."""
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True)
    if done.returncode not in (0, 2):  # 2: a typo
        raise RuntimeError(f"{' '.join(words)} failed:\n{done.stderr}")


@contextmanager
def runs_folder() -> Iterator[str]:
    """Make an empty folder for runs, as a setting."""
    with tempfile.TemporaryDirectory() as folder:
        yield f"paths.runs={folder}"


def attnlab(*words: str) -> None:
    """Run a command with an empty folder for runs."""
    with runs_folder() as runs:
        python("-m", "attnlab", *words, runs)


def answered(*words: str) -> Seconds:
    """Measure what must answer at once: 1.2 times `import hydra, rich` and half a second."""
    peer = partial(python, "-c", "import hydra, rich")
    seconds = in_turns(5, partial(python, "-m", "attnlab", *words), peer)
    return Seconds(seconds.ours, 1.2 * seconds.peer + 0.5)


def whole(*words: str) -> Seconds:
    """Measure a whole command, everything on, against `import tensorflow`."""
    return in_turns(5, partial(attnlab, *words), partial(python, "-c", "import tensorflow"))


# A run without what is measured: no tracking, no figures and no weights.
_BARE = """
import sys
from attnlab import cli
from attnlab.runner import resume, train
train.import_tensorflow()
from attnlab.training import weights_file
resume.start_following = lambda folder: None
weights_file.WeightsFiles.next = lambda files, values, scratch: b""
sys.exit(cli.main(sys.argv[1:]))
"""


def bare(*words: str) -> Seconds:
    """Measure a run against the same without tracking, weights and figures."""

    def without() -> None:
        with runs_folder() as runs:
            python("-c", _BARE, *words, "tracking.enabled=false", runs)

    return in_turns(5, partial(attnlab, *words), without)


def swept(words: Sequence[str], jobs: int) -> Seconds:
    """Measure a sweep of seeds against 2.5 times one run alone and 2 seconds a job."""
    sweep = ["-m", *words, f"seed=range({jobs})"]
    seconds = in_turns(3, partial(attnlab, *sweep), partial(attnlab, *words), warm=False)
    return Seconds(seconds.ours, 2.5 * seconds.peer + 2.0 * jobs)


def together(words: Sequence[str], jobs: int) -> Seconds:
    """Measure a sweep of seeds against the same jobs one by one in one process."""
    sweep = ["-m", *words, f"seed=range({jobs})"]
    one_by_one = partial(attnlab, *sweep, "trainer.together=never")
    return in_turns(2, partial(attnlab, *sweep), one_by_one, warm=False)
